package megatron

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/intake/draft"
	language "github.com/ndc-dev/ndc/lang/schema"
	"github.com/ndc-dev/ndc/lang/units"
)

// complete settles what several options say together.
func (r *reading) complete() {
	r.attention()
	r.widths()
	r.deltaNets()
	r.hybrid()
	r.positions()
	r.experts()
	r.vocabulary()
	r.architecture()
	r.pipeline()
	r.noops()
	r.sharding()
	r.recompute()
	r.execution()
	r.precision()
	r.pairs()
	r.optimizer()
	r.rollouts()
	r.batch()
	r.schedule()
	r.data()
	r.checkpoint()
	r.times()
	r.elsewhere()
	if r.own && !r.pretrain {
		r.d.Note("constraints.layout", "what the launch does not say is as Megatron-LM has it; the program that it starts may set others")
	}
}

// batch is that of a launch which says none: one micro-batch for every replica, whose number
// the launcher knows (arguments.py: validate_args). A program on top may have another default.
func (r *reading) batch() {
	const batch = "training.global_batch_size"
	if r.pretrain && !r.d.Has(batch) && !r.unread[batch] && !slices.Contains(r.d.Asked(), batch) && !r.words["--global-batch-size"] {
		r.unless("constraints.layout.micro_batches", int64(1))
	}
}

// elsewhere takes back what only the release's defaults say of a model that is said
// elsewhere: in a checkpoint, or by an option of a program on top of Megatron-LM.
func (r *reading) elsewhere() {
	if !r.isElsewhere() {
		return
	}
	for _, path := range r.d.Paths() {
		if v, _ := r.d.Get(path); strings.HasPrefix(path, "model.") && v.Line == 0 {
			r.d.Remove(path)
		}
	}
}

// isElsewhere reports a model that is said so.
func (r *reading) isElsewhere() bool {
	says := r.words["--num-layers"] || r.words["--hidden-size"]
	return !r.d.Has("model.layers") && !r.d.Has("model.hidden_size") && (r.words["--use-checkpoint-args"] || !says && !r.pretrain)
}

// follow are the arguments that say nothing without another one.
var follow = map[string][]string{
	"constraints.layout.pipeline_parallel": {"constraints.layout.virtual_pipeline", "constraints.layout.stage_layers", "constraints.layout.pipeline_schedule"},
	"constraints.layout.virtual_pipeline":  {"constraints.layout.stage_layers", "constraints.layout.pipeline_schedule"},
	"constraints.layout.stage_layers":      {"constraints.layout.virtual_pipeline", "constraints.layout.pipeline_schedule"},
	"constraints.layout.recompute":         {"constraints.layout.recompute_modules", "constraints.layout.recompute_method", "constraints.layout.recompute_layers"},
	"execution.overlap_gradient_reduce":    {"execution.overlap_parameter_gather"}, // arguments.py refuses it alone
	"constraints.layout.zero_stage":        {"constraints.layout.data_parallel_replicate"},
	"model.mlp_bias":                       {"model.attention_bias"}, // one option switches both
}

// labelled are the blocks of a job by whose label something else is trained.
var labelled = []string{"model.position_embedding", "training.optimizer", "training.schedule"}

// ask takes back what was made of options that are there and could not be read,
// such as the release's defaults: a layout is not pinned by these, and what is
// trained has to be said.
func (r *reading) ask() {
	silent := func(path string) bool { // no option that was read says it
		v, ok := r.d.Get(path)
		return !ok || v.Line == 0
	}
	for argument, unread := range r.unread {
		if !unread || !silent(argument) {
			continue
		}
		for _, path := range append([]string{argument}, follow[argument]...) {
			switch {
			case !silent(path):
			case slices.Contains(labelled, path):
				r.set(path, draft.Label(r.unreadWords[path]))
			case strings.HasPrefix(path, "constraints.layout."), strings.HasPrefix(path, "execution."), path == "training.precision":
				r.d.Withdraw(path, "it goes with an option that is not read")
			case strings.HasPrefix(path, "training.optimizer."), path == "training.schedule.decay_shape" && r.d.Has(path), strings.HasPrefix(path, "model.") && strings.Count(path, ".") == 1,
				strings.HasPrefix(path, "model.moe.") && r.d.HasBlock("model.moe"), strings.HasPrefix(path, "model.") && r.d.Has(path):
				if a, _ := language.At(path); a != nil && (path != "model.max_positions" || r.d.Text("model.position_embedding") == "learned") {
					r.d.Remove(path)
					r.d.Ask(path)
				}
			}
		}
	}
}

