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
		r.Attention.Flash = "flash1"
	}
	if before(2, 0) { // Megatron of that time communicated in turn, and sent parts of activations
		r.TensorParallel.Overlaps, r.Pipeline.BlockingInterleaved = false, r.Pipeline.Blocking
		r.Pipeline.ScattersActivations = r.Calibration.Time == "megatron"
	}
	if before(1, 13) && r.Calibration.Memory == "deepspeed" { // the first to load kernels when they are used (CUDA_MODULE_LOADING=LAZY)
		r.Calibration.Memory = "deepspeed_2022"
	}
}

// engines change a borrowed runtime, and the copy of it that memory reads, to
// one that is like none of ndc's targets.
var engines = map[string]func(runs, state *runtime.Runtime){"nanotron": nanotron, "aa-scaling": aaScaling, "aa-scaling-plain": aaScalingPlain, "torchtitan-2024": torchTitan2024}

// torchTitan2024 is pytorch/torchtitan before #1763 of September 2025: fp8 scaled by
// tensors is quantised before it is gathered over the tensor group
// (models/llama3/infra/parallelize.py, enable_float8_tensorwise_tp).
func torchTitan2024(r, _ *runtime.Runtime) { r.TensorParallel.GathersQuantised = true }

// nanotron is huggingface/nanotron @0e0a27e of February 2025. Gradients are
// accumulated in fp32 and all-reduced whole, at the end under ZeRO-1
// (trainer.py, training_step), behind the last backward pass otherwise
// (optim/gradient_accumulator.py), beside those in the compute type; layers are those of models/llama.py; the loss
// makes fp32 logits twice (parallel/tensor_parallel/functional.py).
func nanotron(r, state *runtime.Runtime) {
	r.Sharding.AllReduces, r.Sharding.CachesQuantised = true, false
	r.TensorParallel.UserBuffers = false
	r.Layers.AccumulatesWeightGradients, r.Layers.SeparateGate = false, true
	r.Attention.Flash, r.Attention.Fused = "flash2", "flash2"
	r.Loss.Unfused = runtime.LossKernel{FP32: 2, Base: 1}
	r.Calibration.Memory = "nanotron"
	*state = *r
	state.Sharding.Unit, state.Sharding.Gradients, state.Buckets = runtime.Bucket, runtime.Never, runtime.Buckets{}
}

// aaScaling is Aleph Alpha's of 2023, as far as Aleph-Alpha/scaling @737f855 tells: a
// step ends with all-reduces of all gradients, of which a rank keeps its part
// (core/optimizer/optimizer.py, allreduce.py); every rank takes the loss over the whole
// vocabulary (transformer/model/layers/lm_head.py); gate and up are GEMMs of their own
// (core/nn/mlp.py), query, key and value one (core/nn/attention/attention.py, qkv_in_one).
func aaScaling(r, state *runtime.Runtime) {
	r.Sharding.AllReduces = true
	r.TensorParallel.UserBuffers, r.TensorParallel.Overlaps, r.TensorParallel.WholeLogits = false, false, true
	r.Layers.AccumulatesWeightGradients = false
	r.Layers.SeparateProjections, r.Layers.FusedQKV, r.Layers.SeparateGate = true, true, true
	r.Attention.Flash, r.Attention.Fused = "flash2", "flash2"
	r.Loss.Unfused = runtime.LossKernel{FP32: 2, Base: 1}
	r.Pipeline.Blocking = true
	layers := r.Layers
	*state = zero(r, 500_000_000)
	state.Layers, state.TensorParallel = layers, r.TensorParallel
	state.Loss.Unfused = runtime.LossKernel{FP32: 3, Base: 2}
}

// aaScalingPlain is without the kernel of RMSNorm.
func aaScalingPlain(r, state *runtime.Runtime) {
	aaScaling(r, state)
	state.Layers.FP32Norm = true
}

// byCost is nanotron's partition: a chunk ends with the layer that takes it
// beyond its share of the weights of all layers and the output head
// (models/base.py, build_model).
func byCost(r *row, chunks int) []int {
	m := &r.Model
	layer, head := float64(4*m.Hidden*m.Hidden+3*m.FFN*m.Hidden), float64(m.Vocab*m.Hidden)
	share := (float64(m.Layers)*layer + head) / float64(chunks)
	out := make([]int, chunks)
	at := 0
	for i := range m.Layers {
		out[at]++
		if float64(i+1)*layer > share*float64(at+1) {
			at++
		}
	}
	return out
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
	r.Attention.CopiesOutput = false
	r.Experts = runtime.Experts{FP32Combine: true}
	r.Loss.Fused, r.Loss.Unfused = runtime.LossKernel{Base: 2}, runtime.LossKernel{FP32: 3, ParallelFP32: 1, FreesFirst: true}
	r.Calibration.Memory = "deepspeed"
	return r
}
