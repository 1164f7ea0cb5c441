package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// model is the row's architecture. What the tables leave out follows from its
// shape: an MLP of exactly four times the hidden size is ungated (GPT), any
// other is gated (Llama); an ungated model with fewer heads of keys is younger
// than learned positions and biases (Nemotron). The facts of the source
// correct that, and the launch's arguments where the row has them.
func model(r *row, f *facts) job.Model {
	m := &r.Model
	out := job.Model{
		Name: "row", Architecture: "llama", Layers: m.Layers, HiddenSize: m.Hidden, FFNHiddenSize: m.FFN,
		Attention: job.Attention{Heads: m.Heads, KVHeads: m.KVHeads, HeadDim: m.HeadDim}, VocabSize: m.Vocab,
		SequenceLength: m.SeqLen, MaxPositions: m.SeqLen, Activation: job.Activation{Kind: "swiglu"}, Norm: job.Norm{Kind: "rmsnorm"},
		MTP: job.MTP{Layers: m.MTPLayers}, PositionEmbedding: job.PositionEmbedding{Kind: "rope"},
	}
	if out.Attention.KVHeads == 0 {
		out.Attention.KVHeads = out.Attention.Heads
	}
	if out.Attention.HeadDim == 0 {
		out.Attention.HeadDim = out.HiddenSize / out.Attention.Heads
	}
	switch {
	case m.Gated != nil && *m.Gated || m.Gated == nil && (m.FFN != 4*m.Hidden || m.MoE != nil):
	case out.Attention.KVHeads < out.Attention.Heads:
		out.Architecture, out.Activation.Kind, out.Norm.Kind = "gpt", "relu2", "layernorm"
	default:
		out.Architecture, out.Activation.Kind, out.Norm.Kind = "gpt", "gelu", "layernorm"
		out.PositionEmbedding.Kind, out.TiedEmbeddings = "learned", true
		out.Attention.Bias, out.MLPBias = true, true
	}
	if m.Tied != nil {
		out.TiedEmbeddings = *m.Tied
	}
	experts(r, &out)
	hybrid(r, &out)
	out.Attention.SlidingWindow = window(m.Window)
	for _, a := range architectures() {
		if strings.Contains(m.ArchitectureSource, a.Contains) {
			a.apply(&out)
		}
	}
	f.Model.apply(&out)
	r.launched(&out)
	if d, ok := f.Execution["dropout"].(float64); ok {
		out.Dropout = d
	}
	return out
}

// hybrid copies the pattern of layers and the mixers.
func hybrid(r *row, out *job.Model) {
	m := &r.Model
	if m.HybridPattern == "" {
		return
	}
	out.Architecture, out.LayerPattern = "nemotron_h", m.HybridPattern
	out.Activation.Kind, out.Norm.Kind, out.PositionEmbedding.Kind = "relu2", "rmsnorm", "none"
	out.Mamba = &job.Mamba{Heads: m.Mamba.Heads, HeadDim: m.Mamba.HeadDim, StateDim: m.Mamba.State, Groups: cmp.Or(m.Mamba.Groups, 8), ConvKernel: 4}
	if m.MoE != nil {
		out.MoE.LatentSize = m.MoE.Latent
	}
}

// experts copies the mixture of experts and latent attention.
func experts(r *row, out *job.Model) {
	if e := r.Model.MoE; e != nil {
		out.Architecture = "mixtral"
		out.MoE = &job.MoE{
			Experts: e.Experts, TopK: e.TopK, ExpertFFNHiddenSize: e.FFN, SharedExperts: e.Shared, SharedExpertFFNHiddenSize: e.SharedFFN,
			FirstDenseLayers: r.firstDense(), LayerFrequency: 1, LoadImbalance: 1,
		}
		switch {
		case e.SharedFFN > 0:
			out.MoE.SharedExperts = max(1, e.Shared)
		case e.Shared > 0:
			out.MoE.SharedExpertFFNHiddenSize = e.Shared * e.FFN // as wide as the routed ones
		}
		out.MoE.TokenDrop = strings.Contains(r.routing(), "tokendrop")
		if out.MoE.TokenDrop {
			out.MoE.CapacityFactor = max(1, e.CapacityFactor)
		}
	}
	if a := r.Model.MLA; a != nil {
		out.Architecture = "deepseek_v3"
		out.Attention.HeadDim = a.NopeDim + a.RopeDim
		out.Attention.MLA = &job.MLA{QLoraRank: a.QLoraRank, KVLoraRank: a.KVLoraRank, QKNopeHeadDim: a.NopeDim, QKRopeHeadDim: a.RopeDim, VHeadDim: a.VDim}
	}
}

