package shell

import (
	"math/big"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// mostBits are more than any number of a launch has, and fewer than a line of bc has digits for.
const mostBits = 200

// longestProgram has more characters than a calculation of a launch.
const longestProgram = 4096

// isCalculator reports bc, with -l or without options, and how many digits it divides to.
func (e *evaluator) isCalculator(s *syntax.Stmt) (scale int, ok bool) {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || call.Args[0].Lit() != "bc" || len(call.Assigns) > 0 || e.state.functions["bc"] != nil {
		return 0, false
	}
	switch {
	case len(call.Args) == 1:
		return 0, true
	case len(call.Args) == 2 && call.Args[1].Lit() == "-l":
		return 20, true
	}
	return 0, false
}

// calculated is what bc prints of a program that is known.
func (e *evaluator) calculated(in text, scale, line int) (text, bool) {
	if in.isOpen() || len(in) > longestProgram || !e.spend(0, len(in)) {
		return nil, false
	}
	c := &calculator{variables: map[string]decimal{}, scale: scale}
	var printed []string
	for statement := range strings.FieldsFuncSeq(in.String(), func(r rune) bool { return r == ';' || r == '\n' }) {
		if c.rest = strings.TrimSpace(statement); c.rest == "" {
			continue
		}
		shown := !c.assigned()
		n, ok := c.sum()
		switch {
		case !ok || c.rest != "":
			return nil, false
		case shown:
			printed = append(printed, n.String())
		case c.name == "scale" && (n.scale > 0 || n.units.Sign() < 0 || n.units.BitLen() > 5):
			return nil, false
		case c.name == "scale":
			c.scale = int(n.units.Int64())
		default:
			c.variables[c.name] = n
		}
	}
	return known(strings.Join(printed, "\n"), line), true
}

// decimal is a number of bc: units of a power of ten, as many digits as scale behind the point.
type decimal struct {
	units *big.Int
	scale int
}

// String prints as bc does, without a zero in front of the point.
func (d decimal) String() string {
	digits := new(big.Int).Abs(d.units).String()
	if d.scale > 0 && d.units.Sign() != 0 {
		digits = strings.Repeat("0", max(d.scale-len(digits), 0)) + digits
		digits = digits[:len(digits)-d.scale] + "." + digits[len(digits)-d.scale:]
	}
	if d.units.Sign() < 0 {
		return "-" + digits
	}
	return digits
}

// to is the number with as many digits behind the point, of which it loses those that are too many.
func (d decimal) to(scale int) decimal {
	if scale < d.scale {
		return decimal{new(big.Int).Quo(d.units, ten(d.scale-scale)), scale}
	}
	return decimal{new(big.Int).Mul(d.units, ten(scale-d.scale)), scale}
}

func ten(power int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(power)), nil) }

// calculator evaluates expressions of bc: numbers, variables, parentheses, signs and operators.
type calculator struct {
	rest      string // of the statement
	name      string // of the variable that it sets
	variables map[string]decimal
	scale     int
}

