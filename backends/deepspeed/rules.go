package deepspeed

import (
	"github.com/ndc-dev/ndc/compiler/target"
)

// rules are the legality rules of a release for a family of models. Their
// sources are the checks of DeepSpeed itself (runtime/engine.py,
// utils/groups.py, runtime/zero/mics.py, module_inject/auto_ep_folding.py,
// runtime/sequence_parallel/ulysses_sp.py at the release's tag) and what the
// emitted program can drive. None allocates.
func rules(v version, f *family) []target.Rule {
	all := stateRules(v)
	all = append(all, tensorRules(v, f)...)
	all = append(all, contextRules()...)
	all = append(all, expertRules(v)...)
	all = append(all, startRules()...)
	return append(all, v.execution(f).Conflicts()...)
}

func stateRules(v version) []target.Rule {
	return []target.Rule{
		{ID: ReasonPipeline, Mesh: true, Reason: "what ndc emits for DeepSpeed has no pipeline parallelism",
			Breaks: func(f *target.Facts) bool { return f.Layout.PipelineParallel > 1 }},
		{ID: ReasonSequenceParallel, Mesh: true, Reason: "AutoTP has no sequence parallelism",
			Breaks: func(f *target.Facts) bool { return f.Layout.SequenceParallel }},
		{ID: ReasonZeroDegree, Mesh: true, Reason: "ZeRO stages 1 to 3 shard over all data-parallel ranks, stage 0 replicates over them",
			Breaks: func(f *target.Facts) bool {
				l := f.Layout
				if l.ZeroStage == 0 {
					return l.DataParallelShard > 1
				}
				return l.DataParallelShard == 1 && l.DataParallelReplicate > 1
			}},
		{ID: ReasonReplicateShard, Mesh: true, Reason: "sharding inside replicas is MiCS: ZeRO stage 3, up to DeepSpeed " + mics.last().String(),
			Breaks: func(f *target.Facts) bool { return isMiCS(f) && !(f.Layout.ZeroStage == 3 && v.has(mics)) }},
		{ID: ReasonMiCSCombination, Mesh: true, Reason: "MiCS does not go with tensor, context or expert parallelism",
			Breaks: func(f *target.Facts) bool { return isMiCS(f) && hasModelAxis(f) }},
		{ID: ReasonZero2Accumulation, Reason: "ZeRO stage 2 of DeepSpeed " + zero2Loses.span() + " keeps the gradients of the last micro-batch only",
			Breaks: func(f *target.Facts) bool {
				return f.Layout.ZeroStage == 2 && f.Layout.MicroBatches > 1 && v.has(zero2Loses)
			}},
	}
}

// isMiCS reports whether state is sharded within replicas.
func isMiCS(f *target.Facts) bool {
	return f.Layout.DataParallelReplicate > 1 && f.Layout.DataParallelShard > 1
}

// hasModelAxis reports whether anything but data is spread.
func hasModelAxis(f *target.Facts) bool {
	return f.Layout.TensorParallel > 1 || f.Layout.ContextParallel > 1 || f.Layout.ExpertParallel > 1
}

func tensorRules(v version, fam *family) []target.Rule {
	return []target.Rule{
		{ID: ReasonTensorModel, Mesh: true, Reason: "AutoTP does not cut this architecture evenly (fused projections, latent attention or experts)",
			Breaks: func(f *target.Facts) bool { return f.Layout.TensorParallel > 1 && !fam.autoTP }},
		{ID: ReasonTensorContext, Mesh: true, Reason: "AutoTP and Ulysses exclude one another",
			Breaks: func(f *target.Facts) bool { return f.Layout.TensorParallel > 1 && f.Layout.ContextParallel > 1 }},
		{ID: ReasonTensorDivides, Mesh: true, Reason: "tensor_parallel must divide heads, key-value heads, the MLP and the vocabulary",
			Breaks: func(f *target.Facts) bool {
				m, tp := &f.Job.Model, f.Layout.TensorParallel
				return m.Attention.Heads%tp != 0 || m.Attention.KVHeads%tp != 0 || m.FFNHiddenSize%tp != 0 || m.Vocabulary()%tp != 0
			}},
		{ID: ReasonTensorZero3, Mesh: true, Reason: autoTPZero3.String(),
			Breaks: func(f *target.Facts) bool {
				return f.Layout.TensorParallel > 1 && f.Layout.ZeroStage == 3 && !v.has(autoTPZero3)
			}},
		{ID: ReasonTensorBias, Mesh: true, Reason: autoTPBias.String() + "; before, their backward pass fails",
			Breaks: func(f *target.Facts) bool {
				return f.Layout.TensorParallel > 1 && (f.Job.Model.BiasesQKV() || f.Job.Model.MLPBias) && !v.has(autoTPBias)
			}},
		{ID: ReasonTensorNorms, Mesh: true, Reason: autoTPNorms.String() + "; before, tensor ranks drift apart",
			Breaks: func(f *target.Facts) bool {
				return f.Layout.TensorParallel > 1 && f.Job.Model.Attention.QKNorm && !v.has(autoTPNorms)
			}},
		// runtime/fp16/unfused_optimizer.py hands get_weight_norm gradients, which do not
		// say, as parameters do, that they are parts.
		{ID: ReasonTensorClipping, Reason: "below fp32 without ZeRO, the norm by which gradients of sgd are clipped leaves out all tensor ranks but the first: adamw, adam, or zero_stage 1 and up",
			Breaks: func(f *target.Facts) bool {
				o := &f.Job.Training.Optimizer
				return f.Layout.TensorParallel > 1 && f.Layout.ZeroStage == 0 && o.Kind == "sgd" && o.GradientClipping > 0 &&
					f.Job.Training.Precision != "fp32" && f.Exec.GradientDType != "fp32"
			}},
	}
}

