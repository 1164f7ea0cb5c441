package shell

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// assign sets a variable.
func (e *evaluator) assign(a *syntax.Assign, export bool) {
	if a.Name == nil { // an option of declare, or a word that is expanded to a name and its value
		if a.Value == nil {
			return
		}
		for _, t := range e.fieldsOf(a.Value) {
			name, _, ok := strings.Cut(t.String(), "=")
			if ok && syntax.ValidName(name) && !t[:len(name)].isOpen() && e.spend(0, len(t)) {
				e.state.variables[name] = variable{text: unquoted(t[len(name)+1:]), exported: export || e.state.variables[name].exported || e.state.allExported}
			}
		}
		return
	}
	name := a.Name.Value
	old, set := e.state.variables[name]
	if a.Append && !set && slices.ContainsFunc(e.script.Sources, func(w Word) bool { return !IsEnvironment(w) }) {
		old = begun(name, a.Array != nil, e.line(a.Pos()))
	}
	v := variable{exported: old.exported || export || e.state.allExported}
	switch {
	case a.Naked:
		v.text, v.list, v.keys, v.isList, v.loose = old.text, old.list, old.keys, old.isList, old.loose
		if _, ok := e.state.variables[name]; !ok {
			return
		}
	case a.Array != nil && (old.keys != nil || slices.ContainsFunc(a.Array.Elems, func(el *syntax.ArrayElem) bool { return el.Index != nil })):
		v = e.keyedList(a, old, v)
	case a.Array != nil:
		v.isList = true
		if a.Append {
			v.list, v.loose = slices.Clone(old.list), old.loose
		}
		for _, el := range a.Array.Elems {
			if el.Value != nil {
				for _, t := range e.fieldsOf(el.Value) {
					v.list = append(v.list, unquoted(t))
					v.loose = v.loose || t.isOpen() && splits(el.Value)
				}
			}
		}
	case a.Index != nil:
		v = e.element(a, old)
	default:
		var t text
		if a.Value != nil {
			t = e.word(a.Value)
		}
		if a.Append {
			t = append(slices.Clone(old.text), t...)
		}
		if len(t) > maxValue {
			e.spend(maxSteps+1, 0)
			t = nil
		}
		v.text = unquoted(t)
	}
	if e.spend(0, len(v.text)) {
		e.state.variables[name] = v
	}
}

// environments are the names of files that set up an environment, and no list of options.
var environments = regexp.MustCompile(`(^|/)(activate|bash|sh|profile|(conda|mamba|micromamba|modules?|lmod|set_?env|setvars|vars)\.sh|\.?bash(rc|_profile)|\.profile)$`)

// IsEnvironment reports a file that sets up an environment, as conda's does, and no run.
func IsEnvironment(source Word) bool { return environments.MatchString(source.Text) }

// begun is what such a file may have set.
func begun(name string, isList bool, line int) variable {
	if isList {
		return variable{isList: true, loose: true, list: []text{unknown("${"+name+"[@]}", line)}}
	}
	return variable{text: unknown("$"+name, line)}
}

// splits reports a word with an expansion outside quotes, which may be several words.
func splits(w *syntax.Word) bool {
	return slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool {
		switch p.(type) {
		case *syntax.CmdSubst, *syntax.ParamExp:
			return true
		}
		return false
	})
}

// unquoted is a value as a variable holds it: quotes end with the assignment.
func unquoted(t text) text { return t.with(func(c *cell) { c.quoted = c.open }) }

// element sets one element of a list.
func (e *evaluator) element(a *syntax.Assign, old variable) variable {
	v := variable{isList: true, loose: old.loose, list: slices.Clone(old.list), keys: slices.Clone(old.keys), exported: old.exported}
	if !old.isList && old.text.isOpen() {
		return unknownList(a, e.line(a.Pos()))
	}
	if old.keys != nil {
		key, ok := e.key(a.Index)
		if !ok || len(v.list) > mostKeys {
			return unknownList(a, e.line(a.Pos()))
		}
		value := unquoted(e.word(a.Value))
		if a.Append {
			value = append(slices.Clone(v.at(key)), value...)
		}
		v.put(key, value)
		return v
	}
	n, ok := e.arithmetic(a.Index)
	if !ok || n < 0 || n > 4096 || a.Value == nil {
		return v
	}
	for len(v.list) <= n {
		v.list = append(v.list, nil)
	}
	v.list[n] = unquoted(e.word(a.Value))
	return v
}