// firstDense is how many layers come before the first with experts: as stated,
// or from Megatron-LM's pattern of layers, "([0]*3+[1]*11)".
func (r *row) firstDense() int {
	e := r.Model.MoE
	if pattern, ok := e.LayerFrequency.(string); ok && e.FirstDense == 0 {
		n, _, found := strings.Cut(strings.TrimPrefix(pattern, "([0]*"), "+[1]*")
		if v, err := strconv.Atoi(n); err == nil && found {
			return v
		}
	}
	return e.FirstDense
}

// window reads a number of keys, or prose such as "sliding window 128 on
// alternate layers".
func window(v any) job.SlidingWindow {
	switch v := v.(type) {
	case float64:
		return job.SlidingWindow{Size: int(v)}
	case string:
		pattern := 0
		if strings.Contains(v, "alternate") {
			pattern = 2
		}
		for _, word := range strings.Fields(v) {
			if n, err := strconv.Atoi(word); err == nil && n > 1 {
				return job.SlidingWindow{Size: n, Pattern: pattern}
			}
		}
	}
	return job.SlidingWindow{}
}

// apply overrides what the source says about all its models.
func (f *modelFacts) apply(m *job.Model) {
	set(&m.PositionEmbedding.Kind, f.PositionEmbedding)
	set(&m.Norm.Kind, f.Normalization)
	set(&m.Activation.Kind, f.Activation)
	if f.TiedEmbeddings != nil {
		m.TiedEmbeddings = *f.TiedEmbeddings
	}
	if f.AttentionBias != nil {
		m.Attention.Bias = *f.AttentionBias
	}
	if f.MLPBias != nil {
		m.MLPBias = *f.MLPBias
	}
	if f.QKNorm {
		m.Attention.QKNorm = true
	}
	if f.ActivationClamp > 0 {
		m.Activation.Clamp = f.ActivationClamp
	}
	if f.PaddedVocab > 0 {
		m.PaddedVocabSize = f.PaddedVocab
		m.VocabSize = min(m.VocabSize, f.PaddedVocab)
	}
	if f.Dropout > 0 {
		m.Dropout = f.Dropout
	}
}

func set(to *string, s string) {
	if s != "" {
		*to = s
	}
}

// execution pins what the row and the facts say about how it ran: first what
// holds for its framework, then the row's own options, then the facts.
func execution(r *row, f *facts, fw *framework) job.Execution {
	x := fw.executed(r)
	for name, names := range spellings {
		o := option.FindOption(name)
		v, ok := r.option(names...)
		if o.Kind == option.Switch {
			v = strconv.FormatBool(v == "true" || v == "1")
		}
		if ok {
			choose(&x, o, v)
		}
	}
	graphs(r, &x)
	if v, ok := r.optionText("cpu_offloading_num_layers"); ok && v != "0" {
		x.OffloadActivations = job.Some(true)
	}
	if enabled(r.Layout.FSDP) {
		x.FullySharded = job.Some(true)
	}
	stated(&x, f.Execution)
	r.launchedAs(&x)
	return x
}

