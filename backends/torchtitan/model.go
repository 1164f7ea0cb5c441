package torchtitan

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends/capability"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
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
	predicts bool // it has multi-token prediction of its own, which ndc does not emit
	unmasked bool // it has masks and positions of its own and cannot take those of documents
	allToAll bool // it sends tokens by all-to-all, whatever the dispatcher is said to be
	// truncate is the one value of the argument that its YaRN has; "": either.
	truncate string
	within   bool // its YaRN stops where the ramp between kept and stretched frequencies leaves them
	// notInFP32 says why it cannot be trained in fp32; "": it can.
	notInFP32 string
	// weights are the architectures whose Hugging Face checkpoints the
	// framework's adapter for this model reads.
	weights []string
	// notRead says why the adapter does not read them all the same, unless
	// extra_args have the option readWith; "": it does.
	notRead, readWith string
}

// gap is a feature that a model does not have: the one that the job's model
// asks for, "" when it asks for none.
type gap func(m *job.Model) capability.Feature

// lack is the gap of a feature that some models ask for.
func lack(f capability.Feature, asks func(m *job.Model) bool) gap {
	return func(m *job.Model) capability.Feature {
		if asks(m) {
			return f
		}
		return ""
	}
}

// only is the gap of all values of an argument but one.
func only(argument, has string, value func(m *job.Model) string) gap {
	return func(m *job.Model) capability.Feature {
		if v := value(m); v != has {
			return capability.Of(argument, v)
		}
		return ""
	}
}

// commonGaps hold for every model of every release. The layer is always
// pre-norm RMSNorm, rotary attention and a gated MLP.
var commonGaps = []gap{
	lack("model.layer_pattern", func(m *job.Model) bool { return m.LayerPattern != "" }),
	lack("model.attention_output_gate", func(m *job.Model) bool { return m.Attention.Gate }),
	lack("model.moe.shared_expert_gate", func(m *job.Model) bool { return m.MoE != nil && m.MoE.SharedExpertGate }),
	lack("model.moe.latent_size", func(m *job.Model) bool { return m.MoE != nil && m.MoE.LatentSize > 0 }),
	only("model.position_embedding", "rope", func(m *job.Model) string { return m.PositionEmbedding.Kind }),
	lack("model.position_embedding.partial", func(m *job.Model) bool { return m.PositionEmbedding.Partial != 0 && m.PositionEmbedding.Partial != 1 }),
	lack("model.position_embedding.scaling=linear", func(m *job.Model) bool { return m.PositionEmbedding.ScalingType() == "linear" }),
	only("model.normalization", "rmsnorm", func(m *job.Model) string { return m.Norm.Kind }),
	lack("model.zero_centered_norm", func(m *job.Model) bool { return m.Norm.ZeroCentered }),
	only("model.activation", "swiglu", func(m *job.Model) string { return m.Activation.Kind }),
	lack("model.dropout", func(m *job.Model) bool { return m.Dropout > 0 }),
	lack("model.post_norms", func(m *job.Model) bool { return m.Norm.Post }),
	lack("model.attention_logit_softcap", func(m *job.Model) bool { return m.Attention.Softcap > 0 }),
	lack("model.final_logit_softcap", func(m *job.Model) bool { return m.FinalSoftcap > 0 }),
	lack("model.embedding_scale", func(m *job.Model) bool { return m.EmbeddingScale != 0 && m.EmbeddingScale != 1 }),
	lack("model.attention_scale", func(m *job.Model) bool { return m.Attention.Scale != 0 }),
	lack("model.moe.token_drop", func(m *job.Model) bool { return m.MoE != nil && m.MoE.TokenDrop }),
	lack("model.moe.layer_frequency", func(m *job.Model) bool { return m.MoE != nil && m.MoE.LayerFrequency > 1 }),
	lack("model.moe.shared_expert_ffn_hidden_size", unevenShared),
	lack("model.mtp_layers", func(m *job.Model) bool { return m.MTP.Layers > 0 }),
}

// plainGaps hold for every model but gpt_oss.
var plainGaps = []gap{
	lack("model.attention_sinks", func(m *job.Model) bool { return m.Attention.Sinks }),
	lack("model.attention_bias", func(m *job.Model) bool { return m.Attention.Bias && m.MLPBias }),
	lack("model.attention_bias without mlp_bias", func(m *job.Model) bool { return m.Attention.Bias && !m.MLPBias }),
	lack("model.mlp_bias", func(m *job.Model) bool { return m.MLPBias && m.Attention.Bias }),
	lack("model.mlp_bias without attention_bias", func(m *job.Model) bool { return m.MLPBias && !m.Attention.Bias }),
	lack("model.sliding_window", func(m *job.Model) bool { return m.Attention.SlidingWindow.Size > 0 }),
	lack("model.activation_clamp", func(m *job.Model) bool { return m.Activation.Clamp != 0 }),
	lack("model.activation_offset", func(m *job.Model) bool { return m.Activation.Offset != 0 }),
	func(m *job.Model) capability.Feature {
		if m.Activation.Alpha == 0 || m.Activation.Alpha == 1 {
			return ""
		}
		return capability.Of("model.activation_alpha", m.Activation.Alpha)
	},
}

