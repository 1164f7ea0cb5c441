package megatron

import (
	"fmt"
	"math"
	"slices"

	"github.com/ndc-dev/ndc/backends/capability"
	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// check reports what the job asks for and the release cannot do.
func check(v *version, j *job.Job) diag.List {
	var diags diag.List
	for _, c := range []func(*version, *job.Job, *diag.List){
		checkModel, checkBias, checkRope, checkRouter, checkPrecision, checkSeed, checkOptimizer,
		checkExecution, checkPackages, checkRecompute, checkData, checkStart, checkCheckpoint, checkTimeout, checkLogging, checkExtraArguments,
	} {
		c(v, j, &diags)
	}
	return diags
}

// need is a feature that a model asks for.
type need struct {
	wanted  bool
	feature capability.Feature
	why     string // why the release lacks it, where that takes a sentence
}

// modelSummary is the summary of all diagnostics on models.
const modelSummary = "Megatron-LM cannot build this model"

func checkModel(v *version, j *job.Job, diags *diag.List) {
	m := &j.Model
	hybrid := m.LayerPattern != ""
	report(v, j, []need{
		{m.PositionEmbedding.Kind == "alibi", "model.position_embedding=alibi", ""},
		{m.Attention.Softcap > 0, "model.attention_logit_softcap", ""},
		{m.FinalSoftcap > 0, "model.final_logit_softcap", ""},
		{m.Norm.Post, "model.post_norms", ""},
		{m.EmbeddingScale != 0 && m.EmbeddingScale != 1, "model.embedding_scale", ""},
		{customScale(m), "model.attention_scale", ""},
		{m.Activation.Kind == "geglu", "model.activation=geglu", ""},
		{m.Activation.Kind == "swiglu" && !isOne(m.Activation.Alpha), capability.Of("model.activation_alpha", m.Activation.Alpha), ""},
		{m.Activation.Clamp > 0, "model.activation_clamp", ""},
		{m.Activation.Offset != 0, "model.activation_offset", ""},
		{m.Attention.Sinks, "model.attention_sinks", ""},
		{m.Attention.SlidingWindow.Size > 0, "model.sliding_window", ""},
		{m.MTP.Layers > 0 && m.PositionEmbedding.Kind == "learned", "model.mtp_layers with learned positions", ""},
		{m.MTP.Layers > 0 && m.Attention.MLA == nil && usesYaRN(m), "model.mtp_layers with yarn", ""},
		{m.Attention.MLA != nil && m.Attention.MLA.QLoraRank == 0, "model.mla.q_lora_rank=0",
			" Since core_v0.19.0 the input of their projection is normalised a second time (mla_qk_norm_config.py)."},
		{m.Attention.MLA != nil && m.Attention.QKNorm, "model.qk_norm with model.mla", ""},
		{m.Attention.MLA != nil && m.PositionEmbedding.Kind == "none", "model.position_embedding=none with model.mla", alwaysRotates},
		{m.Attention.MLA != nil && m.PositionEmbedding.Kind == "learned", "model.position_embedding=learned with model.mla", alwaysRotates},
		{m.Attention.MLA != nil && m.PositionEmbedding.ScalingType() == "llama3", "model.position_embedding.scaling=llama3 with model.mla",
			" Latent attention makes its rotary frequencies itself (multi_latent_attention.py), without --use-rope-scaling."},
		{m.Attention.MLA != nil && !isOne(m.PositionEmbedding.Partial), "model.position_embedding.partial with model.mla",
			" What of a latent head rotates is qk_rope_head_dim."},
		{hybrid, "model.layer_pattern", ""},
		{hybrid && m.Attention.QKNorm, "model.qk_norm with model.layer_pattern", " Before, hybrid layers leave the norms out without a word (transformer/attention.py)."},
		{hybrid && m.Attention.MLA != nil, "model.mla with model.layer_pattern", ""},
		{hybrid && m.Attention.SlidingWindow.Size > 0, "model.sliding_window with model.layer_pattern", ""},
		{hybrid && usesYaRN(m), "model.position_embedding.scaling=yarn with model.layer_pattern", ""},
		{hybrid && m.PositionEmbedding.ScalingType() == "llama3", "model.position_embedding.scaling=llama3 with model.layer_pattern", " Hybrid models do not read --use-rope-scaling (hybrid_model.py)."},
		{m.Mamba != nil && m.Mamba.ConvKernel != mixerKernel, "model.mamba.conv_kernel", ""},
		{m.Attention.Gate, "model.attention_output_gate", ""},
		{m.Attention.Gate && m.Attention.MLA != nil, "model.attention_output_gate with model.mla", ""},
		{m.MoE != nil && m.MoE.SharedExpertGate, "model.moe.shared_expert_gate", ""},
		{m.MoE != nil && m.MoE.LatentSize > 0, "model.moe.latent_size", ""},
		{m.MLPBias && m.MoE != nil && m.MoE.SharedExpertFFNHiddenSize > 0, "model.moe.shared_experts with mlp_bias", " Shared experts are not built with biases (shared_experts.py)."},
	}, diags)
	if m.Attention.KVHeads > m.Attention.Heads || !divides(m.Attention.KVHeads, m.Attention.Heads) {
		diags.Error(UnsupportedModel, j.Sources.Range("model.kv_heads"), modelSummary,
			fmt.Sprintf("attention_heads (%d) must be a multiple of kv_heads (%d).", m.Attention.Heads, m.Attention.KVHeads))
	}
}

// alwaysRotates says why latent attention has rotary positions and no others.
const alwaysRotates = " Latent attention rotates its heads whatever --position-embedding-type says, by YaRN where nothing says how (multi_latent_attention.py)."

// usesYaRN reports whether the model's rotary frequencies are scaled by YaRN.
func usesYaRN(m *job.Model) bool { return m.PositionEmbedding.ScalingType() == "yarn" }

// quickGELU is the slope of Megatron-LM's quick GELU, x·sigmoid(1.702·x)
// (megatron/core/fusions/fused_bias_geglu.py).
const quickGELU = 1.702

func isOne(v float64) bool { return v == 0 || v == 1 }

// customScale reports a softmax scale that is not the usual one of the head.
func customScale(m *job.Model) bool {
	if m.Attention.Scale == 0 {
		return false
	}
	return math.Abs(m.Attention.Scale*math.Sqrt(float64(m.Attention.HeadDim))-1) > 1e-6
}

// has reports whether the release has a feature, for some jobs at least.
func (v *version) has(f capability.Feature) bool { return capability.HasFor("megatron", v.name, f) }

// report makes one diagnostic of all features that the release lacks, where the
// first of them was asked for: one part is seldom the only one.
func report(v *version, j *job.Job, needs []need, diags *diag.List) {
	var missing []capability.Feature
	var names []string
	why := ""
	for _, n := range needs {
		if n.wanted && !v.has(n.feature) {
			missing = append(missing, n.feature)
			names = append(names, fmt.Sprintf("%s (%s)", n.feature.What(), n.feature.Argument()))
			why += n.why
		}
	}
	if missing != nil {
		diags.Error(UnsupportedModel, j.Sources.Range(missing[0].Argument()), modelSummary,
			fmt.Sprintf("Missing in %s: %s.%s %s", v.name, units.List(names, "and"), why, capability.Alternatives(missing...)))
	}
}

// checkBias: Megatron-LM has one switch for the biases of all linear layers.
func checkBias(v *version, j *job.Job, diags *diag.List) {
	m := &j.Model
	refuse := func(f capability.Feature, why string) {
		diags.Error(UnsupportedModel, j.Sources.Range(f.Argument()), modelSummary, why+" "+capability.Alternatives(f))
	}
	const oneSwitch = "Megatron-LM has one switch for the biases of the attention output and the feed-forward layers (--disable-bias-linear)"
	switch {
	case m.Attention.QKVBias && m.MLPBias:
		refuse("model.qkv_bias with mlp_bias", "qkv_bias with mlp_bias: "+oneSwitch+". Set attention_bias = true in place of qkv_bias, or mlp_bias = false.")
	case m.Attention.Bias && !m.MLPBias:
		refuse("model.attention_bias without mlp_bias", "attention_bias without mlp_bias: "+oneSwitch+". Set both alike; biases on query, key and value alone are qkv_bias.")
	case m.MLPBias && !m.Attention.Bias:
		refuse("model.mlp_bias without attention_bias", "mlp_bias without attention_bias: "+oneSwitch+". Set both alike.")
	}
	if m.MoE != nil && m.MoE.Router.Bias != m.MLPBias {
		diags.Error(UnsupportedModel, j.Sources.Range("model.moe.router.bias"), modelSummary,
			"The bias of the router's linear layer follows mlp_bias in Megatron-LM; set both alike.")
	}
}

// The constants of Megatron-LM's llama3 rope scaling: those of
// rotary_pos_embedding.py (_apply_scaling), which no option changes, and the
// factor of gpt_model.py, which gpt_builders.py and gpt_config_from_args never
// replace by --rope-scaling-factor (core_v0.15.0 to core_v0.19.0).
const (
	llama3Factor         = 8
	llama3LowFrequency   = 1
	llama3HighFrequency  = 4
	llama3OriginalLength = 8192
)

func checkRope(v *version, j *job.Job, diags *diag.List) {
	p := &j.Model.PositionEmbedding
	if p.Kind == "rope" && p.Theta != math.Trunc(p.Theta) {
		diags.Error(UnsupportedModel, j.Sources.Range("model.position_embedding.theta"), modelSummary,
			fmt.Sprintf("theta = %s: --rotary-base takes a whole number.", render.Number(p.Theta)))
	}
	s := p.Scaling
	if s == nil {
		return
	}
	refuse := func(f capability.Feature, why string) {
		diags.Error(UnsupportedModel, j.Sources.Range(f.Argument()), modelSummary, why+" "+capability.Offers(f))
	}
	switch s.Type {
	case "llama3":
		const own = capability.Feature("model.position_embedding.scaling=llama3")
		if s.LowFrequencyFactor != llama3LowFrequency || s.HighFrequencyFactor != llama3HighFrequency || s.OriginalLength != llama3OriginalLength {
			refuse(own, fmt.Sprintf("Megatron-LM's llama3 scaling has low_frequency_factor 1, high_frequency_factor 4 and original_length 8192 built in; the model wants %s, %s and %d.",
				render.Number(s.LowFrequencyFactor), render.Number(s.HighFrequencyFactor), s.OriginalLength))
		}
		if s.Factor != llama3Factor {
			refuse(own, fmt.Sprintf("pretrain_gpt.py of %s builds the llama3 scaling with a factor of 8, whatever --rope-scaling-factor says; the model wants %s.", v.name, render.Number(s.Factor)))
		}
	case "linear":
		const linear = capability.Feature("model.position_embedding.scaling=linear")
		if !v.has(linear) {
			refuse(linear, "pretrain_gpt.py of "+v.name+" does not pass --rotary-seq-len-interpolation-factor on to the model.")
		}
		if s.Factor != math.Trunc(s.Factor) || j.Model.Attention.MLA != nil {
			refuse(linear, "Megatron-LM stretches rope by whole factors (--rotary-seq-len-interpolation-factor), and not with latent attention.")
		}
	case "yarn":
		checkYarn(v, j, s, diags)
	}
}

// The constants of YaRN in latent attention (transformer_config.py,
// MLATransformerConfig), which no option changes.
const (
	mlaOriginalLength = 4096
	mlaBetaFast       = 32
	mlaBetaSlow       = 1
)

func checkYarn(v *version, j *job.Job, s *job.RopeScaling, diags *diag.List) {
	at := j.Sources.Range("model.position_embedding.scaling")
	if j.Model.Attention.MLA == nil {
		if f := capability.Feature("model.position_embedding.scaling=yarn"); !v.has(f) {
			diags.Error(UnsupportedModel, at, modelSummary,
				fmt.Sprintf("YaRN without latent attention has no options in %s. %s", v.name, capability.Alternatives(f)))
		}
		return
	}
	if s.OriginalLength != mlaOriginalLength {
		diags.Error(UnsupportedModel, at, modelSummary,
			fmt.Sprintf("Latent attention stretches from an original_length of %d; the model wants %d and no option sets it. %s", mlaOriginalLength, s.OriginalLength, capability.Offers("model.position_embedding.scaling=yarn with model.mla")))
	}
	if s.BetaFast != mlaBetaFast || s.BetaSlow != mlaBetaSlow {
		diags.Warn(ApproximatedModel, at, "Megatron-LM rounds off this model",
			fmt.Sprintf("YaRN uses beta_fast %d and beta_slow %d for latent attention and no option changes them; the model states %s and %s, so some rope frequencies differ.", mlaBetaFast, mlaBetaSlow, render.Number(s.BetaFast), render.Number(s.BetaSlow)))
	}
}

func checkRouter(v *version, j *job.Job, diags *diag.List) {
	if j.Model.MoE == nil {
		return
	}
	r := &j.Model.MoE.Router
	refuse := func(argument, why string) {
		diags.Error(UnsupportedModel, j.Sources.Range("model.moe."+argument), modelSummary, why)
	}
	if r.Balance == "bias" && r.Score != "sigmoid" {
		refuse("router.balance", "Balancing by expert bias (--moe-router-enable-expert-bias) needs score = \"sigmoid\". "+capability.Offers("model.moe.router.balance=bias"))
	}
	if r.Score == "sigmoid" && !r.Normalize && j.Model.MoE.TopK > 1 {
		refuse("router.normalize", "Megatron-LM always normalises the weights of sigmoid scores; set normalize = true. "+capability.Offers("model.moe.router.normalize=false with sigmoid"))
	}
	if j.Model.MoE.TopK == 1 && r.Normalize {
		set := "normalize = false"
		if r.Score == "softmax" {
			set = "pre_softmax = true and " + set
		}
		refuse("router.normalize", "With top_k = 1 Megatron-LM weighs the expert by its score (moe_utils.py); normalize = true would give it the weight one, and the router no gradient. Set "+set+".")
	}
	if r.Groups > 1 && j.Model.MoE.Experts%r.Groups != 0 {
		refuse("router.groups", fmt.Sprintf("%s do not split into %s.", units.Count(j.Model.MoE.Experts, "expert"), units.Count(r.Groups, "group")))
	}
	if r.GroupTopK > 0 && r.Groups > 0 && (r.GroupTopK > r.Groups || !divides(r.GroupTopK, j.Model.MoE.TopK)) {
		refuse("router.group_top_k", fmt.Sprintf("group_top_k = %d must be at most the %s and divide top_k = %d.", r.GroupTopK, units.Count(r.Groups, "group"), j.Model.MoE.TopK))
	}
	warnGroups(j, diags)
	if j.Model.MoE.TokenDrop && r.Balance == "bias" && r.AuxCoefficient == 0 && r.Score == "sigmoid" && j.Model.MoE.CapacityFactor <= 0 {
		refuse("capacity_factor", "Dropping tokens needs a capacity_factor.")
	}
	if e := j.Model.MoE; e.TokenDrop && float64(e.TopK)*e.CapacityFactor > float64(e.Experts) {
		refuse("capacity_factor", fmt.Sprintf("An expert would have room for more tokens than a rank has, which Megatron-LM cannot fill (moe_utils.py, permute). With top_k = %d of %s, capacity_factor = %.4g drops no token already.",
			e.TopK, units.Count(e.Experts, "expert"), float64(e.Experts)/float64(e.TopK)))
	}
}

// warnGroups tells of groups of experts that are chosen by another score than elsewhere: by
// the sum of as many experts as a token uses of each (moe_utils.py, group_limited_topk), not
// of the best two, as in the model's class of transformers and in other frameworks.
func warnGroups(j *job.Job, diags *diag.List) {
	r := &j.Model.MoE.Router
	if r.GroupTopK < 1 || r.GroupTopK >= r.Groups || !divides(r.GroupTopK, j.Model.MoE.TopK) {
		return // every group is used, or the job is refused
	}
	if best := j.Model.MoE.TopK / r.GroupTopK; best != 2 {
		diags.Warn(ApproximatedModel, j.Sources.Range("model.moe.router.group_top_k"), "Megatron-LM chooses other groups of experts",
			fmt.Sprintf("Megatron-LM scores a group by the sum of its best %s (top_k over group_top_k), DeepSeek-V3's class in transformers, as other frameworks, by its best two: weights trained there meet other experts here, and the other way round.",
				units.Count(best, "expert")))
	}
}

func checkPrecision(v *version, j *job.Job, diags *diag.List) {
	t := &j.Training
	if f := capability.Of("training.precision", t.Precision); !v.has(f) {
		precisionError(j, diags, fmt.Sprintf("%s is missing in %s. %s", t.Precision, v.name, capability.Alternatives(f)))
	}
	if f := capability.Of("training.fp8.recipe", t.FP8.Recipe); t.Precision == "fp8" && t.FP8.Recipe != "" && !v.has(f) {
		recipeError(j, diags, fmt.Sprintf("The fp8 recipe %s is missing in %s. %s The nearest here is tensorwise; in the backend's training block others keep theirs.", t.FP8.Recipe, v.name, capability.Alternatives(f)))
	}
	has := j.Cluster.GPU.Generation()
	switch known := j.Cluster.GPU.ComputeCapability != ""; {
	case known && t.Precision == "fp8" && t.FP8.Recipe == "blockwise" && has < 9:
		recipeError(j, diags, fmt.Sprintf("The fp8 recipe blockwise needs compute capability 9.0 or newer; %s has %s. Use tensorwise, or bf16.",
			j.Cluster.GPU.Name, j.Cluster.GPU.ComputeCapability))
	case known && (t.Precision == "mxfp8" || t.Precision == "nvfp4") && has < 10:
		precisionError(j, diags, fmt.Sprintf("%s needs compute capability 10.0 or newer; %s has %s. Use bf16, or fp8 with tensorwise scaling on Hopper.",
			t.Precision, j.Cluster.GPU.Name, j.Cluster.GPU.ComputeCapability))
	}
	if j.Model.MoE != nil {
		checkExpertPrecision(v, j, diags)
	}
	if t.Precision == "fp8" && t.FP8.Recipe == "delayed" && t.FP8.BF16FirstLayers+t.FP8.BF16LastLayers > 0 {
		recipeError(j, diags, "Delayed scaling keeps all layers in fp8; drop bf16_first_layers and bf16_last_layers or choose tensorwise or blockwise.")
	}
}

// checkExpertPrecision: before core_v0.16.0 grouped experts assert bf16
// (arguments.py), and their rows are padded for fp8 alone (transformer_config.py).
func checkExpertPrecision(v *version, j *job.Job, diags *diag.List) {
	precision := j.Training.Precision
	f := capability.Of("training.precision with experts", precision)
	switch {
	case !slices.Contains([]string{"fp32", "fp16", "nvfp4"}, precision) || v.has(f):
	case precision == "nvfp4":
		precisionError(j, diags, v.name+" pads the rows of experts for fp8 only. Use fp8 or mxfp8. "+capability.Offers(f))
	default:
		precisionError(j, diags, fmt.Sprintf("%s groups the GEMMs of experts in bf16 only, not in %s. Use bf16. %s", v.name, precision, capability.Offers(f)))
	}
}

func precisionError(j *job.Job, diags *diag.List, detail string) {
	diags.Error(UnsupportedPrecision, j.Sources.Range("training.precision"), "Precision is not available", detail)
}

// recipeError reports what is wrong with a recipe that the job names.
func recipeError(j *job.Job, diags *diag.List, detail string) {
	diags.Error(UnsupportedPrecision, j.Sources.Range("training.fp8.recipe"), "Precision is not available", detail)
}

// checkSeed: training/initialize.py, _set_random_seed.
func checkSeed(_ *version, j *job.Job, diags *diag.List) {
	if j.Training.Seed == 0 {
		diags.Error(UnsupportedSeed, j.Sources.Range("training.seed"), "Seed is not available", "Megatron-LM takes seeds from 1 on. Set another one.")
	}
}

func checkOptimizer(v *version, j *job.Job, diags *diag.List) {
	o, at := &j.Training.Optimizer, j.Sources.Range("training.optimizer")
	if f := capability.Feature("training.optimizer=muon"); o.Kind == "muon" && !v.has(f) {
		diags.Error(UnsupportedOptimizer, at, "Optimizer is not available", "Muon is missing in "+v.name+". "+capability.Alternatives(f))
	}
	if o.Kind == "adam" && o.WeightDecay > 0 {
		diags.Error(UnsupportedOptimizer, at, "Optimizer is not available",
			"Megatron-LM's Adam always decouples the weight decay. Use optimizer \"adamw\", or set weight_decay = 0.")
	}
	if s := &j.Training.Schedule; s.Kind == "wsd" && s.DecayShape != "" && !v.options.Offers("--lr-wsd-decay-style", s.DecayShape) {
		diags.Error(UnsupportedOptimizer, j.Sources.Range("training.schedule.decay_shape"), "Schedule is not available",
			fmt.Sprintf("%s decays by %s.", v.name, units.List(choices(v, "--lr-wsd-decay-style"), "and")))
	}
}

func choices(v *version, name string) []string {
	o, _ := v.options.Lookup(name)
	return o.Choices
}

// checkPackages warns of libraries that what the job asks for imports, which
// Megatron-LM's own requirements do not bring.
func checkPackages(_ *version, j *job.Job, diags *diag.List) {
	dispatcher := j.Execution.MoEDispatcher.Or("")
	for _, p := range []struct {
		used               bool
		path, distribution string
	}{
		{j.Training.Optimizer.Kind == "muon", "training.optimizer", "emerging-optimizers"},
		{j.Training.Logging.Stragglers, "training.logging.stragglers", "nvidia-ml-py"}, // core/utils.py asks for temperature, power and clock
		{plan.SendsTokens(dispatcher), "execution.moe_dispatcher", "DeepEP (deep_ep; for hybridep its hybrid-ep branch)"},
	} {
		if p.used {
			warnPackage(j, p.path, p.distribution, diags)
		}
	}
}

func warnPackage(j *job.Job, path, library string, diags *diag.List) {
	diags.Warn(NeedsPackage, j.Sources.Range(path), "The image needs a further package",
		fmt.Sprintf("%s makes Megatron-LM import %s, which its requirements do not bring; the run stops at start without it.", path, library))
}
