package megatron

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// model adds the architecture without positions, attention and experts.
func (a *arguments) model() {
	m := &a.j.Model
	a.add("ndc: the layers that the plan counts", "--transformer-impl", "transformer_engine")
	if m.LayerPattern != "" {
		a.pattern(m)
	} else {
		a.integer(a.from("model.layers"), "--num-layers", m.Layers)
	}
	a.integer(a.from("model.hidden_size"), "--hidden-size", m.HiddenSize)
	if m.FFNHiddenSize > 0 {
		a.integer(a.from("model.ffn_hidden_size"), "--ffn-hidden-size", m.FFNHiddenSize)
	}
	a.integer(a.from("model.sequence_length"), "--seq-length", m.SequenceLength)
	a.integer(a.from("model.max_positions"), "--max-position-embeddings", max(m.MaxPositions, m.SequenceLength))
	a.integer("plan: vocabulary as built", "--padded-vocab-size", paddedVocab(m, a.p.Layout.TensorParallel))
	a.activation(m)
	a.norm(m)
	a.flag(a.from("model.mlp_bias"), "--disable-bias-linear", !m.MLPBias)
	a.flag(a.from("model.qkv_bias"), "--add-qkv-bias", m.Attention.QKVBias)
	a.flag(a.from("model.tied_embeddings"), "--untie-embeddings-and-output-weights", !m.TiedEmbeddings)
	a.number(a.from("model.dropout"), "--hidden-dropout", m.Dropout)
	a.number(a.from("model.dropout"), "--attention-dropout", m.Dropout)
	a.number(a.from("model.init_std"), "--init-method-std", m.InitStd)
	a.number(a.from("model.init_std"), "--embedding-init-method-std", m.InitStd)
	if m.MTP.Layers > 0 {
		a.integer(a.from("model.mtp_layers"), "--mtp-num-layers", m.MTP.Layers)
		a.number(a.from("model.mtp_loss_scale"), "--mtp-loss-scaling-factor", m.MTP.LossScale)
	}
}

// activation adds the activation function. Kernels that fuse it with its bias are on
// by default (mlp.py, moe/experts.py). That of swiglu leaves a clamp out without a word
// and refuses an offset. That of GELU needs the bias; experts have none for it, but one
// for the gate of gpt-oss, which a dense MLP does not have.
func (a *arguments) activation(m *job.Model) {
	from := a.from("model.activation")
	dense := m.MoE == nil || m.MoE.FirstDenseLayers > 0 || m.MoE.LayerFrequency > 1 || m.LayerPattern != "" || m.MoE.SharedExperts > 0
	switch {
	case m.Activation.Alpha == quickGELU:
		a.add(a.from("model.activation_alpha"), "--quick-geglu")
		a.flag("ndc: the fused kernel of a dense MLP is that of GELU", "--no-bias-gelu-fusion", dense)
	case m.Activation.Kind == "swiglu":
		a.add(from, "--swiglu")
		a.flag("ndc: the fused kernel neither clamps nor adds an offset", "--no-bias-swiglu-fusion", m.Activation.Clamp > 0 || m.Activation.Offset != 0)
	case m.Activation.Kind == "relu2":
		a.add(from, "--squared-relu")
		a.add("ndc: the fused kernel is that of GELU", "--no-bias-gelu-fusion")
	case m.Activation.Kind == "gelu":
		a.flag("ndc: the fused kernel needs a bias", "--no-bias-gelu-fusion", !m.MLPBias)
		a.flag("ndc: experts have no fused kernel of GELU", "--no-bias-gelu-fusion", m.MLPBias && m.MoE != nil)
	}
	if m.Activation.Clamp > 0 {
		a.number(a.from("model.activation_clamp"), "--activation-func-clamp-value", m.Activation.Clamp)
	}
	if m.Activation.Offset != 0 {
		a.number(a.from("model.activation_offset"), "--glu-linear-offset", m.Activation.Offset)
	}
}

func (a *arguments) norm(m *job.Model) {
	name := "LayerNorm"
	if m.Norm.Kind == "rmsnorm" {
		name = "RMSNorm"
	}
	a.add(a.from("model.normalization"), "--normalization", name)
	a.number(a.from("model.norm_epsilon"), "--norm-epsilon", m.Norm.Epsilon)
	a.flag(a.from("model.zero_centered_norm"), "--apply-layernorm-1p", m.Norm.ZeroCentered)
}

