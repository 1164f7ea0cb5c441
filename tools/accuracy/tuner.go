package main

import (
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/ndc-dev/ndc/compiler/estimate"
)

// tuner fits the parameters of the estimate to the step times of some of the
// rows. Every parameter that moves a prediction takes part, from the middle of
// its physical bounds: what the embedded values are plays no part.
//
// A parameter is a share of the way between its bounds. The logarithm of
// predicted over measured is nearly linear in these shares, so a fit is a few
// linear least-absolute-errors problems, each corrected by true predictions.
type tuner struct {
	rows    []*example
	weights []float64
	records []estimate.Parameter
	base    estimate.Parameters

	start     []float64 // the middle of all bounds
	untouched []float64 // logarithms of predicted over measured there

	// slopes of each row by parameter, at the middle of all bounds and at the
	// embedded values: properties of the model, not of the measurements.
	middle, fitted [][]float64
}

// pull is the weight of the squared distance from the middle of the bounds:
// less than one row has that the parameter moves, but enough to decide what no
// row does. It was chosen by the errors on sources left out.
const pull = 0.5

// kinship is of two parameters for which one library's kernels run on two silicons, or on one
// in two engines. Its weight is that of the squared difference between their values: a few
// rows of one do not outweigh many of the other, and what no row of one decides the other
// does. The weights were chosen as pull was.
type kinship struct {
	one, other string
	weight     float64
}

var kin = []kinship{
	{"elementwise.megatron", "elementwise.eager", 1.8},
	{"rate16.ampere", "rate16.hopper", 0.7},
	{"rate16.hopper", "rate16.blackwell", 3.5},
}

// pair is a kinship by the places of its parameters among the records.
type pair struct {
	a, b   int
	weight float64
}

// pairs lists the kinships of which both parameters take part.
func (t *tuner) pairs() (list []pair) {
	for _, k := range kin {
		a, b := t.place(k.one), t.place(k.other)
		if a >= 0 && b >= 0 {
			list = append(list, pair{a, b, k.weight})
		}
	}
	return list
}

// place is where a parameter is among the records, -1 where it takes no part.
func (t *tuner) place(name string) int {
	return slices.IndexFunc(t.records, func(r estimate.Parameter) bool { return r.Name == name })
}

// newTuner linearises the rows that have a step time to fit to, for the named
// parameters (none: all). The others stay at p.
func newTuner(examples []example, p estimate.Parameters, names ...string) *tuner {
	t := &tuner{base: p}
	for i := range examples {
		if x := &examples[i]; x.fits() {
			t.rows = append(t.rows, x)
			t.weights = append(t.weights, x.weight)
		}
	}
	sum := 0.0
	for _, w := range t.weights {
		sum += w
	}
	for i := range t.weights {
		t.weights[i] *= float64(len(t.weights)) / sum
	}
	for _, r := range estimate.ParameterRecords() {
		if !r.Fixed && (len(names) == 0 || slices.Contains(names, r.Name)) {
			t.records = append(t.records, r)
		}
	}
	t.start = slices.Repeat([]float64{0.5}, len(t.records))
	t.untouched = t.predict(t.values(t.start))
	t.middle = t.linearise(t.start)
	t.keepMoving()
	t.fitted = t.linearise(t.shares(p))
	return t
}

// fits reports whether a row says something about the parameters.
func (x *example) fits() bool {
	return x.skip == "" && !x.judge && !x.memoryOnly && !x.assumed && !x.row.apart() && stepSeconds(x.row) > 0
}

// keepMoving leaves out the parameters that move no row.
func (t *tuner) keepMoving() {
	var records []estimate.Parameter
	var slopes [][]float64
	for j, r := range t.records {
		if slices.ContainsFunc(t.middle[j], func(v float64) bool { return v != 0 }) {
			records, slopes = append(records, r), append(slopes, t.middle[j])
		}
	}
	t.records, t.middle, t.start = records, slopes, t.start[:len(records)]
}

// moves is the least change of a row's logarithm, over the whole way between a
// parameter's bounds, by which the row says something about it.
const moves = 0.01

// sourceOf is the one source whose rows a parameter moves, "none" where it
// moves none, "" for several.
func (t *tuner) sourceOf(name string) string {
	only := "none"
	for j, r := range t.records {
		if r.Name != name {
			continue
		}
		for i, x := range t.rows {
			source := strings.TrimSuffix(x.row.file, ".jsonl")
			switch {
			case math.Abs(t.middle[j][i]) < moves || source == only:
			case only == "none":
				only = source
			default:
				return ""
			}
		}
	}
	return only
}

// shares are values as shares of the way between their bounds.
func (t *tuner) shares(p estimate.Parameters) []float64 {
	var out []float64
	for _, r := range t.records {
		out = append(out, (p[r.Name]-r.Low)/(r.High-r.Low))
	}
	return out
}

