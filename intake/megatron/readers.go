package megatron

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/intake/draft"
)

// quickGELU is the alpha of x·sigmoid(alpha·x) that --quick-geglu means
// (megatron/core/fusions/fused_bias_geglu.py).
const quickGELU = 1.702

// readers read the options that do not say their argument as it stands.
var readers func() map[string]func(*reading, *option) outcome

func init() { readers = sync.OnceValue(allReaders) } // they refer to one another

func allReaders() map[string]func(*reading, *option) outcome {
	all := map[string]func(*reading, *option) outcome{
		"--account-for-embedding-in-pipeline-split": (*reading).later,
		"--account-for-loss-in-pipeline-split":      (*reading).later,
		"--add-qkv-bias":                            (*reading).qkvBias,
		"--attention-dropout":                       (*reading).dropout,
		"--cuda-graph-modules":                      (*reading).graphScope,
		"--cuda-graph-scope":                        (*reading).graphScope,
		"--data-cache-path":                         (*reading).cachePath,
		"--data-path":                               (*reading).blend,
		"--decoder-first-pipeline-num-layers":       (*reading).later,
		"--decoder-last-pipeline-num-layers":        (*reading).later,
		"--distributed-timeout-minutes":             (*reading).later,
		"--distributed-timeout-seconds-after-init":  (*reading).later,
		"--embedding-init-method-std":               (*reading).embeddingStd,
		"--enable-cuda-graph":                       (*reading).localGraphs,
		"--eval-interval":                           (*reading).later,
		"--eval-iters":                              (*reading).later,
		"--exit-duration-in-mins":                   (*reading).duration,
		"--finetune":                                (*reading).later,
		"--first-last-layers-bf16":                  (*reading).later,
		"--fp8-format":                              (*reading).fp8,
		"--fp4-format":                              (*reading).fp4,
		"--group-query-attention":                   (*reading).later,
		"--hidden-dropout":                          (*reading).dropout,
		"--hybrid-attention-ratio":                  (*reading).ratio,
		"--hybrid-layer-pattern":                    (*reading).pattern,
		"--hybrid-mlp-ratio":                        (*reading).ratio,
		"--hybrid-override-pattern":                 (*reading).pattern,
		"--is-hybrid-model":                         (*reading).isHybrid,
		"--load":                                    (*reading).later,
		"--log-memory-interval":                     (*reading).memory,
		"--log-num-zeros-in-grad":                   (*reading).norms,
		"--log-params-norm":                         (*reading).norms,
		"--lr-decay-iters":                          (*reading).later,
		"--lr-decay-samples":                        (*reading).later,
		"--lr-warmup-fraction":                      (*reading).later,
		"--lr-warmup-samples":                       (*reading).later,
		"--lr-wsd-decay-samples":                    (*reading).later,
		"--make-vocab-size-divisible-by":            (*reading).later,
		"--moe-expert-capacity-factor":              (*reading).capacity,
		"--moe-layer-freq":                          (*reading).frequency,
		"--moe-layer-recompute":                     (*reading).later,
		"--moe-router-pre-softmax":                  (*reading).preSoftmax,
		"--no-load-optim":                           (*reading).later,
		"--no-position-embedding":                   (*reading).noPositions,
		"--no-save-rng":                             (*reading).noRandomState,
		"--num-layers-per-virtual-pipeline-stage":   (*reading).later,
		"--padded-vocab-size":                       (*reading).padded,
		"--pipeline-model-parallel-layout":          (*reading).stages,
		"--pretrained-checkpoint":                   (*reading).later,
		"--profile":                                 (*reading).later,
		"--profile-ranks":                           (*reading).traced,
		"--quick-geglu":                             (*reading).quick,
		"--rampup-batch-size":                       (*reading).ramp,
		"--recompute-modules":                       (*reading).modules,
		"--rerun-mode":                              (*reading).rerun,
		"--reset-attention-mask":                    (*reading).attentionMask,
		"--rope-type":                               (*reading).ropeType,
		"--rotary-seq-len-interpolation-factor":     (*reading).linear,
		"--save":                                    (*reading).folder,
		"--sharp-enabled-group":                     (*reading).sharp,
		"--spec":                                    (*reading).spec,
		"--split":                                   (*reading).split,
		"--step-batch-size-schedule":                (*reading).batches,
		"--tensorboard-dir":                         (*reading).folder,
		"--timing-log-level":                        (*reading).timers,
		"--train-data-path":                         (*reading).blend,
		"--train-samples":                           (*reading).later,
		"--use-precision-aware-optimizer":           (*reading).later,
		"--use-pytorch-profiler":                    (*reading).later,
		"--use-sharp":                               (*reading).sharp,
		"--use-torch-fsdp2":                         (*reading).torchFSDP,
		"--valid-data-path":                         (*reading).validation,
		"--window-size":                             (*reading).window,
	}
	for name, row := range rows() {
		if row.Argument != "" {
			all[name] = row.read
		}
	}
	return all
}