// positions adds the position embedding.
func (a *arguments) positions() {
	p := &a.j.Model.PositionEmbedding
	from := a.from("model.position_embedding")
	switch p.Kind {
	case "learned":
		a.add(from, "--position-embedding-type", "learned_absolute")
		return
	case "none":
		a.add(from, "--position-embedding-type", "none")
		return
	}
	kind := "rope"
	if usesYaRN(&a.j.Model) && a.j.Model.Attention.MLA == nil {
		kind = "yarn"
	}
	a.add(from, "--position-embedding-type", kind)
	a.integer(a.from("model.position_embedding.theta"), "--rotary-base", int(p.Theta))
	partial := p.Partial
	if partial == 0 {
		partial = 1
	}
	a.number(a.from("model.position_embedding.partial"), "--rotary-percent", partial)
	if a.j.Model.Attention.MLA != nil {
		a.latentRope(p.Scaling)
		return
	}
	a.scaling(p.Scaling)
}

// scaling stretches the rope of ordinary attention.
func (a *arguments) scaling(s *job.RopeScaling) {
	if s == nil {
		return
	}
	from := a.from("model.position_embedding.scaling")
	switch s.Type {
	case "llama3":
		a.add(from, "--use-rope-scaling")
		a.number(from+".factor", "--rope-scaling-factor", s.Factor)
	case "linear":
		a.integer(from+".factor", "--rotary-seq-len-interpolation-factor", int(s.Factor))
	case "yarn":
		a.number(from+".factor", "--rotary-scaling-factor", s.Factor)
		a.integer(from+".original_length", "--yarn-original-max-position-embeddings", s.OriginalLength)
		a.number(from+".beta_fast", "--yarn-beta-fast", s.BetaFast)
		a.number(from+".beta_slow", "--yarn-beta-slow", s.BetaSlow)
		a.number(from+".mscale", "--mscale", scaleOr(s.MScale, 1))
		a.number(from+".mscale_all_dim", "--mscale-all-dim", s.MScaleAllDim)
		if s.Untruncated {
			a.add(from+".untruncated", "--no-yarn-correction-range-round-to-int")
		} else {
			a.add(from+".untruncated", "--yarn-correction-range-round-to-int")
		}
		a.flag("ndc: the fused kernel of documents side by side leaves the attention temperature out", "--no-rope-fusion",
			a.j.Training.Data.DocumentMask && temperature(s) != 1)
	}
}

// temperature is what YaRN multiplies queries and keys by
// (_yarn_get_concentration_factor in yarn_rotary_pos_embedding.py). A fused kernel
// that does not know it gives way to plain torch, but not that of documents side by
// side (apply_rotary_pos_emb in rope_utils.py).
func temperature(s *job.RopeScaling) float64 {
	of := func(mscale float64) float64 { return 0.1*mscale*math.Log(math.Max(s.Factor, 1)) + 1 }
	return of(scaleOr(s.MScale, 1)) / of(s.MScaleAllDim)
}

// latentRope sets the rope of latent attention, where the fused kernel knows
// YaRN and widths that are powers of two only: it loads whole heads by tl.arange
// (megatron/core/fusions/fused_mla_yarn_rope_apply.py).
func (a *arguments) latentRope(s *job.RopeScaling) {
	from := a.from("model.position_embedding.scaling")
	if s == nil || s.Type != "yarn" {
		a.add(from, "--rope-type", "rope")
		a.add("ndc: the fused kernel needs YaRN with latent attention", "--no-rope-fusion")
		return
	}
	a.add(from, "--rope-type", "yarn")
	mla := a.j.Model.Attention.MLA
	a.flag("ndc: the fused kernel needs heads whose parts are powers of two wide", "--no-rope-fusion",
		!powersOfTwo(mla.QKNopeHeadDim, mla.QKRopeHeadDim, mla.VHeadDim))
	a.number(from+".factor", "--rotary-scaling-factor", s.Factor)
	a.number(from+".mscale", "--mscale", scaleOr(s.MScale, 1))
	a.number(from+".mscale_all_dim", "--mscale-all-dim", s.MScaleAllDim)
}

func powersOfTwo(numbers ...int) bool {
	return !slices.ContainsFunc(numbers, func(n int) bool { return n&(n-1) != 0 })
}