// has reports whether the launch sets an attribute.
func (r *reading) has(dest string) bool { return r.given[dest] != nil }

// set says what follows, without a line of its own.
func (r *reading) set(path string, v any) { r.d.Set(path, v, draft.Place{}) }

// unless says a value where none was said.
func (r *reading) unless(path string, v any) { r.d.Default(path, v, draft.Place{}) }

// defaultOf is the release's default of an option, as a number.
func (r *reading) defaultOf(name string, otherwise float64) float64 {
	entry, _ := r.table.Lookup(name)
	if f, ok := entry.Default.(float64); ok {
		return f
	}
	return otherwise
}

// integer is the value of an option, or its default.
func (r *reading) integer(dest, name string) int64 {
	if o := r.given[dest]; o != nil {
		if n, err := strconv.ParseInt(o.first(), 10, 64); err == nil {
			return n
		}
		return 0
	}
	return int64(r.defaultOf(name, 0))
}

func (r *reading) attention() {
	biased := !r.has("add_bias_linear") && !r.has("disable_bias_linear")
	if o := r.given["add_bias_linear"]; o != nil && o.long != "--disable-bias-linear" {
		biased = true
	}
	r.unless("model.mlp_bias", biased)
	r.unless("model.attention_bias", biased)
	r.unless("model.tied_embeddings", true)
	r.unless("model.activation", "gelu")
	if r.d.Has("model.mla") {
		r.d.Remove("model.mla")
		r.d.Remove("model.qk_norm")
		r.d.Remove("model.head_dim")
		r.d.Leave("model.qkv_bias", "latent attention has its projections without") // multi_latent_attention.py
		if r.d.Remove("model.kv_heads"); r.d.Int("model.attention_heads") > 0 {
			r.set("model.kv_heads", r.d.Int("model.attention_heads"))
		}
		for _, name := range []string{"--kv-lora-rank", "--qk-head-dim", "--qk-pos-emb-head-dim", "--v-head-dim"} {
			r.unless(rows()[name].Argument, int64(r.defaultOf(name, 0)))
		}
		return
	}
	r.d.RemoveBlock("model.mla")
	r.unless("model.qk_norm", false)
	if !r.has("group_query_attention") {
		r.d.Remove("model.kv_heads")
	} else {
		r.unless("model.kv_heads", int64(r.defaultOf("--num-query-groups", 1)))
	}
	if !r.d.Has("model.sliding_window.size") {
		r.d.RemoveBlock("model.sliding_window")
	}
}

// widths gives the MLP the width that Megatron-LM gives it where none is said:
// four times the layer's, less a third where it is gated (arguments.py); or the one of a
// program on top of it.
func (r *reading) widths() {
	hidden := r.d.Int("model.hidden_size")
	if hidden <= 0 || r.has("ffn_hidden_size") {
		return
	}
	width := 4 * hidden
	if r.has("swiglu") {
		width = width * 2 / 3 / 64 * 64
	}
	for _, p := range programs() {
		if p.Width > 0 && r.words[p.Option] {
			width = p.Width * hidden
		}
	}
	r.unless("model.ffn_hidden_size", width)
}

