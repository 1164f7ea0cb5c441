package uncertainty

import "math"

// Observation is a step that was measured on the machine of a prior, or what a
// benchmark measured there, as a step of nothing but one term.
type Observation struct {
	Step  Step
	Ratio float64 // measured over predicted time; positive
	Model int     // which model it trained: any number, equal for the same one

	// Benchmark is, for a benchmark, the spread of what steps spend on the term beside
	// what it measured; 0 for a step. It has no model: it tells of what all on the
	// machine share.
	Benchmark float64
}

// Update is the prior after steps were measured on its machine. The error of a
// step is close to linear in those of its terms, so that the posterior is that
// of a linear model with normal errors (Rasmussen and Williams 2006, Gaussian
// Processes for Machine Learning, section 2.1), linearised once more around
// what it finds. What the steps say nothing about stays as it was.
func (p *Prior) Update(measured []Observation) *Prior {
	return p.update(measured, 1, noModel, 3, func(*learning) {})
}

// Others is what is known of models that none of the steps trained. A term's error
// is the sum of one that all models on a machine share, with a share
// [Prior.Machine] of the variance, and of one that each model has for itself. A
// layout's own error has the tails of Student's distribution, as in the fit of the
// spreads, so that an odd step counts for less: its variance is found by expectation
// maximisation (Lange, Little and Taylor 1989, Robust statistical modeling using the
// t distribution). What a model has for itself has such tails, too, so that an odd
// model counts for less.
func (p *Prior) Others(measured []Observation) *Prior {
	return p.update(measured, p.Machine, noModel, robustRounds, (*learning).odd)
}

// Trained is what is known of a model that some of the steps trained, learned as
// [Prior.Others] is: beside what it shares with the others, what its own steps tell
// of its terms and of what all its layouts have together. The latter is in the errors
// of all terms, so that the posterior's Model is 0.
//
// That a model's layouts take a third longer throughout would make of the least certain
// term one that takes ten times as long. Where a term would be that odd, what all layouts
// have together has the tails of Student's distribution as well.
func (p *Prior) Trained(measured []Observation, model int) *Prior {
	post := p.update(measured, p.Machine, model, robustRounds, (*learning).odd)
	if p.odder(post) {
		l := p.learning(measured, p.Machine, model)
		l.throughout()
		return l.learned(robustRounds, (*learning).oddThroughout)
	}
	return post
}

// oddest is how many standard deviations the error of a term may be away from what was
// taken to be likely before.
const oddest = 3

// odder reports whether a term's error is further than that in a posterior.
func (p *Prior) odder(post *Prior) bool {
	before := p.OfModel()
	for k := range post.Mean {
		if d := post.Mean[k] - before.Mean[k]; d*d > oddest*oddest*before.Covariance[k][k] {
			return true
		}
	}
	return false
}

// OfModel is the prior of the errors of a model's terms, with what all its layouts
// share in them.
func (p *Prior) OfModel() *Prior { return p.ofModel(1) }

// ofModel is OfModel with the variance of what all its layouts share so many times as great.
func (p *Prior) ofModel(whole float64) *Prior {
	q := *p
	for k := range q.Covariance {
		for m := range q.Covariance {
			q.Covariance[k][m] += whole * p.Model * p.Model
		}
	}
	q.Model = 0
	return &q
}

const (
	tails        = 4 // degrees of freedom of a layout's own error, as in the fit of the spreads
	modelTails   = 1 // of what a model has for itself: some are off by half where most are within a twentieth
	robustRounds = 10
	noModel      = -1
)

// learning is one round of an update.
type learning struct {
	p        *Prior
	measured []Observation
	common   float64                   // share of the terms' covariance that all models have together
	model    int                       // the one that is asked for; noModel for another than the steps'
	design   [][Count]float64          // of the steps' errors in those of the terms
	rest     []float64                 // the steps' errors
	own      []float64                 // variances of the steps' own errors
	apart    map[int]float64           // by model: what multiplies the covariance that it has for itself
	whole    float64                   // what multiplies the variance that all layouts of the model that is asked for share
	solve    func([]float64) []float64 // with the covariance of the steps' errors
}

