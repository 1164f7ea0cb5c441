package lang

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestChoices: a value pins, a list chooses, a map is a range or leaves out.
func TestChoices(t *testing.T) {
	src := minimal(`
locals {
  degrees = [8, 2, 4, 2]
}
`, `
  constraints {
    nvlink_only = []
    layout {
      tensor_parallel   = local.degrees
      context_parallel  = { min = 2, max = 8 }
      pipeline_parallel = { max = 4 }
      virtual_pipeline  = { min = 2 }
      zero_stage        = [3, 1]
      micro_batch_size  = "2"
      sequence_parallel = [true, false]
      pipeline_schedule = "1f1b"
      recompute         = ["full", "none"]
      stage_layers      = [for i in range(2) : 2]

      data_parallel_shard   = { not = [5, 3, 5] }
      micro_batches         = { min = 2, not = 4 }
      recompute_method      = { not = ["block"] }
    }
  }
`, "steps = 1")
	c := mustLoad(t, files("job.hcl", src), "job.hcl", Options{})[0].Constraints
	want := job.LayoutConstraints{
		TensorParallel:   job.IntChoice{Values: []int{2, 4, 8}},
		ContextParallel:  job.IntChoice{Ranged: true, Min: 2, Max: 8},
		PipelineParallel: job.IntChoice{Ranged: true, Min: 1, Max: 4},
		VirtualPipeline:  job.IntChoice{Ranged: true, Min: 2},
		ZeroStage:        job.IntChoice{Values: []int{1, 3}},
		MicroBatchSize:   job.IntChoice{Values: []int{2}},
		PipelineSchedule: job.StringChoice{"1f1b"},
		Recompute:        job.StringChoice{"full", "none"},
		StageLayers:      []int{2, 2},

		DataParallelShard: job.IntChoice{Ranged: true, Min: 1, Not: []int{3, 5}},
		MicroBatches:      job.IntChoice{Ranged: true, Min: 2, Not: []int{4}},
		RecomputeMethod:   job.StringChoice{"uniform", job.NoValue},
	}
	if d := cmp.Diff(want, c.Layout); d != "" {
		t.Error(d)
	}
	if len(c.NVLinkOnly) != 0 {
		t.Errorf("an empty list is no default: %v", c.NVLinkOnly)
	}
	on, off := job.BoolChoice{Set: true, Value: true}, job.BoolChoice{Set: true}
	for text, want := range map[string]job.BoolChoice{
		"true": on, "[false]": off, `"true"`: on, "[true, true]": on, "[false, true]": {},
		"{ not = true }": {Set: true, OrNone: true}, "{ not = [false] }": {Set: true, Value: true, OrNone: true},
	} {
		src := minimal("", "constraints {\n layout {\n sequence_parallel = "+text+"\n}\n}", "steps = 1")
		if got := mustLoad(t, files("job.hcl", src), "job.hcl", Options{})[0].Constraints.Layout.SequenceParallel; got != want {
			t.Errorf("sequence_parallel = %s is %+v, want %+v", text, got, want)
		}
	}
}

// TestExecutionChoices: a value pins, a list of several leaves the choice.
func TestExecutionChoices(t *testing.T) {
	src := minimal("", `
  execution {
    attention               = ["flash", "unfused", "flash"]
    loss_chunks             = [1, 8]
    cross_entropy           = ["fused"]
    compile                 = true
    overlap_gradient_reduce = [false, true]
  }
`, "steps = 1")
	got := mustLoad(t, files("job.hcl", src), "job.hcl", Options{})[0]
	if d := cmp.Diff(job.Execution{CrossEntropy: job.Some("fused"), Compile: job.Some(true)}, got.Execution); d != "" {
		t.Error(d)
	}
	choices := map[string][]string{"attention": {"flash", "unfused"}, "overlap_gradient_reduce": {"false", "true"}, "loss_chunks": {"1", "8"}}
	if d := cmp.Diff(choices, got.Constraints.Execution); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]any{"flash", "unfused"}, got.Sources["execution.attention"].Value); d != "" {
		t.Errorf("what is told of the list: %s", d)
	}
}

