package deepspeed

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// modelChecker collects what transformers cannot build.
type modelChecker struct {
	job   *job.Job
	model *job.Model
	diags *diag.List
}

// refuse reports an argument of the model block.
func (c *modelChecker) refuse(wrong bool, argument, why string) {
	if wrong {
		c.diags.Error(UnsupportedModel, c.job.Sources.Range("model."+argument), "Model not available in transformers", why)
	}
}

// checkModel finds the class for the model and reports what it lacks; the
// result is never nil.
func checkModel(j *job.Job, r release, diags *diag.List) *family {
	m := &j.Model
	f := familyOf(m)
	if f == nil {
		diags.Error(UnsupportedModel, j.Sources.Range("model.architecture"), "Model not available in transformers",
			fmt.Sprintf("ndc knows no class of transformers for architecture %q; it has %s.", m.Architecture, strings.Join(architectures(), ", ")))
		return &family{}
	}
	c := &modelChecker{j, m, diags}
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
	c.refuse(!slices.Contains(f.activations, m.Activation), "activation",
		fmt.Sprintf("The %s class of transformers has activation %s, not %q. Megatron-LM builds other combinations.", class, strings.Join(f.activations, ", "), m.Activation))
	c.refuse(m.Normalization != f.normalization, "normalization",
		fmt.Sprintf("The %s class of transformers has %s, not %q. Megatron-LM builds other combinations.", class, f.normalization, m.Normalization))
	c.refuse(m.PositionEmbedding.Kind != f.positions, "position_embedding",
		fmt.Sprintf("The %s class of transformers has %s positions, not %q. Megatron-LM builds other combinations.", class, f.positions, m.PositionEmbedding.Kind))
	partial := m.PositionEmbedding.Partial != 0 && m.PositionEmbedding.Partial != 1
	c.refuse(partial && class != "gpt_neox" && class != "glm4_moe", "position_embedding.partial",
		fmt.Sprintf("The %s class of transformers rotates whole heads. Architecture \"glm4_moe\", and \"gpt\" with rope, rotate a part; Megatron-LM does for any.", class))
	c.refuse(m.Dropout > 0 && !f.dropout, "dropout",
		fmt.Sprintf("The %s class of transformers drops attention weights only, not hidden activations. Megatron-LM drops both. Set dropout = 0.", class))
	c.refuse(m.MTPLayers > 0, "mtp_layers",
		"transformers builds no multi-token-prediction layers. Megatron-LM does. Set mtp_layers = 0.")
	c.refuse((m.MoE != nil) != (f.leafModules != nil), "moe",
		fmt.Sprintf("The %s class of transformers is %s.", class, map[bool]string{true: "a mixture of experts and needs a moe block", false: "dense: use architecture \"mixtral\", \"qwen3_moe\" or \"glm4_moe\" for experts"}[f.leafModules != nil]))
	c.refuse((m.MLA != nil) != (f.modelType == "deepseek_v3"), "mla", "In transformers, latent attention belongs to architecture \"deepseek_v3\", and to it alone. Megatron-LM has it for any.")
	biased := f.modelType == "gpt2" || f.modelType == "gpt_neox" || f.modelType == "gpt_oss"
	c.refuse(m.MLPBias != biased && f.modelType != "llama", "mlp_bias",
		fmt.Sprintf("The MLP of the %s class of transformers has biases: %t.", class, biased))
}

