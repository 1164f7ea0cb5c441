package megatron

import (
	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/backends/slurm"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// Emit writes JOB.sbatch, launch.sh and environment.sh for a feasible plan.
func (Backend) Emit(j *job.Job, p *plan.Plan) ([]backends.Artifact, diag.List) {
	v, diags := release(j)
	if v == nil {
		return nil, diags
	}
	if refused := check(v, j); refused.HasErrors() { // Target has told of the warnings
		return nil, refused
	}
	environment := environment(v, j, p, &diags)
	if diags.HasErrors() {
		return nil, diags
	}
	if p.Execution.OffloadActivations { // the job's choice or the search's
		warnPackage(j, "execution.offload.activations", "cuda-python and nvidia-ml-py (pynvml)", &diags)
	}
	a := commandLine(v, j, p)
	a.checkPlanned(&diags)
	if diags.HasErrors() {
		return nil, diags
	}
	files, more := slurm.Files(j, p, slurm.Launch{
		Title:          "Megatron-LM " + v.name,
		Torch:          v.torch,
		Environment:    environment,
		Setup:          setup(v, j, p),
		Program:        []render.Word{render.Shell(`"$MEGATRON_PATH/` + v.script(&j.Model) + `"`)},
		Arguments:      a.list,
		Shown:          shown(&p.Layout),
		Notice:         p.Time.StepSeconds,
		CheckpointPath: j.Training.Checkpoint.Path,
		LatestStep:     latestStep,
		Steps:          a.steps(),
	})
	diags.Append(more)
	return files, diags
}

// shown are the ranks that report: the first, and the last, which has the loss
// (megatron/training/utils, print_rank_last).
func shown(l *plan.Layout) []int {
	if last := l.GPUs() - 1; last > 0 {
		return []int{0, last}
	}
	return []int{0}
}

// commandLine builds all arguments in the order in which people read them.
func commandLine(v *version, j *job.Job, p *plan.Plan) *arguments {
	a := &arguments{v: v, j: j, p: p, used: map[string]bool{}, replaced: replacements(v, j), instead: map[string][]string{}}
	for _, group := range []struct {
		title string
		add   func()
	}{
		{"Model", a.model},
		{"Position embedding", a.positions},
		{"Attention", a.attention},
		{"Experts", a.experts},
		{"Parallelism", a.parallelism},
		{"Optimizer state and communication", a.state},
		{"Precision", a.precision},
		{"Recompute and offload", a.recompute},
		{"Optimizer", a.optimizer},
		{"Batch and schedule", a.schedule},
		{"Data", a.data},
		{"Validation", a.validation},
		{"Checkpoints", a.checkpoints},
		{"Logging and exit", a.logging},
		{"Extra arguments", a.extra},
	} {
		before := len(a.list)
		a.section(group.title)
		if group.add(); len(a.list) == before+1 {
			a.list = a.list[:before]
		}
	}
	return a
}

// latestStep prints the newest step that Megatron-LM has saved completely: its
// tracker file is written after the last byte of a checkpoint. The word
// release, of converted weights, is no step.
const latestStep = `local tracker=$CHECKPOINT_PATH/latest_checkpointed_iteration.txt step=
[[ ! -f $tracker ]] || read -r -n 64 step <"$tracker" || true
number "$step" || true`
