package lint

import (
	"fmt"
	"slices"
	"strings"
)

// relation is a rule of Megatron-LM about two of its options, which holds in
// every release that ndc emits for.
type relation struct {
	Kind   string // divides, at-most, excludes, needs
	Option string
	Value  string // the option's, where the rule is about one
	By     string
	Times  int  // the divisor is so many times the option By
	Zero   bool // By may be zero
	Any    []string
	Unless []string
	Why    string
	Source string
}

var relations = table[relation]("megatron")

// relation checks one rule about two options.
func (s *script) relation(a *arguments, r *relation) {
	if a.byName[r.Option] == nil || slices.ContainsFunc(r.Unless, func(name string) bool { return len(a.byName[name]) > 0 }) {
		return
	}
	o := a.last(r.Option)
	if o.maybe || r.Value != "" && (o.open || o.first() != r.Value) {
		return
	}
	switch r.Kind {
	case "needs":
		if !slices.ContainsFunc(r.Any, a.mayHave) && s.upstream(a) { // a fork may have an option of its own for it
			s.report(Contradiction, s.place(o), fmt.Sprintf("%s needs %s: %s. Megatron-LM from %s ends with an error.", named(r), strings.Join(r.Any, " or "), r.Why, span()))
		}
	case "excludes":
		s.excludes(a, r, o)
	default:
		s.compares(a, r)
	}
}

func named(r *relation) string { return strings.TrimSpace(r.Option + " " + r.Value) }

func (s *script) excludes(a *arguments, r *relation, o *option) {
	if !a.has(r.By) {
		return
	}
	other := a.last(r.By)
	if x, _, ok := a.certain(r.By); r.Zero && (!ok || x == 0) || r.Option == "--train-iters" && o.first() == "0" {
		return
	}
	s.report(Contradiction, s.place(other), fmt.Sprintf("%s excludes %s, which stands on line %d: %s. Megatron-LM from %s ends with an error. Remove one.", r.By, named(r), o.line, r.Why, span()))
}

func (s *script) compares(a *arguments, r *relation) {
	x, o, ok := a.certain(r.Option)
	y, by, ok2 := a.certain(r.By)
	if !ok || !ok2 || slices.ContainsFunc(r.Unless, func(name string) bool { return a.mayHave(name) }) {
		return
	}
	switch r.Kind {
	case "at-most":
		if x > y {
			s.report(Contradiction, s.place(o), fmt.Sprintf("%s is %s and %s, on line %d, %s: %s. Megatron-LM from %s ends with an error.", r.Option, o.first(), r.By, by.line, by.first(), r.Why, span()))
		}
	case "divides":
		times := max(r.Times, 1)
		n, m := int(x), int(y)*times
		if m < 2 || y < 2 && times > 1 || n%m == 0 {
			return
		}
		what := fmt.Sprintf("%s %d", r.By, int(y))
		if times > 1 {
			what = fmt.Sprintf("%d·%s = %d", times, r.By, m)
		}
		nearest := fmt.Sprintf("nearest that are: %d and %d", n/m*m, (n/m+1)*m)
		if n < m {
			nearest = fmt.Sprintf("least that is: %d", m)
		}
		s.report(Indivisible, s.place(o), fmt.Sprintf("%s %d is not divisible by %s: %s. Megatron-LM ends with an error. The %s.", r.Option, n, what, r.Why, nearest))
	}
}
