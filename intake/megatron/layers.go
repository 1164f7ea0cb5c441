package megatron

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/intake/draft"
)

// maxLayers bounds what a pattern may spell.
const maxLayers = 10_000

// frequency reads which layers have experts: every so many, or a Python list
// such as ([0]*3+[1]*58).
func (r *reading) frequency(o *option) outcome {
	if n, err := strconv.ParseInt(o.first(), 10, 64); err == nil && n != 0 {
		if n != 1 && n != -1 { // Python's rest of a division by -1 is 0, too
			// Megatron-LM counts from the first layer, the language from the last of a group.
			return unknown("experts in the first layer of each group have no word")
		}
		return outcome{to: "model.moe.layer_frequency"}
	}
	kinds, ok := pythonList(bare(o.first()))
	if !ok || o.open {
		return unknown("no list of layers that ndc reads")
	}
	dense := 0
	for dense < len(kinds) && kinds[dense] == 0 {
		dense++
	}
	for first := dense; first >= 0; first-- { // a dense start, or groups that end with experts
		if every := dense - first + 1; fits(kinds, first, every) {
			r.d.Set("model.moe.first_dense_layers", int64(first), r.at(o.line))
			r.d.Set("model.moe.layer_frequency", int64(every), r.at(o.line))
			return outcome{to: "model.moe.first_dense_layers"}
		}
	}
	return unknown("which layers have experts follows no rule that the language has")
}

// fits reports whether the layers after the first ones have experts every so many.
func fits(kinds []int, first, every int) bool {
	for i, k := range kinds {
		experts := i >= first && (i-first)%every == every-1
		if experts != (k == 1) {
			return false
		}
	}
	return true
}

// pythonList evaluates sums of lists and repetitions: [0]*3+[1]*58, ([0]+[1])*2.
func pythonList(text string) ([]int, bool) {
	p := &listParser{s: strings.Join(strings.Fields(text), "")}
	list, ok := p.sum(0)
	return list, ok && p.i == len(p.s)
}

type listParser struct {
	s string
	i int
}

func (p *listParser) take(c byte) bool {
	if p.i < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *listParser) sum(depth int) ([]int, bool) {
	list, ok := p.product(depth)
	for ok && p.take('+') {
		var more []int
		more, ok = p.product(depth)
		list = append(list, more...)
	}
	return list, ok && len(list) <= maxLayers
}

func (p *listParser) product(depth int) ([]int, bool) {
	list, ok := p.atom(depth)
	for ok && p.take('*') {
		n := p.number()
		if n < 0 || n*len(list) > maxLayers {
			return nil, false
		}
		once := list
		list = nil
		for range n {
			list = append(list, once...)
		}
	}
	return list, ok
}

func (p *listParser) atom(depth int) ([]int, bool) {
	if depth > 32 {
		return nil, false
	}
	if p.take('(') {
		list, ok := p.sum(depth + 1)
		return list, ok && p.take(')')
	}
	if !p.take('[') {
		return nil, false
	}
	var list []int
	for !p.take(']') {
		n := p.number()
		if n < 0 {
			return nil, false
		}
		list = append(list, n)
		if !p.take(',') && (p.i >= len(p.s) || p.s[p.i] != ']') {
			return nil, false
		}
	}
	return list, true
}

// number reads a whole number; -1 when there is none.
func (p *listParser) number() int {
	start := p.i
	for p.i < len(p.s) && p.s[p.i] >= '0' && p.s[p.i] <= '9' && p.i-start < 6 {
		p.i++
	}
	n, err := strconv.Atoi(p.s[start:p.i])
	if err != nil {
		return -1
	}
	return n
}

// stages reads a layout of the pipeline, in the grammar of Megatron-LM: E
// embedding, t decoder layer, m multi-token prediction, L loss, | between stages,
// with (…)*n and x*n for repetitions.
func (r *reading) stages(o *option) outcome {
	text, ok := repeated(strings.Join(strings.Fields(strings.ReplaceAll(bare(o.first()), ",", "")), ""), 0)
	if !ok || o.open {
		return unknown("no layout that ndc reads")
	}
	var layers []int64
	for _, stage := range strings.Split(text, "|") {
		if strings.Trim(stage, "EtmL") != "" {
			return unknown("no layout that ndc reads")
		}
		layers = append(layers, int64(strings.Count(stage, "t")))
	}
	last := len(layers) - 1
	chunks := strings.Split(text, "|")
	if !strings.HasPrefix(chunks[0], "E") || !strings.HasSuffix(chunks[last], "L") || strings.Count(text, "m") != strings.Count(chunks[last], "m") {
		return unknown("embedding, loss or multi-token prediction stand elsewhere than at the ends")
	}
	r.d.Set("constraints.layout.stage_layers", layers, r.at(o.line))
	return outcome{}
}

// bare is a value without the quotes that are for a second shell, as of a script
// that evals its arguments.
func bare(text string) string {
	if n := len(text) - 1; n > 0 && text[0] == text[n] && (text[0] == '\'' || text[0] == '"') {
		return text[1:n]
	}
	return text
}

// repeated writes repetitions out.
func repeated(s string, depth int) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); {
		unit := s[i : i+1]
		i++
		if unit == "(" {
			end, level := i, 1
			for ; end < len(s) && level > 0; end++ {
				switch s[end] {
				case '(':
					level++
				case ')':
					level--
				}
			}
			if level > 0 || depth > 16 {
				return "", false
			}
			inner, ok := repeated(s[i:end-1], depth+1)
			if !ok {
				return "", false
			}
			unit, i = inner, end
		}
		times := 1
		if i < len(s) && s[i] == '*' {
			p := &listParser{s: s, i: i + 1}
			if times = p.number(); times < 0 {
				return "", false
			}
			i = p.i
		}
		if b.Len()+times*len(unit) > 4*maxLayers {
			return "", false
		}
		b.WriteString(strings.Repeat(unit, times))
	}
	return b.String(), true
}