// values are the parameters at some shares.
func (t *tuner) values(shares []float64) estimate.Parameters {
	p := t.base
	for i, r := range t.records {
		p = p.With(r.Name, r.Low+shares[i]*(r.High-r.Low))
	}
	return p
}

// predict is the logarithm of predicted over measured of every row.
func (t *tuner) predict(p estimate.Parameters) []float64 {
	out := make([]float64, len(t.rows))
	half := len(t.rows) / 2
	var wait sync.WaitGroup
	for _, part := range [][2]int{{0, half}, {half, len(t.rows)}} {
		wait.Go(func() {
			for i := part[0]; i < part[1]; i++ {
				x := t.rows[i]
				if x.evaluator == nil {
					x.evaluator = estimate.NewWith(x.job, x.target, p)
				}
				x.evaluator.Use(p)
				out[i] = math.Log(float64(x.evaluator.Step(&x.layout, &x.exec)) / stepSeconds(x.row))
			}
		})
	}
	wait.Wait()
	return out
}

// linearise differentiates around some shares.
func (t *tuner) linearise(at []float64) [][]float64 {
	const step = 0.1
	out := make([][]float64, len(t.records))
	for j := range t.records {
		low, high := slices.Clone(at), slices.Clone(at)
		low[j], high[j] = max(0, at[j]-step), min(1, at[j]+step)
		a, b := t.predict(t.values(low)), t.predict(t.values(high))
		for i := range a {
			out[j] = append(out[j], (b[i]-a[i])/(high[j]-low[j]))
		}
	}
	return out
}

// fit finds the parameters for the rows that are in, and returns the logarithm
// of predicted over measured of all rows with them.
func (t *tuner) fit(in []bool) (shares, residuals []float64) {
	shares, residuals = t.start, t.untouched
	for round := range 5 {
		slopes := t.fitted
		if round == 0 {
			slopes = t.middle
		}
		aim := t.solve(in, shares, residuals, slopes)
		before, better := t.loss(in, shares, residuals), false
		for part := 1.0; part > 0.2 && !better; part /= 2 {
			next := slices.Clone(shares)
			for j := range next {
				next[j] += part * (aim[j] - shares[j])
			}
			r := t.predict(t.values(next))
			if t.loss(in, next, r) < before {
				shares, residuals, better = next, r, true
			}
		}
		if !better && round > 0 {
			break
		}
	}
	return shares, residuals
}

// loss is the weighted sum of absolute residuals with the pull to the middle.
func (t *tuner) loss(in []bool, shares, residuals []float64) float64 {
	sum := 0.0
	for i, r := range residuals {
		if in[i] {
			sum += t.weights[i] * math.Abs(r)
		}
	}
	for _, u := range shares {
		sum += pull * (u - 0.5) * (u - 0.5)
	}
	for _, p := range t.pairs() {
		d := shares[p.a] - shares[p.b]
		sum += p.weight / 2 * d * d
	}
	return sum
}

// solve minimises the loss of the linear model within the bounds: least
// squares, reweighted towards least absolute errors.
func (t *tuner) solve(in []bool, shares, residuals []float64, slopes [][]float64) []float64 {
	u, n := slices.Clone(shares), len(shares)
	r := slices.Clone(residuals)
	for range 12 {
		matrix, gradient := make([]float64, n*n), make([]float64, n)
		for i := range r {
			if !in[i] {
				continue
			}
			w := t.weights[i] / max(0.01, math.Abs(r[i]))
			for j := range n {
				if slopes[j][i] == 0 {
					continue
				}
				gradient[j] += w * slopes[j][i] * r[i]
				for k := range n {
					matrix[j*n+k] += w * slopes[j][i] * slopes[k][i]
				}
			}
		}
		for j := range n {
			gradient[j] += 2 * pull * (u[j] - 0.5)
			matrix[j*n+j] += 2 * pull
		}
		for _, p := range t.pairs() {
			a, b := p.a, p.b
			d := p.weight * (u[a] - u[b])
			gradient[a], gradient[b] = gradient[a]+d, gradient[b]-d
			matrix[a*n+a], matrix[b*n+b] = matrix[a*n+a]+p.weight, matrix[b*n+b]+p.weight
			matrix[a*n+b], matrix[b*n+a] = matrix[a*n+b]-p.weight, matrix[b*n+a]-p.weight
		}
		move := descend(matrix, gradient, u)
		for j := range n {
			u[j] += move[j]
			for i := range r {
				r[i] += slopes[j][i] * move[j]
			}
		}
	}
	return u
}

// descend minimises ½·move·matrix·move + gradient·move with u + move within 0
// and 1, one coordinate after the other.
func descend(matrix, gradient, u []float64) []float64 {
	n := len(u)
	move := make([]float64, n)
	for range 60 {
		for j := range n {
			g := gradient[j]
			for k := range n {
				g += matrix[j*n+k] * move[k]
			}
			move[j] = min(max(move[j]-g/matrix[j*n+j], -u[j]), 1-u[j])
		}
	}
	return move
}
