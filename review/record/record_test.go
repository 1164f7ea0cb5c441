package record

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestOf: each value of a job stands with its origin.
func TestOf(t *testing.T) {
	at := diag.Range{Filename: "jobs/job.hcl"}
	at.Start.Line = 7
	j := &job.Job{
		Model: job.Model{Catalog: "m"}, Cluster: job.Cluster{Catalog: "c", GPU: job.GPU{Catalog: "g"}},
		Sources: job.Sources{
			"training":                            {Origin: job.FromSpec, Range: at},
			"training.seed":                       {Value: int64(1)},
			"training.optimizer.learning_rate":    {Origin: job.FromSpec, Range: at, Value: 0.1 + 0.2},
			"model.layers":                        {Origin: job.FromCatalog, Range: at, Value: int64(4)},
			"cluster.gpu":                         {Origin: job.FromCatalog, Value: "g"},
			"cluster.gpu.memory":                  {Origin: job.FromCatalog, Value: "80GiB"},
			"constraints.layout.zero_stage":       {Origin: job.FromSpec, Range: at, Value: int64(1)},
			"constraints.layout.tensor_parallel":  {Origin: job.FromSpec, Range: at, Value: []any{2, 4}},
			"constraints.layout.stage_layers":     {Origin: job.FromSpec, Range: at, Value: []any{2, 2}},
			"constraints.layout.context_parallel": {Origin: job.FromSpec, Range: at, Value: map[string]any{"min": 1}},
			"slurm.environment":                   {Origin: job.FromSpec, Range: at, Value: map[string]any{"A": "1", "B": "2"}},
			`slurm.environment["A"]`:              {Origin: job.FromSite, Range: at},
			`slurm.environment["B"]`:              {Origin: job.FromSpec, Range: at},
			"slurm.directives":                    {Origin: job.FromModule, Range: at, Value: map[string]any{"nice": "1"}},
			"execution.attention":                 {Origin: job.FromSpec, Range: at, Value: "flash"},
		},
	}
	p := &plan.Plan{Feasible: true, Layout: plan.Layout{TensorParallel: 4, ZeroStage: 1, StageLayers: []int{2, 2}}, Execution: plan.Execution{Attention: "flash"}}
	got := map[string]Value{}
	previous := ""
	for _, v := range Of(j, p, func(name string) string { return name[len("jobs/"):] }) {
		if v.Path <= previous {
			t.Errorf("%s stands behind %s", v.Path, previous)
		}
		previous = v.Path
		got[v.Path] = v
	}
	for _, want := range []Value{
		{"training.seed", 1.0, "default:", ""}, {"training.optimizer.learning_rate", 0.3, "spec:job.hcl:7", ""}, {"model.layers", 4.0, "catalog:m", ""},
		{"cluster.gpu", "g", "catalog:c", ""}, {"cluster.gpu.memory", "80GiB", "catalog:g", ""},
		{"layout.zero_stage", 1.0, "spec:job.hcl:7", ""}, {"layout.tensor_parallel", 4.0, "plan:search", ""}, {"layout.context_parallel", 0.0, "plan:search", ""},
		{"layout.stage_layers", []any{2.0, 2.0}, "spec:job.hcl:7", ""}, {"layout.recompute_modules", []any{}, "plan:search", ""}, {"layout.recompute", "none", "plan:search", ""},
		{`slurm.environment["A"]`, "1", "site:job.hcl:7", ""}, {`slurm.environment["B"]`, "2", "spec:job.hcl:7", ""},
		{"slurm.directives", map[string]any{"nice": "1"}, "module:job.hcl:7", ""},
		{"execution.attention", "flash", "spec:job.hcl:7", ""}, {"execution.compile", false, "plan:recommended", ""},
	} {
		if d := cmp.Diff(want, got[want.Path]); d != "" {
			t.Error(d)
		}
	}
	if _, ok := got["training"]; ok {
		t.Error("a block without a label has no value")
	}
}

// TestSet: whatever backends have in common, each gets its own values back,
// also from the file as it is read.
func TestSet(t *testing.T) {
	same, older := Value{"b", "x", "default:", ""}, Value{"b", "x", "spec:job.hcl:3", ""}
	for name, backends := range map[string]map[string][]Value{
		"none":              {},
		"one":               {"megatron": {{"a", 1.0, "default:", ""}, same}},
		"two":               {"megatron": {{"a", 1.0, "default:", ""}, same}, "deepspeed": {same, {"c", []any{1.0}, "plan:search", ""}}},
		"elsewhere":         {"megatron": {same}, "deepspeed": {older}},
		"nothing in common": {"megatron": {same}, "deepspeed": {}},
	} {
		f := File{FormatVersion: FormatVersion, Job: name}
		f.Set(backends)
		text, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		read, err := Read(text)
		if err != nil {
			t.Fatal(err)
		}
		for backend, want := range backends {
			if d := cmp.Diff(want, read.Of(backend)); d != "" && len(want) > 0 {
				t.Errorf("%s: %s", name, d)
			}
		}
		if name == "two" && (len(f.Values) != 1 || len(f.Backends["deepspeed"]) != 1) || name == "elsewhere" && len(f.Values) > 0 {
			t.Errorf("%s: in common are %v", name, f.Values)
		}
		if f.Of("torchtitan") != nil {
			t.Errorf("%s: a backend that is not there has values", name)
		}
	}
}

// TestUnreadable: a record of another format, or with signs that a terminal obeys, is refused.
func TestUnreadable(t *testing.T) {
	for _, text := range []string{
		"", "{", `{"format_version": "2.0"}`, `{}`,
		`{"format_version": "1.0", "job": "a\u001b[31m"}`, `{"format_version": "1.0", "values": [{"path": "a\nb"}]}`,
		`{"format_version": "1.0", "backends": {"megatron": [{"origin": "spec:a\u0007"}]}}`, `{"format_version": "1.0", "backends": {"../x": []}}`,
	} {
		if f, err := Read([]byte(text)); err == nil {
			t.Errorf("%q is read as %+v", text, f)
		}
	}
}
