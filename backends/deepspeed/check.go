package deepspeed

import (
	"fmt"
	"math"
	"slices"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// checkTraining reports training arguments that cannot be honoured.
func checkTraining(j *job.Job, r release, diags *diag.List) {
	t := &j.Training
	switch t.Precision {
	case "bf16", "fp16", "fp32":
	default:
		diags.Error(UnsupportedPrecision, j.Sources.Range("training.precision"), "Precision not available in DeepSpeed",
			fmt.Sprintf("DeepSpeed with transformers trains in bf16, fp16 and fp32, not in %s. Megatron-LM and TorchTitan have it; or set precision = \"bf16\".", t.Precision))
	}
	switch t.Optimizer.Kind {
	case "adamw", "adam", "sgd":
	default:
		diags.Error(UnsupportedOptimizer, j.Sources.Range("training.optimizer"), "Optimizer not available",
			fmt.Sprintf("What ndc emits for DeepSpeed drives adamw, adam and sgd, not %s: DeepSpeed's Muon takes no parameter groups, so that decay exclusions would be lost. Megatron-LM has it from core_v0.16.0 on.", t.Optimizer.Kind))
	}
	refuse := func(wrong bool, path, why string) {
		if wrong {
			diags.Error(UnsupportedTraining, j.Sources.Range(path), "Training argument not available in DeepSpeed", why)
		}
	}
	refuse(t.BatchRamp != nil, "training.batch_ramp",
		"DeepSpeed fixes the accumulation steps when it starts; it cannot ramp the batch. Megatron-LM can. Remove batch_ramp.")
	refuse(t.Checkpoint.Path != "" && !t.Checkpoint.SaveOptimizer, "training.checkpoint.save_optimizer",
		"A DeepSpeed checkpoint always holds the optimizer's shards. Megatron-LM can leave them out. Remove save_optimizer = false.")
	refuse(t.Checkpoint.Async, "training.checkpoint.async",
		"What ndc emits for DeepSpeed saves synchronously. Megatron-LM and TorchTitan save asynchronously. Remove async = true.")
	refuse(t.Timeout.FirstStep > 0, "training.timeout.first_step",
		"DeepSpeed has one timeout for the whole run. Megatron-LM and TorchTitan have one for the first step. Remove first_step, and set collective to what the first step needs.")
	collective := float64(t.Timeout.Collective)
	refuse(math.Mod(collective, 60) != 0, "training.timeout.collective",
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
	if (d.DocumentMask || d.ResetPositionIDs) && j.Model.SlidingWindow.Size > 0 {
		diags.Error(UnsupportedTraining, j.Sources.Range("training.data"), "Document masks and sliding windows exclude one another",
			"transformers drops its sliding window when it is given a mask, which document_mask and reset_position_ids need. Megatron-LM has both.")
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

// checkExecution reports execution options that do not exist here.
func checkExecution(j *job.Job, r release, diags *diag.List) {
	x := &j.Execution
	refuse := func(wrong bool, option, why string) {
		if wrong {
			diags.Error(UnsupportedExecution, j.Sources.Range("execution."+option), "Execution option not available in DeepSpeed", why)
		}
	}
	is := func(o job.Optional[string], allowed ...string) bool {
		return !o.Set || slices.Contains(allowed, o.Value)
	}
	refuse(!is(x.Attention, attentionFlash, attentionUnfused), "attention",
		fmt.Sprintf("transformers runs attention \"flash\" (torch's scaled dot product attention) or \"unfused\", not %q. Megatron-LM has it.", x.Attention.Value))
	refuse(x.OverlapTensorParallel.Set && x.OverlapTensorParallel.Value && !r.has(autoTPOverlap), "overlap_tensor_parallel",
		fmt.Sprintf("%s, this job names %s.", autoTPOverlap, r))
	refuse(!is(x.GradientDType, "fp32", "bf16", "fp16"), "gradient_dtype", "DeepSpeed accumulates gradients in \"fp32\" or in the model's precision.")
	refuse(!is(x.OptimizerStateDType, "fp32"), "optimizer_state_dtype", "What ndc emits keeps Adam's moments in fp32. Megatron-LM's precision-aware optimizer has bf16 and fp8 moments.")
	refuse(!is(x.CrossEntropy, "unfused"), "cross_entropy", "transformers has no fused cross-entropy; loss_chunks saves the memory of the logits. Megatron-LM has it.")
	refuse(!is(x.CUDAGraphs, "none"), "cuda_graphs", "DeepSpeed trains without CUDA graphs. Megatron-LM has them.")
	refuse(x.Compile.Set && x.Compile.Value, "compile", "What ndc emits for DeepSpeed is not compiled: ZeRO's hooks break the graph at every module. TorchTitan compiles.")
	refuse(!is(x.MoEDispatcher, "alltoall"), "moe_dispatcher", "AutoEP dispatches tokens with all-to-all. Megatron-LM has allgather, deepep and hybridep.")
	refuse(!is(x.ContextParallelType, "ulysses"), "context_parallel_type", "DeepSpeed's context parallelism is \"ulysses\". Megatron-LM has ring, all_gather and hierarchical, TorchTitan all_gather.")
	refuse(x.OverlapExpertParallel.Set && x.OverlapExpertParallel.Value, "overlap_expert_parallel", "AutoEP does not overlap its all-to-all with compute. Megatron-LM does.")
	refuse(x.ReshardAfterForward.Set && !x.ReshardAfterForward.Value, "reshard_after_forward", "ZeRO stage 3 always releases gathered parameters; zero_stage = 2 keeps them whole. TorchTitan has the choice.")
	refuse(x.FullySharded.Set && x.FullySharded.Value, "fully_sharded", "fully_sharded is Megatron-FSDP. DeepSpeed's equal is zero_stage = 3.")
	refuse(x.OffloadActivations.Set && x.OffloadActivations.Value, "offload.activations", "What ndc emits for DeepSpeed keeps activations on the GPU; recompute = \"full\" saves them. Megatron-LM offloads activations.")
	refuse(x.LossChunks.Set && x.LossChunks.Value > 0 && j.Model.SequenceLength%x.LossChunks.Value != 0, "loss_chunks",
		fmt.Sprintf("%s do not divide the sequence of %s.", units.Count(x.LossChunks.Value, "chunk"), units.Count(j.Model.SequenceLength, "token")))
	if x.ZeroHPZPartition.Set && x.ZeroHPZPartition.Value > 1 && j.Cluster.GPUs()%x.ZeroHPZPartition.Value != 0 {
		refuse(true, "zero_hpz_partition", fmt.Sprintf("hpZ groups of %d do not divide %s.", x.ZeroHPZPartition.Value, units.Count(j.Cluster.GPUs(), "GPU")))
	}
}

// checkLayout reports axes pinned to what DeepSpeed does not have.
func checkLayout(j *job.Job, r release, diags *diag.List) {
	c := &j.Constraints.Layout
	refuse := func(wrong bool, axis, why string) {
		if wrong {
			diags.Error(UnsupportedLayout, j.Sources.Range("constraints.layout."+axis), "Layout not available in DeepSpeed", why)
		}
	}
	refuse(!c.PipelineParallel.Allows(1), "pipeline_parallel",
		"What ndc emits for DeepSpeed has no pipeline parallelism: DeepSpeed's own works with ZeRO stages 0 and 1 on models written for it, not on those of transformers. Megatron-LM and TorchTitan have it. Use pipeline_parallel = 1.")
	refuse(!c.VirtualPipeline.Allows(1), "virtual_pipeline", "DeepSpeed has no interleaved schedule. Megatron-LM and TorchTitan have one.")
	refuse(len(c.StageLayers) > 1, "stage_layers", "Without pipeline parallelism there is one stage. Megatron-LM places layers on stages.")
	refuse(c.SequenceParallel.Set && c.SequenceParallel.Value, "sequence_parallel",
		"AutoTP has no Megatron-style sequence parallelism. Megatron-LM and TorchTitan have it; Ulysses (context_parallel) spreads the sequence here.")
	refuse(!c.ExpertTensorParallel.Allows(1), "expert_tensor_parallel", "DeepSpeed does not cut the inside of experts. Megatron-LM does.")
	refuse(!c.Recompute.Allows("none") && !c.Recompute.Allows("full"), "recompute",
		"transformers recomputes whole layers (recompute = \"full\"), none or some of them by recompute_layers. Megatron-LM and TorchTitan recompute selectively.")
	refuse(c.RecomputeModules != nil, "recompute_modules", "transformers recomputes whole layers, not modules. Megatron-LM takes lists of modules, TorchTitan operations.")
	refuse(c.PipelineSchedule != nil, "pipeline_schedule", "What ndc emits for DeepSpeed has no pipeline. Megatron-LM has 1f1b and interleaved_1f1b, TorchTitan also gpipe, zbv and dualpipev.")
	refuse(!c.DataParallelReplicate.Allows(1) && !c.DataParallelShard.Allows(1) && !r.has(mics), "data_parallel_replicate",
		fmt.Sprintf("Sharding within replicas is MiCS, which DeepSpeed %s no longer has: %s. Use execution.zero_hpz_partition, or TorchTitan's HSDP.", r, mics))
	refuse(!c.ContextParallel.Allows(1) && !r.has(ulysses), "context_parallel", fmt.Sprintf("%s.", ulysses))
	refuse(!c.ExpertParallel.Allows(1) && !r.has(autoEP), "expert_parallel", fmt.Sprintf("%s.", autoEP))
}
