package torchtitan

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/backends/slurm"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// TorchTitan 0.3.0 (September 2026): a Python module whose function returns a
// Trainer.Config.

func version030() *version {
	v := &version{
		name: "0.3.0", requiresSafetensors: true, torch: "2.14", options: schema.Embedded("TorchTitan 0.3.0", optionTables, "schema/0.3.0.jsonl"),
		families: []family{
			{module: "deepseek_v3", fits: func(m *job.Model) bool { return m.Attention.MLA != nil },
				gaps: slices.Concat(plainGaps, latentGaps), pipeline: true, context: true, weights: []string{"deepseek_v3"},
				predicts: true}, // models/deepseek_v3/mtp.py
			{module: "gpt_oss", fits: func(m *job.Model) bool { return m.Attention.Sinks },
				gaps: sinkGaps, pipeline: true, context: true, weights: []string{"gpt_oss"},
				// models/gpt_oss/state_dict_adapter.py and moe.py: mlp1_weight there, mlp1_weight_EGD here
				notRead: "The adapter of 0.3.0's gpt_oss passes over the experts, which have other names in its table than in the model: they would keep " +
					"random weights, without a word. Convert the weights to a TorchTitan checkpoint, or use another backend.",
				// models/gpt_oss/moe.py, ops/scatter_add.py
				notInFP32: "The experts of 0.3.0's gpt_oss give their results in bf16, which cannot be added to tokens in fp32. Use bf16, or 0.2.2."},
			{module: "qwen3", fits: func(m *job.Model) bool { return m.MoE != nil || m.Attention.QKNorm },
				gaps: slices.Concat(plainGaps, queryGaps), pipeline: true, context: true, weights: []string{"qwen3", "qwen3_moe"}},
			{module: "llama3", fits: func(*job.Model) bool { return true },
				gaps: slices.Concat(plainGaps, []gap{noYarn}), pipeline: true, context: true, weights: []string{"llama"}},
		},
		schedules: []scheduleName{
			{plan.ScheduleGPipe, "GPipe"}, {plan.Schedule1F1B, "1F1B"}, {plan.ScheduleInterleaved1F1B, "Interleaved1F1B"},
			// Of these torch has no class: it runs the order in a file, on the stages that
			// 1F1B has.
			{plan.ScheduleZBH1, "1F1B"}, {plan.ScheduleZBH2, "1F1B"},
			{plan.ScheduleZBV, "ZBVZeroBubble"}, {plan.ScheduleDualPipeV, "DualPipeV"},
		},
		rules: rules030, conflicts: conflicts030, optionalSequenceParallel: true, lossChunks: 8,
		attention:    offersAttention,
		routerDType:  "fp32", // models/common/moe.py: the gate runs under an fp32 autocast
		cudaGraphs:   one(inPrecision, "training.disable_cuda_graphs", fromExecution, func(x *plan.Execution) any { return x.CUDAGraphs == "none" }),
		asyncTensor:  one(inCompile, "compile.enable_async_tensor_parallel", fromExecution, overlapsTensor),
		dispatcher:   written{words: func(b *build) string { return render.Python(dispatcherName(&b.p.Execution)) }},
		secondDeepEP: true, // models/qwen3/config_registry.py, qwen3_moe_deepep
		// distributed/flex_shard/dist_muon.py; models/kimi_k2_7/config_registry.py, the one model that is set up for it
		ownMuon:         "its DistMuon is told of every parameter where it is updated and with which others it is sent, and runs with tensor_parallel = 1 and pipeline_parallel = 1 alone",
		maskOfPositions: "TorchTitan 0.3.0 derives the document mask from position ids that restart, so document_mask and reset_position_ids go together. Set both or none; 0.2.2 has the mask alone.",
		precisions: []precision{
			{name: "bf16"}, {name: "fp32"},
			{name: "fp8", capability: 8.9, recipes: []string{rowwise}},
			{name: "mxfp8", capability: 10}, {name: "nvfp4", capability: 10},
		},
	}
	v.own, v.emit, v.launch = own030, emit030, launch030
	return v
}

