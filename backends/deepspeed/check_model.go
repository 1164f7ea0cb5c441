package deepspeed

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends/capability"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// modelChecker collects what transformers cannot build.
type modelChecker struct {
	refusals
	model *job.Model
}

// lacks reports what the classes of transformers do not have. Who has it beside latent
// attention is told by name, where these are others than those who have it.
func (c *modelChecker) lacks(wrong bool, f capability.Feature, why string, instead ...string) {
	if both := f.Beside("model.mla"); wrong && both != f && c.model.Attention.MLA != nil {
		c.refuse(true, f.Argument(), strings.Join(append([]string{why, capability.Offers(both)}, instead...), " "))
		return
	}
	c.refusals.lacks(wrong, f, why, instead...)
}

// checkModel finds the class for the model and reports what it lacks; the
// result is never nil.
func checkModel(j *job.Job, diags *diag.List) *family {
	m := &j.Model
	f := familyOf(m)
	if f == nil {
		why := fmt.Sprintf("ndc knows no class of transformers for architecture %q; it has %s.", m.Architecture, strings.Join(architectures(), ", "))
		if m.LayerPattern != "" {
			why += " " + capability.Offers("model.layer_pattern")
		}
		diags.Error(UnsupportedModel, j.Sources.Range("model.architecture"), "Model not available in transformers", why)
		return &family{}
	}
	c := &modelChecker{refusals{j, diags, UnsupportedModel, "Model not available in transformers"}, m}
	c.checkCommon(f)
	c.checkAttention(f)
	c.checkSpecial()
	if m.MoE != nil {
		c.checkMoE(f)
	}
	return f
}

func architectures() []string {
	return []string{"gpt", "llama", "mixtral", "deepseek_v3", "qwen2", "qwen3", "qwen3_moe", "glm4_moe", "gpt_oss", "gemma2"}
}

func (c *modelChecker) checkCommon(f *family) {
	m := c.model
	class := f.modelType
	c.lacks(!slices.Contains(f.activations, m.Activation.Kind), capability.Of("model.activation", m.Activation.Kind),
		fmt.Sprintf("The %s class of transformers has activation %s, not %q.", class, strings.Join(f.activations, ", "), m.Activation.Kind))
	c.lacks(m.Norm.Kind != f.normalization, capability.Of("model.normalization", m.Norm.Kind),
		fmt.Sprintf("The %s class of transformers has %s, not %q.", class, f.normalization, m.Norm.Kind))
	c.lacks(m.PositionEmbedding.Kind != f.positions, capability.Of("model.position_embedding", m.PositionEmbedding.Kind),
		fmt.Sprintf("The %s class of transformers has %s positions, not %q.", class, f.positions, m.PositionEmbedding.Kind))
	partial := m.PositionEmbedding.Partial != 0 && m.PositionEmbedding.Partial != 1
	c.lacks(partial && class != "gpt_neox" && class != "glm4_moe", "model.position_embedding.partial",
		fmt.Sprintf("The %s class of transformers rotates whole heads, not a part of each.", class))
	c.lacks(m.Dropout > 0 && !f.dropout, "model.dropout",
		fmt.Sprintf("The %s class of transformers drops attention weights only, not hidden activations as well.", class), "Or set dropout = 0.")
	c.lacks(m.LayerPattern != "", "model.layer_pattern", "ndc builds no hybrid models from transformers.")
	c.lacks(m.Attention.Gate, "model.attention_output_gate", "The classes of transformers that ndc builds have no gate on the output of attention.")
	c.lacks(m.MoE != nil && m.MoE.SharedExpertGate, "model.moe.shared_expert_gate", "The classes of transformers that ndc builds have no gate on shared experts.")
	c.lacks(m.MoE != nil && m.MoE.LatentSize > 0, "model.moe.latent_size", "The classes of transformers that ndc builds have no experts of a narrower width.")
	c.lacks(m.MTP.Layers > 0, "model.mtp_layers",
		"transformers builds no layers for multi-token prediction.", "Or set mtp_layers = 0.")
	c.refuse((m.MoE != nil) != (f.leafModules != nil), "model.moe",
		fmt.Sprintf("The %s class of transformers is %s.", class, map[bool]string{true: "a mixture of experts and needs a moe block", false: "dense: use architecture \"mixtral\", \"qwen3_moe\" or \"glm4_moe\" for experts"}[f.leafModules != nil]))
	c.belongs(m.Attention.MLA != nil, class == "deepseek_v3", "model.mla", "latent attention", "deepseek_v3")
	biased := class == "gpt2" || class == "gpt_neox" || class == "gpt_oss"
	c.refuse(biased && !m.MLPBias, "model.mlp_bias", fmt.Sprintf("The MLP of the %s class of transformers has biases, always: set mlp_bias = true.", class))
	biases := capability.Feature("model.mlp_bias")
	if !m.Attention.Bias {
		biases = "model.mlp_bias without attention_bias"
	}
	c.lacks(!biased && m.MLPBias && class != "llama", biases, fmt.Sprintf("The MLP of the %s class of transformers has no biases.", class))
}

