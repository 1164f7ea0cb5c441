package option

import (
	"reflect"

	"github.com/ndc-dev/ndc/compiler/plan"
)

// none is the value of a name that does nothing.
const none = "none"

// Uses reports whether a layout and its execution use what a row is about: an
// axis or an option by its name, or "offload" for anything that is kept in host
// memory. A count is used above 1, a switch when it is on, a name when it is not
// "none".
func Uses(name string, l *plan.Layout, x *plan.Execution) bool {
	for i := range Axes {
		if Axes[i].Name == name {
			return used(Axes[i].Value(l))
		}
	}
	for i := range Options {
		if o := &Options[i]; (o.Name == name || name == Offload && o.IsOffload()) && used(o.Value(x)) {
			return true
		}
	}
	return false
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
