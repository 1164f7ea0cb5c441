package option

import (
	"reflect"
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestEveryFieldHasARow: layouts, executions and what jobs say of them have no
// field without a row, and no row shares a field with another.
func TestEveryFieldHasARow(t *testing.T) {
	var l plan.Layout
	var c job.LayoutConstraints
	var x plan.Execution
	var said job.Execution
	places := map[string][]any{}
	for i := range Axes {
		a := &Axes[i]
		if a.Name == toyAxis {
			continue
		}
		places["layout"] = append(places["layout"], a.Value(&l))
		places["constraints"] = append(places["constraints"], a.Choice(&c))
	}
	for i := range Options {
		o := &Options[i]
		if o.Name == toyOption {
			continue
		}
		places["execution"] = append(places["execution"], o.Value(&x))
		places["said"] = append(places["said"], o.Choice(&said))
	}
	for name, of := range map[string]any{"layout": &l, "constraints": &c, "execution": &x, "said": &said} {
		v := reflect.ValueOf(of).Elem()
		for i := range v.NumField() {
			field := v.Field(i).Addr().Interface()
			if n := len(slices.DeleteFunc(slices.Clone(places[name]), func(p any) bool { return p != field })); n != 1 {
				t.Errorf("%d rows for %s.%s", n, v.Type(), v.Type().Field(i).Name)
			}
		}
		if len(places[name]) != v.NumField() {
			t.Errorf("%d rows for the %d fields of %s", len(places[name]), v.NumField(), v.Type())
		}
	}
}

// TestKinds: what a row points at is of its kind.
func TestKinds(t *testing.T) {
	axis := map[Kind]reflect.Type{Count: reflect.TypeFor[job.IntChoice](), Switch: reflect.TypeFor[job.BoolChoice](),
		Name: reflect.TypeFor[job.StringChoice](), Counts: reflect.TypeFor[[]int](), Names: reflect.TypeFor[[]string]()}
	option := map[Kind]reflect.Type{Count: reflect.TypeFor[job.Optional[int]](), Switch: reflect.TypeFor[job.Optional[bool]](), Name: reflect.TypeFor[job.Optional[string]]()}
	value := map[Kind][]reflect.Kind{Count: {reflect.Int}, Switch: {reflect.Bool}, Name: {reflect.String, reflect.Uint8}, Counts: {reflect.Slice}, Names: {reflect.Uint16}}
	check := func(r *Row, value, choice any, values []reflect.Kind, want reflect.Type) {
		if k := reflect.TypeOf(value).Elem().Kind(); !slices.Contains(values, k) {
			t.Errorf("%s is a %v in a plan", r.Name, k)
		}
		if got := reflect.TypeOf(choice).Elem(); got != want {
			t.Errorf("%s is a %v in a job, want %v", r.Name, got, want)
		}
		if (r.Kind == Name || r.Kind == Names) != (r.Values != nil) || r.Doc == "" {
			t.Errorf("%s has the values %v, and the meaning %q", r.Name, r.Values, r.Doc)
		}
	}
	for i := range Axes {
		a := &Axes[i]
		check(&a.Row, a.Value(&plan.Layout{}), a.Choice(&job.LayoutConstraints{}), value[a.Kind], axis[a.Kind])
		if a.FreedWith != "" && FindAxis(a.FreedWith).Relief == 0 {
			t.Errorf("%s is freed with %s, which is never freed", a.Name, a.FreedWith)
		}
	}
	for i := range Options {
		o := &Options[i]
		check(&o.Row, o.Value(&plan.Execution{}), o.Choice(&job.Execution{}), value[o.Kind], option[o.Kind])
		if (o.Relief > 0) != (o.Saves != "") {
			t.Errorf("%s saves memory with %q, at place %d", o.Name, o.Saves, o.Relief)
		}
	}
}

// TestPinExcluded: an exclusion stays what it is of a layout that does not have the value
// which it leaves, and of which it may be that there is none.
func TestPinExcluded(t *testing.T) {
	a := FindAxis("sequence_parallel")
	for _, c := range []struct {
		choice, want job.BoolChoice
		on, ok       bool
	}{
		{job.BoolChoice{}, job.BoolChoice{Set: true, Value: true}, true, true},
		{job.BoolChoice{Set: true, Value: true}, job.BoolChoice{Set: true}, false, false},
		{job.BoolChoice{Set: true, Value: true, OrNone: true}, job.BoolChoice{Set: true, Value: true}, true, true},
		{job.BoolChoice{Set: true, Value: true, OrNone: true}, job.BoolChoice{Set: true, Value: true, OrNone: true}, false, true},
	} {
		constraints := job.LayoutConstraints{SequenceParallel: c.choice}
		if ok := a.Pin(&constraints, &plan.Layout{SequenceParallel: c.on}); ok != c.ok || constraints.SequenceParallel != c.want {
			t.Errorf("%+v pinned to %t: %+v, %t", c.choice, c.on, constraints.SequenceParallel, ok)
		}
	}
}

// TestUnknownAxis: a programmer's misspelt axis panics.
func TestUnknownAxis(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an unknown axis is no panic")
		}
	}()
	FindAxis("sideways")
}
