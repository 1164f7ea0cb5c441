package shell

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// truth is the outcome of a condition.
type truth uint8

const (
	perhaps truth = iota
	yes
	no
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

func (t truth) not() truth { return [...]truth{perhaps, no, yes}[t] }

// outcome is whether a statement succeeds, as far as that is known.
func (e *evaluator) outcome(s *syntax.Stmt) truth {
	ok := perhaps
	switch c := s.Cmd.(type) {
	case *syntax.TestClause:
		ok = e.test(c.X)
	case *syntax.CallExpr:
		ok = e.testCommand(c)
	case *syntax.BinaryCmd:
		ok = both(c.Op == syntax.OrStmt, e.outcome(c.X), func() truth { return e.outcome(c.Y) })
		if c.Op != syntax.AndStmt && c.Op != syntax.OrStmt {
			ok = perhaps
		}
	case *syntax.ArithmCmd:
		if n, known := e.arithmetic(c.X); known {
			ok = truthOf(n != 0)
		}
	}
	if s.Negated {
		return ok.not()
	}
	return ok
}

// defaulting is the outcome of a condition of an if that spells ${X:-default} in long: where
// nobody sets X, the branch that sets it is its default, as it is in short.
func (e *evaluator) defaulting(c *syntax.IfClause) truth {
	var otherwise []*syntax.Stmt
	if c.Else != nil && len(c.Else.Cond) == 0 {
		otherwise = c.Else.Then
	}
	condition := c.Cond[len(c.Cond)-1]
	if e.unset(condition, c.Then, otherwise) == yes {
		return yes
	}
	if e.unset(condition, otherwise, c.Then) == no {
		return no
	}
	return perhaps
}

// unset is the outcome of a condition as if variables that nobody sets were empty, where
// some statements give one of these a value, or give one to what has that of such a
// variable otherwise.
func (e *evaluator) unset(condition *syntax.Stmt, stmts, otherwise []*syntax.Stmt) truth {
	if e.certain || e.absent != nil || len(stmts) == 0 {
		return perhaps
	}
	e.absent = map[string]bool{}
	ok, absent := e.outcome(condition), e.absent
	e.absent = nil
	for _, a := range assignments(stmts) {
		if absent[a.Name.Value] {
			return ok
		}
		for _, o := range assignments(otherwise) {
			if o.Name.Value == a.Name.Value && absent[copied(o.Value)] {
				return ok
			}
		}
	}
	return perhaps
}

// assignments are those that stand among statements, and not in what these start.
func assignments(stmts []*syntax.Stmt) (all []*syntax.Assign) {
	for _, s := range stmts {
		switch c := s.Cmd.(type) {
		case *syntax.CallExpr:
			if len(c.Args) == 0 {
				all = append(all, c.Assigns...)
			}
		case *syntax.DeclClause:
			all = append(all, c.Args...)
		case *syntax.Block:
			all = append(all, assignments(c.Stmts)...)
		}
	}
	return slices.DeleteFunc(all, func(a *syntax.Assign) bool { return a.Name == nil || a.Naked })
}

// copied is the variable whose value alone a word has; "" for another word.
func copied(w *syntax.Word) string {
	if w == nil || len(w.Parts) != 1 {
		return ""
	}
	part := w.Parts[0]
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part = q.Parts[0]
	}
	if p, ok := part.(*syntax.ParamExp); ok && p.Param != nil && p.Exp == nil && p.Slice == nil && p.Repl == nil && !p.Length && !p.Excl {
		return p.Param.Value
	}
	return ""
}

// both combines two outcomes by and, or by or.
func both(or bool, x truth, y func() truth) truth {
	decides := no
	if or {
		decides = yes
	}
	if x == decides {
		return x
	}
	switch second := y(); {
	case second == decides:
		return second
	case x == perhaps || second == perhaps:
		return perhaps
	}
	return decides.not()
}

// testCommand evaluates [ … ] and test.
func (e *evaluator) testCommand(c *syntax.CallExpr) truth {
	if len(c.Args) == 0 {
		return yes
	}
	name := c.Args[0].Lit()
	switch name {
	case "true", ":":
		return yes
	case "false":
		return no
	case "[", "test":
	default:
		return perhaps
	}
	var words []text
	for _, w := range c.Args[1:] {
		words = append(words, e.word(w))
	}
	if name == "[" && len(words) > 0 {
		words = words[:len(words)-1]
	}
	return e.arguments(words)
}

