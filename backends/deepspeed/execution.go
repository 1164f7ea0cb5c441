package deepspeed

import (
	"fmt"
	"slices"

	"github.com/ndc-dev/ndc/backends/execution"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// The attention kernels of the language that transformers can run: scaled dot
// product attention of torch, which picks its FlashAttention-2 kernel, and the
// plain GEMMs and softmax of the "eager" implementation.
const (
	attentionFlash   = "flash"
	attentionUnfused = "unfused"
)

// row is what a release does with one option of execution.
type row = execution.Row[written]

// written is how an option stands in the files.
type written struct {
	at place // where keys stand
	// keys adds what it becomes in ds_config.json.
	keys func(e *emitter, c *configWriter)
	// value is what the training program reads of it in run.json.
	value func(x *plan.Execution) any
}

// place is where keys of options of execution stand in ds_config.json.
type place uint8

const (
	nowhere     place = iota
	inTypes           // before the precision
	inZero            // behind the stage
	inOffload         // at the end of what all stages have
	inZero3           // at the start of what stage 3 has
	inPartition       // behind what stage 3 keeps
	inZero3End        // at the end of what stage 3 has
	inTensor          // behind the size of the tensor group
)

// options adds the keys of one place, row by row.
func (e *emitter) options(at place, c *configWriter) {
	t := e.version.execution(e.family)
	for i := range t.Rows {
		if w := &t.Rows[i].Becomes; w.at == at && w.keys != nil {
			w.keys(e, c)
		}
	}
}

// value is an option in run.json.
func (e *emitter) value(name string) any {
	t := e.version.execution(e.family)
	return t.Rows[slices.IndexFunc(t.Rows, func(r row) bool { return r.Option == name })].Becomes.value(&e.plan.Execution)
}

// checkExecution reports execution options that do not exist here.
func checkExecution(j *job.Job, v version, f *family, diags *diag.List) {
	v.execution(f).Check(j, func(argument, why string) {
		diags.Error(UnsupportedExecution, j.Sources.Range(argument), "Execution option not available in DeepSpeed", why)
	})
}

// execution are the options of execution that the release has for a family of
// models, row by row. None of their functions allocates while a search runs.
func (v version) execution(fam *family) *execution.Table[written] {
	return &execution.Table[written]{Kind: "deepspeed", Name: "DeepSpeed", Version: v.String(), Rows: []row{{
		Option: "overlap_tensor_parallel",
		Conflicts: []target.Rule{
			{ID: ReasonOverlapTensor, Reason: "overlap_tensor_parallel needs tensor_parallel above 1",
				Breaks: func(f *target.Facts) bool { return f.Exec.OverlapTensorParallel && f.Layout.TensorParallel == 1 }},
		},
		Becomes: written{at: inTensor, keys: func(e *emitter, c *configWriter) {
			c.ifKnown("tensor_parallel.tp_overlap_comm", e.plan.Execution.OverlapTensorParallel)
		}},
	}, {
		Option:  "overlap_expert_parallel",
		Instead: "AutoEP does not overlap its all-to-all with compute.",
	}, {
		Option: "overlap_gradient_reduce",
		Fill: func(j *job.Job, l *plan.Layout, x *plan.Execution) {
			u := &j.Execution
			x.OverlapGradientReduce = u.OverlapGradientReduce.Or(reducesBehind(j, l, gradientType(v, j, l), u.OffloadOptimizer.Or(false)))
		},
		Conflicts: []target.Rule{
			{ID: ReasonOverlapGradients, Reason: "DeepSpeed reduces gradients behind the backward pass from zero_stage 1 on, in bf16 with fp32 gradients from 2 on; otherwise after it",
				Breaks: func(f *target.Facts) bool {
					return f.Exec.OverlapGradientReduce && !reducesBehind(f.Job, f.Layout, f.Exec.GradientDType, f.Exec.OffloadOptimizer)
				}},
		},
		Becomes: written{at: inZero, keys: func(e *emitter, c *configWriter) {
			c.set("zero_optimization.overlap_comm", e.plan.Execution.OverlapGradientReduce)
		}},
	}, {
		Option: "overlap_parameter_gather", // stage 3 prefetches; stages 1 and 2 gather after the update
		Fill: func(j *job.Job, l *plan.Layout, x *plan.Execution) {
			x.OverlapParameterGather = j.Execution.OverlapParameterGather.Or(l.ZeroStage == 3)
		},
		Becomes: written{at: inZero3, keys: func(e *emitter, c *configWriter) {
			prefetch := buckets.Prefetch
			if !e.plan.Execution.OverlapParameterGather {
				prefetch = 0
			}
			c.set("zero_optimization.stage3_prefetch_bucket_size", prefetch)
		}},
	}, {
		Option:  "zero_hpz_partition",
		Instead: "hpZ trains with stale weights before DeepSpeed " + hpZ.since.String() + ".",
		Check: func(j *job.Job) string {
			n := j.Execution.ZeroHPZPartition.Value
			if n <= 1 || j.Cluster.GPUs()%n == 0 {
				return ""
			}
			return fmt.Sprintf("hpZ groups of %d do not divide %s.", n, units.Count(j.Cluster.GPUs(), "GPU"))
		},
		Conflicts: []target.Rule{
			{ID: ReasonHPZ, Reason: "hpZ needs ZeRO stage 3 without tensor, context and expert parallelism, replicas or offload, and a group that divides the ranks",
				Breaks: func(f *target.Facts) bool {
					n := f.Exec.ZeroHPZPartition
					return n > 1 && (f.Layout.ZeroStage != 3 || hasModelAxis(f) || isMiCS(f) || f.GPUs%n != 0 || f.Exec.OffloadParameters || f.Exec.OffloadOptimizer)
				}},
		},
		Becomes: written{at: inPartition, keys: func(e *emitter, c *configWriter) {
			c.set("zero_optimization.zero_hpz_partition_size", e.plan.Execution.ZeroHPZPartition)
		}},
	}, {
		Option: "loss_chunks",
		Variants: []target.Variant{{Name: "loss in 8 chunks", Options: []string{"loss_chunks"},
			Applies: func(f *target.Facts) bool { return f.Exec.LossChunks == 1 && f.Job.Model.SequenceLength%8 == 0 },
			Apply:   func(x *plan.Execution) { x.LossChunks = 8 }}},
		Check: func(j *job.Job) string {
			n, tokens := j.Execution.LossChunks.Value, j.Model.SequenceLength
			if n <= 0 || tokens%n == 0 {
				return ""
			}
			return fmt.Sprintf("%s do not divide the sequence of %s.", units.Count(n, "chunk"), units.Count(tokens, "token"))
		},
		Becomes: written{value: func(x *plan.Execution) any { return x.LossChunks }},
	}, {
		Option: "offload.optimizer",
		Variants: []target.Variant{{Name: "optimizer offload", Options: []string{"offload.optimizer"},
			Applies: func(f *target.Facts) bool { return f.Layout.ZeroStage > 0 },
			Apply:   func(x *plan.Execution) { x.OffloadOptimizer = true }}},
		Conflicts: []target.Rule{
			{ID: ReasonOffload, Reason: "optimizer offload needs ZeRO stage 1 to 3, parameter offload stage 3; neither goes with MiCS or AutoEP",
				Breaks: func(f *target.Facts) bool {
					x, l := f.Exec, f.Layout
					return x.OffloadOptimizer && l.ZeroStage == 0 || x.OffloadParameters && l.ZeroStage != 3 ||
						(x.OffloadOptimizer || x.OffloadParameters) && (isMiCS(f) || l.ExpertParallel > 1)
				}},
		},
		Becomes: written{at: inOffload, keys: func(e *emitter, c *configWriter) {
			if e.plan.Execution.OffloadOptimizer {
				c.set("zero_optimization.offload_optimizer.device", "cpu")
				c.set("zero_optimization.offload_optimizer.pin_memory", true)
				c.set("zero_optimization.offload_optimizer.ratio", 1.0)
			}
		}},
	}, {
		Option: "offload.parameters", // what it does not go with is ReasonOffload, too
		Variants: []target.Variant{{Name: "parameter offload", Options: []string{"offload.parameters"},
			Applies: func(f *target.Facts) bool { return f.Layout.ZeroStage == 3 },
			Apply:   func(x *plan.Execution) { x.OffloadParameters = true }}},
		Becomes: written{at: inZero3End, keys: func(e *emitter, c *configWriter) {
			if e.plan.Execution.OffloadParameters {
				c.set("zero_optimization.offload_param.device", "cpu")
				c.set("zero_optimization.offload_param.pin_memory", true)
			}
		}},
	}, {
		Option:  "offload.activations",
		Instead: "What ndc emits for DeepSpeed keeps activations on the GPU; recompute = \"full\" makes them small.",
	}, {
		Option: "gradient_dtype",
		Offers: func(j *job.Job) []target.Offer {
			if j.Training.Precision != "bf16" {
				return nil
			}
			return []target.Offer{{Values: []string{"bf16"}}}
		},
		Fill: func(j *job.Job, l *plan.Layout, x *plan.Execution) {
			x.GradientDType = gradientType(v, j, l)
		},
		Check: func(j *job.Job) string {
			if p := j.Training.Precision; j.Execution.GradientDType.Value == "bf16" && (p == "fp16" || p == "fp32") {
				return "DeepSpeed accumulates and reduces gradients in bf16 only when it trains in bf16."
			}
			return ""
		},
		Conflicts: []target.Rule{
			{ID: ReasonBF16AsFP16, Reason: "ZeRO stages 0 and 1 of DeepSpeed " + bf16AsFP16.span() + " take bf16 with fp32 gradients for fp16: a loss is scaled and no optimizer state sharded",
				Breaks: func(f *target.Facts) bool {
					return f.Layout.ZeroStage <= 1 && f.Job.Training.Precision == "bf16" && f.Exec.GradientDType == "fp32" && !f.Exec.OffloadOptimizer &&
						v.has(bf16AsFP16)
				}},
			{ID: ReasonUlyssesBF16, Reason: "ZeRO stage 1 in bf16 with fp32 gradients has an optimizer of its own (bf16_optimizer.py), which takes the ranks of a Ulysses group for tensor ranks, finds no gradient on most of them and ends the first step: zero_stage 2 or 3, or gradients in bf16",
				Breaks: func(f *target.Facts) bool {
					return f.Layout.ContextParallel > 1 && f.Layout.ZeroStage == 1 && f.Job.Training.Precision == "bf16" && f.Exec.GradientDType == "fp32" && !f.Exec.OffloadOptimizer &&
						!v.has(bf16AsFP16)
				}},
			{ID: ReasonUnaskedGradients, Reason: "without ZeRO this release accumulates gradients below fp32, which is for jobs that name gradient_dtype, or zero_stage = 0 alone",
				Breaks: func(f *target.Facts) bool {
					if f.Layout.ZeroStage > 0 || f.Exec.GradientDType == "fp32" || f.Job.Training.Precision == "fp32" {
						return false
					}
					c := &f.Job.Constraints
					return !f.Job.Execution.GradientDType.Set && c.Execution["gradient_dtype"] == nil && !c.Layout.ZeroStage.Pinned()
				}},
			{ID: ReasonGradientDType, Reason: "without ZeRO this release cannot accumulate gradients of a 16-bit model in this type; ZeRO stages 1 to 3 can",
				Breaks: func(f *target.Facts) bool { return breaksGradientType(v, f) }},
		},
		Becomes: written{at: inTypes, keys: func(e *emitter, c *configWriter) {
			dtype := e.plan.Execution.GradientDType
			c.set("communication_data_type", dtype)
			if e.plan.Layout.ContextParallel > 1 {
				c.set("seq_parallel_communication_data_type", dtype)
			}
			c.set("data_types.grad_accum_dtype", dtype)
		}},
	}, {
		Option:  "optimizer_state_dtype",
		Fill:    func(_ *job.Job, _ *plan.Layout, x *plan.Execution) { x.OptimizerStateDType = "fp32" },
		Instead: "What ndc emits keeps Adam's moments in fp32.",
	}, {
		Option: "attention",
		Fill: func(j *job.Job, l *plan.Layout, x *plan.Execution) {
			x.Attention = j.Execution.Attention.Or(defaultAttention(fam, j, l))
		},
		Instead: "transformers runs attention \"flash\" as torch's scaled dot product attention.",
		Conflicts: []target.Rule{
			{ID: ReasonAttention, Reason: "this kernel lacks sinks or soft-caps that the model has, or grouped queries in fp32 or before compute capability 8.0, or does not go with Ulysses",
				Breaks: func(f *target.Facts) bool {
					unfused := f.Exec.Attention == attentionUnfused
					return !unfused && !fam.fused(f.Job, f.Layout) || unfused && f.Layout.ContextParallel > 1
				}},
		},
		Becomes: written{value: func(x *plan.Execution) any {
			return map[string]string{attentionFlash: "sdpa", attentionUnfused: "eager"}[x.Attention]
		}},
	}, {
		Option:  "cross_entropy",
		Fill:    func(_ *job.Job, _ *plan.Layout, x *plan.Execution) { x.CrossEntropy = "unfused" },
		Instead: "loss_chunks saves the memory of the logits.",
	}, {
		Option:  "compile",
		Instead: "What ndc emits for DeepSpeed is not compiled: ZeRO's hooks break the graph at every module.",
	}, {
		Option: "moe_dispatcher",
		Fill: func(_ *job.Job, l *plan.Layout, x *plan.Execution) {
			if l.ExpertParallel > 1 {
				x.MoEDispatcher = "alltoall"
			}
		},
		Instead: "It is AutoEP that dispatches tokens, by an all-to-all.",
	}, {
		Option: "context_parallel_type",
		Fill: func(_ *job.Job, l *plan.Layout, x *plan.Execution) {
			if l.ContextParallel > 1 {
				x.ContextParallelType = "ulysses"
			}
		},
	}, {
		Option:  "reshard_after_forward",
		Fill:    func(_ *job.Job, l *plan.Layout, x *plan.Execution) { x.ReshardAfterForward = l.ZeroStage == 3 },
		Instead: "ZeRO stage 3 always releases gathered parameters after the forward pass; zero_stage = 2 keeps them whole and does not shard them.",
	}, {
		Option:  "fully_sharded",
		Instead: "fully_sharded names an engine that DeepSpeed does not have; its own way to shard everything is zero_stage = 3.",
	}}}
}

// reducesBehind reports whether gradients are reduced while the backward pass
// runs: not without ZeRO, nor under stage 1 in bf16 with fp32 gradients on the
// GPU, which another optimizer wrapper keeps (runtime/bf16_optimizer.py).
func reducesBehind(j *job.Job, l *plan.Layout, gradient string, offload bool) bool {
	return l.ZeroStage > 1 || l.ZeroStage == 1 && (j.Training.Precision != "bf16" || gradient != "fp32" || offload)
}

func defaultAttention(f *family, j *job.Job, l *plan.Layout) string {
	if f.fused(j, l) {
		return attentionFlash
	}
	return attentionUnfused
}

// gradientType is what gradients are accumulated and reduced in.
func gradientType(v version, j *job.Job, l *plan.Layout) string {
	return j.Execution.GradientDType.Or(defaultGradientType(v, j.Training.Precision, l.ZeroStage))
}

// defaultGradientType accumulates and reduces in fp32 wherever the release can.
func defaultGradientType(v version, precision string, stage int) string {
	if stage > 0 || precision == "fp32" {
		return "fp32"
	}
	if precision == "bf16" && !v.has(bf16Stage0) {
		return "fp32"
	}
	return precision
}

// breaksGradientType knows what the optimizer wrappers of
// engine._do_optimizer_sanity_check accept.
func breaksGradientType(v version, f *target.Facts) bool {
	precision, gradient := f.Job.Training.Precision, f.Exec.GradientDType
	switch {
	case precision != "bf16":
		return gradient != precision && (precision == "fp32" || gradient != "fp32" || f.Layout.ZeroStage == 0)
	case f.Layout.ZeroStage > 0:
		return false
	case v.has(bf16Stage0):
		return gradient != "bf16"
	}
	return gradient != "fp32" || !v.has(fp32Stage0) || f.Layout.DataParallel() > 1
}
