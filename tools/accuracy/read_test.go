package main

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestOddRows: a row that cannot be predicted is skipped with a reason that
// says what is odd about it; a line that is no row is counted all the same.
func TestOddRows(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(map[string]any)
		reason string // "": predicted
	}{
		{"as it is", func(map[string]any) {}, ""},
		{"whole numbers with a fraction", set1("layout", "tp", json.Number("1.0")), ""},
		{"a number in text", set1("layout", "cp", "2"), "unreadable: layout.cp is a string"},
		{"a range of GPUs", set1("cluster", "nodes_or_gpus", "8-16"), "unreadable: cluster.nodes_or_gpus"},
		{"no layout", func(r map[string]any) { r["layout"] = nil }, "layout not stated"},
		{"no vocabulary", set1("model", "vocab", nil), "vocabulary not stated"},
		{"no recompute", set1("layout", "recompute", nil), "recompute not stated"},
		{"unknown precision", set1("", "precision", "not stated"), "precision not known"},
		{"unknown GPU", set1("cluster", "gpu", "MI300X"), "no facts about its cluster"},
		{"data parallelism", set1("layout", "dp", 3), "contradiction: stated data parallelism"},
		{"negative size", set1("model", "layers", -4), "implausible: layers is -4"},
		{"LoRA", set1("", "task", "LoRA"), "LoRA"},
		{"Mamba", set1("model", "hybrid_pattern", "M*M"), "Mamba hybrid"},
		{"no row of a known source", set1("source", "name", "somebody"), ""},
		{"not fully specified", set1("quality", "fully_specified", false), "not fully specified"},
	} {
		r := decoded(t, "simumax_b200.jsonl", 0)
		c.change(r)
		got := predictRow(t, r)
		if c.reason == "" && got.Status != "predicted" || c.reason != "" && !strings.HasPrefix(got.Reason, c.reason) {
			t.Errorf("%s: %s %q, want %q", c.name, got.Status, got.Reason, c.reason)
		}
	}
}

// set1 changes one field of a part of a row, or of the row itself.
func set1(part, field string, v any) func(map[string]any) {
	return func(r map[string]any) {
		if part != "" {
			r = r[part].(map[string]any)
		}
		r[field] = v
	}
}

