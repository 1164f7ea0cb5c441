package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
)

// The spreads of compiler/uncertainty are those under which the errors of
// predictions by parameters that were fitted without a row's source are most
// likely, given what was assumed before (spreads.json). Rows of one source on one
// GPU share the errors of their terms, those of one model there what a model has
// for itself. That and a layout's own error have the tails of Student's distribution,
// so that a few odd models or rows do not widen all others. With the spreads goes the mean
// of these errors: machines that no fit has seen take longer than those that one has.

const (
	// certainty of an assumption: a factor of 1.65 is one standard deviation.
	certainty = 4
	// tails are the degrees of freedom of what a layout and a model have for
	// themselves.
	tails = 4
	// rounds of the fit, after which no spread changes by a hundredth.
	rounds = 60
)

// witness is a step that was predicted by parameters fitted without its source.
type witness struct {
	x              *example
	step           uncertainty.Step
	shares         [uncertainty.Count]float64
	distance       uncertainty.Distance // from what the other sources measured
	ratio          float64              // logarithm of measured over predicted
	source         string
	machine, model string
	judge          bool // no fit of parameters sees its source, at any time
}

// witnesses are the rows whose steps what ndc emits resembles.
func witnesses(results []result, c *crossValidation) []witness {
	var out []witness
	for i := range results {
		x := results[i].example
		predicted, ok := c.source[x.row.ID]
		if !ok || x.superseded {
			continue
		}
		out = append(out, newWitness(x, -math.Log(predicted)))
	}
	for i := range out {
		w := &out[i]
		others := envelope(out, func(o *witness) bool { return o.source != w.source && o.moe() == w.moe() })
		w.stand(&others)
	}
	return out
}

// newWitness is a step whose logarithm of measured over predicted is given.
func newWitness(x *example, ratio float64) witness {
	w := witness{x: x, ratio: ratio, source: x.row.file, machine: x.row.file + " " + x.job.Cluster.GPU.Catalog}
	w.model = w.machine + " " + architecture(x) + " " + x.job.Training.Precision
	w.terms()
	return w
}

// rowsOfGrid is how many rows of a machine spreads are fitted to where no fit of
// parameters sees them: a grid has hundreds, and the time for that is their cube.
const rowsOfGrid = 80

// evidence is what spreads are fitted to and judged by.
type evidence struct {
	rows   []witness // predicted by parameters fitted without their source
	judges []witness // of sources that no fit of parameters sees

	dense, experts uncertainty.Envelope // what the rows measured
	without        map[string]*uncertainty.Record
}

// newEvidence collects rows.
func newEvidence(results []result, c *crossValidation) *evidence {
	e := &evidence{rows: witnesses(results, c), without: map[string]*uncertainty.Record{}}
	e.dense, e.experts = envelope(e.rows, func(w *witness) bool { return !w.moe() }), envelope(e.rows, (*witness).moe)
	for i := range results {
		if r := &results[i]; r.judge && !r.apart && r.Time != nil && !r.example.memoryOnly && !r.example.superseded {
			e.judges = append(e.judges, e.judge(r))
		}
	}
	return e
}

// judge is a row that no fit sees, with its distance from what fits saw.
func (e *evidence) judge(r *result) witness {
	w := newWitness(r.example, math.Log(r.Time.MeasuredSeconds/r.Time.PredictedSeconds))
	w.judge = true
	if w.moe() {
		w.stand(&e.experts)
	} else {
		w.stand(&e.dense)
	}
	return w
}

// record has the spreads that all sources but one say; "" for all.
func (e *evidence) record(but string) *uncertainty.Record {
	if e.without[but] == nil {
		e.without[but] = fitSpreads(slices.DeleteFunc(slices.Concat(e.rows, evenly(e.judges)), func(w witness) bool { return w.source == but }))
	}
	return e.without[but]
}

// expect fills in what steps of sources that no fit sees are expected to take: longer than
// predicted by what the other sources took longer in the mean.
func (e *evidence) expect(results []result) {
	for i := range results {
		if r := &results[i]; r.judge && r.Time != nil {
			others := e.record(r.example.row.file)
			r.expected = r.Time.PredictedSeconds * math.Exp(others.Of(r.example.job).Mean)
		}
	}
}