// spellings are the names by which rows tell of options.
var spellings = map[string][]string{
	"overlap_tensor_parallel":  {"tp_comm_overlap", "async_tp"},
	"overlap_gradient_reduce":  {"grad_reduce_overlap", "grad_sync", "grad_reduce", "overlap_grad_reduce"},
	"overlap_parameter_gather": {"param_sync", "param_gather", "overlap_param_gather"},
	"overlap_expert_parallel":  {"moe_a2a_overlap", "overlap_moe_expert_parallel_comm"},
	"compile":                  {"torch_compile"},
	"moe_dispatcher":           {"moe_flex_dispatcher_backend"},
	"offload.optimizer":        {"offload_optimizer"},
	"offload.parameters":       {"offload_parameters"},
	"loss_chunks":              {"loss_chunks"},
}

// elsewhere are what facts state of an execution beside its options, and others read.
var elsewhere = []string{"dropout", "parameter_gather", "plain_loss"}

// stated sets the options that a data file states by their names. What nothing reads
// panics.
func stated(x *job.Execution, values map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if values[name] != nil && !slices.Contains(elsewhere, name) {
			choose(x, option.FindOption(name), toString(values[name]))
		}
	}
}

// choose sets one option. A value that the language does not have skips the row.
func choose(x *job.Execution, o *option.Option, text string) {
	s, err := o.Setting(text)
	if err != nil {
		panic(err)
	}
	s.Pin(x)
}

// enabled reads an object such as {"enabled": true, …}.
func enabled(raw json.RawMessage) bool {
	var o struct {
		Enabled bool `json:"enabled"`
	}
	return json.Unmarshal(raw, &o) == nil && o.Enabled
}

// executed is what holds for every run of the framework.
func (f *framework) executed(r *row) job.Execution {
	var x job.Execution
	stated(&x, f.Execution)
	if f.Overlap == "whole_state" && r.Layout.ZeroStage != nil && *r.Layout.ZeroStage > 0 {
		x.OverlapGradientReduce, x.OverlapParameterGather = job.Some(false), job.Some(false)
	}
	if r.Layout.TP <= 1 || f.Backend == "megatron" && r.Model.MLA != nil { // at whose first linear Megatron-LM turns it off
		x.OverlapTensorParallel = job.Optional[bool]{}
	}
	return x
}

// graphs reads the CUDA graph options.
func graphs(r *row, x *job.Execution) {
	kind, ok := r.option("cuda_graph_impl")
	on, _ := r.option("cuda_graphs")
	scope, _ := r.option("cuda_graph_scope")
	what, _ := r.option("cuda_graph") // in words
	switch {
	case kind == "full_iteration" || scope == "full_iteration" || what == "full_iteration" || strings.Contains(what, "full_cuda_graph"):
		x.CUDAGraphs = job.Some("full")
	case kind == "none":
		x.CUDAGraphs = job.Some("none")
	case len(captured(scope)) > 0:
		x.CUDAGraphs = job.Some(option.Join(plan.GraphModules, captured(scope)))
	case ok || on == "true" || strings.Contains(what, "per layer"):
		x.CUDAGraphs = job.Some("layer")
	default:
		x.CUDAGraphs = job.Some("none")
	}
}

// captured lists the modules of a scope, a word or a list in JSON, by their names
// in plans.
func captured(scope string) (list []string) {
	for _, word := range strings.FieldsFunc(scope, func(r rune) bool { return strings.ContainsRune(`[]", `, r) }) {
		if word == "attn" {
			word = plan.GraphAttention
		}
		if slices.Contains(plan.GraphModules, word) {
			list = append(list, word)
		}
	}
	return list
}