// hybrid describes the mixers that the pattern of layers has, and no others.
func (r *reading) hybrid() {
	d, pattern := r.d, r.d.Text("model.layer_pattern")
	for block, kind := range map[string]struct{ letter, options string }{
		"model.mamba":     {"M", "--mamba-"},
		"model.delta_net": {"G", "--linear-"},
	} {
		if !strings.Contains(pattern, kind.letter) {
			if r.foreign && slices.ContainsFunc(d.Paths(), func(p string) bool {
				v, _ := d.Get(p)
				return v.Line > 0 && strings.HasPrefix(p, block+".")
			}) { // layers of the fork's own module, which has them somewhere
				d.Ask("model.layer_pattern")
				continue
			}
			d.RemoveBlock(block)
			continue
		}
		for name, row := range rows() {
			if strings.HasPrefix(name, kind.options) {
				if n := r.defaultOf(name, 0); n > 0 {
					r.unless(row.Argument, int64(n))
				}
			}
		}
	}
	if width := d.Int("model.mamba.head_dim"); width > 0 && !r.has("mamba_num_heads") && d.Int("model.hidden_size") > 0 {
		r.unless("model.mamba.heads", 2*d.Int("model.hidden_size")/width) // mamba_mixer.py: twice the layer's width
	}
}

func (r *reading) positions() {
	const rope, scaling = "model.position_embedding", "model.position_embedding.scaling"
	const alone = "latent attention scales its positions by --rope-type yarn alone"
	d := r.d
	if o := r.given["use_rotary_position_embeddings"]; o != nil { // arguments.py: whatever type is said
		d.Set(rope, "rope", r.at(o.line))
	}
	if d.Text(rope) != "rope" {
		kind, said := d.Get(rope)
		d.RemoveBlock(rope)
		if said {
			d.Set(rope, kind.Value, kind.Place)
		}
		return
	}
	d.Leave("training.data.reset_position_ids", "rotary positions count from the start of the sequence whatever it says") // rotary_pos_embedding.py
	r.unless(rope+".theta", r.defaultOf("--rotary-base", 10000))
	r.unless(rope+".partial", r.defaultOf("--rotary-percent", 1))
	latent := d.HasBlock("model.mla")
	yarn := d.Text(scaling+".type") == "yarn"
	if o := r.given["position_embedding_type"]; o != nil && o.first() == "yarn" {
		yarn = true
	}
	if latent { // by the type of its own, whatever else is said (multi_latent_attention.py)
		kind := r.given["rope_type"]
		yarn = kind == nil || kind.first() == "yarn" // the default (MLATransformerConfig.rope_type)
		if yarn && r.has("use_rope_scaling") {
			d.Leave(scaling+".type", alone)
		}
	}
	switch {
	case yarn:
		d.Set(scaling+".type", "yarn", draft.Place{})
		r.unless(scaling+".factor", r.defaultOf("--rotary-scaling-factor", 1))
		r.unless(scaling+".original_length", int64(4096)) // MLATransformerConfig.original_max_position_embeddings
		r.unless(scaling+".mscale", r.defaultOf("--mscale", 1))
		r.unless(scaling+".mscale_all_dim", r.defaultOf("--mscale-all-dim", 0))
		if d.Float(scaling+".factor") == 1 {
			d.RemoveBlock(scaling)
		}
	case latent:
		for _, path := range d.Paths() {
			if strings.HasPrefix(path, scaling+".") {
				d.Leave(path, alone)
			}
		}
		d.RemoveBlock(scaling)
	case d.Text(scaling+".type") == "llama3": // megatron/core/models/common/embeddings/rotary_pos_embedding.py
		r.unless(scaling+".factor", r.defaultOf("--rope-scaling-factor", 8))
		r.unless(scaling+".original_length", int64(8192))
		r.unless(scaling+".low_frequency_factor", 1.0)
		r.unless(scaling+".high_frequency_factor", 4.0)
	case d.Text(scaling+".type") != "linear":
		d.RemoveBlock(scaling)
	}
}

