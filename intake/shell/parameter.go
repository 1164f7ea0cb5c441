package shell

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

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

// worlds are the variables in which the launchers of MPI tell a process of the others, and which
// nobody sets by hand: a default is for a script that none of them starts (Open MPI 4.1.8,
// mpirun(1); MPICH 4.2; MVAPICH2 2.3; Cray PALS 1.2).
var worlds = regexp.MustCompile(`^(?:OMPI_COMM_WORLD|PMI|PMIX|MV2_COMM_WORLD|PALS)_(?:LOCAL_|NODE_)?(?:SIZE|RANK|RANKID|LOCAL_SIZE)$`)

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
		if !set && (e.certain || worlds.MatchString(p.Param.Value)) {
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

// sliced is a part of a value, ${x:from:length}; false where it is not known which.
func (e *evaluator) sliced(s *syntax.Slice, value text) (text, bool) {
	from, to, ok := e.bounds(s, len(value))
	if !ok {
		return nil, false
	}
	// What stands before the part says where it begins, and the whole how long it is
	// where it is counted from the end.
	for _, x := range []syntax.ArithmExpr{s.Offset, s.Length} {
		if n, _ := e.number(x); n < 0 && value.isOpen() {
			return nil, false
		}
	}
	if value[:to].isOpen() {
		return nil, false
	}
	return value[from:to], true
}

// number is the value of an expression that may be left out.
func (e *evaluator) number(x syntax.ArithmExpr) (int, bool) {
	if x == nil {
		return 0, true
	}
	return e.arithmetic(x)
}

// bounds are the ends of a part of something of a length.
func (e *evaluator) bounds(s *syntax.Slice, length int) (from, to int, ok bool) {
	from, ok = e.number(s.Offset)
	n, ok2 := e.number(s.Length)
	if from < 0 {
		from += length
	}
	switch {
	case !ok || !ok2:
		return 0, 0, false
	case from < 0 || from > length:
		return 0, 0, true
	case s.Length == nil:
		return from, length, true
	case n < 0:
		return from, length + n, length+n >= from // else bash ends with an error
	}
	return from, from + min(n, length-from), true
}

// elements are the elements of a list of which a word takes a part, ${a[@]:from:length}.
// Arguments are counted from 1.
func (e *evaluator) elements(p *syntax.ParamExp, v variable) ([]text, bool) {
	if v.loose || v.keys != nil {
		return nil, false
	}
	all := v.list
	if p.Param.Value == "@" || p.Param.Value == "*" {
		all = append([]text{unknown("$0", e.line(p.Pos()))}, all...)
	}
	if n, ok := e.number(p.Slice.Length); !ok || n < 0 {
		return nil, false
	}
	from, to, ok := e.bounds(p.Slice, len(all))
	return all[from:to], ok
}

// indirect is the parameter that ${!x} means, with what else the braces say.
func (e *evaluator) indirect(p *syntax.ParamExp) (*syntax.ParamExp, bool) {
	named, ok := e.value(&syntax.ParamExp{Param: p.Param, Index: p.Index})
	name := named.String()
	if !ok || named.isOpen() || wholeList(p.Index) || !syntax.ValidName(name) {
		return nil, false
	}
	direct := *p
	param := *p.Param
	param.Value = name
	direct.Param, direct.Index, direct.Excl = &param, nil, false
	return &direct, true
}

// blank is what words are split at where the script says nothing of it.
const blank = " \t\n"

// separators are the characters of IFS.
func (e *evaluator) separators() string {
	v, set := e.state.variables["IFS"]
	if !set || v.isList || v.text.isOpen() {
		return blank
	}
	return v.text.String()
}

// fields splits text as the shell does.
func (e *evaluator) fields(t text) []text { return t.fieldsAt(e.separators()) }

// starred is a list in quotes that becomes one word, "${a[*]}", joined by IFS.
func (e *evaluator) starred(p *syntax.ParamExp, quoted bool) (text, bool) {
	ifs, set := e.state.variables["IFS"]
	plain := !p.Length && !p.Excl && p.Slice == nil && p.Repl == nil && p.Exp == nil
	if !quoted || !set || !plain || p.Param == nil || p.Param.Value != "*" && !isStar(p.Index) || ifs.text.isOpen() {
		return nil, false
	}
	all := e.state.variables[p.Param.Value].list
	if p.Param.Value == "*" {
		if all = e.state.positional; !e.state.given {
			return nil, false
		}
	}
	size := 0
	for _, t := range all {
		size += len(t) + 1
	}
	if !e.spend(0, size) {
		return nil, true
	}
	var out text
	for i, t := range all {
		if i > 0 && len(ifs.text) > 0 {
			out = append(out, ifs.text[0])
		}
		out = append(out, t...)
	}
	return out, true
}

// escaped is $'…', of which characters are followed that a text may have.
func (e *evaluator) escaped(p *syntax.SglQuoted) text {
	s, _, err := expand.Format(nil, p.Value, nil)
	control := func(c rune) bool { return !unicode.IsPrint(c) && !strings.ContainsRune(blank+"\r", c) }
	if err != nil || strings.Contains(p.Value, `\c`) || !utf8.ValidString(s) || strings.ContainsFunc(s, control) {
		return unknown(source(p), e.line(p.Pos()))
	}
	return known(s, e.line(p.Pos())).with(func(c *cell) { c.quoted = true })
}