// belongs reports a part that one class always has and no other ever: one that
// is asked of another class, or that is missing in its own.
func (c *modelChecker) belongs(asked, here bool, f capability.Feature, part, architecture string) {
	c.lacks(asked && !here, f, fmt.Sprintf("In transformers, %s belongs to architecture %q alone.", part, architecture))
	c.refuse(!asked && here, f.Argument(), fmt.Sprintf("In transformers, architecture %q always has %s. Say so in the model, or take another architecture.", architecture, part))
}

func (c *modelChecker) checkAttention(f *family) {
	m := c.model
	class := f.modelType
	norms := capability.Feature("model.qk_norm")
	if m.Attention.Sinks {
		norms = norms.Beside("model.attention_sinks")
	}
	c.lacks(m.Attention.QKNorm && !f.qkNorm && !f.qkNormChoice, norms, fmt.Sprintf("The %s class of transformers has no norms on queries and keys.", class))
	c.lacks(!m.Attention.QKNorm && f.qkNorm, "model.qk_norm=false", fmt.Sprintf("The %s class of transformers always has norms on queries and keys and cannot do without.", class))
	c.checkBiases(f)
	multiHead := class == "gpt2" || class == "gpt_neox"
	c.refuse(multiHead && m.Attention.KVHeads != m.Attention.Heads, "model.kv_heads", fmt.Sprintf("The %s class of transformers has as many key-value heads as heads.", class))
	c.refuse(multiHead && m.Attention.HeadDim*m.Attention.Heads != m.HiddenSize, "model.head_dim", fmt.Sprintf("In the %s class of transformers the heads share the hidden size: %d × %d is not %d.", class, m.Attention.Heads, m.Attention.HeadDim, m.HiddenSize))
	c.refuse((class == "llama" || class == "gemma2") && m.HiddenSize%m.Attention.Heads != 0, "model.attention_heads",
		fmt.Sprintf("The %s class of transformers demands a hidden size that is a multiple of the heads: %d %% %d is not 0.", class, m.HiddenSize, m.Attention.Heads))
	windows := class == "mistral" || class == "gemma2" || class == "gpt_oss"
	c.lacks(m.Attention.SlidingWindow.Size > 0 && !windows, "model.sliding_window", fmt.Sprintf("ndc builds the %s class of transformers without a sliding window.", class))
	c.lacks(class == "mistral" && m.Attention.SlidingWindow.Pattern > 0, "model.sliding_window.pattern", "The mistral class of transformers has the window in every layer, not in some.")
	c.belongs(m.Attention.Sinks, class == "gpt_oss", "model.attention_sinks", "attention with sinks", "gpt_oss")
	c.lacks(m.Attention.Softcap != 0 && class != "gemma2", "model.attention_logit_softcap", fmt.Sprintf("The %s class of transformers has no soft cap on attention logits.", class))
	c.lacks(m.FinalSoftcap != 0 && class != "gemma2", "model.final_logit_softcap", fmt.Sprintf("The %s class of transformers has no soft cap on the final logits.", class))
	c.lacks(m.Attention.Scale != 0 && class != "gemma2", "model.attention_scale", fmt.Sprintf("The %s class of transformers has no softmax scale of its own.", class))
}

