package torchtitan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// family is one of the framework's models, which builds any size of its
// architecture.
type family struct {
	module   string // under torchtitan.models
	fits     func(m *job.Model) bool
	gaps     []gap
	rules    []target.Rule // beyond those of the release
	pipeline bool
	context  bool
	unmasked bool // it has masks and positions of its own and cannot take those of documents
	allToAll bool // it sends tokens by all-to-all, whatever the dispatcher is said to be
	// weights are the architectures whose Hugging Face checkpoints the
	// framework's adapter for this model reads.
	weights []string
}

// gap is something that a model does not have.
type gap struct {
	argument string // path under model
	has      func(m *job.Model) bool
	missing  string // what is missing, "… has no …"
	instead  string // who has it, or what to change
}

const (
	otherBackends = "Backend megatron has it."
	gemma         = "Backend deepspeed has it, for Gemma 2."
)

// commonGaps hold for every model of every release. The layer is always
// pre-norm RMSNorm, rotary attention and a gated MLP.
var commonGaps = []gap{
	{"position_embedding", func(m *job.Model) bool { return m.PositionEmbedding.Kind != "rope" }, "position embeddings other than rope", "Backends megatron and deepspeed have learned positions."},
	{"position_embedding.partial", func(m *job.Model) bool { return m.PositionEmbedding.Partial != 0 && m.PositionEmbedding.Partial != 1 }, "partially rotated heads", otherBackends},
	{"position_embedding.scaling", func(m *job.Model) bool { return scalingType(m) == "linear" }, "linear rope scaling", otherBackends},
	{"normalization", func(m *job.Model) bool { return m.Normalization != "rmsnorm" }, "LayerNorm", "Backends megatron and deepspeed have it."},
	{"normalization", func(m *job.Model) bool { return m.ZeroCenteredNorm }, "zero-centred norm weights", gemma},
	{"activation", func(m *job.Model) bool { return m.Activation != "swiglu" }, "activations other than swiglu", "Backend deepspeed has gelu and geglu, megatron gelu and relu2."},
	{"dropout", func(m *job.Model) bool { return m.Dropout > 0 }, "dropout", "Set dropout = 0, or use backend megatron or deepspeed."},
	{"post_norms", func(m *job.Model) bool { return m.PostNorms }, "norms behind attention and MLP", gemma},
	{"attention_logit_softcap", func(m *job.Model) bool { return m.AttentionSoftcap > 0 }, "soft-capped attention logits", gemma},
	{"final_logit_softcap", func(m *job.Model) bool { return m.FinalSoftcap > 0 }, "soft-capped output logits", gemma},
	{"embedding_scale", func(m *job.Model) bool { return m.EmbeddingScale != 0 && m.EmbeddingScale != 1 }, "factor on the embeddings", gemma},
	{"attention_scale", func(m *job.Model) bool { return m.AttentionScale != 0 && m.MLA == nil }, "softmax scale other than 1/sqrt(head_dim)", gemma},
	{"moe.token_drop", func(m *job.Model) bool { return m.MoE != nil && m.MoE.TokenDrop }, "experts with a capacity that drop tokens", "Set token_drop = false, or use backend megatron."},
	{"moe.layer_frequency", func(m *job.Model) bool { return m.MoE != nil && m.MoE.LayerFrequency > 1 }, "MoE in every n-th layer only", otherBackends},
	{"moe.shared_expert_ffn_hidden_size", unevenShared, "shared experts of another size than the routed ones", otherBackends},
}

