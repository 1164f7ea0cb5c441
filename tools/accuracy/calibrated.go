package main

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/calibration"
	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
)

// What ndc calibrate is worth: runs of at most two models of one source on one
// GPU calibrate predictions that were fitted without the source, and its other
// models there are predicted.

const (
	draws     = 200
	drawnRuns = 5 // of at most drawnModels models
	drawnMost = 2
	otherRows = 5 // that other models must have at least
	sameRows  = 3 // that models which ran must have besides
)

// drawScore is how far off the rows of other models are in one draw, at the
// median of the logarithm's magnitude.
type drawScore struct {
	machine                    string
	base, scalar, terms, fully float64
	most                       float64 // by terms, of all runs of the machine but those of the model that is predicted
	refit                      float64 // by parameters that were fitted to these and to all other sources
	rows                       int
	inside                     int // of the rows: in the 90 % range after the calibration

	same *sameScore // of the models that ran; nil where they have too few other rows
}

// sameScore is the same of the other rows of the models whose runs calibrate.
type sameScore struct {
	base, scalar, terms float64
	rows, inside        int
}

// ceilings are what other models' runs can tell at most, by id: errors of rows
// (logarithms of measured over predicted) whose model in their source had no part.
type ceilings struct {
	fitted map[string]float64 // by parameters that were fitted to all rows, these included
	refit  map[string]float64 // by parameters that were fitted without the model in its source
	most   map[string]float64 // by terms, of all the machine's runs of other models
}

// printCalibrated draws, and prints how far off predictions are before a
// calibration, with one factor for all, by terms, by whatever other models can
// tell, and by a fit to all rows.
func printCalibrated(w io.Writer, results []result, e *evidence, withoutModel heldOut) {
	scores := drawn200(results, e, withoutModel)
	fmt.Fprintf(w, "%d draws of %d runs of at most %d models of one source on one GPU, predicted by parameters and spreads fitted without the source;\n"+
		"error of the rows of its other models there (median of a draw, mean over draws); gap closed: by five runs, by all runs, by parameters:\n\n", len(scores), drawnRuns, drawnMost)
	fmt.Fprintln(w, "| machine | draws | before | one factor | ndc calibrate | all runs of other models | parameters fitted to them | fitted to all rows | gap closed | inside the 90 % range |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|")
	by := map[string][]drawScore{}
	for _, s := range scores {
		by[s.machine] = append(by[s.machine], s)
	}
	for _, m := range slices.Sorted(maps.Keys(by)) {
		printDraws(w, m, by[m])
	}
	printDraws(w, "all", scores)
	fmt.Fprintf(w, "\nOther runs of the models that ran, where there are at least %d:\n\n| machine | draws | before | one factor | ndc calibrate | inside the 90 %% range |\n|---|---|---|---|---|---|\n", sameRows)
	for _, m := range slices.Sorted(maps.Keys(by)) {
		printSame(w, m, by[m])
	}
	printSame(w, "all", scores)
}

func printSame(w io.Writer, name string, of []drawScore) {
	var base, scalar, terms, rows, inside, better float64
	n := 0.0
	for _, s := range of {
		if x := s.same; x != nil {
			n++
			base, scalar, terms, rows, inside = base+x.base, scalar+x.scalar, terms+x.terms, rows+float64(x.rows), inside+float64(x.inside)
			if x.terms < x.base {
				better++
			}
		}
	}
	if n > 0 {
		fmt.Fprintf(w, "| %s | %.0f | %.1f %% | %.1f %% | %.1f %% (better than before in %.0f %%) | %.0f %% |\n", strings.Replace(name, ".jsonl", ",", 1), n, 100*base/n, 100*scalar/n, 100*terms/n, 100*better/n, 100*inside/rows)
	}
}

func printDraws(w io.Writer, name string, of []drawScore) {
	var base, scalar, terms, most, refit, fully, rows, inside, better float64
	for _, s := range of {
		base, scalar, terms, most, refit, fully = base+s.base, scalar+s.scalar, terms+s.terms, most+s.most, refit+s.refit, fully+s.fully
		rows, inside = rows+float64(s.rows), inside+float64(s.inside)
		if s.terms < s.scalar {
			better++
		}
	}
	n := float64(len(of)) / 100
	closed := func(reached float64) string { return fmt.Sprintf("%.0f %%", 100*(base-reached)/(base-fully)) }
	fmt.Fprintf(w, "| %s | %d | %.1f %% | %.1f %% | %.1f %% (better than one factor in %.0f %%) | %.1f %% | %.1f %% | %.1f %% | %s, %s, %s | %.0f %% |\n", strings.Replace(name, ".jsonl", ",", 1), len(of),
		base/n, scalar/n, terms/n, better/n, most/n, refit/n, fully/n, closed(terms), closed(most), closed(refit), 100*inside/rows)
}

