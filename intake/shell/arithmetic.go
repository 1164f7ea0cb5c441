package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arithmetic evaluates an expression of whole numbers. It changes nothing.
func (e *evaluator) arithmetic(x syntax.ArithmExpr) (int, bool) {
	switch x := x.(type) {
	case *syntax.Word:
		t := e.word(x)
		if v, ok := e.state.variables[t.String()]; ok && !v.isList {
			t = v.text
		}
		if t.isOpen() {
			return 0, false
		}
		n, err := strconv.ParseInt(strings.TrimSpace(t.String()), 0, 64)
		return int(n), err == nil
	case *syntax.ParenArithm:
		return e.arithmetic(x.X)
	case *syntax.UnaryArithm:
		n, ok := e.arithmetic(x.X)
		switch x.Op {
		case syntax.Minus:
			return -n, ok
		case syntax.Plus:
			return n, ok
		case syntax.Not:
			if n != 0 {
				return 0, ok
			}
			return 1, ok
		}
	case *syntax.BinaryArithm:
		return e.binaryArithmetic(x)
	}
	return 0, false
}

func (e *evaluator) binaryArithmetic(x *syntax.BinaryArithm) (int, bool) {
	if x.Op == syntax.TernQuest {
		when, ok := e.arithmetic(x.X)
		choice, isChoice := x.Y.(*syntax.BinaryArithm)
		if !ok || !isChoice {
			return 0, false
		}
		if when != 0 {
			return e.arithmetic(choice.X)
		}
		return e.arithmetic(choice.Y)
	}
	a, ok := e.arithmetic(x.X)
	b, ok2 := e.arithmetic(x.Y)
	if !ok || !ok2 {
		return 0, false
	}
	return operated(x.Op, a, b)
}

// operated is the result of an operator on numbers.
func operated(op syntax.BinAritOperator, a, b int) (int, bool) {
	number := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	switch op {
	case syntax.Add:
		return a + b, true
	case syntax.Sub:
		return a - b, true
	case syntax.Mul:
		return a * b, true
	case syntax.Quo:
		if b != 0 {
			return a / b, true
		}
	case syntax.Rem:
		if b != 0 {
			return a % b, true
		}
	case syntax.Pow:
		power := 1
		for i := 0; i < b; i++ {
			if power *= a; i == 64 || power > 1<<31 || power < -1<<31 {
				return 0, false
			}
		}
		return power, b >= 0
	case syntax.Shl:
		return a << uint(b), 0 <= b && b < 32 && a < 1<<31 && a > -1<<31
	case syntax.Shr:
		return a >> uint(b), 0 <= b && b < 64
	case syntax.AndArit:
		return number(a != 0 && b != 0), true
	case syntax.OrArit:
		return number(a != 0 || b != 0), true
	case syntax.Eql:
		return number(a == b), true
	case syntax.Neq:
		return number(a != b), true
	case syntax.Gtr:
		return number(a > b), true
	case syntax.Lss:
		return number(a < b), true
	case syntax.Geq:
		return number(a >= b), true
	case syntax.Leq:
		return number(a <= b), true
	}
	return 0, false
}

// sets are the operators that set a variable, with what they do to its value; the
// zero operator takes the other value as it is.
var sets = map[syntax.BinAritOperator]syntax.BinAritOperator{
	syntax.Assgn: 0, syntax.AddAssgn: syntax.Add, syntax.SubAssgn: syntax.Sub, syntax.MulAssgn: syntax.Mul, syntax.QuoAssgn: syntax.Quo,
	syntax.RemAssgn: syntax.Rem, syntax.ShlAssgn: syntax.Shl, syntax.ShrAssgn: syntax.Shr, syntax.PowAssgn: syntax.Pow,
}

// computes runs an expression that is a statement, such as ((A *= 2)) or let A=B+1, for
// the variables that it sets.
func (e *evaluator) computes(x syntax.ArithmExpr) {
	switch x := x.(type) {
	case *syntax.ParenArithm:
		e.computes(x.X)
	case *syntax.UnaryArithm:
		if x.Op == syntax.Inc || x.Op == syntax.Dec {
			n, ok := e.arithmetic(x.X)
			if x.Op == syntax.Inc {
				n++
			} else {
				n--
			}
			e.setNumber(x.X, n, ok)
		}
	case *syntax.BinaryArithm:
		op, set := sets[x.Op]
		switch {
		case x.Op == syntax.Comma:
			e.computes(x.X)
			e.computes(x.Y)
		case set:
			n, ok := e.arithmetic(x.Y)
			if op != 0 && ok {
				var before int
				if before, ok = e.arithmetic(x.X); ok {
					n, ok = operated(op, before, n)
				}
			}
			e.setNumber(x.X, n, ok)
		}
	}
}

// setNumber sets the variable of an expression to a number, or to what only a run knows.
func (e *evaluator) setNumber(x syntax.ArithmExpr, n int, ok bool) {
	w, plain := x.(*syntax.Word)
	if !plain || w.Lit() == "" {
		return
	}
	v := variable{exported: e.state.variables[w.Lit()].exported, text: computed("${"+w.Lit()+"}", e.line(x.Pos()))}
	if ok {
		v.text = known(strconv.Itoa(n), e.line(x.Pos()))
	}
	e.state.variables[w.Lit()] = v
}
