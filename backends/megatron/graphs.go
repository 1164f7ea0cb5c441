package megatron

import (
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends/slurm"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// scopes are Megatron-LM's words for the modules that Transformer Engine's CUDA
// graphs capture (megatron/core/transformer/enums.py, CudaGraphModule).
var scopes = map[string]string{
	plan.GraphAttention: "attn", plan.GraphMLP: "mlp", plan.GraphMoE: "moe",
	plan.GraphMoERouter: "moe_router", plan.GraphMoEPreprocess: "moe_preprocess", plan.GraphMamba: "mamba",
}

// GraphModules are the modules of a plan that Megatron-LM's words name, and the
// words that name none.
func GraphModules(words []string) (modules, unknown []string) {
	for _, word := range words {
		known := false
		for module, named := range scopes {
			if known = named == word; known {
				modules = append(modules, module)
				break
			}
		}
		if !known {
			unknown = append(unknown, word)
		}
	}
	return modules, unknown
}

// graphs adds CUDA graphs, whose options changed their spelling.
func (a *arguments) graphs() {
	from, what := planned("execution.cuda_graphs"), a.p.Execution.CUDAGraphs
	modules := "--cuda-graph-scope"
	if a.v.options.Has("--cuda-graph-modules") {
		modules = "--cuda-graph-modules"
	}
	switch {
	case what == "none":
		return
	case what == "full" && a.v.options.Offers("--cuda-graph-impl", "full_iteration"):
		a.add(from, "--cuda-graph-impl", "full_iteration")
	case what == "full":
		a.add(from, "--cuda-graph-impl", "local")
		a.add(from, modules, "full_iteration")
	default:
		a.add(from, "--cuda-graph-impl", "transformer_engine")
		if words := graphScopes(&a.j.Model, what); words != nil {
			a.add(from, modules, words...)
		}
	}
	a.add("ndc: random states inside graphs", "--te-rng-tracker")
	a.flag("ndc: a graph cannot stop at a value", "--no-check-for-nan-in-loss-and-grad", what == "full")
	a.staticExperts()
}

// graphVariables are the variables that graphs need.
func graphVariables(v *version, _ *job.Job, p *plan.Plan, set func(name, value, why string)) {
	switch what := p.Execution.CUDAGraphs; {
	case what != "none" && !v.atLeast(16, 0): // arguments.py asserts it
		set(slurm.AllocatorSetting(v.torch).Name, "expandable_segments:False", "core_v0.15 refuses CUDA graphs beside expandable segments")
	case what != "none":
		set("NCCL_GRAPH_REGISTER", "0", "CUDA graphs with an allocator of expandable segments ask for it")
	}
	if p.Execution.StaticExperts() {
		set(fusedKernel, "1", "Transformer Engine asks for it before experts are one kernel")
	}
}

// graphScopes are the scopes of graphs of layers or modules; nil for whole layers.
func graphScopes(m *job.Model, what string) (words []string) {
	if what = scope(m, what); what == "layer" {
		return nil
	}
	for _, module := range strings.Split(what, "+") {
		words = append(words, scopes[module])
	}
	return words
}

// scope is what graphs really capture: of layers with experts graphs of layers have
// the attention, because experts of a dropless layer have no fixed shapes.
func scope(m *job.Model, what string) string {
	if what == "layer" && m.MoE != nil {
		return plan.GraphAttention
	}
	return what
}

// names reports whether graphs of modules name one.
func names(what, module string) bool {
	for what != "" {
		var word string
		if word, what, _ = strings.Cut(what, "+"); word == module {
			return true
		}
	}
	return false
}

// graphRules: what CUDA graphs go together with, as the assertions on
// cuda_graph_impl and its scopes in megatron/core/transformer/transformer_config.py
// and megatron/training/arguments.py have it for the release.
func (v *version) graphRules() []target.Rule {
	return append([]target.Rule{
		{ID: RuleCUDAGraphs, Reason: "cuda_graphs goes with offload.activations from core_v0.19.0 on, of attention and moe_router, and not with document_mask, graphs of layers or modules not with recompute that runs through them, fp16, fp32, nor in a pipeline with batch_ramp, and a whole step not with batch_ramp, nor before core_v0.18.0 with expert_parallel", Breaks: v.breaksGraphs},
		{ID: RuleGraphModules, Reason: "this release cannot capture these modules of this model: see cuda_graphs in the reference", Breaks: v.breaksGraphModules},
	}, v.staticRules()...)
}

func (v *version) breaksGraphs(f *target.Facts) bool {
	x, l, m := f.Exec, f.Layout, &f.Job.Model
	if x.CUDAGraphs == "none" {
		return false
	}
	if x.OffloadActivations && !v.offloadsBesideGraphs(x) {
		return true
	}
	// module.py takes tensors alone, and where documents end is none; of a whole step
	// forward_step asks the GPU for the longest document.
	if f.Job.Training.Data.DocumentMask {
		return true
	}
	if x.CUDAGraphs == "full" {
		// Before core_v0.18.0 a local graph beside expert parallelism asks for what
		// only inference has.
		if m.MoE != nil && m.MoE.TokenDrop && l.ExpertParallel > 1 && v.atLeast(16, 0) && !v.atLeast(18, 0) {
			return true
		}
		// A graph repeats the micro-batches that it was captured with, whatever a
		// ramp asks for (core/full_cuda_graph.py).
		if f.Job.Training.BatchRamp != nil {
			return true
		}
		return l.Recompute != plan.RecomputeNone && !v.atLeast(16, 0) ||
			l.Recompute == plan.RecomputeSelective && v.breaksGraphRecompute(m, x, l.RecomputeModules)
	}
	if p := f.Job.Training.Precision; p == "fp16" || p == "fp32" { // get_layer_static_inputs makes inputs in bf16
		return true
	}
	if f.Job.Training.BatchRamp != nil && !capturesOnce(f) {
		return true
	}
	switch l.Recompute {
	case plan.RecomputeFull:
		return true
	case plan.RecomputeSelective:
		return v.breaksGraphRecompute(m, x, l.RecomputeModules)
	}
	return false
}

// offloadsBesideGraphs reports whether activations can go to the host beside graphs of
// modules: those of experts, which run outside of graphs of all else in their layers.
// The release's guide asks for both modules (fine_grained_activation_offloading.md).
// What is kept inside a graph would need another Transformer Engine than these
// releases have otherwise (2.14, transformer_layer.py), and stays on the GPU.
func (v *version) offloadsBesideGraphs(x *plan.Execution) bool {
	return v.options.Has(delayOffload) && names(x.CUDAGraphs, plan.GraphAttention) && names(x.CUDAGraphs, plan.GraphMoERouter)
}

// capturesOnce reports whether one set of graphs of modules serves all micro-batches.
// In a pipeline, and where exchanges of experts overlap, each has its own, and those
// that are not in flight together in the step that was captured share buffers
// (cuda_graphs.py, _get_sample_arguments): with more micro-batches than those one would
// be overwritten before its backward pass.
func capturesOnce(f *target.Facts) bool {
	return f.Layout.PipelineParallel == 1 && !f.Exec.OverlapExpertParallel
}

// breaksGraphRecompute reports modules of selective recompute that a graph cannot
// hold: a recompute that reaches over the graph's end, and one that draws random
// numbers. core_v0.15 knows only graphs of attention beside recompute, which may
// not run attention again.
func (v *version) breaksGraphRecompute(m *job.Model, x *plan.Execution, again plan.Modules) bool {
	what := scope(m, x.CUDAGraphs)
	captures := func(module string) bool { return names(what, module) }
	whole := what == "layer" || what == "full"
	if !v.atLeast(16, 0) {
		return !captures(plan.GraphAttention) || again&(plan.ModuleCoreAttention|plan.ModuleLatentUp) != 0
	}
	if again.Has(plan.ModuleMoE) && captures(plan.GraphMoERouter) {
		return true
	}
	if m.Dropout == 0 {
		return false
	}
	return again.Has(plan.ModuleCoreAttention) && (whole || captures(plan.GraphAttention)) ||
		again.Has(plan.ModuleMLP) && (whole || captures(plan.GraphMLP)) ||
		again.Has(plan.ModuleMoE) && (whole || captures(plan.GraphMoE))
}

// breaksGraphModules reports modules that the release or the model has not, or not
// as a graph needs them: experts of fixed shapes, and nothing that the host reads
// on the way.
func (v *version) breaksGraphModules(f *target.Facts) bool {
	m, what := &f.Job.Model, f.Exec.CUDAGraphs
	if what == "none" || what == "layer" || what == "full" {
		return false
	}
	has := func(module string) bool { return names(what, module) }
	e := m.MoE
	switch {
	case !v.atLeast(16, 0) && what != plan.GraphAttention, // the one scope within a layer that core_v0.15 has
		has(plan.GraphMamba) && (m.LayerPattern == "" || !strings.ContainsRune(m.LayerPattern, job.MambaBlock)),
		e == nil && (has(plan.GraphMoE) || has(plan.GraphMoERouter) || has(plan.GraphMoEPreprocess)),
		has(plan.GraphMoE) && (has(plan.GraphMoERouter) || !e.TokenDrop),
		has(plan.GraphMoEPreprocess) && !has(plan.GraphMoERouter),
		has(plan.GraphMLP) && e != nil && (m.LayerPattern != "" || !hasDenseLayer(m)), // the release does not look into patterns
		f.Exec.OverlapExpertParallel && (has(plan.GraphMLP) || has(plan.GraphMoE)):
		return true
	}
	return has(plan.GraphMoEPreprocess) && f.Exec.MoEDispatcher == "alltoall" && countsRows(f.Job)
}

// countsRows reports whether the alltoall dispatcher counts the padded rows of experts
// on the host before tokens are permuted.
func countsRows(j *job.Job) bool {
	return j.Model.MoE != nil && !j.Model.MoE.TokenDrop && alignment(j.Training.Precision) > 1
}

// hasDenseLayer reports whether a layer of the model has no experts.
func hasDenseLayer(m *job.Model) bool {
	for i := range m.Layers {
		if !m.IsMoELayer(i) {
			return true
		}
	}
	return false
}

// mostGraphs is the largest number of layers times micro-batches that a rank was
// published with graphs of modules of: 94 layers of Qwen3-235B-A22B on 64 GB300, whose
// overlapped exchanges need graphs for all 128 micro-batches (Megatron-MoE-ModelZoo,
// best_practice/qwen3/run_gb300_235b.sh). Every one is captured apart when the run
// begins, and nobody has said what that takes in time and in memory of the driver.
const mostGraphs = 94 * 128

// offersGraphs: graphs of modules are chosen unasked as published launches have them.
// Of mixtures of experts that is attention, router and preprocessing (Megatron-Bridge
// and Megatron-MoE-ModelZoo, Blackwell), of other models whole layers
// (NVIDIA's MLPerf Training submissions). Validation runs without them (module.py asks
// for self.training), and checkpoints are the same.
func (v *version) offersGraphs(j *job.Job) []target.Offer {
	if j.Model.LayerPattern != "" {
		return nil
	}
	published := []string{"layer"}
	var others []target.Offer
	if j.Model.MoE != nil {
		others = append(others, target.Offer{Values: published, Asked: "published launches capture the router, too"})
		published = nil
		if v.atLeast(16, 0) && v.preprocesses(j) {
			published = []string{plan.GraphAttention + "+" + plan.GraphMoERouter + "+" + plan.GraphMoEPreprocess}
		}
	}
	// arguments.py asks for --no-check-for-nan-in-loss-and-grad beside it, and
	// full_cuda_graph.py captures training and validation, each with buffers of its own.
	others = append(others, target.Offer{Values: []string{"full"}, Asked: "losses are not checked inside the graph of a whole step, validation gets a graph of its own, and what memory both take was published of one run"})
	if published == nil {
		return others
	}
	if why := v.unusualGraphs(j); why != "" {
		return append([]target.Offer{{Values: published, Asked: why}}, others...)
	}
	return append([]target.Offer{
		{Values: published, Applies: isUsualForGraphs},
		{Values: published, Applies: func(f *target.Facts) bool { return !isUsualForGraphs(f) },
			Asked: "published launches with such graphs have neither context_parallel nor Megatron-FSDP, and at most 94 layers with 128 micro-batches on a rank"},
	}, others...)
}

// unusualGraphs says what of a job is unlike published launches with graphs of modules,
// "" for nothing.
func (v *version) unusualGraphs(j *job.Job) string {
	switch {
	case !v.atLeast(16, 0): // arguments.py asserts it
		return "core_v0.15 runs them without expandable segments, and what memory that wastes is not predicted"
	case j.Cluster.GPU.Generation() < 9:
		return "published launches with such graphs run on Hopper and Blackwell"
	case j.Cluster.GPU.Generation() == 9: // Qwen3 235B on 256 H100: 17.6 s without, 15.2 with (testdata/measured, docs/accuracy.md)
		return "on Hopper the one published pair of launches that differ in such graphs gained a third of what is predicted of it"
	}
	return ""
}

// isUsualForGraphs reports whether published launches with graphs of modules are like
// a layout. It reads what a mesh and a micro-batch settle, as offers have to, and so
// takes exchanges of experts for overlapped (see capturesOnce).
func isUsualForGraphs(f *target.Facts) bool {
	l := f.Layout
	layers := (f.Job.Model.Layers + l.PipelineParallel - 1) / l.PipelineParallel
	once := l.PipelineParallel == 1 && l.ExpertParallel == 1
	return l.ContextParallel == 1 && l.ZeroStage <= 1 && (once || layers*l.MicroBatches <= mostGraphs)
}

// preprocesses reports whether what is computed before tokens are sent can be captured
// with a dispatcher that the search may take.
func (v *version) preprocesses(j *job.Job) bool {
	if !countsRows(j) {
		return true
	}
	dispatchers := j.Constraints.Execution["moe_dispatcher"]
	if dispatchers == nil {
		dispatchers = []string{j.Execution.MoEDispatcher.Or("alltoall")}
	}
	return slices.ContainsFunc(dispatchers, func(name string) bool { return name != "alltoall" })
}