func scaleOr(v, other float64) float64 {
	if v == 0 {
		return other
	}
	return v
}

// attention adds heads, latent attention and the kernel.
func (a *arguments) attention() {
	m := &a.j.Model
	a.integer(a.from("model.attention_heads"), "--num-attention-heads", m.Attention.Heads)
	switch {
	case m.Attention.MLA != nil:
		a.latentAttention(m.Attention.MLA)
	default:
		a.integer(a.from("model.head_dim"), "--kv-channels", m.Attention.HeadDim)
		if m.Attention.KVHeads != m.Attention.Heads {
			a.add(a.from("model.kv_heads"), "--group-query-attention")
			a.integer(a.from("model.kv_heads"), "--num-query-groups", m.Attention.KVHeads)
		}
		a.flag(a.from("model.qk_norm"), "--qk-layernorm", m.Attention.QKNorm)
		a.flag(a.from("model.attention_output_gate"), "--attention-output-gate", m.Attention.Gate)
	}
	if m.Attention.SlidingWindow.Size > 0 {
		from := a.from("model.sliding_window")
		a.add(from+".size", "--window-size", fmt.Sprintf("%d,0", m.Attention.SlidingWindow.Size-1))
		if m.Attention.SlidingWindow.Pattern > 0 {
			a.integer(from+".pattern", "--window-attn-skip-freq", m.Attention.SlidingWindow.Pattern)
		}
	}
	if m.Attention.Sinks {
		a.add(a.from("model.attention_sinks"), "--softmax-type", "learnable")
	}
	a.options(inAttention)
}

func (a *arguments) latentAttention(m *job.MLA) {
	a.add(a.from("model.mla"), "--multi-latent-attention")
	if m.QLoraRank > 0 {
		a.integer(a.from("model.mla.q_lora_rank"), "--q-lora-rank", m.QLoraRank)
	}
	a.integer(a.from("model.mla.kv_lora_rank"), "--kv-lora-rank", m.KVLoraRank)
	a.integer(a.from("model.mla.qk_nope_head_dim"), "--qk-head-dim", m.QKNopeHeadDim)
	a.integer(a.from("model.mla.qk_rope_head_dim"), "--qk-pos-emb-head-dim", m.QKRopeHeadDim)
	a.integer(a.from("model.mla.v_head_dim"), "--v-head-dim", m.VHeadDim)
	a.add("ndc: norms on the two latents", "--qk-layernorm")
}

// experts adds the mixture of experts.
func (a *arguments) experts() {
	e := a.j.Model.MoE
	if e == nil {
		return
	}
	a.integer(a.from("model.moe.experts"), "--num-experts", e.Experts)
	if a.j.Model.LayerPattern == "" {
		path := "model.moe.first_dense_layers"
		if e.LayerFrequency > 1 {
			path = "model.moe.layer_frequency"
		}
		a.add(a.from(path), "--moe-layer-freq", layerPattern(&a.j.Model))
	}
	a.integer(a.from("model.moe.expert_ffn_hidden_size"), "--moe-ffn-hidden-size", e.ExpertFFNHiddenSize)
	if e.SharedExpertFFNHiddenSize > 0 {
		a.integer(a.from("model.moe.shared_expert_ffn_hidden_size"), "--moe-shared-expert-intermediate-size", e.SharedExpertFFNHiddenSize)
	}
	a.flag(a.from("model.moe.shared_expert_gate"), "--moe-shared-expert-gate", e.SharedExpertGate)
	if e.LatentSize > 0 {
		a.integer(a.from("model.moe.latent_size"), "--moe-latent-size", e.LatentSize)
	}
	a.add("ndc: one module multiplies all experts of a rank", "--moe-grouped-gemm")
	a.flag("ndc: the kernel adds the biases of its experts itself", "--no-bias-dropout-fusion", a.j.Model.MLPBias)
	a.router(e)
	a.options(inExperts)
	if e.TokenDrop {
		a.number(a.from("model.moe.capacity_factor"), "--moe-expert-capacity-factor", e.CapacityFactor)
		a.add(a.from("model.moe.token_drop"), "--moe-token-drop-policy", "probs")
		a.add(a.from("model.moe.token_drop"), "--moe-pad-expert-input-to-capacity")
	}
}

