package main

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/lang/job"
)

// has reports whether the launch set a flag of Megatron-LM.
func (r *row) has(flag string) bool {
	v, ok := r.Args[flag]
	return ok && v != false && v != nil
}

// argument is the value of a flag of the launch as text, "" if not set.
func (r *row) argument(flag string) string {
	if v, ok := r.Args[flag]; ok && v != nil {
		return toString(v)
	}
	return ""
}

// number is the value of a flag that takes a whole number, 0 if not set.
func (r *row) number(flag string) int {
	n, _ := strconv.Atoi(r.argument(flag))
	return n
}

// complete fills sizes that a row leaves out by the launch's arguments, with
// Megatron-LM's defaults for those that are not set.
func (r *row) complete() {
	m := &r.Model
	if n := r.number("--num-experts"); n > 0 {
		if m.MoE == nil {
			m.MoE = &expertSizes{}
		}
		e := m.MoE
		e.Experts = cmp.Or(e.Experts, n)
		e.TopK = cmp.Or(e.TopK, r.number("--moe-router-topk"), 2)
		e.FFN = cmp.Or(e.FFN, r.number("--moe-ffn-hidden-size"), m.FFN)
		e.SharedFFN = cmp.Or(e.SharedFFN, r.number("--moe-shared-expert-intermediate-size"))
		if pattern := r.argument("--moe-layer-freq"); pattern != "" && e.LayerFrequency == nil {
			e.LayerFrequency = pattern
		}
	}
	if r.has("--multi-latent-attention") && m.MLA == nil {
		m.MLA = &latentSizes{
			QLoraRank: r.number("--q-lora-rank"), KVLoraRank: cmp.Or(r.number("--kv-lora-rank"), 32),
			NopeDim: cmp.Or(r.number("--qk-head-dim"), 128), RopeDim: cmp.Or(r.number("--qk-pos-emb-head-dim"), 64),
			VDim: cmp.Or(r.number("--v-head-dim"), 128),
		}
	}
	m.MTPLayers = cmp.Or(m.MTPLayers, r.number("--mtp-num-layers"))
}

// launched corrects the model by the launch's arguments, where the row has
// them: they settle what the tables leave open, and a flag that is not set
// has Megatron-LM's default.
func (r *row) launched(m *job.Model) {
	if len(r.Args) == 0 {
		return
	}
	m.Activation.Kind = "gelu"
	switch {
	case r.has("--swiglu"):
		m.Activation.Kind = "swiglu"
	case r.has("--squared-relu"):
		m.Activation.Kind = "relu2"
	}
	m.Norm.Kind = "layernorm"
	if strings.EqualFold(r.argument("--normalization"), "RMSNorm") {
		m.Norm.Kind = "rmsnorm"
	}
	m.PositionEmbedding.Kind = "learned"
	switch kind := r.argument("--position-embedding-type"); {
	case kind == "rope" || r.has("--use-rotary-position-embeddings") || r.has("--multi-latent-attention"):
		m.PositionEmbedding.Kind = "rope"
	case kind == "none":
		m.PositionEmbedding.Kind = "none"
	}
	m.TiedEmbeddings = !r.has("--untie-embeddings-and-output-weights")
	m.MLPBias = !r.has("--disable-bias-linear")
	m.Attention.Bias = m.MLPBias || r.has("--add-qkv-bias")
	m.Attention.QKNorm = r.has("--qk-layernorm") && m.Attention.MLA == nil
	m.Dropout = 0.1
	if v := r.argument("--hidden-dropout"); v != "" {
		m.Dropout, _ = strconv.ParseFloat(v, 64)
	}
}

// launchedAs corrects the execution by the launch's arguments.
func (r *row) launchedAs(x *job.Execution) {
	if len(r.Args) == 0 {
		return
	}
	x.OverlapGradientReduce = job.Some(r.has("--overlap-grad-reduce"))
	x.OverlapParameterGather = job.Some(r.has("--overlap-param-gather"))
	x.OverlapTensorParallel = job.Some(r.has("--tp-comm-overlap"))
	x.CrossEntropy = job.Some("unfused")
	if r.has("--cross-entropy-loss-fusion") {
		x.CrossEntropy = job.Some("fused")
	}
	x.GradientDType = job.Some("fp32")
	if r.has("--grad-reduce-in-bf16") {
		x.GradientDType = job.Some("bf16")
	}
	switch v := r.argument("--attention-backend"); v {
	case "flash", "fused", "unfused":
		x.Attention = job.Some(v)
	}
	if r.has("--use-megatron-fsdp") {
		x.FullySharded = job.Some(true)
	}
}

// virtual is the number of model chunks per pipeline rank, as the row or its
// launch states it; 0 when it is not stated.
func (r *row) virtual() int {
	if r.Layout.VPP > 0 {
		return r.Layout.VPP
	}
	if n := r.number("--num-virtual-stages-per-pipeline-rank"); n > 0 {
		return n
	}
	per := r.number("--num-layers-per-virtual-pipeline-stage") * r.Layout.PP
	if per > 0 && r.Model.Layers%per == 0 {
		return r.Model.Layers / per
	}
	if text := r.stageText(); text != "" && r.Layout.PP > 0 {
		return len(strings.Split(expand(text), "|")) / r.Layout.PP
	}
	return 0
}

// stageText is the assignment of layers to chunks in Megatron-LM's letters.
func (r *row) stageText() string {
	if s := r.argument("--pipeline-model-parallel-layout"); s != "" {
		return s
	}
	s, _ := r.optionText("pp_layout", "pipeline_model_parallel_layout")
	if !strings.Contains(s, "|") {
		return ""
	}
	return s
}

// expand writes out the repeats of such an assignment: t*3 and (tt|)*2.
func expand(s string) string {
	var out, unit strings.Builder
	flush := func() { out.WriteString(unit.String()); unit.Reset() }
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '*':
			j := i + 1
			for j < len(s) && s[j] >= '0' && s[j] <= '9' {
				j++
			}
			n, _ := strconv.Atoi(s[i+1 : j])
			out.WriteString(strings.Repeat(unit.String(), min(n, 1<<12)))
			unit.Reset()
			i = j - 1
		case '(':
			flush()
			end := closer(s, i)
			unit.WriteString(expand(s[i+1 : end]))
			i = end
		default:
			flush()
			unit.WriteByte(s[i])
		}
	}
	flush()
	return out.String()
}

// closer is the place of the parenthesis that closes the one at i, or the
// end of s.
func closer(s string, i int) int {
	depth := 0
	for j := i; j < len(s); j++ {
		switch s[j] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return j
			}
		}
	}
	return len(s) - 1
}

// statedStages are the decoder layers of each chunk, if the row states them.
func (r *row) statedStages() []int {
	if len(r.Layout.StageLayers) > 0 {
		return r.Layout.StageLayers
	}
	text := r.stageText()
	if text == "" {
		return nil
	}
	var out []int
	for chunk := range strings.SplitSeq(expand(text), "|") {
		out = append(out, strings.Count(chunk, "t"))
	}
	return out
}

// optionText is an option as it is written.
func (r *row) optionText(names ...string) (string, bool) {
	var o map[string]any
	if json.Unmarshal(r.Layout.Overlaps, &o) != nil {
		return "", false
	}
	a, _ := o["assignments"].(map[string]any)
	for _, n := range names {
		if v, ok := o[n]; ok && v != nil {
			return strings.TrimSpace(toString(v)), true
		}
		for k, v := range a {
			if strings.HasSuffix(k, "."+n) && v != nil {
				return strings.Trim(toString(v), `" `), true
			}
		}
	}
	return "", false
}
