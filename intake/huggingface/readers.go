package huggingface

import (
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/tree"
)

// readers are the functions that keys.jsonl names, for keys whose value is not
// the argument's.
var readers = map[string]func(*reading, tree.Member) outcome{
	"activation":   (*reading).activation,
	"alibi":        (*reading).alibi,
	"bias":         (*reading).bias,
	"blocks":       (*reading).blocks,
	"denseLayers":  (*reading).denseLayers,
	"dropout":      (*reading).dropout,
	"expansion":    (*reading).expansion,
	"expertSize":   (*reading).expertSize,
	"frequency":    (*reading).frequency,
	"interval":     (*reading).interval,
	"keyHeads":     (*reading).keyHeads,
	"layerKinds":   (*reading).layerKinds,
	"method":       (*reading).method,
	"mptAttention": (*reading).mptAttention,
	"multiQuery":   (*reading).multiQuery,
	"noBias":       (*reading).noBias,
	"noRope":       (*reading).noRope,
	"nothing":      (*reading).nothing,
	"parallel":     (*reading).parallel,
	"queryScalar":  (*reading).queryScalar,
	"rope":         (*reading).rope,
	"rotaryDim":    (*reading).rotaryDim,
	"score":        (*reading).score,
	"unit":         (*reading).unit,
	"usual":        (*reading).usual,
	"window":       (*reading).window,
}

func unknown(why string) outcome { return outcome{verdict: draft.Unknown, why: why} }

func left(why string) outcome { return outcome{verdict: draft.Left, why: why} }

// integer is a key of the model, of the file or of its class.
func (r *reading) integer(keys ...string) int64 {
	for _, k := range keys {
		if n, ok := r.object.Find(k); ok {
			if v, ok := n.Int(); ok {
				return v
			}
		}
	}
	return 0
}

// has reports whether the file has a key.
func (r *reading) has(key string) bool {
	return slices.ContainsFunc(r.object[:r.stated], func(m tree.Member) bool { return m.Key == key })
}

func (r *reading) layers() int64 {
	return r.integer("num_hidden_layers", "n_layer", "n_layers", "num_layers")
}

func (r *reading) activation(m tree.Member) outcome {
	plain := map[string]string{"gelu": "gelu", "gelu_new": "gelu", "gelu_pytorch_tanh": "gelu", "gelu_fast": "gelu", "gelu_python": "gelu", "relu2": "relu2"}
	gated := map[string]string{"silu": "swiglu", "swish": "swiglu", "gelu": "geglu", "gelu_pytorch_tanh": "geglu", "gelu_new": "geglu"}
	words := plain
	if r.family.Gated {
		words = gated
	}
	word, ok := words[m.Text()]
	if r.family.Architecture == "" && m.Text() != "relu2" {
		return unknown("whether the MLP has a gate is the class's, which ndc does not know")
	}
	if !ok {
		r.set("model.activation", draft.Label(m.Text()), m) // at which the job is refused
		return unknown("no activation of the language")
	}
	if m.Key == "hidden_act" && r.d.Has("model.activation") { // Gemma's hidden_activation stands in its place
		return left("hidden_activation stands in its place")
	}
	r.set("model.activation", word, m)
	return outcome{}
}

// dropout has one word for all places; places that differ cannot be said.
func (r *reading) dropout(m tree.Member) outcome {
	v, ok := m.Float()
	if !ok {
		return unknown("no number")
	}
	if r.d.Has("model.dropout") && r.d.Float("model.dropout") != v {
		return unknown("the language has one dropout for all places, which was said before")
	}
	r.set("model.dropout", v, m)
	return outcome{}
}

func (r *reading) queryScalar(m tree.Member) outcome {
	v, ok := m.Float()
	if !ok || v <= 0 {
		return unknown("no number")
	}
	if n, ok := r.object.Find("head_dim"); ok {
		if width, ok := n.Float(); ok && width == v {
			return left("the scale that attention has without it")
		}
	}
	r.set("model.attention_scale", draft.Expression("pow("+draft.Number(v)+", -0.5)"), m)
	return outcome{}
}

func (r *reading) alibi(m tree.Member) outcome {
	kind := "rope"
	if on, _ := m.Truth(); on {
		kind = "alibi"
	}
	r.set("model.position_embedding", kind, m)
	if kind == "alibi" {
		r.d.Remove("model.position_embedding.theta")
	}
	return outcome{}
}

func (r *reading) bias(m tree.Member) outcome {
	on, ok := m.Truth()
	if !ok {
		return unknown("neither true nor false")
	}
	r.set("model.attention_bias", on, m)
	r.set("model.mlp_bias", on, m)
	return outcome{to: "model.attention_bias, model.mlp_bias"}
}

func (r *reading) noBias(m tree.Member) outcome {
	off, ok := m.Truth()
	if !ok {
		return unknown("neither true nor false")
	}
	m.Value = !off
	return r.bias(m)
}

