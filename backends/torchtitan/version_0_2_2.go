package torchtitan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/backends/slurm"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// TorchTitan 0.2.2 (February 2026): a TOML file, and a module that
// experimental.custom_import loads first.

func version022() *version {
	v := &version{
		name: "0.2.2", torch: "2.11", options: schema.Embedded("TorchTitan 0.2.2", optionTables, "schema/0.2.2.jsonl"),
		families: []family{
			{module: "deepseek_v3", fits: func(m *job.Model) bool { return m.Attention.MLA != nil },
				gaps: slices.Concat(plainGaps, latentGaps), rules: []target.Rule{tensorPositions}, pipeline: true, context: true, weights: []string{"deepseek_v3"}, truncate: "true"},
			{module: "gpt_oss", fits: func(m *job.Model) bool { return m.Attention.Sinks },
				gaps: sinkGaps, unmasked: true, allToAll: true, weights: []string{"gpt_oss"}, truncate: "false", within: true,
				// models/gpt_oss/model/state_dict_adapter.py
				notRead: "The adapter of 0.2.2's gpt_oss asks for experts in blocks of MXFP4, as OpenAI published them, and reads these with " +
					"\"--checkpoint.initial_load_in_hf_quantized=true\" in extra_args alone. transformers saves experts in another form, which it does not read.",
				readWith: "checkpoint.initial_load_in_hf_quantized"},
			{module: "qwen3", fits: needsQuery022,
				gaps:  slices.Concat(plainGaps, queryGaps, []gap{noQKVBias, noDenseLayers}),
				rules: queryRules022, context: true, allToAll: true, weights: []string{"qwen3", "qwen3_moe"}},
			{module: "llama3", fits: func(*job.Model) bool { return true },
				gaps: slices.Concat(plainGaps, []gap{noYarn, noQKVBias}), pipeline: true, context: true, weights: []string{"llama"}},
		},
		schedules: []scheduleName{
			{plan.ScheduleGPipe, "GPipe"}, {plan.Schedule1F1B, "1F1B"}, {plan.ScheduleInterleaved1F1B, "Interleaved1F1B"},
		},
		rules: rules022, conflicts: conflicts022, lossChunks: 1, routerDType: "bf16", // models/moe/moe.py: the gate is a linear layer like any
		dispatcher:  one(inParallel, "parallelism.expert_parallel_comm_backend", fromExecution, dispatcherName),
		asyncTensor: one(inParallel, "parallelism.enable_async_tensor_parallel", fromExecution, overlapsTensor),
		precisions: []precision{
			{name: "bf16"}, {name: "fp32"},
			{name: "fp8", capability: 8.9, recipes: []string{"tensorwise", rowwise}, gathers: true},
			{name: "mxfp8", capability: 10},
		},
	}
	v.own, v.emit, v.launch = own022, emit022, launch022
	return v
}

// noQKVBias holds for the models of 0.2.2, whose projections are written
// without biases (models/llama3/model/model.py, models/qwen3/model/model.py).
var noQKVBias = lack("model.qkv_bias", func(m *job.Model) bool { return m.Attention.QKVBias })

// noDenseLayers holds for its qwen3.
var noDenseLayers = lack("model.moe.first_dense_layers", func(m *job.Model) bool { return m.MoE != nil && m.MoE.FirstDenseLayers > 0 })

var noYarn = lack("model.position_embedding.scaling=yarn", func(m *job.Model) bool { return m.PositionEmbedding.ScalingType() == "yarn" })

// needsQuery022 reports what 0.2.2's llama3 lacks and its qwen3 has.
func needsQuery022(m *job.Model) bool {
	return m.MoE != nil || m.Attention.QKNorm || m.TiedEmbeddings || !plainHeads(m)
}

func launch022(b *build) launch {
	arguments := []slurm.Argument{
		{Words: []render.Word{render.Literal("--job.config_file"), render.Shell(`"$NDC_DIR/train.toml"`)}},
	}
	if _, replaced := b.replaced("job.dump_folder"); !replaced {
		arguments = append(arguments, slurm.Argument{Words: []render.Word{render.Literal("--job.dump_folder"), render.Shell(`"$NDC_LOG_DIR"`)}, Why: "traces beside the logs"})
	}
	all := b.settings022()
	for _, s := range b.withoutReplaced(all) {
		if expands(s.value) { // TOML has no environment
			word := render.ExpandingPath(s.value.(string))
			arguments = append(arguments, slurm.Argument{Words: []render.Word{render.Literal("--" + s.path), word}, Why: s.why})
		}
	}
	return launch{[]render.Word{render.Literal("-m"), render.Literal("torchtitan.train")}, append(arguments, b.extra(all)...)}
}