func (c *modelChecker) checkAttention(f *family) {
	m := c.model
	class := f.modelType
	c.refuse(m.QKNorm && !f.qkNorm && !f.qkNormChoice, "qk_norm", fmt.Sprintf("The %s class of transformers has no norms on queries and keys. Architecture \"qwen3\" has them here, Megatron-LM and TorchTitan for any.", class))
	c.refuse(!m.QKNorm && f.qkNorm, "qk_norm", fmt.Sprintf("The %s class of transformers always has norms on queries and keys. Megatron-LM and TorchTitan have the choice.", class))
	c.checkBiases(f)
	multiHead := class == "gpt2" || class == "gpt_neox"
	c.refuse(multiHead && m.KVHeads != m.AttentionHeads, "kv_heads", fmt.Sprintf("The %s class of transformers has as many key-value heads as heads.", class))
	c.refuse(multiHead && m.HeadDim*m.AttentionHeads != m.HiddenSize, "head_dim", fmt.Sprintf("In the %s class of transformers the heads share the hidden size: %d × %d is not %d.", class, m.AttentionHeads, m.HeadDim, m.HiddenSize))
	c.refuse((class == "llama" || class == "gemma2") && m.HiddenSize%m.AttentionHeads != 0, "attention_heads",
		fmt.Sprintf("The %s class of transformers demands a hidden size that is a multiple of the heads: %d %% %d is not 0.", class, m.HiddenSize, m.AttentionHeads))
	windows := class == "mistral" || class == "gemma2" || class == "gpt_oss"
	c.refuse(m.SlidingWindow.Size > 0 && !windows, "sliding_window", fmt.Sprintf("ndc builds the %s class of transformers without a sliding window. gpt_oss, gemma2 and llama have one; Megatron-LM has it for any.", class))
	c.refuse(class == "mistral" && m.SlidingWindow.Pattern > 0, "sliding_window.pattern", "The mistral class of transformers has the window in every layer. Megatron-LM skips layers.")
	c.refuse(m.AttentionSinks != (class == "gpt_oss"), "attention_sinks", "In transformers, attention sinks belong to architecture \"gpt_oss\", and to it alone. Megatron-LM has them for any.")
	c.refuse((m.AttentionSoftcap != 0 || m.FinalSoftcap != 0) && class != "gemma2", "attention_logit_softcap", "In transformers, soft-caps belong to architecture \"gemma2\"; no other backend has them.")
	c.refuse(m.AttentionScale != 0 && class != "gemma2", "attention_scale", "In transformers, only gemma2 has a softmax scale of its own; no other backend has one.")
}

// checkBiases reports biases of attention that the class has and the model has
// not, or the other way round.
func (c *modelChecker) checkBiases(f *family) {
	m := c.model
	argument := "attention_bias"
	if m.QKVBias {
		argument = "qkv_bias"
	}
	var has string
	switch {
	case f.biases == biasesAllOrNone && m.QKVBias:
		has = "on query, key, value and output or on none (attention_bias). Architectures \"qwen2\" and, for experts, \"glm4_moe\" have them on query, key and value alone; Megatron-LM has them for any, TorchTitan 0.3.0 for dense models and those with experts"
	case f.biases == biasesAll && !m.AttentionBias:
		has = "on query, key, value and output, always: set attention_bias = true"
	case f.biases == biasesNever && m.BiasesQKV():
		has = "on none. Megatron-LM has the choice"
	case f.biases == biasesQKV && !m.QKVBias:
		has = "on query, key and value, always, and never on the output: set qkv_bias = true and attention_bias = false, or take architecture \"llama\""
	case f.biases == biasesQKVOrNone && m.AttentionBias:
		has = "on query, key and value or on none, never on the output: set qkv_bias in place of attention_bias"
	}
	c.refuse(has != "", argument, fmt.Sprintf("The attention of the %s class of transformers has biases %s.", f.modelType, has))
}

