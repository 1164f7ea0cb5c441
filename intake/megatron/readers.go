package megatron

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/intake/draft"
)

// quickGELU is the alpha of x·sigmoid(alpha·x) that --quick-geglu means
// (megatron/core/fusions/fused_bias_geglu.py).
const quickGELU = 1.702

// words read options whose values are other words than the language's.
var words = map[string]struct {
	path   string
	values map[string]any
}{
	"--normalization":                   {"model.normalization", map[string]any{"RMSNorm": "rmsnorm", "LayerNorm": "layernorm"}},
	"--position-embedding-type":         {"model.position_embedding", map[string]any{"learned_absolute": "learned", "rope": "rope", "none": "none", "yarn": "rope"}},
	"--softmax-type":                    {"model.attention_sinks", map[string]any{"learnable": true, "vanilla": false}},
	"--attention-backend":               {"execution.attention", map[string]any{"flash": "flash", "fused": "fused", "unfused": "unfused", "AttnBackend.flash": "flash", "AttnBackend.fused": "fused", "AttnBackend.unfused": "unfused"}},
	"--cp-comm-type":                    {"execution.context_parallel_type", map[string]any{"p2p": "ring", "all_gather": "all_gather", "a2a": "ulysses", "a2a+p2p": "hierarchical"}},
	"--lr-decay-style":                  {"training.schedule", map[string]any{"cosine": "cosine", "linear": "linear", "constant": "constant", "WSD": "wsd"}},
	"--optimizer":                       {"training.optimizer", map[string]any{"adam": "adamw", "sgd": "sgd", "muon": "muon", "dist_muon": "muon"}},
	"--moe-router-load-balancing-type":  {"model.moe.router.balance", map[string]any{"aux_loss": "aux_loss", "seq_aux_loss": "sequence_aux_loss", "global_aux_loss": "global_aux_loss", "none": "none"}},
	"--tokenizer-type":                  {"training.data.tokenizer", map[string]any{"HuggingFaceTokenizer": "huggingface", "GPTSentencePieceTokenizer": "sentencepiece", "SentencePieceTokenizer": "sentencepiece", "Llama2Tokenizer": "sentencepiece", "TikTokenizer": "tiktoken", "NullTokenizer": "none"}},
	"--fp8-recipe":                      {"training.fp8.recipe", map[string]any{"delayed": "delayed", "tensorwise": "tensorwise", "blockwise": "blockwise", "mxfp8": "mxfp8"}},
	"--recompute-granularity":           {"constraints.layout.recompute", map[string]any{"selective": "selective", "full": "full"}},
	"--data-parallel-sharding-strategy": {"constraints.layout.zero_stage", map[string]any{"no_shard": int64(0), "optim": int64(1), "optim_grads": int64(2), "optim_grads_params": int64(3)}},
	"--moe-token-dispatcher-type":       {"execution.moe_dispatcher", map[string]any{"allgather": "allgather", "alltoall": "alltoall", "flex": "deepep"}},
	"--moe-flex-dispatcher-backend":     {"execution.moe_dispatcher", map[string]any{"deepep": "deepep", "hybridep": "hybridep"}},
	"--exp-avg-dtype":                   {"execution.optimizer_state_dtype", map[string]any{"fp32": "fp32", "bf16": "bf16", "fp16": "fp16", "fp8": "fp8"}},
	"--exp-avg-sq-dtype":                {"execution.optimizer_state_dtype", map[string]any{"fp32": "fp32", "bf16": "bf16", "fp16": "fp16", "fp8": "fp8"}},
	"--main-grads-dtype":                {"execution.gradient_dtype", map[string]any{"fp32": "fp32", "bf16": "bf16"}},
	"--cuda-graph-impl":                 {"execution.cuda_graphs", map[string]any{"none": "none", "transformer_engine": "layer", "full_iteration": "full", "local": "local"}},
}