func emit022(b *build) []backends.Artifact {
	all := b.withoutReplaced(b.settings022())
	b.checkSettings(all)
	content, err := render.TOML([]string{b.summary()}, tables(all))
	if err != nil {
		panic("torchtitan: " + err.Error())
	}
	return []backends.Artifact{
		{Path: "train.toml", Content: content},
		{Path: jobModule + ".py", Content: tidyImports(templates.Execute("ndc_job_0_2_2.py.tmpl", b.view022()))},
	}
}

// tables groups settings by section, in the order of their first setting.
func tables(all []setting) []render.Table {
	var out []render.Table
	index := map[string]int{}
	for _, s := range all {
		dot := strings.LastIndexByte(s.path, '.')
		section, key := s.path[:dot], s.path[dot+1:]
		i, ok := index[section]
		if !ok {
			i = len(out)
			index[section] = i
			out = append(out, render.Table{Name: section})
		}
		out[i].Entries = append(out[i].Entries, render.Entry{Key: key, Value: s.value, Comment: s.why})
	}
	return out
}

// settings022 are all options of the TOML file, section by section.
func (b *build) settings022() []setting {
	t, l := &b.j.Training, &b.p.Layout
	all := []setting{
		{"job.description", b.j.Name, ""},
		{"job.dump_folder", "logs", "replaced on the command line"},
		{"experimental.custom_import", jobModule, "registers the model, the reader and the hooks"},
		{"model.name", modelName, "registered by " + jobModule + ".py"},
		{"model.flavor", b.j.Model.Name, "spec: model"},
		{"model.hf_assets_path", assets(b.j), "spec: training.data.tokenizer"},
	}
	all = append(all, b.quantization022()...)
	all = append(all, b.training()...)
	all = append(all,
		setting{"optimizer.name", optimizerNames[t.Optimizer.Kind], "spec: training.optimizer"},
		setting{"optimizer.lr", t.Optimizer.LearningRate, "spec: training.optimizer.learning_rate"},
		setting{"optimizer.beta1", t.Optimizer.Beta1, "spec: training.optimizer.beta1"},
		setting{"optimizer.beta2", t.Optimizer.Beta2, "spec: training.optimizer.beta2"},
		setting{"optimizer.eps", t.Optimizer.Epsilon, "spec: training.optimizer.epsilon"},
		setting{"optimizer.weight_decay", t.Optimizer.WeightDecay, "spec: training.optimizer.weight_decay; not on norms and biases, see " + jobModule + ".py"},
		setting{"optimizer.implementation", "fused", ""})
	all = append(all, b.schedule()...)
	all = append(all, b.parallelism("output")...)
	all = append(all,
		setting{"parallelism.expert_tensor_parallel_degree", expertTensor022(l), fromPlan})
	all = append(all, b.options(inParallel)...)
	all = append(all,
		setting{"parallelism.disable_loss_parallel", false, "logits stay split over tensor_parallel"},
		setting{"parallelism.pipeline_parallel_expert_parallel_overlap", false, ""})
	all = append(all, recompute022(l)...)
	all = append(all, b.options(inCompile)...)
	all = append(all, b.checkpoint()...)
	all = append(all, b.metrics()...)
	all = append(all, b.profile("profiling")...)
	all = append(all, b.validation022()...)
	all = append(all, b.timeouts()...)
	return append(all, setting{"debug.seed", t.Seed, "spec: training.seed"})
}

var optimizerNames = map[string]string{"adamw": "AdamW", "adam": "Adam"}

// assets is the folder with tokenizer.json and, to start from, HF weights.
func assets(j *job.Job) string {
	switch t := &j.Training.Data.Tokenizer; {
	case t.Path != "":
		return t.Path
	case j.Training.Start.From == "huggingface":
		return j.Training.Start.Path
	}
	return "."
}