// TestParts: parts in a list are one value, lists of parts in a list are several.
func TestParts(t *testing.T) {
	for text, want := range map[string]struct {
		value   job.Optional[string]
		choices []string
	}{
		`["moe_router", "attention"]`: {value: job.Some("attention+moe_router")},
		`["layer"]`:                   {value: job.Some("layer")},
		`["none", "full"]`:            {choices: []string{"none", "full"}},
		`["none", ["attention"], ["mlp", "attention"]]`: {choices: []string{"none", "attention", "attention+mlp"}},
		`[["attention"], ["attention"]]`:                {value: job.Some("attention")},
		`concat(["attention"], [for m in ["mlp"] : m])`: {value: job.Some("attention+mlp")},
	} {
		got := mustLoad(t, files("job.hcl", minimal("", "execution {\ncuda_graphs = "+text+"\n}\n", "steps = 1")), "job.hcl", Options{})[0]
		if got.Execution.CUDAGraphs != want.value || !slices.Equal(got.Constraints.Execution["cuda_graphs"], want.choices) {
			t.Errorf("%s: %+v, %v", text, got.Execution.CUDAGraphs, got.Constraints.Execution)
		}
	}
}

// TestNodes: a size of the run is one of those that the cluster has.
func TestNodes(t *testing.T) {
	for text, want := range map[string]struct {
		nodes  int
		counts []int
		wrong  string
	}{
		"3":                            {3, nil, ""},
		"null":                         {8, nil, ""},
		"[2, 4, 16]":                   {4, []int{2, 4}, ""},
		"[8, 16]":                      {8, nil, ""},
		"{ min = 2, step = 3 }":        {8, []int{2, 5, 8}, ""},
		"{ min = 2, max = 4, not = 3}": {4, []int{2, 4}, ""},
		"16":                           {0, nil, "The cluster c has 8 nodes"},
		"{ step = 0 }":                 {0, nil, "must be at least 1"},
		"{ stepp = 1 }":                {0, nil, "Did you mean \"step\"?"},
	} {
		src := strings.Replace(minimal("cluster \"c\" {\n base = catalog.cluster.dgx_h100\n nodes = 8\n}", "nodes = "+text, "steps = 1"), "catalog.cluster.single_gpu", "cluster.c", 1)
		w, diags := Load(files("job.hcl", src), "job.hcl", Options{})
		switch {
		case want.wrong != "":
			if len(diags) != 1 || !strings.Contains(diags[0].Detail, want.wrong) {
				t.Errorf("nodes = %s: %v, want %q", text, diags, want.wrong)
			}
		case diags.HasErrors() || w.Jobs[0].Cluster.Nodes != want.nodes || !slices.Equal(w.Jobs[0].NodeCounts, want.counts):
			t.Errorf("nodes = %s: %d of %v, %v", text, w.Jobs[0].Cluster.Nodes, w.Jobs[0].NodeCounts, diags)
		}
	}
}

// TestReferences: every way to name a thing leads to it.
func TestReferences(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{`catalog.model.debug.layers`, "4"},
		{`catalog.model["debug"].layers`, "4"},
		{`catalog["model"]["debug"]["layers"]`, "4"},
		{`catalog.model[local.name].layers`, "4"},
		{`[for m in [catalog.model.debug, catalog.model.llama3_8b] : m.layers][1]`, "32"},
		{`length(catalog.gpu) > 5 ? 1 : 2`, "1"},
		{`model.m.layers + model["m"].layers`, "24"},
		{`model[local.mine].layers`, "12"},
		{`model.m.moe == null ? 5 : 6`, "5"},
		{`catalog.model.mixtral_8x7b.moe.experts`, "8"},
		{`catalog.model.mixtral_8x7b.position_embedding.kind == "rope" ? 7 : 8`, "7"},
		{`catalog.cluster.dgx_h100.gpu.memory == catalog.gpu.h100_sxm.memory ? 3 : 4`, "3"},
		{`catalog.model.debug.norm_epsilon == 1e-5 ? 1 : 2`, "1"},
		{`try(local.object.missing, 9)`, "9"},
		{`can(local.object.there) ? 10 : 11`, "10"},
		{`(local.chosen).layers`, "32"},
		{`local.object["there"]`, "1"},
		{`length(keys(catalog.model.debug.built_by))`, "3"},
	} {
		src := minimal(`
locals {
  name   = "debug"
  mine   = "m"
  object = { there = 1 }
  chosen = local.name == "debug" ? catalog.model.llama3_8b : catalog.model.debug
  wanted = `+c.expr+`
}
model "m" {
  base   = catalog.model.debug
  layers = 12
}
`, "", "steps = local.wanted")
		if got := mustLoad(t, files("job.hcl", src), "job.hcl", Options{})[0].Training.Steps; countText(got) != c.want {
			t.Errorf("%s = %d, want %s", c.expr, got, c.want)
		}
	}
}