func contextRules() []target.Rule {
	return []target.Rule{
		{ID: ReasonUlyssesDivides, Mesh: true, Reason: "Ulysses: context_parallel must divide the heads and the sequence, and divide or be divided by the key-value heads",
			Breaks: func(f *target.Facts) bool {
				m, cp := &f.Job.Model, f.Layout.ContextParallel
				return m.Attention.Heads%cp != 0 || m.SequenceLength%cp != 0 || m.Attention.KVHeads%cp != 0 && cp%m.Attention.KVHeads != 0
			}},
		{ID: ReasonUlyssesZero, Mesh: true, Reason: "Ulysses is verified with ZeRO stages 1 to 3",
			Breaks: func(f *target.Facts) bool { return f.Layout.ContextParallel > 1 && f.Layout.ZeroStage == 0 }},
		{ID: ReasonUlyssesMask, Mesh: true, Reason: "Ulysses takes no attention mask, which document_mask and reset_position_ids need",
			Breaks: func(f *target.Facts) bool {
				d := &f.Job.Training.Data
				return f.Layout.ContextParallel > 1 && (d.DocumentMask || d.ResetPositionIDs)
			}},
	}
}

func expertRules(v version) []target.Rule {
	return []target.Rule{
		{ID: ReasonExpertDivides, Mesh: true, Reason: "AutoEP: expert_parallel must divide the experts and the number of ranks",
			Breaks: func(f *target.Facts) bool {
				ep := f.Layout.ExpertParallel
				return ep > 1 && (f.Job.Model.MoE == nil || f.Job.Model.MoE.Experts%ep != 0 || f.GPUs%ep != 0)
			}},
		{ID: ReasonExpertZero3, Mesh: true, Reason: autoEPZero3.String(),
			Breaks: func(f *target.Facts) bool {
				return f.Layout.ExpertParallel > 1 && f.Layout.ZeroStage == 3 && !v.has(autoEPZero3)
			}},
		{ID: ReasonExpertCombination, Mesh: true, Reason: "AutoEP is verified beside data parallelism and ZeRO stages 1 to 3 only",
			Breaks: func(f *target.Facts) bool {
				l := f.Layout
				return l.ExpertParallel > 1 && (l.TensorParallel > 1 || l.ContextParallel > 1 || l.ZeroStage == 0)
			}},
		{ID: ReasonExpertTensor, Mesh: true, Reason: "DeepSpeed does not cut the inside of experts",
			Breaks: func(f *target.Facts) bool { return f.Layout.ExpertTensorParallel > 1 }},
	}
}

// startRules know what the model takes before it is cut. AutoTP and AutoEP cut
// whole tensors, which the ranks of a node share as a file of memory: Linux gives
// such files half of a node's memory (tmpfs, size). Under stage 3 the engine then
// moves the rank's part to the GPU before it shards it
// (engine._configure_distributed_model).
func startRules() []target.Rule {
	return []target.Rule{
		{ID: ReasonHostStart, Mesh: true, Reason: "AutoTP and AutoEP need the whole model in half of a node's memory at the start",
			Breaks: func(f *target.Facts) bool {
				host := int64(f.Job.Cluster.HostMemory)
				cut := f.Layout.TensorParallel > 1 || f.Layout.ExpertParallel > 1
				return cut && host > 0 && f.Job.Training.ElementBytes()*f.Parameters > host/2
			}},
		{ID: ReasonGPUStart, Mesh: true, Reason: "AutoTP and AutoEP with ZeRO stage 3 need their part of the model whole on the GPU at the start",
			Breaks: func(f *target.Facts) bool {
				parts := int64(f.Layout.TensorParallel * f.Layout.ExpertParallel) // what is not an expert is not cut by AutoEP: at least this much
				return parts > 1 && f.Layout.ZeroStage == 3 && f.Job.Training.ElementBytes()*f.Parameters/parts > int64(f.Job.Cluster.GPU.Memory)/10*9
			}},
	}
}
