package megatron

import (
	"fmt"
	"math"
	"slices"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// check reports what the job asks for and the release cannot do.
func check(v *version, j *job.Job) diag.List {
	var diags diag.List
	for _, c := range []func(*version, *job.Job, *diag.List){
		checkModel, checkBias, checkRope, checkRouter, checkPrecision, checkOptimizer,
		checkExecution, checkPackages, checkRecompute, checkData, checkStart, checkCheckpoint, checkTimeout, checkExtraArguments,
	} {
		c(v, j, &diags)
	}
	return diags
}

// need is a part of a model that takes an option of Megatron-LM.
type need struct {
	wanted bool
	path   string // the argument that asks for it
	what   string // noun phrase
	option string // what provides it; "" when nothing does
	value  string // the choice of option that provides it; "" for any
	// elsewhere says who has what no option provides; "" for nobody.
	elsewhere string
}

// gemma2 ends messages about parts that only that model of the Hugging Face
// library has.
const gemma2 = "No supported version of Megatron-LM has it. The deepspeed backend builds it for architecture \"gemma2\"."

// deepspeedBuilds ends messages about parts that only a model of the
// Hugging Face library has.
const deepspeedBuilds = "The deepspeed backend builds it from the Hugging Face model."

func checkModel(v *version, j *job.Job, diags *diag.List) {
	m := &j.Model
	report(v, j, []need{
		{m.PositionEmbedding.Kind == "alibi", "model.position_embedding", "ALiBi position bias", "", "", ""},
		{m.AttentionSoftcap > 0, "model.attention_logit_softcap", "a soft cap on attention logits", "", "", gemma2},
		{m.FinalSoftcap > 0, "model.final_logit_softcap", "a soft cap on the final logits", "", "", gemma2},
		{m.PostNorms, "model.post_norms", "norms after attention and feed-forward", "", "", gemma2},
		{m.EmbeddingScale != 0 && m.EmbeddingScale != 1, "model.embedding_scale", "a scaled embedding", "", "", gemma2},
		{customScale(m), "model.attention_scale", "a softmax scale other than 1/sqrt(head_dim)", "", "", gemma2},
		{m.Activation == "geglu", "model.activation", "GEGLU", "", "", gemma2},
		{m.Activation == "swiglu" && !isOne(m.ActivationAlpha) && m.ActivationAlpha != quickGELU, "model.activation_alpha", "a gate slope other than 1 and 1.702", "", "", ""},
		{m.ActivationAlpha == quickGELU, "model.activation_alpha", "a gate slope of 1.702", "--quick-geglu", "", ""},
		{m.ActivationClamp > 0, "model.activation_clamp", "a clamped activation", "--activation-func-clamp-value", "", ""},
		{m.ActivationOffset != 0, "model.activation_offset", "an offset on the linear part", "--glu-linear-offset", "", ""},
		{m.AttentionSinks, "model.attention_sinks", "attention sinks", "--softmax-type", "learnable", ""},
		{m.SlidingWindow.Size > 0, "model.sliding_window", "sliding-window attention", "--window-size", "", ""},
		{m.MTPLayers > 0 && m.PositionEmbedding.Kind == "learned" && !v.atLeast(19, 0), "model.mtp_layers", "multi-token prediction with learned positions", "", "", "Megatron-LM has it from core_v0.19.0 on."},
		{m.MTPLayers > 0 && m.MLA == nil && usesYaRN(m), "model.mtp_layers", "multi-token prediction with YaRN outside of latent attention", "", "", ""},
		{m.MLA != nil && m.MLA.QLoraRank == 0 && v.atLeast(19, 0), "model.mla.q_lora_rank", "latent attention whose queries have no low rank", "", "",
			"Since core_v0.19.0 Megatron-LM normalises the input of their projection a second time (mla_qk_norm_config.py); core_v0.18.2 does not, nor do the torchtitan and deepspeed backends."},
		{m.MLA != nil && m.QKNorm, "model.qk_norm", "a norm per head of latent attention", "", "", ""},
	}, diags)
	if m.KVHeads > m.AttentionHeads || !divides(m.KVHeads, m.AttentionHeads) {
		diags.Error(UnsupportedModel, j.Sources.Range("model.kv_heads"), "Megatron-LM cannot build this model",
			fmt.Sprintf("attention_heads (%d) must be a multiple of kv_heads (%d).", m.AttentionHeads, m.KVHeads))
	}
}

// usesYaRN reports whether the model's rotary frequencies are scaled by YaRN.
func usesYaRN(m *job.Model) bool {
	scaling := m.PositionEmbedding.Scaling
	return scaling != nil && scaling.Type == "yarn"
}

// quickGELU is the slope of Megatron-LM's quick GELU, x·sigmoid(1.702·x)
// (megatron/core/fusions/fused_bias_geglu.py).
const quickGELU = 1.702

func isOne(v float64) bool { return v == 0 || v == 1 }

// customScale reports a softmax scale that is not the usual one of the head.
func customScale(m *job.Model) bool {
	if m.AttentionScale == 0 || m.MLA != nil {
		return false
	}
	return math.Abs(m.AttentionScale*math.Sqrt(float64(m.HeadDim))-1) > 1e-6
}

// met reports whether nothing is wanted or the release has it.
func (n *need) met(v *version) bool {
	switch {
	case !n.wanted:
		return true
	case n.value != "":
		return v.options.Offers(n.option, n.value)
	}
	return v.options.Has(n.option)
}

// remedy says which release has what is needed, or which backend.
func (n *need) remedy() string {
	if n.option != "" && since(n.option, n.value) != "" {
		return sinceSentence(n.option, n.value)
	}
	if n.elsewhere != "" {
		return n.elsewhere
	}
	return "No supported version of Megatron-LM has it, nor has another backend."
}

// report makes one diagnostic of all unmet needs with the same remedy, where
// the first of them was written.
func report(v *version, j *job.Job, needs []need, diags *diag.List) {
	var remedies []string
	missing := map[string][]string{}
	at := map[string]diag.Range{}
	for i := range needs {
		n := &needs[i]
		if n.met(v) {
			continue
		}
		r := n.remedy()
		if missing[r] == nil {
			remedies, at[r] = append(remedies, r), j.Sources.Range(n.path)
		}
		missing[r] = append(missing[r], fmt.Sprintf("%s (%s)", n.what, n.path))
	}
	for _, r := range remedies {
		diags.Error(UnsupportedModel, at[r], "Megatron-LM cannot build this model",
			fmt.Sprintf("Missing in %s: %s. %s", v.name, list(missing[r]), r))
	}
}

// checkBias: Megatron-LM has one switch for the biases of all linear layers.
func checkBias(v *version, j *job.Job, diags *diag.List) {
	m := &j.Model
	if m.AttentionBias != m.MLPBias {
		diags.Error(UnsupportedModel, j.Sources.Range("model.attention_bias"), "Megatron-LM cannot build this model",
			fmt.Sprintf("attention_bias = %t with mlp_bias = %t: Megatron-LM has one switch for the biases of the attention output and the feed-forward layers (--disable-bias-linear). Set both alike, or use the deepspeed backend; biases on query, key and value alone are qkv_bias.", m.AttentionBias, m.MLPBias))
	}
	if m.QKVBias && m.MLPBias {
		diags.Error(UnsupportedModel, j.Sources.Range("model.qkv_bias"), "Megatron-LM cannot build this model",
			"qkv_bias with mlp_bias: Megatron-LM's switch for the biases of the feed-forward layers (--disable-bias-linear) puts one on the attention output too. Set attention_bias = true in place of qkv_bias, or mlp_bias = false.")
	}
	if m.MoE != nil && m.MoE.Router.Bias != m.MLPBias {
		diags.Error(UnsupportedModel, j.Sources.Range("model.moe.router.bias"), "Megatron-LM cannot build this model",
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
		diags.Error(UnsupportedModel, j.Sources.Range("model.position_embedding.theta"), "Megatron-LM cannot build this model",
			fmt.Sprintf("theta = %s: --rotary-base takes a whole number.", number(p.Theta)))
	}
	s := p.Scaling
	if s == nil {
		return
	}
	refuse := func(why string) {
		diags.Error(UnsupportedModel, j.Sources.Range("model.position_embedding.scaling"), "Megatron-LM cannot build this model", why+" "+deepspeedBuilds)
	}
	switch s.Type {
	case "llama3":
		if s.LowFrequencyFactor != llama3LowFrequency || s.HighFrequencyFactor != llama3HighFrequency || s.OriginalLength != llama3OriginalLength {
			refuse(fmt.Sprintf("Megatron-LM's llama3 scaling has low_frequency_factor 1, high_frequency_factor 4 and original_length 8192 built in; the model wants %s, %s and %d.",
				number(s.LowFrequencyFactor), number(s.HighFrequencyFactor), s.OriginalLength))
		}
		if s.Factor != llama3Factor {
			refuse(fmt.Sprintf("pretrain_gpt.py of %s builds the llama3 scaling with a factor of 8, whatever --rope-scaling-factor says; the model wants %s.", v.name, number(s.Factor)))
		}
	case "linear":
		if !v.atLeast(19, 0) {
			refuse("pretrain_gpt.py before core_v0.19.0 does not pass --rotary-seq-len-interpolation-factor on to the model.")
		}
		if s.Factor != math.Trunc(s.Factor) || j.Model.MLA != nil {
			refuse("Megatron-LM stretches rope by whole factors (--rotary-seq-len-interpolation-factor), and not with latent attention.")
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
	if j.Model.MLA == nil {
		if o := "--yarn-original-max-position-embeddings"; !v.options.Has(o) {
			diags.Error(UnsupportedModel, at, "Megatron-LM cannot build this model",
				fmt.Sprintf("YaRN without latent attention has no options in %s. %s", v.name, sinceSentence(o, "")))
		}
		return
	}
	if s.OriginalLength != mlaOriginalLength {
		diags.Error(UnsupportedModel, at, "Megatron-LM cannot build this model",
			fmt.Sprintf("Latent attention stretches from an original_length of %d; the model wants %d and no option sets it. %s", mlaOriginalLength, s.OriginalLength, deepspeedBuilds))
	}
	if s.BetaFast != mlaBetaFast || s.BetaSlow != mlaBetaSlow {
		diags.Warn(ApproximatedModel, at, "Megatron-LM rounds off this model",
			fmt.Sprintf("YaRN uses beta_fast %d and beta_slow %d for latent attention and no option changes them; the model states %s and %s, so some rope frequencies differ.", mlaBetaFast, mlaBetaSlow, number(s.BetaFast), number(s.BetaSlow)))
	}
}

func checkRouter(v *version, j *job.Job, diags *diag.List) {
	if j.Model.MoE == nil {
		return
	}
	r := &j.Model.MoE.Router
	refuse := func(argument, why string) {
		diags.Error(UnsupportedModel, j.Sources.Range("model.moe."+argument), "Megatron-LM cannot build this model", why)
	}
	if r.Balance == "bias" && r.Score != "sigmoid" {
		refuse("router.balance", "Balancing by expert bias (--moe-router-enable-expert-bias) needs score = \"sigmoid\". Backend torchtitan balances softmax scores by a bias too.")
	}
	if r.Score == "sigmoid" && !r.Normalize && j.Model.MoE.TopK > 1 {
		refuse("router.normalize", "Megatron-LM always normalises the weights of sigmoid scores; set normalize = true. Backend torchtitan has the choice.")
	}
	if r.Groups > 1 && j.Model.MoE.Experts%r.Groups != 0 {
		refuse("router.groups", fmt.Sprintf("%s do not split into %s.", units.Count(j.Model.MoE.Experts, "expert"), units.Count(r.Groups, "group")))
	}
	if r.GroupTopK > 0 && r.Groups > 0 && (r.GroupTopK > r.Groups || !divides(r.GroupTopK, j.Model.MoE.TopK)) {
		refuse("router.group_top_k", fmt.Sprintf("group_top_k = %d must be at most the %s and divide top_k = %d.", r.GroupTopK, units.Count(r.Groups, "group"), j.Model.MoE.TopK))
	}
	if j.Model.MoE.TokenDrop && r.Balance == "bias" && r.AuxCoefficient == 0 && r.Score == "sigmoid" && j.Model.MoE.CapacityFactor <= 0 {
		refuse("capacity_factor", "Dropping tokens needs a capacity_factor.")
	}
}

func checkPrecision(v *version, j *job.Job, diags *diag.List) {
	t := &j.Training
	if t.Precision == "nvfp4" {
		if !v.options.Has("--fp4-format") {
			precisionError(j, diags, "nvfp4 is missing in "+v.name+". "+sinceSentence("--fp4-format", ""))
		}
	}
	if t.Precision == "fp8" && t.FP8.Recipe != "" && !v.options.Offers("--fp8-recipe", t.FP8.Recipe) {
		precisionError(j, diags, fmt.Sprintf("The fp8 recipe %s is missing in %s. %s", t.FP8.Recipe, v.name, fp8Elsewhere(t.FP8.Recipe)))
	}
	capability, need := gpuMajor(&j.Cluster.GPU), map[string]int{"mxfp8": 10, "nvfp4": 10}[t.Precision]
	if t.Precision == "fp8" && t.FP8.Recipe == "blockwise" {
		need = 9
	}
	if j.Cluster.GPU.ComputeCapability != "" && capability < need {
		precisionError(j, diags, fmt.Sprintf("%s needs compute capability %d.0 or newer; %s has %s. Use bf16, or fp8 with tensorwise scaling on Hopper.",
			t.Precision, need, j.Cluster.GPU.Name, j.Cluster.GPU.ComputeCapability))
	}
	if j.Model.MoE != nil && !v.atLeast(16, 0) {
		checkOldExperts(v, j, diags)
	}
	if t.Precision == "fp8" && t.FP8.Recipe == "delayed" && t.FP8.BF16FirstLayers+t.FP8.BF16LastLayers > 0 {
		precisionError(j, diags, "Delayed scaling keeps all layers in fp8; drop bf16_first_layers and bf16_last_layers or choose tensorwise or blockwise.")
	}
}

// checkOldExperts: before core_v0.16.0 grouped experts assert bf16
// (arguments.py), and their rows are padded for fp8 alone (transformer_config.py).
func checkOldExperts(v *version, j *job.Job, diags *diag.List) {
	switch precision := j.Training.Precision; precision {
	case "fp32", "fp16":
		precisionError(j, diags, fmt.Sprintf("%s groups the matrix products of experts in bf16 only, not in %s. Use bf16, or Megatron-LM from core_v0.16.0 on.", v.name, precision))
	case "nvfp4":
		precisionError(j, diags, v.name+" pads the rows of experts for fp8 only. Use fp8 or mxfp8, or Megatron-LM from core_v0.16.0 on.")
	}
}

// fp8Elsewhere says who has a recipe.
func fp8Elsewhere(recipe string) string {
	if recipe == "rowwise" {
		return "Backend torchtitan 0.3.0 has it; tensorwise is the nearest here."
	}
	return sinceSentence("--fp8-recipe", recipe)
}

func precisionError(j *job.Job, diags *diag.List, detail string) {
	diags.Error(UnsupportedPrecision, j.Sources.Range("training.precision"), "Precision is not available", detail)
}

func checkOptimizer(v *version, j *job.Job, diags *diag.List) {
	o, at := &j.Training.Optimizer, j.Sources.Range("training.optimizer")
	if o.Kind == "muon" && !v.options.Offers("--optimizer", "muon") {
		diags.Error(UnsupportedOptimizer, at, "Optimizer is not available",
			"Muon is missing in "+v.name+". "+sinceSentence("--optimizer", "muon"))
	}
	if o.Kind == "adam" && o.WeightDecay > 0 {
		diags.Error(UnsupportedOptimizer, at, "Optimizer is not available",
			"Megatron-LM's Adam always decouples the weight decay. Use optimizer \"adamw\", or set weight_decay = 0.")
	}
	if s := &j.Training.Schedule; s.Kind == "wsd" && s.DecayShape != "" && !v.options.Offers("--lr-wsd-decay-style", s.DecayShape) {
		diags.Error(UnsupportedOptimizer, j.Sources.Range("training.schedule.decay_shape"), "Schedule is not available",
			fmt.Sprintf("%s decays by %s.", v.name, list(choices(v, "--lr-wsd-decay-style"))))
	}
}

func choices(v *version, name string) []string {
	o, _ := v.options.Lookup(name)
	return o.Choices
}

// checkExecution reports execution options that Megatron-LM does not have.
func checkExecution(v *version, j *job.Job, diags *diag.List) {
	x := &j.Execution
	for _, c := range []struct {
		bad    bool
		option string
		why    string
	}{
		{x.LossChunks.Or(1) > 1, "loss_chunks", "Megatron-LM computes the loss in one piece; the torchtitan and deepspeed backends chunk it."},
		{x.Compile.Or(false), "compile", "Megatron-LM does not compile the model; the torchtitan backend does."},
		{x.ZeroHPZPartition.Or(1) > 1, "zero_hpz_partition", "Secondary shards (hpZ) exist in the deepspeed backend only."},
		{x.OffloadParameters.Or(false), "offload.parameters", "Megatron-LM does not offload parameters; the deepspeed and torchtitan backends can."},
		{x.OffloadActivations.Or(false) && !v.options.Has("--fine-grained-activation-offloading"), "offload.activations",
			"Activation offload is missing in " + v.name + ". " + sinceSentence("--fine-grained-activation-offloading", "")},
		{x.MoEDispatcher.Or("") == "hybridep" && !v.options.Offers("--moe-flex-dispatcher-backend", "hybridep"), "moe_dispatcher",
			"HybridEP is missing in " + v.name + ". " + sinceSentence("--moe-flex-dispatcher-backend", "hybridep")},
		{x.ReshardAfterForward.Set && !x.ReshardAfterForward.Value && j.Constraints.Layout.ZeroStage.Pinned() && j.Constraints.Layout.ZeroStage.Allows(3), "reshard_after_forward",
			"Megatron-FSDP always frees gathered parameters after the forward pass with zero_stage = 3; use zero_stage = 2."},
		{x.ReshardAfterForward.Or(false) && !slices.Contains(zeroStages(j), 3), "reshard_after_forward",
			"Only Megatron-FSDP gathers parameters, and frees them after the forward pass with zero_stage = 3. Set zero_stage = 3, or remove it."},
		{x.GradientDType.Or("fp32") == "bf16" && (j.Training.Precision == "fp16" || j.Training.Precision == "fp32"), "gradient_dtype",
			"Megatron-LM reduces gradients in bf16 only when it trains in bf16."},
	} {
		if c.bad {
			diags.Error(UnsupportedExecution, j.Sources.Range("execution."+c.option), "Execution option is not available", c.why)
		}
	}
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