func (r *reading) experts() {
	const moe, router = "model.moe", "model.moe.router"
	d := r.d
	several := r.unreadWords[moe+".experts"]                                                     // by layer, as a fork has them
	if (r.has("num_experts") || several != "") && r.unread[moe+".experts"] && !r.isElsewhere() { // how many there are, no file says
		d.Ask(moe + ".experts")
		if strings.Contains(several, " ") {
			d.Note(moe, draft.NotSaid+"experts whose number differs by layer, "+several)
		}
	} else if d.Int(moe+".experts") <= 1 {
		if r.unread[moe+".experts"] {
			d.Note("model", draft.NotSaid+"experts, whose number is not read")
		}
		d.RemoveBlock(moe)
		for _, path := range []string{"execution.moe_dispatcher", "constraints.layout.expert_parallel", "constraints.layout.expert_tensor_parallel"} {
			if v, _ := d.Get(path); v.Line == 0 || !r.isElsewhere() { // it says how experts are spread that another file has
				d.Remove(path)
			}
		}
		return
	}
	if width := d.Int("model.ffn_hidden_size"); width > 0 {
		r.unless(moe+".expert_ffn_hidden_size", width)
	}
	if width, one := d.Int(moe+".shared_expert_ffn_hidden_size"), d.Int(moe+".expert_ffn_hidden_size"); width > 0 {
		n := int64(1)
		if one > 0 && width%one == 0 {
			n = width / one
		}
		r.set(moe+".shared_experts", n)
	}
	if d.Has(moe+".token_drop") && !d.Bool(moe+".token_drop") {
		d.Leave(moe+".capacity_factor", "no tokens are dropped")
	}
	r.unless(router+".dtype", "bf16")
	single := d.Int(moe+".top_k") == 1 && d.Text(router+".score") == "sigmoid" // whose score stays as it is (moe_utils.py)
	r.unless(router+".normalize", !single)
	if d.Text(router+".score") == "sigmoid" { // sigmoids have no order of softmax and choice, and several are always normalised
		d.Remove(router + ".pre_softmax")
		r.set(router+".normalize", !single)
	}
	// One expert is weighed by its score among all (DeepSpeed 0.19.8, moe/sharded_moe.py:
	// top1gating), or each of several (MegaBlocks 78eea65, layers/router.py: LearnedRouter;
	// Megatron-DeepSpeed f4157bea, megatron/model/transformer.py: SwitchMLP).
	if r.words["--topk"] && d.Int(moe+".top_k") == 1 || r.words["--moe-num-experts"] || r.words["--num-experts-switch"] {
		r.set(router+".pre_softmax", true)
		r.set(router+".normalize", false)
	}
	if d.Bool("model.mlp_bias") { // router.py: the gate's bias goes with add_bias_linear
		r.set(router+".bias", true)
	}
	r.balance()
	if d.Float(router+".scaling_factor") == 0 {
		d.Remove(router + ".scaling_factor")
	}
	r.dispatcher()
	r.unless("constraints.layout.expert_parallel", int64(1))
	if v, _ := d.Get("constraints.layout.expert_parallel"); r.has("moe_tp_extend_ep") && d.Int("constraints.layout.tensor_parallel") > 1 {
		d.Set("constraints.layout.expert_parallel", d.Int("constraints.layout.expert_parallel")*d.Int("constraints.layout.tensor_parallel"), v.Place)
	}
	if r.words["--moe-expert-parallel-size"] && !r.words["--enable-expert-tensor-parallelism"] { // Megatron-DeepSpeed's layers.py keeps them whole
		r.unless("constraints.layout.expert_tensor_parallel", int64(1))
	}
	r.unless("constraints.layout.expert_tensor_parallel", max(d.Int("constraints.layout.tensor_parallel"), 1))
}

// dispatcher settles what sends tokens to experts: a backend acts with the type
// that has some.
func (r *reading) dispatcher() {
	const path = "execution.moe_dispatcher"
	kind, backend := r.given["moe_token_dispatcher_type"], r.given["moe_flex_dispatcher_backend"]
	r.unless(path, "allgather")
	switch {
	case kind == nil:
		r.set(path, "allgather")
	case !kind.open && kind.first() != "flex":
		r.d.Set(path, kind.first(), r.at(kind.line))
	case !kind.open && backend != nil:
		if v, ok := rows()["--moe-flex-dispatcher-backend"].Values[backend.first()]; ok {
			r.d.Set(path, v, r.at(backend.line))
		}
	}
}

