package torchtitan

import (
	"fmt"
	"slices"
	"strings"

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
// predicted. Compiled blocks are refused by the zero-bubble schedules of
// 0.2.2 (torch.distributed.pipelining rejects OptimizedModule).
func (d *dialect) resolver() func(*job.Job, *plan.Layout) plan.Execution {
	chunks, dispatcher, wraps := d.lossChunks, d.dispatchers[0], d.version == "0.2.2"
	return func(j *job.Job, l *plan.Layout) plan.Execution {
		x := &j.Execution
		zeroBubble := l.PipelineSchedule == plan.ScheduleZBV || l.PipelineSchedule == plan.ScheduleDualPipeV
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
			Compile:                x.Compile.Or(!(wraps && zeroBubble)),
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
	fix     string
}

// checkExecution refuses options that the release does not have.
func (d *dialect) checkExecution(j *job.Job, diags *diag.List) {
	for _, o := range d.executionOptions(&j.Execution) {
		if !o.set || slices.Contains(o.allowed, o.value) {
			continue
		}
		detail := fmt.Sprintf("TorchTitan %s has no %s = %s; it offers %s.", d.version, o.name, o.value, strings.Join(o.allowed, ", "))
		if o.fix != "" {
			detail += " " + o.fix
		}
		diags.Error(UnsupportedExecution, j.Sources.Range("execution."+o.name), "Execution option that TorchTitan does not have", detail)
	}
	if f, x := d.find(&j.Model), &j.Execution; f.allToAll && slices.Index(d.dispatchers, x.MoEDispatcher.Value) > 0 {
		diags.Error(UnsupportedExecution, j.Sources.Range("execution.moe_dispatcher"), "Execution option that TorchTitan does not have",
			fmt.Sprintf("The %s of TorchTitan %s, which this model is built as, always dispatches by %s; 0.3.0 and backend megatron have %s for it.", f.module, d.version, d.dispatchers[0], x.MoEDispatcher.Value))
	}
	checkOffload(j, diags)
}

// checkOffload refuses to offload one of what TorchTitan moves together.
func checkOffload(j *job.Job, diags *diag.List) {
	optimizer, parameters := j.Execution.OffloadOptimizer.Value, j.Execution.OffloadParameters.Value
	if optimizer == parameters {
		return
	}
	written, missing := "offload.optimizer", "offload.parameters"
	if parameters {
		written, missing = missing, written
	}
	diags.Error(UnsupportedExecution, j.Sources.Range("execution."+written), "Execution option that TorchTitan does not have",
		fmt.Sprintf("TorchTitan moves parameters, gradients and optimizer to the host together: set %s = true as well. Backend deepspeed offloads them one by one, backend megatron the optimizer.", missing))
}

func (d *dialect) executionOptions(x *job.Execution) []executionOption {
	graphs, states, chunked := []string{"none"}, []string{"fp32"}, []string{"1"}
	if d.cudaGraphs {
		graphs = append(graphs, "full")
	}
	if d.optimizerStateBF16 {
		states = append(states, "bf16")
	}
	if d.lossChunks > 1 {
		chunked = []string{fmt.Sprint(x.LossChunks.Value)}
	}
	off, on := []string{"false"}, []string{"true"}
	return []executionOption{
		text("attention", x.Attention, []string{"flash"}, "Backend megatron has fused and unfused attention."),
		switched("overlap_gradient_reduce", x.OverlapGradientReduce, on, "FSDP2 always overlaps; backends megatron and deepspeed have the choice."),
		switched("overlap_parameter_gather", x.OverlapParameterGather, on, "FSDP2 always overlaps; backends megatron and deepspeed have the choice."),
		switched("overlap_expert_parallel", x.OverlapExpertParallel, off, "Backend megatron has it."),
		text("gradient_dtype", x.GradientDType, []string{"fp32"}, "Gradients are reduced in fp32; backend megatron can reduce in bf16."),
		text("optimizer_state_dtype", x.OptimizerStateDType, states, "bf16 moments came with TorchTitan 0.3.0; backend megatron has fp16 and fp8 too."),
		text("cross_entropy", x.CrossEntropy, []string{"unfused"}, "Backend megatron has a fused cross-entropy."),
		number("loss_chunks", x.LossChunks, chunked, "The chunked loss came with TorchTitan 0.3.0; backend deepspeed has it too."),
		text("cuda_graphs", x.CUDAGraphs, graphs, "Whole-step graphs came with TorchTitan 0.3.0; backend megatron has graphs per layer."),
		text("moe_dispatcher", x.MoEDispatcher, d.dispatchers, "Backend megatron has allgather, alltoall, deepep and hybridep."),
		text("context_parallel_type", x.ContextParallelType, []string{"all_gather"}, "Backend megatron has ring, ulysses and hierarchical context parallelism."),
		switched("fully_sharded", x.FullySharded, off, "It names Megatron-FSDP; TorchTitan always uses FSDP2, chosen by zero_stage."),
		number("zero_hpz_partition", x.ZeroHPZPartition, []string{"1"}, "It belongs to backend deepspeed; data_parallel_replicate gives hybrid sharding."),
		switched("offload.activations", x.OffloadActivations, off, "Backend megatron can offload activations."),
	}
}

func text(name string, v job.Optional[string], allowed []string, fix string) executionOption {
	return executionOption{name, v.Set, v.Value, allowed, fix}
}

func switched(name string, v job.Optional[bool], allowed []string, fix string) executionOption {
	return executionOption{name, v.Set, fmt.Sprint(v.Value), allowed, fix}
}

func number(name string, v job.Optional[int], allowed []string, fix string) executionOption {
	return executionOption{name, v.Set, fmt.Sprint(v.Value), allowed, fix}
}

// checkRecompute refuses lists of modules: the emitted policy is "op".
func (d *dialect) checkRecompute(j *job.Job, diags *diag.List) {
	modules := j.Constraints.Layout.RecomputeModules
	if modules == nil || plan.ModulesOf(modules) == plan.ModuleOperators {
		return
	}
	diags.Error(UnsupportedExecution, j.Sources.Range("constraints.layout.recompute_modules"), "Recompute that TorchTitan does not have",
		fmt.Sprintf("TorchTitan %s chooses operations, not modules: recompute_modules can only be [\"op\"]. Backend megatron takes lists of modules.", d.version))
}
