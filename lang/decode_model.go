package lang

import (
	"strings"

	"github.com/ndc-dev/ndc/lang/job"
)

// decodeModel reads a model's tree. What the tree lacks has its default.
func decodeModel(b *block) job.Model {
	m := job.Model{
		Name: b.labelOr(""), Catalog: b.catalog,
		Architecture: b.text("architecture"),
		Layers:       b.count("layers"), LayerPattern: b.text("layer_pattern"), HiddenSize: b.count("hidden_size"),
		VocabSize: b.count("vocab_size"), PaddedVocabSize: b.count("padded_vocab_size"),
		SequenceLength: b.count("sequence_length"),
		InitStd:        b.number("init_std"), Dropout: b.number("dropout"),
		EmbeddingScale: b.number("embedding_scale"), FinalSoftcap: b.number("final_logit_softcap"),
		Attention: job.Attention{
			Heads: b.count("attention_heads"), Sinks: b.flag("attention_sinks"),
			Softcap: b.number("attention_logit_softcap"), Scale: b.number("attention_scale"),
		},
		Activation: job.Activation{Alpha: b.number("activation_alpha"), Clamp: b.number("activation_clamp"), Offset: b.number("activation_offset")},
		Norm:       job.Norm{Epsilon: b.number("norm_epsilon"), Post: b.flag("post_norms"), ZeroCentered: b.flag("zero_centered_norm")},
		MTP:        job.MTP{Layers: b.count("mtp_layers"), LayerPattern: b.text("mtp_layer_pattern"), LossScale: b.number("mtp_loss_scale")},
	}
	decodeByArchitecture(b, &m)
	decodeModelParts(b, &m)
	decodeDerived(b, &m)
	return m
}

// family holds what an architecture implies where the file says nothing.
type family struct {
	activation, normalization, position                          string
	tied, attentionBias, attentionGate, qkvBias, mlpBias, qkNorm bool
}

var families = map[string]family{
	"gpt":        {activation: "gelu", normalization: "layernorm", position: "learned", tied: true, attentionBias: true, mlpBias: true},
	"gemma2":     {activation: "geglu", tied: true},
	"gpt_oss":    {attentionBias: true, mlpBias: true},
	"qwen2":      {qkvBias: true},
	"glm4_moe":   {qkvBias: true},
	"qwen3":      {qkNorm: true},
	"qwen3_moe":  {qkNorm: true},
	"qwen3_next": {qkNorm: true, attentionGate: true},
	"nemotron_h": {activation: "relu2", position: "none"},
}