func (r *reading) parallel(m tree.Member) outcome {
	if on, ok := m.Truth(); !ok || on {
		return unknown("attention and MLP stand side by side (parallel residual)")
	}
	return left("attention comes before the MLP, as in every model of the language")
}

// keyHeads leaves the heads of keys out of latent attention, whose keys are made of one
// vector for all heads, whatever a configuration says beside it.
func (r *reading) keyHeads(m tree.Member) outcome {
	if r.integer("kv_lora_rank") > 0 {
		return left("latent attention makes a key for every head")
	}
	if n, ok := m.Int(); ok {
		r.set("model.kv_heads", n, m)
		return outcome{}
	}
	return unknown("no number of heads")
}

func (r *reading) multiQuery(m tree.Member) outcome {
	if r.has("num_kv_heads") {
		return left("num_kv_heads says it")
	}
	if on, _ := m.Truth(); on {
		r.set("model.kv_heads", int64(1), m)
		return outcome{}
	}
	return left("as many as query heads")
}

func (r *reading) expansion(m tree.Member) outcome {
	n, ok := m.Int()
	if !ok {
		return unknown("no whole number")
	}
	r.set("model.ffn_hidden_size", n*r.integer("d_model"), m)
	return outcome{}
}

// mptRotation is "rope", or the kind of rotation that the language does not have: MPT's
// code says it in the settings of the implementation that it takes.
func mptRotation(attention tree.Object) string {
	plain, settings := "original", "rope_dail_config"
	if n, ok := attention.Find("rope_impl"); ok && n.Text() == "hf" {
		plain, settings = "no_scaling", "rope_hf_config"
	}
	if n, ok := attention.Find(settings); ok {
		if kind, ok := n.Object().Find("type"); ok && kind.Text() != plain {
			return kind.Text()
		}
	}
	return "rope"
}

// mptAttention follows llm-foundry's config_defaults.py, whose models say more than the
// class of transformers reads.
func (r *reading) mptAttention(m tree.Member) outcome {
	on := func(o tree.Object, key string) bool {
		n, ok := o.Find(key)
		truth, _ := n.Truth()
		return ok && truth
	}
	kind := "none"
	switch attention := m.Object(); {
	case on(attention, "alibi"):
		kind = "alibi"
	case on(attention, "rope"):
		if kind = mptRotation(attention); kind == "rope" {
			theta := 10000.0
			if n, ok := attention.Find("rope_theta"); ok {
				theta, _ = n.Float()
			}
			r.set("model.position_embedding.theta", theta, m)
		}
	case on(r.object, "learned_pos_emb"):
		kind = "learned"
	}
	r.set("model.position_embedding", kind, m)
	if !slices.Contains([]string{"none", "alibi", "rope", "learned"}, kind) {
		return unknown("no positions of the language: " + kind)
	}
	if n, ok := m.Object().Find("kv_n_heads"); ok {
		if heads, ok := n.Int(); ok {
			r.set("model.kv_heads", heads, m)
		}
	}
	for _, key := range []string{"clip_qkv", "softmax_scale", "prefix_lm", "qk_ln"} {
		if n, ok := m.Object().Find(key); ok && n.Value != nil && n.Value != false {
			return unknown("its " + key + " has no word")
		}
	}
	return outcome{to: "model.position_embedding"}
}

func (r *reading) noRope(m tree.Member) outcome {
	switch v := m.Value.(type) {
	case []tree.Node:
		for _, n := range v {
			if on, _ := n.Int(); on == 0 {
				return unknown("some layers have no positions")
			}
		}
		return left("all layers have positions")
	}
	if _, ok := r.object.Find("no_rope_layers"); ok {
		return left("no_rope_layers says it")
	}
	return unknown("some layers have no positions")
}

// unit reads factors that change nothing when they are one.
func (r *reading) unit(m tree.Member) outcome {
	if v, ok := m.Float(); ok && v == 1 {
		return left("a factor of one")
	}
	return unknown("the language has no such factor")
}

// nothing reads keys that change nothing when they are off.
func (r *reading) nothing(m tree.Member) outcome {
	switch v := m.Value.(type) {
	case bool:
		if !v {
			return left("off")
		}
	case string:
		if v == "" {
			return left("off")
		}
	}
	if f, ok := m.Float(); ok && (f == 0 || m.Key == "word_embed_proj_dim" && int64(f) == r.integer("hidden_size") ||
		m.Key == "moe_layer_end_index" && (int64(f) == -1 || int64(f) >= r.layers()-1) || m.Key == "moe_norm_min" && f < 1e-9 || m.Key == "embedding_fraction" && f == 1) {
		return left("off")
	}
	return unknown("the language has no word for it")
}

// usual reads keys that change nothing when they are on.
func (r *reading) usual(m tree.Member) outcome {
	if on, ok := m.Truth(); ok && on || m.Key == "is_decoder" || m.Key == "learned_pos_emb" || m.Key == "norm_type" && strings.Contains(strings.ReplaceAll(m.Text(), "_", ""), "layernorm") {
		return left("as in every model of the language")
	}
	if m.Key == "new_decoder_architecture" {
		return left("num_kv_heads and parallel_attn say what it changes")
	}
	if m.Key == "rope_interleave" {
		return left("the order of the rotated dimensions, which is a permutation of weights")
	}
	return unknown("the language has no word for it")
}

