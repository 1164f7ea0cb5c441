package lang

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/ndc-dev/ndc/compiler/plan/file"
)

// TestPlannedJob: what policies see of a job has the type that their conditions
// are checked by, in every example and on every backend.
func TestPlannedJob(t *testing.T) {
	names, err := filepath.Glob("../examples/*/job.hcl")
	if err != nil || len(names) == 0 {
		t.Fatal("no examples: ", err)
	}
	for _, name := range names {
		w, diags := Load(os.DirFS(filepath.Dir(name)), "job.hcl", Options{})
		if diags.HasErrors() {
			t.Fatal(name, diags)
		}
		if len(w.loader.planned) != len(w.Jobs) {
			t.Fatalf("%s: %d planned jobs of %d", name, len(w.loader.planned), len(w.Jobs))
		}
		for i, v := range w.loader.planned {
			j := &w.Jobs[i]
			if errs := v.Type().TestConformance(plannedJobType()); len(errs) > 0 {
				t.Errorf("%s: %v", name, errs)
			}
			memory, _ := v.GetAttr("cluster").GetAttr("gpu").GetAttr("memory").AsBigFloat().Float64()
			if v.GetAttr("name").AsString() != j.Name || v.GetAttr("backend").GetAttr("kind").AsString() != j.Backend.Kind || memory != float64(j.Cluster.GPU.Memory) {
				t.Errorf("%s: %s on %s is not the job of this place", name, j.Name, j.Backend.Kind)
			}
		}
	}
}

// TestPlanType: every field of plan.json is one that policies can read.
func TestPlanType(t *testing.T) {
	v := planValue(&file.Plan{Backend: "megatron", Run: file.Run{GPUHours: 2.5}})
	if v.GetAttr("backend").AsString() != "megatron" || v.GetAttr("run").GetAttr("gpu_hours").Equals(cty.NumberFloatVal(2.5)).False() {
		t.Errorf("%#v", v)
	}
	for i := range reflect.TypeFor[file.Plan]().NumField() {
		f := reflect.TypeFor[file.Plan]().Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !planType().HasAttribute(name) {
			t.Errorf("policies do not see %s", name)
		}
	}
}