// evenly are the rows that spreads are fitted to: of a large grid a part, taken
// evenly, and none of grids whose times say nothing or of a framework for which
// another stands.
func evenly(judges []witness) []witness {
	count := map[string]int{}
	for i := range judges {
		count[judges[i].machine]++
	}
	at := map[string]int{}
	return slices.DeleteFunc(slices.Clone(judges), func(w witness) bool {
		i, n := at[w.machine], count[w.machine]
		at[w.machine]++
		return w.orderOnly() || w.x.standIn || n > rowsOfGrid && i > 0 && i*rowsOfGrid/n == (i-1)*rowsOfGrid/n
	})
}

func (w *witness) orderOnly() bool { return w.x.grid != nil && w.x.grid.OrderOnly != "" }

// terms fills in what the step is made of.
func (w *witness) terms() {
	estimate.New(w.x.job, w.x.target).Uncertain(&w.x.layout, &w.x.exec, &w.step)
	for k, s := range w.step.Terms {
		w.shares[k] = float64(s / w.step.Terms.Sum())
	}
}

// stand fills in how far the step is from what was measured.
func (w *witness) stand(measured *uncertainty.Envelope) {
	w.distance = measured.Distance(w.x.job, w.engine())
	w.step.Beyond = measured.Beyond(&w.x.layout, w.x.job.Model.SequenceLength)
}

func (w *witness) moe() bool { return w.x.job.Model.MoE != nil }

func (w *witness) engine() string { return w.x.target.Runtime.Calibration.Time }

// envelope is what some of the rows measured.
func envelope(rows []witness, in func(*witness) bool) (v uncertainty.Envelope) {
	for i := range rows {
		if w := &rows[i]; in(w) {
			v.Add(w.x.job, &w.x.layout, w.engine(), w.source)
		}
	}
	return v
}

// effect is an error of which one number of the record is the spread.
type effect struct {
	spread  *float64
	source  *string // where the record says what the number stands on; nil: where it says it of all
	assumed float64
	shared  sharing
	load    func(*witness) float64 // how much of it a row has
	loads   bool                   // some row has any

	trace, fit float64 // of one round
}

// sharing is which rows have an error together.
type sharing int

const (
	byMachine sharing = iota
	byModel
	byNone
)

// effects are the errors of a record whose numbers are assumptions.
func effects(r *uncertainty.Record) []effect {
	var out []effect
	for i := range r.Terms {
		s, k := &r.Terms[i], uncertainty.TermNamed(r.Terms[i].Term)
		out = append(out, effect{spread: &s.Spread, source: &s.Source, shared: byMachine, load: func(w *witness) float64 { return w.shares[k] }})
	}
	for i := range r.Growth {
		g := &r.Growth[i]
		out = append(out, effect{spread: &g.Spread, source: &g.Source, shared: byMachine, load: func(w *witness) float64 {
			n := 0.0
			for k, s := range w.shares {
				if g.Includes(uncertainty.Term(k)) {
					n += s
				}
			}
			return n * r.Far(g, &w.distance)
		}})
	}
	kind := func(moe bool) func(*witness) float64 {
		return func(w *witness) float64 {
			if w.moe() == moe {
				return 1
			}
			return 0
		}
	}
	out = append(out,
		effect{spread: &r.Dense.Model, shared: byModel, load: kind(false)}, effect{spread: &r.Experts.Model, shared: byModel, load: kind(true)},
		effect{spread: &r.Dense.Own, shared: byNone, load: kind(false)}, effect{spread: &r.Experts.Own, shared: byNone, load: kind(true)},
		effect{spread: &r.Exposed, shared: byNone, load: func(w *witness) float64 { return w.step.Terms.Exposed() }},
		effect{spread: &r.Degrees, shared: byNone, load: func(w *witness) float64 { return w.step.Beyond }},
	)
	for i := range out {
		out[i].assumed = *out[i].spread
	}
	return out
}

// assumedSpreads is what is assumed before any row is seen.
func assumedSpreads() *uncertainty.Record {
	r := &uncertainty.Record{}
	b, err := data.ReadFile("spreads.json")
	if err == nil {
		err = json.Unmarshal(b, r)
	}
	if err != nil {
		panic("accuracy: spreads.json: " + err.Error())
	}
	return r
}

