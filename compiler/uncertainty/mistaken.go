package uncertainty

import "math"

// A prediction is off by as much as predictions are. What a job says of its machine may
// be off by any factor: a node with one port where it says eight, links that run at a
// fraction of their rate. No spread of errors is made for that, so that it is a
// hypothesis of its own.

// multiples are by how many times a link may be slower or faster than its job says.
var multiples = []float64{1.0 / 8, 1.0 / 6, 1.0 / 4, 1.0 / 3, 1.0 / 2, 2.0 / 3, 1.5, 2, 3, 4, 6, 8}

// fewestOdds is how much more likely a multiple has to make what was measured: strong
// evidence begins at 20 (Kass and Raftery 1995, Bayes factors, section 3.2), and a dozen
// multiples try.
const fewestOdds = 40

// Mistaken is how many times as long as predicted a term takes all over a machine, where
// its job seems to be mistaken about it, and how much more likely that makes what was
// measured; 1 and 1 where it does not.
func (p *Prior) Mistaken(measured []Observation, t Term) (times, odds float64) {
	times, odds = 1, fewestOdds
	as := p.evidence(measured)
	for _, m := range multiples {
		if o := math.Exp(p.Times(t, m).evidence(measured) - as); o > odds {
			times, odds = m, o
		}
	}
	if times == 1 {
		odds = 1
	}
	return times, odds
}

// Times is the prior of a machine on which a term takes so many times as long.
func (p *Prior) Times(t Term, times float64) *Prior {
	q := *p
	q.Mean[t] += math.Log(times)
	return &q
}

// evidence is the logarithm of how likely the measured steps are, but for what does not
// depend on the means: they are taken to be distributed together as Student's
// distribution, with the degrees of freedom of a layout's own error.
func (p *Prior) evidence(measured []Observation) float64 {
	l := p.learning(measured, p.Machine, noModel)
	l.around(p)
	root := l.among()
	solved := factored(root)(l.rest)
	square, determinant := 0.0, 0.0
	for i, r := range l.rest {
		square += r * solved[i]
		determinant += 2 * math.Log(root[i][i])
	}
	return -(determinant + (tails+float64(len(measured)))*math.Log1p(square/tails)) / 2
}