// mostKeys are more keys than a list of a launch script has.
const mostKeys = 4096

// unknownList is a list of which a run alone knows the keys.
func unknownList(a *syntax.Assign, line int) variable {
	return variable{text: computed("${"+a.Name.Value+"}", line)}
}

// keyedList is a list whose elements say their keys, or that has keys.
func (e *evaluator) keyedList(a *syntax.Assign, old, v variable) variable {
	v.isList, v.keys = true, []string{}
	if a.Append {
		v.keys, v.list = append(v.keys, old.keys...), slices.Clone(old.list)
	}
	for _, el := range a.Array.Elems {
		if el.Value == nil {
			continue
		}
		key, ok := e.key(el.Index)
		if el.Index == nil || !ok || len(v.keys) > mostKeys {
			return unknownList(a, e.line(a.Pos()))
		}
		v.put(key, unquoted(e.word(el.Value)))
	}
	return v
}

// key is what stands in brackets, as the key of a list.
func (e *evaluator) key(x syntax.ArithmExpr) (string, bool) {
	w, ok := x.(*syntax.Word)
	if !ok {
		n, ok := e.arithmetic(x)
		return strconv.Itoa(n), ok
	}
	t := e.word(w)
	return t.String(), !t.isOpen()
}

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

// heredoc expands the text of a here-document.
func (e *evaluator) heredoc(r *syntax.Redirect) text {
	if quotedWord(r.Word) {
		var t text
		for _, p := range r.Hdoc.Parts {
			if l, ok := p.(*syntax.Lit); ok {
				t = append(t, e.counted(l.Value, l.Pos())...)
			}
		}
		return t
	}
	var t text
	for _, p := range r.Hdoc.Parts {
		t = append(t, e.part(p, true)...)
	}
	return t
}

// substitution evaluates the commands whose output is known: echo of words, and cat of a
// here-document.
func (e *evaluator) substitution(c *syntax.CmdSubst) text {
	if len(c.Stmts) == 0 { // `# a comment`
		return nil
	}
	if len(c.Stmts) == 1 && len(c.Stmts[0].Redirs) == 1 {
		if call, ok := c.Stmts[0].Cmd.(*syntax.CallExpr); ok && len(call.Args) == 1 && call.Args[0].Lit() == "cat" {
			if t, ok := e.fed(c.Stmts[0]); ok {
				for len(t) > 0 && t[len(t)-1].b == '\n' {
					t = t[:len(t)-1]
				}
				return t
			}
		}
	}
	if t, ok := e.printed(c.Stmts); ok {
		return t
	}
	if t, ok := e.written(c.Stmts); ok {
		return t
	}
	if t, ok := e.readBack(c.Stmts); ok {
		return t
	}
	e.submitted(c)
	return unknown(source(c), e.line(c.Pos()))
}

// submitted runs the calls of sbatch of which a script wants the output, the number of
// the job.
func (e *evaluator) submitted(c *syntax.CmdSubst) {
	if e.certain || e.depth >= maxDepth {
		return
	}
	syntax.Walk(c, func(n syntax.Node) bool {
		s, ok := n.(*syntax.Stmt)
		if !ok {
			return true
		}
		call, ok := s.Cmd.(*syntax.CallExpr)
		if ok && len(call.Args) > 0 && call.Args[0].Lit() == "sbatch" {
			e.depth++
			e.apartFrom(func() { e.stmt(s) })
			e.depth--
		}
		return true
	})
}