// checkBiases reports biases of attention that the class has and the model has
// not, or the other way round.
func (c *modelChecker) checkBiases(f *family) {
	m := c.model
	report := func(feature capability.Feature, has string) {
		c.lacks(true, feature, fmt.Sprintf("The attention of the %s class of transformers has biases %s.", f.modelType, has))
	}
	refuse := func(argument, has string) {
		c.refuse(true, argument, fmt.Sprintf("The attention of the %s class of transformers has biases %s.", f.modelType, has))
	}
	switch {
	case f.biases == biasesAllOrNone && m.Attention.QKVBias:
		report("model.qkv_bias", "on query, key, value and output or on none (attention_bias), not on the first three alone")
	case f.biases == biasesAll && m.Attention.QKVBias:
		refuse("model.qkv_bias", "on query, key, value and output, always: set attention_bias = true in place of qkv_bias")
	case f.biases == biasesAll && !m.Attention.Bias:
		refuse("model.attention_bias", "on query, key, value and output, always: set attention_bias = true")
	case f.biases == biasesNever && m.Attention.QKVBias:
		report("model.qkv_bias", "on none")
	case f.biases == biasesNever && m.Attention.Bias && m.MLPBias:
		report("model.attention_bias", "on none")
	case f.biases == biasesNever && m.Attention.Bias:
		report("model.attention_bias without mlp_bias", "on none")
	case f.biases == biasesQKV && !m.Attention.QKVBias:
		refuse("model.attention_bias", "on query, key and value, always, and never on the output: set qkv_bias = true and attention_bias = false, or take architecture \"llama\"")
	case f.biases == biasesQKVOrNone && m.Attention.Bias:
		refuse("model.attention_bias", "on query, key and value or on none, never on the output: set qkv_bias in place of attention_bias")
	}
}

// checkSpecial reports what belongs to Gemma and gpt_oss alone.
func (c *modelChecker) checkSpecial() {
	m := c.model
	gemma := m.Architecture == "gemma2"
	c.belongs(m.Norm.Post, gemma, "model.post_norms", "a norm after attention and after the MLP", "gemma2")
	c.belongs(m.Norm.ZeroCentered, gemma, "model.zero_centered_norm", "the zero-centred norm", "gemma2")
	c.lacks(!gemma && m.EmbeddingScale != 0 && m.EmbeddingScale != 1, "model.embedding_scale", "In transformers, a scaled embedding belongs to architecture \"gemma2\" alone.")
	c.refuse(gemma && math.Abs(m.EmbeddingScale/math.Sqrt(float64(m.HiddenSize))-1) > 1e-6, "model.embedding_scale",
		fmt.Sprintf("The gemma2 class of transformers scales embeddings by the square root of the hidden size, whatever is asked: set embedding_scale = pow(%d, 0.5).", m.HiddenSize))
	c.refuse(gemma && m.Attention.Scale != 0 && math.Abs(math.Pow(m.Attention.Scale, -2)-float64(queryScalar(m))) > 1e-3, "model.attention_scale",
		fmt.Sprintf("The gemma2 class of transformers takes the inverse square root of a whole number: %g is nearest to pow(%d, -0.5).", m.Attention.Scale, queryScalar(m)))
	oss := m.Architecture == "gpt_oss"
	const clamped = "In transformers, the clamped SwiGLU with its slope and offset belongs to architecture \"gpt_oss\" alone."
	slope := m.Activation.Alpha != 0 && m.Activation.Alpha != 1
	switch {
	case oss:
	case m.Activation.Clamp != 0:
		c.lacks(true, "model.activation_clamp", clamped)
	case m.Activation.Offset != 0:
		c.lacks(true, "model.activation_offset", clamped)
	default:
		c.lacks(slope, capability.Of("model.activation_alpha", m.Activation.Alpha), clamped)
	}
	c.refuse(oss && (m.Activation.Alpha != 1.702 || m.Activation.Offset != 1 || m.Activation.Clamp != 7), "model.activation_alpha",
		"The gpt_oss class of transformers has alpha 1.702, offset 1 and a clamp of 7 written into its code.")
}

