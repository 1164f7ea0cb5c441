package torchtitan

import (
	"slices"

	"github.com/ndc-dev/ndc/backends/slurm"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/schedule"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// commonRules hold for every release. Where the framework checks by itself
// the reason says so; the others fail later, inside a kernel or a collective.
var commonRules = []target.Rule{
	{ID: ruleHeads, Mesh: true, Reason: "tensor_parallel must divide attention_heads: the query projection is split by heads", Breaks: func(f *target.Facts) bool {
		return f.Job.Model.Attention.Heads%f.Layout.TensorParallel != 0
	}},
	{ID: ruleKVHeads, Mesh: true, Reason: "tensor_parallel must divide kv_heads: TorchTitan does not replicate key and value heads", Breaks: func(f *target.Facts) bool {
		return f.Job.Model.Attention.MLA == nil && f.Job.Model.Attention.KVHeads%f.Layout.TensorParallel != 0
	}},
	{ID: ruleTensorShards, Mesh: true, Reason: "tensor_parallel must divide vocab_size, or padded_vocab_size where it is set, and the feed-forward sizes: their matrices are split evenly", Breaks: unevenShards},
	{ID: rulePipelineTied, Mesh: true, Reason: "tied embeddings cannot be split over pipeline stages (NotImplementedError in TorchTitan)", Breaks: func(f *target.Facts) bool {
		return f.Job.Model.TiedEmbeddings && f.Layout.PipelineParallel > 1
	}},
	{ID: rulePipelineBatches, Reason: "torch's gpipe and 1f1b schedules need at least as many micro-batches as stages, dualpipev twice as many as ranks", Breaks: func(f *target.Facts) bool {
		l := f.Layout
		single := l.PipelineSchedule == plan.ScheduleGPipe || l.PipelineSchedule == plan.Schedule1F1B
		return single && l.MicroBatches < l.PipelineParallel || l.PipelineSchedule == plan.ScheduleDualPipeV && l.MicroBatches < 2*l.PipelineParallel
	}},
	{ID: rulePipelineRounds, Reason: "torch's interleaved 1f1b needs micro_batches divisible by max(1, micro_batches div pipeline_parallel)", Breaks: func(f *target.Facts) bool {
		l := f.Layout
		return l.PipelineSchedule == plan.ScheduleInterleaved1F1B && l.MicroBatches%max(1, l.MicroBatches/l.PipelineParallel) != 0
	}},
	{ID: rulePipelineChunks, Reason: "gpipe, 1f1b, zb_h1 and zb_h2 have one chunk per rank, interleaved_1f1b at least two, zbv and dualpipev exactly two", Breaks: wrongChunks},
	{ID: ruleZeroStage, Mesh: true, Reason: "FSDP2 shards parameters: zero_stage is 2 or 3 with data_parallel_shard or context_parallel above 1, else 0", Breaks: func(f *target.Facts) bool {
		sharded := f.Layout.DataParallelShard*f.Layout.ContextParallel > 1
		return sharded != (f.Layout.ZeroStage >= 2) || f.Layout.ZeroStage == 1
	}},
	{ID: ruleExperts, Mesh: true, Reason: "expert_parallel must divide the experts", Breaks: func(f *target.Facts) bool {
		return f.Job.Model.MoE != nil && f.Job.Model.MoE.Experts%f.Layout.ExpertParallel != 0
	}},
	{ID: ruleExpertRanks, Mesh: true, Reason: "expert_parallel × expert_tensor_parallel must divide data_parallel_shard × context_parallel × tensor_parallel: experts borrow these ranks", Breaks: expertRanks},
}

// tensorPositions holds for the models of 0.2.2 whose rotations tensor
// parallelism makes DTensors.
var tensorPositions = target.Rule{ID: ruleTensorPositions, Mesh: true, Reason: "restarting position ids and tensor_parallel exclude one another in 0.2.2's qwen3 and deepseek_v3, whose rotations are DTensors and the positions are not; its llama3 and 0.3.0 can", Breaks: func(f *target.Facts) bool {
	return f.Layout.TensorParallel > 1 && f.Job.Training.Data.ResetPositionIDs
}}

// queryRules022 are the further rules of 0.2.2's qwen3.
var queryRules022 = []target.Rule{
	{ID: ruleContextTensor, Mesh: true, Reason: "context_parallel and tensor_parallel exclude one another in 0.2.2's qwen3 (experts, norms on queries and keys, tied embeddings, a head_dim of its own): torch's context parallelism asserts that attention is not split yet; 0.3.0 can", Breaks: func(f *target.Facts) bool {
		return f.Layout.TensorParallel > 1 && f.Layout.ContextParallel > 1
	}},
	{ID: ruleContextValidation, Mesh: true, Reason: "validation and context_parallel exclude one another in 0.2.2's qwen3, of which the validator asks a table of rotations by the name that llama3 has for it (components/validate.py); 0.3.0 can", Breaks: func(f *target.Facts) bool {
		return f.Layout.ContextParallel > 1 && f.Job.Training.Data.Validation != nil
	}},
	{ID: ruleTensorMask, Mesh: true, Reason: "document masks and tensor_parallel exclude one another in 0.2.2's qwen3, whose tensors are DTensors where FlexAttention has no rule for them; 0.3.0 can", Breaks: func(f *target.Facts) bool {
		return f.Layout.TensorParallel > 1 && f.Job.Training.Data.DocumentMask
	}},
	tensorPositions,
}

// rules022 are the further rules of 0.2.2, whatever the model.
var rules022 = []target.Rule{
	{ID: rulePipelinePositions, Mesh: true, Reason: "position ids that restart at documents reach only the first pipeline stage in 0.2.2; 0.3.0 gives them to all", Breaks: func(f *target.Facts) bool {
		return f.Job.Training.Data.ResetPositionIDs && f.Layout.PipelineParallel > 1
	}},
	{ID: ruleEmptyStage, Reason: "every stage between the first and the last needs a layer: torch builds no optimizer without parameters", Breaks: func(f *target.Facts) bool {
		return len(f.Layout.StageLayers) > 2 && slices.Contains(f.Layout.StageLayers[1:len(f.Layout.StageLayers)-1], 0)
	}},
	{ID: ruleSequence, Mesh: true, Reason: "sequence_length must be divisible by tensor_parallel × 2 × context_parallel (asserted by every model of 0.2.2)", Breaks: func(f *target.Facts) bool {
		return f.Job.Model.SequenceLength%(f.Layout.TensorParallel*2*f.Layout.ContextParallel) != 0
	}},
	{ID: ruleReplicateOnly, Mesh: true, Reason: "replicas without sharding (DDP) cannot be combined with tensor or pipeline parallelism in 0.2.2; 0.3.0 can", Breaks: func(f *target.Facts) bool {
		l := f.Layout
		return l.DataParallelReplicate > 1 && l.DataParallelShard*l.ContextParallel == 1 && l.TensorParallel*l.PipelineParallel > 1
	}},
	{ID: ruleUnsharded, Mesh: true, Reason: "tensor or pipeline parallelism without FSDP runs in fp32 in 0.2.2; set data_parallel_shard above 1 or use 0.3.0", Breaks: func(f *target.Facts) bool {
		l := f.Layout
		return f.Job.Training.Precision != "fp32" && l.DataParallelShard*l.ContextParallel == 1 && l.TensorParallel*l.PipelineParallel > 1
	}},
	{ID: ruleExpertTensor, Mesh: true, Reason: "without expert_parallel the experts are split by tensor_parallel; with it expert_tensor_parallel is 1 or tensor_parallel", Breaks: func(f *target.Facts) bool {
		l := f.Layout
		if f.Job.Model.MoE == nil {
			return l.ExpertTensorParallel != 1
		}
		return l.ExpertTensorParallel != l.TensorParallel && (l.ExpertParallel == 1 || l.ExpertTensorParallel != 1)
	}},
	{ID: ruleContextMask, Mesh: true, Reason: "0.2.2 cannot combine context_parallel with document masks, restarting position ids, or latent attention on a GPU for which SDPA has no kernel of it; 0.3.0 can", Breaks: func(f *target.Facts) bool {
		d := &f.Job.Training.Data
		return f.Layout.ContextParallel > 1 && (d.DocumentMask || d.ResetPositionIDs || !fused022(f.Job))
	}},
	// The scores multiply what the experts return (models/moe/moe.py), which on each tensor rank is a part of
	// the sum, while the plan of the gate (NoParallel) takes their gradients for whole ones: pytorch/torchtitan
	// issue 2387, mended by 2416 after 0.2.2.
	{ID: ruleTensorRouter, Mesh: true, Reason: "with tensor_parallel above 1 each tensor rank of 0.2.2 trains its copy of the routers on its own part of their gradient, and the copies drift apart without an error; 0.3.0 sums the parts", Breaks: func(f *target.Facts) bool {
		return f.Job.Model.MoE != nil && f.Layout.TensorParallel > 1
	}},
}

// rules030 are the further rules of 0.3.0.
var rules030 = []target.Rule{
	// The pattern of what has no weight decay must match in every stage (components/optimizer).
	{ID: ruleEmptyStage, Reason: "every stage but the last needs a layer: 0.3.0 builds no optimizer where no norm is (ValueError)", Breaks: func(f *target.Facts) bool {
		return len(f.Layout.StageLayers) > 1 && slices.Contains(f.Layout.StageLayers[:len(f.Layout.StageLayers)-1], 0)
	}},
	{ID: ruleSequence, Mesh: true, Reason: "sequence_length must be divisible by tensor_parallel (under sequence parallelism) × 2 × context_parallel (ValueError in TorchTitan), and by 128 × context_parallel (torch cuts masks into blocks of 128 rows)", Breaks: func(f *target.Facts) bool {
		divisor, length := 1, f.Job.Model.SequenceLength
		if f.Layout.SequenceParallel {
			divisor = f.Layout.TensorParallel
		}
		if cp := f.Layout.ContextParallel; cp > 1 {
			divisor *= 2 * cp
			if length%(maskBlock*cp) != 0 {
				return true
			}
		}
		return length%divisor != 0
	}},
	{ID: ruleExpertTensor, Mesh: true, Reason: "0.3.0 has no expert_tensor_parallel: without expert_parallel the experts are split by tensor_parallel, with it they are whole", Breaks: func(f *target.Facts) bool {
		l := f.Layout
		if f.Job.Model.MoE != nil && l.ExpertParallel == 1 {
			return l.ExpertTensorParallel != l.TensorParallel
		}
		return l.ExpertTensorParallel != 1
	}},
	{ID: ruleSplitRecompute, Reason: "schedules that split backward passes need recompute none: selective fails in torch, full keeps a whole chunk's activations between two passes", Breaks: func(f *target.Facts) bool {
		return splits(f.Layout) && f.Layout.Recompute != plan.RecomputeNone
	}},
	{ID: ruleSplitReshard, Reason: "schedules that split backward passes need zero_stage 2: with 3, torch loses gradients without an error", Breaks: func(f *target.Facts) bool {
		return splits(f.Layout) && f.Layout.ZeroStage == 3
	}},
	{ID: ruleSplitTracker, Reason: "TensorBoard and Weights & Biases get the loss of zbv and dualpipev from a rank that has none", Breaks: func(f *target.Facts) bool {
		g := &f.Job.Training.Logging
		return schedule.PlacementOf(f.Layout.PipelineSchedule) == schedule.Vee && (g.TensorBoardPath != "" || g.WandB != nil)
	}},
	{ID: ruleSplitValidation, Reason: "zbv and dualpipev do not validate: torch's ranks hand their own next stage a gradient, which an evaluation does not make", Breaks: func(f *target.Facts) bool {
		return schedule.PlacementOf(f.Layout.PipelineSchedule) == schedule.Vee && f.Job.Training.Data.Validation != nil
	}},
}

// reshardRules: the zero stage says the same in other words.
var reshardRules = []target.Rule{
	{ID: ruleReshard, Reason: "reshard_after_forward is zero_stage 3; keeping parameters gathered is zero_stage 2", Breaks: func(f *target.Facts) bool {
		return f.Exec.ReshardAfterForward != (f.Layout.ZeroStage == 3)
	}},
}

// dispatcherRules: token dispatchers send between ranks.
var dispatcherRules = []target.Rule{
	{ID: ruleDispatcher, Reason: "deepep and hybridep dispatch between expert-parallel ranks: expert_parallel must be above 1 and expert_tensor_parallel 1", Breaks: func(f *target.Facts) bool {
		return plan.SendsTokens(f.Exec.MoEDispatcher) && (f.Layout.ExpertParallel == 1 || f.Layout.ExpertTensorParallel > 1)
	}},
}

// offersTensor: asynchronous tensor parallelism took 4 to 9 % off published steps
// (benchmarks/asyncTP_llama3_h100_2025-06_torchtitan.md).
func offersTensor(*job.Job) []target.Offer {
	return []target.Offer{{Values: []string{"true"}, Asked: "torch overlaps what its compiler recognises, in symmetric memory that is not predicted",
		Applies: func(f *target.Facts) bool {
			return f.Layout.TensorParallel > 1 && f.Layout.TensorParallel <= f.Job.Cluster.GPUsPerNode
		}}}
}

// asyncTensorRules: torch.compile makes tensor parallelism asynchronous.
var asyncTensorRules = []target.Rule{
	{ID: ruleAsyncTensor, Reason: "overlap_tensor_parallel (async TP) needs compile and tensor_parallel above 1", Breaks: func(f *target.Facts) bool {
		return f.Exec.OverlapTensorParallel && !(f.Exec.Compile && f.Layout.TensorParallel > 1)
	}},
}

// lossChunksRules: chunks are equal.
var lossChunksRules = []target.Rule{
	{ID: ruleLossChunks, Reason: "loss_chunks must divide the tokens of a rank's sequence", Breaks: func(f *target.Facts) bool {
		c := f.Exec.LossChunks
		return c < 1 || f.Job.Model.SequenceLength/f.Layout.ContextParallel%c != 0
	}},
}

// offloadRules: fully_shard offloads all that it shards.
var offloadRules = []target.Rule{
	{ID: ruleOffload, Reason: "CPU offload moves parameters, gradients and optimizer together: offload both optimizer and parameters, with FSDP on", Breaks: func(f *target.Facts) bool {
		x := f.Exec
		return x.OffloadOptimizer != x.OffloadParameters || x.OffloadOptimizer && f.Layout.ZeroStage == 0
	}},
}

// conflicts022 are the further rules of 0.2.2 by the options that bring them.
var conflicts022 = map[string][]target.Rule{
	"moe_dispatcher": {
		{ID: ruleDeepEP, Reason: "0.2.2's deepep exchanges tokens among 2, 4 or 8 ranks of one node, or 16, 24, 32, 48, 64, 96, 128, 144 or 160 of nodes with a multiple of 8 GPUs; alltoall and 0.3.0 have no such limits", Breaks: func(f *target.Facts) bool {
			ranks := slurm.ExpertGroup(f.Layout)
			return f.Exec.MoEDispatcher == "deepep" && ranks > 1 && !slurm.DeepEP(&f.Job.Cluster, ranks)
		}},
	},
	"compile": {
		{ID: ruleLowPrecisionTensor, Reason: "mxfp8 cannot combine compile with tensor parallelism in 0.2.2", Breaks: func(f *target.Facts) bool {
			return f.Job.Training.Precision == "mxfp8" && f.Exec.Compile && f.Layout.TensorParallel > 1
		}},
	},
}

// conflicts030 are those of 0.3.0.
var conflicts030 = map[string][]target.Rule{
	"attention": attentionRules,
	"compile": {
		{ID: ruleSplitCompile, Reason: "schedules that split backward passes run a graph twice, which compiled blocks refuse (RuntimeError in torch); set compile = false", Breaks: func(f *target.Facts) bool {
			return splits(f.Layout) && f.Exec.Compile
		}},
	},
	"loss_chunks": {
		{ID: ruleSplitLoss, Reason: "schedules that split backward passes need loss_chunks 1: with more, torch loses the final norm's gradient without an error", Breaks: func(f *target.Facts) bool {
			return splits(f.Layout) && f.Exec.LossChunks > 1
		}},
	},
	"cuda_graphs": {
		{ID: rulePipelineGraphs, Reason: "CUDA graphs do not support pipeline parallelism (ValueError in TorchTitan)", Breaks: func(f *target.Facts) bool {
			return f.Exec.CUDAGraphs != "none" && f.Layout.PipelineParallel > 1
		}},
		{ID: ruleExpertGraphs, Reason: "CUDA graphs do not support expert parallelism with this dispatcher (ValueError in TorchTitan)", Breaks: func(f *target.Facts) bool {
			return f.Exec.CUDAGraphs != "none" && f.Layout.ExpertParallel > 1
		}},
	},
}

// unevenShards reports matrices that tensor parallelism would split unevenly.
// Experts are split only when expert_tensor_parallel says so.
func unevenShards(f *target.Facts) bool {
	m, tp := &f.Job.Model, f.Layout.TensorParallel
	if tp == 1 {
		return false
	}
	if m.Vocabulary()%tp != 0 {
		return true
	}
	if e := m.MoE; e != nil {
		return e.ExpertFFNHiddenSize%f.Layout.ExpertTensorParallel != 0 || e.SharedExpertFFNHiddenSize%tp != 0 ||
			e.FirstDenseLayers > 0 && m.FFNHiddenSize%tp != 0
	}
	return m.FFNHiddenSize%tp != 0
}

// splits reports a schedule that makes gradients of inputs and of weights in
// two passes over a graph. In the second, torch loses what is gathered again in
// between, and what a chunked loss has run backward by itself:
// found by comparing gradients, tensor by tensor (docs/time.md, "Pipeline").
func splits(l *plan.Layout) bool { return schedule.Splits(l.PipelineSchedule) }

// wrongChunks reports a schedule with a number of chunks per rank that it
// does not have.
func wrongChunks(f *target.Facts) bool {
	v := f.Layout.VirtualPipeline
	switch f.Layout.PipelineSchedule {
	case plan.ScheduleInterleaved1F1B:
		return v < 2
	case plan.ScheduleZBV, plan.ScheduleDualPipeV:
		return v != 2
	}
	return v != 1
}

// expertRanks reports expert groups that do not fit on the ranks they borrow.
func expertRanks(f *target.Facts) bool {
	l := f.Layout
	if f.Job.Model.MoE == nil {
		return l.ExpertParallel != 1
	}
	return l.TensorParallel*l.ContextParallel*l.DataParallelShard%(l.ExpertParallel*l.ExpertTensorParallel) != 0
}
