package megatron

import (
	"slices"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// rules lists what the release refuses beyond the axes of its Target, cheap
// and frequent refusals first. File names in the reasons' comments are those
// of Megatron-LM: arguments.py (megatron/training), transformer_config.py
// (megatron/core/transformer), parallel_state.py and schedules.py.
func (v *version) rules() []target.Rule {
	return slices.Concat(v.tensorRules(), contextRules, expertRules, v.gradientRules(), stateRules, pipelineRules,
		recomputeRules, v.predictionRules(), precisionRules, v.gatherRules(), hybridRules, v.execution().Conflicts(), v.optimizerRules())
}

// tensorRules: transformer_config.py divides heads and widths by the tensor
// group; releases before 0.16 cannot replicate key-value heads.
func (v *version) tensorRules() []target.Rule {
	kv := target.Rule{ID: RuleKVHeads, Mesh: true, Reason: "kv_heads must be divisible by tensor_parallel before core_v0.16.0", Breaks: func(f *target.Facts) bool {
		return f.Job.Model.Attention.MLA == nil && f.Job.Model.Attention.KVHeads%f.Layout.TensorParallel != 0
	}}
	if v.atLeast(16, 0) {
		kv = target.Rule{ID: RuleKVHeads, Mesh: true, Reason: "kv_heads and tensor_parallel must divide one another", Breaks: func(f *target.Facts) bool {
			kv, tp := f.Job.Model.Attention.KVHeads, f.Layout.TensorParallel
			return f.Job.Model.Attention.MLA == nil && kv%tp != 0 && tp%kv != 0
		}}
	}
	return []target.Rule{
		{ID: RuleHeads, Mesh: true, Reason: "attention_heads must be divisible by tensor_parallel", Breaks: func(f *target.Facts) bool {
			return f.Job.Model.Attention.Heads%f.Layout.TensorParallel != 0
		}},
		kv,
		{ID: RuleFFN, Mesh: true, Reason: "feed-forward widths must be divisible by their tensor group", Breaks: breaksFFN},
		{ID: RuleVocab, Mesh: true, Reason: "padded_vocab_size must be divisible by tensor_parallel", Breaks: func(f *target.Facts) bool {
			return f.Job.Model.PaddedVocabSize%f.Layout.TensorParallel != 0
		}},
		{ID: RuleSequenceParallelAlone, Mesh: true, Reason: "sequence_parallel splits over the tensor group and needs tensor_parallel above 1", Breaks: func(f *target.Facts) bool {
			return f.Layout.SequenceParallel && f.Layout.TensorParallel == 1
		}},
		{ID: RuleSequenceParallelLength, Mesh: true, Reason: "sequence_length over context_parallel must be divisible by tensor_parallel with sequence_parallel", Breaks: func(f *target.Facts) bool {
			return f.Layout.SequenceParallel && f.Job.Model.SequenceLength%(f.Layout.ContextParallel*f.Layout.TensorParallel) != 0
		}},
	}
}

func breaksFFN(f *target.Facts) bool {
	m, l := &f.Job.Model, f.Layout
	if m.FFNHiddenSize%l.TensorParallel != 0 {
		return true
	}
	return m.MoE != nil && (m.MoE.ExpertFFNHiddenSize%l.ExpertTensorParallel != 0 ||
		m.MoE.SharedExpertFFNHiddenSize%l.TensorParallel != 0)
}

// contextRules: causal attention splits a sequence into 2·cp chunks
// (arguments.py); all-to-all types split heads (Transformer Engine).
var contextRules = []target.Rule{
	{ID: RuleContextLength, Mesh: true, Reason: "sequence_length must be divisible by 2 x context_parallel", Breaks: func(f *target.Facts) bool {
		return f.Layout.ContextParallel > 1 && f.Job.Model.SequenceLength%(2*f.Layout.ContextParallel) != 0
	}},
	// core/utils.py (get_batch_on_this_cp_rank, use_per_sequence_balancing) cuts the
	// sequence, rope_utils.py and Transformer Engine take every document for cut.
	{ID: RuleContextMask, Mesh: true, Reason: "document_mask excludes context_parallel: the release gives a rank parts of the whole sequence and computes as if they were parts of every document", Breaks: func(f *target.Facts) bool {
		return f.Layout.ContextParallel > 1 && f.Job.Training.Data.DocumentMask
	}},
}

// breaksContextKernel follows what Transformer Engine's attention implements
// for each way of exchanging keys and values (attn_forward_func_with_cp in
// pytorch/attention/dot_product_attention/context_parallel.py).
func breaksContextKernel(f *target.Facts) bool {
	if f.Layout.ContextParallel == 1 {
		return false
	}
	m, kind := &f.Job.Model, f.Exec.ContextParallelType
	return m.Attention.Sinks && kind != "ulysses" ||
		m.Attention.SlidingWindow.Size > 0 && kind != "ulysses" && kind != "all_gather" ||
		m.Attention.MLA != nil && kind != "ring" && kind != "hierarchical"
}

func breaksContextHeads(f *target.Facts) bool {
	l := f.Layout
	if l.ContextParallel == 1 {
		return false
	}
	split := 1
	switch f.Exec.ContextParallelType {
	case "ulysses":
		split = l.ContextParallel
	case "hierarchical":
		split = max(1, innerContext(f.Job, l))
	}
	heads := f.Job.Model.Attention.Heads / l.TensorParallel
	kv := max(1, f.Job.Model.Attention.KVHeads/l.TensorParallel)
	return heads%split != 0 || kv%split != 0
}

// innerContext is the number of context ranks of one node, which exchange
// heads by all-to-all under hierarchical context parallelism; the ring runs
// over the rest. 0 when the group has no two levels.
func innerContext(j *job.Job, l *plan.Layout) int {
	inner := j.Cluster.GPUsPerNode / l.TensorParallel
	if inner < 2 || inner >= l.ContextParallel || l.ContextParallel%inner != 0 {
		return 0
	}
	return inner
}

// expertRules: the expert mesh has axes of its own over the ranks of a
// pipeline stage (parallel_state.py).
var expertRules = []target.Rule{
	{ID: RuleNoExperts, Mesh: true, Reason: "expert_parallel and expert_tensor_parallel need a model with experts", Breaks: func(f *target.Facts) bool {
		return f.Job.Model.MoE == nil && (f.Layout.ExpertParallel > 1 || f.Layout.ExpertTensorParallel > 1)
	}},
	{ID: RuleExperts, Mesh: true, Reason: "experts must be divisible by expert_parallel", Breaks: func(f *target.Facts) bool {
		return f.Job.Model.MoE != nil && f.Job.Model.MoE.Experts%f.Layout.ExpertParallel != 0
	}},
	{ID: RuleExpertMesh, Mesh: true, Reason: "expert_parallel x expert_tensor_parallel must divide the ranks of a pipeline stage", Breaks: func(f *target.Facts) bool {
		return f.Job.Model.MoE != nil && stageRanks(f.Layout)%(f.Layout.ExpertParallel*f.Layout.ExpertTensorParallel) != 0
	}},
	{ID: RuleExpertsNeedSequenceParallel, Mesh: true, Reason: "experts refuse to train with tensor_parallel without sequence_parallel", Breaks: func(f *target.Facts) bool {
		return f.Job.Model.MoE != nil && f.Layout.TensorParallel > 1 && !f.Layout.SequenceParallel
	}},
	{ID: RuleExpertBias, Mesh: true, Reason: "experts with biases need expert_tensor_parallel = 1", Breaks: func(f *target.Facts) bool {
		return f.Job.Model.MoE != nil && f.Job.Model.MLPBias && f.Layout.ExpertTensorParallel > 1
	}},
}

// reducesExperts: use_expert_pgs of tensor_parallel/layers.py compares the degrees of tensor
// parallelism, too.
func (v *version) reducesExperts() bool { return v.atLeast(19, 0) }

// gradientRules: releases before 0.19 tell experts from dense layers by expert_parallel alone
// (tensor_parallel/layers.py and extensions/transformer_engine.py, the attribute allreduce). Without
// it gradients of experts are reduced over the data-parallel group of the dense layers, which is
// another than theirs where the tensor groups differ: copies drift apart, or parts are added up.
func (v *version) gradientRules() []target.Rule {
	if v.reducesExperts() {
		return nil
	}
	return []target.Rule{{ID: RuleExpertGradients, Mesh: true, Reason: "expert_tensor_parallel other than tensor_parallel needs expert_parallel above 1 before core_v0.19.0, which reduces gradients of experts over their own group", Breaks: func(f *target.Facts) bool {
		return f.Job.Model.MoE != nil && f.Layout.ExpertParallel == 1 && f.Layout.ExpertTensorParallel != f.Layout.TensorParallel
	}}}
}

// stageRanks is the number of ranks of one pipeline stage.
func stageRanks(l *plan.Layout) int {
	return l.TensorParallel * l.ContextParallel * l.DataParallel()
}

// stateRules: which rank keeps what (arguments.py, parallel_state.py).
var stateRules = []target.Rule{
	{ID: RuleZeroStage, Reason: "zero_stage 0 keeps everything on every rank (data_parallel_shard = 1); 2 and 3 need fully_sharded", Breaks: func(f *target.Facts) bool {
		l := f.Layout
		return l.ZeroStage == 0 && (l.DataParallelShard != 1 || f.Exec.FullySharded) ||
			l.ZeroStage >= 2 && !f.Exec.FullySharded
	}},
	{ID: RuleReplicate, Mesh: true, Reason: "the copies of each expert must split into data_parallel_replicate optimizer instances", Breaks: func(f *target.Facts) bool {
		l := f.Layout
		return f.Job.Model.MoE != nil && l.ZeroStage >= 1 && l.ExpertDataParallel()%l.DataParallelReplicate != 0
	}},
	{ID: RuleBatchRamp, Reason: "each step of batch_ramp must be a multiple of micro_batch_size x data parallel ranks", Breaks: breaksBatchRamp},
}

func breaksBatchRamp(f *target.Facts) bool {
	r := f.Job.Training.BatchRamp
	if r == nil {
		return false
	}
	per := f.Layout.MicroBatchSize * f.Layout.DataParallel()
	if interleaved(f.Layout) {
		per *= f.Layout.PipelineParallel
	}
	return r.Start%per != 0 || r.Increment%per != 0
}

func interleaved(l *plan.Layout) bool { return l.VirtualPipeline > 1 }

// pipelineRules: schedules.py groups micro-batches by the pipeline size, so
// that interleaving needs a multiple of it.
var pipelineRules = []target.Rule{
	// core/utils.py (flatten_batch_for_packed_sequences); schedules.py (get_tensor_shapes).
	{ID: RulePipelineMask, Reason: "document_mask in a pipeline needs micro_batch_size = 1: a stage sends the sequences of a micro-batch as one, and the next receives them side by side", Breaks: func(f *target.Facts) bool {
		return f.Job.Training.Data.DocumentMask && f.Layout.PipelineParallel > 1 && f.Layout.MicroBatchSize > 1
	}},
	{ID: RuleVirtualPipeline, Reason: "interleaved_1f1b needs several chunks per rank and a pipeline; one chunk goes with 1f1b", Breaks: func(f *target.Facts) bool {
		l := f.Layout
		if interleaved(l) {
			return l.PipelineParallel == 1 || l.PipelineSchedule != plan.ScheduleInterleaved1F1B
		}
		return l.PipelineSchedule == plan.ScheduleInterleaved1F1B
	}},
	{ID: RuleMicroBatchGroup, Reason: "micro_batches must be a multiple of pipeline_parallel under interleaving", Breaks: func(f *target.Facts) bool {
		return interleaved(f.Layout) && f.Layout.MicroBatches%f.Layout.PipelineParallel != 0
	}},
}

// recomputeRules: transformer_config.py.
var recomputeRules = []target.Rule{
	{ID: RuleRecomputeFull, Reason: "full recompute needs a method and a number of layers", Breaks: func(f *target.Facts) bool {
		l := f.Layout
		return l.Recompute == plan.RecomputeFull && (l.RecomputeMethod == "" || l.RecomputeLayers < 1)
	}},
	// What is recomputed returns the bias of its last layer beside the output
	// (transformer_layer.py, mlp.py). torch takes both for results of the recompute, which
	// then begins again whenever the bias is used.
	{ID: RuleRecomputeBias, Reason: "recompute of mlp does not end in the first backward pass where MLPs have biases", Breaks: func(f *target.Facts) bool {
		return f.Job.Model.MLPBias && f.Layout.Recompute == plan.RecomputeSelective && f.Layout.RecomputeModules.Has(plan.ModuleMLP)
	}},
	{ID: RuleRecomputeModule, Reason: "a recomputed module does not exist in this model", Breaks: breaksRecomputeModule},
	{ID: RuleRecomputeDelayedScaling, Reason: "fp8 with delayed scaling cannot recompute layernorm or moe_act", Breaks: func(f *target.Facts) bool {
		return f.Layout.Recompute == plan.RecomputeSelective && f.Job.Training.Precision == "fp8" &&
			f.Job.Training.FP8.Recipe == "delayed" &&
			f.Layout.RecomputeModules.Has(plan.ModuleNorm|plan.ModuleExpertActivation)
	}},
}

// predictionRules: multi_token_prediction.py.
func (v *version) predictionRules() []target.Rule {
	return []target.Rule{
		{ID: RuleRecomputeMTP, Reason: "uniform recompute of a model with MTP layers needs recompute_layers = 1", Breaks: func(f *target.Facts) bool {
			l := f.Layout
			return f.Job.Model.MTP.Layers > 0 && l.Recompute == plan.RecomputeFull && l.RecomputeMethod == "uniform" && l.RecomputeLayers > 1
		}},
		// The last stage holds the word embedding for the MTP layers, and an output layer of its own
		// (gpt_model.py), which no gradient reaches: the head computes with the embedding. Of that
		// layer a sharded checkpoint must know nothing (language_module.py,
		// tie_embeddings_and_output_weights_state_dict), and saving and loading end at the assertion.
		{ID: RuleTiedMTP, Mesh: true, Reason: "tied_embeddings with mtp_layers needs pipeline_parallel = 1: the last stage keeps an output layer that nothing uses, and no checkpoint is saved or loaded", Breaks: func(f *target.Facts) bool {
			return f.Job.Model.TiedEmbeddings && f.Job.Model.MTP.Layers > 0 && f.Layout.PipelineParallel > 1
		}},
		{ID: RuleRecomputeMTPRelease, Reason: "full recompute of a model with MTP layers ends core_v0.18.0 and core_v0.18.2 in the first step: what recomputes an MTP layer does not take the padding_mask that it is given", Breaks: func(f *target.Facts) bool {
			return v.minor == 18 && f.Job.Model.MTP.Layers > 0 && f.Layout.Recompute == plan.RecomputeFull
		}},
	}
}
