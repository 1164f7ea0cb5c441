package option

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// Pin narrows constraints to the value that the axis has in a layout, and
// reports whether they allow it. A value that stands for "does not apply", such
// as the schedule of a layout without a pipeline, narrows nothing.
func (a *Axis) Pin(c *job.LayoutConstraints, l *plan.Layout) bool {
	value := a.Value(l)
	if reflect.ValueOf(value).Elem().IsZero() && !a.hasZero(value) {
		return true
	}
	switch choice := a.Choice(c).(type) {
	case *job.IntChoice:
		n := *value.(*int)
		ok := choice.Allows(n)
		*choice = job.IntChoice{Values: []int{n}}
		return ok
	case *job.BoolChoice:
		on := *value.(*bool)
		ok := choice.Allows(on)
		if !ok && choice.OrNone {
			return true // as long as the layout has no value
		}
		*choice = job.BoolChoice{Set: true, Value: on}
		return ok
	case *job.StringChoice:
		name := fmt.Sprint(reflect.ValueOf(value).Elem())
		ok := choice.Allows(name)
		*choice = job.StringChoice{name}
		return ok
	case *[]int:
		list := *value.(*[]int)
		ok := *choice == nil || slices.Equal(*choice, list)
		*choice = list
		return ok
	case *[]string:
		set := *value.(*plan.Modules)
		ok := *choice == nil || plan.ModulesOf(*choice) == set
		*choice = set.Names()
		return ok
	}
	panic("option: " + a.Name + " cannot be pinned")
}

// hasZero reports whether the zero of the axis, which a pointer leads to, is one
// of its values.
func (a *Axis) hasZero(value any) bool {
	if a.Kind == Name {
		return slices.Contains(a.Values, fmt.Sprint(reflect.ValueOf(value).Elem()))
	}
	return a.Kind == Switch || a.Name == "zero_stage"
}

// Same reports whether two layouts have one value of the axis.
func (a *Axis) Same(x, y *plan.Layout) bool { return a.Text(x) == a.Text(y) }

// Same reports whether two plans have one value of the option.
func (o *Option) Same(x, y *plan.Execution) bool { return text(o.Value(x)) == text(o.Value(y)) }

// IsSet reports whether a job says what the option shall be.
func (o *Option) IsSet(x *job.Execution) bool {
	return !reflect.ValueOf(o.Choice(x)).Elem().IsZero()
}

// Free makes a job say nothing of the option.
func (o *Option) Free(x *job.Execution) { reflect.ValueOf(o.Choice(x)).Elem().SetZero() }

// Text is the value of the option in a plan, as lists of a job spell it.
func (o *Option) Text(x *plan.Execution) string {
	return fmt.Sprint(reflect.ValueOf(o.Value(x)).Elem())
}

// Copy gives one plan the value that the option has in another.
func (o *Option) Copy(to, from *plan.Execution) {
	reflect.ValueOf(o.Value(to)).Elem().Set(reflect.ValueOf(o.Value(from)).Elem())
}
