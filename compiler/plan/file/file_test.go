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
