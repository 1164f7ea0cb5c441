package megatron

import (
	"fmt"
	"math"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
)

// parallelism adds the meshes and the pipeline.
func (a *arguments) parallelism() {
	l := &a.p.Layout
	a.integer(planned("layout.tensor_parallel"), "--tensor-model-parallel-size", l.TensorParallel)
	a.flag(planned("layout.sequence_parallel"), "--sequence-parallel", l.SequenceParallel)
	a.integer(planned("layout.pipeline_parallel"), "--pipeline-model-parallel-size", l.PipelineParallel)
	a.pipeline()
	a.integer(planned("layout.context_parallel"), "--context-parallel-size", l.ContextParallel)
	a.options(inContext)
	if a.j.Model.MoE != nil {
		a.integer(planned("layout.expert_parallel"), "--expert-model-parallel-size", l.ExpertParallel)
		a.integer(planned("layout.expert_tensor_parallel"), "--expert-tensor-parallel-size", l.ExpertTensorParallel)
	}
	a.options(inParallel)
	a.timeout()
}

// delaysWeights reports whether the gradients of weights are computed apart from
// those of inputs, so that more stands beside an exchange, as every published
// launch that overlaps them has it. Graphs of modules would keep their addresses, and
// Megatron-FSDP reduces a gradient when its layer is done.
func (a *arguments) delaysWeights() bool {
	x := &a.p.Execution
	return x.OverlapExpertParallel && !x.FullySharded && (x.CUDAGraphs == "none" || x.CUDAGraphs == "full")
}

// timeout adds how long a collective may hang, and how long until the first
// step is done: Megatron-LM counts that in minutes, and later steps in seconds
// where they have a limit of their own.
func (a *arguments) timeout() {
	t := &a.j.Training.Timeout
	later, whyLater := t.Collective, a.from("training.timeout.collective")
	if later == 0 {
		later, whyLater = units.Seconds(60*timeoutMinutes(a.p.Layout.GPUs())), "ndc: collectives of large groups start slowly"
	}
	first, whyFirst := t.FirstStep, a.from("training.timeout.first_step")
	if first == 0 {
		first, whyFirst = later, whyLater
	}
	minutes := math.Ceil(float64(first) / 60)
	a.integer(whyFirst, "--distributed-timeout-minutes", int(minutes))
	if float64(later) != 60*minutes {
		a.integer(whyLater, "--distributed-timeout-seconds-after-init", int(later))
	}
}

// timeoutMinutes is how long a collective may hang: torch's ten minutes, more
// where start-up and checkpoint loading of many ranks take longer.
func timeoutMinutes(gpus int) int {
	switch {
	case gpus <= 64:
		return 10
	case gpus <= 1024:
		return 30
	}
	return 60
}

// pipeline adds the chunks: their number where all are equal, the layout
// string where they are not. Megatron-LM places stage i of the string on
// pipeline rank i mod pp, as plan.Layout does.
func (a *arguments) pipeline() {
	l := &a.p.Layout
	if l.PipelineParallel == 1 || a.j.Model.LayerPattern != "" { // whose pattern says it
		return
	}
	if allEqual(l.StageLayers) {
		if interleaved(l) {
			a.integer(planned("layout.virtual_pipeline"), "--num-virtual-stages-per-pipeline-rank", l.VirtualPipeline)
		}
		return
	}
	a.add(planned("layout.stage_layers"), "--pipeline-model-parallel-layout", layoutString(l.StageLayers, a.j.Model.MTP.Layers))
}

// layoutString spells the stages in Megatron-LM's grammar
// (pipeline_parallel_layer_layout.py): E embedding, t decoder layer, m MTP
// layer, L loss, | between stages. Equal neighbours are folded: (t*4|)*14.
func layoutString(stages []int, mtp int) string {
	parts := make([]string, len(stages))
	for i, n := range stages {
		if n > 0 {
			parts[i] = repeat("t", n)
		}
	}
	last := len(parts) - 1
	parts[0] = "E" + parts[0]
	if mtp > 0 {
		parts[last] += repeat("m", mtp)
	}
	parts[last] += "L"
	var b strings.Builder
	for i := 0; i < len(parts); {
		k := i
		for k < last && parts[k] == parts[i] {
			k++
		}
		switch {
		case i == last:
			b.WriteString(parts[i])
			k = i + 1
		case k-i > 1:
			fmt.Fprintf(&b, "(%s|)*%d", parts[i], k-i)
		default:
			b.WriteString(parts[i] + "|")
			k = i + 1
		}
		i = k
	}
	return b.String()
}

func repeat(letter string, n int) string {
	if n == 1 {
		return letter
	}
	return fmt.Sprintf("%s*%d", letter, n)
}