// fitSpreads fits the spreads to rows. Each round makes every spread the best
// that a bound of the likelihood allows, which the likelihood follows (Zhou et
// al. 2019, MM algorithms for variance components models), and then weighs rows by
// how odd they are.
func fitSpreads(rows []witness) *uncertainty.Record {
	r := assumedSpreads()
	all := effects(r)
	machines := map[string]*machine{}
	for i := range rows {
		w := &rows[i]
		if machines[w.machine] == nil {
			machines[w.machine] = &machine{}
		}
		machines[w.machine].add(w, all)
	}
	dense, experts := bias{of: &r.Dense}, bias{of: &r.Experts}
	for range rounds {
		for i := range all {
			all[i].trace, all[i].fit = 0, 0
		}
		for _, name := range slices.Sorted(maps.Keys(machines)) {
			m := machines[name]
			inverse, weighted := m.round(all, r)
			dense.add(r, m, inverse, weighted)
			experts.add(r, m, inverse, weighted)
		}
		for i := range all {
			all[i].move()
		}
		dense.move()
		experts.move()
	}
	for _, k := range []*uncertainty.Kind{&r.Dense, &r.Experts} {
		k.Mean = math.Round(1000*k.Mean) / 1000
	}
	for i := range all {
		*all[i].spread = math.Round(1000**all[i].spread) / 1000
		if all[i].source != nil && all[i].loads {
			*all[i].source = fmt.Sprintf("fitted; before, %.2g was %s", all[i].assumed, *all[i].source)
		}
	}
	r.Source = fmt.Sprintf("most likely for %d measured steps predicted by parameters fitted without their source (testdata/measured)", len(rows))
	r.Dense.Measured = envelope(rows, func(w *witness) bool { return !w.judge && !w.moe() })
	r.Experts.Measured = envelope(rows, func(w *witness) bool { return !w.judge && w.moe() })
	return r
}

// move takes a spread to the least of its bound: with s its square, of half of
// s·trace + s₀²·fit/s and the distance from what was assumed. No spread is above
// one: terms that are off by more than a factor of e are wrong, not uncertain.
func (e *effect) move() {
	if !e.loads {
		return
	}
	before, u := math.Pow(*e.spread, 4), math.Log(e.assumed)
	low, high := u-5, min(u+5, 0)
	for range 50 {
		at := (low + high) / 2
		if e.trace*math.Exp(2*at)-before*e.fit*math.Exp(-2*at)+certainty*(at-u) > 0 {
			high = at
		} else {
			low = at
		}
	}
	*e.spread = math.Exp((low + high) / 2)
}

// bias is by how much longer steps of a kind of model take than is predicted, in the mean
// of machines that no fit has seen: the generalised least squares of it (Aitken 1935).
type bias struct {
	of        *uncertainty.Kind
	sum, says float64 // of one round
}

// add adds what rows of a machine say, each beside the others.
func (b *bias) add(r *uncertainty.Record, m *machine, inverse [][]float64, weighted []float64) {
	for i, w := range m.rows {
		if r.Of(w.x.job) != b.of {
			continue
		}
		b.sum += weighted[i]
		for j, x := range m.rows {
			if r.Of(x.x.job) == b.of {
				b.says += inverse[i][j]
			}
		}
	}
}

// move takes the mean to what is most likely by the spreads of a round.
func (b *bias) move() {
	if b.says > 0 {
		b.of.Mean += b.sum / b.says
	}
	b.sum, b.says = 0, 0
}

// machine holds the rows of one source on one GPU.
type machine struct {
	rows  []*witness
	loads [][]float64 // by effect and row
	odd   []float64   // what a row's own variance is divided by

	oddModels map[string]float64 // what the variance of a model's error is divided by
}

func (m *machine) add(w *witness, all []effect) {
	m.rows, m.odd = append(m.rows, w), append(m.odd, 1)
	if m.loads == nil {
		m.loads, m.oddModels = make([][]float64, len(all)), map[string]float64{}
	}
	m.oddModels[w.model] = 1
	for i := range all {
		n := all[i].load(w)
		m.loads[i] = append(m.loads[i], n)
		all[i].loads = all[i].loads || n > 0.01
	}
}

