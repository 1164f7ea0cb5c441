package intake

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/intake/draft"
)

// TestFlavors: a configuration of TorchTitan names a model of its code, which is that of
// the catalogue or stands in the job.
func TestFlavors(t *testing.T) {
	const block = `model "run" {`
	for _, c := range []struct{ model, more, want, missing string }{
		{`name = "llama3"` + "\n" + `flavor = "8B"`, "seq_len = 8192", "catalog.model.llama3_1_8b", "document_mask"},
		{`name = "llama3"` + "\n" + `flavor = "8B_flex"`, "seq_len = 8192", "document_mask = true", block},
		{`name = "llama3"` + "\n" + `flavor = "70B"`, "seq_len = 8192\nbatch_size = 2", "catalog.model.llama3_70b", "llama3_1"},
		{`name = "llama2"` + "\n" + `flavor = "13B"`, "seq_len = 4096\nbatch_size = 2", "catalog.model.llama2_13b", block},
		{`name = "llama2"` + "\n" + `flavor = "13B"`, "", "catalog.model[var.model]", "layers"},
		{`name = "qwen3"` + "\n" + `flavor = "32B"`, "seq_len = 4096\nbatch_size = 2", "catalog.model.qwen3_32b", block},
		{`name = "qwen3"` + "\n" + `flavor = "30B-A3B"`, "seq_len = 4096", "catalog.model.qwen3_30b_a3b", block},
		{`name = "gpt_oss"` + "\n" + `flavor = "120b"`, "seq_len = 4096", "catalog.model.gpt_oss_120b", block},
		{`name = "qwen3"` + "\n" + `flavor = "1.7B"`, "", "tied_embeddings = true", "catalog.model"},
		{`name = "deepseek_v3"` + "\n" + `flavor = "671B"`, "seq_len = 4096", "kv_lora_rank     = 512", "scaling {"},
		{`name = "deepseek_v3"` + "\n" + `flavor = "671B"`, "seq_len = 8192", "original_length = 4096", "mtp_layers"},
		{`name = "llama3"` + "\n" + `flavor = "9B"`, "", "catalog.model[var.model]", block + "\n  layers"},
		{`name = "llama4"` + "\n" + `flavor = "17bx16e"`, "", "catalog.model[var.model]", "layers"},
	} {
		toml := fmt.Sprintf("[model]\n%s\n[training]\nsteps = 10\n%s\n[parallelism]\ntensor_parallel_degree = 1\n", c.model, c.more)
		r, diags := Import([]File{{Name: "run.toml", Content: []byte(toml)}}, Options{Cluster: "dgx_h100", Nodes: 16})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		text := strings.Join(strings.Fields(string(r.Job)), " ")
		has := func(s string) bool { return strings.Contains(text, strings.Join(strings.Fields(s), " ")) }
		if !has(c.want) || has(c.missing) {
			t.Errorf("%s %s: want %s, and not %s:\n%s", c.model, c.more, c.want, c.missing, r.Job)
		}
	}
}

// TestUntold: what a configuration of TorchTitan leaves out of a run's training is as the
// release has it.
func TestUntold(t *testing.T) {
	for toml, want := range map[string]string{
		"[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\n":      "steps = 10000 learning_rate = 8e-4 warmup_steps = 200 sequence_length = 2048",
		"[metrics]\nlog_freq = 1\n[training]\nsteps = 50\n":                                    "steps = 50 learning_rate = 8e-4 warmup_steps = 50 sequence_length = 2048",
		"[optimizer]\nlr = 1e-3\n[lr_scheduler]\nwarmup_steps = 5\n[training]\nseq_len = 64\n": "steps = 10000 learning_rate = 0.001 warmup_steps = 5 sequence_length = 64",
	} {
		r, diags := Import([]File{{Name: "run.toml", Content: []byte(toml)}}, Options{Cluster: "dgx_h100", Nodes: 1})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if f := r.Findings[0]; f.Name != "activation_checkpoint.selective_ac_option" || f.Verdict != draft.Unknown {
			t.Errorf("%s: %+v", toml, f)
		}
		text := strings.Join(strings.Fields(string(r.Job)), " ")
		words := strings.Fields(want)
		for i := 0; i < len(words); i += 3 {
			if setting := strings.Join(words[i:i+3], " "); !strings.Contains(text, setting) {
				t.Errorf("%s: the job lacks %s:\n%s", toml, setting, r.Job)
			}
		}
	}
}