func countText(n int) string { return formatNumber(float64(n)) }

// TestVariableFiles: values for variables that no file declares are warnings,
// and a broken file is an error at its line.
func TestVariableFiles(t *testing.T) {
	src := minimal("variable \"n\" {\n  default  = 3\n  nullable = false\n}", "", "steps = var.n")
	for _, c := range []struct {
		name, content string
		want          []diag.ID
		steps         int
	}{
		{"undeclared", "m = 1\nn = 2\n", []diag.ID{UndeclaredVariable}, 2},
		{"null is the default", "n = null\n", nil, 3},
		{"functions", "n = max(5, 6)\n", nil, 6},
		{"references", "n = local.x\n", []diag.ID{InvalidVariable}, 0},
		{"blocks", "x {\n}\nn = 4\n", []diag.ID{UnknownBlock}, 0},
		{"syntax", "n = = 4\n", []diag.ID{SyntaxError}, 0},
		{"number", "n = 1e999999999\n", []diag.ID{OutOfRange}, 0},
		{"bytes", "n = \"\xff\"\n", []diag.ID{InvalidText}, 0},
	} {
		w, diags := Load(files("d/job.hcl", src, "d/x.auto.ndcvars", c.content), "d", Options{})
		var ids []diag.ID
		for _, d := range diags {
			ids = append(ids, d.ID)
			if d.Range.Filename != "d/x.auto.ndcvars" {
				t.Errorf("%s: %v is not in the variable file", c.name, d)
			}
		}
		if !slices.Equal(ids, c.want) {
			t.Errorf("%s: %v, want %v", c.name, diags, c.want)
		}
		if !diags.HasErrors() && w.Jobs[0].Training.Steps != c.steps {
			t.Errorf("%s: steps = %d, want %d", c.name, w.Jobs[0].Training.Steps, c.steps)
		}
	}
	required := minimal("variable \"n\" {\n  type = number\n}", "", "steps = var.n")
	if _, diags := Load(files("d/job.hcl", required, "d/x.auto.ndcvars", "n = = 4\n"), "d", Options{}); len(diags) != 1 || diags[0].ID != SyntaxError {
		t.Errorf("a variable that a broken file may set is not missing: %v", diags)
	}
	if _, diags := Load(files("job.hcl", required), "job.hcl", Options{Variables: []VariableArg{{Name: "n", Value: "1e999999999"}}}); len(diags) != 1 || diags[0].ID != InvalidVariable {
		t.Error(diags)
	}
	if _, diags := Load(files("job.hcl", src), "job.hcl", Options{VariableFiles: []string{"none.ndcvars"}}); len(diags) != 1 || diags[0].ID != UnreadableFile {
		t.Error(diags)
	}
}

// TestDuplicates: names are unique over all files of a folder, and the message
// says where the first is.
func TestDuplicates(t *testing.T) {
	a := minimal("locals {\n  x = 1\n}\nvariable \"v\" {\n  default = 1\n}\nmodel \"m\" {\n  base = catalog.model.debug\n}\n", "", "steps = 1")
	_, diags := Load(files("d/a.hcl", a, "d/b.hcl", a), "d", Options{})
	if len(diags) != 4 {
		t.Fatalf("want 4 diagnostics, got %v", diags)
	}
	for _, d := range diags {
		if d.ID != DuplicateBlock || d.Range.Filename != "d/b.hcl" || !strings.Contains(d.Detail, "d/a.hcl:") {
			t.Error(d)
		}
	}
}

// TestDeterminism: the same files give the same diagnostics and jobs.
func TestDeterminism(t *testing.T) {
	src := minimal("locals {\n  a = local.b\n  b = local.c\n  c = local.a\n  d = nothing\n}\n", "slurm {\n environment = {\n A_KEY = \"x\"\n B_KEY = \"y\"\n C_KEY = \"z\"\n}\n}", "steps = local.a")
	_, first := Load(files("job.hcl", src), "job.hcl", Options{})
	for range 20 {
		_, again := Load(files("job.hcl", src), "job.hcl", Options{})
		if d := cmp.Diff(first, again); d != "" {
			t.Fatal(d)
		}
	}
}