// take takes one of some characters from the statement; 0 where none stands there.
func (c *calculator) take(of string) byte {
	c.rest = strings.TrimLeft(c.rest, " \t")
	if c.rest == "" || strings.IndexByte(of, c.rest[0]) < 0 {
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return b
}

// span takes what consists of some characters.
func (c *calculator) span(of string) string {
	c.rest = strings.TrimLeft(c.rest, " \t")
	n := len(c.rest) - len(strings.TrimLeft(c.rest, of))
	taken := c.rest[:n]
	c.rest = c.rest[n:]
	return taken
}

const small = "abcdefghijklmnopqrstuvwxyz_"

// assigned takes the beginning of a statement that sets a variable.
func (c *calculator) assigned() bool {
	whole := c.rest
	if c.name = c.span(small); c.name != "" && c.take("=") != 0 && !strings.HasPrefix(c.rest, "=") {
		return true
	}
	c.rest = whole
	return false
}

func (c *calculator) sum() (decimal, bool) { return c.chain("+-", c.product) }

func (c *calculator) product() (decimal, bool) { return c.chain("*/%", c.power) }

// chain is what operators of one rank make of their operands, from left to right. One that
// stands twice is another operator, as ++ is, or none.
func (c *calculator) chain(operators string, operand func() (decimal, bool)) (decimal, bool) {
	a, ok := operand()
	for ok {
		op := c.take(operators)
		if op == 0 {
			break
		}
		if strings.HasPrefix(c.rest, string(op)) {
			return a, false
		}
		var b decimal
		if b, ok = operand(); ok {
			a, ok = c.operated(op, a, b)
		}
	}
	return a, ok
}

func (c *calculator) power() (decimal, bool) {
	a, ok := c.signed()
	if !ok || c.take("^") == 0 {
		return a, ok
	}
	b, ok := c.power()
	if !ok {
		return a, false
	}
	return c.operated('^', a, b)
}

// signed is a number behind its sign, which binds closer than any operator.
func (c *calculator) signed() (decimal, bool) {
	if c.take("-") == 0 {
		return c.number()
	}
	n, ok := c.number()
	if ok {
		n.units = new(big.Int).Neg(n.units)
	}
	return n, ok
}

func (c *calculator) number() (decimal, bool) {
	if c.take("(") != 0 {
		n, ok := c.sum()
		return n, ok && c.take(")") != 0
	}
	if name := c.span(small); name != "" {
		n, ok := c.variables[name]
		if name == "scale" {
			n, ok = decimal{big.NewInt(int64(c.scale)), 0}, true
		}
		return n, ok && !strings.HasPrefix(c.rest, "(")
	}
	whole, part, _ := strings.Cut(c.span("0123456789."), ".")
	n, ok := new(big.Int).SetString(whole+part, 10)
	return decimal{n, len(part)}, ok && n.BitLen() < mostBits
}

// operated is the result of an operator, with the digits that bc gives it; false where bc ends
// with an error, and for numbers that no launch has.
func (c *calculator) operated(op byte, a, b decimal) (out decimal, ok bool) {
	switch op {
	case '+', '-':
		scale := max(a.scale, b.scale)
		a, b, out = a.to(scale), b.to(scale), decimal{new(big.Int), scale}
		if op == '+' {
			out.units.Add(a.units, b.units)
		} else {
			out.units.Sub(a.units, b.units)
		}
	case '*':
		out = decimal{new(big.Int).Mul(a.units, b.units), a.scale + b.scale}
		out = out.to(min(out.scale, max(c.scale, a.scale, b.scale)))
	case '/':
		if b.units.Sign() == 0 {
			return out, false
		}
		out = decimal{new(big.Int).Quo(a.to(c.scale+b.scale+a.scale).units, b.to(b.scale+a.scale).units), c.scale}
	case '%':
		whole, ok := c.operated('/', a, b)
		if !ok {
			return out, false
		}
		scale := max(a.scale, b.scale+c.scale)
		taken := decimal{new(big.Int).Mul(whole.units, b.units), whole.scale + b.scale}.to(scale)
		out = decimal{new(big.Int).Sub(a.to(scale).units, taken.units), scale}
	case '^':
		if b.scale > 0 || !b.units.IsInt64() || max(b.units.Int64(), -b.units.Int64()) >= mostBits {
			return out, false
		}
		n := max(b.units.Int64(), -b.units.Int64())
		out = decimal{new(big.Int).Exp(a.units, big.NewInt(n), nil), a.scale * int(n)}
		if b.units.Sign() < 0 {
			return c.operated('/', decimal{big.NewInt(1), 0}, out)
		}
		out = out.to(min(out.scale, max(c.scale, a.scale)))
	}
	return out, out.units.BitLen() < mostBits
}
