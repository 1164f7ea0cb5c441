package deepspeed

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/lang/job"
)

// The functions below write config.json of transformers for one family each,
// with every value that the class would otherwise default (transformers
// src/transformers/models/*/configuration_*.py). The rope keys are those of
// transformers 4, which 5 converts.

// common holds what all classes but GPT-2 spell alike.
func common(m *job.Model, architecture string, f *family) render.Object {
	return render.Object{
		{Key: "architectures", Value: []string{architecture}},
		{Key: "model_type", Value: f.modelType},
		{Key: "vocab_size", Value: m.Vocabulary()},
		{Key: "hidden_size", Value: m.HiddenSize},
		{Key: "intermediate_size", Value: m.FFNHiddenSize},
		{Key: "num_hidden_layers", Value: m.Layers},
		{Key: "num_attention_heads", Value: m.Attention.Heads},
		{Key: "num_key_value_heads", Value: m.Attention.KVHeads},
		{Key: "max_position_embeddings", Value: positions(m)},
		{Key: "initializer_range", Value: decimal(m.InitStd)},
		{Key: "tie_word_embeddings", Value: m.TiedEmbeddings},
		{Key: "attention_dropout", Value: decimal(m.Dropout)},
		{Key: "use_cache", Value: false},
		{Key: "bos_token_id", Value: nil},
		{Key: "eos_token_id", Value: nil},
		{Key: "pad_token_id", Value: nil},
	}
}

// positions is how many positions the model is built for.
func positions(m *job.Model) int { return max(m.MaxPositions, m.SequenceLength) }

// decoder is common with RMSNorm and rope.
func decoder(m *job.Model, architecture string, f *family) render.Object {
	return append(append(common(m, architecture, f),
		render.Member{Key: "rms_norm_eps", Value: decimal(m.Norm.Epsilon)}),
		rope(&m.PositionEmbedding)...)
}

// rope writes theta and scaling.
func rope(p *job.PositionEmbedding) render.Object {
	o := render.Object{{Key: "rope_theta", Value: decimal(p.Theta)}, {Key: "rope_scaling", Value: ropeScaling(p.Scaling)}}
	if p.Partial != 0 && p.Partial != 1 {
		o = append(o, render.Member{Key: "partial_rotary_factor", Value: decimal(p.Partial)})
	}
	return o
}

func ropeScaling(s *job.RopeScaling) any {
	if s == nil {
		return nil
	}
	o := render.Object{
		{Key: "rope_type", Value: s.Type},
		{Key: "factor", Value: decimal(s.Factor)},
	}
	switch s.Type {
	case "llama3":
		o = append(o,
			render.Member{Key: "original_max_position_embeddings", Value: s.OriginalLength},
			render.Member{Key: "low_freq_factor", Value: decimal(s.LowFrequencyFactor)},
			render.Member{Key: "high_freq_factor", Value: decimal(s.HighFrequencyFactor)})
	case "yarn":
		o = append(o,
			render.Member{Key: "original_max_position_embeddings", Value: s.OriginalLength},
			render.Member{Key: "beta_fast", Value: decimal(s.BetaFast)},
			render.Member{Key: "beta_slow", Value: decimal(s.BetaSlow)},
			render.Member{Key: "truncate", Value: !s.Untruncated})
		if s.MScale != 0 {
			o = append(o, render.Member{Key: "mscale", Value: decimal(s.MScale)}, render.Member{Key: "mscale_all_dim", Value: decimal(s.MScaleAllDim)})
			if s.MScaleAllDim == 0 && s.MScale != 1 { // without both, transformers takes 1 and 0 (modeling_rope_utils.py)
				o = append(o, render.Member{Key: "attention_factor", Value: 0.1*s.MScale*math.Log(s.Factor) + 1})
			}
		}
	}
	return o
}