// TestLargeBlend: a blend of many sources is no reason to refuse a file.
func TestLargeBlend(t *testing.T) {
	var sources strings.Builder
	for i := range 3000 {
		n := countText(i)
		sources.WriteString("source \"s" + n + "\" {\n path = \"/data/" + n + "\"\n weight = 0.5\n}\n")
	}
	src := strings.Replace(minimal("", "", "steps = 1"), "mock = true", "format = \"megatron\"\n"+sources.String(), 1)
	j := mustLoad(t, files("job.hcl", src), "job.hcl", Options{})[0]
	if n := len(j.Training.Data.Sources); n != 3000 || j.Training.Data.Sources[0].Weight != 1.0/3000 {
		t.Errorf("%d sources, the first weighs %g", n, j.Training.Data.Sources[0].Weight)
	}
}

// TestSharesStay: shares that were divided once, as those of a launch that is
// imported, are not divided again: 1 and 0.3 make shares whose sum is not 1.
func TestSharesStay(t *testing.T) {
	shares := func(a, b string) []job.DataSource {
		blend := "format = \"megatron\"\nsource \"a\" {\n path = \"/a\"\n weight = " + a + "\n}\nsource \"b\" {\n path = \"/b\"\n weight = " + b + "\n}"
		src := strings.Replace(minimal("", "", "steps = 1"), "mock = true", blend, 1)
		return mustLoad(t, files("job.hcl", src), "job.hcl", Options{})[0].Training.Data.Sources
	}
	first := shares("1", "0.3")
	again := shares(strconv.FormatFloat(first[0].Weight, 'g', -1, 64), strconv.FormatFloat(first[1].Weight, 'g', -1, 64))
	if d := cmp.Diff(first, again); d != "" {
		t.Error(d)
	}
}

// TestNoWeight: a source of weight 0 is left out, which frameworks read
// (DeepSpeed's reader gave it a sequence) or fail on (Megatron-LM).
func TestNoWeight(t *testing.T) {
	j := mustLoad(t, files("job.hcl", strings.Replace(minimal("", "", "steps = 1"), "mock = true", `
      format = "megatron"
      source "a" {
        path   = "/a"
        weight = 0
      }
      source "b" {
        path   = "/b"
        weight = 2
      }
      tokenizer "none" {}`, 1)), "job.hcl", Options{})[0]
	if d := cmp.Diff([]job.DataSource{{Name: "b", Path: "/b", Weight: 1}}, j.Training.Data.Sources); d != "" {
		t.Error(d)
	}
}

// TestWholeNumbers: arithmetic with fractions may end at a whole number.
func TestWholeNumbers(t *testing.T) {
	for _, c := range []struct {
		expr string
		want int
	}{
		{"2e3", 2000}, {`"2e3"`, 2000}, {"0.1 * 30", 3}, {"0.3 * 1e10", 3e9}, {"1.1 * 100", 110}, {"10 / 3 * 3", 10}, {"floor(10 / 3)", 3}, {"1e10 - 0", 1e10},
		{"2.5", 0}, {"10 / 3", 0}, {"1e10 - 0.001", 0}, {"1 / 0", 0}, {"1e99", 0}, {"0.0000001", 0},
	} {
		w, diags := Load(files("job.hcl", minimal("", "", "steps = "+c.expr)), "job.hcl", Options{})
		if c.want == 0 {
			if !diags.HasErrors() {
				t.Errorf("%s is accepted as %d", c.expr, w.Jobs[0].Training.Steps)
			}
			continue
		}
		if diags.HasErrors() || w.Jobs[0].Training.Steps != c.want {
			t.Errorf("%s: %v, want %d", c.expr, diags, c.want)
		}
	}
}

// TestNegativeZero: zero has no sign, however it is written.
func TestNegativeZero(t *testing.T) {
	for _, zero := range []string{"-0", "-0.0", "0 * -1", "-1e-400"} {
		src := strings.Replace(minimal("", "", "steps = 10"), "learning_rate = 1e-4", "learning_rate = 1e-4\n      weight_decay = "+zero, 1)
		w, diags := Load(files("job.hcl", src), "job.hcl", Options{})
		if diags.HasErrors() || math.Signbit(w.Jobs[0].Training.Optimizer.WeightDecay) {
			t.Errorf("%s: %v", zero, diags)
		}
	}
}
