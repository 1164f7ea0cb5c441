package uncertainty

import "math"

// Observation is a step that was measured on the machine of a prior.
type Observation struct {
	Step  Step
	Ratio float64 // measured over predicted time; positive
	Model int     // which model it trained: any number, equal for the same one
}

// Update is the prior after steps were measured on its machine. The error of a
// step is close to linear in those of its terms, so that the posterior is that
// of a linear model with normal errors (Rasmussen and Williams 2006, Gaussian
// Processes for Machine Learning, section 2.1), linearised once more around
// what it finds. What the steps say nothing about stays as it was.
func (p *Prior) Update(measured []Observation) *Prior {
	return p.update(measured, 1, 3, func([]float64, func([]float64) []float64, []float64) {})
}

// Robust is Update where a layout's own error has the tails of Student's
// distribution, as in the fit of the spreads, so that an odd step counts for
// less: its variance is found by expectation maximisation (Lange, Little and
// Taylor 1989, Robust statistical modeling using the t distribution).
func (p *Prior) Robust(measured []Observation) *Prior { return p.robust(measured, 1) }

// Others is Robust for steps of other models than those that were measured. A
// term's error is the sum of one that all models on a machine share, with a share
// [Prior.Machine] of the variance, and of one that each model has for itself.
func (p *Prior) Others(measured []Observation) *Prior { return p.robust(measured, p.Machine) }

// robust takes a share of the variances of the terms' errors as common to the
// models.
func (p *Prior) robust(measured []Observation, common float64) *Prior {
	const tails, rounds = 4, 10
	return p.update(measured, common, rounds, func(own []float64, solve func([]float64) []float64, rest []float64) {
		solved := solve(rest)
		for i := range own {
			unit := make([]float64, len(own))
			unit[i] = 1
			mean := own[i] * solved[i] // of the own error
			square := mean*mean + own[i]*(1-own[i]*solve(unit)[i])
			own[i] = (tails*p.own(&measured[i].Step) + square) / (tails + 1)
		}
	})
}

// update conditions on the errors of steps some rounds long, each linearised
// around what the last one found; between them adjust may change the variances
// of the steps' own errors.
func (p *Prior) update(measured []Observation, common float64, rounds int, adjust func(own []float64, solve func([]float64) []float64, rest []float64)) *Prior {
	post := *p
	n := len(measured)
	if n == 0 {
		return &post
	}
	own := make([]float64, n)
	for i := range own {
		own[i] = p.own(&measured[i].Step)
	}
	for range rounds {
		design, rest := make([][Count]float64, n), make([]float64, n)
		for i := range measured {
			w, mean := post.shares(&measured[i].Step.Terms)
			design[i], rest[i] = w, math.Log(measured[i].Ratio)-mean
			for k := range w { // seen from the prior's means
				rest[i] += w[k] * (post.Mean[k] - p.Mean[k])
			}
		}
		var solve func([]float64) []float64
		post.Mean, post.Covariance, solve = p.conditioned(measured, design, rest, own, common)
		adjust(own, solve, rest)
	}
	return &post
}

// conditioned are mean and covariance of the terms' errors given that the
// errors of steps, linear in them by a design, are some numbers; and what solves
// equations with the covariance of these. A share of the covariance is common to
// the models.
func (p *Prior) conditioned(measured []Observation, design [][Count]float64, rest, own []float64, common float64) (mean [Count]float64, covariance [Count][Count]float64, solve func([]float64) []float64) {
	n := len(measured)
	with := make([][Count]float64, n) // covariance of each step's error with the terms'
	for i := range design {
		for k := range with[i] {
			for m, w := range design[i] {
				with[i][k] += common * w * p.Covariance[m][k]
			}
		}
	}
	among := make([][]float64, n) // covariance of the steps' errors
	for i := range among {
		among[i] = make([]float64, n)
		for j := range n {
			among[i][j] = p.between(&design[i], &design[j])
			if measured[i].Model == measured[j].Model {
				among[i][j] += p.Model * p.Model
			} else {
				among[i][j] *= common
			}
		}
		among[i][i] += own[i]
	}
	solve = factored(among)
	mean, covariance = p.Mean, p.Covariance
	for k, s := range solve(rest) {
		for t := range mean {
			mean[t] += with[k][t] * s
		}
	}
	for t := range covariance {
		column := make([]float64, n)
		for i := range column {
			column[i] = with[i][t]
		}
		for i, s := range solve(column) {
			for u := range covariance {
				covariance[u][t] -= with[i][u] * s
			}
		}
	}
	return mean, covariance, solve
}

// decompose makes of a positive definite matrix the lower half of its root, by
// Cholesky's method; what lies above the diagonal means nothing then.
func decompose(a [][]float64) {
	for i := range a {
		for j := range i + 1 {
			s := a[i][j]
			for k := range j {
				s -= a[i][k] * a[j][k]
			}
			if i == j {
				a[i][i] = math.Sqrt(max(s, 1e-12))
			} else {
				a[i][j] = s / a[j][j]
			}
		}
	}
}

// factored solves linear equations with a positive definite matrix, which it
// overwrites.
func factored(a [][]float64) func(b []float64) []float64 {
	n := len(a)
	decompose(a)
	return func(b []float64) []float64 {
		x := make([]float64, n)
		for i := range n {
			s := b[i]
			for k := range i {
				s -= a[i][k] * x[k]
			}
			x[i] = s / a[i][i]
		}
		for i := n - 1; i >= 0; i-- {
			for k := i + 1; k < n; k++ {
				x[i] -= a[k][i] * x[k]
			}
			x[i] /= a[i][i]
		}
		return x
	}
}