// drawn200 makes the draws, the same ones every time.
func drawn200(results []result, e *evidence, withoutModel heldOut) []drawScore {
	c := ceilings{map[string]float64{}, map[string]float64{}, map[string]float64{}}
	for i := range results {
		if r := &results[i]; r.Time != nil {
			c.fitted[r.ID] = math.Log(r.Time.MeasuredSeconds / r.Time.PredictedSeconds)
		}
	}
	for id, predicted := range withoutModel {
		c.refit[id] = -math.Log(predicted)
	}
	machines := map[string][]*witness{}
	for i := range e.rows {
		w := &e.rows[i]
		machines[w.machine] = append(machines[w.machine], w)
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(machines)) {
		if of := modelsOf(machines[name]); len(of) >= 3 && len(machines[name]) >= drawnRuns+2*otherRows {
			names = append(names, name)
		}
	}
	for _, name := range names {
		c.all(machines[name], e.record(machines[name][0].source))
	}
	r := rand.New(rand.NewPCG(20, 26))
	var scores []drawScore
	for len(scores) < draws && len(names) > 0 {
		name := names[r.IntN(len(names))]
		if s, ok := drawOne(r, machines[name], e.record(machines[name][0].source), &c); ok {
			s.machine = name
			scores = append(scores, s)
		}
	}
	return scores
}

// all fills in what all runs of a machine tell of each of its models but their own.
func (c *ceilings) all(machine []*witness, record *uncertainty.Record) {
	for _, model := range modelsOf(machine) {
		var own []*witness
		for _, w := range machine {
			if architecture(w.x) != model {
				own = append(own, w)
			}
		}
		post, _ := learned(own, record)
		for _, w := range machine {
			if architecture(w.x) == model {
				c.most[w.x.row.ID] = w.ratio - post.Ratio(&w.step).Mean
			}
		}
	}
}

// learned is what some runs of a machine tell of its other models, and of their own by
// the place of a model among them.
func learned(own []*witness, record *uncertainty.Record, benchmarks ...uncertainty.Observation) (others *uncertainty.Prior, trained func(model int) *uncertainty.Prior) {
	var priors []*uncertainty.Prior
	var observed []uncertainty.Observation
	for _, w := range own {
		priors = append(priors, record.At(record.Of(w.x.job), w.distance))
		observed = append(observed, uncertainty.Observation{Step: w.step, Ratio: math.Exp(w.ratio), Model: slices.Index(modelsOf(own), architecture(w.x))})
	}
	observed = append(observed, benchmarks...)
	prior := calibration.Widest(priors)
	if times, _ := prior.Mistaken(observed, uncertainty.Network); times != 1 {
		prior = prior.Times(uncertainty.Network, times)
	}
	return prior.Others(observed), func(model int) *uncertainty.Prior { return prior.Trained(observed, model) }
}

// modelsOf are the models of some rows, in the order of their names.
func modelsOf(rows []*witness) []string {
	var names []string
	for _, w := range rows {
		if m := architecture(w.x); !slices.Contains(names, m) {
			names = append(names, m)
		}
	}
	slices.Sort(names)
	return names
}

// drawOne calibrates a machine by some runs; false when too few are left.
func drawOne(r *rand.Rand, machine []*witness, record *uncertainty.Record, c *ceilings, benchmarks ...uncertainty.Observation) (drawScore, bool) {
	models := modelsOf(machine)
	r.Shuffle(len(models), func(i, k int) { models[i], models[k] = models[k], models[i] })
	chosen := models[:min(drawnMost, len(models)-1)]
	var own, other []*witness
	for _, w := range machine {
		if slices.Contains(chosen, architecture(w.x)) {
			own = append(own, w)
		} else {
			other = append(other, w)
		}
	}
	if len(own) < drawnRuns || len(other) < otherRows {
		return drawScore{}, false
	}
	r.Shuffle(len(own), func(i, k int) { own[i], own[k] = own[k], own[i] })
	own, rest := own[:drawnRuns], own[drawnRuns:]
	var scalar float64
	for _, w := range own {
		scalar += w.ratio / drawnRuns
	}
	post, trained := learned(own, record, benchmarks...)
	s := drawScore{rows: len(other)}
	for _, of := range []struct {
		to  *float64
		off func(*witness) float64
	}{
		{&s.base, func(w *witness) float64 { return w.ratio }},
		{&s.scalar, func(w *witness) float64 { return w.ratio - scalar }},
		{&s.terms, func(w *witness) float64 { return w.ratio - post.Ratio(&w.step).Mean }},
		{&s.most, func(w *witness) float64 { return c.most[w.x.row.ID] }},
		{&s.refit, func(w *witness) float64 { return c.refit[w.x.row.ID] }},
		{&s.fully, func(w *witness) float64 { return c.fitted[w.x.row.ID] }},
	} {
		*of.to = middle(other, of.off)
	}
	for _, w := range other {
		if holds(post.Ratio(&w.step), w.ratio) {
			s.inside++
		}
	}
	s.same = sameModels(own, rest, scalar, trained)
	return s, true
}

