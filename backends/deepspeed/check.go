package deepspeed

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends/capability"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// refusals reports arguments that cannot be honoured.
type refusals struct {
	job     *job.Job
	diags   *diag.List
	id      diag.ID
	summary string
}

// refuse reports a value of an argument.
func (r *refusals) refuse(wrong bool, argument, why string) {
	if wrong {
		r.diags.Error(r.id, r.job.Sources.Range(argument), r.summary, why)
	}
}

// lacks reports a feature, with who has it and, if anything, how to do without.
func (r *refusals) lacks(wrong bool, f capability.Feature, why string, instead ...string) {
	if wrong {
		r.refuse(true, f.Argument(), strings.Join(append([]string{why, capability.Alternatives(f)}, instead...), " "))
	}
}

// checkTraining reports training arguments that cannot be honoured.
func checkTraining(j *job.Job, diags *diag.List) {
	t := &j.Training
	precision := refusals{j, diags, UnsupportedPrecision, "Precision not available in DeepSpeed"}
	precision.lacks(!slices.Contains([]string{"bf16", "fp16", "fp32"}, t.Precision), capability.Of("training.precision", t.Precision),
		fmt.Sprintf("DeepSpeed with transformers trains in bf16, fp16 and fp32, not in %s.", t.Precision), "Or set precision = \"bf16\".")
	optimizer := refusals{j, diags, UnsupportedOptimizer, "Optimizer not available"}
	optimizer.lacks(!slices.Contains([]string{"adamw", "adam", "sgd"}, t.Optimizer.Kind), capability.Of("training.optimizer", t.Optimizer.Kind),
		fmt.Sprintf("What ndc emits for DeepSpeed drives adamw, adam and sgd, not %s.", t.Optimizer.Kind))
	c := refusals{j, diags, UnsupportedTraining, "Training argument not available in DeepSpeed"}
	c.lacks(t.BatchRamp != nil, "training.batch_ramp",
		"DeepSpeed fixes the accumulation steps when it starts; it cannot ramp the batch.", "Or remove batch_ramp.")
	c.lacks(t.Checkpoint.Path != "" && !t.Checkpoint.SaveOptimizer, "training.checkpoint.save_optimizer=false",
		"A DeepSpeed checkpoint always holds the optimizer's shards and cannot leave them out.", "Or remove save_optimizer = false.")
	c.lacks(t.Checkpoint.Async, "training.checkpoint.async",
		"What ndc emits for DeepSpeed does not save behind training.", "Or remove async = true.")
	c.lacks(t.Timeout.FirstStep > 0, "training.timeout.first_step",
		"DeepSpeed has one timeout for the whole run and none for the first step.", "Or remove first_step, and set collective to what the first step needs.")
	c.lacks(t.Logging.Norms, "training.logging.norms",
		"What ndc emits for DeepSpeed reports the norm of the gradients alone.", "Or remove norms = true.")
	c.lacks(t.Logging.Stragglers, "training.logging.stragglers", "What ndc emits for DeepSpeed does not compare ranks.", "Or remove stragglers = true.")
	c.lacks(j.OverlapConfig != "", "execution.tensor_parallel_overlap_config", "AutoTP does not overlap its communication.", "Or remove tensor_parallel_overlap_config.")
	c.lacks(t.RerunMode != "", "training.rerun_mode", "DeepSpeed computes no step again.", "Or remove rerun_mode.")
	collective := float64(t.Timeout.Collective)
	c.refuse(math.Mod(collective, 60) != 0, "training.timeout.collective",
		fmt.Sprintf("DeepSpeed counts its timeout in whole minutes, not %g s. Set collective = \"%.0fm\".", collective, math.Ceil(collective/60)))
	checkData(j, diags)
}

