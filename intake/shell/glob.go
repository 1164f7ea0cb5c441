package shell

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"
)

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
const stepsPerCell = 8

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
