package option

import (
	"reflect"

	"github.com/ndc-dev/ndc/compiler/plan"
)

// none is the value of a name that does nothing.
const none = "none"

// Uses reports whether a layout and its execution use what a row is about: an
// axis or an option by its name, or "offload" for anything that is kept in host
// memory. A count is used above 1, or above 0 where it begins there, a switch when
// it is on, a name when it is neither "none" nor the row's plain one.
func Uses(name string, l *plan.Layout, x *plan.Execution) bool {
	for i := range Axes {
		if Axes[i].Name == name {
			return Axes[i].uses(Axes[i].Value(l))
		}
	}
	for i := range Options {
		if o := &Options[i]; (o.Name == name || name == Offload && o.IsOffload()) && o.uses(o.Value(x)) {
			return true
		}
	}
	return false
}

// uses reports whether the value of the row that a pointer leads to is used.
func (r *Row) uses(pointer any) bool {
	switch p := pointer.(type) {
	case *int:
		return *p > min(r.Min, 1)
	case *string:
		return used(p) && *p != r.Plain
	}
	return used(pointer)
}

// used reports whether the value that a pointer leads to is one that does
// something.
func used(pointer any) bool {
	switch p := pointer.(type) {
	case *bool:
		return *p
	case *int:
		return *p > 1
	case *string:
		return *p != "" && *p != none
	case *plan.Recompute:
		return *p != plan.RecomputeNone
	case *plan.Schedule:
		return *p != plan.ScheduleNone
	}
	return !reflect.ValueOf(pointer).Elem().IsZero()
}