// decoded is one row of a measured file.
func decoded(t *testing.T, file string, i int) map[string]any {
	t.Helper()
	lines, err := readLines(measured, file)
	if err != nil {
		t.Fatal(err)
	}
	var r map[string]any
	if err := json.Unmarshal(lines[i%len(lines)], &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// predictRow predicts a row in a folder of its own.
func predictRow(t *testing.T, r map[string]any) result {
	t.Helper()
	line, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := load(fstest.MapFS{"rows.jsonl": {Data: line}}, measured)
	if err != nil || len(cases) != 1 {
		t.Fatalf("%d rows, %v", len(cases), err)
	}
	return predict(&cases[0], estimate.DefaultParameters())
}

// TestLines: what is no training step is not a row, what is broken is one.
func TestLines(t *testing.T) {
	step := `{"id":"a","model":{},"layout":{},"measured":{}}`
	folder := fstest.MapFS{
		"kernels.jsonl": {Data: []byte(`{"id":"k","op":"gemm"}`)},
		"steps.jsonl":   {Data: []byte(step + "\n\n{\"id\":\n" + `{"id":"b","model":{"mfu":NaN}}` + "\n[1]\n")},
	}
	rows, others, err := readRows(folder)
	if err != nil || !slices.Equal(others, []string{"kernels.jsonl"}) {
		t.Fatalf("%v, %v", others, err)
	}
	var got []string
	for i := range rows {
		got = append(got, rows[i].ID+": "+missing(&rows[i]))
	}
	want := []string{
		"a: architecture not stated", "steps.jsonl:2: unreadable: the line is not a JSON object",
		"steps.jsonl:3: unreadable: the line is not a JSON object", "steps.jsonl:4: unreadable: the line is not a JSON object",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// TestMutations replaces fields of real rows by values that do not belong
// there: whatever comes is either predicted or skipped with a reason, and
// never for a reason that no check foresaw.
func TestMutations(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	values := []any{nil, "x", "8", -1, 0, 1, 3, 7.5, 1e12, true, []any{}, map[string]any{}}
	files := []string{"bigscience_bloom", "megatron_bridge_perf_summary", "mosaicml_llm_foundry", "torchtitan", "megatron_lm_ci_golden", "megatron_sc21"}
	for n := range 300 {
		r := decoded(t, files[n%len(files)]+".jsonl", random.IntN(1000))
		parts := []string{"model", "layout", "cluster", "measured"}
		part := r[parts[random.IntN(len(parts))]].(map[string]any)
		names := slices.Sorted(maps.Keys(part))
		name := names[random.IntN(len(names))]
		v := values[random.IntN(len(values))]
		part[name] = v
		got := predictRow(t, r)
		if got.Status == "skipped" && (got.Reason == "" || strings.HasPrefix(got.Reason, "not described")) {
			t.Errorf("%s with %s = %v: %q", got.ID, name, v, got.Reason)
		}
		if got.Time != nil && !(got.Time.PredictedSeconds > 0 && got.Time.MeasuredSeconds > 0) {
			t.Errorf("%s with %s = %v: time %v", got.ID, name, v, *got.Time)
		}
	}
}

// TestExpertsOfDeepSpeed: a mixture that DeepSpeed trained is predicted, although no
// row says how its router scores.
func TestExpertsOfDeepSpeed(t *testing.T) {
	r := decoded(t, "deepspeed_a800.jsonl", 0)
	r["model"].(map[string]any)["moe"] = map[string]any{"experts": 8, "topk": 2, "moe_ffn": 2048}
	r["layout"].(map[string]any)["zero_stage"] = 3
	if got := predictRow(t, r); got.Status != "predicted" {
		t.Errorf("%s: %s", got.Status, got.Reason)
	}
}

// TestStated: an execution that facts state is read whole, or the row is refused.
func TestStated(t *testing.T) {
	var x job.Execution
	stated(&x, map[string]any{"compile": true, "dropout": 0.1, "parameter_gather": true, "plain_loss": false, "attention": nil})
	if !x.Compile.Or(false) {
		t.Errorf("%+v", x)
	}
	defer func() {
		if recover() == nil {
			t.Error("a name that nothing reads is accepted")
		}
	}()
	stated(&x, map[string]any{"recompute": "full"})
}

// TestExpand reads Megatron-LM's letters for the layers of each chunk.
func TestExpand(t *testing.T) {
	for in, want := range map[string][]int{
		"Et*4|(t*4|)*14tmL":    {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 1},
		"Et*2|(tt|)*5t|tmL":    {2, 2, 2, 2, 2, 2, 1, 1},
		"E|t*3|(t|t*2|)*2,L":   {0, 3, 1, 2, 1, 2, 0},
		"Etttt|tttt|tttt|tttL": {4, 4, 4, 3},
	} {
		r := row{Args: map[string]any{"--pipeline-model-parallel-layout": in}}
		if got := r.statedStages(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", in, got, want)
		}
	}
}

// TestComplete: a launch's arguments fill what the row leaves out, and do not
// change what it states.
func TestComplete(t *testing.T) {
	r := parseRow([]byte(`{"id":"a","model":{"ffn":4096,"moe":{"topk":6}},"args":{"--num-experts":64,"--moe-router-topk":2,
		"--moe-layer-freq":"([0]*3+[1]*11)","--multi-latent-attention":true,"--q-lora-rank":1536,"--kv-lora-rank":512}}`))
	if e := r.Model.MoE; e.Experts != 64 || e.TopK != 6 || e.FFN != 4096 || r.firstDense() != 3 {
		t.Errorf("%+v, %d dense layers first", e, r.firstDense())
	}
	if a := r.Model.MLA; a == nil || *a != (latentSizes{1536, 512, 128, 64, 128}) {
		t.Errorf("%+v", a)
	}
}

// TestMemoryDefinition: what is counted, and in which unit, is read from the
// definition beside the figure.
func TestMemoryDefinition(t *testing.T) {
	r := decoded(t, "simumax_b200.jsonl", 0)
	measuredOf := func(definition string) *memoryResult {
		r["measured"].(map[string]any)["peak_memory_definition"] = definition
		r["measured"].(map[string]any)["peak_memory_gb"] = 10
		return predictRow(t, r).Memory
	}
	gib, gb := measuredOf("GiB, torch.cuda.max_memory_allocated()"), measuredOf("allocated_bytes.all.peak, /1e9")
	if gib.MeasuredBytes != 10*(1<<30) || gb.MeasuredBytes != 10e9 || gib.Definition != "allocated" {
		t.Errorf("%+v and %+v", gib, gb)
	}
	if d := measuredOf("nvidia-smi"); d.Definition != "device" || d.PredictedBytes <= gib.PredictedBytes {
		t.Errorf("nvidia-smi: %+v", d)
	}
}

// TestAssumedLast: what is known of a machine counts, also behind what is assumed of its GPU.
func TestAssumedLast(t *testing.T) {
	w, err := newDescriber(fstest.MapFS{factsFile: {Data: []byte(`{"id": "any", "applies_to": {"gpu_contains": "h200"}, "assumed": true}
{"id": "ours", "applies_to": {"source": "make gpu, here"}}
`)}})
	if err != nil {
		t.Fatal(err)
	}
	for source, assumed := range map[string]bool{"make gpu, here": false, "a page": true} {
		r := row{}
		r.Source.Name, r.Cluster.GPU = source, "NVIDIA H200"
		if f := w.factsOf(&r); f == nil || f.Assumed != assumed {
			t.Errorf("%s: %+v, assumed should be %v", source, f, assumed)
		}
	}
}