func launch030(b *build) launch {
	arguments := []slurm.Argument{slurm.Option("", "--module", jobModule), slurm.Option("", "--config", "run")}
	return launch{[]render.Word{render.Literal("-m"), render.Literal("torchtitan.train")}, append(arguments, b.extra(b.settings030())...)}
}

func emit030(b *build) []backends.Artifact {
	files := []backends.Artifact{{Path: jobModule + ".py", Content: tidyImports(templates.Execute("ndc_job_0_3_0.py.tmpl", b.view030()))}}
	if isListed(b.p.Layout.PipelineSchedule) {
		files = append(files, backends.Artifact{Path: orderFile, Content: orderList(&b.p.Layout)})
	}
	return files
}

// section is one argument of Trainer.Config: an expression, or the class
// whose fields the settings of that name are.
type section struct {
	name  string
	class string
}

// sections030 are the components in the order of the file.
var sections030 = []section{
	{"training", "TrainingConfig"}, {"parallelism", "ParallelismConfig"},
	{"lr_scheduler", "Rate.Config"}, {"compile", "CompileConfig"},
	{"checkpoint", "Checkpoints.Config"}, {"metrics", "MetricsProcessor.Config"},
	{"profiler", "Profiler.Config"}, {"validator", "Validator.Config"},
	{"comm", "CommConfig"}, {"debug", "DebugConfig"},
}

// config030 writes the call of Trainer.Config.
func (b *build) config030() string {
	all := b.withoutReplaced(b.settings030())
	b.checkSettings(all)
	tokenizer, why := "TokenIds.Config()", "the data are token ids"
	if b.text() {
		tokenizer, why = "HuggingFaceTokenizer.Config()", "spec: training.data.tokenizer"
	}
	fields := []field{
		{"model_spec", render.PythonExpression("model()"), ""},
		{"hf_assets_path", python030(assets(b.j)), "spec: training.data.tokenizer"},
		{"tokenizer", render.PythonExpression(tokenizer), why},
		{"dump_folder", render.PythonExpression(`os.environ.get("NDC_LOG_DIR", "logs")`), "traces beside the logs"},
		{"dataloader", render.PythonExpression("Loader.Config()"), ""},
		{"loss", render.PythonExpression(b.words("loss_chunks")), "plan: execution.loss_chunks"},
		{"optimizer", render.PythonExpression(b.optimizer030()), ""},
		{"activation_checkpoint", render.PythonExpression(recompute030(&b.p.Layout)), "plan: recompute"},
	}
	for _, s := range sections030 {
		fields = append(fields, field{s.name, render.PythonExpression(pythonCall(s.class, fieldsOf(all, s.name), 8)), ""})
	}
	return pythonCall("Trainer.Config", fields, 4)
}

// fieldsOf are the settings of one section as keyword arguments.
func fieldsOf(all []setting, section string) []field {
	var out []field
	for _, s := range all {
		key, ok := strings.CutPrefix(s.path, section+".")
		if !ok {
			continue
		}
		out = append(out, field{key, python030(s.value), s.why})
	}
	return out
}

// python030 is a value as the configuration needs it: infinity has no literal,
// and references to the environment are resolved when the module is read.
func python030(v any) any {
	if f, ok := v.(float64); ok && math.IsInf(f, 1) {
		return render.PythonExpression(`float("inf")`)
	}
	if expands(v) {
		return render.PythonExpression("ndc_runtime.expand(" + render.Python(v) + ")")
	}
	return v
}

// settings030 are the options with entries in the table of the release.
func (b *build) settings030() []setting {
	all := append(b.training(), b.parallelism("lm_head")...)
	all = append(all,
		setting{"parallelism.enable_sequence_parallel", b.p.Layout.SequenceParallel || b.p.Layout.TensorParallel == 1, fromPlan},
		setting{"parallelism.spmd_backend", "spmd_types", "the default, which context parallelism needs"})
	all = append(all, b.schedule()...)
	all = append(all, b.options(inCompile)...)
	all = append(all, b.checkpoint()...)
	all = append(all, b.metrics()...)
	all = append(all, b.profile("profiler")...)
	if b.j.Training.Logging.Profile != nil {
		all = append(all, setting{"profiler.profiler_repeat", 1, "one trace"})
	}
	all = append(all, b.validation030()...)
	all = append(all, b.timeouts()...)
	return append(all, setting{"debug.seed", b.j.Training.Seed, "spec: training.seed"})
}

