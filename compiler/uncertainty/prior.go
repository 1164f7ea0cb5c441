package uncertainty

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/lang/job"
)

// Prior is what is known of the errors of predictions on one machine. The
// errors are logarithms of measured over predicted.
type Prior struct {
	Mean       [Count]float64        // of the error of each term
	Covariance [Count][Count]float64 // of these errors, which all layouts share
	Unmeasured float64               // mean of the error of all terms as long as nothing was measured on the machine
	Model      float64               // spread of what all layouts of one model share beside
	Own        float64               // spread of what each layout has for itself
	Exposed    float64               // what that grows by for a step of nothing but exposed communication
	Degrees    float64               // what that grows by for each doubling of Step.Beyond
	Machine    float64               // share of Covariance that all models on a machine have together
}

// Record is data/prior.json. Every number is a standard deviation of a
// logarithm.
type Record struct {
	Source  string   `json:"source"` // of what has none of its own
	Terms   []Spread `json:"terms"`
	Growth  []Growth `json:"growth"`
	Exposed float64  `json:"exposed"` // Prior.Exposed
	Degrees float64  `json:"degrees"` // Prior.Degrees
	Machine Common   `json:"machine"`

	// Benchmarks are what steps spend on a term beside what a benchmark of its kernels
	// or its link measured: see Observation.Benchmark.
	Benchmarks []Spread `json:"benchmarks"`

	Dense   Kind `json:"dense"`
	Experts Kind `json:"experts"`
}

// Common is the share of the variances of the terms' errors that is the machine's;
// the rest each model on it has for itself.
type Common struct {
	Share  float64 `json:"share"`
	Source string  `json:"source"`
}

// Kind is what is known of dense models, or of mixtures of experts.
type Kind struct {
	Mean     float64  `json:"mean"`  // Prior.Unmeasured
	Model    float64  `json:"model"` // Prior.Model
	Own      float64  `json:"own"`   // Prior.Own
	Measured Envelope `json:"measured"`
}

// Spread is the spread of the error of a term where it was measured.
type Spread struct {
	Term   string  `json:"term"`
	Spread float64 `json:"spread"`
	Source string  `json:"source"`
}

// Benchmark is the spread of what steps spend on a term beside what a benchmark
// measured; 0 where none tells of it.
func (r *Record) Benchmark(t Term) float64 {
	for i := range r.Benchmarks {
		if r.Benchmarks[i].Term == t.String() {
			return r.Benchmarks[i].Spread
		}
	}
	return 0
}

// Growth is an error that some terms have together with a distance: its spread
// is Spread times the distance. The terms are all terms where none is named.
type Growth struct {
	With   string   `json:"with"` // a distance: see Distance.Named
	Terms  []string `json:"terms,omitempty"`
	Spread float64  `json:"spread"`
	Source string   `json:"source"`
}

// Includes reports whether a term has the error.
func (g *Growth) Includes(t Term) bool {
	return len(g.Terms) == 0 || slices.Contains(g.Terms, t.String())
}

//go:embed data/prior.json
var embedded string

// Embedded is data/prior.json.
var Embedded = sync.OnceValue(func() *Record { return facts.One[*Record]("uncertainty: data/prior.json", embedded) })

// For is what is known of the machine of a job: before anything was measured on
// it, or by the calibration of its cluster.
// Engine is the key of the runtime's calibration of time.
func For(j *job.Job, engine string) *Prior {
	r := Embedded()
	p := r.At(r.Of(j), r.Of(j).Measured.Distance(j, engine))
	if c := j.Cluster.Calibration; c != nil {
		p.calibrate(c)
	}
	return p
}

// Of is what is known of jobs like this one.
func (r *Record) Of(j *job.Job) *Kind {
	if j.Model.MoE != nil {
		return &r.Experts
	}
	return &r.Dense
}