// marks are options without a value, or whose value does not matter, that say
// one value of one argument.
var marks = map[string]struct {
	path  string
	value any
}{
	"--swiglu":                                {"model.activation", "swiglu"},
	"--squared-relu":                          {"model.activation", "relu2"},
	"--openai-gelu":                           {"model.activation", "gelu"},
	"--disable-bias-linear":                   {"model.mlp_bias", false},
	"--untie-embeddings-and-output-weights":   {"model.tied_embeddings", false},
	"--use-rotary-position-embeddings":        {"model.position_embedding", "rope"},
	"--multi-latent-attention":                {"model.mla", "mla"},
	"--moe-router-enable-expert-bias":         {"model.moe.router.balance", "bias"},
	"--bf16":                                  {"training.precision", "bf16"},
	"--fp16":                                  {"training.precision", "fp16"},
	"--fp4-recipe":                            {"training.precision", "nvfp4"},
	"--use-flash-attn":                        {"execution.attention", "flash"},
	"--grad-reduce-in-bf16":                   {"execution.gradient_dtype", "bf16"},
	"--accumulate-allreduce-grads-in-fp32":    {"execution.gradient_dtype", "fp32"},
	"--cross-entropy-loss-fusion":             {"execution.cross_entropy", "fused"},
	"--moe-enable-deepep":                     {"execution.moe_dispatcher", "deepep"},
	"--use-distributed-optimizer":             {"constraints.layout.zero_stage", int64(1)},
	"--recompute-activations":                 {"constraints.layout.recompute", "selective"},
	"--checkpoint-activations":                {"constraints.layout.recompute", "full"},
	"--moe-pad-expert-input-to-capacity":      {"model.moe.token_drop", true},
	"--dataloader-inter-document-masking":     {"training.data.document_mask", true},
	"--mock-data":                             {"training.data.mock", true},
	"--no-save-optim":                         {"training.checkpoint.save_optimizer", false},
	"--no-save-rng":                           {"training.checkpoint.save_optimizer", false},
	"--use-rope-scaling":                      {"model.position_embedding.scaling.type", "llama3"},
	"--yarn-correction-range-round-to-int":    {"model.position_embedding.scaling.truncate", true},
	"--no-yarn-correction-range-round-to-int": {"model.position_embedding.scaling.truncate", false},
}

// renamed are options whose value stands as it is under another path than that
// of their class.
var renamed = map[string]string{
	"--q-lora-rank": "model.mla.q_lora_rank", "--kv-lora-rank": "model.mla.kv_lora_rank", "--qk-head-dim": "model.mla.qk_nope_head_dim",
	"--qk-pos-emb-head-dim": "model.mla.qk_rope_head_dim", "--v-head-dim": "model.mla.v_head_dim",
	"--mamba-num-heads": "model.mamba.heads", "--mamba-head-dim": "model.mamba.head_dim", "--mamba-state-dim": "model.mamba.state_dim", "--mamba-num-groups": "model.mamba.groups",
	"--linear-num-key-heads": "model.delta_net.key_heads", "--linear-num-value-heads": "model.delta_net.value_heads", "--linear-key-head-dim": "model.delta_net.key_head_dim",
	"--linear-value-head-dim": "model.delta_net.value_head_dim", "--linear-conv-kernel-dim": "model.delta_net.conv_kernel",
	"--rope-scaling-factor": "model.position_embedding.scaling.factor", "--rotary-scaling-factor": "model.position_embedding.scaling.factor",
	"--yarn-original-max-position-embeddings": "model.position_embedding.scaling.original_length", "--yarn-beta-fast": "model.position_embedding.scaling.beta_fast",
	"--yarn-beta-slow": "model.position_embedding.scaling.beta_slow", "--mscale": "model.position_embedding.scaling.mscale", "--mscale-all-dim": "model.position_embedding.scaling.mscale_all_dim",
	"--window-attn-skip-freq": "model.sliding_window.pattern", "--num-query-groups": "model.kv_heads", "--encoder-num-layers": "model.layers",
	"--num-virtual-stages-per-pipeline-rank": "constraints.layout.virtual_pipeline", "--sgd-momentum": "training.optimizer.momentum", "--muon-momentum": "training.optimizer.momentum",
	"--profile-step-start": "training.logging.profile.start_step", "--profile-step-end": "training.logging.profile.end_step",
	"--num-layers-at-start-in-bf16": "training.fp8.bf16_first_layers", "--num-layers-at-end-in-bf16": "training.fp8.bf16_last_layers",
	"--lr-warmup-iters": "training.schedule.warmup_steps", "--lr-wsd-decay-iters": "training.schedule.decay_steps", "--train-iters": "training.steps",
	"--batch-size": "constraints.layout.micro_batch_size",
}

// readers read the options that do not say their argument as it stands.
var readers map[string]func(*reading, *option) outcome

