package megatron

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/lang/job"
)

// A graph of the whole step has its shapes once for all, and experts that drop no
// token get another number of rows in every step. Since core_v0.18.0 HybridEP can
// fill a buffer of fixed size, in which one kernel of Transformer Engine counts the
// rows of each expert on the GPU, and what the backward pass needs of it is copied
// into pages (megatron/core/transformer/moe: token_dispatcher.py, experts.py,
// paged_stash.py). A step that routes more than the buffer holds, or finds no page,
// runs once more without both, so that no token is lost.

//go:embed static_experts.jsonl
var staticFactorRows string

// staticFactor is how large such a buffer is, as an option says it.
type staticFactor struct {
	Name, Option string
	Value        float64
	Source       string
}

// staticFactors are the factors that ndc emits where extra_args say no others.
var staticFactors = facts.By(facts.Lines[staticFactor]("megatron: static_experts.jsonl", staticFactorRows), func(f staticFactor) string { return f.Name })

// The options without a value that go with the factors.
const (
	pagedStash = "--moe-paged-stash"
	// fusedKernel is the variable that Transformer Engine asks for before it takes
	// its kernel, whose other path counts rows on the host.
	fusedKernel = "NVTE_CUTEDSL_FUSED_GROUPED_MLP"
)

const (
	// staticRows is what the rows of an expert and of a buffer are padded to
	// (moe_utils.py, get_align_size_for_quantization).
	staticRows = 256
	// staticWidth is the multiple that widths must be of (Transformer Engine,
	// validate_grouped_mlp_dims; 256 in v2.14, the oldest that Megatron-LM takes).
	staticWidth = 64
	// staticMicroBatches is how many micro-batches the schedule of the pages can
	// tell apart (paged_stash.py, get_schedule_layer).
	staticMicroBatches = 999
)

// of is the factor as the job has it: extra_args may say another.
func (f *staticFactor) of(j *job.Job) float64 {
	if v, ok := f.asked(j); ok {
		return v
	}
	return f.Value
}

// asked is the factor that extra_args say. It does not allocate.
func (f *staticFactor) asked(j *job.Job) (value float64, ok bool) {
	args := j.Backend.ExtraArgs
	for i, word := range args {
		name, text, joined := strings.Cut(word, "=")
		if name != f.Option {
			continue
		}
		if !joined && i+1 < len(args) {
			text = args[i+1]
		}
		if v, err := strconv.ParseFloat(text, 64); err == nil && v >= 0 {
			value, ok = v, true
		}
	}
	return value, ok
}

// asksWholeStep reports whether the job names a graph of the whole step.
func asksWholeStep(j *job.Job) bool {
	return j.Execution.CUDAGraphs.Value == "full" || slices.Contains(j.Constraints.Execution["cuda_graphs"], "full")
}

// countsStatic reports whether the plan counts an extra argument because it is of the
// buffers of experts that the job asks for.
func countsStatic(j *job.Job, option string) bool {
	if !asksWholeStep(j) {
		return false
	}
	for _, f := range staticFactors {
		if v, ok := f.asked(j); ok && f.Option == option {
			return f.Name != "interleave" || v == f.Value
		}
	}
	return option == opFuser || option == pagedStash
}

// staticExperts are the buffers of experts beside a graph of the whole step; zero
// where release or job cannot have them.
func (v *version) staticExperts(j *job.Job) runtime.StaticExperts {
	if j.Model.MoE == nil || j.Model.MoE.TokenDrop || v.lacksStaticExperts(j) {
		return runtime.StaticExperts{}
	}
	capacity, pages, host := staticFactors["capacity"], staticFactors["pages"], staticFactors["host_pages"]
	return runtime.StaticExperts{Capacity: capacity.of(j), RowMultiple: staticRows, Pages: pages.of(j), HostPages: host.of(j)}
}