// expertTensor022 is 1 without expert parallelism, where the framework
// splits experts by tensor_parallel whatever it says.
func expertTensor022(l *plan.Layout) int {
	if l.ExpertParallel == 1 {
		return 1
	}
	return l.ExpertTensorParallel
}

func recompute022(l *plan.Layout) []setting {
	switch l.Recompute {
	case plan.RecomputeFull:
		return []setting{{"activation_checkpoint.mode", "full", "plan: recompute"}}
	case plan.RecomputeSelective:
		return []setting{{"activation_checkpoint.mode", "selective", "plan: recompute"},
			{"activation_checkpoint.selective_ac_option", "op", "plan: recompute_modules"}}
	}
	return []setting{{"activation_checkpoint.mode", "none", "plan: recompute"}}
}

// rowwise is the recipe of fp8 that cannot be gathered.
const rowwise = "rowwise"

// quantization022 are the converters of low precisions (torchao). Tensorwise
// float8 is the framework's recipe without a name, beside one of which nothing is
// gathered in 8 bits.
func (b *build) quantization022() []setting {
	skip := unquantizedNames(b.j, "output")
	why := "head and routers stay in bf16, and the layers of spec: training.fp8"
	switch b.j.Training.Precision {
	case "fp8":
		gather := b.j.Training.FP8.ParameterGather
		s := []setting{
			{"model.converters", []string{"quantize.linear.float8"}, "spec: training.precision"},
			{"quantize.linear.float8.enable_fsdp_float8_all_gather", gather, "spec: training.fp8.parameter_gather"},
			{"quantize.linear.float8.precompute_float8_dynamic_scale_for_fsdp", gather, "spec: training.fp8.parameter_gather"},
			{"quantize.linear.float8.filter_fqns", skip, why},
		}
		if recipe := b.j.Training.FP8.Recipe; recipe == rowwise {
			s = append(s, setting{"quantize.linear.float8.recipe_name", recipe, "spec: training.fp8.recipe"})
		}
		return s
	case "mxfp8":
		converters := []string{"quantize.linear.mx"}
		s := []setting{{"quantize.linear.mx.recipe_name", "mxfp8_cublas", "spec: training.precision"},
			{"quantize.linear.mx.filter_fqns", skip, why}}
		if experts := quantizedExperts022(b.j); experts != nil {
			converters = append(converters, "quantize.grouped_mm.mx")
			s = append(s, setting{"quantize.grouped_mm.mx.recipe_name", "mxfp8", "spec: training.precision"},
				setting{"quantize.grouped_mm.mx.fqns", experts, "routed experts"})
		}
		return append([]setting{{"model.converters", converters, "spec: training.precision"}}, s...)
	}
	return nil
}

// quantizedExperts022 are parts of the names of the experts to convert: one for all, or
// one for each layer.
func quantizedExperts022(j *job.Job) (names []string) {
	first, end := quantizedLayers(j)
	switch {
	case j.Model.MoE == nil:
		return nil
	case end-first == j.Model.Layers:
		return []string{"experts"}
	}
	for i := max(first, j.Model.MoE.FirstDenseLayers); i < end; i++ {
		names = append(names, fmt.Sprintf("layers.%d.moe.experts", i))
	}
	return names
}

func (b *build) validation022() []setting {
	v := b.j.Training.Data.Validation
	if v == nil {
		return []setting{{"validation.enable", false, "spec: no training.data.validation"}}
	}
	return []setting{
		{"validation.enable", true, "spec: training.data.validation"},
		{"validation.local_batch_size", localBatch(&b.p.Layout), "as in training"},
		{"validation.seq_len", b.j.Model.SequenceLength, "as in training"},
		{"validation.freq", max(1, v.Interval), "spec: training.data.validation.interval"},
		{"validation.steps", b.validationSteps(), "spec: training.data.validation.steps, in calls of local_batch_size"},
	}
}