// checkData reports what the emitted reader cannot do.
func checkData(j *job.Job, diags *diag.List) {
	d := &j.Training.Data
	end := d.Tokenizer.EndOfDocumentID.Set || d.Tokenizer.Kind == "huggingface"
	if (d.DocumentMask || d.ResetPositionIDs) && !d.Mock && !end {
		diags.Error(UnsupportedTraining, j.Sources.Range("training.data"), "Documents cannot be told apart",
			"document_mask and reset_position_ids cut a sequence at the end-of-document token. Set end_of_document_id in the tokenizer block.")
	}
	if (d.DocumentMask || d.ResetPositionIDs) && j.Model.Attention.SlidingWindow.Size > 0 {
		diags.Error(UnsupportedTraining, j.Sources.Range("training.data"), "Document masks and sliding windows exclude one another",
			"transformers drops its sliding window when it is given a mask, which document_mask and reset_position_ids need, so that it cannot have both. "+
				capability.Alternatives("training.data.document_mask with model.sliding_window"))
	}
	if d.Format == "jsonl" && !d.Mock && (d.Tokenizer.Kind == "" || d.Tokenizer.Kind == "none") {
		diags.Error(UnsupportedTraining, j.Sources.Range("training.data.tokenizer"), "Text needs a tokenizer",
			"format = \"jsonl\" is tokenised while training. Add a tokenizer block, or convert the text and use format = \"megatron\".")
	}
	if d.Format == "jsonl" && !d.Mock && d.Split != "" {
		diags.Error(UnsupportedTraining, j.Sources.Range("training.data.split"), "Text cannot be split",
			"The emitted reader splits indexed tokens only. Name a file for validation { path }, or convert the text and use format = \"megatron\".")
	}
}

// checkLayout reports axes pinned to what DeepSpeed does not have.
func checkLayout(j *job.Job, v version, diags *diag.List) {
	l := &j.Constraints.Layout
	c := refusals{j, diags, UnsupportedLayout, "Layout not available in DeepSpeed"}
	c.lacks(!l.PipelineParallel.Allows(1), "constraints.layout.pipeline_parallel",
		"What ndc emits for DeepSpeed has no pipeline parallelism: DeepSpeed's own works with ZeRO stages 0 and 1 on models written for it, not on those of transformers.", "Or use pipeline_parallel = 1.")
	c.lacks(!l.VirtualPipeline.Allows(1), "constraints.layout.virtual_pipeline", "DeepSpeed has no interleaved schedule.")
	c.lacks(len(l.StageLayers) > 1, "constraints.layout.stage_layers", "Without pipeline parallelism there is one stage, and nothing to place on others.")
	c.lacks(!l.SequenceParallel.Allows(false) && !l.SequenceParallel.OrNone, "constraints.layout.sequence_parallel",
		"AutoTP has no sequence parallelism; Ulysses (context_parallel) spreads the sequence here.")
	c.lacks(!l.ExpertTensorParallel.Allows(1), "constraints.layout.expert_tensor_parallel", "DeepSpeed does not cut the inside of experts.")
	c.lacks(!l.Recompute.Allows("none") && !l.Recompute.Allows("full"), "constraints.layout.recompute=selective",
		"transformers recomputes whole layers (recompute = \"full\"), none or some of them by recompute_layers.")
	c.lacks(l.RecomputeModules != nil, recomputed(l.RecomputeModules), "transformers recomputes whole layers, not modules or operations.")
	c.refuse(!l.PipelineSchedule.Allows(job.NoValue), "constraints.layout.pipeline_schedule",
		"What ndc emits for DeepSpeed has no pipeline. "+v.alternatives()("pipeline_schedule", l.PipelineSchedule))
	sharded := !l.DataParallelShard.Allows(1) || !l.ZeroStage.Allows(0)
	c.lacks(!l.DataParallelReplicate.Allows(1) && sharded && !v.has(mics), "constraints.layout.data_parallel_replicate",
		fmt.Sprintf("Sharding within replicas is MiCS, which DeepSpeed %s no longer has.", v), "Or use execution.zero_hpz_partition.")
	c.lacks(!l.ContextParallel.Allows(1) && !v.has(ulysses), "constraints.layout.context_parallel", fmt.Sprintf("%s.", ulysses))
	c.lacks(!l.ExpertParallel.Allows(1) && !v.has(autoEP), "constraints.layout.expert_parallel", fmt.Sprintf("%s.", autoEP))
}

// recomputed is the feature that a list of modules asks for.
func recomputed(modules []string) capability.Feature {
	return capability.Of("constraints.layout.recompute_modules", strings.Join(modules, ","))
}