// update conditions on the errors of steps some rounds long, each linearised
// around what the last one found; between them adjust may change the variances
// of the steps' own errors and what models have for themselves.
func (p *Prior) update(measured []Observation, common float64, model, rounds int, adjust func(*learning)) *Prior {
	if len(measured) == 0 {
		post := *p
		return &post
	}
	return p.learning(measured, common, model).learned(rounds, adjust)
}

// learned is the prior after some rounds, as update does it. What machines take longer
// in the mean as long as nothing was measured on them has no part in it (docs/calibrate.md
// says what it would be worth).
func (l *learning) learned(rounds int, adjust func(*learning)) *Prior {
	post := *l.p
	post.Unmeasured = 0
	for range rounds {
		l.around(&post)
		post.Mean, post.Covariance = l.conditioned()
		adjust(l)
	}
	if l.model != noModel {
		post.Model = 0
	}
	return &post
}

// learning begins with the variances of the prior.
func (p *Prior) learning(measured []Observation, common float64, model int) *learning {
	l := &learning{p: p, measured: measured, common: common, model: model, own: make([]float64, len(measured)), apart: map[int]float64{}, whole: 1}
	for i := range l.own {
		l.own[i] = p.ownOf(&measured[i])
		if measured[i].Benchmark == 0 {
			l.apart[measured[i].Model] = 1
		}
	}
	return l
}

// around linearises the steps around what was found, seen from the prior's means.
func (l *learning) around(post *Prior) {
	n := len(l.measured)
	l.design, l.rest = make([][Count]float64, n), make([]float64, n)
	for i := range l.measured {
		w, mean := post.shares(&l.measured[i].Step.Terms)
		l.design[i], l.rest[i] = w, math.Log(l.measured[i].Ratio)-mean
		for k := range w {
			l.rest[i] += w[k] * (post.Mean[k] - l.p.Mean[k])
		}
	}
}

// among is the covariance of the steps' errors.
func (l *learning) among() [][]float64 {
	n := len(l.measured)
	among := make([][]float64, n)
	for i := range among {
		among[i] = make([]float64, n)
		for j := range n {
			among[i][j] = l.share(i, j)*l.p.between(&l.design[i], &l.design[j]) + l.alone(i, j)
		}
		among[i][i] += l.own[i]
	}
	return among
}

// ownOf is the variance of what an observation has for itself.
func (p *Prior) ownOf(o *Observation) float64 {
	if o.Benchmark > 0 {
		return o.Benchmark * o.Benchmark
	}
	return p.own(&o.Step)
}

// share is how much of the terms' covariance some observations have together, but for
// what steps of one model have.
func (l *learning) share(of ...int) float64 {
	for _, i := range of {
		if l.measured[i].Benchmark > 0 {
			return l.p.Machine
		}
	}
	return l.common
}

// asked is how much of the terms' covariance a step has together with what is asked
// for, and what it shares with it beside.
func (l *learning) asked(i int) (share, beside float64) {
	share = l.share(i)
	if o := &l.measured[i]; l.model != noModel && o.Benchmark == 0 && o.Model == l.model {
		return 1, l.whole * l.p.Model * l.p.Model
	}
	return share, 0
}

// alone is the covariance that two steps have because they are of one model.
func (l *learning) alone(i, j int) float64 {
	m := l.measured[i].Model
	if l.measured[j].Model != m || l.measured[i].Benchmark+l.measured[j].Benchmark > 0 {
		return 0
	}
	shared := l.p.Model * l.p.Model
	if m == l.model {
		shared *= l.whole
	}
	return l.apart[m] * ((1-l.common)*l.p.between(&l.design[i], &l.design[j]) + shared)
}