// sinkGaps hold for gpt_oss, whose constants are in the framework's code
// (models/gpt_oss/model/moe.py: alpha 1.702, offset 1; sliding layers are the
// even ones).
var sinkGaps = []gap{
	lack("model.position_embedding.scaling=llama3", func(m *job.Model) bool { return m.PositionEmbedding.ScalingType() == "llama3" }),
	lack("model.activation_alpha with model.attention_sinks", func(m *job.Model) bool { return m.Activation.Alpha != 1.702 || m.Activation.Offset != 1 }),
	lack("model.attention_bias=false with model.attention_sinks", func(m *job.Model) bool { return !m.Attention.Bias || !m.MLPBias }),
	lack("model.sliding_window with model.attention_sinks", func(m *job.Model) bool {
		return m.Attention.SlidingWindow.Size == 0 || m.Attention.SlidingWindow.Pattern != 2
	}),
	lack("model.moe with model.attention_sinks", func(m *job.Model) bool {
		return m.MoE == nil || m.MoE.FirstDenseLayers > 0 || m.MoE.SharedExperts > 0 || !m.MoE.Router.Bias
	}),
	lack("model.tied_embeddings with model.attention_sinks", func(m *job.Model) bool { return m.TiedEmbeddings }),
	lack("model.qk_norm with model.attention_sinks", func(m *job.Model) bool { return m.Attention.QKNorm }),
}

// latentGaps hold for deepseek_v3.
var latentGaps = []gap{
	lack("model.qk_norm with model.mla", func(m *job.Model) bool { return m.Attention.QKNorm }),
	lack("model.tied_embeddings with model.mla", func(m *job.Model) bool { return m.TiedEmbeddings }),
	lack("model.mla without experts", func(m *job.Model) bool { return m.MoE == nil || m.MoE.SharedExperts == 0 }),
	lack("model.position_embedding.scaling=llama3 with model.mla", func(m *job.Model) bool { return m.PositionEmbedding.ScalingType() == "llama3" }),
	lack("model.moe.router.bias", routerBias),
}

// queryGaps hold for qwen3, the most general model with grouped queries.
var queryGaps = []gap{
	lack("model.position_embedding.scaling with experts", func(m *job.Model) bool { return m.PositionEmbedding.ScalingType() != "" }),
	lack("model.moe.router.bias", routerBias),
}

func routerBias(m *job.Model) bool { return m.MoE != nil && m.MoE.Router.Bias }

func unevenShared(m *job.Model) bool {
	e := m.MoE
	return e != nil && e.SharedExperts > 0 && e.SharedExpertFFNHiddenSize != e.SharedExperts*e.ExpertFFNHiddenSize
}

// plainHeads reports that the heads fill the hidden size.
func plainHeads(m *job.Model) bool { return m.Attention.Heads*m.Attention.HeadDim == m.HiddenSize }

// familyOf picks the framework's model for the job and says what it lacks, all
// at once: one part is seldom the only one.
func (v *version) familyOf(j *job.Job) (*family, diag.List) {
	var diags diag.List
	f := v.find(&j.Model)
	var missing []capability.Feature
	for _, asked := range slices.Concat(commonGaps, f.gaps) {
		if lacked := asked(&j.Model); lacked != "" {
			if j.Model.Attention.MLA != nil {
				lacked = lacked.Beside("model.mla")
			}
			missing = append(missing, lacked)
		}
	}
	if missing != nil {
		const mtp = "model.mtp_layers"
		lacks := slices.Clone(missing)
		own := f.predicts && slices.Contains(lacks, mtp)
		var said []string
		if own {
			lacks = slices.DeleteFunc(lacks, func(c capability.Feature) bool { return c == mtp })
			said = append(said, fmt.Sprintf("ndc does not emit the multi-token prediction of TorchTitan %s's %s, which runs without pipelines and context parallelism (model %s).",
				v.name, f.module, j.Model.Name))
		}
		if len(lacks) > 0 {
			said = append(said, fmt.Sprintf("TorchTitan %s's %s, which model %s is built as, lacks %s.", v.name, f.module, j.Model.Name, what(lacks)))
		}
		diags.Error(UnsupportedModel, j.Sources.Range(missing[0].Argument()), "Model that TorchTitan cannot build", strings.Join(append(said, advice(missing)), " "))
	}
	v.checkYaRN(j, f, &diags)
	checkGroups(j, &diags)
	v.warnRouter(j, &diags)
	return f, diags
}