// At is the prior of a kind of model at a distance from what was measured.
func (r *Record) At(of *Kind, d Distance) *Prior {
	p := &Prior{Unmeasured: of.Mean, Model: of.Model, Own: of.Own, Exposed: r.Exposed, Degrees: r.Degrees, Machine: r.Machine.Share}
	for _, s := range r.Terms {
		k := TermNamed(s.Term)
		p.Covariance[k][k] = s.Spread * s.Spread
	}
	for i := range r.Growth {
		g := &r.Growth[i]
		more := g.Spread * r.Far(g, &d)
		for k := range Count {
			for m := range Count {
				if g.Includes(k) && g.Includes(m) {
					p.Covariance[k][m] += more * more
				}
			}
		}
	}
	return p
}

// Far is how many times its spread an error has at a distance. Of what one source
// alone measured it has what that source leaves open, whose own steps are off by as much
// as the best known of the terms: with g and σ their spreads, σ / √(g² + σ²) of it.
func (r *Record) Far(g *Growth, d *Distance) float64 {
	if !d.lone(g.With) {
		return d.Named(g.With)
	}
	least := math.Inf(1)
	for i := range r.Terms {
		if g.Includes(TermNamed(r.Terms[i].Term)) {
			least = min(least, r.Terms[i].Spread)
		}
	}
	return least / math.Hypot(g.Spread, least)
}

// TermNamed is the term of a name in the data, which has to exist.
func TermNamed(name string) Term {
	for t := range Count {
		if t.String() == name {
			return t
		}
	}
	panic(fmt.Sprintf("uncertainty: no term %q", name))
}

// shares are the parts of a step after the means of the errors have moved its
// terms, and the logarithm of how much longer it became by that.
func (p *Prior) shares(t *Terms) (of [Count]float64, mean float64) {
	var before, after float64
	for k, s := range t {
		of[k] = float64(s) * math.Exp(p.Mean[k])
		before += float64(s)
		after += of[k]
	}
	if after <= 0 {
		return [Count]float64{}, 0
	}
	for k := range of {
		of[k] /= after
	}
	return of, math.Log(after / before)
}

// own is the variance of what a layout has for itself.
func (p *Prior) own(s *Step) float64 {
	beyond, exposed := p.Degrees*s.Beyond, p.Exposed*s.Terms.Exposed()
	return p.Own*p.Own + beyond*beyond + exposed*exposed
}

// shared is the variance of a weighted sum of the errors of the terms.
func (p *Prior) shared(weights *[Count]float64) float64 {
	return max(0, p.between(weights, weights))
}

// Ratio is the distribution of measured over predicted time of a step. A machine that
// nothing is known of takes longer in the mean.
func (p *Prior) Ratio(s *Step) Normal {
	return p.RatioBeside(s, Network, 0)
}

// RatioBeside is Ratio where a step grows with the error of one term by more than what it
// spends on it, as it does with what hides behind other terms: by a share of itself more
// for each e-fold.
func (p *Prior) RatioBeside(s *Step, t Term, more float64) Normal {
	w, mean := p.shares(&s.Terms)
	w[t] += more
	return Normal{p.Unmeasured + mean, math.Sqrt(p.shared(&w) + p.Model*p.Model + p.own(s))}
}

// Cause is the term whose error adds most to the uncertainty of a step, and its
// share of the step.
func (p *Prior) Cause(s *Step) (worst Term, share float64) {
	w, _ := p.shares(&s.Terms)
	most := 0.0
	for k := range Count {
		var v float64
		for m, x := range w {
			v += w[k] * x * p.Covariance[k][m]
		}
		if v > most {
			worst, most = k, v
		}
	}
	return worst, w[worst]
}

// Difference is the distribution of the time of one layout over that of another
// of the same job on the same machine. Its Below(1) is the probability that the
// first is faster, its Loss what taking the first costs.
func (p *Prior) Difference(a, b *Step) Normal {
	x, longer := p.shares(&a.Terms)
	y, other := p.shares(&b.Terms)
	for k := range x {
		x[k] -= y[k]
	}
	return Normal{
		Mean:   math.Log(float64(a.Terms.Sum()/b.Terms.Sum())) + longer - other,
		Spread: math.Sqrt(p.shared(&x) + p.own(a) + p.own(b)),
	}
}