// balance settles what keeps experts evenly loaded: a bias, with a loss by
// sequence beside it, or a loss with a weight.
func (r *reading) balance() {
	const router = "model.moe.router"
	d := r.d
	kind := ""
	if o := r.given["moe_router_load_balancing_type"]; o != nil {
		kind = o.first()
	}
	biased := r.has("moe_router_enable_expert_bias")
	weight := d.Float(router + ".aux_coefficient")
	if biased {
		r.set(router+".balance", "bias")
	}
	switch {
	case biased && weight > 0 && kind != "seq_aux_loss" && kind != "none":
		const why = "beside a bias, the language has a loss by sequence alone"
		d.Note(router, draft.NotSaid+"an aux_loss over the batch beside the bias")
		d.Withdraw(router+".aux_coefficient", why)
		for i := range d.Findings {
			if f := &d.Findings[i]; f.Verdict == draft.Mapped && f.To == router+".balance" && f.Name == "--moe-router-load-balancing-type" {
				f.Verdict, f.To, f.Why = draft.Unknown, "", why
			}
		}
	case biased && kind == "none":
		d.Leave(router+".aux_coefficient", "the launch has no balancing loss")
	case !biased && weight == 0:
		r.set(router+".balance", "none")
		d.Remove(router + ".aux_coefficient")
	}
	if !biased {
		d.Remove(router + ".bias_update_rate")
	}
}

// vocabulary settles how many rows the embedding has, where that is not what
// ndc would make of it.
func (r *reading) vocabulary() {
	d := r.d
	if o := r.given["padded_vocab_size"]; o != nil && d.Has("model.vocab_size") {
		parts := 128 * max(d.Int("constraints.layout.tensor_parallel"), 1)
		if n, ok := r.number(o); ok && int64(n) != (d.Int("model.vocab_size")+parts-1)/parts*parts {
			r.set("model.padded_vocab_size", int64(n))
		}
	}
	if o := r.given["make_vocab_size_divisible_by"]; o != nil && !d.Has("model.vocab_size") && !r.has("padded_vocab_size") && o.first() != "128" {
		d.Withdraw("model.padded_vocab_size", "how many rows the embedding has goes with the vocabulary, which is not known")
	}
	if o := r.given["make_vocab_size_divisible_by"]; o != nil && d.Has("model.vocab_size") && !r.has("padded_vocab_size") {
		n, err := strconv.ParseInt(o.first(), 10, 64)
		parts := n * max(d.Int("constraints.layout.tensor_parallel"), 1)
		if err == nil && n > 0 && parts > 0 && parts < 1<<24 && n != 128 {
			size := d.Int("model.vocab_size")
			r.set("model.padded_vocab_size", (size+parts-1)/parts*parts)
		}
	}
}

// architecture names the family of models by what the layers compute.
func (r *reading) architecture() {
	d := r.d
	name := "llama"
	switch {
	case r.trains != "":
		name = r.trains
	case strings.Contains(d.Text("model.layer_pattern"), "G"):
		name = "qwen3_next"
	case d.Has("model.layer_pattern"):
		name = "nemotron_h"
	case d.HasBlock("model.mla"):
		name = "deepseek_v3"
	case d.Bool("model.attention_sinks"):
		name = "gpt_oss"
	case d.HasBlock("model.moe") && d.Text("model.moe.router.score") == "sigmoid" && d.Bool("model.qkv_bias"):
		name = "glm4_moe"
	case d.HasBlock("model.moe") && d.Bool("model.qk_norm"):
		name = "qwen3_moe"
	case d.HasBlock("model.moe"):
		name = "mixtral"
	case d.Text("model.activation") == "gelu" || d.Text("model.normalization") == "layernorm":
		name = "gpt"
	case d.Bool("model.qkv_bias"):
		name = "qwen2"
	case d.Bool("model.qk_norm"):
		name = "qwen3"
	}
	d.Derive("model.architecture", name)
	if !d.Bool("model.attention_sinks") {
		d.Remove("model.attention_sinks")
	}
	if d.Int("model.mtp_layers") > 0 {
		r.unless("model.mtp_loss_scale", r.defaultOf("--mtp-loss-scaling-factor", 0.1))
	} else {
		d.Remove("model.mtp_layers")
		d.Remove("model.mtp_loss_scale")
	}
}