func llamaConfig(m *job.Model, f *family) render.Object {
	return append(decoder(m, "LlamaForCausalLM", f), render.Object{
		{Key: "head_dim", Value: m.Attention.HeadDim},
		{Key: "hidden_act", Value: "silu"},
		{Key: "attention_bias", Value: m.Attention.Bias},
		{Key: "mlp_bias", Value: m.MLPBias},
	}...)
}

func mistralConfig(m *job.Model, f *family) render.Object {
	return append(decoder(m, "MistralForCausalLM", f), render.Object{
		{Key: "head_dim", Value: m.Attention.HeadDim},
		{Key: "hidden_act", Value: "silu"},
		{Key: "sliding_window", Value: m.Attention.SlidingWindow.Size},
	}...)
}

func qwen2Config(m *job.Model, f *family) render.Object {
	return append(decoder(m, "Qwen2ForCausalLM", f), render.Object{
		{Key: "head_dim", Value: m.Attention.HeadDim},
		{Key: "hidden_act", Value: "silu"},
		{Key: "use_sliding_window", Value: false},
		{Key: "sliding_window", Value: nil},
	}...)
}

func qwen3Config(m *job.Model, f *family) render.Object {
	return append(decoder(m, "Qwen3ForCausalLM", f), qwen3Attention(m)...)
}

func qwen3Attention(m *job.Model) render.Object {
	return render.Object{
		{Key: "head_dim", Value: m.Attention.HeadDim},
		{Key: "hidden_act", Value: "silu"},
		{Key: "attention_bias", Value: m.Attention.Bias},
		{Key: "use_sliding_window", Value: false},
		{Key: "sliding_window", Value: nil},
	}
}

func gemma2Config(m *job.Model, f *family) render.Object {
	return append(decoder(m, "Gemma2ForCausalLM", f), render.Object{
		{Key: "head_dim", Value: m.Attention.HeadDim},
		{Key: "hidden_activation", Value: "gelu_pytorch_tanh"},
		{Key: "attention_bias", Value: m.Attention.Bias},
		{Key: "query_pre_attn_scalar", Value: queryScalar(m)},
		{Key: "attn_logit_softcapping", Value: orNull(m.Attention.Softcap)},
		{Key: "final_logit_softcapping", Value: orNull(m.FinalSoftcap)},
		{Key: "sliding_window", Value: m.Attention.SlidingWindow.Size},
		{Key: "layer_types", Value: layerTypes(m)},
	}...)
}

// queryScalar is what transformers takes the inverse square root of to scale
// the softmax; its configuration holds it as a whole number.
func queryScalar(m *job.Model) int {
	if m.Attention.Scale == 0 {
		return m.Attention.HeadDim
	}
	return int(math.Round(1 / (m.Attention.Scale * m.Attention.Scale)))
}

func orNull(f float64) any {
	if f == 0 {
		return nil
	}
	return decimal(f)
}

// decimal writes a float with a point, as transformers 5 demands where a field
// is declared float: 10000.0, not 10000.
func decimal(f float64) json.Number {
	n := render.Number(f)
	if !strings.ContainsAny(n, ".e") {
		n += ".0"
	}
	return json.Number(n)
}

// layerTypes says per layer whether it attends to a window or to everything.
func layerTypes(m *job.Model) []string {
	types := make([]string, m.Layers)
	for i := range types {
		types[i] = "full_attention"
		if w := m.Attention.SlidingWindow; w.Size > 0 && (w.Pattern == 0 || i%w.Pattern != w.Pattern-1) {
			types[i] = "sliding_attention"
		}
	}
	return types
}

