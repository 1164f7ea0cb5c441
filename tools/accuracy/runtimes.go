package main

import (
	"fmt"

	"github.com/ndc-dev/ndc/compiler/runtime"
)

// Historical engines, as far as published runs used them: what no release that
// ndc emits for does any more.

// inPlaceLoss is Transformer Engine's cross entropy, which writes the gradient
// into the logits.
var inPlaceLoss = runtime.LossKernel{Base: 1}

// withTorch takes from a runtime what came only with a later torch than the
// run's, or in its time; "" for none.
func withTorch(r *runtime.Runtime, torch string) {
	before := func(major, minor int) bool {
		var a, b int
		if n, _ := fmt.Sscanf(torch, "%d.%d", &a, &b); n < 2 {
			return false
		}
		return a < major || a == major && b < minor
	}
	if before(2, 5) { // which brought a kernel of cuDNN's, and the third FlashAttention
		r.Attention.Flash, r.Attention.Fused = "flash2", "flash2"
	}
	if before(2, 2) { // which carries FlashAttention-2
		r.Attention.FlashShare = "flash1"
	}
	if before(2, 0) { // Megatron of that time communicated in turn, and sent parts of activations
		r.TensorParallel.Overlaps, r.Pipeline.BlockingInterleaved = false, r.Pipeline.Blocking
		r.Pipeline.ScattersActivations = r.Calibration.Time == "megatron"
	}
	if before(1, 13) { // the first to load kernels when they are used (CUDA_MODULE_LOADING=LAZY)
		r.Calibration.Software = "1"
	}
}

// zero is a runtime whose state is kept by DeepSpeed's ZeRO, with reduce and
// gather buckets of so many elements, and whose layers are Megatron-DeepSpeed's.
func zero(base *runtime.Runtime, bucket int64) runtime.Runtime {
	r := *base
	r.Sharding = runtime.Sharding{
		Unit: runtime.Bucket, Optimizer: 1, Gradients: 2, Parameters: 3,
		GatherForward: runtime.At(3), GatherBackward: runtime.At(3), Reduce: runtime.At(2),
	}
	r.Buckets = runtime.Buckets{Reduce: bucket, AllGather: bucket, Unhidden: base.Buckets.Unhidden}
	r.Pipeline.KeepsOutputs = true
	r.TensorParallel.UserBuffers = false
	r.Layers = runtime.Layers{SeparateProjections: true, SeparateGate: true, FP32Norm: true}
	r.Attention.CopiesQuery = false
	r.Experts = runtime.Experts{FP32Combine: true}
	r.Loss.Fused, r.Loss.Unfused = runtime.LossKernel{Base: 2}, runtime.LossKernel{FP32: 3, ParallelFP32: 1, FreesFirst: true}
	r.Calibration.Memory = "deepspeed"
	return r
}