// plainGaps hold for every model but gpt_oss.
var plainGaps = []gap{
	{"attention_sinks", func(m *job.Model) bool { return m.AttentionSinks }, "attention sinks in this architecture", otherBackends},
	{"attention_bias", func(m *job.Model) bool { return m.AttentionBias }, "biases on the attention projections", "Backends megatron and deepspeed have them."},
	{"mlp_bias", func(m *job.Model) bool { return m.MLPBias }, "biases in the MLP", "Backends megatron and deepspeed have them."},
	{"sliding_window", func(m *job.Model) bool { return m.SlidingWindow.Size > 0 }, "sliding-window attention in this architecture", otherBackends},
	{"activation", func(m *job.Model) bool {
		return m.ActivationClamp != 0 || m.ActivationOffset != 0 || m.ActivationAlpha != 0 && m.ActivationAlpha != 1
	}, "clamped swiglu in this architecture", otherBackends},
}

// sinkGaps hold for gpt_oss, whose constants are in the framework's code
// (models/gpt_oss/model/moe.py: alpha 1.702, offset 1; sliding layers are the
// even ones).
var sinkGaps = []gap{
	{"activation", func(m *job.Model) bool { return m.ActivationAlpha != 1.702 || m.ActivationOffset != 1 }, "gpt_oss model with another activation than swiglu with alpha 1.702 and offset 1", otherBackends},
	{"attention_bias", func(m *job.Model) bool { return !m.AttentionBias || !m.MLPBias }, "gpt_oss model without biases", otherBackends},
	{"sliding_window", func(m *job.Model) bool { return m.SlidingWindow.Size == 0 || m.SlidingWindow.Pattern != 2 }, "gpt_oss model without a sliding window in every second layer", otherBackends},
	{"moe", func(m *job.Model) bool {
		return m.MoE == nil || m.MoE.FirstDenseLayers > 0 || m.MoE.SharedExperts > 0 || !m.MoE.Router.Bias
	}, "gpt_oss model with dense layers, shared experts or a router without bias", otherBackends},
	{"tied_embeddings", func(m *job.Model) bool { return m.TiedEmbeddings }, "tied embeddings in this architecture", otherBackends},
	{"qk_norm", func(m *job.Model) bool { return m.QKNorm }, "norms on queries and keys in this architecture", otherBackends},
}

// latentGaps hold for deepseek_v3.
var latentGaps = []gap{
	{"qk_norm", func(m *job.Model) bool { return m.QKNorm }, "norms per head together with latent attention", otherBackends},
	{"tied_embeddings", func(m *job.Model) bool { return m.TiedEmbeddings }, "tied embeddings together with latent attention", otherBackends},
	{"moe", func(m *job.Model) bool { return m.MoE == nil || m.MoE.SharedExperts == 0 }, "latent attention without experts, or experts without a shared one", otherBackends},
	{"position_embedding.scaling", func(m *job.Model) bool { return scalingType(m) == "llama3" }, "llama3 rope scaling together with latent attention", otherBackends},
	{"moe.router.bias", routerBias, "router bias in this architecture", otherBackends},
}

// queryGaps hold for qwen3, the most general model with grouped queries.
var queryGaps = []gap{
	{"position_embedding.scaling", func(m *job.Model) bool { return scalingType(m) != "" }, "rope scaling together with experts, norms on queries and keys, or a head_dim of its own", otherBackends},
	{"moe.router.bias", routerBias, "router bias in this architecture", otherBackends},
}

var noMTP = gap{"mtp_layers", func(m *job.Model) bool { return m.MTPLayers > 0 }, "multi-token prediction", "Set mtp_layers = 0, or use backend megatron."}

func routerBias(m *job.Model) bool { return m.MoE != nil && m.MoE.Router.Bias }

func unevenShared(m *job.Model) bool {
	e := m.MoE
	return e != nil && e.SharedExperts > 0 && e.SharedExpertFFNHiddenSize != e.SharedExperts*e.ExpertFFNHiddenSize
}

// scalingType is the kind of rope scaling, "" without one.
func scalingType(m *job.Model) string {
	if s := m.PositionEmbedding.Scaling; s != nil {
		return s.Type
	}
	return ""
}

