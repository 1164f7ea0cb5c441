package torchtitan

import (
	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/lang/job"
)

// Engine is what steps of TorchTitan are called by in the data of what was measured: they are
// FSDP2's, whatever program trains on it.
const Engine = "fsdp2"

// runtime is how the release runs a family of models: parameters in fp32, which
// torch's fully_shard cuts over data-shard × context ranks, gathers block by
// block in the compute type and reduces in fp32. There is no no_sync: every
// micro-batch gathers and reduces, but in a pipeline, whose stages reduce with
// their last micro-batch only (torch.distributed.pipelining.stage,
// backward_maybe_with_nosync). Blocks are written operator by operator
// (docs/memory.md, "What a layer keeps").
func (v *version) runtime(f *family, j *job.Job) runtime.Runtime {
	r := runtime.Runtime{
		Sharding: runtime.Sharding{
			Unit: runtime.StoredBlock, Optimizer: 1, Gradients: 1, Parameters: 1,
			GatherForward: runtime.Stage{Alone: 2, Pipelined: 3}, GatherBackward: runtime.At(3),
			Reduce:         runtime.Stage{Alone: 0, Pipelined: runtime.Never},
			MakesGradients: true, LeavesGathered: true, ReducesFP32: true,
		},
		// torch.distributed.pipelining.stage sends behind compute, keeps outputs and
		// makes receive buffers for all micro-batches (_prepare_forward_infra)
		Pipeline: runtime.Pipeline{KeepsOutputs: true, ReceivesAll: true},
		// gather_dim and scatter_dim of the functional collectives are 1: chunk and cat
		TensorParallel: runtime.TensorParallel{CopiesSequences: true},
		Layers:         runtime.Layers{Implementation: "torchtitan", Compiled: "torchtitan-compiled", SeparateProjections: true, SeparateGate: true, KeepsGathered: true},
		Attention:      runtime.Attention{Flash: "flex", Fused: "fused", ViewsValue: true},                  // torch.nn.attention.flex_attention
		Experts:        runtime.Experts{FP32Combine: true, BiasAlone: true, Input: runtime.WholeWhereSplit}, // models/common/moe_sharding.py
		Buckets:        runtime.Buckets{Unhidden: 40e6},                                                     // whole blocks, of which there is no measurement
		Calibration:    runtime.Calibration{Time: Engine, Memory: "torchtitan"},
		Loss: runtime.Loss{
			Fused:        runtime.LossKernel{Base: 2},                                    // keeps the logits and writes their gradient
			Unfused:      runtime.LossKernel{FP32: 3, ParallelFP32: 1, FreesFirst: true}, // log-probabilities, their gradient, that of the fp32 logits
			CompilesLoss: true,                                                           // compile.components = ["model", "loss"]; of a chunked loss what a chunk runs
		},
	}
	r.Experts.LaunchedTogether = j.Cluster.GPU.Capability() >= 9 // torch._grouped_mm; before, a loop (models/deepseek_v3/model/args.py)
	// torchao/float8/float8_linear.py @v0.17.0, matmul_with_hp_or_float8_args, and prototype/mx_formats/mx_linear.py,
	// mx_mm: weights are cast in the forward pass and again, by the other side, in the backward pass. Gathered in 8
	// bits they are cast as shards.
	r.LowPrecision.QuantisesWeights = !j.Training.FP8.ParameterGather
	r.Experts.Unquantised = plainExperts(j)
	v.own(&r, f, j)
	return r
}

// own022 is what is particular to TorchTitan 0.2.2.
func own022(r *runtime.Runtime, f *family, j *job.Job) {
	r.Experts.ChunkedExchange = true // distributed/deepep/deepep.py, get_buffer; 0.3.0 has the second version's
	if !flexes022(f, j) {
		r.Attention.Flash = backends.SDPA(j)
	}
	r.Recompute.KeepsReduceScatter = true
	r.Recompute.KeepsAllToAll = f.module != "qwen3" // each model's infra/parallelize.py
	r.Experts.ReplicatedCombine = true              // models/moe/moe.py, routed_output_unsorted
	r.Experts.Input = runtime.WholeInput            // models/llama4/infra/parallelize.py, apply_moe_ep_tp
	// models/*/infra/parallelize.py takes torchao's Float8ColwiseParallel for a converter
	// named float8, which has been quantize.linear.float8 since September 2025 (#1763).
	r.TensorParallel.GathersQuantised = false
	r.LowPrecision.RowScaled = j.Training.FP8.Recipe == rowwise
	r.TensorParallel.WholeEmbeddingGradient = true // DTensor has no rule for that of an embedding cut by rows
}

// own030 is what is particular to TorchTitan 0.3.0.
func own030(r *runtime.Runtime, f *family, _ *job.Job) {
	r.Attention.FlexFlash, r.Attention.Varlen = flexFlash, varlen
	r.Layers.FusedQKV = true // models/common/attention.py projects q, k and v at once
	r.LowPrecision.RowScaled = true
	r.Layers.RotaryBytes = 8 // models/common/rope.py: cosine and sine in fp32
	if f.complexRotary() {
		r.Layers.RotaryBytes = 4 // a complex number for two dimensions
	}
}
