package capability

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAlternatives: a refusal names every framework and version that has all that is asked for, and
// for which architecture.
func TestAlternatives(t *testing.T) {
	for _, c := range []struct {
		features []Feature
		want     string
	}{
		{[]Feature{"training.batch_ramp"}, "Megatron-LM has it."},
		{[]Feature{"training.optimizer=muon"}, "Megatron-LM has it from core_v0.16.0 on."},
		{[]Feature{"training.fp8.recipe=rowwise"}, "TorchTitan has it."},
		{[]Feature{"model.post_norms"}, `DeepSpeed has it for architecture "gemma2".`},
		{[]Feature{"execution.moe_dispatcher=hybridep"}, "Megatron-LM from core_v0.16.0 on and TorchTitan 0.3.0 have it."},
		{[]Feature{"constraints.layout.data_parallel_replicate"}, "Megatron-LM, TorchTitan and DeepSpeed up to 0.19.6 have it."},
		{[]Feature{"model.post_norms", "model.final_logit_softcap"}, `DeepSpeed has all of them for architecture "gemma2".`},
		{[]Feature{"model.qk_norm", "model.dropout"}, "Megatron-LM has all of them."},
		{[]Feature{"model.post_norms", "execution.loss_chunks", "model.embedding_scale"}, `DeepSpeed has all of them for architecture "gemma2".`},
		{[]Feature{"training.batch_ramp", "execution.compile", "training.optimizer=sgd"},
			"No backend has all of them. Megatron-LM has a batch that grows. TorchTitan has torch.compile. Megatron-LM and DeepSpeed have SGD."},
	} {
		if got := Alternatives(c.features...); got != c.want {
			t.Errorf("%v: %q, want %q", c.features, got, c.want)
		}
	}
}

// TestLayout: several values of a layout's argument, and arguments of which the
// table says nothing.
func TestLayout(t *testing.T) {
	who := Layout(map[string]string{"zero_stage": "It shards."})
	for _, c := range []struct {
		argument string
		values   []string
		want     string
	}{
		{"zero_stage", []string{"1"}, "It shards. Megatron-LM and DeepSpeed have zero_stage 1."},
		{"pipeline_schedule", []string{"gpipe", "dualpipev"}, "TorchTitan has the pipeline schedule gpipe. TorchTitan 0.3.0 has the pipeline schedule dualpipev."},
		{"stage_layers", nil, "Megatron-LM and TorchTitan have stages with different numbers of layers."},
		{"virtual_pipeline", []string{"2", "4"}, "Megatron-LM and TorchTitan 0.3.0 have several chunks per pipeline rank."},
		{"micro_batches", []string{"3"}, ""},
	} {
		if got := who(c.argument, c.values); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.argument, c.values, got, c.want)
		}
	}
}

// TestFeature: a feature is asked for by the argument that its name begins with.
func TestFeature(t *testing.T) {
	for f, want := range map[Feature]string{
		"model.qk_norm": "model.qk_norm", "execution.cuda_graphs=layer": "execution.cuda_graphs", "model.mla without experts": "model.mla",
	} {
		if f.Argument() != want {
			t.Errorf("%s is asked for by %s, want %s", f, f.Argument(), want)
		}
	}
	if f := Of("execution.cuda_graphs", "layer"); f != "execution.cuda_graphs=layer" {
		t.Error(f)
	}
	if f := Of("execution.loss_chunks", 8); f != "execution.loss_chunks" {
		t.Error(f)
	}
	if first, last := Since("deepspeed", "constraints.layout.data_parallel_replicate"); first != "0.16.4" || last != "0.19.6" {
		t.Error(first, last)
	}
}

// TestRows: every row can be read aloud and says where it comes from.
func TestRows(t *testing.T) {
	for _, r := range Rows() {
		if r.What == "" || r.Source == "" {
			t.Errorf("%s lacks a name or a source", r.Feature)
		}
		for _, b := range Backends() {
			for _, s := range r.Spans(b.Kind) {
				b.bounds(s)
			}
		}
	}
}

// TestSources: options that sources name are in the tables of some version.
func TestSources(t *testing.T) {
	option := map[string]*regexp.Regexp{
		"megatron":   regexp.MustCompile(`--[a-z0-9-]+`),
		"torchtitan": regexp.MustCompile(`\b[a-z_]+(\.[a-z0-9_]+)+\b`),
		"deepspeed":  regexp.MustCompile(`\b[a-z_]+(\.[a-z0-9_]+)+\b`),
	}
	for _, b := range Backends() {
		tables, err := filepath.Glob("../" + b.Kind + "/schema/*.jsonl")
		if err != nil || tables == nil {
			t.Fatalf("no tables of %s: %v", b.Kind, err)
		}
		var text strings.Builder
		for _, name := range tables {
			table, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(table)
		}
		known := text.String()
		for _, r := range Rows() {
			for source := range strings.SplitSeq(r.Source, "; ") {
				rest, ok := strings.CutPrefix(source, b.Name+" ")
				for _, o := range option[b.Kind].FindAllString(rest, -1) {
					if ok && !strings.HasSuffix(o, ".py") && !strings.Contains(known, `"`+o+`"`) {
						t.Errorf("%s: no table of %s has %s", r.Feature, b.Name, o)
					}
				}
			}
		}
	}
}