// context adds how the ranks of a sequence exchange keys and values.
func (a *arguments) context() {
	l := &a.p.Layout
	if l.ContextParallel == 1 {
		return
	}
	kind := map[string]string{"ring": "p2p", "all_gather": "all_gather", "ulysses": "a2a", "hierarchical": "a2a+p2p"}[a.p.Execution.ContextParallelType]
	a.add(planned("execution.context_parallel_type"), "--cp-comm-type", kind)
	if kind == "a2a+p2p" {
		inner := innerContext(a.j, l)
		a.add("ndc: heads inside a node, a ring across", "--hierarchical-context-parallel-sizes", numbers([]int{inner, l.ContextParallel / inner})...)
	}
}

// state adds what each rank keeps and which communication hides.
func (a *arguments) state() {
	l := &a.p.Layout
	sharded := l.ZeroStage >= 1
	a.options(inSharding)
	if sharded && !a.p.Execution.FullySharded && !a.wholeMatrices() {
		a.add(planned("layout.zero_stage"), "--use-distributed-optimizer")
	}
	if sharded && l.DataParallelReplicate > 1 {
		a.integer(planned("layout.data_parallel_replicate"), "--num-distributed-optimizer-instances", l.DataParallelReplicate)
	}
	a.options(inState)
}

// wholeMatrices reports whether the optimizer spreads whole matrices under a
// name of its own (Muon before core_v0.18.0).
func (a *arguments) wholeMatrices() bool {
	return a.j.Training.Optimizer.Kind == "muon" && !a.v.atLeast(18, 0)
}

// fullySharded adds Megatron-FSDP. It keeps its checkpoints in a format of its
// own, and its gradients in buffers that the fused accumulation cannot write.
func (a *arguments) fullySharded() {
	if !a.p.Execution.FullySharded {
		return
	}
	strategy := [...]string{"no_shard", "optim", "optim_grads", "optim_grads_params"}[a.p.Layout.ZeroStage]
	a.add(planned("execution.fully_sharded"), "--use-megatron-fsdp")
	a.add("ndc: Megatron-FSDP needs it", "--use-distributed-optimizer")
	a.add(planned("layout.zero_stage"), "--data-parallel-sharding-strategy", strategy)
	if a.p.Layout.DataParallelReplicate > 1 && a.v.options.Has("--outer-dp-sharding-strategy") {
		a.add("ndc: replicas keep whole copies", "--outer-dp-sharding-strategy", "no_shard")
	}
	a.add("ndc: sharded gradients have no whole buffer", "--no-gradient-accumulation-fusion")
	a.flag("ndc: no rank ever holds the whole model", "--init-model-with-meta-device", a.p.Layout.ZeroStage == 3)
}

// precisionAware adds the optimizer that keeps its states in other types or
// in host memory.
func (a *arguments) precisionAware() {
	x := &a.p.Execution
	if !x.OffloadOptimizer && x.OptimizerStateDType == "fp32" {
		return
	}
	a.add(planned("execution.optimizer_state_dtype"), "--use-precision-aware-optimizer")
	a.add(planned("execution.optimizer_state_dtype"), "--exp-avg-dtype", x.OptimizerStateDType)
	a.add(planned("execution.optimizer_state_dtype"), "--exp-avg-sq-dtype", x.OptimizerStateDType)
	a.add("ndc: the copy that the optimizer updates", "--main-params-dtype", "fp32")
	a.add(planned("execution.gradient_dtype"), "--main-grads-dtype", x.GradientDType)
}

// recompute adds what is recomputed or kept in host memory.
func (a *arguments) recompute() {
	l := &a.p.Layout
	from := planned("layout.recompute")
	switch l.Recompute {
	case plan.RecomputeSelective:
		a.add(from, "--recompute-granularity", "selective")
		a.add(planned("layout.recompute_modules"), "--recompute-modules", recomputeArguments(l.RecomputeModules)...)
	case plan.RecomputeFull:
		a.add(from, "--recompute-granularity", "full")
		a.add(planned("layout.recompute_method"), "--recompute-method", l.RecomputeMethod)
		a.integer(planned("layout.recompute_layers"), "--recompute-num-layers", l.RecomputeLayers)
	}
	a.options(inRecompute)
}

// delayOffload lets copies to the host wait for the next replay of a CUDA graph.
const delayOffload = "--delay-offload-until-cuda-graph"

// offloadModules are the modules whose inputs go to host memory: those of
// attention unless a CUDA graph captures it, and of the experts where there are some
// that keep their inputs. Recompute of the whole block keeps none: core_v0.19.0 refuses
// the two together, and says of the releases before that they fail (transformer_config.py).
func (a *arguments) offloadModules() (modules []string) {
	if !a.v.offloadsBesideGraphs(&a.p.Execution) {
		modules = []string{"attn_norm", "qkv_linear", "core_attn", "attn_proj", "mlp_norm"}
	}
	if a.j.Model.MoE != nil && !a.p.Layout.RecomputeModules.Has(plan.ModuleMoE) {
		modules = append(modules, "expert_fc1", "moe_act")
	}
	return modules
}
