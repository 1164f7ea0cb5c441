package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/calibration"
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
)

// drawScore is how far off the rows of other models are in one draw, at the
// median of the logarithm's magnitude.
type drawScore struct {
	machine                    string
	base, scalar, terms, fully float64
	rows                       int
	inside                     int // of the rows: in the 90 % range after the calibration
}

// printCalibrated draws, and prints how far off predictions are before a
// calibration, with one factor for all, by terms, and by a fit to all rows.
func printCalibrated(w io.Writer, results []result, rows []witness) {
	scores := drawn200(results, rows)
	fmt.Fprintf(w, "%d draws of %d runs of at most %d models of one source on one GPU, predicted by parameters and spreads fitted without the source;\n"+
		"error of the rows of its other models there (median of a draw, mean over draws):\n\n", len(scores), drawnRuns, drawnMost)
	fmt.Fprintln(w, "| machine | draws | before | one factor | ndc calibrate | fitted to all rows | gap closed | inside the 90 % range |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
	by := map[string][]drawScore{}
	for _, s := range scores {
		by[s.machine] = append(by[s.machine], s)
	}
	for _, m := range slices.Sorted(maps.Keys(by)) {
		printDraws(w, m, by[m])
	}
	printDraws(w, "all", scores)
}

func printDraws(w io.Writer, name string, of []drawScore) {
	var base, scalar, terms, fully, rows, inside, better float64
	for _, s := range of {
		base, scalar, terms, fully = base+s.base, scalar+s.scalar, terms+s.terms, fully+s.fully
		rows, inside = rows+float64(s.rows), inside+float64(s.inside)
		if s.terms < s.scalar {
			better++
		}
	}
	n := float64(len(of)) / 100
	fmt.Fprintf(w, "| %s | %d | %.1f %% | %.1f %% | %.1f %% (better than one factor in %.0f %%) | %.1f %% | %.0f %% | %.0f %% |\n", strings.Replace(name, ".jsonl", ",", 1), len(of),
		base/n, scalar/n, terms/n, better/n, fully/n, 100*(base-terms)/(base-fully), 100*inside/rows)
}

// drawn200 makes the draws, the same ones every time.
func drawn200(results []result, rows []witness) []drawScore {
	fitted := map[string]float64{}
	for i := range results {
		if r := &results[i]; r.Time != nil {
			fitted[r.ID] = math.Log(r.Time.MeasuredSeconds / r.Time.PredictedSeconds)
		}
	}
	machines := map[string][]*witness{}
	for i := range rows {
		machines[rows[i].machine] = append(machines[rows[i].machine], &rows[i])
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(machines)) {
		if of := modelsOf(machines[name]); len(of) >= 3 && len(machines[name]) >= drawnRuns+2*otherRows {
			names = append(names, name)
		}
	}
	without := map[string]*uncertainty.Record{}
	r := rand.New(rand.NewPCG(20, 26))
	var scores []drawScore
	for len(scores) < draws && len(names) > 0 {
		name := names[r.IntN(len(names))]
		source := machines[name][0].x.row.file
		if without[source] == nil {
			without[source] = fitSpreads(slices.DeleteFunc(slices.Clone(rows), func(o witness) bool { return o.x.row.file == source }))
		}
		if s, ok := drawOne(r, machines[name], without[source], fitted); ok {
			s.machine = name
			scores = append(scores, s)
		}
	}
	return scores
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
func drawOne(r *rand.Rand, machine []*witness, record *uncertainty.Record, fitted map[string]float64) (drawScore, bool) {
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
	own = own[:drawnRuns]
	var prior *uncertainty.Prior
	var observed []uncertainty.Observation
	var scalar float64
	for _, w := range own {
		prior = calibration.Wider(prior, record.At(record.Of(w.x.job), w.distance))
		observed = append(observed, uncertainty.Observation{Step: w.step, Ratio: math.Exp(w.ratio), Model: slices.Index(chosen, architecture(w.x))})
		scalar += w.ratio / drawnRuns
	}
	post := prior.Others(observed)
	var s drawScore
	var base, one, terms, fully []float64
	for _, w := range other {
		n := post.Ratio(&w.step)
		base, one, terms = append(base, math.Abs(w.ratio)), append(one, math.Abs(w.ratio-scalar)), append(terms, math.Abs(w.ratio-n.Mean))
		fully = append(fully, math.Abs(fitted[w.x.row.ID]))
		if holds(n, w.ratio) {
			s.inside++
		}
	}
	s.rows = len(other)
	for _, of := range []struct {
		to   *float64
		from []float64
	}{{&s.base, base}, {&s.scalar, one}, {&s.terms, terms}, {&s.fully, fully}} {
		slices.Sort(of.from)
		*of.to = quantile(of.from, 0.5)
	}
	return s, true
}