func gpt2Config(m *job.Model, f *family) render.Object {
	return render.Object{
		{Key: "architectures", Value: []string{"GPT2LMHeadModel"}},
		{Key: "model_type", Value: "gpt2"},
		{Key: "vocab_size", Value: m.Vocabulary()},
		{Key: "n_positions", Value: positions(m)},
		{Key: "n_embd", Value: m.HiddenSize},
		{Key: "n_inner", Value: m.FFNHiddenSize},
		{Key: "n_layer", Value: m.Layers},
		{Key: "n_head", Value: m.Attention.Heads},
		{Key: "activation_function", Value: "gelu"},
		{Key: "layer_norm_epsilon", Value: decimal(m.Norm.Epsilon)},
		{Key: "initializer_range", Value: decimal(m.InitStd)},
		{Key: "tie_word_embeddings", Value: m.TiedEmbeddings},
		{Key: "resid_pdrop", Value: decimal(m.Dropout)},
		{Key: "embd_pdrop", Value: decimal(m.Dropout)},
		{Key: "attn_pdrop", Value: decimal(m.Dropout)},
		{Key: "scale_attn_weights", Value: true},
		{Key: "scale_attn_by_inverse_layer_idx", Value: false},
		{Key: "reorder_and_upcast_attn", Value: false},
		{Key: "use_cache", Value: false},
		{Key: "bos_token_id", Value: nil},
		{Key: "eos_token_id", Value: nil},
	}
}

func gptNeoXConfig(m *job.Model, f *family) render.Object {
	partial := m.PositionEmbedding.Partial
	if partial == 0 {
		partial = 1
	}
	return append(common(m, "GPTNeoXForCausalLM", f), render.Object{
		{Key: "layer_norm_eps", Value: decimal(m.Norm.Epsilon)},
		{Key: "hidden_act", Value: "gelu"},
		{Key: "hidden_dropout", Value: decimal(m.Dropout)},
		{Key: "rotary_emb_base", Value: decimal(m.PositionEmbedding.Theta)},
		{Key: "rotary_pct", Value: decimal(partial)},
		{Key: "rope_scaling", Value: ropeScaling(m.PositionEmbedding.Scaling)},
		{Key: "attention_bias", Value: m.Attention.Bias},
		{Key: "use_parallel_residual", Value: false},
	}...)
}

func mixtralConfig(m *job.Model, f *family) render.Object {
	o := append(decoder(m, "MixtralForCausalLM", f), render.Object{
		{Key: "head_dim", Value: m.Attention.HeadDim},
		{Key: "hidden_act", Value: "silu"},
		{Key: "sliding_window", Value: nil},
		{Key: "num_local_experts", Value: m.MoE.Experts},
		{Key: "num_experts_per_tok", Value: m.MoE.TopK},
		{Key: "router_aux_loss_coef", Value: decimal(m.MoE.Router.AuxCoefficient)},
		{Key: "router_jitter_noise", Value: decimal(0.0)},
		{Key: "output_router_logits", Value: false},
	}...)
	return replace(o, "intermediate_size", m.MoE.ExpertFFNHiddenSize)
}

func qwen3MoEConfig(m *job.Model, f *family) render.Object {
	dense := []int{}
	for i := range m.Layers {
		if !m.IsMoELayer(i) {
			dense = append(dense, i)
		}
	}
	o := append(decoder(m, "Qwen3MoeForCausalLM", f), qwen3Attention(m)...)
	return append(o, render.Object{
		{Key: "moe_intermediate_size", Value: m.MoE.ExpertFFNHiddenSize},
		{Key: "num_experts", Value: m.MoE.Experts},
		{Key: "num_experts_per_tok", Value: m.MoE.TopK},
		{Key: "norm_topk_prob", Value: normalizes(&m.MoE.Router)},
		{Key: "decoder_sparse_step", Value: 1},
		{Key: "mlp_only_layers", Value: dense},
		{Key: "router_aux_loss_coef", Value: decimal(m.MoE.Router.AuxCoefficient)},
		{Key: "output_router_logits", Value: false},
	}...)
}

// normalizes reports whether the weights of the chosen experts sum to one:
// asked for, or because the softmax is taken over the chosen ones alone.
func normalizes(r *job.Router) bool { return r.Normalize || !r.PreSoftmax && r.Score == "softmax" }

