package shell

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// words expands and splits words.
func (e *evaluator) words(words []*syntax.Word) []text {
	var all []text
	for _, w := range words {
		all = append(all, e.fieldsOf(w)...)
	}
	return all
}

// fieldsOf expands a word and splits it where it is not quoted.
func (e *evaluator) fieldsOf(w *syntax.Word) []text {
	if list, ok := e.list(w); ok {
		return list
	}
	t := e.word(w)
	all := e.fields(t)
	if len(all) == 0 && quotedWord(w) {
		return []text{{}}
	}
	return all
}

func quotedWord(w *syntax.Word) bool {
	for _, p := range w.Parts {
		switch p.(type) {
		case *syntax.DblQuoted, *syntax.SglQuoted:
			return true
		}
	}
	return false
}

// list is a word that is nothing but the elements of a list or "$@".
func (e *evaluator) list(w *syntax.Word) ([]text, bool) {
	if len(w.Parts) != 1 {
		return nil, false
	}
	part := w.Parts[0]
	quoted := false
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part, quoted = q.Parts[0], true
	}
	p, ok := part.(*syntax.ParamExp)
	if !ok || p.Param == nil || p.Length || p.Repl != nil || e.expanded(p) != nil {
		return nil, false
	}
	if p.Excl {
		return e.indices(p)
	}
	if p.Exp != nil && !alternate(p.Exp.Op) {
		return nil, false
	}
	if p.Exp != nil { // ${a[@]+"${a[@]}"}
		if p.Index == nil || p.Exp.Word == nil {
			return nil, false
		}
		if _, set := e.state.variables[p.Param.Value]; !set {
			return nil, true // lists are never in the environment
		}
		return e.list(p.Exp.Word)
	}
	if star := p.Param.Value == "*" || isStar(p.Index); star && quoted {
		return nil, false // one word
	}
	var v variable
	if p.Param.Value == "@" || p.Param.Value == "*" {
		if !e.state.given {
			return nil, false
		}
		v.list = e.state.positional
	} else {
		var set bool
		v, set = e.state.variables[p.Param.Value]
		if !set || !v.isList || !wholeList(p.Index) {
			return nil, false
		}
	}
	all := v.list
	if p.Slice != nil {
		if all, ok = e.elements(p, v); !ok {
			return nil, false
		}
	}
	size := 0
	for _, t := range all {
		size += len(t)
	}
	if !e.spend(0, size+len(all)) {
		return nil, true
	}
	if quoted {
		return slices.Clone(all), true
	}
	var split []text
	for _, t := range all {
		split = append(split, e.fields(t)...)
	}
	return split, true
}

// indices are the elements of ${!a[@]}, of a list whose keys are numbers from 0 on.
func (e *evaluator) indices(p *syntax.ParamExp) ([]text, bool) {
	v := e.state.variables[p.Param.Value]
	if !v.isList || v.loose || v.keys != nil || !wholeList(p.Index) || isStar(p.Index) || !e.spend(0, 8*len(v.list)) {
		return nil, false
	}
	all := make([]text, len(v.list))
	for i := range all {
		all[i] = known(strconv.Itoa(i), e.line(p.Pos()))
	}
	return all, true
}