// checkYaRN refuses constants of YaRN that the model does not compute with. Cosines
// and sines are to be multiplied by temperature(mscale) / temperature(mscale_all_dim),
// and the softmax of latent attention by the square of the latter. deepseek_v3 has the
// second alone, gpt_oss multiplies as for 1 and 0.
func (v *version) checkYaRN(j *job.Job, f *family, diags *diag.List) {
	s := j.Model.PositionEmbedding.Scaling
	latent := j.Model.Attention.MLA != nil
	if j.Model.PositionEmbedding.ScalingType() != "yarn" || s.Factor == 1 || !latent && !j.Model.Attention.Sinks {
		return
	}
	const at = "model.position_embedding.scaling"
	refuse := func(argument, detail string) {
		diags.Error(UnsupportedModel, j.Sources.Range(at+"."+argument), "Model that TorchTitan cannot build", detail)
	}
	temperature := func(mscale float64) float64 { return 0.1*mscale*math.Log(s.Factor) + 1 }
	has, needs := 1.0, "equal values, as DeepSeek-V3 has"
	if !latent {
		has, needs = temperature(1), "mscale = 1 and mscale_all_dim = 0, as gpt-oss has"
	}
	if math.Abs(temperature(s.MScale)-has*temperature(s.MScaleAllDim)) > 1e-9 {
		argument := "mscale"
		if j.Sources[at+".mscale"].Origin != job.FromSpec && j.Sources[at+".mscale_all_dim"].Origin == job.FromSpec {
			argument = "mscale_all_dim"
		}
		refuse(argument, fmt.Sprintf("By mscale = %g and mscale_all_dim = %g, YaRN multiplies cosines and sines by %.4g; the %s of TorchTitan %s multiplies them by %.4g, and nothing changes that. It needs %s.",
			s.MScale, s.MScaleAllDim, temperature(s.MScale)/temperature(s.MScaleAllDim), f.module, v.name, has, needs))
	}
	if has := f.truncate; has != "" && has != fmt.Sprint(!s.Untruncated) {
		refuse("truncate", fmt.Sprintf("The YaRN of TorchTitan %s's %s is that of truncate = %s. Set it, or use 0.3.0, which has both.", v.name, f.module, has))
	}
	half := float64(j.Model.Attention.HeadDim) / 2
	if from, to := turns(&j.Model, s.BetaFast), turns(&j.Model, s.BetaSlow); f.within && !(0 < from && from < to && to < half-1) {
		refuse("original_length", fmt.Sprintf("The YaRN of TorchTitan %s's %s keeps frequencies that turn more than %g times in %d tokens and stretches those that turn less than %g times: its ramp runs from frequency %.3g to %.3g of %g, and must stay above 0 and below %g (asserted in model.py). 0.3.0 has no such limit.",
			v.name, f.module, s.BetaFast, s.OriginalLength, s.BetaSlow, from, to, half, half-1))
	}
}

// turns is the number, counted from 0, of the frequency that turns so often within the
// original length (arXiv 2309.00071, section 3.2).
func turns(m *job.Model, often float64) float64 {
	p := &m.PositionEmbedding
	return float64(m.Attention.HeadDim) / 2 * math.Log(float64(p.Scaling.OriginalLength)/(often*2*math.Pi)) / math.Log(p.Theta)
}

// checkGroups refuses groups of a single expert: the router chooses groups by the sum of
// their best two scores (_get_node_limited_routing_scores).
func checkGroups(j *job.Job, diags *diag.List) {
	if e := j.Model.MoE; e != nil && e.Router.Groups > 1 && e.Experts/e.Router.Groups < 2 {
		diags.Error(UnsupportedModel, j.Sources.Range("model.moe.router.groups"), "Model that TorchTitan cannot build",
			"TorchTitan chooses groups by their best two experts, and stops at groups of one. Without groups, a token uses the same experts.")
	}
}

// what names features for a sentence.
func what(features []capability.Feature) string {
	names := make([]string, len(features))
	for i, f := range features {
		names[i] = f.What()
	}
	return units.List(names, "and")
}

// instead is what a job sets to do without a part that no model depends on.
var instead = map[capability.Feature]string{"model.dropout": "dropout = 0", "model.moe.token_drop": "token_drop = false", "model.mtp_layers": "mtp_layers = 0"}

// advice says who has the missing parts, and how to do without them where the
// model can do without all.
func advice(missing []capability.Feature) string {
	alternatives := capability.Alternatives(missing...)
	var set []string
	for _, f := range missing {
		if instead[f] == "" {
			return alternatives
		}
		set = append(set, instead[f])
	}
	return alternatives + " Or set " + units.List(set, "and") + "."
}

func (v *version) find(m *job.Model) *family {
	for i := range v.families {
		if v.families[i].fits(m) {
			return &v.families[i]
		}
	}
	return &v.families[len(v.families)-1]
}

// warnRouter reports router settings that TorchTitan does not have: it
// balances experts by a bias on their scores and has no auxiliary losses.
func (v *version) warnRouter(j *job.Job, diags *diag.List) {
	if j.Model.MoE == nil {
		return
	}
	r := &j.Model.MoE.Router
	if computes := v.routerDType; r.DType != "" && r.DType != computes && j.Training.Precision != "fp32" {
		diags.Warn(Differs, j.Sources.Range("model.moe.router.dtype"), "Router in another precision",
			fmt.Sprintf("TorchTitan %s multiplies with the router in %s, not in %s as specified; the scores are made in fp32.", v.name, computes, r.DType))
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
