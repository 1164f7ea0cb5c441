package huggingface

import (
	"strings"

	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/tree"
)

// expertSize reads the width of an expert, which some files list by layer.
func (r *reading) expertSize(m tree.Member) outcome {
	list, ok := m.Value.([]tree.Node)
	if !ok {
		return r.plain(m, "model.moe.expert_ffn_hidden_size")
	}
	for _, n := range list {
		if n.String() != list[0].String() {
			return unknown("experts of unequal widths")
		}
	}
	if len(list) == 0 {
		return unknown("an empty list")
	}
	m.Node = list[0]
	return r.plain(m, "model.moe.expert_ffn_hidden_size")
}

// frequency reads every how many layers there are experts.
func (r *reading) frequency(m tree.Member) outcome {
	n, ok := m.Int()
	if !ok || n < 1 {
		return unknown("no whole number")
	}
	if n == 1 {
		return left("every layer after the dense ones")
	}
	return r.plain(m, "model.moe.layer_frequency")
}

// denseLayers reads the list of layers without experts, which the language
// takes when they are the first.
func (r *reading) denseLayers(m tree.Member) outcome {
	list, _ := m.Value.([]tree.Node)
	for i, n := range list {
		if at, ok := n.Int(); !ok || at != int64(i) {
			return unknown("layers without experts that are not the first")
		}
	}
	if len(list) == 0 {
		return left("every layer has experts")
	}
	r.set("model.moe.first_dense_layers", int64(len(list)), m)
	return outcome{}
}

// layerKinds reads a list of dense and sparse layers.
func (r *reading) layerKinds(m tree.Member) outcome {
	list, _ := m.Value.([]tree.Node)
	first := 0
	for first < len(list) && list[first].Text() == "dense" {
		first++
	}
	for _, n := range list[first:] {
		if n.Text() != "sparse" {
			return unknown("layers without experts that are not the first")
		}
	}
	r.set("model.moe.first_dense_layers", int64(first), m)
	return outcome{}
}

func (r *reading) score(m tree.Member) outcome {
	if v := m.Text(); v != "softmax" && v != "sigmoid" {
		return unknown("no score of the language")
	}
	r.set("model.moe.router.score", m.Text(), m)
	return outcome{}
}

// method reads how DeepSeek's models choose experts.
func (r *reading) method(m tree.Member) outcome {
	switch m.Text() {
	case "noaux_tc":
		r.set("model.moe.router.balance", "bias", m)
		return outcome{}
	case "greedy":
		r.d.Remove("model.moe.router.groups")
		r.d.Remove("model.moe.router.group_top_k")
		return left("no groups of experts")
	case "group_limited_greedy":
		return outcome{to: "model.moe.router.groups"}
	}
	return unknown("no way to choose experts of the language")
}

// letters of the blocks of hybrid models, by the words of their configurations.
var letters = map[string]string{
	"mamba": "M", "attention": "*", "mlp": "-", "moe": "E", "full_attention": "*", "linear_attention": "G",
}

// blocks spells a list of blocks as a pattern.
func (r *reading) blocks(m tree.Member) outcome {
	list, ok := m.Value.([]tree.Node)
	var b strings.Builder
	for _, n := range list {
		letter := letters[n.Text()]
		if letter == "" {
			return unknown("a block that the language does not have")
		}
		b.WriteString(letter)
	}
	if !ok {
		return unknown("no list")
	}
	r.set(r.rule(m.Key).Argument, b.String(), m)
	return outcome{}
}

// interval spells the pattern of a model whose layers are a delta net, or
// attention every so often, with experts after each.
func (r *reading) interval(m tree.Member) outcome {
	every, ok := m.Int()
	layers := r.layers()
	if !ok || every < 1 || layers < 1 || layers > 10_000 {
		return unknown("no number of layers")
	}
	r.d.Set("model.layer_pattern", hybrid(layers, every), draft.Place{File: r.file, Line: m.Line})
	return outcome{}
}

func hybrid(layers, every int64) string {
	var b strings.Builder
	for i := range layers {
		if i%every == every-1 {
			b.WriteString("*E")
		} else {
			b.WriteString("GE")
		}
	}
	return b.String()
}

// complete adds what follows from several keys.
func (r *reading) complete() {
	d, f := r.d, r.family
	hidden := d.Int("model.hidden_size")
	if f.FFN > 0 {
		d.Default("model.ffn_hidden_size", f.FFN*hidden, draft.Place{})
	}
	if f.Scaled {
		d.Set("model.embedding_scale", draft.Expression("pow("+draft.Number(float64(hidden))+", 0.5)"), draft.Place{})
	}
	if d.HasBlock("model.position_embedding") && !d.Has("model.position_embedding") {
		d.Set("model.position_embedding", "rope", draft.Place{})
	}
	if k := d.Text("model.position_embedding"); k != "" && k != "rope" {
		for _, p := range []string{"theta", "partial", "scaling.type", "scaling.factor"} {
			d.Remove("model.position_embedding." + p)
		}
	}
	if pattern := d.Text("model.layer_pattern"); pattern != "" {
		d.Set("model.layers", int64(len(pattern)), draft.Place{})
	} else if f.Architecture == "qwen3_next" {
		d.Set("model.layer_pattern", hybrid(r.layers(), 4), draft.Place{})
		d.Set("model.layers", 2*r.layers(), draft.Place{})
	}
	r.completeExperts()
	if d.Int("model.mtp_layers") == 0 {
		d.Remove("model.mtp_layers")
		d.Remove("model.mtp_layer_pattern")
	}
	for _, path := range []string{"model.attention_logit_softcap", "model.final_logit_softcap", "model.moe.router.groups", "model.moe.router.group_top_k"} {
		if d.Float(path) == 0 || strings.HasPrefix(path, "model.moe.router.group") && d.Int("model.moe.router.groups") <= 1 {
			d.Remove(path)
		}
	}
	if !d.Has("model.layers") || !d.Has("model.hidden_size") || !d.Has("model.attention_heads") || !d.Has("model.vocab_size") {
		d.Note("model", "the file does not state all sizes of the model")
	}
}

// completeExperts drops experts that a dense model has in its class only, and
// says what their widths follow from.
func (r *reading) completeExperts() {
	d := r.d
	if d.Int("model.moe.experts") <= 1 {
		d.RemoveBlock("model.moe")
		return
	}
	d.Default("model.moe.expert_ffn_hidden_size", d.Int("model.ffn_hidden_size"), draft.Place{})
	d.Default("model.ffn_hidden_size", d.Int("model.moe.expert_ffn_hidden_size"), draft.Place{})
	if d.Int("model.moe.shared_experts") == 0 {
		d.Remove("model.moe.shared_experts")
		d.Remove("model.moe.shared_expert_gate")
	}
	if d.Int("model.moe.first_dense_layers") == 0 {
		d.Remove("model.moe.first_dense_layers")
	}
	if d.Int("model.moe.latent_size") == 0 {
		d.Remove("model.moe.latent_size")
	}
	if d.Text("model.moe.router.balance") == "bias" {
		d.Remove("model.moe.router.aux_coefficient") // the class's, which its loss-free balancing does not use
	}
	if !d.Has("model.moe.router.balance") && d.Has("model.moe.router.aux_coefficient") {
		d.Set("model.moe.router.balance", "aux_loss", draft.Place{})
	}
}