func (b *build) validation030() []setting {
	v := b.j.Training.Data.Validation
	if v == nil {
		return []setting{{"validator.enable", false, "spec: no training.data.validation"}}
	}
	return []setting{
		{"validator.enable", true, "spec: training.data.validation"},
		{"validator.freq", max(1, v.Interval), "spec: training.data.validation.interval"},
		{"validator.steps", b.validationSteps(), "spec: training.data.validation.steps, in calls of local_batch_size"},
		{"validator.dataloader", render.PythonExpression("Loader.Config(split=1)"), ""},
	}
}

// optimizer030 writes two parameter groups; the first pattern that matches a
// parameter decides.
func (b *build) optimizer030() string {
	o := &b.j.Training.Optimizer
	group := func(pattern string, decay float64, why string) string {
		kwargs := render.Object{{Key: "lr", Value: o.LearningRate},
			{Key: "betas", Value: render.PythonExpression("(" + render.Python(o.Beta1) + ", " + render.Python(o.Beta2) + ")")},
			{Key: "eps", Value: o.Epsilon}, {Key: "weight_decay", Value: decay}}
		return fmt.Sprintf("                ParamGroupConfig(  # %s\n                    pattern=r\"%s\",\n                    optimizer_name=%s,\n                    optimizer_kwargs=%s,\n                ),\n",
			why, pattern, render.Python(optimizerNames[o.Kind]), render.Python(kwargs))
	}
	return "OptimizersContainer.Config(\n            param_groups=[\n" +
		group(notDecayed, 0, "norms and biases do not decay") +
		group(".*", o.WeightDecay, "spec: training.optimizer.learning_rate and what stands beside it") +
		fmt.Sprintf("            ],\n            implementation=%q,  # plan: execution.optimizer_state_dtype\n        )", b.words("optimizer_state_dtype"))
}

func recompute030(l *plan.Layout) string {
	switch l.Recompute {
	case plan.RecomputeFull:
		return "FullAC.Config()"
	case plan.RecomputeSelective:
		return "SelectiveAC.Config()"
	}
	return "None"
}

// block030 are the classes of a family and where they are imported from.
var blocks030 = map[string]struct {
	block, model, parallelize, adapter string
	imports                            []string
}{
	"llama3": {"Llama3TransformerBlock", "Llama3Model", "parallelize_llama", "Llama3StateDictAdapter", nil},
	"qwen3":  {"Qwen3TransformerBlock", "Qwen3Model", "parallelize_qwen3", "Qwen3StateDictAdapter", nil},
	"deepseek_v3": {"DeepSeekV3TransformerBlock", "DeepSeekV3Model", "parallelize_deepseekv3", "DeepSeekV3StateDictAdapter",
		nil},
	"gpt_oss": {"GptOssTransformerBlock", "GptOssModel", "parallelize_gptoss", "GptOssStateDictAdapter", []string{
		"from torchtitan.models.common import ScaledBiasRowwiseLinear",
		"from torchtitan.models.common.attention import FusedQKVLinear",
		"from torchtitan.models.common.moe import RoutedExperts",
		"from torchtitan.models.gpt_oss.model import Attention",
		"from torchtitan.models.gpt_oss.moe import GptOssGroupedExperts, GptOssMoE",
	}},
}