// view022 fills the template of ndc_job.py.
func (b *build) view022() map[string]any {
	m, data := &b.j.Model, &b.j.Training.Data
	imports, model := model022(b)
	every, saveWhy := b.saveEvery()
	margin, stopWhy := b.stopMargin()
	builder, builderWhy := "build_optimizers", "no tokenizer: the data are token ids"
	if m.MoE != nil {
		builder = "build_optimizers_with_moe_load_balancing"
	}
	if b.text() {
		builderWhy = "spec: training.data.tokenizer"
	}
	return map[string]any{
		"Header": render.Header, "Summary": b.summary(), "Module": b.family.module,
		"ModelImports": imports, "Model": model,
		"InitStd": render.Python(m.InitStd), "InitWhy": "spec: model.init_std",
		"NormEpsilon": render.Python(m.Norm.Epsilon), "Layers": m.Layers, "Biases": m.MLPBias, // gpt_oss, the one with biases
		"MasksItself": b.family.module == "deepseek_v3" && !flexes022(b.family, b.j) && data.Validation != nil,
		"Stretch":     stretch022(m), "Sequence": m.SequenceLength,
		"DocumentMask": data.DocumentMask, "RestartPositions": render.Python(data.ResetPositionIDs),
		"WithPositions":    render.Python(data.DocumentMask || data.ResetPositionIDs),
		"OptimizerBuilder": builder, "NotDecayed": notDecayed, "Data": b.data(), "Tokenizer": b.text(), "TokenizerWhy": builderWhy,
		"Checkpoint": b.j.Training.Checkpoint.Path != "", "InitialLoad": b.j.Training.Start.Path != "", "OfRun": b.j.Training.Start.From == "checkpoint",
		"SaveEvery": nullable(every), "SaveWhy": saveWhy,
		"StopMargin": render.Python(margin), "StopWhy": stopWhy, "CheckEvery": render.Python(b.checkEvery()),
		"Traces": b.j.Training.Logging.Profile != nil, "Gradients": b.gradients022(),
		"Name": modelName, "Flavor": render.Python(m.Name),
	}
}

// gradients is a factor that gradients lack, as Python.
type gradients struct{ Factor, Why string }

// gradients022 is by what 0.2.2 scales gradients wrongly: the loss is a sum over
// tokens, which train.py divides by the tokens of a step before the backward pass, but not in
// a pipeline; FSDP then adds gradients up, and DistributedDataParallel takes their mean.
func (b *build) gradients022() *gradients {
	switch l := &b.p.Layout; {
	case l.PipelineParallel > 1:
		return &gradients{fmt.Sprintf("1 / (%d * %d)", b.j.Training.GlobalBatchSize, b.j.Model.SequenceLength), "in a pipeline it sums over tokens"}
	case l.DataParallelReplicate > 1 && l.DataParallelShard*l.ContextParallel == 1:
		return &gradients{fmt.Sprint(l.DataParallelReplicate), "replicas take the mean of what is divided by the tokens of all"}
	}
	return nil
}

// model022 writes the arguments of the framework's model, and their imports.
func model022(b *build) (imports []string, expression string) {
	m := &b.j.Model
	class, moe := map[string]string{
		"llama3": "TransformerModelArgs", "qwen3": "Qwen3ModelArgs",
		"deepseek_v3": "DeepSeekV3ModelArgs", "gpt_oss": "GptOssModelArgs",
	}[b.family.module], m.MoE != nil
	path := "torchtitan.models." + b.family.module + ".model.args"
	imports = []string{"from " + path + " import " + class}
	if b.family.module == "llama3" {
		imports = []string{"from " + path + " import RoPEScalingArgs, " + class}
	}
	if moe {
		imports = append(imports, "from torchtitan.models.moe import MoEArgs")
	}
	fields := []field{
		{"dim", m.HiddenSize, "spec: model.hidden_size"}, {"n_layers", m.Layers, "spec: model.layers"},
		{"n_heads", m.Attention.Heads, "spec: model.attention_heads"},
		{"vocab_size", m.Vocabulary(), "spec: model.vocab_size"},
		{"norm_eps", m.Norm.Epsilon, "spec: model.norm_epsilon"},
		{"rope_theta", m.PositionEmbedding.Theta, "spec: model.position_embedding"},
		{"max_seq_len", max(m.SequenceLength, m.MaxPositions), ""},
	}
	fields = append(fields, map[string]func(*build) []field{
		"llama3": llama022, "qwen3": query022, "deepseek_v3": latent022, "gpt_oss": sink022,
	}[b.family.module](b)...)
	return imports, pythonCall(class, fields, 0)
}