func wholeList(index syntax.ArithmExpr) bool {
	w, ok := index.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

func isStar(index syntax.ArithmExpr) bool {
	w, ok := index.(*syntax.Word)
	return ok && w.Lit() == "*"
}

// word expands a word without splitting it.
func (e *evaluator) word(w *syntax.Word) text {
	if w == nil {
		return nil
	}
	var t text
	for _, p := range w.Parts {
		t = append(t, e.part(p, false)...)
	}
	e.spend(0, len(t))
	if e.over || len(t) > maxValue {
		return nil
	}
	return t
}

func (e *evaluator) part(p syntax.WordPart, quoted bool) text {
	if t := e.expanded(p); t != nil {
		return t
	}
	switch p := p.(type) {
	case *syntax.Lit:
		return e.literal(p, quoted)
	case *syntax.SglQuoted:
		if p.Dollar && strings.Contains(p.Value, `\`) {
			return e.escaped(p)
		}
		t := e.counted(p.Value, p.Pos())
		return t.with(func(c *cell) { c.quoted = true })
	case *syntax.DblQuoted:
		var t text
		for _, in := range p.Parts {
			t = append(t, e.part(in, true)...)
		}
		return t.with(func(c *cell) { c.quoted = true })
	case *syntax.ParamExp:
		t, ok := e.starred(p, quoted)
		if !ok {
			t = e.parameter(p)
		}
		if quoted {
			t = t.with(func(c *cell) { c.quoted = true })
		}
		return t
	case *syntax.ArithmExp:
		if n, ok := e.arithmetic(p.X); ok {
			return known(strconv.Itoa(n), e.line(p.Pos()))
		}
	case *syntax.CmdSubst:
		return e.substitution(p)
	}
	return unknown(source(p), e.line(p.Pos()))
}

// expanded is a part of a value that is a script, where it stands for what only a run knows: that
// was expanded before, and means what it meant then. It is nil elsewhere.
func (e *evaluator) expanded(p syntax.WordPart) text {
	from, to := int(p.Pos().Offset()), int(p.End().Offset())
	if _, plain := p.(*syntax.Lit); plain || from >= to || to > len(e.origin) || !e.origin[from].open {
		return nil
	}
	return slices.Clone(e.origin[from:to])
}

// source spells a node as it is written.
func source(n syntax.Node) string {
	var b strings.Builder
	if err := syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, n); err != nil {
		return "$(…)"
	}
	return b.String()
}

// literal is plain text, less the backslashes that the shell takes away.
func (e *evaluator) literal(l *syntax.Lit, quoted bool) text {
	raw := e.counted(l.Value, l.Pos())
	t := raw[:0:0]
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c.b == '\\' && i+1 < len(raw) {
			next := raw[i+1]
			if next.b == '\n' {
				i++
				continue
			}
			if !quoted || strings.IndexByte("$`\"\\", next.b) >= 0 {
				next.quoted = true
				t = append(t, next)
				i++
				continue
			}
		}
		if b, ok := written(c.b); ok {
			c.b, c.quoted = b, true
		}
		t = append(t, c)
	}
	return t
}

// counted is text whose lines are counted on from its beginning.
func (e *evaluator) counted(s string, at syntax.Pos) text {
	t := known(s, e.line(at))
	if e.origin != nil {
		for i := range t {
			if k := int(at.Offset()) + i; k < len(e.origin) {
				t[i].line, t[i].maybe = e.origin[k].line, e.origin[k].maybe
			}
		}
		return t
	}
	n := int32(0)
	for i := range t {
		t[i].line += n
		if t[i].b == '\n' {
			n++
		}
	}
	return t
}

// heredoc expands the text of a here-document, of which <<- takes the tabs away that lines begin
// with.
func (e *evaluator) heredoc(r *syntax.Redirect) text {
	quoted := quotedWord(r.Word)
	begins := r.Op == syntax.DashHdoc
	var t text
	for _, p := range r.Hdoc.Parts {
		l, literal := p.(*syntax.Lit)
		switch {
		case literal && quoted:
			t = append(t, untabbed(e.counted(l.Value, l.Pos()), r.Op, &begins)...)
		case literal:
			t = append(t, untabbed(e.part(p, true), r.Op, &begins)...)
		case !quoted:
			t, begins = append(t, e.part(p, true)...), false
		}
	}
	return t
}

// untabbed is a part of a here-document of <<-; begins is that a line begins with it.
func untabbed(t text, op syntax.RedirOperator, begins *bool) text {
	if op != syntax.DashHdoc {
		return t
	}
	kept := t[:0:0]
	for _, c := range t {
		if *begins = *begins && c.b == '\t' || c.b == '\n'; c.b == '\t' && *begins {
			continue
		}
		kept = append(kept, c)
	}
	return kept
}