// plainHeads reports that the heads fill the hidden size.
func plainHeads(m *job.Model) bool { return m.AttentionHeads*m.HeadDim == m.HiddenSize }

// familyOf picks the framework's model for the job and says what it lacks, all
// at once: one part is seldom the only one.
func (d *dialect) familyOf(j *job.Job) (*family, diag.List) {
	var diags diag.List
	f := d.find(&j.Model)
	var missing, instead []string
	at := diag.Range{}
	for _, g := range slices.Concat(commonGaps, f.gaps) {
		if !g.has(&j.Model) {
			continue
		}
		if missing == nil {
			at = j.Sources.Range("model." + g.argument)
		}
		missing = append(missing, g.missing)
		if !slices.Contains(instead, g.instead) {
			instead = append(instead, g.instead)
		}
	}
	if missing != nil {
		diags.Error(UnsupportedModel, at, "Model that TorchTitan cannot build",
			fmt.Sprintf("TorchTitan %s has no %s (model %s, built as its %s). %s", d.version, strings.Join(missing, "; no "), j.Model.Name, f.module, advice(missing, instead)))
	}
	d.warnRouter(j, &diags)
	return f, diags
}

// advice says who has the missing parts: one sentence for each answer, or that
// only one backend has all of them.
func advice(missing, instead []string) string {
	if len(instead) > 1 && slices.Contains(instead, gemma) {
		return fmt.Sprintf("Only backend deepspeed has all %d, for Gemma 2.", len(missing))
	}
	return strings.Join(instead, " ")
}

func (d *dialect) find(m *job.Model) *family {
	for i := range d.families {
		if d.families[i].fits(m) {
			return &d.families[i]
		}
	}
	return &d.families[len(d.families)-1]
}

// warnRouter reports router settings that TorchTitan does not have: it
// balances experts by a bias on their scores and has no auxiliary losses.
func (d *dialect) warnRouter(j *job.Job, diags *diag.List) {
	if j.Model.MoE == nil {
		return
	}
	r := &j.Model.MoE.Router
	if computes := d.routerDType; r.DType != "" && r.DType != computes && j.Training.Precision != "fp32" {
		diags.Warn(Differs, j.Sources.Range("model.moe.router.dtype"), "Router in another precision",
			fmt.Sprintf("TorchTitan %s multiplies with the router in %s, not in %s as specified; the scores are made in fp32.", d.version, computes, r.DType))
	}
	var lacks []string
	if strings.HasSuffix(r.Balance, "aux_loss") || r.AuxCoefficient > 0 {
		lacks = append(lacks, fmt.Sprintf("auxiliary balancing loss (coefficient %g)", r.AuxCoefficient))
	}
	if r.ZLossCoefficient > 0 {
		lacks = append(lacks, fmt.Sprintf("router z-loss (coefficient %g)", r.ZLossCoefficient))
	}
	if len(lacks) > 0 {
		diags.Warn(Differs, j.Sources.Range("model.moe.router"), "Router losses that TorchTitan does not have",
			fmt.Sprintf("TorchTitan has no %s; it balances experts by a bias on their scores, updated by %g per step.", strings.Join(lacks, " and no "), balanceRate(r)))
	}
}

// defaultBalanceRate is TorchTitan's own load_balance_coeff, DeepSeek-V3's
// bias update speed (arXiv:2412.19437, section 4.2).
const defaultBalanceRate = 1e-3

// balanceRate is how fast the balancing bias moves; 0 when nothing balances.
func balanceRate(r *job.Router) float64 {
	if r.Balance == "none" {
		return 0
	}
	if r.BiasUpdateRate > 0 {
		return r.BiasUpdateRate
	}
	return defaultBalanceRate
}

// normalizes reports whether the weights of the chosen experts sum to one: a
// softmax over the chosen experts is the normalised softmax over all.
func normalizes(r *job.Router) bool {
	return r.Normalize || r.Score == "softmax" && !r.PreSoftmax
}