// attention022 chooses SDPA, or FlexAttention where that does not do.
func attention022(b *build) []field {
	switch {
	case b.j.Training.Data.DocumentMask:
		return []field{{"attn_type", "flex", "spec: training.data.document_mask"}, {"attn_mask_type", "block_causal", ""}}
	case flexes022(b.family, b.j):
		return []field{{"attn_type", "flex", "SDPA would keep all scores: it has no kernel for latent attention on this GPU"}, {"attn_mask_type", "causal", ""}}
	}
	return []field{{"attn_type", "sdpa", "plan: execution.attention"}, {"attn_mask_type", "causal", ""}}
}

// flexes022 says that attention is FlexAttention: for masks of documents, for
// attention sinks, and where SDPA falls back to one that keeps all scores.
func flexes022(f *family, j *job.Job) bool {
	return j.Training.Data.DocumentMask || f.module == "gpt_oss" || !fused022(j)
}

// fused022 says that SDPA has a kernel for the model's heads that keeps no scores. Of
// latent attention, whose keys are wider than its values, cuDNN has one for 192 and 128 on
// Hopper and its successor, and FlashAttention none (torch 2.11,
// aten/src/ATen/native/transformers/cuda/sdp_utils.cpp).
func fused022(j *job.Job) bool {
	keys, values := j.Model.Attention.HeadWidths()
	c := j.Cluster.GPU.Capability()
	return keys == values || max(keys, values) <= 128 || (c == 9 || c >= 10 && c < 11) && keys == 192 && values == 128
}

// llama022: the feed-forward size is int(2/3 · 4 · dim) rounded up to a
// multiple of multiple_of, so a multiple of the size itself, with a factor
// that keeps the product below it, gives the size exactly. The model always
// scales its rope; factor 1 leaves it alone.
func llama022(b *build) []field {
	m := &b.j.Model
	scaling := pythonCall("RoPEScalingArgs", []field{{"scaling_factor", 1.0, "spec: no rope scaling"}}, 4)
	if s := m.PositionEmbedding.Scaling; s != nil {
		scaling = pythonCall("RoPEScalingArgs", []field{
			{"scaling_factor", s.Factor, "spec: model.position_embedding.scaling"},
			{"low_freq_factor", s.LowFrequencyFactor, ""}, {"high_freq_factor", s.HighFrequencyFactor, ""},
			{"original_max_position_embeddings", s.OriginalLength, ""},
		}, 4)
	}
	return append([]field{
		{"n_kv_heads", m.Attention.KVHeads, "spec: model.kv_heads"},
		{"multiple_of", m.FFNHiddenSize, "spec: model.ffn_hidden_size, exactly"},
		{"ffn_dim_multiplier", ffnFactor(m), "so that the multiple is taken once"},
		{"rope_scaling_args", render.PythonExpression(scaling), ""},
	}, attention022(b)...)
}

// ffnFactor scales int(8/3 dim) to just below the feed-forward size, and never
// up.
func ffnFactor(m *job.Model) float64 {
	return min(1, (float64(m.FFNHiddenSize)-0.5)/float64(8*m.HiddenSize/3))
}

func query022(b *build) []field {
	m := &b.j.Model
	fields := []field{
		{"n_kv_heads", m.Attention.KVHeads, "spec: model.kv_heads"}, {"head_dim", m.Attention.HeadDim, "spec: model.head_dim"},
		{"hidden_dim", m.FFNHiddenSize, "spec: model.ffn_hidden_size"}, {"qk_norm", m.Attention.QKNorm, "spec: model.qk_norm"},
		{"enable_weight_tying", m.TiedEmbeddings, "spec: model.tied_embeddings"},
	}
	if m.MoE != nil {
		fields = append(fields, field{"moe_enabled", true, "spec: model.moe"},
			field{"moe_inter_dim", m.MoE.ExpertFFNHiddenSize, "spec: model.moe.expert_ffn_hidden_size"},
			field{"moe_args", render.PythonExpression(experts022(b)), ""})
	}
	return append(fields, attention022(b)...)
}