// sameModels is how far off other rows of the models that ran are; nil where there are
// too few.
func sameModels(own, rest []*witness, scalar float64, trained func(model int) *uncertainty.Prior) *sameScore {
	ran := modelsOf(own)
	rest = slices.DeleteFunc(slices.Clone(rest), func(w *witness) bool { return !slices.Contains(ran, architecture(w.x)) })
	if len(rest) < sameRows {
		return nil
	}
	var by []*uncertainty.Prior
	for i := range ran {
		by = append(by, trained(i))
	}
	ratio := func(w *witness) uncertainty.Normal { return by[slices.Index(ran, architecture(w.x))].Ratio(&w.step) }
	s := &sameScore{
		base:   middle(rest, func(w *witness) float64 { return w.ratio }),
		scalar: middle(rest, func(w *witness) float64 { return w.ratio - scalar }),
		terms:  middle(rest, func(w *witness) float64 { return w.ratio - ratio(w).Mean }),
		rows:   len(rest),
	}
	for _, w := range rest {
		if holds(ratio(w), w.ratio) {
			s.inside++
		}
	}
	return s
}

// middle is the median of how far off rows are.
func middle(rows []*witness, off func(*witness) float64) float64 {
	var list []float64
	for _, w := range rows {
		list = append(list, math.Abs(off(w)))
	}
	slices.Sort(list)
	return quantile(list, 0.5)
}

// printMistaken draws from machines whose networks a job may take for others than they
// are: with the network that is stated, with the other, and with the other and what a
// benchmark of the network measures.
func printMistaken(w io.Writer, folder, known fs.FS, p estimate.Parameters, e *evidence) error {
	fmt.Fprint(w, "\nA machine that no fit knows, whose network a job takes for another:\n\n| network | draws | before | one factor | ndc calibrate | other runs of the same models: before | one factor | ndc calibrate | inside the 90 % range |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, mistaken := range []bool{false, true} {
		d, err := newDescriber(folder, known)
		if err != nil {
			return err
		}
		d.mistaken = mistaken
		examples, err := d.load(folder)
		if err != nil {
			return err
		}
		machines := map[string][]*witness{}
		times := map[string]float64{}
		for i := range examples {
			x := &examples[i]
			if f := d.factsOf(x.row); f == nil || f.Mistaken == nil || x.row.oom() {
				continue
			} else if r := predict(x, p); r.Time != nil {
				o := e.judge(&r)
				machines[o.machine] = append(machines[o.machine], &o)
				times[o.machine] = float64(f.Mistaken.NICs) * f.Mistaken.Gbit / (float64(f.Network.NICs) * f.Network.Gbit)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(machines)) {
			record := e.record(machines[name][0].source)
			benchmark := uncertainty.Observation{Ratio: times[name], Benchmark: record.Benchmark(uncertainty.Network)}
			benchmark.Step.Terms[uncertainty.Network] = 1
			if !mistaken {
				printMistakenDraws(w, "as it is", machines[name], record)
				continue
			}
			printMistakenDraws(w, "as a job says", machines[name], record)
			printMistakenDraws(w, "the same, measured by nccl-tests", machines[name], record, benchmark)
		}
	}
	return nil
}

func printMistakenDraws(w io.Writer, what string, machine []*witness, record *uncertainty.Record, benchmarks ...uncertainty.Observation) {
	r := rand.New(rand.NewPCG(20, 26))
	var n, base, scalar, terms, own, factor, same, rows, inside float64
	for range draws {
		s, ok := drawOne(r, machine, record, &ceilings{}, benchmarks...)
		if !ok || s.same == nil {
			continue
		}
		n++
		base, scalar, terms, own, factor, same = base+s.base, scalar+s.scalar, terms+s.terms, own+s.same.base, factor+s.same.scalar, same+s.same.terms
		rows, inside = rows+float64(s.rows), inside+float64(s.inside)
	}
	n /= 100
	fmt.Fprintf(w, "| %s | %.0f | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.0f %% |\n", what, 100*n, base/n, scalar/n, terms/n, own/n, factor/n, same/n, 100*inside/rows)
}
