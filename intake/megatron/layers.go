package megatron

import (
	"strconv"
	"strings"
)

// maxLayers bounds what a pattern may spell.
const maxLayers = 10_000

// frequency reads which layers have experts: every so many, or a Python list
// such as ([0]*3+[1]*58).
func (r *reading) frequency(o *option) outcome {
	if n, err := strconv.ParseInt(o.first(), 10, 64); err == nil && n >= 1 {
		if n > 1 {
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
		return unknown("its value is known only when the script runs")
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