func latent022(b *build) []field {
	m := &b.j.Model
	fields := []field{
		{"inter_dim", m.FFNHiddenSize, "spec: model.ffn_hidden_size"},
		{"moe_inter_dim", m.MoE.ExpertFFNHiddenSize, "spec: model.moe.expert_ffn_hidden_size"},
		{"n_dense_layers", m.MoE.FirstDenseLayers, "spec: model.moe.first_dense_layers"},
		{"q_lora_rank", m.Attention.MLA.QLoraRank, "spec: model.mla"}, {"kv_lora_rank", m.Attention.MLA.KVLoraRank, ""},
		{"qk_nope_head_dim", m.Attention.MLA.QKNopeHeadDim, ""}, {"qk_rope_head_dim", m.Attention.MLA.QKRopeHeadDim, ""},
		{"v_head_dim", m.Attention.MLA.VHeadDim, ""},
		{"moe_args", render.PythonExpression(experts022(b)), ""},
	}
	return append(append(fields, yarn022(m)...), attention022(b)...)
}

// stretch022 is the max_seq_len by which deepseek_v3 applies the job's YaRN, 0 where it does
// by itself. Trainer makes it the sequence length, and neither frequencies nor softmax
// are scaled up to original_seq_len (models/deepseek_v3/model/args.py and model.py), while
// all others scale them at any length.
func stretch022(m *job.Model) int {
	if s := m.PositionEmbedding.Scaling; m.Attention.MLA != nil && s != nil && m.SequenceLength <= s.OriginalLength {
		return s.OriginalLength + 1
	}
	return 0
}

// yarn022: the model stretches its rope when the sequence is longer than
// original_seq_len, which stretch022 sees to; without scaling that is never.
func yarn022(m *job.Model) []field {
	s := m.PositionEmbedding.Scaling
	if s == nil {
		return []field{{"original_seq_len", max(m.SequenceLength, m.MaxPositions), "spec: no rope scaling"}}
	}
	return []field{
		{"original_seq_len", s.OriginalLength, "spec: model.position_embedding.scaling"},
		{"rope_factor", s.Factor, ""}, {"beta_fast", s.BetaFast, ""}, {"beta_slow", s.BetaSlow, ""},
		{"mscale", s.MScaleAllDim, "of the softmax scale"},
	}
}

func sink022(b *build) []field {
	m := &b.j.Model
	fields := []field{
		{"n_kv_heads", m.Attention.KVHeads, "spec: model.kv_heads"}, {"head_dim", m.Attention.HeadDim, "spec: model.head_dim"},
		{"moe_inter_dim", m.MoE.ExpertFFNHiddenSize, "spec: model.moe.expert_ffn_hidden_size"},
		{"swiglu_limit", m.Activation.Clamp, "spec: model"},
		{"sliding_window_size", m.Attention.SlidingWindow.Size, "spec: model.sliding_window, in every second layer"},
		{"attn_type", "flex", "the only kernel of this model"},
		{"attn_mask_type", "causal", ""},
		{"moe_args", render.PythonExpression(experts022(b)), ""},
	}
	if s := m.PositionEmbedding.Scaling; s != nil {
		return append(fields, field{"original_seq_len", s.OriginalLength, "spec: model.position_embedding.scaling"},
			field{"rope_factor", s.Factor, ""}, field{"ntk_alpha", s.BetaSlow, ""}, field{"ntk_beta", s.BetaFast, ""})
	}
	return append(fields, field{"rope_factor", 1.0, "spec: no rope scaling"})
}

func experts022(b *build) string {
	e := b.j.Model.MoE
	r := &e.Router
	fields := []field{
		{"num_experts", e.Experts, "spec: model.moe"}, {"num_shared_experts", e.SharedExperts, ""}, {"top_k", e.TopK, ""},
		{"score_func", r.Score, "spec: model.moe.router"}, {"route_norm", normalizes(r), ""},
		{"route_scale", scaling(r), ""}, {"gate_bias", r.Bias, ""},
		{"score_before_experts", false, "scores weigh the experts' outputs"},
		{"use_grouped_mm", b.j.Cluster.GPU.Capability() >= 9, "on GPUs of capability 9.0 and above"},
		{"load_balance_coeff", render.PythonExpression(nullable(balanceRate(r))), "update of the balancing bias per step"},
	}
	if r.Groups > 1 {
		fields = append(fields, field{"num_expert_groups", r.Groups, ""}, field{"num_limited_groups", r.GroupTopK, ""})
	}
	return pythonCall("MoEArgs", fields, 4)
}

// scaling is the factor on the experts' weights.
func scaling(r *job.Router) float64 {
	if r.ScalingFactor == 0 {
		return 1
	}
	return r.ScalingFactor
}