// view030 fills the template of ndc_job.py.
func (b *build) view030() map[string]any {
	m := &b.j.Model
	c := blocks030[b.family.module]
	every, saveWhy := b.saveEvery()
	margin, stopWhy := b.stopMargin()
	view := map[string]any{
		"Header": render.Header, "Summary": b.summary(), "Module": b.family.module, "Flavor": render.Python(m.Name),
		"Imports": append(append([]string{}, c.imports...), classImports030(b.family.module)...),
		"Block":   c.block, "ModelClass": c.model, "Parallelize": c.parallelize, "Adapter": c.adapter,
		"Layers": m.Layers, "Dim": m.HiddenSize, "Vocab": m.Vocabulary(),
		"NormEpsilon": render.Python(m.Norm.Epsilon), "InitStd": render.Python(m.InitStd),
		"Heads": m.Attention.Heads, "KVHeads": m.Attention.KVHeads, "HeadDim": m.Attention.HeadDim, "QKNorm": m.Attention.QKNorm, "QKVBias": m.Attention.QKVBias,
		"FFN": m.FFNHiddenSize, "Tied": render.Python(m.TiedEmbeddings), "Rope": b.rope030(),
		"Attention": b.words("attention"),
		"MoE":       m.MoE != nil, "Window": m.Attention.SlidingWindow.Size, "SwigluLimit": render.Python(m.Activation.Clamp),
		"Data": b.data(), "Text": b.text(),
		"SaveEvery": nullable(every), "SaveWhy": saveWhy, "OfRun": b.j.Training.Start.From == "checkpoint",
		"StopMargin": render.Python(margin), "StopWhy": stopWhy, "CheckEvery": b.checkEvery(),
	}
	b.expertsView(view)
	b.latentView(view)
	converters, imports := b.converters030()
	view["Converters"], view["Imports"] = converters, append(view["Imports"].([]string), imports...)
	view["Config"] = b.config030()
	return view
}

func classImports030(module string) []string {
	c := blocks030[module]
	return []string{
		fmt.Sprintf("from torchtitan.models.%s.model import %s, %s", module, c.model, c.block),
		fmt.Sprintf("from torchtitan.models.%s.parallelize import %s", module, c.parallelize),
		fmt.Sprintf("from torchtitan.models.%s.state_dict_adapter import %s", module, c.adapter),
	}
}

func (b *build) expertsView(view map[string]any) {
	e := b.j.Model.MoE
	if e == nil {
		return
	}
	r := &e.Router
	view["Experts"], view["TopK"], view["ExpertFFN"] = e.Experts, e.TopK, e.ExpertFFNHiddenSize
	view["SharedFFN"], view["DenseLayers"] = e.SharedExperts*e.ExpertFFNHiddenSize, e.FirstDenseLayers
	view["Score"], view["RouteNorm"] = render.Python(r.Score), render.Python(normalizes(r))
	view["RouteScale"], view["RouterBias"] = render.Python(scaling(r)), render.Python(r.Bias)
	view["Groups"], view["GroupTopK"] = "None", "None"
	if r.Groups > 1 {
		view["Groups"], view["GroupTopK"] = render.Python(r.Groups), render.Python(r.GroupTopK)
	}
	view["Dispatcher"] = b.words("moe_dispatcher")
	view["BalanceRate"] = nullable(balanceRate(r))
}

func (b *build) latentView(view map[string]any) {
	a := b.j.Model.Attention.MLA
	if a == nil {
		return
	}
	view["QLoraRank"], view["KVLoraRank"], view["QKNope"] = a.QLoraRank, a.KVLoraRank, a.QKNopeHeadDim
	view["QKRope"], view["VHead"], view["MScale"] = a.QKRopeHeadDim, a.VHeadDim, "1.0"
	if s := b.j.Model.PositionEmbedding.Scaling; s != nil {
		view["MScale"] = render.Python(s.MScaleAllDim)
	}
}

// complexRotary reports whether the family rotates pairs of neighbours, as
// complex numbers.
func (f *family) complexRotary() bool { return f.module == "llama3" || f.module == "deepseek_v3" }

