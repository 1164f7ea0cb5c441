package deepspeed

import (
	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/lang/job"
)

// runtime is how the release runs a job: ZeRO stages 0 to 3 with the buckets of
// the emitted configuration, over layers of Hugging Face transformers, which run
// operator by operator (docs/memory.md, "What a layer keeps"). ZeRO reduces with
// every micro-batch from stage 2 on and gathers in stage 3.
func (v version) runtime(j *job.Job) runtime.Runtime {
	r := runtime.Runtime{
		Sharding: runtime.Sharding{
			Unit: runtime.Bucket, Optimizer: 1, Gradients: 2, Parameters: 3,
			GatherForward: runtime.At(3), GatherBackward: runtime.At(3), Reduce: runtime.At(2),
			ReplicasOnce: true, // zero.mics: allreduce_mics_shard_grads
			AllReduces:   true, // zero.stage_1_and_2 with use_multi_rank_bucket_allreduce; bf16_optimizer
			SavesWeights: 3,    // runtime/engine.py, save_checkpoint: of stage 3 the shards of the optimizer
		},
		Buckets: buckets,
		// deepspeed/runtime/pipe/engine.py: outputs and their gradients are cut over the
		// ranks of model parallelism on the way (pipe_partitioned and grad_partitioned of
		// the configuration, on by default)
		Pipeline: runtime.Pipeline{Blocking: true, BlockingInterleaved: true, KeepsOutputs: true, ScattersActivations: true},
		TensorParallel: runtime.TensorParallel{
			WholeEmbedding:    true,
			WholeHead:         !v.has(headSplit) || j.Model.TiedEmbeddings,
			WholeLogits:       true, // train.py takes the loss of all of them
			ReducesEachColumn: true, // module_inject.layers.ColumnParallel
		},
		Layers: runtime.Layers{Implementation: "transformers", SeparateProjections: true, SeparateGate: true,
			FP32Norm: j.Model.Norm.Kind == "rmsnorm", // models/llama/modeling_llama.py, LlamaRMSNorm; LayerNorm is torch's, one kernel (models/gpt2/modeling_gpt2.py)
		},
		Attention: runtime.Attention{Flash: backends.SDPA(j), Fused: "fused"},
		Experts:   runtime.Experts{FP32Combine: true},
		Recompute: runtime.Recompute{StopsEarly: true}, // train.py checkpoints with use_reentrant=False
		Loss: runtime.Loss{
			Fused:            runtime.LossKernel{Base: 2},
			Unfused:          runtime.LossKernel{FP32: 3, ParallelFP32: 1, FreesFirst: true}, // log-probabilities, their gradient, that of the fp32 logits
			RecomputesChunks: true,                                                           // train.py checkpoints the chunks of a loss, too
		},
		Host: runtime.Host{
			BuildsCut:      true, // train.py shares it among the ranks of a node
			Imports:        2,    // as one rank reads them, and as all share them
			ImportsSharded: 1,    // transformers reads into one rank of a node
			ReadsFiles:     true, // runtime/checkpoint_engine/torch_checkpoint_engine.py, torch.load to the CPU
			// runtime/zero/stage3.py: partition_grads, _offload_grad_partition_at_boundary,
			// unscale_and_clip_grads, _reassign_or_swap_out_partitioned_parameters; stages 1
			// and 2 do about the same (stage_1_and_2.py)
			StagesGradients: true,
		},
		Calibration: runtime.Calibration{Time: "deepspeed", Memory: "deepspeed"},
	}
	r.Buckets.ReturnsFP32 = v.has(returnsFP32)
	return r
}

// fused says that torch has a kernel for the job's attention that keeps no scores.
// FlashAttention alone takes grouped queries as transformers hands them over where there
// is no mask (integrations/sdpa_attention.py, use_gqa_in_sdpa). Ulysses runs with this
// attention alone, whose scores are not counted where torch keeps them.
func (f *family) fused(j *job.Job, l *plan.Layout) bool {
	m, d := &j.Model.Attention, &j.Training.Data
	return f.sdpa && (backends.SDPA(j) == "sdpa" || m.KVHeads == m.Heads || d.DocumentMask || d.ResetPositionIDs || l.ContextParallel > 1)
}

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