// checkSpecial reports what belongs to Gemma and gpt_oss alone.
func (c *modelChecker) checkSpecial() {
	m := c.model
	gemma := m.Architecture == "gemma2"
	c.refuse(m.PostNorms != gemma, "post_norms", "In transformers, norms after the blocks belong to architecture \"gemma2\", and to it alone; no other backend has them.")
	c.refuse(m.ZeroCenteredNorm != gemma, "zero_centered_norm", "In transformers, zero-centred norms belong to architecture \"gemma2\", and to it alone. Megatron-LM has them for any.")
	c.refuse(gemma && math.Abs(m.EmbeddingScale/math.Sqrt(float64(m.HiddenSize))-1) > 1e-6, "embedding_scale",
		fmt.Sprintf("The gemma2 class of transformers scales embeddings by the square root of the hidden size, whatever is asked: set embedding_scale = pow(%d, 0.5).", m.HiddenSize))
	c.refuse(gemma && m.AttentionScale != 0 && math.Abs(math.Pow(m.AttentionScale, -2)-float64(queryScalar(m))) > 1e-3, "attention_scale",
		fmt.Sprintf("The gemma2 class of transformers takes the inverse square root of a whole number: %g is nearest to pow(%d, -0.5).", m.AttentionScale, queryScalar(m)))
	c.refuse(!gemma && m.EmbeddingScale != 0 && m.EmbeddingScale != 1, "embedding_scale", "In transformers, a scaled embedding belongs to architecture \"gemma2\"; no other backend has one.")
	oss := m.Architecture == "gpt_oss"
	c.refuse(!oss && (m.ActivationClamp != 0 || m.ActivationOffset != 0 || m.ActivationAlpha != 0 && m.ActivationAlpha != 1), "activation_clamp",
		"In transformers, the clamped SwiGLU belongs to architecture \"gpt_oss\". Megatron-LM has it for any.")
	c.refuse(oss && (m.ActivationAlpha != 1.702 || m.ActivationOffset != 1 || m.ActivationClamp != 7), "activation_alpha",
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
	c.refuse(r.Score != score, "moe.router.score", fmt.Sprintf("The router of the %s class of transformers scores by %s, not %q. Megatron-LM has both.", class, score, r.Score))
	c.refuse(r.Balance == "bias", "moe.router.balance", "transformers does not update the router's correction bias while training. Megatron-LM and TorchTitan do. Use balance = \"none\" here, or one of them.")
	c.refuse((r.Balance == "aux_loss" || r.Balance == "sequence_aux_loss" || r.ZLossCoefficient > 0) && !f.auxLoss, "moe.router.balance",
		fmt.Sprintf("The %s class of transformers does not return the router's logits, which the balancing loss needs. Megatron-LM and TorchTitan have it. Use balance = \"none\" here, or one of them.", class))
	c.refuse(e.TokenDrop, "moe.token_drop", "The experts of transformers drop no tokens. Megatron-LM has a capacity.")
	c.refuse(e.SharedExperts > 0 && !sigmoid, "moe.shared_experts", fmt.Sprintf("The %s class of transformers has no shared experts; deepseek_v3 and glm4_moe have, and so have Megatron-LM and TorchTitan.", class))
	c.refuse(e.SharedExperts > 0 && e.SharedExpertFFNHiddenSize != e.SharedExperts*e.ExpertFFNHiddenSize, "moe.shared_expert_ffn_hidden_size",
		fmt.Sprintf("In transformers, shared experts are as wide as the routed ones: %d, not %d.", e.SharedExperts*e.ExpertFFNHiddenSize, e.SharedExpertFFNHiddenSize))
	allMoE := class == "mixtral" || class == "gpt_oss"
	c.refuse(allMoE && (e.FirstDenseLayers > 0 || e.LayerFrequency > 1), "moe.first_dense_layers", fmt.Sprintf("In the %s class of transformers every layer is a mixture of experts. Megatron-LM can mix in dense layers.", class))
	c.refuse(sigmoid && e.LayerFrequency > 1, "moe.layer_frequency", "In the "+class+" class of transformers every layer after the dense ones is a mixture of experts. Megatron-LM can mix in dense layers.")
	c.refuse(allMoE && !normalizes(r), "moe.router.normalize", fmt.Sprintf("The router of the %s class of transformers normalises the weights of the chosen experts.", class))
	c.refuse(r.Groups > 1 && !sigmoid, "moe.router.groups", "In transformers, expert groups belong to architectures \"deepseek_v3\" and \"glm4_moe\". Megatron-LM and TorchTitan have them for any.")
	c.refuse(r.ScalingFactor != 0 && r.ScalingFactor != 1 && !sigmoid, "moe.router.scaling_factor", "In transformers, a factor on the experts' weights belongs to architectures \"deepseek_v3\" and \"glm4_moe\". Megatron-LM and TorchTitan have it for any.")
	c.refuse(r.Bias != (class == "gpt_oss"), "moe.router.bias", "In transformers, a bias of the router's linear layer belongs to architecture \"gpt_oss\", and to it alone.")
	if r.DType != "" && r.DType != f.routerDType {
		c.diags.Warn(RouterPrecision, c.job.Sources.Range("model.moe.router.dtype"), "Router in another precision",
			fmt.Sprintf("The %s class of transformers multiplies with the router in %s, not in %s as specified; its softmax is in fp32.", class, f.routerDType, r.DType))
	}
}