func decodeByArchitecture(b *block, m *job.Model) {
	f := families[m.Architecture]
	m.Activation.Kind = b.textOr("activation", or(f.activation, "swiglu"))
	m.Norm.Kind = b.textOr("normalization", or(f.normalization, "rmsnorm"))
	m.TiedEmbeddings = b.flagOr("tied_embeddings", f.tied)
	m.Attention.Bias = b.flagOr("attention_bias", f.attentionBias)
	m.Attention.Gate = b.flagOr("attention_output_gate", f.attentionGate)
	m.Attention.QKVBias = b.flagOr("qkv_bias", f.qkvBias)
	m.MLPBias = b.flagOr("mlp_bias", f.mlpBias)
	m.Attention.QKNorm = b.flagOr("qk_norm", f.qkNorm)
	m.PositionEmbedding = decodePosition(b.child("position_embedding"), or(f.position, "rope"))
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func decodePosition(b *block, kind string) job.PositionEmbedding {
	p := job.PositionEmbedding{Kind: b.labelOr(kind)}
	if p.Kind != "rope" {
		return p
	}
	p.Theta, p.Partial = b.number("theta"), b.number("partial")
	if s := b.find("scaling"); s != nil {
		p.Scaling = &job.RopeScaling{
			Type: s.text("type"), Factor: s.number("factor"), OriginalLength: s.count("original_length"),
			LowFrequencyFactor: s.number("low_frequency_factor"), HighFrequencyFactor: s.number("high_frequency_factor"),
			BetaFast: s.number("beta_fast"), BetaSlow: s.number("beta_slow"),
			MScale: s.number("mscale"), MScaleAllDim: s.number("mscale_all_dim"), Untruncated: !s.flag("truncate"),
		}
	}
	return p
}

func decodeModelParts(b *block, m *job.Model) {
	if w := b.find("sliding_window"); w != nil {
		m.Attention.SlidingWindow = job.SlidingWindow{Size: w.count("size"), Pattern: w.count("pattern")}
	}
	if a := b.find("mla"); a != nil {
		m.Attention.MLA = &job.MLA{
			QLoraRank: a.count("q_lora_rank"), KVLoraRank: a.count("kv_lora_rank"),
			QKNopeHeadDim: a.count("qk_nope_head_dim"), QKRopeHeadDim: a.count("qk_rope_head_dim"), VHeadDim: a.count("v_head_dim"),
		}
	}
	if a := b.find("mamba"); a != nil {
		m.Mamba = &job.Mamba{Heads: a.count("heads"), HeadDim: a.count("head_dim"), StateDim: a.count("state_dim"), Groups: a.count("groups"), ConvKernel: a.count("conv_kernel")}
	}
	if a := b.find("delta_net"); a != nil {
		m.DeltaNet = &job.DeltaNet{
			KeyHeads: a.count("key_heads"), ValueHeads: a.count("value_heads"), KeyHeadDim: a.count("key_head_dim"), ValueHeadDim: a.count("value_head_dim"),
			ConvKernel: a.count("conv_kernel"),
		}
	}
	if e := b.find("moe"); e != nil {
		m.MoE = decodeMoE(e)
	}
	m.Published = b.vars("published")
	for _, by := range b.all("built_by") {
		m.BuiltBy = append(m.BuiltBy, job.BuiltBy{Backend: by.label, Versions: by.text("versions"), Reason: by.text("reason")})
	}
}

func decodeMoE(b *block) *job.MoE {
	m := &job.MoE{
		Experts: b.count("experts"), TopK: b.count("top_k"), ExpertFFNHiddenSize: b.count("expert_ffn_hidden_size"),
		SharedExperts: b.count("shared_experts"), SharedExpertGate: b.flag("shared_expert_gate"), LatentSize: b.count("latent_size"), FirstDenseLayers: b.count("first_dense_layers"), LayerFrequency: b.count("layer_frequency"),
		TokenDrop: b.flag("token_drop"), CapacityFactor: b.number("capacity_factor"), LoadImbalance: b.number("load_imbalance"),
	}
	m.SharedExpertFFNHiddenSize = b.countOr("shared_expert_ffn_hidden_size", m.SharedExperts*m.ExpertFFNHiddenSize)
	r := b.child("router")
	m.Router = job.Router{
		Score: r.text("score"), Balance: r.text("balance"), ZLossCoefficient: r.number("z_loss_coefficient"),
		Groups: r.count("groups"), GroupTopK: r.count("group_top_k"), ScalingFactor: r.number("scaling_factor"),
		Normalize: r.flag("normalize"), PreSoftmax: r.flag("pre_softmax"), DType: r.text("dtype"), Bias: r.flag("bias"),
	}
	aux, bias := 0.0, 0.0
	switch m.Router.Balance {
	case "aux_loss", "sequence_aux_loss", "global_aux_loss":
		aux = 0.01
	case "bias":
		bias = 0.001
	}
	m.Router.AuxCoefficient = r.numberOr("aux_coefficient", aux)
	m.Router.BiasUpdateRate = r.numberOr("bias_update_rate", bias)
	return m
}

// decodeDerived settles the sizes that follow from others.
func decodeDerived(b *block, m *job.Model) {
	m.Attention.KVHeads = b.countOr("kv_heads", m.Attention.Heads)
	headDim := 0
	if m.Attention.Heads > 0 {
		headDim = m.HiddenSize / m.Attention.Heads
	}
	if m.Attention.MLA != nil {
		headDim = m.Attention.MLA.QKNopeHeadDim + m.Attention.MLA.QKRopeHeadDim
	}
	m.Attention.HeadDim = b.countOr("head_dim", headDim)
	ffn := 0
	if m.MoE != nil && !hasDenseLayers(m) {
		ffn = m.MoE.ExpertFFNHiddenSize
	}
	m.FFNHiddenSize = b.countOr("ffn_hidden_size", ffn)
	m.MaxPositions = b.countOr("max_positions", m.SequenceLength)
}

func hasDenseLayers(m *job.Model) bool {
	if m.LayerPattern != "" {
		return strings.ContainsRune(m.LayerPattern+m.MTP.LayerPattern, job.MLPBlock)
	}
	return m.MoE == nil || m.MoE.FirstDenseLayers > 0 || m.MoE.LayerFrequency > 1
}
