package deepspeed

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/compiler/target"
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
