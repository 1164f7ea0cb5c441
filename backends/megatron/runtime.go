package megatron

import (
	"slices"
	"strconv"

	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/lang/job"
)

// The first and the last minor releases that measured steps ran on: what lies
// beyond is taken as the nearest.
const firstMeasured, lastMeasured = 14, 19

// runtime is how the release runs a job. Sources: docs/memory.md and
// docs/time.md, where each of its values is explained.
func (v *version) runtime(j *job.Job) runtime.Runtime {
	// Megatron's own loss, fused or not, keeps fp32 probabilities, from which the
	// gradient is made in the compute type.
	loss := runtime.LossKernel{FP32: 1, Base: 1}
	return runtime.Runtime{
		Sharding:     distributedOptimizer,
		FullySharded: megatronFSDP,
		// plain 1F1B waits for transfers, interleaved schedules send behind compute
		Pipeline:       runtime.Pipeline{Blocking: true, NormBehindLayers: v.atLeast(16, 0) && j.Model.LayerPattern == ""}, // megatron/core/transformer/transformer_block.py, has_final_layernorm_in_this_stage
		TensorParallel: runtime.TensorParallel{Overlaps: true, UserBuffers: true},
		Layers: runtime.Layers{Implementation: "megatron", Elementwise: "megatron", AccumulatesWeightGradients: true, JoinsClamped: true,
			MambaChunk:    128, // megatron/core/ssm/mamba_mixer.py, chunk_size
			DeltaNetChunk: 64,  // flash-linear-attention, fla/ops/gated_delta_rule/chunk.py
		},
		Buckets: runtime.Buckets{Unhidden: 40e6, UnhiddenPerRank: 1e6}, // megatron/core/distributed/distributed_data_parallel.py, bucket_size
		// transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py, AttnFuncWithCPAndKVAllGather, up to 2.14
		Attention: runtime.Attention{Flash: flashAttention, Fused: "fused", CopiesOutput: v.engine < 15},
		Experts:   runtime.Experts{GroupedStreams: true, HoldsRows: true, ChunkedExchange: true, FusedMLP: fusesExperts(j), Static: v.staticExperts(j)},
		Loss:      runtime.Loss{Fused: loss, Unfused: loss},
		LowPrecision: runtime.LowPrecision{ReleasesBehind: ReleasesBehind(v.minor), Attention: lowPrecisionAttention(j),
			AnyLayout:     anyLayout(j),
			CopiesMoments: v.engine < 13, // transformer_engine/pytorch/optimizers/fused_adam.py, fuse_unscale, from 2.13 on
			WholeMasters:  scalesAnew(j)},
		// megatron/core/transformer/transformer_layer.py, get_layer_static_inputs; moe/token_dispatcher.py, dispatch_preprocess
		Graphs:      runtime.Graphs{Masks: true, SendsCopies: true},
		Calibration: runtime.Calibration{Time: "megatron", Memory: "megatron"},
		Checkpoints: runtime.Checkpoints{KeepsEvery: retained(j)},
	}
}

// retained is of how many steps an extra argument keeps checkpoints, 0 without it.
func retained(j *job.Job) int {
	every := 0
	for _, o := range occurrences(j.Backend.ExtraArgs) {
		if o.name == opRetain && len(o.values) == 1 {
			every, _ = strconv.Atoi(o.values[0])
		}
	}
	return max(every, 0)
}

// flashAttention is which FlashAttention Transformer Engine runs: the second, which
// is the package that images have. The third, for Hopper, is built from a folder of its sources,
// the fourth is another package, and both come first where they are installed
// (transformer_engine/pytorch/attention/dot_product_attention/utils.py,
// FlashAttentionUtils).
const flashAttention = "flash2"

// opFuser is the option that builds expert MLPs of Transformer Engine's operations.
const opFuser = "--use-transformer-engine-op-fuser"

// fusesExperts reports whether an expert MLP is one kernel: the job asks for the op
// fuser, and its environment for the kernel, which there is for Blackwell's MXFP8
// and NVFP4 (Transformer Engine, ops/fused/forward_grouped_mlp.py, is_supported).
func fusesExperts(j *job.Job) bool {
	asked := slices.ContainsFunc(occurrences(j.Backend.ExtraArgs), func(o occurrence) bool { return o.name == opFuser })
	return asked && j.Model.MoE != nil && j.Cluster.GPU.Generation() == 10 && (j.Training.Precision == "mxfp8" || j.Training.Precision == "nvfp4") &&
		j.Variable(fusedKernel) == "1"
}

// anyLayout reports whether cuBLAS multiplies fp8 in every layout, as Transformer
// Engine has it (transformer_engine/common/transformer_engine.cpp,
// nvte_is_non_tn_fp8_gemm_supported): from compute capability 10 on, but for 12.
func anyLayout(j *job.Job) bool {
	g := j.Cluster.GPU.Generation()
	return g >= 10 && g != 12
}

// scalesAnew reports whether 8 bits are scaled by what they are at the moment. Then
// Megatron keeps the masters of a precision-aware optimizer itself
// (megatron/core/optimizer/optimizer_config.py, use_precision_aware_optimizer_no_fp8_or_ds_fp8).
func scalesAnew(j *job.Job) bool {
	return j.Training.Precision == "mxfp8" || j.Training.Precision == "fp8" && j.Training.FP8.Recipe != "delayed"
}

// lowPrecisionAttention reports whether attention computes in the 8 bits of the
// GEMMs: no option of pretrain_gpt.py says so, but variables of Transformer Engine do
// (docs/envvars.rst there).
func lowPrecisionAttention(j *job.Job) bool {
	recipe := j.Variable("NVTE_DPA_FP8_RECIPE")
	return (j.Training.Precision == "fp8" || j.Training.Precision == "mxfp8") && j.Variable("NVTE_DPA_FP8_RECIPE_DPA") == "1" &&
		(recipe == "DelayedScaling" || recipe == "Float8CurrentScaling")
}

// distributedOptimizer is Megatron's DDP with or without the distributed
// optimizer: bf16 parameters and main gradients in full, the rest sharded from
// zero_stage 1 on. Every step clears the whole gradient buffer; quantised weights
// are cached from one micro-batch to the next; a checkpoint of parameters is
// written by the data-parallel ranks in parts.
var distributedOptimizer = runtime.Sharding{
	Unit: runtime.Rank, Optimizer: 1, Gradients: runtime.Never, Parameters: runtime.Never,
	GatherForward: runtime.At(runtime.Never), GatherBackward: runtime.At(runtime.Never), Reduce: runtime.At(runtime.Never),
	ClearsGradients: true, CachesQuantised: true, SavesInParts: true, SavesWeights: runtime.Never,
	GathersMXFP8Whole: true, // megatron/core/distributed/param_and_grad_buffer.py, shared_buffer
}

// megatronFSDP follows its ZeRO stage, layer by layer. Its outer group waits for the
// last micro-batch (megatron_fsdp.py: outer_fsdp_group_grad_reduce), and its model is
// saved as its main weights (_replace_param_with_distributed_if_needed).
var megatronFSDP = runtime.Sharding{
	Unit: runtime.Block, Optimizer: 1, Gradients: 2, Parameters: 3,
	GatherForward: runtime.At(3), GatherBackward: runtime.At(3), Reduce: runtime.At(2),
	ReplicasOnce: true, ClearsGradients: true, SavesInParts: true,
}

// ReleasesBehind counts the minor releases from core_v0.minor to the last that
// steps were measured on.
func ReleasesBehind(minor int) int {
	return lastMeasured - min(max(minor, firstMeasured), lastMeasured)
}
