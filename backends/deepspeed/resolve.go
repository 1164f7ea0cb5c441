package deepspeed

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// The attention kernels of the language that transformers can run: scaled dot
// product attention of torch, which picks its FlashAttention-2 kernel, and the
// plain GEMMs and softmax of the "eager" implementation.
const (
	attentionFlash   = "flash"
	attentionUnfused = "unfused"
)

// buckets are the sizes that every emitted configuration states, in elements.
// DeepSpeed's own 5e8 for the first two costs 2 GB a buffer in fp32; 2e8 is
// what its documentation gives for smaller GPUs
// (docs/_tutorials/zero.md), and no slower at these sizes.
var buckets = runtime.Buckets{
	Reduce:               200_000_000,
	AllGather:            200_000_000,
	Prefetch:             50_000_000,
	MaxLiveParameters:    1_000_000_000,
	PersistenceThreshold: 100_000,
	SubGroup:             1_000_000_000,
	Unhidden:             40_000_000, // not stated in what is emitted: no measurement
}

// resolver fills the execution options for a release and a family of models.
func resolver(v version, f *family) func(*job.Job, *plan.Layout, *plan.Execution) {
	return func(j *job.Job, l *plan.Layout, out *plan.Execution) {
		x := &j.Execution
		gradient := x.GradientDType.Or(defaultGradientType(v, j.Training.Precision, l.ZeroStage))
		*out = plan.Execution{
			Attention:             x.Attention.Or(defaultAttention(f)),
			OverlapGradientReduce: x.OverlapGradientReduce.Or(reducesBehind(j, l, gradient, x.OffloadOptimizer.Or(false))),
			// Stage 3 prefetches; stages 1 and 2 gather after the update.
			OverlapParameterGather: x.OverlapParameterGather.Or(l.ZeroStage == 3),
			OverlapTensorParallel:  x.OverlapTensorParallel.Or(false),
			GradientDType:          gradient,
			OptimizerStateDType:    "fp32",
			CrossEntropy:           "unfused",
			LossChunks:             x.LossChunks.Or(1),
			CUDAGraphs:             "none",
			MoEDispatcher:          onlyIf(l.ExpertParallel > 1, "alltoall"),
			ContextParallelType:    onlyIf(l.ContextParallel > 1, "ulysses"),
			ReshardAfterForward:    l.ZeroStage == 3,
			ZeroHPZPartition:       x.ZeroHPZPartition.Or(1),
			OffloadOptimizer:       x.OffloadOptimizer.Or(false),
			OffloadParameters:      x.OffloadParameters.Or(false),
		}
	}
}

// reducesBehind reports whether gradients are reduced while the backward pass
// runs: not without ZeRO, nor under stage 1 in bf16 with fp32 gradients on the
// GPU, which another optimizer wrapper keeps (runtime/bf16_optimizer.py).
func reducesBehind(j *job.Job, l *plan.Layout, gradient string, offload bool) bool {
	return l.ZeroStage > 1 || l.ZeroStage == 1 && (j.Training.Precision != "bf16" || gradient != "fp32" || offload)
}

func onlyIf(condition bool, value string) string {
	if condition {
		return value
	}
	return ""
}

func defaultAttention(f *family) string {
	if f.sdpa {
		return attentionFlash
	}
	return attentionUnfused
}

// defaultGradientType accumulates and reduces in fp32 wherever the release can.
func defaultGradientType(v version, precision string, stage int) string {
	if stage > 0 || precision == "fp32" {
		return "fp32"
	}
	if precision == "bf16" && !v.has(bf16Stage0) {
		return "fp32"
	}
	return precision
}

// variants are tried, alone and together, where the job leaves them free and
// nothing else fits. Parameters go to the host only after the optimizer.
var variants = []target.Variant{
	{Name: "loss in 8 chunks", Options: []string{"loss_chunks"},
		Applies: func(f *target.Facts) bool { return f.Exec.LossChunks == 1 && f.Job.Model.SequenceLength%8 == 0 },
		Apply:   func(x *plan.Execution) { x.LossChunks = 8 }},
	{Name: "optimizer offload", Options: []string{"offload.optimizer"},
		Applies: func(f *target.Facts) bool { return f.Layout.ZeroStage > 0 },
		Apply:   func(x *plan.Execution) { x.OffloadOptimizer = true }},
	{Name: "parameter offload", Options: []string{"offload.parameters"},
		Applies: func(f *target.Facts) bool { return f.Layout.ZeroStage == 3 && f.Exec.OffloadOptimizer },
		Apply:   func(x *plan.Execution) { x.OffloadParameters = true }},
}
