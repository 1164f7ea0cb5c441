package budget

import (
	"regexp/syntax"
	"unicode/utf8"
)

// maxPattern is the longest pattern, in bytes. Some hundred of them are enough for
// a program of a million instructions.
const maxPattern = 1 << 12

// A step is an instruction of a pattern that is looked at for one character of the
// text. Package regexp takes 3 to 30 ns for one, and counting it as long again.
const stepsPerUnit = 16

// matches says how often a pattern matches, at most so many times, and what matching
// takes. A match may be short and look at all of the text, so that the sizes of text
// and pattern tell nothing: the steps are counted by going them, as package regexp
// does, as long as a budget could pay for them.
func matches(p, s string, most int) (count, work float64) {
	re, err := syntax.Parse(p, syntax.Perl)
	if err != nil {
		return 0, 0
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return 0, 0
	}
	left := (MaxTotal - len(prog.Inst)) * stepsPerUnit
	m := matcher{prog: prog, text: s, left: left}
	m.seen[0], m.seen[1] = make([]int, len(prog.Inst)), make([]int, len(prog.Inst))
	for from, last := 0, -1; from <= len(s) && int(count) < most && m.left > 0; {
		end := m.match(from)
		if end < 0 {
			break
		}
		if !m.empty || end != last { // an empty match behind another is none
			count++
		}
		if from, last = end, end; m.empty {
			_, width := utf8.DecodeRuneInString(s[end:])
			from += max(width, 1)
		}
	}
	if m.left <= 0 {
		return count, MaxTotal + 1
	}
	return count, float64(len(prog.Inst)) + float64(left-m.left)/stepsPerUnit
}

// matcher goes the steps of matching a program.
type matcher struct {
	prog  *syntax.Prog
	text  string
	left  int  // steps; none when the budget cannot pay for more
	empty bool // the last match was

	threads [2][]thread // at a character and at the next, the preferred first
	seen    [2][]int    // by instruction, the last mark of a list that has it
	mark    int
	stack   []uint32
}

// thread is an instruction to be tried at a character, and where its match began.
type thread struct {
	pc    uint32
	begin int
}

// match returns the end of the first match from a place on; negative for none.
func (m *matcher) match(from int) (end int) {
	end = -1
	m.threads[0] = m.threads[0][:0]
	m.mark++
	for at, now := from, 0; ; now = 1 - now {
		before, _ := utf8.DecodeLastRuneInString(m.text[:at])
		if at == 0 {
			before = -1
		}
		char, width := utf8.DecodeRuneInString(m.text[at:])
		if width == 0 {
			char = -1
		}
		if end < 0 {
			m.add(now, thread{uint32(m.prog.Start), at}, syntax.EmptyOpContext(before, char))
		}
		if end >= 0 && len(m.threads[now]) == 0 || m.left <= 0 {
			return end
		}
		// What those that begin at the next character see, all see.
		after, _ := utf8.DecodeRuneInString(m.text[at+width:])
		if at+width == len(m.text) {
			after = -1
		}
		flags := syntax.EmptyOpContext(char, after)
		next := 1 - now
		m.threads[next] = m.threads[next][:0]
		m.mark++
		for _, t := range m.threads[now] {
			i := &m.prog.Inst[t.pc]
			if i.Op == syntax.InstMatch {
				end, m.empty = at, t.begin == at
				break // the others are preferred less
			}
			if width > 0 && i.MatchRune(char) {
				m.add(next, thread{i.Out, t.begin}, flags)
			}
		}
		if width == 0 {
			return end
		}
		at += width
	}
}

// add puts a thread into a list, at what it leads to without a character.
func (m *matcher) add(list int, t thread, flags syntax.EmptyOp) {
	m.stack = append(m.stack[:0], t.pc)
	for len(m.stack) > 0 {
		pc := m.stack[len(m.stack)-1]
		m.stack = m.stack[:len(m.stack)-1]
		if m.left--; m.seen[list][pc] == m.mark {
			continue
		}
		m.seen[list][pc] = m.mark
		switch i := &m.prog.Inst[pc]; i.Op {
		case syntax.InstFail:
		case syntax.InstAlt, syntax.InstAltMatch:
			m.stack = append(m.stack, i.Arg, i.Out)
		case syntax.InstCapture, syntax.InstNop:
			m.stack = append(m.stack, i.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(i.Arg)&^flags == 0 {
				m.stack = append(m.stack, i.Out)
			}
		default:
			m.threads[list] = append(m.threads[list], thread{pc, t.begin})
		}
	}
}
