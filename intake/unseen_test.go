package intake

import (
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/intake/draft"
)

const unseenLaunch = " --num-layers 8 --hidden-size 64 --num-attention-heads 8 --micro-batch-size 1 --seq-length 64 --global-batch-size 8 --bf16\n"

// TestNoGPUs: a job of a launch for other accelerators says at its cluster that it is for GPUs.
func TestNoGPUs(t *testing.T) {
	for before, want := range map[string]bool{
		"export NCCL_DEBUG=INFO\n": false, "export HCCL_CONNECT_TIMEOUT=1800\n": true, "export PT_HPU_LAZY_MODE=1\n": true,
		"source /usr/local/Ascend/ascend-toolkit/set_env.sh\n": true, "source env.sh\n": false,
	} {
		r, diags := Import([]File{{Name: "run.sh", Content: []byte(before + "torchrun pretrain_gpt.py" + unseenLaunch)}}, Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if got := strings.Contains(string(r.Job), "accelerators that are no GPUs"); got != want {
			t.Errorf("%q: %v in\n%s", before, got, r.Job)
		}
	}
}

// TestWrapped: a script that was not given and that a launch goes through is named.
func TestWrapped(t *testing.T) {
	for line, want := range map[string]bool{
		"bash ./run_pretrain.sh": true, "sbatch -N 4 launch.slurm": true, "srun ./bind.sh python pretrain_gpt.py": false, "torchrun pretrain_gpt.py": false, "bash given.sh": false,
	} {
		files := []File{{Name: "run.sh", Content: []byte(line + unseenLaunch)}, {Name: "given.sh", Content: []byte("torchrun pretrain_gpt.py $@\n")}}
		r, diags := Import(files, Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		got := slices.ContainsFunc(r.Findings, func(f draft.Finding) bool {
			return f.Verdict == draft.Unknown && strings.Contains(f.Why, "which program it starts")
		})
		if got != want {
			t.Errorf("%s: %v: %+v", line, got, r.Findings)
		}
	}
}