// round adds what the machine's rows say to every effect, and weighs them. It returns the
// inverse of their covariance, and that times their errors beside the means.
func (m *machine) round(all []effect, r *uncertainty.Record) (inverse [][]float64, weighted []float64) {
	n := len(m.rows)
	v := make([][]float64, n)
	own := make([]float64, n)
	for i := range v {
		v[i] = make([]float64, n)
		for j := range n {
			v[i][j] = m.together(all, i, j)
		}
		for e := range all {
			if all[e].shared == byNone {
				own[i] += square(*all[e].spread * m.loads[e][i])
			}
		}
		v[i][i] += own[i] / m.odd[i]
	}
	inverse, weighted = inverted(v), make([]float64, n)
	for j, w := range m.rows {
		beside := w.ratio - r.Of(w.x.job).Mean
		for i := range n {
			weighted[i] += inverse[i][j] * beside
		}
	}
	for e := range all {
		m.measure(&all[e], m.loads[e], inverse, weighted)
	}
	for i := range n {
		mine := own[i] / m.odd[i]
		left := mine * weighted[i]
		m.odd[i] = (tails + 1) / (tails + (left*left+mine-mine*mine*inverse[i][i])/own[i])
	}
	m.models(all, inverse, weighted)
	return inverse, weighted
}

// models weighs the errors that models have for themselves.
func (m *machine) models(all []effect, inverse [][]float64, weighted []float64) {
	for name, odd := range m.oddModels {
		var variance, left, sum float64
		for i, w := range m.rows {
			if w.model != name {
				continue
			}
			left += weighted[i]
			for j, x := range m.rows {
				if x.model == name {
					sum += inverse[i][j]
				}
			}
			for e := range all {
				if all[e].shared == byModel && m.loads[e][i] > 0 {
					variance = square(*all[e].spread)
				}
			}
		}
		mine := variance / odd
		left *= mine
		m.oddModels[name] = (tails + 1) / (tails + (left*left+mine-mine*mine*sum)/variance)
	}
}

// together is the covariance of two rows but for what each has for itself.
func (m *machine) together(all []effect, i, j int) float64 {
	var v float64
	for e := range all {
		v += square(*all[e].spread) * m.loads[e][i] * m.loads[e][j] * m.common(&all[e], i, j)
	}
	return v
}

// common is how much of an effect's variance two rows have together.
func (m *machine) common(e *effect, i, j int) float64 {
	switch {
	case e.shared == byMachine:
		return 1
	case e.shared == byModel && m.rows[i].model == m.rows[j].model:
		return 1 / m.oddModels[m.rows[i].model]
	}
	return 0
}

// measure adds the trace of an effect's covariance with the inverse, and its
// quadratic form.
func (m *machine) measure(e *effect, loads []float64, inverse [][]float64, weighted []float64) {
	if e.shared == byNone {
		for i, l := range loads {
			e.trace += l * l / m.odd[i] * inverse[i][i]
			e.fit += square(l*weighted[i]) / m.odd[i]
		}
		return
	}
	for i, a := range loads {
		if a == 0 {
			continue
		}
		for j, b := range loads {
			c := m.common(e, i, j)
			e.trace += a * b * c * inverse[i][j]
			e.fit += a * weighted[i] * b * weighted[j] * c
		}
	}
}

func square(x float64) float64 { return x * x }

// inverted is the inverse of a positive definite matrix, by elimination.
func inverted(a [][]float64) [][]float64 {
	n := len(a)
	out := make([][]float64, n)
	for i := range out {
		out[i] = make([]float64, n)
		out[i][i] = 1
	}
	for k := range n {
		pivot := 1 / a[k][k]
		for j := range n {
			a[k][j] *= pivot
			out[k][j] *= pivot
		}
		for i := range n {
			f := a[i][k]
			if i == k || f == 0 {
				continue
			}
			for j := k; j < n; j++ {
				a[i][j] -= f * a[k][j]
			}
			for j := range k + 1 {
				out[i][j] -= f * out[k][j]
			}
		}
	}
	return out
}

// writeSpreads prints compiler/uncertainty/data/prior.json.
func writeSpreads(w io.Writer, of *evidence) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(of.record(""))
}