// pattern reads the layers of a hybrid model, with bars between the chunks of
// the pipeline and slashes before the blocks of multi-token prediction.
func (r *reading) pattern(o *option) outcome {
	if o.open || len(o.first()) > maxLayers {
		return unknown(draft.OnlyRunKnows)
	}
	main, rest, _ := strings.Cut(o.first(), "/")
	var layers []int64
	chunks := strings.Split(main, "|")
	for _, c := range chunks {
		layers = append(layers, int64(len(c)))
	}
	all := strings.Join(chunks, "")
	if strings.Trim(all, "MG*-E") != "" {
		return unknown("a block that the language does not have")
	}
	r.d.Set("model.layer_pattern", all, r.at(o.line))
	r.d.Set("model.layers", int64(len(all)), r.at(o.line))
	if len(chunks) > 1 {
		r.d.Set("constraints.layout.stage_layers", layers, r.at(o.line))
	}
	if rest != "" {
		mtp := strings.Split(rest, "/")
		r.d.Set("model.mtp_layers", int64(len(mtp)), r.at(o.line))
		r.d.Set("model.mtp_layer_pattern", mtp[0], r.at(o.line))
	}
	return outcome{}
}

// deltaNets writes out a decoder some of whose layers have a gated delta net in the place of
// attention. Each layer is two of the language's then, a mixer and what follows it
// (megatron/core/models/gpt/experimental_attention_variant_module_specs.py:
// get_linear_attention_pattern).
func (r *reading) deltaNets() {
	const pattern, first, every = "model.layer_pattern", "model.moe.first_dense_layers", "model.moe.layer_frequency"
	d, o, kind := r.d, cmp.Or(r.given["linear_attention_freq"], r.given["--full-attention-interval"]), r.given["experimental_attention_variant"]
	layers := d.Int("model.layers")
	said, _ := d.Get("model.delta_net.key_heads")
	if o == nil || d.Has(pattern) || layers < 1 || layers > maxLayers || kind == nil && said.Line == 0 || kind != nil && kind.first() != "gated_delta_net" || r.unread[first] || r.unread[every] {
		return
	}
	linear, ok := pythonList(bare(o.first()))
	if n, err := strconv.ParseInt(o.first(), 10, 64); err == nil && n > 0 {
		linear, ok = nil, true
		for i := range layers {
			linear = append(linear, min(int((i+1)%n), 1))
		}
	}
	if !ok || o.open || int64(len(linear)) != layers {
		return
	}
	var b strings.Builder
	group := max(d.Int(every), 1)
	for i, l := range linear {
		b.WriteByte("*G"[min(l, 1)])
		from := int64(i) - d.Int(first)
		experts := d.Int("model.moe.experts") > 1 || r.unread["model.moe.experts"]
		if experts && from >= 0 && from%group == group-1 {
			b.WriteByte('E')
		} else {
			b.WriteByte('-')
		}
	}
	text := b.String()
	d.Set(pattern, text, r.at(o.line))
	v, _ := d.Get("model.layers")
	d.Set("model.layers", 2*layers, v.Place)
	if d.Int("model.mtp_layers") > 0 {
		r.set("model.mtp_layer_pattern", text[len(text)-2:])
	}
	for _, path := range []string{first, every} {
		d.Leave(path, pattern+" says which layers have experts")
	}
	d.Correct(o.line, o.name, draft.Mapped, pattern, "")
	if kind != nil {
		d.Correct(kind.line, kind.name, draft.Mapped, pattern, "")
	}
	r.paired = true
}

// pairs counts what the launch counts in layers of the decoder in those of the language.
func (r *reading) pairs() {
	if !r.paired {
		return
	}
	const stages = "constraints.layout.stage_layers"
	if v, ok := r.d.Get(stages); ok {
		list := slices.Clone(v.Value.([]int64))
		for i := range list {
			list[i] *= 2
		}
		r.d.Set(stages, list, v.Place)
	}
	for _, path := range []string{"constraints.layout.recompute_layers", "training.fp8.bf16_first_layers", "training.fp8.bf16_last_layers"} {
		if v, ok := r.d.Get(path); ok {
			r.d.Set(path, 2*r.d.Int(path), v.Place)
		}
	}
}

// noops takes the layers that do nothing under MindSpeed out of the model, and out of the chunks
// of the pipeline that hold them.
func (r *reading) noops() {
	const stages, dense = "constraints.layout.stage_layers", "model.moe.first_dense_layers"
	o, d := r.given["noop_layers"], r.d
	layers, _ := d.Get("model.layers")
	v, shared := d.Get(stages)
	if o == nil {
		return
	}
	idle := map[int64]bool{}
	for _, text := range strings.Split(o.first(), ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if o.open || err != nil || n < 0 || n >= d.Int("model.layers") || r.paired {
			r.unread[stages] = true
			return
		}
		idle[n] = true
	}
	var list []int64
	if shared {
		list = slices.Clone(v.Value.([]int64))
	}
	first, start := d.Int(dense), int64(0)
	for i, n := range list {
		for k := range idle {
			if k >= start && k < start+n {
				list[i]--
			}
		}
		start += n
	}
	for k := range idle {
		if k < first {
			r.set(dense, d.Int(dense)-1)
		}
	}
	d.Set("model.layers", d.Int("model.layers")-int64(len(idle)), layers.Place)
	if shared {
		d.Set(stages, list, v.Place)
	}
	d.Correct(o.line, o.name, draft.Mapped, "model.layers", "")
}
