package uncertainty

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/ndc-dev/ndc/lang/job"
)

// Prior is what is known of the errors of predictions on one machine. The
// errors are logarithms of measured over predicted.
type Prior struct {
	Mean       [Count]float64        // of the error of each term
	Covariance [Count][Count]float64 // of these errors, which all layouts share
	Model      float64               // spread of what all layouts of one model share beside
	Own        float64               // spread of what each layout has for itself
	Degrees    float64               // spread that a layout adds for each doubling of Step.Beyond
}

// Record is data/prior.json.
type Record struct {
	Source  string   `json:"source"`
	Terms   []Spread `json:"terms"`
	Growth  []Growth `json:"growth"`
	Degrees float64  `json:"degrees"` // Prior.Degrees
	Dense   Kind     `json:"dense"`
	Experts Kind     `json:"experts"`
}

// Kind is what is known of dense models, or of mixtures of experts.
type Kind struct {
	Model    float64  `json:"model"` // Prior.Model
	Own      float64  `json:"own"`   // Prior.Own
	Measured Envelope `json:"measured"`
}

// Spread is the error of a term where it was measured.
type Spread struct {
	Term   string  `json:"term"`
	Mean   float64 `json:"mean"`
	Spread float64 `json:"spread"`
	Source string  `json:"source"`
}

// Growth is how the spread of a term grows with a distance: it adds the square
// of Spread times the distance to the variance. The term "model" is Prior.Model.
type Growth struct {
	With   string  `json:"with"` // a distance: see Distance
	Term   string  `json:"term"`
	Spread float64 `json:"spread"`
	Source string  `json:"source"`
}

//go:embed data/prior.json
var embedded []byte

// Embedded is data/prior.json.
var Embedded = sync.OnceValue(func() *Record {
	r := &Record{}
	if err := json.Unmarshal(embedded, r); err != nil {
		panic("uncertainty: data/prior.json: " + err.Error())
	}
	return r
})

// For is what is known before anything was measured on the machine of a job.
// Engine is the key of the runtime's calibration of time.
func For(j *job.Job, engine string) *Prior {
	r := Embedded()
	return r.At(r.Of(j), r.Of(j).Measured.Distance(j, engine))
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
	p := &Prior{Own: of.Own, Degrees: r.Degrees}
	for _, s := range r.Terms {
		k := termNamed(s.Term)
		p.Mean[k], p.Covariance[k][k] = s.Mean, s.Spread*s.Spread
	}
	model := of.Model * of.Model
	for _, g := range r.Growth {
		more := g.Spread * d.named(g.With)
		if g.Term == "model" {
			model += more * more
			continue
		}
		k := termNamed(g.Term)
		p.Covariance[k][k] += more * more
	}
	p.Model = math.Sqrt(model)
	return p
}

// termNamed is the term of a name that has to exist.
func termNamed(name string) Term {
	i := slices.Index(names[:], name)
	if i < 0 {
		panic(fmt.Sprintf("uncertainty: data/prior.json: no term %q", name))
	}
	return Term(i)
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
	beyond := p.Degrees * s.Beyond
	return p.Own*p.Own + beyond*beyond
}

// shared is the variance of a weighted sum of the errors of the terms.
func (p *Prior) shared(weights *[Count]float64) float64 {
	var v float64
	for i, a := range weights {
		if a == 0 {
			continue
		}
		for k, b := range weights {
			v += a * b * p.Covariance[i][k]
		}
	}
	return max(0, v)
}

// Ratio is the distribution of measured over predicted time of a step.
func (p *Prior) Ratio(s *Step) Normal {
	w, mean := p.shares(&s.Terms)
	return Normal{mean, math.Sqrt(p.shared(&w) + p.Model*p.Model + p.own(s))}
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
