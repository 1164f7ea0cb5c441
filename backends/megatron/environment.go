package megatron

import (
	"fmt"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/backends/slurm"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// environment is what the release, the GPU and the layout require. Fabric
// settings are never among it: they come from the cluster.
func environment(v *version, j *job.Job, p *plan.Plan, diags *diag.List) []slurm.Setting {
	var all []slurm.Setting
	set := func(name, value, why string) {
		all = append(all, slurm.Setting{Name: name, Value: render.Literal(value), Why: why})
		demand{name, value, why}.check(j, diags)
	}
	if value, why := connections(j, p); value != "" {
		set("CUDA_DEVICE_MAX_CONNECTIONS", value, why)
	}
	t := v.execution()
	for i := range t.Rows {
		if sets := t.Rows[i].Becomes.sets; sets != nil {
			sets(v, j, p, set)
		}
	}
	if w := j.Training.Logging.WandB; w != nil && w.Mode != "" {
		all = append(all, slurm.Setting{Name: "WANDB_MODE", Value: render.Literal(w.Mode), Why: "training.logging.wandb.mode"})
	}
	attentionVariables(j, p, diags)
	return append(all, slurm.ContinuedRun(j)...)
}

// connections is what CUDA_DEVICE_MAX_CONNECTIONS must be, if anything
// (arguments.py asserts it): 1 keeps tensor and context communication in
// order before Blackwell, FSDP and expert overlap need several queues.
func connections(j *job.Job, p *plan.Plan) (value, why string) {
	l, x := &p.Layout, &p.Execution
	switch {
	case x.OverlapExpertParallel:
		return "32", "overlapped expert communication needs many queues"
	case x.FullySharded:
		return "8", "Megatron-FSDP refuses 1"
	case (l.TensorParallel > 1 || l.ContextParallel > 1) && j.Cluster.GPU.Generation() < 10:
		return "1", "tensor or context parallelism before Blackwell requires it"
	}
	return "", ""
}

// attentionVariables reports switches of Transformer Engine that contradict
// --attention-backend, which sets them itself.
func attentionVariables(j *job.Job, p *plan.Plan, diags *diag.List) {
	for _, s := range [...]struct{ name, kind string }{{"NVTE_FLASH_ATTN", "flash"}, {"NVTE_FUSED_ATTN", "fused"}, {"NVTE_UNFUSED_ATTN", "unfused"}} {
		want := "0"
		if p.Execution.Attention == s.kind {
			want = "1"
		}
		demand{s.name, want, "--attention-backend " + p.Execution.Attention + " sets it"}.check(j, diags)
	}
}

// demand is a value that a variable must have, if it is set at all.
type demand struct{ name, value, why string }

// check reports a variable that the job sets to another value.
func (d demand) check(j *job.Job, diags *diag.List) {
	for _, e := range j.Environments() {
		for _, v := range e.Variables {
			if v.Name == d.name && v.Value != d.value {
				diags.Error(ContradictingEnvironment, j.Sources.Range(e.Path), "Environment contradicts the layout",
					fmt.Sprintf("%s = %q, but this layout needs %s: %s. Remove the variable; ndc sets it.", d.name, v.Value, d.value, d.why))
			}
		}
	}
}