func (c *modelChecker) checkMoE(f *family) {
	e, class := c.model.MoE, f.modelType
	r := &e.Router
	score := "softmax"
	sigmoid := class == "deepseek_v3" || class == "glm4_moe" // which have the same experts and router
	if sigmoid {
		score = "sigmoid"
	}
	c.lacks(r.Score != score, capability.Of("model.moe.router.score", r.Score), fmt.Sprintf("The router of the %s class of transformers scores by %s, not %q.", class, score, r.Score))
	c.lacks(r.Balance == "bias", "model.moe.router.balance=bias", "transformers does not update the router's correction bias while training.", "Or use balance = \"none\".")
	c.lacks(r.Balance == "global_aux_loss", "model.moe.router.balance=global_aux_loss", "What ndc emits for DeepSpeed takes the balancing loss of each micro-batch or sequence, not of the whole batch.", "Or use balance = \"aux_loss\".")
	c.lacks((r.Balance == "aux_loss" || r.Balance == "sequence_aux_loss" || r.ZLossCoefficient > 0) && !f.auxLoss, "model.moe.router.balance=aux_loss",
		fmt.Sprintf("The %s class of transformers does not return the router's logits, without which there is no balancing loss.", class), "Or use balance = \"none\".")
	c.lacks(e.TokenDrop, "model.moe.token_drop", "The experts of transformers have no capacity and drop no tokens.")
	c.lacks(e.SharedExperts > 0 && !sigmoid, "model.moe.shared_experts", fmt.Sprintf("The %s class of transformers has no shared experts.", class))
	c.lacks(e.SharedExperts > 0 && e.SharedExpertFFNHiddenSize != e.SharedExperts*e.ExpertFFNHiddenSize, "model.moe.shared_expert_ffn_hidden_size",
		fmt.Sprintf("In transformers, shared experts are as wide as the routed ones: %d, not %d.", e.SharedExperts*e.ExpertFFNHiddenSize, e.SharedExpertFFNHiddenSize))
	allMoE := class == "mixtral" || class == "gpt_oss"
	c.lacks(allMoE && e.FirstDenseLayers > 0, "model.moe.first_dense_layers", fmt.Sprintf("In the %s class of transformers every layer is a mixture of experts, none is dense.", class))
	c.lacks((allMoE || sigmoid) && e.LayerFrequency > 1, "model.moe.layer_frequency", fmt.Sprintf("In the %s class of transformers every layer after the first dense ones is a mixture of experts, not every n-th.", class))
	c.lacks(allMoE && !normalizes(r), "model.moe.router.normalize=false with softmax", fmt.Sprintf("The router of the %s class of transformers always normalises the weights of the chosen experts.", class))
	c.lacks(r.Groups > 1 && !sigmoid, "model.moe.router.groups", fmt.Sprintf("The router of the %s class of transformers knows no groups of experts.", class))
	c.refuse(r.Groups > 1 && sigmoid && e.Experts/r.Groups < 2, "model.moe.router.groups", // route_tokens_to_experts
		fmt.Sprintf("The %s class of transformers chooses groups by their best two experts, and stops at groups of one. Without groups, a token uses the same experts.", class))
	c.lacks(r.ScalingFactor != 0 && r.ScalingFactor != 1 && !sigmoid, "model.moe.router.scaling_factor", fmt.Sprintf("The router of the %s class of transformers has no factor on the experts' weights.", class))
	c.belongs(r.Bias, class == "gpt_oss", "model.moe.router.bias", "a bias of the router's linear layer", "gpt_oss")
	dtype := f.routerDType
	if dtype == "" {
		dtype = c.job.Training.Precision
	}
	if r.DType != "" && r.DType != dtype {
		c.diags.Warn(RouterPrecision, c.job.Sources.Range("model.moe.router.dtype"), "Router in another precision",
			fmt.Sprintf("The %s class of transformers multiplies with the router in %s, not in %s as specified; its softmax is in fp32.", class, dtype, r.DType))
	}
}
