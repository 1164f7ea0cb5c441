package intake

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/lang/outline"
)

// escape is text that would end a comment, a string or a block of the job, and
// begin another job with lines for the shell.
const escape = "x\n}\njob \"evil\" {\n  slurm {\n    setup = [\"rm -rf /\"]\n  }\n}\n#"

// hostile is text that no file may bring into a job or a report as it stands.
var hostile = []string{
	escape, strings.ReplaceAll(escape, "\n", "\r"), strings.ReplaceAll(escape, "\n", "\u2028"), strings.ReplaceAll(escape, "\n", "\u0085"),
	"nul\x00", "escape\x1b[2J", "delete\x7f", "override\u202e", "isolate\u2066", "mark\u200f", "zero\u200b", "\ufeff", "${var.x}", "%{ if true }", `quote"\`, "*/", "\n", "\t",
}

// importers are files of every format with a text as a key and as values, spelled
// as the format spells strings.
var importers = []struct {
	name, file string
	content    func(text string) string
}{
	{"Hugging Face", "config.json", func(s string) string {
		return fmt.Sprintf(`{"model_type": "llama", "hidden_size": 64, %[1]s: %[1]s, "hidden_act": %[1]s, "rope_scaling": {"rope_type": %[1]s, %[1]s: 1}, "torch_dtype": %[1]s, "a": {%[1]s: [%[1]s]}}`, spelled(s))
	}},
	{"a model of several parts", "config.json", func(s string) string {
		return fmt.Sprintf(`{"model_type": "llava", %[1]s: %[1]s, "text_config": {"model_type": "llama", "hidden_size": 64, %[1]s: %[1]s}}`, spelled(s))
	}},
	{"an unknown model", "config.json", func(s string) string {
		return fmt.Sprintf(`{"architectures": ["LlamaForCausalLM"], "model_type": %[1]s, "hidden_size": 64, %[1]s: %[1]s}`, spelled("x"+s))
	}},
	{"DeepSpeed", "ds_config.json", func(s string) string {
		return fmt.Sprintf(`{"train_batch_size": 8, "zero_optimization": {"stage": 1, %[1]s: %[1]s}, %[1]s: %[1]s, "optimizer": {"type": %[1]s, "params": {%[1]s: 1}}, "scheduler": {"type": %[1]s}}`, spelled(s))
	}},
	{"TorchTitan", "train.toml", func(s string) string {
		return fmt.Sprintf("[training]\nsteps = 10\n%[1]s = 1\n[model]\nflavor = %[1]s\n%[1]s = %[1]s\n[metrics]\n[checkpoint]\nenable = true\nfolder = %[1]s\n[%[1]s]\na = 1\n", spelled(s))
	}},
	{"TorchTitan as it prints itself", "train.json", func(s string) string {
		return fmt.Sprintf(`{"training": {"steps": 10, %[1]s: %[1]s}, "metrics": {}, %[1]s: %[1]s, "model_spec": {"model": {"layers": [{%[1]s: 1}]}}}`, spelled(s))
	}},
	{"Megatron-Bridge", "bridge.yaml", func(s string) string {
		var b strings.Builder
		b.WriteString("_target_: megatron.bridge.training.config.ConfigContainer\nmodel:\n")
		for i, key := range []string{"num_layers", "hidden_size", "num_attention_heads", "seq_length", "ffn_hidden_size", "num_query_groups", "kv_channels", "max_position_embeddings", "vocab_size", "tensor_model_parallel_size"} {
			fmt.Fprintf(&b, "  %s: %d\n", key, 8*(i+1))
		}
		fmt.Fprintf(&b, "  %[1]s: %[1]s\n  activation_func: %[1]s\n  position_embedding_type: %[1]s\n%[1]s: %[1]s\ncheckpoint:\n  save: %[1]s\n  load: %[1]s\n", spelled(s))
		return b.String()
	}},
	{"a script with Megatron-LM", "run.sh", func(s string) string {
		return fmt.Sprintf("#!/bin/bash\n#SBATCH --comment=%[2]s --wckey=%[2]s\nexport NCCL_DEBUG=%[1]s\nexport OTHER=%[1]s\nsource %[1]s\ntorchrun pretrain_gpt.py --num-layers 4 --hidden-size 64 --save %[1]s --split %[1]s --tokenizer-model %[1]s --data-path %[1]s --other %[1]s --%[1]s 1\n", word(s), oneLine(s))
	}},
	{"a script with DeepSpeed", "run.sh", func(s string) string {
		return fmt.Sprintf("#!/bin/bash\ncat > %[1]s <<'END'\n{\"train_batch_size\": 8, %[2]s: %[2]s}\nEND\nsrun --container-image %[1]s --container-mounts %[1]s:/a true\ndeepspeed --num_gpus 8 train.py --other %[1]s --%[1]s=%[1]s\n", word(s), spelled(s))
	}},
}

// spelled is text as JSON, TOML and YAML spell it.
func spelled(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return strings.NewReplacer("\x7f", `\u007f`, "\u0085", `\u0085`).Replace(string(b))
}

// word is text as one word of bash, where a script cannot hold NUL.
func word(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "\x00", ""), "'", `'\''`) + "'"
}

func oneLine(s string) string {
	return strings.NewReplacer("\n", "", "\x00", "", " ", "_").Replace(s)
}

// TestHostileTextStaysText: whatever the keys and values of a file are, the job has
// the blocks that it has with harmless ones, and job and report are lines that
// show all that they hold.
func TestHostileTextStaysText(t *testing.T) {
	for _, in := range importers {
		blocks := blocksOf(t, in.name, in.file, in.content("harmless"))
		for _, text := range hostile {
			t.Run(in.name+"/"+strconv.Quote(text), func(t *testing.T) {
				if d := cmp.Diff(blocks, blocksOf(t, in.name, in.file, in.content(text))); d != "" {
					t.Errorf("the job has other blocks (-harmless +hostile):\n%s", d)
				}
			})
		}
	}
}

// blocksOf are the blocks of the job that a file becomes.
func blocksOf(t *testing.T, name, file, content string) []string {
	t.Helper()
	r, diags := Import([]File{{Name: file, Content: []byte(content)}}, Options{})
	if diags.HasErrors() {
		t.Fatalf("%s: %v\n%s", name, diags, content)
	}
	if strings.ContainsFunc(string(r.Job), func(c rune) bool { return c != '\n' && !unicode.IsPrint(c) }) {
		t.Errorf("the job has signs that do not show:\n%q", r.Job)
	}
	for _, f := range r.Findings {
		if line := f.File + f.Name + f.Value + f.To + f.Why; strings.ContainsFunc(line, func(c rune) bool { return !unicode.IsPrint(c) }) {
			t.Errorf("the report has signs that do not show: %q", line)
		}
	}
	var blocks []string
	for _, b := range outline.Read("job.hcl", r.Job).Blocks {
		blocks = append(blocks, b.Type.Text)
	}
	slices.Sort(blocks)
	return blocks
}

// TestTooMuchForAJob: keys that would fill more than a job may have are no defect.
func TestTooMuchForAJob(t *testing.T) {
	content := `{"model_type": "llama", "hidden_size": 64, "other": "` + strings.Repeat("x", 2<<20) + `"}`
	r, diags := Import([]File{{Name: "config.json", Content: []byte(content)}}, Options{})
	if r != nil || len(diags) != 1 || diags[0].ID != UnreadableImport || !strings.Contains(diags[0].Detail, "more than a file of the language") {
		t.Errorf("%v, %v", r, diags)
	}
}
