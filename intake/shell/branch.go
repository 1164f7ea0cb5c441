package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// unsure runs something that may not happen.
func (e *evaluator) unsure(do func()) {
	before := e.state
	e.state = before.clone()
	e.maybe++
	e.guardedly(do)
	e.maybe--
	e.state = e.merged(before, []*state{e.state, before})
}

func (e *evaluator) binary(c *syntax.BinaryCmd) {
	switch c.Op {
	case syntax.AndStmt, syntax.OrStmt:
		ok := e.outcome(c.X)
		e.stmt(c.X)
		wanted := yes
		if c.Op == syntax.OrStmt {
			wanted = no
		}
		if ok == perhaps && e.unset(c.X, []*syntax.Stmt{c.Y}, nil) == wanted {
			ok = wanted
		}
		if ok == perhaps && !plainCommand(c.X) {
			e.unsure(func() { e.stmt(c.Y) })
		} else if ok == wanted || ok == perhaps && c.Op == syntax.AndStmt {
			e.guardedly(func() { e.stmt(c.Y) })
		}
	default:
		if e.output != nil { // what a program makes of it
			e.output.unknown = true
			return
		}
		e.stmt(c.X)
		e.stmt(c.Y)
		if writer, ok := c.X.Cmd.(*syntax.CallExpr); ok && len(writer.Args) == 1 && writer.Args[0].Lit() == "cat" {
			if reader, ok := c.Y.Cmd.(*syntax.CallExpr); ok && len(reader.Args) > 0 {
				e.scripted(c.X, reader.Args[0].Lit())
			}
		}
	}
}

// plainCommand reports a command that is no test, and that is taken to succeed.
func plainCommand(s *syntax.Stmt) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		_, binary := s.Cmd.(*syntax.BinaryCmd)
		return ok || binary
	}
	name := call.Args[0].Lit()
	return name != "[" && name != "test"
}

func (e *evaluator) condition(c *syntax.IfClause) {
	var branches []*state
	start, certain := e.state, false
	for ; c != nil && !certain; c = c.Else {
		if branches == nil {
			e.does(c.Cond)
		}
		ok := yes
		if len(c.Cond) > 0 {
			ok = e.outcome(c.Cond[len(c.Cond)-1])
		}
		if ok == perhaps && branches == nil {
			ok = e.defaulting(c)
		}
		switch {
		case ok == no:
			continue
		case ok == yes && branches == nil:
			e.guardedly(func() { e.run(c.Then) })
			return
		}
		certain = ok == yes
		branches = append(branches, e.branch(start, c.Then))
	}
	e.join(start, branches, certain)
}

// does runs what a condition starts, such as the launch of which it asks whether it succeeds.
func (e *evaluator) does(condition []*syntax.Stmt) {
	for _, s := range condition {
		if e.output == nil && starts(s) {
			e.stmt(s)
		}
	}
}

// starts reports a condition with a command that is no test.
func starts(s *syntax.Stmt) bool {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		return len(c.Args) > 0 && !slices.Contains(tests, c.Args[0].Lit())
	case *syntax.BinaryCmd:
		return starts(c.X) || starts(c.Y)
	case *syntax.TimeClause:
		return c.Stmt != nil && starts(c.Stmt)
	}
	return false
}

// tests are commands that start nothing.
var tests = []string{"[", "test", "true", "false", ":", "getopts"}

// branch runs statements that may not happen, from a state.
func (e *evaluator) branch(start *state, stmts []*syntax.Stmt) *state {
	e.state = start.clone()
	e.maybe++
	e.guardedly(func() { e.run(stmts) })
	e.maybe--
	return e.state
}

// join merges branches, one of which is taken when that is certain.
func (e *evaluator) join(start *state, branches []*state, certain bool) {
	if !certain {
		branches = append(branches, start)
	}
	e.state = e.merged(start, branches)
}

func (e *evaluator) cases(c *syntax.CaseClause) {
	word := e.word(c.Word)
	start, certain := e.state, false
	var branches []*state
	for _, item := range c.Items {
		ok := no
		for _, p := range item.Patterns {
			ok = both(true, ok, func() truth { return e.matched(word, e.word(p)) })
		}
		if ok == yes && branches == nil {
			e.guardedly(func() { e.run(item.Stmts) })
			return
		}
		if ok != no {
			branches = append(branches, e.branch(start, item.Stmts))
		}
		if certain = ok == yes; certain {
			break
		}
	}
	e.join(start, branches, certain)
}

// while runs the body once, as something that may not happen; over arguments
// that are known it runs as often as it takes one.
func (e *evaluator) while(c *syntax.WhileClause) {
	if e.optionsOf(c) {
		return
	}
	goesOn := func() bool {
		ok := e.outcome(c.Cond[len(c.Cond)-1])
		return e.state.given && (ok == yes && !c.Until || ok == no && c.Until)
	}
	if !readsArguments(c) && len(c.Cond) == 1 && e.turns(c.Do, func() truth {
		if ok := e.outcome(c.Cond[0]); c.Until {
			return ok.not()
		} else {
			return ok
		}
	}, func() { e.run(c.Do) }) {
		return
	}
	if !readsArguments(c) || !goesOn() {
		if !readsArguments(c) || !e.state.given {
			e.unsure(func() {
				e.does(c.Cond)
				e.run(c.Do)
			})
		}
		return
	}
	for left := len(e.state.positional) + 1; goesOn() && len(e.state.positional) < left; {
		left = len(e.state.positional)
		e.guardedly(func() { e.run(c.Do) })
	}
}

// readsArguments reports a condition over the script's arguments.
func readsArguments(c *syntax.WhileClause) (found bool) {
	for _, s := range c.Cond {
		syntax.Walk(s, func(n syntax.Node) bool {
			if p, ok := n.(*syntax.ParamExp); ok && slices.Contains([]string{"#", "1", "@", "*"}, p.Param.Value) {
				found = true
			}
			return true
		})
	}
	return found
}