// rope030 writes the rotary embedding: pairs of neighbours in llama3 and
// deepseek_v3, halves in the other models.
func (b *build) rope030() string {
	m := &b.j.Model
	class, size := "CosSinRoPE.Config", m.Attention.HeadDim
	if b.family.complexRotary() {
		class = "ComplexRoPE.Config"
	}
	if m.Attention.MLA != nil {
		size = m.Attention.MLA.QKRopeHeadDim
	}
	fields := []field{
		{"dim", size, ""}, {"max_seq_len", max(m.SequenceLength, m.MaxPositions), ""},
		{"theta", m.PositionEmbedding.Theta, "spec: model.position_embedding"},
	}
	switch s := m.PositionEmbedding.Scaling; m.PositionEmbedding.ScalingType() {
	case "llama3":
		fields = append(fields, field{"scaling", "llama", "spec: model.position_embedding.scaling"},
			field{"scaling_factor", s.Factor, ""}, field{"low_freq_factor", s.LowFrequencyFactor, ""},
			field{"high_freq_factor", s.HighFrequencyFactor, ""}, field{"original_max_position_embeddings", s.OriginalLength, ""})
	case "yarn":
		fields = append(fields, field{"scaling", "yarn", "spec: model.position_embedding.scaling"},
			field{"rope_factor", s.Factor, ""}, field{"beta_fast", s.BetaFast, ""}, field{"beta_slow", s.BetaSlow, ""},
			field{"original_seq_len", s.OriginalLength, ""}, field{"truncate", !s.Untruncated, ""})
	default:
		fields = append(fields, field{"scaling", "none", "spec: no rope scaling"})
	}
	return pythonCall(class, fields, 4)
}

// converters030 are the calls of converters of low precisions (torchao) and their
// imports. float8 names what to leave out, the others what to convert, but that of
// experts takes all that it sees: a model of the layers to convert, which are the
// very layers of the model (components/quantization/mx.py).
func (b *build) converters030() (converters, imports []string) {
	const path = "from torchtitan.components.quantization."
	all := func(converter string) string { return "config = " + converter + ".build().convert(config)" }
	switch b.j.Training.Precision {
	case "fp8":
		return []string{all(fmt.Sprintf("Float8LinearConverter.Config(recipe_name=\"rowwise\", filter_fqns=%s, model_compile_enabled=%s)",
			render.Python(unquantizedNames(b.j, "lm_head")), render.Python(b.p.Execution.Compile)))}, []string{path + "float8 import Float8LinearConverter"}
	case "mxfp8":
		converters = []string{all(fmt.Sprintf("MXFP8LinearConverter.Config(fqns=%s, model_compile_enabled=%s)", render.Python(b.quantizedNames()), render.Python(b.p.Execution.Compile)))}
		if b.j.Model.MoE != nil {
			experts := fmt.Sprintf("MXFP8GroupedExpertsConverter.Config(model_compile_enabled=%s)", render.Python(b.p.Execution.Compile))
			if first, end := quantizedLayers(b.j); end-first < b.j.Model.Layers {
				converters = append(converters, fmt.Sprintf("%s.build().convert(replace(config, layers=config.layers[%d:%d]))  # spec: training.fp8", experts, first, end))
			} else {
				converters = append(converters, all(experts))
			}
		}
		return converters, []string{path + "mx import MXFP8GroupedExpertsConverter, MXFP8LinearConverter"}
	case "nvfp4":
		return []string{all(fmt.Sprintf("NVFP4LinearConverter.Config(fqns=%s, model_compile_enabled=%s)", render.Python(b.quantizedNames()), render.Python(b.p.Execution.Compile)))},
			[]string{path + "nvfp4 import NVFP4LinearConverter"}
	}
	return nil, nil
}

// quantizedNames are parts of the names of the linear layers to convert.
func (b *build) quantizedNames() []string {
	parts := []string{"attention.", "feed_forward.", "shared_experts."}
	first, end := quantizedLayers(b.j)
	if end-first == b.j.Model.Layers {
		return parts
	}
	var names []string
	for i := first; i < end; i++ {
		for _, p := range parts {
			if p == "shared_experts." {
				p = "moe." + p
			}
			names = append(names, fmt.Sprintf("layers.%d.%s", i, p))
		}
	}
	return names
}