// later marks what is read when all options are known.
func (r *reading) later(o *option) outcome {
	if o.open && !strings.HasPrefix(o.long, "--load") && !strings.HasPrefix(o.long, "--pretrained") {
		return unknown(draft.OnlyRunKnows)
	}
	return outcome{}
}

func (r *reading) noArgument(*option) outcome { return unknown("ndc has no argument for it") }

// torchFSDP shards parameters, gradients and optimizer by torch, which ndc does not emit for
// Megatron-LM; which of them a job shards is left open.
func (r *reading) torchFSDP(o *option) outcome {
	r.unread["constraints.layout.zero_stage"] = true
	return r.noArgument(o)
}

func (r *reading) number(o *option) (float64, bool) {
	f, err := strconv.ParseFloat(o.first(), 64)
	return f, err == nil && !o.open && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// dropout has one word for both places; places that differ cannot be said.
func (r *reading) dropout(o *option) outcome {
	f, ok := r.number(o)
	if !ok {
		return unknown(draft.OnlyRunKnows)
	}
	if r.d.Has("model.dropout") && r.d.Float("model.dropout") != f {
		if r.quiet {
			r.d.Note("model", draft.NotSaid+strings.TrimPrefix(o.long, "--")+" of "+o.first()+", Megatron-LM's default")
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

// noRandomState goes with --no-save-optim, as ndc emits it.
func (r *reading) noRandomState(*option) outcome {
	if r.words["--no-save-optim"] {
		return left("it goes with --no-save-optim")
	}
	return unknown("the language saves random states with the optimizer or neither")
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
	if f == 1 {
		return left("positions are as they are without it")
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
		return unknown(draft.OnlyRunKnows)
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
	r.d.Default("model.moe.token_drop", true, r.at(o.line)) // which an option of a fork may have said before
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

// graphScope checks what CUDA graphs capture, which graphs settles.
func (r *reading) graphScope(o *option) outcome {
	_, other := megatron.GraphModules(o.texts())
	if o.open || len(other) > 0 && !slices.Equal(other, []string{"full"}) && !slices.Equal(other, []string{"full_iteration"}) {
		return unknown("a scope of graphs that ndc does not know")
	}
	return outcome{}
}

// localGraphs is the former name of --cuda-graph-impl local, which graphs settles.
func (r *reading) localGraphs(o *option) outcome {
	r.d.Set("execution.cuda_graphs", "local", r.at(o.line))
	return outcome{to: "execution.cuda_graphs"}
}

func (r *reading) fp8(o *option) outcome {
	if o.open {
		return unknown(draft.OnlyRunKnows)
	}
	r.fewer = &draft.Value{Place: r.at(o.line), Value: "fp8"}
	return outcome{to: "training.precision"}
}

func (r *reading) fp4(o *option) outcome {
	r.fewer = &draft.Value{Place: r.at(o.line), Value: "nvfp4"}
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
	if r.table.Has("--step-batch-size-schedule") {
		return outcome{why: r.version + " reads it and does not follow it; the batch of the job grows"}
	}
	return outcome{}
}

// batches reads a list of batch sizes, each with the tokens after which it begins:
// batches and tokens have to rise by equal parts, as those of batch_ramp do.
func (r *reading) batches(o *option) outcome {
	if o.open {
		return unknown(draft.OnlyRunKnows)
	}
	const uneven = "the language has batches that rise by equal parts only"
	var after []float64
	var sizes []int64
	for _, word := range strings.Fields(strings.ReplaceAll(o.first(), ",", " ")) {
		tokens, size, _ := strings.Cut(word, ":")
		t, ok := magnitude(tokens)
		n, ok2 := magnitude(size)
		if !ok || !ok2 || n < 1 || len(sizes) == 0 && t != 0 {
			return unknown("it is no list of tokens:sequences from 0 on")
		}
		after, sizes = append(after, t), append(sizes, int64(n))
	}
	if len(sizes) == 0 {
		return unknown("it names no batch")
	}
	parts := len(sizes) - 1
	if parts > 0 && sizes[1] <= sizes[0] {
		return unknown(uneven)
	}
	near := max(after[parts]/1000, float64(r.integer("seq_length", "--seq-length"))) // a sequence is a whole one
	for i := range sizes {
		if sizes[i]-sizes[0] != int64(i)*(sizes[parts]-sizes[0])/int64(max(parts, 1)) ||
			math.Abs(after[i]-after[parts]*float64(i)/float64(max(parts, 1))) > near {
			return unknown(uneven)
		}
	}
	r.d.Set("training.global_batch_size", sizes[parts], r.at(o.line))
	if parts == 0 {
		return outcome{to: "training.global_batch_size"}
	}
	r.d.Set("training.batch_ramp.start", sizes[0], r.at(o.line))
	r.d.Set("training.batch_ramp.increment", sizes[1]-sizes[0], r.at(o.line))
	r.rampTokens = after[parts]
	return outcome{}
}

// magnitude reads a number with K, M, B or T behind it.
func magnitude(text string) (float64, bool) {
	scale := 1.0
	for suffix, s := range map[string]float64{"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12} {
		if rest, ok := strings.CutSuffix(strings.ToUpper(text), suffix); ok {
			text, scale = rest, s
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	return f * scale, err == nil && f >= 0 && f*scale < 1e17
}

func (r *reading) attentionMask(*option) outcome {
	return unknown("its mask costs memory that ndc does not count, and Transformer Engine's attention ignores it; training.data.document_mask is the argument from core_v0.19.0 on")
}

// ratio leaves it to the release where attention and MLPs stand in a hybrid model.
func (r *reading) ratio(*option) outcome {
	if r.words["--hybrid-override-pattern"] || r.words["--hybrid-layer-pattern"] {
		return left("the pattern of layers says it")
	}
	return unknown("the release works out a pattern of layers, which --hybrid-override-pattern says")
}

func (r *reading) isHybrid(*option) outcome { return left("the pattern of layers says it") }

func (r *reading) spec(o *option) outcome {
	if strings.Contains(strings.Join(o.texts(), " "), "stack_spec") {
		return left("ndc names the layers of hybrid models itself")
	}
	const why = "layers of a module of its own"
	r.foreign = true
	r.d.Note("model", draft.NotSaid+why+", "+strings.Join(o.texts(), " "))
	return outcome{verdict: draft.Unknown, why: why, noted: true}
}

func (r *reading) duration(*option) outcome {
	return left("ndc takes it from slurm.time")
}

func (r *reading) cachePath(o *option) outcome {
	if o.isOwn("/data-cache") {
		return left("ndc's own place")
	}
	return r.path(o, "training.data.cache_path")
}

// isOwn reports a path beside the script, which the launch that ndc emits finds.
func (o *option) isOwn(place string) bool {
	return o.open && strings.HasSuffix(o.first(), place) && strings.Contains(o.first(), "BASH_SOURCE")
}

// path sets an argument that may name variables of the cluster.
func (r *reading) path(o *option, argument string) outcome {
	text := o.first()
	if !legalPath(text) {
		return unknown(draft.OnlyRunKnows)
	}
	r.d.Set(argument, text, r.at(o.line))
	return outcome{to: argument}
}

// reference is a variable of the cluster in a path.
var reference = regexp.MustCompile(`\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})`)

// legalPath reports a path of plain text and variables: no commands, no lists and
// no arguments of the script.
func legalPath(text string) bool {
	return text != "" && !strings.ContainsAny(reference.ReplaceAllString(text, ""), "$`()<>|&;*?\n")
}

// timers are on or off in the language.
func (r *reading) timers(o *option) outcome {
	level, ok := r.number(o)
	if !ok || level < 1 {
		return left("no part of a step is timed")
	}
	r.d.Set("training.logging.timers", true, r.at(o.line))
	if level > 1 { // of every operation, which ndc does not time by itself
		r.passed = append(r.passed, o.long, o.first())
		return outcome{verdict: draft.Passed, why: "training.logging.timers is level 1: parts of a step"}
	}
	return outcome{to: "training.logging.timers"}
}

func (r *reading) memory(o *option) outcome {
	r.d.Set("training.logging.memory", true, r.at(o.line))
	return outcome{to: "training.logging.memory", why: "ndc reports it with every line"}
}

func (r *reading) norms(o *option) outcome {
	r.d.Set("training.logging.norms", true, r.at(o.line))
	return outcome{to: "training.logging.norms"}
}

// rerun takes the modes with which a release starts: its state machine knows the
// third by another name (megatron/core/rerun_state_machine.py).
func (r *reading) rerun(o *option) outcome {
	if mode := o.first(); mode == "validate_results" || mode == "disabled" {
		r.d.Set("training.rerun_mode", mode, r.at(o.line))
		return outcome{}
	}
	return unknown("no release starts with this mode")
}

// sharp is two options in one; the group is that of data parallelism if none is said.
func (r *reading) sharp(o *option) outcome {
	switch {
	case !r.has("use_sharp"):
		return left("the switches add nothing up")
	case o.first() == "dp_replica":
		r.d.Set("execution.sharp", "replicas", r.at(o.line))
	default:
		r.d.Default("execution.sharp", "data_parallel", r.at(o.line))
	}
	return outcome{to: "execution.sharp"}
}

// lateOptions are those whose reading goes by what other options say, wherever these stand.
var lateOptions = []string{"--embedding-init-method-std", "--no-position-embedding", "--norm-topk-prob", "--profile-ranks", "--sharp-enabled-group", "--use-nccl-ub"}

// traced are the ranks of a profile. Without any, all are.
func (r *reading) traced(o *option) outcome {
	var ranks []int64
	for _, text := range o.texts() {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || o.open {
			return unknown("its values are known only when the script runs")
		}
		ranks = append(ranks, n)
	}
	if !r.has("profile") {
		return left("nothing is traced")
	}
	r.d.Set("training.logging.profile.ranks", ranks, r.at(o.line))
	return outcome{}
}

// folder is a path that ndc appends the backend's name to.
func (r *reading) folder(o *option) outcome {
	if o.isOwn("/logs/tensorboard") {
		return left("ndc's own place")
	}
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
		return unknown(draft.OnlyRunKnows)
	}
	if !r.quiet || r.d.Has("training.data.validation.interval") {
		r.d.Set("training.data.split", strings.ReplaceAll(o.first(), " ", ""), r.at(o.line))
	}
	return outcome{}
}

// blend reads the sources. Those without weights are read in proportion to their
// sizes (BlendedMegatronDatasetBuilder), which no file says.
func (r *reading) blend(o *option) outcome {
	sources, weighted := prefixes(o)
	if len(sources) == 0 {
		return unknown("no source")
	}
	if slices.ContainsFunc(sources, func(s source) bool { return !legalPath(s.path) || strings.HasPrefix(s.path, "-") }) {
		return unknown(draft.OnlyRunKnows)
	}
	unsaid := !weighted && len(sources) > 1
	for i, name := range names(sources) {
		block := draft.Labelled("training.data.source", name)
		r.d.Set(block+".path", sources[i].path, r.at(o.line))
		switch {
		case unsaid:
			r.d.SetNote(block+".weight", sources[i].weight, "the launch reads each source once")
		case weighted:
			r.d.Set(block+".weight", sources[i].weight, r.at(o.line))
		}
	}
	r.d.Set("training.data.format", "megatron", r.at(o.line))
	if unsaid {
		return unknown("without weights each source counts by its size, and in a job by its weight: give each the number of its tokens")
	}
	return outcome{}
}

// prefixes are the sources of a list: one prefix, prefixes, or pairs of weight and prefix.
func prefixes(o *option) (sources []source, weighted bool) {
	texts := o.texts()
	if len(texts) == 1 {
		texts = strings.Fields(texts[0])
	}
	weight := 1.0
	for _, text := range texts {
		if f, err := strconv.ParseFloat(text, 64); err == nil && len(texts) > 1 {
			weight, weighted = f, true
			continue
		}
		sources = append(sources, source{path: text, weight: weight})
	}
	return sources, weighted
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
	sources, _ := prefixes(o)
	if len(sources) != 1 {
		return unknown("validation has one source in the language")
	}
	if !legalPath(sources[0].path) {
		return unknown(draft.OnlyRunKnows)
	}
	r.d.Set("training.data.validation.path", sources[0].path, r.at(o.line))
	return outcome{to: "training.data.validation.path"}
}