// window settles which layers attend to how many keys, once, from all keys
// that say something of it.
func (r *reading) window(m tree.Member) outcome {
	size := r.integer("sliding_window", "sliding_window_size")
	if use, ok := r.object.Find("use_sliding_window"); ok {
		if on, _ := use.Truth(); !on {
			return left("no layer has a window")
		}
	}
	if size == 0 || size >= r.integer("max_position_embeddings") && r.family.Type == "phi3" {
		return left("no layer has a window")
	}
	pattern, ok := r.pattern()
	if !ok {
		return unknown("which layers have a window follows no rule that the language has")
	}
	if pattern == 1 {
		return left("no layer has a window")
	}
	if !r.windows {
		r.windows = true
		r.set("model.sliding_window.size", size, m)
		if pattern > 0 {
			r.set("model.sliding_window.pattern", pattern, m)
		}
	}
	return outcome{}
}

// pattern is every how many layers one attends to everything: 0 none, 1 all.
func (r *reading) pattern() (int64, bool) {
	if n, ok := r.object.Find("layer_types"); ok {
		kinds, _ := n.Value.([]tree.Node)
		var full []int64
		for i, k := range kinds {
			if k.Text() == "full_attention" {
				full = append(full, int64(i))
			} else if k.Text() != "sliding_attention" {
				return 0, false
			}
		}
		if len(full) == 0 {
			return 0, true
		}
		every := full[0] + 1
		for i, at := range full {
			if at != every*int64(i+1)-1 {
				return 0, false
			}
		}
		return every, int64(len(full)) == int64(len(kinds))/every
	}
	if every := r.integer("sliding_window_pattern"); every > 0 {
		return every, true
	}
	if from := r.integer("max_window_layers"); from > 0 { // the first layers attend to everything
		return 1, from >= r.layers()
	}
	return r.family.FullEvery, true
}

// rotaryDim is how many dimensions of a head rotate.
func (r *reading) rotaryDim(m tree.Member) outcome {
	n, ok := m.Float()
	width := float64(r.integer("head_dim"))
	if heads := r.integer("num_attention_heads", "n_head"); width == 0 && heads > 0 {
		width = float64(r.integer("hidden_size", "n_embd")) / float64(heads)
	}
	if !ok || width <= 0 || n > width {
		return unknown("more dimensions than a head has")
	}
	r.set("model.position_embedding.partial", n/width, m)
	return outcome{}
}

// rope reads how positions are stretched, in the keys of transformers 4 and 5.
func (r *reading) rope(m tree.Member) outcome {
	o := m.Object()
	if o == nil {
		return unknown("no object")
	}
	kind := ""
	paths := map[string]string{"rope_theta": "model.position_embedding.theta", "partial_rotary_factor": "model.position_embedding.partial"}
	for _, in := range o {
		in.Line = m.Line
		path := paths[in.Key]
		switch {
		case path != "" && (m.Line > 0 || !r.d.Has(path)):
			r.plain(in, path)
		case in.Key == "type" && kind == "", in.Key == "rope_type":
			kind = in.Text()
		}
	}
	if m.Line == 0 && (r.has("rope_scaling") || r.has("rope_parameters")) {
		return outcome{}
	}
	switch kind {
	case "", "default":
		for _, in := range o {
			if in.Object() != nil {
				return unknown("layers differ in their positions")
			}
		}
		return outcome{to: "model.position_embedding"}
	case "llama3", "yarn", "linear":
		return r.scaling(m, kind, o)
	case "mrope":
		return left("positions of text are those of plain rope")
	}
	return unknown("no kind of stretching of the language")
}

// scaling reads the numbers of a kind of stretching.
func (r *reading) scaling(m tree.Member, kind string, o tree.Object) outcome {
	const block = "model.position_embedding.scaling."
	names := map[string]string{
		"factor": "factor", "original_max_position_embeddings": "original_length", "low_freq_factor": "low_frequency_factor",
		"high_freq_factor": "high_frequency_factor", "beta_fast": "beta_fast", "beta_slow": "beta_slow", "mscale": "mscale",
		"mscale_all_dim": "mscale_all_dim", "truncate": "truncate",
	}
	r.set(block+"type", kind, m)
	for _, in := range o {
		name, ok := names[in.Key]
		switch {
		case ok && in.Value != nil:
			if v, ok := convert(block+name, in.Node); ok {
				r.set(block+name, v, in)
				continue
			}
			return unknown("its " + in.Key + " is no value of the language")
		case in.Key == "attention_factor" && in.Value != nil:
			return unknown("its " + in.Key + " has no word")
		}
	}
	if kind == "yarn" && !r.d.Has(block+"original_length") {
		return unknown("it does not say the original length, which the class takes from other keys")
	}
	return outcome{to: strings.TrimSuffix(block, ".")}
}
