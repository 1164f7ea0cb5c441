package megatron

import (
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// gpuMajor is the major compute capability; 9 (Hopper) when the GPU does not
// state one, because its rules are the stricter ones.
func gpuMajor(g *job.GPU) int {
	major, _, _ := strings.Cut(g.ComputeCapability, ".")
	n, err := strconv.Atoi(major)
	if err != nil {
		return 9
	}
	return n
}

// resolve fills in what the user left out. Each default is one that the
// emitted options really cause; docs/megatron.md gives the reasons.
func resolve(j *job.Job, l *plan.Layout, x *plan.Execution) {
	u := &j.Execution
	replicas := l.DataParallel() * l.ContextParallel
	sharded := u.FullySharded.Or(l.ZeroStage >= 2)
	reduce := u.OverlapGradientReduce.Or(replicas > 1 && !wholeMuon(j, l))
	*x = plan.Execution{
		Attention:              u.Attention.Or(attention(j)),
		OverlapGradientReduce:  reduce,
		OverlapParameterGather: u.OverlapParameterGather.Or(reduce && l.ZeroStage >= 1),
		OverlapTensorParallel:  u.OverlapTensorParallel.Or(false),
		OverlapExpertParallel:  u.OverlapExpertParallel.Or(false),
		GradientDType:          u.GradientDType.Or("fp32"),
		OptimizerStateDType:    u.OptimizerStateDType.Or("fp32"),
		CrossEntropy:           u.CrossEntropy.Or(crossEntropy(j)),
		LossChunks:             1,
		CUDAGraphs:             u.CUDAGraphs.Or("none"),
		FullySharded:           sharded,
		ReshardAfterForward:    l.ZeroStage == 3,
		ZeroHPZPartition:       1,
		OffloadOptimizer:       u.OffloadOptimizer.Or(false),
		OffloadActivations:     u.OffloadActivations.Or(false),
	}
	if j.Model.MoE != nil {
		x.MoEDispatcher = u.MoEDispatcher.Or("alltoall")
	}
	if l.ContextParallel > 1 {
		x.ContextParallelType = u.ContextParallelType.Or(contextType(&j.Model))
	}
}

// wholeMuon reports whether Muon runs unsharded, where it refuses to overlap.
func wholeMuon(j *job.Job, l *plan.Layout) bool {
	return j.Training.Optimizer.Kind == "muon" && l.ZeroStage == 0
}

// attention is the kernel that Transformer Engine prefers: cuDNN's on Hopper
// and later and for what only it can do (latent attention, sinks), Flash
// Attention on Ampere, and torch's own in fp32 and before.
func attention(j *job.Job) string {
	major := gpuMajor(&j.Cluster.GPU)
	switch {
	case j.Training.Precision == "fp32" || major < 8:
		return "unfused"
	case major >= 9 || j.Model.MLA != nil || j.Model.AttentionSinks:
		return "fused"
	}
	return "flash"
}

// crossEntropy is Megatron-LM's fused kernel, which casts the gradients of the
// logits to bf16 whatever the precision (core/fusions/fused_cross_entropy.py):
// fp32 and fp16 would lose digits.
func crossEntropy(j *job.Job) string {
	if p := j.Training.Precision; p == "fp32" || p == "fp16" {
		return "unfused"
	}
	return "fused"
}

// contextType is the exchange that the model's attention supports, the ring
// where there is a choice.
func contextType(m *job.Model) string {
	switch {
	case m.AttentionSinks:
		return "ulysses"
	case m.SlidingWindow.Size > 0:
		return "all_gather"
	}
	return "ring"
}

// variants are execution options that change what fits.
func variants() []target.Variant {
	return []target.Variant{{
		Name:    "optimizer states in host memory",
		Options: []string{"offload.optimizer"},
		Applies: func(f *target.Facts) bool {
			return adam(f.Job) && f.Layout.ZeroStage == 1 && !f.Exec.FullySharded && !lowPrecisionGather(f.Job)
		},
		Apply: func(x *plan.Execution) { x.OffloadOptimizer = true },
	}}
}

// lowPrecisionGather reports whether parameters are gathered in 8 bits by a
// recipe other than delayed scaling, which the offloaded optimizer refuses.
func lowPrecisionGather(j *job.Job) bool {
	fp8 := &j.Training.FP8
	return fp8.ParameterGather && (j.Training.Precision != "fp8" || fp8.Recipe != "delayed")
}
