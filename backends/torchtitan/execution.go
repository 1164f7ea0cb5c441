package torchtitan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends/capability"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// resolver returns the function that fills in execution options. Its result
// is a flat value made of constants, so it does not allocate.
//
// Attention is a flash-style kernel in both releases: torch's SDPA in 0.2.2
// (FlexAttention under a document mask), FlexAttention in 0.3.0. Reshard after
// forward is the zero stage in other words: stage 3 gathers parameters again
// for the backward pass, stage 2 keeps them. CUDA graphs, on by default in
// 0.3.0, stay off unless asked for, because their memory pools are not
// predicted. Under a schedule that splits backward passes, blocks are not
// compiled and the loss is whole (rules.go says why).
func (v *version) resolver() func(*job.Job, *plan.Layout) plan.Execution {
	most, dispatcher := v.lossChunks, v.dispatchers[0]
	return func(j *job.Job, l *plan.Layout) plan.Execution {
		x, chunks := &j.Execution, most
		if splits(l) {
			chunks = 1
		}
		e := plan.Execution{
			Attention:              "flash",
			OverlapGradientReduce:  true, // FSDP2 always overlaps
			OverlapParameterGather: true,
			OverlapTensorParallel:  x.OverlapTensorParallel.Or(false),
			GradientDType:          "fp32",
			OptimizerStateDType:    x.OptimizerStateDType.Or("fp32"),
			CrossEntropy:           "unfused",
			LossChunks:             x.LossChunks.Or(lossChunks(chunks, j, l)),
			CUDAGraphs:             x.CUDAGraphs.Or("none"),
			Compile:                x.Compile.Or(!splits(l)),
			ReshardAfterForward:    x.ReshardAfterForward.Or(l.ZeroStage == 3),
			ZeroHPZPartition:       1,
			OffloadOptimizer:       x.OffloadOptimizer.Or(false),
			OffloadParameters:      x.OffloadParameters.Or(false),
		}
		if l.ContextParallel > 1 {
			e.ContextParallelType = "all_gather"
		}
		if j.Model.MoE != nil {
			e.MoEDispatcher = x.MoEDispatcher.Or(dispatcher)
		}
		return e
	}
}

// lossChunks is the largest of chunks, chunks/2, … that divides the tokens of
// a rank: ChunkedLossWrapper wants equal chunks of the local sequence.
func lossChunks(chunks int, j *job.Job, l *plan.Layout) int {
	local := j.Model.SequenceLength / l.ContextParallel
	for chunks > 1 && local%chunks != 0 {
		chunks /= 2
	}
	return chunks
}

// executionOption is one argument of the execution block that the user set.
type executionOption struct {
	name    string
	set     bool
	value   string
	allowed []string // as strings
	why     string   // what TorchTitan does instead; may be ""
}

// checkExecution refuses options that the release does not have.
func (v *version) checkExecution(j *job.Job, diags *diag.List) {
	refuse := func(argument, detail string) {
		diags.Error(UnsupportedExecution, j.Sources.Range("execution."+argument), "Execution option that TorchTitan does not have", detail)
	}
	for _, o := range v.executionOptions(&j.Execution) {
		if !o.set || slices.Contains(o.allowed, o.value) {
			continue
		}
		refuse(o.name, sentences(fmt.Sprintf("TorchTitan %s has no %s = %s; it offers %s.", v.name, o.name, o.value, strings.Join(o.allowed, ", ")),
			o.why, capability.Alternatives(capability.Of("execution."+o.name, o.value))))
	}
	if f, x := v.find(&j.Model), &j.Execution; f.allToAll && slices.Index(v.dispatchers, x.MoEDispatcher.Value) > 0 {
		refuse("moe_dispatcher", sentences(fmt.Sprintf("The %s of TorchTitan %s, which this model is built as, always dispatches by %s, not by %s.", f.module, v.name, v.dispatchers[0], x.MoEDispatcher.Value),
			capability.Alternatives(capability.Of("execution.moe_dispatcher", x.MoEDispatcher.Value))))
	}
	x := &j.Execution // parameters, gradients and optimizer move together
	const together = "TorchTitan moves parameters, gradients and optimizer to the host together: set %s = true as well."
	switch optimizer, parameters := x.OffloadOptimizer.Value, x.OffloadParameters.Value; {
	case optimizer && j.Constraints.MayBe("offload.parameters", "true"), parameters && j.Constraints.MayBe("offload.optimizer", "true"):
	case optimizer && !parameters:
		refuse("offload.optimizer", sentences(fmt.Sprintf(together, "offload.parameters"), capability.Offers("execution.offload.optimizer")))
	case parameters && !optimizer:
		refuse("offload.parameters", fmt.Sprintf(together, "offload.optimizer"))
	}
}

// sentences joins those that are not empty.
func sentences(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " ")
}

func (v *version) executionOptions(x *job.Execution) []executionOption {
	graphs, states, chunked := []string{"none"}, []string{"fp32"}, []string{"1"}
	if v.cudaGraphs {
		graphs = append(graphs, "full")
	}
	if v.optimizerStateBF16 {
		states = append(states, "bf16")
	}
	if v.lossChunks > 1 {
		chunked = []string{fmt.Sprint(x.LossChunks.Value)}
	}
	off, on := []string{"false"}, []string{"true"}
	return []executionOption{
		text("attention", x.Attention, []string{"flash"}, ""),
		switched("overlap_gradient_reduce", x.OverlapGradientReduce, on, "FSDP2 always overlaps."),
		switched("overlap_parameter_gather", x.OverlapParameterGather, on, "FSDP2 always overlaps."),
		switched("overlap_expert_parallel", x.OverlapExpertParallel, off, ""),
		text("gradient_dtype", x.GradientDType, []string{"fp32"}, "Gradients are reduced in fp32."),
		text("optimizer_state_dtype", x.OptimizerStateDType, states, ""),
		text("cross_entropy", x.CrossEntropy, []string{"unfused"}, ""),
		number("loss_chunks", x.LossChunks, chunked, ""),
		text("cuda_graphs", x.CUDAGraphs, graphs, ""),
		text("moe_dispatcher", x.MoEDispatcher, v.dispatchers, ""),
		text("context_parallel_type", x.ContextParallelType, []string{"all_gather"}, ""),
		switched("fully_sharded", x.FullySharded, off, "TorchTitan always uses FSDP2, chosen by zero_stage."),
		number("zero_hpz_partition", x.ZeroHPZPartition, []string{"1"}, "data_parallel_replicate gives hybrid sharding."),
		switched("offload.activations", x.OffloadActivations, off, ""),
	}
}

func text(name string, v job.Optional[string], allowed []string, why string) executionOption {
	return executionOption{name, v.Set, v.Value, allowed, why}
}

func switched(name string, v job.Optional[bool], allowed []string, why string) executionOption {
	return executionOption{name, v.Set, fmt.Sprint(v.Value), allowed, why}
}

func number(name string, v job.Optional[int], allowed []string, why string) executionOption {
	return executionOption{name, v.Set, fmt.Sprint(v.Value), allowed, why}
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