func init() { // they refer to one another
	readers = map[string]func(*reading, *option) outcome{
		"--add-qkv-bias":                           (*reading).qkvBias,
		"--attention-dropout":                      (*reading).dropout,
		"--data-cache-path":                        (*reading).cachePath,
		"--data-path":                              (*reading).blend,
		"--decoder-first-pipeline-num-layers":      (*reading).later,
		"--decoder-last-pipeline-num-layers":       (*reading).later,
		"--distributed-timeout-minutes":            (*reading).later,
		"--distributed-timeout-seconds-after-init": (*reading).later,
		"--embedding-init-method-std":              (*reading).embeddingStd,
		"--eval-interval":                          (*reading).later,
		"--eval-iters":                             (*reading).later,
		"--exit-duration-in-mins":                  (*reading).duration,
		"--finetune":                               (*reading).later,
		"--first-last-layers-bf16":                 (*reading).later,
		"--fp8-format":                             (*reading).fp8,
		"--fp4-format":                             (*reading).fp4,
		"--group-query-attention":                  (*reading).later,
		"--hidden-dropout":                         (*reading).dropout,
		"--hybrid-layer-pattern":                   (*reading).pattern,
		"--hybrid-override-pattern":                (*reading).pattern,
		"--load":                                   (*reading).later,
		"--lr-decay-iters":                         (*reading).later,
		"--lr-decay-samples":                       (*reading).later,
		"--lr-warmup-fraction":                     (*reading).later,
		"--lr-warmup-samples":                      (*reading).later,
		"--lr-wsd-decay-samples":                   (*reading).later,
		"--make-vocab-size-divisible-by":           (*reading).later,
		"--moe-expert-capacity-factor":             (*reading).capacity,
		"--moe-layer-freq":                         (*reading).frequency,
		"--moe-router-pre-softmax":                 (*reading).preSoftmax,
		"--no-load-optim":                          (*reading).later,
		"--no-position-embedding":                  (*reading).noPositions,
		"--num-layers-per-virtual-pipeline-stage":  (*reading).later,
		"--padded-vocab-size":                      (*reading).padded,
		"--pipeline-model-parallel-layout":         (*reading).stages,
		"--pretrained-checkpoint":                  (*reading).later,
		"--profile":                                (*reading).later,
		"--quick-geglu":                            (*reading).quick,
		"--rampup-batch-size":                      (*reading).ramp,
		"--recompute-modules":                      (*reading).modules,
		"--reset-attention-mask":                   (*reading).attentionMask,
		"--rope-type":                              (*reading).ropeType,
		"--rotary-seq-len-interpolation-factor":    (*reading).linear,
		"--save":                                   (*reading).folder,
		"--spec":                                   (*reading).spec,
		"--split":                                  (*reading).split,
		"--tensorboard-dir":                        (*reading).folder,
		"--train-data-path":                        (*reading).blend,
		"--train-samples":                          (*reading).later,
		"--use-precision-aware-optimizer":          (*reading).later,
		"--use-torch-fsdp2":                        (*reading).noArgument,
		"--valid-data-path":                        (*reading).validation,
		"--window-size":                            (*reading).window,
	}
	for name, w := range words {
		readers[name] = func(r *reading, o *option) outcome {
			if o.open {
				return unknown("its value is known only when the script runs")
			}
			v, ok := w.values[o.first()]
			if !ok && o.first() == "auto" || o.first() == "AttnBackend.auto" {
				return left("the choice is left open")
			}
			if !ok {
				return unknown("no value of " + w.path)
			}
			if r.quiet && r.d.Has(w.path) {
				return outcome{}
			}
			r.d.Set(w.path, v, r.at(o.line))
			return outcome{to: w.path}
		}
	}
	for name, m := range marks {
		readers[name] = func(r *reading, o *option) outcome {
			r.d.Set(m.path, m.value, r.at(o.line))
			return outcome{to: m.path}
		}
	}
	for name, path := range renamed {
		readers[name] = func(r *reading, o *option) outcome {
			if o.open {
				return unknown("its value is known only when the script runs")
			}
			result := r.plain(o, path)
			result.to = path
			return result
		}
	}
}

// later marks what is read when all options are known.
func (r *reading) later(o *option) outcome {
	if o.open && !strings.HasPrefix(o.long, "--load") && !strings.HasPrefix(o.long, "--pretrained") {
		return unknown("its value is known only when the script runs")
	}
	return outcome{}
}

func (r *reading) noArgument(*option) outcome { return unknown("ndc has no argument for it") }

