package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// frame is a function or a file whose statements may end with return.
type frame struct {
	left    []*state // in which it was returned from
	guarded int      // the evaluator's, when it began
}

// guarded runs statements that stand under a condition, whether or not its outcome is known.
func (e *evaluator) guardedly(do func()) {
	e.guarded++
	do()
	e.guarded--
}

// returning runs a function, or a file that is read, and goes on from wherever it was
// returned from.
func (e *evaluator) returning(body syntax.Node, do func()) {
	if !e.returns(body) {
		do()
		return
	}
	before := e.copied()
	e.frames = append(e.frames, &frame{guarded: e.guarded})
	do()
	left := e.frames[len(e.frames)-1].left
	e.frames = e.frames[:len(e.frames)-1]
	if !e.state.over {
		left = append(left, e.state)
	}
	switch len(left) {
	case 0: // the script has ended
	case 1:
		e.state = left[0]
	default:
		e.state = e.merged(before, left)
	}
}

// returns reports a body that has a return.
func (e *evaluator) returns(body syntax.Node) bool {
	found, known := e.returners[body]
	if known {
		return found
	}
	syntax.Walk(body, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 && call.Args[0].Lit() == "return" {
			found = true
		}
		return !found
	})
	if e.returners == nil {
		e.returners = map[syntax.Node]bool{}
	}
	e.returners[body] = found
	return found
}

// ends runs return, exit, or exec of a program, behind which nothing runs. What a
// script does where it fails is not what its user wants: under a condition that
// is known to hold, as it is known by the defaults of variables, an exit or a
// return with a status is passed over. Under one that only a run knows, the branch
// ends, and has no part in what comes after.
func (e *evaluator) ends(name string, words []text) {
	failed := len(words) > 0 && words[0].String() != "0"
	switch {
	case name == "return" && len(e.frames) > 0:
		f := e.frames[len(e.frames)-1]
		if failed && e.maybe == 0 && e.guarded > f.guarded {
			return
		}
		f.left = append(f.left, e.state)
		e.state = newState()
		e.state.over = true
	case name == "return":
	case e.maybe > 0 || e.guarded == 0:
		e.state.over = true
	}
}

// cellsPerVariable is what copying a variable takes, in bytes of values that are made
// in the time.
const cellsPerVariable = 32

// copied is a copy of the state, which counts as work.
func (e *evaluator) copied() *state {
	e.spend(0, cellsPerVariable*len(e.state.variables))
	return e.state.clone()
}

// merged are the branches of a condition as one state, of those that have not ended.
func (e *evaluator) merged(before *state, branches []*state) *state {
	e.spend(0, cellsPerVariable*len(before.variables)*len(branches))
	going := slices.DeleteFunc(slices.Clone(branches), func(s *state) bool { return s.over })
	if len(going) > 0 {
		return merge(before, going)
	}
	after := merge(before, branches)
	after.over = true
	return after
}

// apartFrom runs the statements of another shell, a copy of this one, which changes
// nothing here; what it exports is kept for the programs that it starts.
func (e *evaluator) apartFrom(do func()) {
	outer, frames, guarded := e.state, e.frames, e.guarded
	e.state, e.frames, e.guarded = e.copied(), nil, 0
	do()
	e.exports(outer)
	e.state, e.frames, e.guarded = outer, frames, guarded
}