// conditioned are mean and covariance of the terms' errors given those of the
// steps.
func (l *learning) conditioned() (mean [Count]float64, covariance [Count][Count]float64) {
	n := len(l.measured)
	with := make([][Count]float64, n) // covariance of each step's error with the terms'
	for i := range with {
		share, beside := l.asked(i)
		for k := range with[i] {
			with[i][k] = beside
			for m, w := range l.design[i] {
				with[i][k] += share * w * l.p.Covariance[m][k]
			}
		}
	}
	l.solve = factored(l.among())
	mean, covariance = l.p.Mean, l.p.Covariance
	if l.model != noModel {
		covariance = l.p.ofModel(l.whole).Covariance
	}
	for k, s := range l.solve(l.rest) {
		for t := range mean {
			mean[t] += with[k][t] * s
		}
	}
	for t := range covariance {
		column := make([]float64, n)
		for i := range column {
			column[i] = with[i][t]
		}
		for i, s := range l.solve(column) {
			for u := range covariance {
				covariance[u][t] -= with[i][u] * s
			}
		}
	}
	return mean, covariance
}

// odd sets the variances of what steps and models have for themselves by how odd
// they are.
func (l *learning) odd() {
	l.oddSteps()
	l.oddModels()
}

// throughout begins with what all layouts of the model that is asked for take in the mean
// as what they have together; what a single one takes it has for itself.
func (l *learning) throughout() {
	sum, n, last := 0.0, 0.0, 0
	for i := range l.measured {
		if o := &l.measured[i]; o.Benchmark == 0 && o.Model == l.model {
			_, mean := l.p.shares(&o.Step.Terms)
			sum, n, last = sum+math.Log(o.Ratio)-mean, n+1, i
		}
	}
	switch variance := l.p.Model * l.p.Model; {
	case n == 1:
		l.own[last] = max(l.own[last], sum*sum)
	case n > 1 && variance > 0:
		l.whole = max(1, sum*sum/(n*n*variance))
	}
}

// oddThroughout does what odd does, and sets what all layouts of a model have together.
func (l *learning) oddThroughout() {
	l.odd()
	l.oddWhole()
}

// oddSteps sets the variances of the steps' own errors by how odd they are.
func (l *learning) oddSteps() {
	solved := l.solve(l.rest)
	for i := range l.own {
		unit := make([]float64, len(l.own))
		unit[i] = 1
		mean := l.own[i] * solved[i] // of the own error
		square := mean*mean + l.own[i]*(1-l.own[i]*l.solve(unit)[i])
		l.own[i] = (tails*l.p.ownOf(&l.measured[i]) + square) / (tails + 1)
	}
}

// oddModels sets how much models have for themselves by how odd they are, never less
// than the prior says; not of the one that is asked for, of which it is to be told. What
// one has is taken to be of one dimension.
func (l *learning) oddModels() {
	solved := l.solve(l.rest)
	squares, known := map[int]float64{}, map[int]float64{}
	for i := range l.measured {
		if l.measured[i].Benchmark > 0 {
			continue
		}
		m, column := l.measured[i].Model, make([]float64, len(solved))
		for j := range column {
			column[j] = l.alone(i, j)
			squares[m] += column[j] * solved[i] * solved[j]
		}
		known[m] += l.solve(column)[i]
	}
	for m, was := range l.apart {
		if m == l.model {
			continue
		}
		l.apart[m] = max(1, (modelTails+was*(squares[m]+max(0, 1-known[m])))/(modelTails+1))
	}
}

// oddWhole sets how much all layouts of the model that is asked for share by how odd that
// is, never less than the prior says.
func (l *learning) oddWhole() {
	variance := l.p.Model * l.p.Model
	if l.model == noModel || variance == 0 {
		return
	}
	solved, of := l.solve(l.rest), make([]float64, len(l.rest))
	mean := 0.0
	for i := range of {
		if o := &l.measured[i]; o.Benchmark == 0 && o.Model == l.model {
			of[i] = 1
			mean += l.whole * variance * solved[i]
		}
	}
	known := 0.0
	for i, s := range l.solve(of) {
		known += l.whole * variance * of[i] * s
	}
	square := mean*mean + l.whole*variance*max(0, 1-known)
	l.whole = max(1, (tails+square/variance)/(tails+1))
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