// staticRules: what a graph of the whole step over experts that drop no token asks
// for. Of its assertions transformer_config.py has those on the dispatcher and the
// op fuser, experts.py those on what the fused kernel can do; what the kernel itself
// asks for is read of Transformer Engine, where the other path counts rows on the
// host and so ends the capture.
func (v *version) staticRules() []target.Rule {
	static := func(f *target.Facts) bool {
		return f.Exec.CUDAGraphs == "full" && f.Job.Model.MoE != nil && !f.Job.Model.MoE.TokenDrop
	}
	return []target.Rule{
		{ID: RuleStaticExperts, Reason: "a graph of the whole step beside experts that drop no token needs core_v0.18.0, GPUs of compute capability 10, every layer in mxfp8, experts of swiglu or gpt-oss's activation (with biases core_v0.19.0) with widths that are multiples of 64, and weights that no other run began", Breaks: func(f *target.Facts) bool {
			return static(f) && v.lacksStaticExperts(f.Job)
		}},
		{ID: RuleStaticExpertsLayout, Reason: "a graph of the whole step beside experts that drop no token needs moe_dispatcher = \"hybridep\", expert_tensor_parallel = 1, no recompute that runs experts again (full, moe, moe_act), no Megatron-FSDP and at most 999 micro-batches", Breaks: func(f *target.Facts) bool {
			return static(f) && breaksStaticLayout(f)
		}},
		{ID: RuleStaticExpertsLoad, Reason: "with load_imbalance and the padding of each expert to 256 rows the busiest rank gets more rows than its buffer holds, so that every step would run twice: raise --moe-expert-rank-capacity-factor in extra_args or micro_batch_size, or set cuda_graphs otherwise", Breaks: func(f *target.Facts) bool {
			return static(f) && overloadsStatic(f)
		}},
	}
}

// lacksStaticExperts reports what of a job keeps experts from buffers of fixed size.
func (v *version) lacksStaticExperts(j *job.Job) bool {
	m, t := &j.Model, &j.Training
	capacity := staticFactors["capacity"]
	switch {
	case !v.options.Has(capacity.Option),
		j.Cluster.GPU.Generation() != 10,
		t.Precision != "mxfp8" || t.FP8.BF16FirstLayers+t.FP8.BF16LastLayers > 0,
		m.HiddenSize%staticWidth != 0, m.MoE.LatentSize%staticWidth != 0, m.MoE.ExpertFFNHiddenSize%staticWidth != 0,
		// Before, the kernel adds the bias of an output whatever the router says of it.
		m.MLPBias && !v.atLeast(19, 0),
		// The fused swiglu does not clamp, and the other has gpt-oss's constants.
		m.Activation.Kind != "swiglu",
		m.Activation.Alpha != quickGELU && m.Activation.Clamp > 0,
		m.Activation.Alpha == quickGELU && (m.Activation.Clamp == 0 || m.Activation.Offset != 1):
		return true
	}
	// The rows of gate and up lie in another order than other runs have them, and
	// nothing tells when they are loaded.
	return t.Start.From == "checkpoint" && t.Start.ResetOptimizer
}

// breaksStaticLayout: the pages are written when a layer runs forward first, and
// nobody has tried a layer that does so twice; the fused kernel holds on to the
// parameters that it saw first, which Megatron-FSDP replaces.
func breaksStaticLayout(f *target.Facts) bool {
	l := f.Layout
	return f.Exec.MoEDispatcher != "hybridep" || l.ExpertTensorParallel > 1 || f.Exec.FullySharded || l.MicroBatches > staticMicroBatches ||
		l.Recompute == plan.RecomputeFull ||
		l.Recompute == plan.RecomputeSelective && l.RecomputeModules&(plan.ModuleMoE|plan.ModuleExpertActivation) != 0
}

// overloadsStatic reports whether the busiest rank is sent more rows than a buffer
// holds, each expert's with half the padding.
func overloadsStatic(f *target.Facts) bool {
	l, e := f.Layout, f.Job.Model.MoE
	capacity := staticFactors["capacity"]
	mean := float64(l.MicroBatchSize*f.Job.Model.SequenceLength*e.TopK) / float64(l.ContextParallel*l.TensorParallel)
	padding := float64(e.Experts / l.ExpertParallel * staticRows / 2)
	return float64(mean*max(1, e.LoadImbalance))+padding > float64(mean*capacity.of(f.Job))
}

// staticExperts adds the buffers of experts that a graph of the whole step needs.
func (a *arguments) staticExperts() {
	if !a.p.Execution.StaticExperts() {
		return
	}
	const kernel = "ndc: experts in one kernel that counts its rows on the GPU"
	a.add(kernel, opFuser)
	a.factor(kernel, "interleave")
	a.factor("ndc: rows of a buffer over balanced routing, as published", "capacity")
	a.add("ndc: what the backward pass needs of them, without empty rows", pagedStash)
	a.factor("ndc: rows of pages over balanced routing, as published", "pages")
	a.factor("ndc: those in host memory, for when the others are full", "host_pages")
}

func (a *arguments) factor(from, name string) {
	f := staticFactors[name]
	a.number(from, f.Option, f.Value)
}
