package file

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/compiler/plan"
)

// TestNothingIsLost: a plan of which no field is zero goes through its JSON form
// unchanged.
func TestNothingIsLost(t *testing.T) {
	var p plan.Plan
	fill(reflect.ValueOf(&p).Elem(), new(int))
	text, err := json.Marshal(Of(&p))
	if err != nil {
		t.Fatal(err)
	}
	var read Plan
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&p, read.Decision()); d != "" {
		t.Error(d)
	}
}

// fill gives every field below a value another one than zero.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.String:
		v.SetString(strings.Repeat("x", 1+*n%5))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint8, reflect.Uint16: // schedules, recompute and its modules
		v.SetUint(2)
	case reflect.Float64:
		v.SetFloat(float64(*n) / 4)
	default:
		panic("a plan with a " + v.Kind().String())
	}
}

// TestOrder: members stand in the order of the rows, lists are never null.
func TestOrder(t *testing.T) {
	text, err := json.Marshal(Layout{TensorParallel: 8, PipelineSchedule: plan.Schedule1F1B})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"tensor_parallel":8,"sequence_parallel":false,`; !strings.HasPrefix(string(text), want) {
		t.Errorf("%s does not begin with %s", text, want)
	}
	for _, want := range []string{`"pipeline_schedule":"1f1b"`, `"stage_layers":[]`, `"recompute_modules":[]`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s has no %s", text, want)
		}
	}
}

// TestUnreadable: what no plan can hold is an error that names the member.
func TestUnreadable(t *testing.T) {
	for _, text := range []string{`{"zero_stage": "three"}`, `{"pipeline_schedule": "sideways"}`, `{"recompute_modules": ["core_atn"]}`} {
		var l Layout
		name, _, _ := strings.Cut(strings.TrimPrefix(text, `{"`), `"`)
		if err := json.Unmarshal([]byte(text), &l); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", text, err)
		}
	}
	var x Execution
	if json.Unmarshal([]byte(`[]`), &x) == nil {
		t.Error("an execution is read from a list")
	}
}

// TestRead: what ndc would not write into a plan.json is an error that says what it is.
func TestRead(t *testing.T) {
	const sound = `{"format_version": "1.0", "job": "j", "feasible": true, "time": {"step_seconds": 2, "step_range_seconds": [1, 3],
		"breakdown": [{"id": "a", "seconds": 1.5}, {"id": "b", "seconds": 0.5}]}}`
	if f, err := Read([]byte(sound)); err != nil || f.Job != "j" || f.Time.StepSeconds != 2 {
		t.Fatal(f, err)
	}
	for _, c := range []struct{ old, new, says string }{
		{`"1.0"`, `"2.0"`, `its format is "2.0"`},
		{`"1.0"`, `null`, `its format is ""`},
		{`"j"`, `"\u001b]0;x"`, "cannot be shown"},
		{`"j"`, `"j", "site": "\u202e"`, "cannot be shown"},
		{`"j"`, `"j", "throughput": {"mfu": -1e308}`, "-1e+308 is no number"},
		{`"j"`, `"j", "later": 1e31`, "1e+31 is no number"},
		{`"step_seconds": 2`, `"step_seconds": 0`, "takes 0 s"},
		{`"step_seconds": 2`, `"step_seconds": 1e20`, "the step 1e+20 s"},
		{`[1, 3]`, `[3, 1]`, "takes 3 to 1 s"},
		{`[1, 3]`, `[0, 3]`, "takes 0 to 3 s"},
		{`"seconds": 1.5`, `"seconds": -1.5`, `-1.5 s of its step are "a"`},
		{`{"id": "a", "seconds": 1.5}, {"id": "b", "seconds": 0.5}`, `null`, "the parts of its step take 0 s"},
	} {
		if _, err := Read([]byte(strings.Replace(sound, c.old, c.new, 1))); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, not %q", c.new, err, c.says)
		}
	}
}