// parameter expands one parameter.
func (e *evaluator) parameter(p *syntax.ParamExp) text {
	line := e.line(p.Pos())
	if p.Param == nil || p.NestedParam != nil || p.Names != 0 {
		return unknown(source(p), line)
	}
	if p.Excl {
		direct, ok := e.indirect(p)
		if !ok {
			return unknown(source(p), line)
		}
		if t := e.parameter(direct); direct.Exp != nil || !t.isOpen() {
			return t
		}
		return unknown(source(p), line)
	}
	value, set := e.value(p)
	switch {
	case !set && e.absent != nil && (p.Exp == nil && p.Slice == nil && p.Repl == nil && !p.Length || p.Exp != nil && alternate(p.Exp.Op)):
		e.absent[p.Param.Value] = true
		return text{}
	case p.Length:
		if v := e.state.variables[p.Param.Value]; set && wholeList(p.Index) && !v.loose && v.isList {
			return known(strconv.Itoa(len(v.list)), line)
		}
		if set && !value.isOpen() && !wholeList(p.Index) {
			return known(strconv.Itoa(len(value)), line)
		}
	case p.Slice != nil:
		if t, ok := e.sliced(p.Slice, value); ok && set && !wholeList(p.Index) && p.Param.Value != "@" && p.Param.Value != "*" {
			return t
		}
	case p.Repl != nil:
		return e.replaced(p, value, set)
	case p.Exp != nil:
		return e.defaulted(p, value, set && !e.missing(p.Param.Value))
	case set:
		return value
	}
	return unknown(source(p), line)
}

// alternate reports ${X+y} and ${X:+y}.
func alternate(op syntax.ParExpOperator) bool {
	return op == syntax.AlternateUnset || op == syntax.AlternateUnsetOrNull
}

// missing reports an argument that the script is known not to be called with.
func (e *evaluator) missing(name string) bool {
	n, err := strconv.Atoi(name)
	return err == nil && e.state.given && n > len(e.state.positional)
}

// value is what a parameter holds.
func (e *evaluator) value(p *syntax.ParamExp) (text, bool) {
	name := p.Param.Value
	if n, err := strconv.Atoi(name); err == nil {
		if !e.state.given || n == 0 {
			return nil, false
		}
		if n <= len(e.state.positional) {
			return e.state.positional[n-1], true
		}
		return text{}, true
	}
	if name == "@" || name == "*" || name == "#" {
		switch {
		case !e.state.given:
			return nil, false
		case name == "#":
			return known(strconv.Itoa(len(e.state.positional)), e.line(p.Pos())), true
		}
		return joined(e.state.positional), true
	}
	v, ok := e.state.variables[name]
	if !ok {
		return known(blank, e.line(p.Pos())), name == "IFS"
	}
	if !v.isList {
		return v.text, true
	}
	if wholeList(p.Index) {
		size := 0
		for _, t := range v.list {
			size += len(t) + 1
		}
		if !e.spend(0, size) {
			return nil, false
		}
		return joined(v.list), true
	}
	if v.keys != nil {
		key, ok := "0", true
		if p.Index != nil {
			key, ok = e.key(p.Index)
		}
		return v.at(key), ok
	}
	n := 0
	if p.Index != nil {
		if n, ok = e.arithmetic(p.Index); !ok {
			return nil, false
		}
	}
	if n > 0 && v.loose {
		return nil, false
	}
	if n < 0 || n >= len(v.list) {
		return text{}, true
	}
	return v.list[n], true
}

// defaulted expands ${X:-y} and its like.
func (e *evaluator) defaulted(p *syntax.ParamExp, value text, set bool) text {
	line := e.line(p.Pos())
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if !set && e.certain {
			return unknown("${"+p.Param.Value+"}", line)
		}
		_, err := strconv.Atoi(p.Param.Value)
		if !set && err == nil && p.Exp.Word == nil {
			return unknown(source(p), line)
		}
		if set && (len(value) > 0 || p.Exp.Op == syntax.DefaultUnset || p.Exp.Op == syntax.AssignUnset) {
			return value
		}
		t := e.word(p.Exp.Word)
		if p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull {
			e.state.variables[p.Param.Value] = variable{text: t}
		}
		return t
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if set && len(value) > 0 {
			return e.word(p.Exp.Word)
		}
		if set {
			return nil
		}
		return e.word(p.Exp.Word).with(func(c *cell) { c.maybe = true })
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		if set {
			return value
		}
		return unknown("${"+p.Param.Value+"}", line)
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.RemSmallPrefix, syntax.RemLargePrefix:
		if t, ok := e.trimmed(p, value, set); ok {
			return t
		}
	case syntax.UpperAll, syntax.LowerAll:
		if set && !value.isOpen() {
			s := strings.ToLower(value.String())
			if p.Exp.Op == syntax.UpperAll {
				s = strings.ToUpper(s)
			}
			return known(s, line)
		}
	}
	return unknown(source(p), line)
}

