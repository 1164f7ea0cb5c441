package megatron

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// precisionRules: Transformer Engine refuses matrices whose rows or columns
// do not fill the blocks of a low-precision format; transformer_config.py counts
// the layers in bf16 at either end, for 8 bits alone.
var precisionRules = []target.Rule{
	{ID: RuleBF16Layers, Mesh: true, Reason: "fp8.bf16_first_layers and bf16_last_layers may each be at most the layers over pipeline_parallel", Breaks: func(f *target.Facts) bool {
		t := &f.Job.Training
		return (t.Precision == "fp8" || t.Precision == "mxfp8") &&
			max(t.FP8.BF16FirstLayers, t.FP8.BF16LastLayers) > f.Job.Model.Layers/f.Layout.PipelineParallel
	}},
	{ID: RuleLowPrecisionAlignment, Reason: "widths, outputs of a mixer's projection and tokens per rank must be multiples of the low-precision block (16, or 32 for mxfp8)", Breaks: breaksAlignment},
}

// alignment is the multiple that both dimensions of a low-precision matrix
// must have (megatron/core/fp8_utils.py, get_fp8_align_size); 1 in 16 and 32 bits.
func alignment(precision string) int {
	switch precision {
	case "mxfp8":
		return 32
	case "fp8", "nvfp4":
		return 16
	}
	return 1
}

func breaksAlignment(f *target.Facts) bool {
	n := alignment(f.Job.Training.Precision)
	if n == 1 {
		return false
	}
	m, l := &f.Job.Model, f.Layout
	tokens := l.MicroBatchSize * m.SequenceLength / l.ContextParallel
	if tokens%n != 0 || m.HiddenSize%n != 0 || m.FFNHiddenSize/l.TensorParallel%n != 0 {
		return true
	}
	if !mixerFills(m, l.TensorParallel, n) || !attentionFills(&m.Attention, l.TensorParallel, n) {
		return true
	}
	return m.MoE != nil && (m.MoE.ExpertFFNHiddenSize/l.ExpertTensorParallel%n != 0 ||
		m.MoE.SharedExpertFFNHiddenSize/l.TensorParallel%n != 0 || m.MoE.LatentSize%n != 0)
}

// attentionFills reports whether the matrices around attention are whole blocks of n on
// each tensor rank. Those down to the latents are not split.
func attentionFills(a *job.Attention, tp, n int) bool {
	l := a.MLA
	if l == nil {
		return (a.Heads*a.HeadDim/tp)%n == 0
	}
	heads := a.Heads / tp
	return l.QLoraRank%n == 0 && l.KVLoraRank%n == 0 && (l.KVLoraRank+l.QKRopeHeadDim)%n == 0 &&
		heads*(l.QKNopeHeadDim+l.QKRopeHeadDim)%n == 0 && heads*(l.QKNopeHeadDim+l.VHeadDim)%n == 0 && heads*l.VHeadDim%n == 0
}

// gatherRules: with sequence parallelism a column-parallel layer quantises the tokens
// of its rank and gathers them. Transformer Engine wants 8 of them (assert_dim_for_fp8_exec
// in pytorch/utils.py) and, before 2.14, whole blocks of what the recipe scales together
// (assert_dim_for_all_gather there, is_quantizable of the quantisers).
func (v *version) gatherRules() []target.Rule {
	reason := "with sequence_parallel the tokens of a rank must be a multiple of 8 in low precision"
	if v.gathersBlocks() {
		reason += ", before core_v0.17.0 of 128 with the recipe blockwise, which hidden_size must be, too, of 32 in mxfp8 and of 16 in nvfp4"
	}
	return []target.Rule{{ID: RuleLowPrecisionGather, Reason: reason, Breaks: func(f *target.Facts) bool {
		t, l, m := &f.Job.Training, f.Layout, &f.Job.Model
		if alignment(t.Precision) == 1 || !l.SequenceParallel {
			return false
		}
		block := 8
		if v.gathersBlocks() {
			switch {
			case t.Precision == "fp8" && t.FP8.Recipe == "blockwise":
				if block = 128; m.HiddenSize%block != 0 {
					return true
				}
			case t.Precision != "fp8":
				block = alignment(t.Precision)
			}
		}
		return l.MicroBatchSize*m.SequenceLength/l.ContextParallel/l.TensorParallel%block != 0
	}}}
}

// gathersBlocks reports whether the release's Transformer Engine refuses to gather
// parts of blocks; later ones gather in 16 bits then.
func (v *version) gathersBlocks() bool { return v.engine < 14 }

