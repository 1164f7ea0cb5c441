package intake

import (
	"fmt"
	"strings"
	"testing"
)

// TestSecretsStayOut: what the language takes for a secret is in no job and no
// report, whatever the file that has it.
func TestSecretsStayOut(t *testing.T) {
	const secret = "hf_abcdef"
	const envFile = "a secret, which no job holds; slurm.env_file names a file on the cluster that has it"
	megatron := "torchrun pretrain_gpt.py --num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --max-position-embeddings 128 --micro-batch-size 1 --lr 1e-4"
	for _, c := range []struct{ file, content, name, value, why string }{
		{"run.sh", "export HF_TOKEN=hf_abcdef\n" + megatron, "HF_TOKEN", "(hidden)", envFile},
		{"run.sh", "export HF_TOKEN=${HF_TOKEN:-hf_abcdef}\n" + megatron, "HF_TOKEN", "(hidden)", envFile},
		{"run.sh", "export NCCL_API_KEY=hf_abcdef\n" + megatron, "NCCL_API_KEY", "(hidden)", envFile},
		{"run.sh", "export DB_PASSWORD=hf_abcdef\n" + megatron, "DB_PASSWORD", "(hidden)", envFile},
		{"run.sh", "#SBATCH --export=ALL,A=1,HF_TOKEN=hf_abcdef\n" + megatron, "--export", "ALL,A=1,HF_TOKEN=(hidden)", "ndc sets it: slurm.environment and slurm.env_file"},
		{"run.sh", megatron + " --hub-token hf_abcdef", "--hub-token", "(hidden)", "core_v0.19.2 has no such option"},
		{"run.sh", "cat > ds.json <<END\n{\"train_batch_size\": 8, \"zero_optimization\": {}}\nEND\ndeepspeed train.py --hub_token=hf_abcdef", "--hub_token", "(hidden)", "an option of the training script, which ndc does not know"},
		{"config.json", `{"model_type": "llama", "hidden_size": 64, "hub_token": "hf_abcdef"}`, "hub_token", "(hidden)", "no key that ndc knows of a llama"},
		{"ds_config.json", `{"train_batch_size": 8, "zero_optimization": {}, "comet": {"api_key": "hf_abcdef"}}`, "comet.api_key", "(hidden)", envFile},
		{"ds_config.json", `{"train_batch_size": 8, "zero_optimization": {}, "hub": {"token": "hf_abcdef"}}`, "hub.token", "(hidden)", "ndc knows no such key of 0.19.8"},

		// Names that the language takes for none.
		{"run.sh", "export HF_TOKEN_PATH=/home/hf_abcdef\n" + megatron, "HF_TOKEN_PATH", "/home/hf_abcdef", "a variable of the environment; slurm.environment takes it where the run needs it"},
		{"run.sh", "export TOKENIZERS_PARALLELISM=false\n" + megatron, "TOKENIZERS_PARALLELISM", "false", "a variable of the environment; slurm.environment takes it where the run needs it"},
		{"run.sh", "export HF_TOKEN=$SECRET\n" + megatron, "HF_TOKEN", "$SECRET", "a variable of the environment; slurm.environment takes it where the run needs it"},
		{"run.sh", megatron + " --moe-token-dispatcher-type odd", "--moe-token-dispatcher-type", "odd", ""},
	} {
		r, diags := Import([]File{{Name: c.file, Content: []byte(c.content)}}, Options{})
		if diags.HasErrors() {
			t.Fatalf("%s: %v", c.content, diags)
		}
		found := false
		for _, f := range r.Findings {
			found = found || f.Name == c.name && f.Value == c.value && (f.Why == c.why || c.why == "")
		}
		if !found {
			t.Errorf("%s: no finding %s %s: %s in %v", c.content, c.name, c.value, c.why, r.Findings)
		}
		if strings.Contains(c.value, "(hidden)") && strings.Contains(string(r.Job)+fmt.Sprint(r.Findings), secret) {
			t.Errorf("%s: the secret is in the job or the report:\n%s%v", c.content, r.Job, r.Findings)
		}
	}
}