func (r *reading) number(o *option) (float64, bool) {
	f, err := strconv.ParseFloat(o.first(), 64)
	return f, err == nil && !o.open && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// dropout has one word for both places; places that differ cannot be said.
func (r *reading) dropout(o *option) outcome {
	f, ok := r.number(o)
	if !ok {
		return unknown("its value is known only when the script runs")
	}
	if r.d.Has("model.dropout") && r.d.Float("model.dropout") != f {
		if r.quiet {
			r.d.Note("model", "not said: "+strings.TrimPrefix(o.long, "--")+" of "+o.first()+", Megatron-LM's default")
		}
		return unknown("the language has one dropout for all places, which was said before")
	}
	r.d.Set("model.dropout", f, r.at(o.line))
	return outcome{}
}

func (r *reading) embeddingStd(o *option) outcome {
	if f, ok := r.number(o); ok && (!r.d.Has("model.init_std") || r.d.Float("model.init_std") == f) {
		r.d.Set("model.init_std", f, r.at(o.line))
		return outcome{}
	}
	return unknown("embeddings start from another distribution than the other weights")
}

func (r *reading) qkvBias(o *option) outcome {
	r.d.Set("model.qkv_bias", true, r.at(o.line))
	return outcome{}
}

func (r *reading) quick(o *option) outcome {
	r.d.Set("model.activation", "swiglu", r.at(o.line))
	r.d.Set("model.activation_alpha", quickGELU, r.at(o.line))
	return outcome{}
}

func (r *reading) noPositions(o *option) outcome {
	if p := r.given["position_embedding_type"]; p != nil && p.first() != "learned_absolute" || r.given["use_rotary_position_embeddings"] != nil {
		return left("the kind of positions is said already")
	}
	r.d.Default("model.position_embedding", "none", r.at(o.line))
	return outcome{}
}

func (r *reading) ropeType(o *option) outcome {
	if o.first() == "yarn" {
		r.d.Set("model.position_embedding.scaling.type", "yarn", r.at(o.line))
	}
	return outcome{to: "model.position_embedding"}
}

func (r *reading) linear(o *option) outcome {
	f, ok := r.number(o)
	if !ok || f < 1 {
		return unknown("no factor")
	}
	r.d.Set("model.position_embedding.scaling.type", "linear", r.at(o.line))
	r.d.Set("model.position_embedding.scaling.factor", f, r.at(o.line))
	return outcome{}
}

// window is the number of keys before a query, beside which it sees itself.
func (r *reading) window(o *option) outcome {
	first, _, _ := strings.Cut(strings.Trim(o.first(), "()[] "), ",")
	n, err := strconv.ParseInt(strings.TrimSpace(first), 10, 64)
	if err != nil || n < 0 {
		return unknown("no window")
	}
	r.d.Set("model.sliding_window.size", n+1, r.at(o.line))
	return outcome{to: "model.sliding_window.size"}
}

func (r *reading) padded(o *option) outcome {
	n, ok := r.number(o)
	if !ok {
		return unknown("its value is known only when the script runs")
	}
	if !r.d.Has("model.vocab_size") {
		r.d.Derive("model.vocab_size", int64(n))
	}
	return outcome{to: "model.vocab_size"}
}

func (r *reading) capacity(o *option) outcome {
	f, ok := r.number(o)
	if !ok || f < 0 {
		return left("no tokens are dropped")
	}
	r.d.Set("model.moe.token_drop", true, r.at(o.line))
	r.d.Set("model.moe.capacity_factor", f, r.at(o.line))
	return outcome{}
}

func (r *reading) preSoftmax(o *option) outcome {
	r.d.Set("model.moe.router.pre_softmax", true, r.at(o.line))
	r.d.Set("model.moe.router.normalize", false, r.at(o.line))
	return outcome{}
}

// modules names what selective recompute repeats.
func (r *reading) modules(o *option) outcome {
	names, ok := megatron.RecomputeModules(o.texts())
	if !ok || o.open {
		return unknown("a module that ndc does not know")
	}
	r.d.Set("constraints.layout.recompute_modules", names, r.at(o.line))
	return outcome{}
}

func (r *reading) fp8(o *option) outcome {
	if o.open {
		return unknown("its value is known only when the script runs")
	}
	r.d.Set("training.precision", "fp8", r.at(o.line))
	return outcome{to: "training.precision"}
}

func (r *reading) fp4(o *option) outcome {
	r.d.Set("training.precision", "nvfp4", r.at(o.line))
	return outcome{to: "training.precision"}
}

func (r *reading) ramp(o *option) outcome {
	for i, name := range []string{"start", "increment", "sequences"} {
		if i >= len(o.values) {
			return unknown("it takes three numbers")
		}
		n, err := strconv.ParseInt(o.values[i].Text, 10, 64)
		if err != nil || n < 1 {
			r.d.RemoveBlock("training.batch_ramp")
			return unknown("its values are known only when the script runs")
		}
		r.d.Set("training.batch_ramp."+name, n, r.at(o.line))
	}
	return outcome{}
}

func (r *reading) attentionMask(*option) outcome {
	return unknown("its mask costs memory that ndc does not count, and Transformer Engine's attention ignores it; training.data.document_mask is the argument from core_v0.19.0 on")
}

func (r *reading) spec(o *option) outcome {
	if strings.Contains(strings.Join(o.texts(), " "), "stack_spec") {
		return left("ndc names the layers of hybrid models itself")
	}
	return unknown("layers of a module of its own")
}

func (r *reading) duration(*option) outcome {
	return left("ndc takes it from slurm.time")
}

func (r *reading) cachePath(o *option) outcome {
	if o.open && strings.HasSuffix(o.first(), "/data-cache") && strings.Contains(o.first(), "BASH_SOURCE") {
		return left("ndc's own place")
	}
	return r.path(o, "training.data.cache_path")
}

// path sets an argument that may name variables of the cluster.
func (r *reading) path(o *option, argument string) outcome {
	text := o.first()
	if !legalPath(text) {
		return unknown("its value is known only when the script runs")
	}
	r.d.Set(argument, text, r.at(o.line))
	return outcome{to: argument}
}

// legalPath reports a path of plain text and variables: no commands, and no
// arguments of the script.
func legalPath(text string) bool {
	return text != "" && !strings.ContainsAny(text, "`()<>|&;*?\n") && !strings.Contains(text, "$(") &&
		!slices.ContainsFunc([]string{"$0", "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$9", "${1", "${2", "${3", "$@", "$*"}, func(s string) bool { return strings.Contains(text, s) })
}

// folder is a path that ndc appends the backend's name to.
func (r *reading) folder(o *option) outcome {
	path := map[string]string{"--save": "training.checkpoint.path", "--tensorboard-dir": "training.logging.tensorboard_path"}[o.long]
	if own, ok := strings.CutSuffix(o.first(), "/"+Kind); ok && len(o.values) == 1 {
		o.values[0].Text = own
	}
	result := r.path(o, path)
	if result.verdict == "" {
		result.why = "ndc appends /" + Kind
	}
	return result
}

func (r *reading) split(o *option) outcome {
	if o.open {
		return unknown("its value is known only when the script runs")
	}
	if !r.quiet || r.d.Has("training.data.validation.interval") {
		r.d.Set("training.data.split", strings.ReplaceAll(o.first(), " ", ""), r.at(o.line))
	}
	return outcome{}
}

// blend reads the sources: one prefix, prefixes, or pairs of weight and prefix.
func (r *reading) blend(o *option) outcome {
	texts := o.texts()
	if len(texts) == 1 {
		texts = strings.Fields(texts[0])
	}
	weight := 1.0
	pairs := len(texts) > 1
	var sources []source
	for _, text := range texts {
		if f, err := strconv.ParseFloat(text, 64); err == nil && pairs {
			weight = f
			continue
		}
		if !legalPath(text) || strings.HasPrefix(text, "-") {
			return unknown("its value is known only when the script runs")
		}
		sources = append(sources, source{path: text, weight: weight})
	}
	if len(sources) == 0 {
		return unknown("no source")
	}
	for i, name := range names(sources) {
		block := draft.Labelled("training.data.source", name)
		r.d.Set(block+".path", sources[i].path, r.at(o.line))
		if pairs {
			r.d.Set(block+".weight", sources[i].weight, r.at(o.line))
		}
	}
	r.d.Set("training.data.format", "megatron", r.at(o.line))
	return outcome{}
}

type source struct {
	path   string
	weight float64
}

// names names sources after their paths. ndc reads sources in the order of
// their names, so that numbers keep the launch's where that is another.
func names(sources []source) []string {
	list := make([]string, len(sources))
	for i, s := range sources {
		list[i] = baseName(s.path)
	}
	if slices.IsSorted(list) && len(slices.Compact(slices.Clone(list))) == len(list) {
		return list
	}
	for i := range list {
		list[i] = fmt.Sprintf("%0*d-%s", len(strconv.Itoa(len(list))), i+1, list[i])
	}
	return list
}

// number is how names of this package begin, which a second import takes off.
var numbered = regexp.MustCompile(`^\d+-`)

func baseName(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	name := parts[len(parts)-1]
	for _, suffix := range []string{"_text_document", "_text_sentence", "_content_document"} {
		name = strings.TrimSuffix(name, suffix)
	}
	if name == "text_document" && len(parts) > 1 {
		name = parts[len(parts)-2]
	}
	name = numbered.ReplaceAllString(strings.NewReplacer("$", "", "{", "", "}", "").Replace(name), "")
	if name == "" {
		return "data"
	}
	return name
}

func (r *reading) validation(o *option) outcome {
	if len(o.values) != 1 {
		return unknown("validation has one source in the language")
	}
	return r.path(o, "training.data.validation.path")
}