// breaksOverlapOptimizer follows arguments.py, which asserts the distributed
// optimizer, overlap_param_gather, chunks and no distributed checkpoints: the
// format that is left, torch, cannot be loaded under another layout, so that no job
// that saves or loads gets it. Of experts, which a rule of its own refuses, the
// gather would begin before their own optimizer has updated them: it takes all
// buckets of the chunk, and theirs comes later in the chain (optimizer.py,
// ChainedOptimizer._step).
func breaksOverlapOptimizer(f *target.Facts) bool {
	if !f.Exec.OverlapOptimizerGather {
		return false
	}
	t := &f.Job.Training
	return !interleaved(f.Layout) || !f.Exec.OverlapParameterGather || f.Layout.ZeroStage != 1 || f.Exec.FullySharded || !adam(f.Job) ||
		t.Checkpoint.Path != "" || t.Start.From == "checkpoint" || t.FP8.ParameterGather && t.Precision == "mxfp8"
}

// breaksOverlapExpert follows the assertions on
// overlap_moe_expert_parallel_comm in transformer_config.py. Its plan of a chunk is made
// without where documents end (forward_step of pretrain_gpt.py).
func breaksOverlapExpert(f *target.Facts) bool {
	if !f.Exec.OverlapExpertParallel {
		return false
	}
	l, m := f.Layout, &f.Job.Model
	return l.ExpertParallel == 1 || l.PipelineParallel > 1 && !interleaved(l) ||
		f.Exec.MoEDispatcher == "allgather" || f.Job.Training.Precision == "fp32" || f.Job.Training.Data.DocumentMask ||
		l.Recompute == plan.RecomputeFull || l.RecomputeModules.Has(plan.ModuleMoE) ||
		m.MTP.Layers > 1 || m.MTP.Layers == 1 && l.PipelineParallel == 1
}

func adam(j *job.Job) bool {
	return j.Training.Optimizer.Kind == "adam" || j.Training.Optimizer.Kind == "adamw"
}

// optimizerRules: the distributed optimizer asserts Adam
// (megatron/core/optimizer/distrib_optimizer.py), and Muon spreads whole matrices over the ranks by itself from
// core_v0.17.0 on; before, every rank keeps everything and nothing overlaps.
// Until core_v0.18.0 that has a name of its own (dist_muon), which arguments.py
// does not count among the distributed optimizers.
func (v *version) optimizerRules() []target.Rule {
	alone, named := !v.atLeast(17, 0), !v.atLeast(18, 0)
	return []target.Rule{
		{ID: RuleParameterGather, Mesh: true, Reason: "fp8.parameter_gather needs the distributed optimizer: zero_stage 1 or more and, before core_v0.18.0, no muon", Breaks: func(f *target.Facts) bool {
			return f.Job.Training.FP8.ParameterGather && (f.Layout.ZeroStage == 0 || named && f.Job.Training.Optimizer.Kind == "muon")
		}},
		{ID: RuleSGD, Mesh: true, Reason: "the distributed optimizer and Megatron-FSDP keep the states of Adam only: sgd needs zero_stage 0", Breaks: func(f *target.Facts) bool {
			return f.Job.Training.Optimizer.Kind == "sgd" && f.Layout.ZeroStage != 0
		}},
		{ID: RuleFP32Checkpoint, Reason: "in fp32 the distributed optimizer cannot load its states from a checkpoint, and Megatron-FSDP cannot save gated layers: zero_stage 0", Breaks: breaksFP32Checkpoint},
		{ID: RuleMuon, Mesh: !alone, Reason: "muon keeps its states whole before core_v0.17.0 (zero_stage 0), and in one optimizer instance after (data_parallel_replicate = 1)", Breaks: func(f *target.Facts) bool {
			if f.Job.Training.Optimizer.Kind != "muon" {
				return false
			}
			if alone {
				return f.Layout.ZeroStage != 0 || f.Exec.OverlapGradientReduce
			}
			return f.Layout.ZeroStage >= 1 && f.Layout.DataParallelReplicate > 1
		}},
	}
}

// breaksFP32Checkpoint: where parameters are their own main copy, the
// distributed optimizer loads into views that record gradients, which torch
// refuses (distrib_optimizer.py, _set_main_param_and_optimizer_states), and
// Megatron-FSDP looks for the wrapper that 16-bit parameters have
// (fsdp_dtensor_checkpoint.py, handle_swiglu_in_state_dict). Both were run.
func breaksFP32Checkpoint(f *target.Facts) bool {
	training := &f.Job.Training
	if training.Precision != "fp32" || f.Layout.ZeroStage == 0 {
		return false
	}
	saves := training.Checkpoint.Path != "" && training.Checkpoint.SaveOptimizer
	if f.Exec.FullySharded {
		return saves && f.Job.Model.GatedActivation()
	}
	return saves || training.Start.From == "checkpoint" && !training.Start.ResetOptimizer
}