// layout is the row's, in plan's terms.
func layout(r *row, t *target.Target, partition string) (plan.Layout, string) {
	in := &r.Layout
	l := plan.Layout{
		TensorParallel: in.TP, ContextParallel: max(1, in.CP), PipelineParallel: in.PP, VirtualPipeline: max(1, r.virtual()),
		ExpertParallel: max(1, in.EP), ExpertTensorParallel: max(1, in.ETP), MicroBatchSize: in.MBS,
		SequenceParallel: in.TP > 1 && (in.SP == nil && r.Model.MoE != nil || in.SP != nil && *in.SP),
	}
	dp := r.Cluster.GPUs / (l.TensorParallel * l.ContextParallel * l.PipelineParallel)
	if perStage := r.Cluster.GPUs / in.PP; r.Model.MoE != nil && in.ETP == 0 && perStage%(l.ExpertParallel*in.TP) == 0 {
		l.ExpertTensorParallel = in.TP // Megatron's default
	}
	l.MicroBatches = in.GBS / dp / in.MBS
	l.ZeroStage = 1
	if in.ZeroStage != nil {
		l.ZeroStage = *in.ZeroStage
	}
	l.DataParallelShard, l.DataParallelReplicate = dp, 1
	if in.DPReplicate > 1 && in.DPShard > 0 {
		l.DataParallelReplicate, l.DataParallelShard = in.DPReplicate, in.DPShard
	}
	if l.ZeroStage == 0 || dp == 1 && t.Backend == "megatron" && l.ContextParallel == 1 {
		l.ZeroStage, l.DataParallelReplicate, l.DataParallelShard = 0, dp, 1
	}
	schedule(&l)
	recompute(r, &l, t)
	return l, stages(r, &l, partition)
}

// schedule follows from the chunks.
func schedule(l *plan.Layout) {
	switch {
	case l.PipelineParallel == 1:
		l.VirtualPipeline = 1
	case l.VirtualPipeline > 1:
		l.PipelineSchedule = plan.ScheduleInterleaved1F1B
	default:
		l.PipelineSchedule = plan.Schedule1F1B
	}
}

// recompute reads mode and modules.
func recompute(r *row, l *plan.Layout, t *target.Target) {
	c := &r.Layout.Recompute
	names := c.names()
	switch {
	case c.Mode == "full":
		l.Recompute, l.RecomputeMethod, l.RecomputeLayers = plan.RecomputeFull, "uniform", 1
		if n, ok := c.Layers.(float64); ok && n > 0 {
			l.RecomputeMethod, l.RecomputeLayers = "block", int(n)
		}
	case t.Backend == "torchtitan" && strings.Contains(c.prose(), "layer"): // every second layer in full, torchtitan's default
		l.Recompute, l.RecomputeMethod, l.RecomputeLayers = plan.RecomputeFull, "block", r.Model.Layers/l.Chunks()/2
	case t.Backend == "torchtitan" && c.Mode == "selective":
		l.Recompute, l.RecomputeModules = plan.RecomputeSelective, plan.ModuleOperators
	case c.Mode == "selective" || c.Mode == "" && len(names) > 0:
		l.Recompute, l.RecomputeModules = plan.RecomputeSelective, plan.ModulesOf(names)
		if len(names) == 0 {
			l.RecomputeModules = plan.ModuleCoreAttention
		}
	}
}

// stages spreads the layers. What is not stated is done as Megatron does when
// it counts embedding and head as a layer each, if that comes out even; else
// the middle chunks get the same number and the ends what is left, the last,
// which has the head, least.
func stages(r *row, l *plan.Layout, partition string) string {
	chunks, n := l.Chunks(), r.Model.Layers
	if stated := r.statedStages(); stated != nil {
		sum := 0
		for _, k := range stated {
			sum += k
		}
		if len(stated) != chunks || sum != n {
			return "contradiction: the layers of the stages are not those of the model"
		}
		l.StageLayers = stated
		return ""
	}
	switch partition {
	case "balanced":
		for c := range chunks {
			l.StageLayers = append(l.StageLayers, (c+1)*n/chunks-c*n/chunks)
		}
		return ""
	case "cost":
		l.StageLayers = byCost(r, chunks)
		return ""
	}
	each := (n + chunks - 1) / chunks
	first, last := each, each
	if n%chunks != 0 {
		ends := n - each*(chunks-2)
		if ends < 0 {
			return "fewer layers than chunks"
		}
		first = min(each, ends)
		if (n+2)%chunks == 0 {
			first = ends / 2
		}
		last = ends - first
	}
	for range chunks {
		l.StageLayers = append(l.StageLayers, each)
	}
	l.StageLayers[0] = first
	if chunks > 1 {
		l.StageLayers[chunks-1] = last
	}
	return ""
}
