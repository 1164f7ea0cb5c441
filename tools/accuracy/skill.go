package main

import (
	"fmt"
	"io"
	"math"
)

// nearCard is how far predicted memory may lie from the GPU's for a verdict to be
// worth scoring: what is far from it, any threshold tells.
const nearCard = 0.1

// forecast is the probability that a run ends out of memory, as it was predicted,
// and what came.
type forecast struct {
	probability, share float64
	out                bool
}

// forecasts are those of rows that ran or surely ran out of memory, near the size
// of their GPU, by where they come from.
func forecasts(results []result) (own, grids []forecast) {
	for i := range results {
		r := &results[i]
		v := r.Verdict
		if v == nil || r.apart || r.example.open || math.Abs(v.Share-1) > nearCard { // what is open is set so that it fits
			continue
		}
		grid := r.example.grid != nil
		f := forecast{v.Probability, v.Share, !v.Ran}
		if grid && r.Time == nil {
			if g := r.example.row.grade(); g != "certain" && g != "strong" && g != "reported" {
				continue // nobody knows why it did not report
			}
			f.out = true
		}
		if grid {
			grids = append(grids, f)
		} else {
			own = append(own, f)
		}
	}
	return own, grids
}

// brier is the mean square of what forecasts were off by (Brier 1950, Verification
// of forecasts expressed in terms of probability): by probabilities, and by a
// threshold at the GPU's size.
func brier(of []forecast) (probable, hard float64) {
	for _, f := range of {
		came, threshold := 0.0, 0.0
		if f.out {
			came = 1
		}
		if f.share > 1 {
			threshold = 1
		}
		probable += (f.probability - came) * (f.probability - came) / float64(len(of))
		hard += (threshold - came) * (threshold - came) / float64(len(of))
	}
	return probable, hard
}

// printSkill tells what probabilities of running out of memory are worth beside a
// hard threshold.
func printSkill(w io.Writer, results []result) {
	own, grids := forecasts(results)
	fmt.Fprintf(w, "\n| predicted within %.0f %% of the GPU's memory | rows | out of memory | Brier score | of a hard threshold | skill |\n|---|---|---|---|---|---|\n", 100*nearCard)
	for _, line := range []struct {
		name string
		of   []forecast
	}{{"rows of frameworks that ndc emits for, or their ancestors", own}, {"grids of other frameworks", grids}} {
		out := 0
		for _, f := range line.of {
			if f.out {
				out++
			}
		}
		probable, hard := brier(line.of)
		skill := "none to have: the threshold errs nowhere"
		if hard > 0 {
			skill = fmt.Sprintf("%+.0f %%", 100*(1-probable/hard))
		}
		fmt.Fprintf(w, "| %s | %d | %d | %.3f | %.3f | %s |\n", line.name, len(line.of), out, probable, hard, skill)
	}
}
