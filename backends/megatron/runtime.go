package megatron

import "github.com/ndc-dev/ndc/compiler/runtime"

// The first and the last minor releases that measured steps ran on: what lies
// beyond is taken as the nearest.
const firstMeasured, lastMeasured = 14, 19

// runtime is how the release runs a job. Sources: docs/memory.md and
// docs/time.md, where each of its values is explained.
func (v *version) runtime() runtime.Runtime {
	// Megatron's own loss, fused or not, keeps fp32 probabilities, from which the
	// gradient is made in the compute type.
	loss := runtime.LossKernel{FP32: 1, Base: 1}
	return runtime.Runtime{
		Sharding:     distributedOptimizer,
		FullySharded: megatronFSDP,
		// plain 1F1B waits for transfers, interleaved schedules send behind compute
		Pipeline:       runtime.Pipeline{Blocking: true},
		TensorParallel: runtime.TensorParallel{Overlaps: true, UserBuffers: true},
		Layers: runtime.Layers{Elementwise: "megatron", AccumulatesWeightGradients: true,
			MambaChunk:    128, // megatron/core/ssm/mamba_mixer.py, chunk_size
			DeltaNetChunk: 64,  // flash-linear-attention, fla/ops/gated_delta_rule/chunk.py
		},
		Buckets:      runtime.Buckets{Unhidden: 40e6, UnhiddenPerRank: 1e6}, // megatron/core/distributed/distributed_data_parallel.py, bucket_size
		Attention:    runtime.Attention{Flash: "flash", Fused: "fused", CopiesQuery: true},
		Experts:      runtime.Experts{GroupedStreams: true},
		Loss:         runtime.Loss{Fused: loss, Unfused: loss},
		LowPrecision: runtime.LowPrecision{ReleasesBehind: ReleasesBehind(v.minor)},
		// megatron/core/transformer/transformer_layer.py, get_layer_static_inputs; moe/token_dispatcher.py, dispatch_preprocess
		Graphs:      runtime.Graphs{Masks: true, SendsCopies: true},
		Calibration: runtime.Calibration{Time: "megatron", Memory: "megatron"},
	}
}

// distributedOptimizer is Megatron's DDP with or without the distributed
// optimizer: bf16 parameters and main gradients in full, the rest sharded from
// zero_stage 1 on. Every step clears the whole gradient buffer; quantised weights
// are cached from one micro-batch to the next; a checkpoint of parameters is
// written by the data-parallel ranks in parts.
var distributedOptimizer = runtime.Sharding{
	Unit: runtime.Rank, Optimizer: 1, Gradients: runtime.Never, Parameters: runtime.Never,
	GatherForward: runtime.At(runtime.Never), GatherBackward: runtime.At(runtime.Never), Reduce: runtime.At(runtime.Never),
	ClearsGradients: true, CachesQuantised: true, SavesInParts: true,
}

// megatronFSDP follows its ZeRO stage, layer by layer.
var megatronFSDP = runtime.Sharding{
	Unit: runtime.Block, Optimizer: 1, Gradients: 2, Parameters: 3,
	GatherForward: runtime.At(3), GatherBackward: runtime.At(3), Reduce: runtime.At(2),
	ClearsGradients: true, SavesInParts: true,
}

// ReleasesBehind counts the minor releases from core_v0.minor to the last that
// steps were measured on.
func ReleasesBehind(minor int) int {
	return lastMeasured - min(max(minor, firstMeasured), lastMeasured)
}