func deepseekV3Config(m *job.Model, f *family) render.Object {
	var qRank any
	if m.Attention.MLA.QLoraRank > 0 {
		qRank = m.Attention.MLA.QLoraRank
	}
	o := append(decoder(m, "DeepseekV3ForCausalLM", f), render.Object{
		{Key: "hidden_act", Value: "silu"},
		{Key: "attention_bias", Value: m.Attention.Bias},
		{Key: "q_lora_rank", Value: qRank},
		{Key: "kv_lora_rank", Value: m.Attention.MLA.KVLoraRank},
		{Key: "qk_nope_head_dim", Value: m.Attention.MLA.QKNopeHeadDim},
		{Key: "qk_rope_head_dim", Value: m.Attention.MLA.QKRopeHeadDim},
		{Key: "v_head_dim", Value: m.Attention.MLA.VHeadDim},
		{Key: "rope_interleave", Value: true},
	}...)
	return append(o, groupedExperts(m.MoE)...)
}

func glm4MoEConfig(m *job.Model, f *family) render.Object {
	o := append(decoder(m, "Glm4MoeForCausalLM", f), render.Object{
		{Key: "head_dim", Value: m.Attention.HeadDim},
		{Key: "hidden_act", Value: "silu"},
		{Key: "attention_bias", Value: m.Attention.QKVBias},
		{Key: "use_qk_norm", Value: m.Attention.QKNorm},
	}...)
	if p := m.PositionEmbedding.Partial; p == 0 || p == 1 { // the class would turn half of a head
		o = append(o, render.Member{Key: "partial_rotary_factor", Value: decimal(1)})
	}
	return append(append(o, groupedExperts(m.MoE)...), render.Member{Key: "num_nextn_predict_layers", Value: 0})
}

// groupedExperts are the experts and the router of DeepSeek-V3, which GLM-4.5
// has taken over.
func groupedExperts(e *job.MoE) render.Object {
	return render.Object{
		{Key: "moe_intermediate_size", Value: e.ExpertFFNHiddenSize},
		{Key: "n_routed_experts", Value: e.Experts},
		{Key: "n_shared_experts", Value: e.SharedExperts},
		{Key: "num_experts_per_tok", Value: e.TopK},
		{Key: "first_k_dense_replace", Value: e.FirstDenseLayers},
		{Key: "n_group", Value: max(e.Router.Groups, 1)},
		{Key: "topk_group", Value: max(e.Router.GroupTopK, 1)},
		{Key: "norm_topk_prob", Value: e.Router.Normalize},
		{Key: "routed_scaling_factor", Value: decimal(orOne(e.Router.ScalingFactor))},
	}
}

func orOne(f float64) float64 {
	if f == 0 {
		return 1
	}
	return f
}

func gptOSSConfig(m *job.Model, f *family) render.Object {
	o := append(decoder(m, "GptOssForCausalLM", f), render.Object{
		{Key: "head_dim", Value: m.Attention.HeadDim},
		{Key: "hidden_act", Value: "silu"},
		{Key: "attention_bias", Value: m.Attention.Bias},
		{Key: "sliding_window", Value: m.Attention.SlidingWindow.Size},
		{Key: "layer_types", Value: layerTypes(m)},
		{Key: "num_local_experts", Value: m.MoE.Experts},
		{Key: "num_experts_per_tok", Value: m.MoE.TopK},
		{Key: "swiglu_limit", Value: decimal(m.Activation.Clamp)},
		{Key: "router_aux_loss_coef", Value: decimal(m.MoE.Router.AuxCoefficient)},
		{Key: "output_router_logits", Value: false},
	}...)
	if m.PositionEmbedding.Scaling == nil { // transformers 5 takes null for the YaRN of gpt-oss (configuration_gpt_oss.py)
		o = replace(o, "rope_scaling", render.Object{{Key: "rope_type", Value: "default"}})
	}
	return replace(o, "intermediate_size", m.MoE.ExpertFFNHiddenSize)
}

// replace changes the value of a key that is there.
func replace(o render.Object, key string, value any) render.Object {
	for i := range o {
		if o[i].Key == key {
			o[i].Value = value
			return o
		}
	}
	panic("deepspeed: no key " + key)
}