// arguments evaluates the words of a test, which or binds weaker than and.
func (e *evaluator) arguments(words []text) truth {
	for _, op := range []string{"-o", "-a"} {
		for i, w := range words {
			if w.String() == op && i > 0 && i < len(words)-1 {
				return both(op == "-o", e.arguments(words[:i]), func() truth { return e.arguments(words[i+1:]) })
			}
		}
	}
	switch {
	case len(words) > 1 && words[0].String() == "!":
		return e.arguments(words[1:]).not()
	case len(words) == 3:
		return compared(words[0], words[1].String(), words[2])
	case len(words) == 2:
		return e.single(words[0].String(), words[1])
	case len(words) == 1 && !words[0].isOpen():
		return truthOf(len(words[0]) > 0)
	}
	return perhaps
}

// tracker is the file of a folder of checkpoints in which Megatron-LM keeps which is the
// newest (checkpointing.py: get_checkpoint_tracker_filename).
const tracker = "latest_checkpointed_iteration.txt"

// single evaluates a test of one word. A run is read as it begins, when it has no
// checkpoint yet, and the files that were given are there.
func (e *evaluator) single(op string, x text) truth {
	if slices.Contains([]string{"-e", "-f", "-r", "-s"}, op) && !e.certain {
		if _, given := e.named(e.call.Files, x.String()); given {
			return yes
		} else if op != "-r" && path.Base(x.String()) == tracker {
			return no
		}
	}
	if x.isOpen() {
		return perhaps
	}
	switch op {
	case "-z":
		return truthOf(len(x) == 0)
	case "-n":
		return truthOf(len(x) > 0)
	}
	return perhaps
}

func compared(x text, op string, y text) truth {
	if x.isOpen() || y.isOpen() {
		return perhaps
	}
	a, b := x.String(), y.String()
	switch op {
	case "=", "==":
		return truthOf(a == b)
	case "!=":
		return truthOf(a != b)
	}
	m, err := strconv.Atoi(strings.TrimSpace(a))
	n, err2 := strconv.Atoi(strings.TrimSpace(b))
	if err != nil || err2 != nil {
		return perhaps
	}
	switch op {
	case "-eq":
		return truthOf(m == n)
	case "-ne":
		return truthOf(m != n)
	case "-gt":
		return truthOf(m > n)
	case "-ge":
		return truthOf(m >= n)
	case "-lt":
		return truthOf(m < n)
	case "-le":
		return truthOf(m <= n)
	}
	return perhaps
}

// test evaluates [[ … ]].
func (e *evaluator) test(x syntax.TestExpr) truth {
	switch x := x.(type) {
	case *syntax.Word:
		t := e.word(x)
		if t.isOpen() {
			return perhaps
		}
		return truthOf(len(t) > 0)
	case *syntax.ParenTest:
		return e.test(x.X)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsNot {
			return e.test(x.X).not()
		}
		if w, ok := x.X.(*syntax.Word); ok {
			return e.single(x.Op.String(), e.word(w))
		}
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.AndTest, syntax.OrTest:
			return both(x.Op == syntax.OrTest, e.test(x.X), func() truth { return e.test(x.Y) })
		}
		a, ok := x.X.(*syntax.Word)
		b, ok2 := x.Y.(*syntax.Word)
		if !ok || !ok2 {
			return perhaps
		}
		left, right := e.word(a), e.word(b)
		switch x.Op {
		case syntax.TsMatch, syntax.TsMatchShort:
			return e.matched(left, right)
		case syntax.TsNoMatch:
			return e.matched(left, right).not()
		}
		return compared(left, x.Op.String(), right)
	}
	return perhaps
}

// matched is whether text matches a pattern. Text in front of what only a run knows decides it
// where the pattern begins otherwise, or has no more than that beginning and a star.
func (e *evaluator) matched(t, pattern text) truth {
	if pattern.isOpen() {
		return perhaps
	}
	if !t.isOpen() {
		return truthOf(e.matches(pattern.glob(), t.String()))
	}
	begins := t[:slices.IndexFunc(t, func(c cell) bool { return c.open || c.maybe })].String()
	special := slices.IndexFunc(pattern, func(c cell) bool { return !c.quoted && strings.IndexByte(`*?[(|\@+!`, c.b) >= 0 })
	if special < 0 {
		special = len(pattern)
	}
	start, rest := pattern[:special].String(), pattern[special:].glob()
	switch {
	case !strings.HasPrefix(start, begins) && !strings.HasPrefix(begins, start):
		return no
	case rest == "*" && strings.HasPrefix(begins, start):
		return yes
	}
	return perhaps
}