// trimmed cuts the part of a value that matches a pattern.
func (e *evaluator) trimmed(p *syntax.ParamExp, value text, set bool) (text, bool) {
	cut := e.word(p.Exp.Word)
	op := p.Exp.Op
	shortest := op == syntax.RemSmallSuffix || op == syntax.RemSmallPrefix
	if !set || cut.isOpen() || len(value) > 4096 {
		return nil, false
	}
	// up to the last of some letters, before which may stand what only a run knows
	last := op == syntax.RemLargePrefix && len(cut) > 1 && cut[0].b == '*' && !cut[0].quoted && !strings.ContainsAny(cut.String()[1:], `*?[\`)
	if value.isOpen() && !shortest && !last {
		return nil, false
	}
	s := value.String()
	rx := e.glob(cut.String(), (len(s)+1)*(len(s)+1))
	if rx == nil {
		return nil, false
	}
	for i := range len(s) + 1 {
		k := i // length that is cut
		if !shortest {
			k = len(s) - i
		}
		if op == syntax.RemSmallSuffix && value[len(s)-k:].isOpen() || op == syntax.RemSmallPrefix && value[:k].isOpen() {
			return nil, false
		}
		if (op == syntax.RemSmallSuffix || op == syntax.RemLargeSuffix) && rx.MatchString(s[len(s)-k:]) {
			return value[:len(s)-k], true
		}
		if (op == syntax.RemSmallPrefix || op == syntax.RemLargePrefix) && rx.MatchString(s[:k]) {
			return value[k:], !last || !value[k-len(cut)+1:].isOpen()
		}
	}
	return value, !last || !value.isOpen()
}

// replaced replaces what fits a pattern in a value: everywhere, once, or at one end.
func (e *evaluator) replaced(p *syntax.ParamExp, value text, set bool) text {
	from, to := e.word(p.Repl.Orig), e.word(p.Repl.With)
	open := unknown(source(p), e.line(p.Pos()))
	if !set || value.isOpen() || from.isOpen() || to.isOpen() || len(from) == 0 || wholeList(p.Index) || p.Param.Value == "@" || p.Param.Value == "*" ||
		len(value) > 4096 || (len(value)+1)*(len(to)+1) > maxValue {
		return open
	}
	before, after := "", ""
	if first := from[0]; !p.Repl.All && !first.quoted && first.b == '#' {
		from, before = from[1:], "^"
	} else if !p.Repl.All && !first.quoted && first.b == '%' {
		from, after = from[1:], "$"
	}
	glob := from.glob()
	if !e.spend(0, len(glob)*(1+len(value)*len(value)/stepsPerCell)) {
		return open
	}
	expr, err := pattern.Regexp(glob, 0)
	if err != nil || strings.ContainsAny(to.String(), "&") {
		return open // & is what was found, in some releases of bash
	}
	rx, err := regexp.Compile("(?s)" + before + "(?:" + strings.TrimPrefix(expr, "(?s)") + ")" + after)
	if err != nil {
		return open
	}
	rx.Longest()
	n := 1
	if p.Repl.All {
		n = -1
	}
	var out strings.Builder
	last, s := 0, value.String()
	for _, m := range rx.FindAllStringIndex(s, n) {
		if m[0] == m[1] && before+after == "" {
			continue
		}
		out.WriteString(s[last:m[0]] + to.String())
		last = m[1]
	}
	return known(out.String()+s[last:], e.line(p.Pos()))
}

// matches reports whether a word fits a glob.
func (e *evaluator) matches(glob, word string) bool {
	if len(word) > 4096 {
		return false
	}
	rx := e.glob(glob, len(word))
	return rx != nil && rx.MatchString(word)
}

// stepsPerCell is how many characters are held against a character of a glob in the
// time that a byte of a value is made.
const stepsPerCell = 32

// glob is the regular expression of a glob, to be held against some characters
// altogether; nil where it is none, or where the script takes too much.
func (e *evaluator) glob(glob string, characters int) *regexp.Regexp {
	if !e.spend(0, len(glob)*(1+characters/stepsPerCell)) {
		return nil
	}
	expr, err := pattern.Regexp(glob, pattern.EntireString)
	if err != nil {
		return nil
	}
	rx, err := regexp.Compile(expr)
	if err != nil {
		return nil
	}
	return rx
}