// layerPattern spells which layers have experts as the Python list that
// --moe-layer-freq evaluates, with runs folded: ([0]*3+[1]*58).
func layerPattern(m *job.Model) string {
	var runs []string
	for i := 0; i < m.Layers; {
		k := i
		for k < m.Layers && m.IsMoELayer(k) == m.IsMoELayer(i) {
			k++
		}
		kind := 0
		if m.IsMoELayer(i) {
			kind = 1
		}
		runs = append(runs, fmt.Sprintf("[%d]*%d", kind, k-i))
		i = k
	}
	return "(" + strings.Join(runs, "+") + ")"
}

// router adds how tokens choose experts.
func (a *arguments) router(e *job.MoE) {
	r := &e.Router
	a.integer(a.from("model.moe.top_k"), "--moe-router-topk", e.TopK)
	a.add(a.from("model.moe.router.score"), "--moe-router-score-function", r.Score)
	// Softmax over all experts, renormalised over the chosen, equals softmax
	// over the chosen.
	pre := r.Score == "softmax" && r.PreSoftmax && !r.Normalize
	a.flag(a.from("model.moe.router.pre_softmax"), "--moe-router-pre-softmax", pre)
	if r.Groups > 1 && r.GroupTopK > 0 {
		a.integer(a.from("model.moe.router.groups"), "--moe-router-num-groups", r.Groups)
		a.integer(a.from("model.moe.router.group_top_k"), "--moe-router-group-topk", r.GroupTopK)
	}
	if r.ScalingFactor != 0 && r.ScalingFactor != 1 {
		a.number(a.from("model.moe.router.scaling_factor"), "--moe-router-topk-scaling-factor", r.ScalingFactor)
	}
	if r.DType == "fp32" || r.DType == "fp64" {
		a.add(a.from("model.moe.router.dtype"), "--moe-router-dtype", r.DType)
	}
	a.balance(r)
}

// balance adds what keeps the experts evenly loaded. Balancing by bias keeps
// the sequence-wise loss beside it when that has a coefficient.
func (a *arguments) balance(r *job.Router) {
	kind := map[string]string{"aux_loss": "aux_loss", "sequence_aux_loss": "seq_aux_loss", "global_aux_loss": "global_aux_loss"}[r.Balance]
	if r.Balance == "bias" {
		a.add(a.from("model.moe.router.balance"), "--moe-router-enable-expert-bias")
		a.number(a.from("model.moe.router.bias_update_rate"), "--moe-router-bias-update-rate", r.BiasUpdateRate)
		if r.AuxCoefficient > 0 {
			kind = "seq_aux_loss"
		}
	}
	if kind == "" || r.AuxCoefficient == 0 {
		kind = "none"
	}
	a.add(a.from("model.moe.router.balance"), "--moe-router-load-balancing-type", kind)
	if kind != "none" {
		a.number(a.from("model.moe.router.aux_coefficient"), "--moe-aux-loss-coeff", r.AuxCoefficient)
	}
	if r.ZLossCoefficient > 0 {
		a.number(a.from("model.moe.router.z_loss_coefficient"), "--moe-z-loss-coeff", r.ZLossCoefficient)
	}
}

// dispatcher adds how tokens reach their experts.
func (a *arguments) dispatcher() {
	from := planned("execution.moe_dispatcher")
	kind := a.p.Execution.MoEDispatcher
	switch {
	case !plan.SendsTokens(kind):
		a.add(from, "--moe-token-dispatcher-type", kind)
	case a.v.options.Has("--moe-flex-dispatcher-backend"):
		a.add(from, "--moe-token-dispatcher-type", "flex")
		a.add(from, "--moe-flex-dispatcher-backend", kind)
	default:
		a.add(from, "--moe-token-dispatcher-type", "flex")
		a.add(from, "--moe-enable-deepep")
	}
	a.flag("ndc: one kernel permutes tokens", "--moe-permute-fusion", kind != "allgather")
	// Transformer Engine's kernel refuses scores in fp64 (pytorch/router.py).
	a.flag("ndc: one kernel scores and picks the experts", "--moe-router-fusion", a.j.Model.MoE.Router.DType != "fp64")
	if low := alignment(a.j.Training.Precision); low > 1 && kind != "allgather" {
		option := "--moe-router-padding-for-fp8"
		if a.v.options.Has("--moe-router-padding-for-quantization") {
			option = "--moe-router-padding-for-quantization"
		}
		a.add("ndc: expert rows fill the blocks of the kernels", option)
	}
}
