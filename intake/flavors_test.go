package intake

import (
	"fmt"
	"strings"
	"testing"
)

// TestFlavors: a configuration of TorchTitan names a model of its code, which is that of
// the catalogue or stands in the job.
func TestFlavors(t *testing.T) {
	const block = `model "run" {`
	for _, c := range []struct{ model, more, want, missing string }{
		{`name = "llama3"` + "\n" + `flavor = "8B"`, "", "catalog.model.llama3_1_8b", "document_mask"},
		{`name = "llama3"` + "\n" + `flavor = "8B_flex"`, "", "document_mask = true", block},
		{`name = "llama3"` + "\n" + `flavor = "70B"`, "batch_size = 2", "catalog.model.llama3_70b", "llama3_1"},
		{`name = "llama2"` + "\n" + `flavor = "13B"`, "batch_size = 2", "catalog.model.llama2_13b", block},
		{`name = "llama2"` + "\n" + `flavor = "13B"`, "", "catalog.model[var.model]", "layers"},
		{`name = "qwen3"` + "\n" + `flavor = "32B"`, "batch_size = 2", "catalog.model.qwen3_32b", block},
		{`name = "qwen3"` + "\n" + `flavor = "30B-A3B"`, "", "catalog.model.qwen3_30b_a3b", block},
		{`name = "gpt_oss"` + "\n" + `flavor = "120b"`, "", "catalog.model.gpt_oss_120b", block},
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