// pipeline settles chunks and schedule.
func (r *reading) pipeline() {
	const layout = "constraints.layout."
	d := r.d
	stages := d.Int(layout + "pipeline_parallel")
	r.unless(layout+"sequence_parallel", false)
	if d.Int(layout+"tensor_parallel") == 1 && d.Bool(layout+"sequence_parallel") {
		d.Leave(layout+"sequence_parallel", "Megatron-LM turns it off without tensor parallelism") // arguments.py
		r.set(layout+"sequence_parallel", false)
	}
	if stages <= 1 {
		for _, path := range []string{layout + "virtual_pipeline", layout + "stage_layers"} {
			if r.unread[layout+"pipeline_parallel"] {
				d.Withdraw(path, "how many stages the pipeline has is not known")
			} else {
				d.Leave(path, "the pipeline has one stage")
			}
		}
		return
	}
	layers := d.Int("model.layers")
	if r.paired {
		layers /= 2
	}
	if layers <= 0 && (r.has("num_layers_per_virtual_pipeline_stage") || r.has("decoder_first_pipeline_num_layers") || r.has("decoder_last_pipeline_num_layers")) {
		const why = "how many layers the model has is not known: give the file that says it, too"
		d.Withdraw(layout+"virtual_pipeline", why)
		d.Withdraw(layout+"stage_layers", why)
		return
	}
	if o := r.given["num_layers_per_virtual_pipeline_stage"]; o != nil {
		if n, err := strconv.ParseInt(o.first(), 10, 64); err == nil && n > 0 && layers > 0 {
			r.set(layout+"virtual_pipeline", max((layers+r.counted("embedding")+r.counted("loss"))/stages/n, 1))
		}
	}
	if v, ok := d.Get(layout + "stage_layers"); ok {
		if n := int64(len(v.Value.([]int64))); n%stages == 0 {
			r.set(layout+"virtual_pipeline", n/stages)
		}
	}
	r.unless(layout+"virtual_pipeline", int64(1))
	virtual := d.Int(layout + "virtual_pipeline")
	if !d.Has(layout + "stage_layers") {
		r.share(stages, virtual, layers)
	}
	schedule := "1f1b"
	if virtual > 1 {
		schedule = "interleaved_1f1b"
	}
	r.set(layout+"pipeline_schedule", schedule)
}

// counted is 1 where what stands at an end of the pipeline, embedding or loss,
// counts as a layer when layers are shared out.
func (r *reading) counted(what string) int64 {
	if r.has("account_for_" + what + "_in_pipeline_split") {
		return 1
	}
	return 0
}

// share shares the layers out over the chunks of the pipeline: to the first and
// the last rank what was asked for, to the others equal parts (transformer_block.py,
// get_num_layers_to_build).
func (r *reading) share(stages, virtual, layers int64) {
	embedding, loss := r.counted("embedding"), r.counted("loss")
	ends := map[int64]string{0: "decoder_first_pipeline_num_layers", stages - 1: "decoder_last_pipeline_num_layers"}
	if r.unread["constraints.layout.stage_layers"] || layers <= 0 || virtual <= 0 || stages > maxLayers || virtual > maxLayers/stages {
		return
	}
	rest, between := layers+embedding+loss, stages
	asked := map[int64]int64{}
	for rank, dest := range ends {
		if o := r.given[dest]; o != nil {
			n, err := strconv.ParseInt(o.first(), 10, 64)
			if err != nil {
				return
			}
			asked[rank] = n
			rest, between = rest-n, between-1
		}
	}
	list := make([]int64, stages*virtual)
	whole := rest >= 0 && (between > 0 && rest%between == 0 || between == 0 && rest == 0)
	for rank := range stages {
		n, said := asked[rank]
		if !said && whole {
			n = rest / between
		}
		whole = whole && n >= 0 && n%virtual == 0
		for chunk := range virtual {
			list[chunk*stages+rank] = n / virtual
		}
	}
	list[0] -= embedding
	list[len(list)-1] -= loss
	if !whole || list[0] < 0 || list[len(list)-1] < 0 {
		r.d.Note("constraints.layout", fmt.Sprintf("not said: how %s lie on %s with %s each; Megatron-LM refuses to share them out so", units.Count(layers, "layer"), units.Count(stages, "rank"), units.Count(virtual, "chunk")))
		return
	}
	r.set("constraints.layout.stage_layers", list)
}
