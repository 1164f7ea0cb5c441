package torchtitan

import (
	"fmt"
	"slices"

	"github.com/ndc-dev/ndc/backends/capability"
	"github.com/ndc-dev/ndc/backends/execution"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// row is what a release does with one option of execution.
type row = execution.Row[written]

// written is how an option stands in the files.
type written struct {
	at place // where settings stands
	// settings are the options of the framework that it becomes.
	settings func(b *build) []setting
	// words are what 0.3.0's Python module has for it beside the settings, by what
	// they are for.
	words func(b *build) string
}

// place is where settings of options of execution stand among the others.
type place uint8

const (
	nowhere     place = iota
	inTraining        // among the sizes of a step
	inPrecision       // behind the types of the training loop
	inSharding        // behind the degree of sharding
	inParallel        // at the end of the degrees
	inCompile         // the settings of torch.compile
)

// one is a single setting.
func one(at place, path, why string, value func(*plan.Execution) any) written {
	return written{at: at, settings: func(b *build) []setting { return []setting{{path, value(&b.p.Execution), why}} }}
}

// options are the settings of one place, row by row.
func (b *build) options(at place) (all []setting) {
	t := b.v.execution()
	for i := range t.Rows {
		if w := &t.Rows[i].Becomes; w.at == at && w.settings != nil {
			all = append(all, w.settings(b)...)
		}
	}
	return all
}

// words are those of an option in the Python module of 0.3.0.
func (b *build) words(name string) string {
	t := b.v.execution()
	return t.Rows[slices.IndexFunc(t.Rows, func(r row) bool { return r.Option == name })].Becomes.words(b)
}

// execution are the options of execution that the release has, row by row.
//
// Attention is a flash-style kernel in both releases: torch's SDPA in 0.2.2
// (FlexAttention under a document mask), FlexAttention in 0.3.0, which has others
// for who has their packages (attention.go). CUDA graphs, on
// by default in 0.3.0, stay off unless asked for, because their memory pools are
// not predicted.
func (v *version) execution() *execution.Table[written] {
	t := &execution.Table[written]{Kind: "torchtitan", Name: "TorchTitan", Version: v.name, Rows: []row{{
		Option:  "attention",
		Fill:    func(j *job.Job, _ *plan.Layout, x *plan.Execution) { x.Attention = j.Execution.Attention.Or("flash") },
		Check:   checkAttention,
		Offers:  v.attention,
		Becomes: written{words: attentionWords},
	}, {
		Option:  "overlap_gradient_reduce",
		Fill:    func(_ *job.Job, _ *plan.Layout, x *plan.Execution) { x.OverlapGradientReduce = true },
		Instead: alwaysOverlaps,
	}, {
		Option:  "overlap_parameter_gather",
		Fill:    func(_ *job.Job, _ *plan.Layout, x *plan.Execution) { x.OverlapParameterGather = true },
		Instead: alwaysOverlaps,
	}, {
		Option:  "gradient_dtype",
		Fill:    func(_ *job.Job, _ *plan.Layout, x *plan.Execution) { x.GradientDType = "fp32" },
		Instead: "Gradients are reduced in fp32.",
		Becomes: one(inPrecision, "training.mixed_precision_reduce", "plan: execution.gradient_dtype", func(*plan.Execution) any { return "float32" }),
	}, {
		Option: "reshard_after_forward", // the zero stage in other words
		Fill: func(j *job.Job, l *plan.Layout, x *plan.Execution) {
			x.ReshardAfterForward = j.Execution.ReshardAfterForward.Or(l.ZeroStage == 3)
		},
		Conflicts: reshardRules,
		Becomes: written{at: inSharding, settings: func(b *build) []setting {
			l := &b.p.Layout
			return []setting{{"parallelism.fsdp_reshard_after_forward", reshardPolicy(l, &b.p.Execution), fmt.Sprintf("plan: zero_stage %d", l.ZeroStage)}}
		}},
	}, {
		Option: "compile",
		Fill: func(j *job.Job, l *plan.Layout, x *plan.Execution) {
			x.Compile = j.Execution.Compile.Or(!splits(l))
		},
		Becomes: written{at: inCompile, settings: compileSettings},
	}, {
		Option:    "moe_dispatcher",
		Fill:      v.fillDispatcher,
		Check:     v.checkDispatcher,
		Conflicts: dispatcherRules,
		Becomes:   v.dispatcher,
	}, {
		Option:    "overlap_tensor_parallel",
		Offers:    offersTensor,
		Conflicts: asyncTensorRules,
		Becomes:   v.asyncTensor,
	}, {
		Option:    "loss_chunks",
		Fill:      v.fillLossChunks,
		Conflicts: lossChunksRules,
		Becomes:   written{words: lossWords},
	}, {
		Option: "optimizer_state_dtype",
		Offers: func(*job.Job) []target.Offer { return []target.Offer{{Values: []string{"bf16"}}} },
		Fill: func(j *job.Job, _ *plan.Layout, x *plan.Execution) {
			x.OptimizerStateDType = j.Execution.OptimizerStateDType.Or("fp32")
		},
		Becomes: written{words: func(b *build) string {
			if b.p.Execution.OptimizerStateDType == "bf16" {
				return "fused_opt_states_bf16"
			}
			return "fused"
		}},
	}, {
		Option: "cross_entropy",
		Fill:   func(_ *job.Job, _ *plan.Layout, x *plan.Execution) { x.CrossEntropy = "unfused" },
	}, {
		Option:  "cuda_graphs",
		Becomes: v.cudaGraphs,
	}, {
		Option: "context_parallel_type",
		Fill: func(_ *job.Job, l *plan.Layout, x *plan.Execution) {
			if l.ContextParallel > 1 {
				x.ContextParallelType = "all_gather"
			}
		},
	}, {
		Option:  "fully_sharded",
		Instead: "TorchTitan always uses FSDP2, chosen by zero_stage.",
	}, {
		Option:  "zero_hpz_partition",
		Instead: "data_parallel_replicate gives hybrid sharding.",
	}, {
		Option: "offload.optimizer",
		Asks: func(j *job.Job) capability.Feature {
			if j.Execution.OffloadParameters.Value || j.Constraints.MayBe("offload.parameters", "true") {
				return "execution.offload.parameters"
			}
			return "execution.offload.optimizer"
		},
		Instead: fmt.Sprintf(movesTogether, "offload.parameters"),
	}, {
		Option: "offload.parameters",
		Variants: []target.Variant{{
			Name: "CPU offload of parameters and optimizer", Options: []string{"offload.optimizer", "offload.parameters"},
			Applies: func(f *target.Facts) bool { return f.Layout.ZeroStage > 0 },
			Apply:   func(x *plan.Execution) { x.OffloadOptimizer, x.OffloadParameters = true, true },
		}},
		Check: func(j *job.Job) string {
			x := &j.Execution
			if !x.OffloadParameters.Value || x.OffloadOptimizer.Value || j.Constraints.MayBe("offload.optimizer", "true") {
				return ""
			}
			return fmt.Sprintf(movesTogether, "offload.optimizer")
		},
		Conflicts: offloadRules,
		Becomes:   one(inTraining, "training.enable_cpu_offload", fromExecution, func(x *plan.Execution) any { return x.OffloadParameters }),
	}}}
	for i := range t.Rows {
		r := &t.Rows[i]
		r.Conflicts = slices.Concat(r.Conflicts, v.conflicts[r.Option])
	}
	return t
}

const (
	alwaysOverlaps = "FSDP2 always overlaps."
	movesTogether  = "TorchTitan moves parameters, gradients and optimizer to the host together: set %s = true as well."
)

// fillLossChunks takes the largest number of chunks that the release recommends.
// Under a schedule that splits backward passes the loss is whole (ruleSplitLoss).
func (v *version) fillLossChunks(j *job.Job, l *plan.Layout, x *plan.Execution) {
	most := v.lossChunks
	if splits(l) {
		most = 1
	}
	x.LossChunks = j.Execution.LossChunks.Or(lossChunks(most, j, l))
}

// compileSettings are the options of torch.compile.
func compileSettings(b *build) []setting {
	return []setting{
		{"compile.enable", b.p.Execution.Compile, fromExecution},
		{"compile.components", []string{"model", "loss"}, ""},
		{"compile.backend", "inductor", ""},
	}
}

// reshardPolicy is stage 3 or 2 in the framework's words. Without a pipeline
// "default" reshards all blocks but keeps the final norm and head, which the
// backward pass needs at once; with one it would keep the whole stage, so
// stage 3 asks for "always".
func reshardPolicy(l *plan.Layout, x *plan.Execution) string {
	switch {
	case !x.ReshardAfterForward:
		return "never"
	case l.PipelineParallel > 1:
		return "always"
	}
	return "default"
}

// lossWords is the cross-entropy of 0.3.0, applied chunk by chunk of the sequence
// where the plan says so.
func lossWords(b *build) string {
	loss := "CrossEntropyLoss.Config(global_vocab_size=VOCAB)"
	if n := b.p.Execution.LossChunks; n > 1 {
		return fmt.Sprintf("ChunkedLossWrapper.Config(num_chunks=%d, loss_fn=%s)", n, loss)
	}
	return loss
}

func (v *version) fillDispatcher(j *job.Job, _ *plan.Layout, x *plan.Execution) {
	if j.Model.MoE != nil {
		x.MoEDispatcher = j.Execution.MoEDispatcher.Or(dispatcherRecommended)
	}
}

// checkDispatcher knows the models that have one dispatcher whatever the release
// has, and the precision that one does not go with.
func (v *version) checkDispatcher(j *job.Job) string {
	asked := j.Execution.MoEDispatcher.Value
	if v.secondDeepEP && asked == "deepep" && j.Training.Precision == "mxfp8" { // components/quantization/utils.py, swap_token_dispatcher
		return fmt.Sprintf("TorchTitan %s multiplies experts in mxfp8 in groups of padded rows, which deepep does not pad: the program stops. Use alltoall or hybridep.", v.name)
	}
	f := v.find(&j.Model)
	if !f.allToAll || asked == dispatcherRecommended {
		return ""
	}
	return fmt.Sprintf("The %s of TorchTitan %s, which this model is built as, always dispatches by %s, not by %s. %s", f.module, v.name, dispatcherRecommended, asked,
		capability.Alternatives(capability.Of("execution.moe_dispatcher", asked)))
}

// dispatcherRecommended needs no package beside torch.
const dispatcherRecommended = "alltoall"

// dispatcherNames are the framework's names of execution.moe_dispatcher.
var dispatcherNames = map[string]string{"": "standard", "alltoall": "standard", "deepep": "deepep", "hybridep": "hybridep"}

func dispatcherName(x *plan.Execution) any { return dispatcherNames[x.MoEDispatcher] }

func overlapsTensor(x *plan.Execution) any { return x.OverlapTensorParallel }

// lossChunks is the largest of chunks, chunks/2, … that divides the tokens of
// a rank: ChunkedLossWrapper wants equal chunks of the local sequence.
func lossChunks(chunks int, j *job.Job, l *plan.Layout) int {
	local := j.Model.SequenceLength / l.ContextParallel
	for chunks > 1 && local%chunks != 0 {
		chunks /= 2
	}
	return chunks
}

// checkExecution refuses options that the release does not have.
func (v *version) checkExecution(j *job.Job, diags *diag.List) {
	v.execution().Check(j, func(argument, why string) {
		diags.Error(UnsupportedExecution, j.Sources.Range(argument), "Execution option that TorchTitan does not have", why)
	})
}

// checkRecompute refuses lists of modules: the emitted policy is "op".
func (v *version) checkRecompute(j *job.Job, diags *diag.List) {
	modules := j.Constraints.Layout.RecomputeModules
	if modules == nil || plan.ModulesOf(modules) == plan.ModuleOperators {
		return
	}
	diags.Error(UnsupportedExecution, j.Sources.Range("constraints.layout.recompute_modules"), "Recompute that TorchTitan does not have",
		fmt.Sprintf("TorchTitan %s chooses operations, not modules: recompute_modules can only be [\"op\"]. %s", v.name, capability.Offers("constraints.layout.recompute_modules")))
}

// dispatcherPackage is what TorchTitan's dispatchers but the first import: Buffer in
// 0.2.2, ElasticBuffer of DeepEP 2 and HybridEPBuffer in 0.3.0 (distributed/deepep).
const dispatcherPackage = "DeepEP (deep_ep; of version 2 with 0.3.0, for hybridep its hybrid-ep branch)"

// checkPackages warns of what an option that the job names imports, which neither
// TorchTitan nor torch brings.
func (v *version) checkPackages(j *job.Job, diags *diag.List) {
	warn := func(option, value, library string) {
		diags.Warn(NeedsPackage, j.Sources.Range("execution."+option), "The image needs a further package",
			fmt.Sprintf("%s = %q makes TorchTitan import %s, which neither it nor torch requires; the run stops at start without it.", option, value, library))
	}
	for _, kernel := range []string{flexFlash, varlen} {
		named := j.Execution.Attention.Value == kernel || j.Constraints.MayBe("attention", kernel)
		if library := attentionPackage(j, kernel); named && library != "" && lacksKernel(j, kernel) == "" {
			warn("attention", kernel, library)
		}
	}
	for _, dispatcher := range []string{"deepep", "hybridep"} {
		if j.Model.MoE != nil && (j.Execution.MoEDispatcher.Value == dispatcher || j.Constraints.MayBe("moe_dispatcher", dispatcher)) {
			warn("moe_dispatcher", dispatcher, dispatcherPackage)
		}
	}
}
