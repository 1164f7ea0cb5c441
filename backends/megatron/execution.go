package megatron

import (
	"slices"

	"github.com/ndc-dev/ndc/backends/execution"
	"github.com/ndc-dev/ndc/backends/slurm"
	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// row is what a release does with one option of execution.
type row = execution.Row[written]

// written is how an option stands on the command line and in the environment.
type written struct {
	at   place
	flag string             // what a switch that is on becomes
	emit func(a *arguments) // in place of flag
	// sets are the variables of the environment that it needs.
	sets func(v *version, j *job.Job, p *plan.Plan, set func(name, value, why string))
}

// place is where options of execution stand among the other arguments.
type place uint8

const (
	nowhere     place = iota
	inAttention       // at the end of the attention
	inExperts         // behind the router
	inContext         // behind the context-parallel size
	inParallel        // behind the sizes of the meshes
	inSharding        // at the start of the optimizer's state
	inState           // behind the sharding
	inPrecision       // behind the type of the parameters
	inRecompute       // at the end of recompute
)

// options adds the options of one place, row by row.
func (a *arguments) options(at place) {
	t := a.v.execution()
	for i := range t.Rows {
		r := &t.Rows[i]
		switch w := &r.Becomes; {
		case w.at != at:
		case w.emit != nil:
			w.emit(a)
		default:
			a.flag(planned("execution."+r.Option), w.flag, option.Uses(r.Option, &a.p.Layout, &a.p.Execution))
		}
	}
}

// checkExecution reports execution options that Megatron-LM does not have, or
// not together with the rest.
func checkExecution(v *version, j *job.Job, diags *diag.List) {
	v.execution().Check(j, func(argument, why string) {
		diags.Error(UnsupportedExecution, j.Sources.Range(argument), "Execution option is not available", why)
	})
}

// execution are the options of execution that the release has, row by row. Each
// value that a plan gets where the job says nothing is one that the emitted
// options really cause; docs/megatron.md gives the reasons.
func (v *version) execution() *execution.Table[written] {
	return &execution.Table[written]{Kind: "megatron", Name: "Megatron-LM", Version: v.name, Rows: []row{{
		Option: "context_parallel_type",
		Fill: func(j *job.Job, l *plan.Layout, x *plan.Execution) {
			if l.ContextParallel > 1 {
				x.ContextParallelType = j.Execution.ContextParallelType.Or(contextType(&j.Model))
			}
		},
		Conflicts: []target.Rule{
			{ID: RuleContextHeads, Reason: "all-to-all context parallelism splits the heads of a tensor rank over the context group", Breaks: breaksContextHeads},
			{ID: RuleHierarchicalContext, Reason: "hierarchical context parallelism needs a context group that spans nodes and fills the part of each", Breaks: func(f *target.Facts) bool {
				return f.Layout.ContextParallel > 1 && f.Exec.ContextParallelType == "hierarchical" && innerContext(f.Job, f.Layout) == 0
			}},
			{ID: RuleContextKernel, Reason: "sinks need ulysses, sliding windows ulysses or all_gather, latent attention ring or hierarchical", Breaks: breaksContextKernel},
		},
		Becomes: written{at: inContext, emit: (*arguments).context},
	}, {
		Option: "attention",
		Offers: offersAttention,
		Fill: func(j *job.Job, _ *plan.Layout, x *plan.Execution) {
			x.Attention = j.Execution.Attention.Or(attention(j))
		},
		Conflicts: []target.Rule{
			{ID: RuleAttention, Reason: "the attention kernel lacks what is needed: fp32, sinks, latent attention, the width of the heads, a window with dropout, a GPU before compute capability 8.0 or, unfused, context parallelism", Breaks: func(f *target.Facts) bool {
				m, kind := &f.Job.Model, f.Exec.Attention
				if kind != "unfused" && f.Job.Cluster.GPU.Generation() < 8 { // Transformer Engine, dot_product_attention/utils.py: neither FlashAttention nor cuDNN's
					return true
				}
				if kind == "fused" && !cudnnTakes(f.Job) || kind == "flash" && !(flashTakes(f.Job) && v.flashTakesLatent(f.Job)) {
					return true
				}
				return f.Job.Training.Precision == "fp32" && kind != "unfused" || f.Layout.ContextParallel > 1 && kind == "unfused" ||
					m.Attention.Sinks && kind == "flash" || m.Attention.MLA != nil && kind == "flash" && f.Job.Cluster.GPU.Generation() < 9
			}},
		},
		Becomes: written{at: inAttention, emit: func(a *arguments) {
			kind := a.p.Execution.Attention
			a.add(planned("execution.attention"), "--attention-backend", kind)
			a.flag("ndc: the scores of unfused attention are not rounded", "--attention-softmax-in-fp32", kind == "unfused")
		}},
	}, {
		Option: "overlap_gradient_reduce",
		Fill: func(j *job.Job, l *plan.Layout, x *plan.Execution) {
			replicas := l.DataParallel() * l.ContextParallel
			x.OverlapGradientReduce = j.Execution.OverlapGradientReduce.Or(replicas > 1 && !wholeMuon(j, l))
		},
		Becomes: written{at: inState, flag: "--overlap-grad-reduce"},
	}, {
		Option: "overlap_parameter_gather",
		Fill: func(j *job.Job, l *plan.Layout, x *plan.Execution) {
			x.OverlapParameterGather = j.Execution.OverlapParameterGather.Or(x.OverlapGradientReduce && l.ZeroStage >= 1)
		},
		Conflicts: []target.Rule{
			{ID: RuleOverlapGather, Reason: "overlap_parameter_gather needs overlap_gradient_reduce and zero_stage 1 or more", Breaks: func(f *target.Facts) bool {
				return f.Exec.OverlapParameterGather && (!f.Exec.OverlapGradientReduce || f.Layout.ZeroStage == 0)
			}},
		},
		Becomes: written{at: inState, flag: "--overlap-param-gather"},
	}, {
		Option: "overlap_optimizer_gather",
		Offers: offersOptimizerGather,
		Conflicts: []target.Rule{
			{ID: RuleOverlapOptimizer, Reason: "overlap_optimizer_gather needs interleaving, overlap_parameter_gather, zero_stage 1, Adam, no checkpoint saved or loaded, and no mxfp8 gather", Breaks: breaksOverlapOptimizer},
			{ID: RuleOverlapOptimizerExperts, Reason: "overlap_optimizer_gather gathers experts before they are updated", Breaks: func(f *target.Facts) bool {
				return f.Exec.OverlapOptimizerGather && f.Job.Model.MoE != nil
			}},
		},
		Becomes: written{at: inState, flag: "--overlap-param-gather-with-optimizer-step"},
	}, {
		Option: "overlap_tensor_parallel",
		Offers: offersTensor,
		Conflicts: []target.Rule{
			{ID: RuleOverlapTensor, Reason: "overlap_tensor_parallel needs tensor_parallel above 1 with sequence_parallel, and its buffers carry neither fp16 and fp32, nor scales of blocks in fp8 or nvfp4, nor latent attention", Breaks: func(f *target.Facts) bool {
				return f.Exec.OverlapTensorParallel && (!f.Layout.SequenceParallel || !buffersCarry(f.Job))
			}},
		},
		Becomes: written{at: inParallel, emit: func(a *arguments) {
			if a.p.Execution.OverlapTensorParallel {
				a.add(planned("execution.overlap_tensor_parallel"), "--tp-comm-overlap")
				a.add("ndc: no MPI is needed", "--tp-comm-bootstrap-backend", "nccl")
				if file := a.j.OverlapConfig; file != "" {
					a.path(a.from("execution.tensor_parallel_overlap_config"), "--tp-comm-overlap-cfg", file)
				}
			}
		}},
	}, {
		Option: "overlap_expert_parallel",
		Offers: offersExperts,
		Conflicts: []target.Rule{
			{ID: RuleOverlapExpert, Reason: "overlap_expert_parallel needs expert_parallel, interleaving in a pipeline, alltoall or flex, 16-bit parameters, no recompute of whole layers or of moe, no document_mask, and at most one MTP layer", Breaks: breaksOverlapExpert},
		},
		Becomes: written{at: inParallel, emit: func(a *arguments) {
			a.flag(planned("execution.overlap_expert_parallel"), "--overlap-moe-expert-parallel-comm", a.p.Execution.OverlapExpertParallel)
			a.flag("ndc: exchanges hide behind the gradients of weights, too", "--delay-wgrad-compute", a.delaysWeights())
		}},
	}, {
		Option: "cross_entropy",
		Fill: func(j *job.Job, _ *plan.Layout, x *plan.Execution) {
			x.CrossEntropy = j.Execution.CrossEntropy.Or(crossEntropy(j))
		},
		Becomes: written{at: inState, emit: func(a *arguments) {
			if a.p.Execution.CrossEntropy == "fused" {
				a.add(planned("execution.cross_entropy"), "--cross-entropy-loss-fusion")
				a.add("ndc: the implementation that every release accepts", "--cross-entropy-fusion-impl", "native")
			}
		}},
	}, {
		Option: "optimizer_state_dtype",
		Offers: func(*job.Job) []target.Offer { return []target.Offer{{Values: []string{"bf16"}}} },
		Fill: func(j *job.Job, _ *plan.Layout, x *plan.Execution) {
			x.OptimizerStateDType = j.Execution.OptimizerStateDType.Or("fp32")
		},
		Conflicts: []target.Rule{
			{ID: RuleStateDType, Reason: "optimizer states below fp32 need Adam, zero_stage 1 and no Megatron-FSDP", Breaks: func(f *target.Facts) bool {
				return f.Exec.OptimizerStateDType != "fp32" && (!adam(f.Job) || f.Layout.ZeroStage != 1 || f.Exec.FullySharded)
			}},
		},
		Becomes: written{at: inState, emit: (*arguments).precisionAware},
	}, {
		Option: "offload.optimizer", // by the optimizer of the row above
		Variants: []target.Variant{{
			Name:    "optimizer states in host memory",
			Options: []string{"offload.optimizer"},
			Applies: func(f *target.Facts) bool {
				return adam(f.Job) && f.Layout.ZeroStage == 1 && !f.Exec.FullySharded && !lowPrecisionGather(f.Job) && !f.Job.Training.Checkpoint.Async
			},
			Apply: func(x *plan.Execution) { x.OffloadOptimizer = true },
		}},
		Conflicts: []target.Rule{
			{ID: RuleOptimizerOffload, Reason: "offload.optimizer needs Adam, zero_stage 1, no Megatron-FSDP, and delayed scaling if parameters are gathered in 8 bits", Breaks: func(f *target.Facts) bool {
				return f.Exec.OffloadOptimizer && (!adam(f.Job) || lowPrecisionGather(f.Job) || f.Layout.ZeroStage != 1 || f.Exec.FullySharded)
			}},
			{ID: RuleAsyncOffload, Reason: "an asynchronous save writes what lies in host memory without a copy, while the next step changes it (filesystem_async.py): offload.optimizer needs checkpoint.async = false", Breaks: func(f *target.Facts) bool {
				return f.Exec.OffloadOptimizer && f.Job.Training.Checkpoint.Async
			}},
		},
		Becomes: written{at: inState, emit: func(a *arguments) {
			if a.p.Execution.OffloadOptimizer {
				a.add(planned("execution.offload.optimizer"), "--optimizer-cpu-offload")
				a.add("ndc: all of it", "--optimizer-offload-fraction", "1.0")
				a.add("ndc: copies hide behind the update", "--overlap-cpu-optimizer-d2h-h2d")
			}
		}},
	}, {
		Option: "moe_dispatcher",
		Offers: offersDispatcher,
		Fill: func(j *job.Job, _ *plan.Layout, x *plan.Execution) {
			if j.Model.MoE != nil {
				x.MoEDispatcher = j.Execution.MoEDispatcher.Or("alltoall")
			}
		},
		Conflicts: []target.Rule{
			{ID: RuleFlexDispatcher, Reason: "deepep and hybridep exchange tokens among several ranks and never drop one", Breaks: func(f *target.Facts) bool {
				if !plan.SendsTokens(f.Exec.MoEDispatcher) {
					return false
				}
				return f.Layout.ExpertParallel*f.Layout.ExpertTensorParallel == 1 || f.Job.Model.MoE.TokenDrop
			}},
			{ID: RuleDeepEP, Reason: "deepep exchanges tokens among 2, 4 or 8 ranks of one node, or 16, 24, 32, 48, 64, 96, 128, 144 or 160 of nodes with a multiple of 8 GPUs; hybridep and alltoall have no such limits", Breaks: func(f *target.Facts) bool {
				group := slurm.ExpertGroup(f.Layout)
				return f.Exec.MoEDispatcher == "deepep" && group > 1 && !slurm.DeepEP(&f.Job.Cluster, group)
			}},
		},
		Becomes: written{at: inExperts, emit: (*arguments).dispatcher, sets: func(_ *version, j *job.Job, p *plan.Plan, set func(name, value, why string)) {
			if p.Execution.MoEDispatcher == "hybridep" {
				for _, s := range slurm.HybridEP(j, slurm.ExpertGroup(&p.Layout)) {
					set(s.Name, s.Value.String(), s.Why)
				}
			}
		}},
	}, {
		Option:    "cuda_graphs",
		Offers:    v.offersGraphs,
		Conflicts: v.graphRules(),
		Becomes:   written{at: inState, emit: (*arguments).graphs, sets: graphVariables},
	}, {
		Option: "offload.activations",
		Offers: v.offersActivations,
		Conflicts: []target.Rule{
			{ID: RuleActivationOffload, Reason: "offload.activations does not go with full recompute", Breaks: func(f *target.Facts) bool {
				return f.Exec.OffloadActivations && f.Layout.Recompute == plan.RecomputeFull
			}},
		},
		Becomes: written{at: inRecompute, emit: func(a *arguments) {
			if a.p.Execution.OffloadActivations {
				a.add(planned("execution.offload.activations"), "--fine-grained-activation-offloading")
				a.add(planned("execution.offload.activations"), "--offload-modules", a.offloadModules()...)
				a.flag("ndc: copies start while the host waits for a graph", delayOffload, a.v.offloadsBesideGraphs(&a.p.Execution))
			}
		}, sets: func(_ *version, _ *job.Job, p *plan.Plan, set func(name, value, why string)) {
			if p.Execution.OffloadActivations {
				set("NVTE_CPU_OFFLOAD_V1", "1", "fine-grained offload asks for it")
			}
		}},
	}, {
		Option: "gradient_dtype",
		Offers: func(*job.Job) []target.Offer { return []target.Offer{{Values: []string{"bf16"}}} },
		Fill: func(j *job.Job, _ *plan.Layout, x *plan.Execution) {
			x.GradientDType = j.Execution.GradientDType.Or("fp32")
		},
		Check: func(j *job.Job) string {
			if p := j.Training.Precision; j.Execution.GradientDType.Value == "bf16" && (p == "fp16" || p == "fp32") {
				return "Megatron-LM reduces gradients in bf16 only when it trains in bf16."
			}
			return ""
		},
		Becomes: written{at: inPrecision, emit: func(a *arguments) {
			switch p := a.j.Training.Precision; {
			case a.p.Execution.GradientDType == "bf16":
				a.add(planned("execution.gradient_dtype"), "--grad-reduce-in-bf16")
			case p != "fp32":
				a.add(planned("execution.gradient_dtype"), "--accumulate-allreduce-grads-in-fp32")
			}
		}},
	}, {
		Option: "reshard_after_forward", // the zero stage in other words
		Fill:   func(_ *job.Job, l *plan.Layout, x *plan.Execution) { x.ReshardAfterForward = l.ZeroStage == 3 },
		Check:  checkReshard,
		Conflicts: []target.Rule{
			{ID: RuleReshard, Reason: "reshard_after_forward is Megatron-FSDP's zero_stage 3", Breaks: func(f *target.Facts) bool {
				x := f.Job.Execution.ReshardAfterForward
				return x.Or(false) && f.Layout.ZeroStage != 3 || !x.Or(true) && f.Layout.ZeroStage == 3
			}},
		},
	}, {
		Option: "fully_sharded",
		Check:  checkFullySharded,
		Fill: func(j *job.Job, l *plan.Layout, x *plan.Execution) {
			x.FullySharded = j.Execution.FullySharded.Or(l.ZeroStage >= 2)
		},
		Conflicts: []target.Rule{
			{ID: RuleFullyShardedPipeline, Reason: "ndc does not launch Megatron-FSDP with pipeline_parallel: the release does not document that the two work together", Breaks: func(f *target.Facts) bool {
				return f.Exec.FullySharded && f.Layout.PipelineParallel > 1
			}},
			// Megatron-FSDP draws what lies on the meta device by each module's own
			// reset_parameters (param_and_grad_buffer.py): torch's Embedding has a deviation of 1
			// there (language_model_embedding.py), SharedExpertMLP has none (shared_experts.py).
			{ID: RuleFullyShardedStart, Reason: "zero_stage = 3 starts without memory for the whole model, where the release gives learned positions a deviation of 1 and stops at the gate of shared experts: zero_stage up to 2", Breaks: func(f *target.Facts) bool {
				m := &f.Job.Model
				return f.Exec.FullySharded && f.Layout.ZeroStage == 3 && (m.PositionEmbedding.Kind == "learned" || m.MoE != nil && m.MoE.SharedExpertGate)
			}},
			{ID: RuleFullyShardedOptimizer, Reason: "Megatron-FSDP supports Adam only", Breaks: func(f *target.Facts) bool {
				return f.Exec.FullySharded && f.Job.Training.Optimizer.Kind == "muon"
			}},
			// checkpointing.py: before core_v0.17.0 save_checkpoint refuses the format, then it
			// asks save_state_dict_async_plan for a cache that only nvidia-resiliency-ext's has.
			{ID: RuleFullyShardedAsync, Reason: "Megatron-FSDP fails at its first asynchronous save: checkpoint.async = false, or zero_stage up to 1", Breaks: func(f *target.Facts) bool {
				c := &f.Job.Training.Checkpoint
				return f.Exec.FullySharded && c.Path != "" && c.Async
			}},
			// A rank has no gradient of what lies on others (param_and_grad_buffer.py,
			// update_main_grads), and what divides by the scale asks for all
			// (distrib_optimizer.py, _collect_main_grad_data_for_unscaling).
			{ID: RuleFullyShardedScale, Reason: "Megatron-FSDP fails at the first update of a run in fp16, whose loss is scaled: zero_stage up to 1, or bf16", Breaks: func(f *target.Facts) bool {
				return f.Exec.FullySharded && f.Job.Training.Precision == "fp16"
			}},
		},
		Becomes: written{at: inSharding, emit: (*arguments).fullySharded},
	}, {
		Option: "shard_buffers",
		Offers: offersShardBuffers,
		Fill: func(j *job.Job, _ *plan.Layout, x *plan.Execution) {
			if x.FullySharded {
				x.ShardBuffers = j.Execution.ShardBuffers.Or("dynamic")
			}
		},
		Conflicts: []target.Rule{
			{ID: RuleShardBuffers, Reason: "shard_buffers other than dynamic need fully_sharded with zero_stage 3, without overlap_expert_parallel", Breaks: func(f *target.Facts) bool {
				buffers := f.Job.Execution.ShardBuffers.Or("dynamic")
				return buffers != "dynamic" && (!f.Exec.FullySharded || f.Layout.ZeroStage != 3 || f.Exec.OverlapExpertParallel)
			}},
		},
		Becomes: written{at: inSharding, emit: func(a *arguments) {
			a.flag(planned("execution.shard_buffers"), "--fsdp-double-buffer", a.p.Execution.KeepsShardBuffers())
			a.flag(planned("execution.shard_buffers"), "--use-nccl-ub", a.p.Execution.ShardBuffers == "registered")
		}, sets: func(v *version, _ *job.Job, p *plan.Plan, set func(name, value, why string)) {
			graphs := p.Execution.CUDAGraphs != "none" && !v.atLeast(16, 0) // which set it themselves
			if p.Execution.ShardBuffers == "registered" && !graphs {
				set(slurm.AllocatorSetting(v.torch).Name, "expandable_segments:False", "NCCL's user buffers do not go with segments that grow (distributed_data_parallel_config.py)")
			}
		}},
	}, {
		Option: "sharp",
		Check:  checkSHARP,
		Conflicts: []target.Rule{
			{ID: RuleSHARP, Reason: "sharp needs gradients that several ranks reduce; for replicas, data_parallel_replicate and a zero_stage of 1 or more", Breaks: func(f *target.Facts) bool {
				l := f.Layout
				switch f.Job.Execution.SHARP.Value {
				case "data_parallel":
					return l.DataParallel()*l.ContextParallel == 1
				case "replicas":
					return l.DataParallelReplicate == 1 || l.ZeroStage == 0
				}
				return false
			}},
		},
		Becomes: written{at: inSharding, emit: func(a *arguments) {
			if group := map[string]string{"data_parallel": "dp", "replicas": "dp_replica"}[a.p.Execution.SHARP]; group != "" {
				a.add(planned("execution.sharp"), "--use-sharp")
				a.add(planned("execution.sharp"), "--sharp-enabled-group", group)
			}
		}},
	}, {
		Option:  "loss_chunks",
		Instead: "It computes the loss in one piece.",
	}, {
		Option:  "compile",
		Instead: "It does not compile the model.",
	}}}
}

// checkFullySharded: gradients and parameters are sharded by Megatron-FSDP alone, which
// shards the optimizer's state at least.
func checkFullySharded(j *job.Job) string {
	stage, sharded := j.Constraints.Layout.ZeroStage, j.Execution.FullySharded.Value
	if slices.ContainsFunc(zeroStages(j), stage.Allows) {
		return ""
	}
	if sharded {
		return "Megatron-FSDP shards the optimizer's state at least. Set zero_stage = 1, 2 or 3, or remove fully_sharded."
	}
	return "Only Megatron-FSDP shards gradients (zero_stage = 2) and parameters (3). Remove fully_sharded, or set zero_stage to 0 or 1."
}

// checkReshard: parameters are gathered by Megatron-FSDP alone.
func checkReshard(j *job.Job) string {
	stage := j.Constraints.Layout.ZeroStage
	switch reshards := j.Execution.ReshardAfterForward.Value; {
	case !reshards && stage.Pinned() && stage.Allows(3):
		return "Megatron-FSDP always frees gathered parameters after the forward pass with zero_stage = 3; use zero_stage = 2."
	case reshards && !slices.Contains(zeroStages(j), 3):
		return "Only Megatron-FSDP gathers parameters, and frees them after the forward pass with zero_stage = 3. Set zero_stage = 3, or remove it."
	}
	return ""
}

// checkSHARP: switches of InfiniBand alone add up.
func checkSHARP(j *job.Job) string {
	switch kind := j.Cluster.Network.Kind; {
	case j.Execution.SHARP.Value == "none" || kind == "infiniband":
		return ""
	case kind == "":
		return "The cluster has no network whose switches could add up."
	default:
		return "SHARP is done by InfiniBand switches, and the cluster's network is " + kind + "."
	}
}

// wholeMuon reports whether Muon runs unsharded, where it refuses to overlap.
func wholeMuon(j *job.Job, l *plan.Layout) bool {
	return j.Training.Optimizer.Kind == "muon" && l.ZeroStage == 0
}

// crossEntropy is Megatron-LM's fused kernel, which casts the gradients of the
// logits to bf16 whatever the precision (core/fusions/fused_cross_entropy.py):
// fp32 and fp16 would lose digits.
func crossEntropy(j *job.Job) string {
	if p := j.Training.Precision; p == "fp32" || p == "fp16" {
		return "unfused"
	}
	return "fused"
}

// contextType is the exchange that the model's attention supports, the ring
// where there is a choice.
func contextType(m *job.Model) string {
	switch {
	case m.Attention.Sinks:
		return "ulysses"
	case m.Attention.SlidingWindow.Size > 0:
		return "all_gather"
	}
	return "ring"
}

// lowPrecisionGather reports whether parameters are gathered in 8 bits by a
// recipe other than delayed scaling, which the offloaded optimizer refuses.
func lowPrecisionGather(j *job.Job) bool {
	fp8 := &j.Training.FP8
	return fp8.ParameterGather && (j.Training.Precision != "fp8" || fp8.Recipe != "delayed")
}
