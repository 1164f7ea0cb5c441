package intake

import (
	"fmt"
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

// TestQueued: directives of other batch systems than Slurm are named, and what says the same.
func TestQueued(t *testing.T) {
	for head, want := range map[string]string{
		"#PBS -N x\n#PBS -l select=32:ngpus=8\n": "2 directives of PBS, which ndc does not read: --nodes and --gpus",
		"#BSUB -nnodes 91\n":                     "1 directive of LSF,",
		"#$ -l rt_F=8\n#$ -cwd\n":                "2 directives of Grid Engine,",
		"#SBATCH -N 2\n# $ - x\n#$x\n":           "",
	} {
		r, diags := Import([]File{{Name: "run.sh", Content: []byte("#!/bin/bash\n" + head + "torchrun pretrain_gpt.py" + unseenLaunch)}}, Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		found := slices.ContainsFunc(r.Findings, func(f draft.Finding) bool {
			return f.Verdict == draft.Unknown && f.Line == 2 && want != "" && strings.Contains(f.Why, want)
		})
		named := slices.ContainsFunc(r.Findings, func(f draft.Finding) bool { return strings.Contains(f.Why, "which ndc does not read") })
		if found != (want != "") || named != found {
			t.Errorf("%q: %+v", head, r.Findings)
		}
	}
}

// TestWrapped: a script that was not given and that a launch goes through is named, and the
// job is not pinned to the release's defaults of a layout that the script may say.
func TestWrapped(t *testing.T) {
	for line, want := range map[string]bool{
		"bash ./run_pretrain.sh": true, "sbatch -N 4 launch.slurm": true, "sbatch launch.job": true, "srun ./bind.sh python pretrain_gpt.py": false, "torchrun pretrain_gpt.py": false, "bash given.sh": false,
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
		if pinned := strings.Contains(string(r.Job), "pipeline_parallel "); pinned == want {
			t.Errorf("%s: %v in\n%s", line, pinned, r.Job)
		}
	}
}

// TestUnseenStart: a script that was not given and that starts a run whose configuration is
// read is named, unless the script that goes by it starts a program itself.
func TestUnseenStart(t *testing.T) {
	ds := File{Name: "ds.json", Content: []byte(`{"train_batch_size": 8, "zero_optimization": {"stage": 1}}`)}
	toml := File{Name: "x.toml", Content: []byte("[model]\nname = \"llama3\"\n[training]\nsteps = 10\n")}
	for _, c := range []struct {
		config File
		script string
		want   bool
	}{
		{ds, "#SBATCH --nodes=2\nsrun bash scripts/train.sh ds.json\n", true},
		{toml, "./run_train.sh\n", true},
		{ds, "srun --comment us --exclusive --ntasks-per-node=1 scripts/train.sh --rate 1 --log x.sh\n", true},
		{ds, "srun --nodes=1 hostname --log x.sh\n", false},
		{ds, "bash prepare.sh\ndeepspeed train.py --deepspeed ds.json\n", false},
		{toml, "bash prepare.sh\ntorchrun -m torchtitan.train --job.config_file x.toml\n", false},
		{ds, "source given.sh\nbash given.sh\n", false},
	} {
		r, diags := Import([]File{c.config, {Name: "run.sh", Content: []byte("#!/bin/bash\n" + c.script)}, {Name: "given.sh", Content: []byte("deepspeed train.py --deepspeed ds.json\n")}}, Options{})
		if diags.HasErrors() {
			t.Fatalf("%s: %v", c.script, diags)
		}
		got := slices.ContainsFunc(r.Findings, func(f draft.Finding) bool {
			return f.Verdict == draft.Unknown && strings.HasPrefix(f.Why, "what it starts")
		})
		if got != c.want {
			t.Errorf("%s: %v: %+v", c.script, got, r.Findings)
		}
	}
}

// TestCut: what bash runs as a command of its own is no part of the launch above it, is not
// taken for the launch, and is named.
func TestCut(t *testing.T) {
	const program = "torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py "
	const model = "--num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --vocab-size 512 --micro-batch-size 1 --global-batch-size 16 --train-iters 10 --lr 1e-3 "
	for script, want := range map[string]string{
		program + model + "--bf16\n  --save /ck --hub-token=hf_abcdef \\\n  --swiglu\n":             "2:--save /ck 2:--hub-token (hidden) 3:--swiglu",
		program + model + "--bf16 \\\n# --lr 1 \\\n--save /ck":                                      "3:--save /ck",
		"for i in 1 2; do\n" + program + model + "\n--save /ck\ndone":                               "3:--save /ck",
		program + model + "$MORE\n$OPTIONS --save /ck":                                              "",
		program + "--tensor-model-parallel-size 4 --bf16 --swiglu\n" + model + "--weight-decay 0.1": "refused: On line 2 bash runs --num-layers as a command: ",
		"f() { echo \"$(f)$(f)$(f)\"; }\nX=$(f)\n" + program + model:                                "refused: run.sh is not read to its end: the script computes more than ndc follows.",
	} {
		r, diags := Import([]File{{Name: "run.sh", Content: []byte(script)}}, Options{})
		got := ""
		if diags.HasErrors() {
			got = "refused: " + diags[0].Detail
		} else {
			for _, f := range r.Findings {
				if strings.HasPrefix(f.Why, "bash runs") {
					got = strings.TrimSpace(fmt.Sprintf("%s %d:%s %s", got, f.Line, f.Name, f.Value))
				}
				if f.Name == "--save" && f.Verdict == draft.Mapped {
					t.Errorf("%s: %v", script, f)
				}
			}
		}
		if refused, ok := strings.CutPrefix(want, "refused: "); got != want && !(ok && strings.Contains(got, refused)) {
			t.Errorf("%s: named is %q, want %q", script, got, want)
		}
	}
}

// TestAbsentElsewhere: a script that another shell starts is named, and not all that this shell is told.
func TestAbsentElsewhere(t *testing.T) {
	_, diags := Import([]File{{Name: "run.sh", Content: []byte("parallel-ssh -i -h hosts \"cd $PWD && bash node.sh\"\n")}}, Options{})
	if len(diags) != 1 || !strings.Contains(diags[0].Detail, "it starts node.sh: give that file") {
		t.Errorf("%v", diags)
	}
}
