package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/ndc-dev/ndc/compiler/search"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
)

// A judge of the choice, not of the numbers: where somebody measured a whole
// grid of layouts of one job, the layout that ndc chooses was measured, too.
// Its measured time over the best of the grid is the regret, and it stands
// beside that of the fastest prediction alone, of a rule of thumb without any
// model of time, and of a layout drawn blindly.

// Cells are judged with fewestRuns or more, the least that make a grid. The rule of
// thumb stays below ruleMemory of the GPU's 80 GB.
const (
	fewestRuns = 8
	ruleMemory = 70.0
)

// cell is one job on one machine, and all layouts that somebody tried.
type cell struct {
	name      string
	gpus      int
	grid      *grid
	tried     []*result
	best      float64 // seconds of the fastest that ran
	ran, lost int
}

// choice is what a way of choosing takes, and what comes of it.
type choice struct {
	taken  *result
	regret float64 // measured over best, minus one; NaN where it did not run
}

// judgement is what comes of a cell: by ndc, by the fastest prediction, by the rule.
type judgement struct {
	cell              *cell
	ndc, argmin, rule choice
	random            float64 // mean regret of those that ran
}

// scoreResult is how a layout ranks in a choice between layouts of one job.
type scoreResult struct {
	Score float64 `json:"score"` // place in ndc's order of preference, the chosen one is 1
}

// question is the job, machine and source of a row: rows with the same one are
// layouts to choose among.
func (r *result) question() string {
	x := r.example.row
	return fmt.Sprint(r.Source, " ", x.Model.Name, ", ", x.Cluster.GPUs, " ", x.Cluster.GPU, " ", x.Model.SeqLen, " ", x.Layout.GBS, " ", x.Precision)
}

// rank gives the layouts of every job their places: first those that fit, by the
// rule of choice, then the others by their time.
func rank(results []result) {
	questions := map[string][]*result{}
	for i := range results {
		if r := &results[i]; r.known != nil {
			questions[r.question()] = append(questions[r.question()], r)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(questions)) {
		place := 0.0
		for _, fits := range []bool{true, false} {
			var of []*result
			var list []search.Known
			for _, r := range questions[name] {
				if (r.Verdict != nil && r.Verdict.Feasible) == fits {
					of, list = append(of, r), append(list, *r.known)
				}
			}
			if len(of) == 0 {
				continue
			}
			for _, i := range search.Order(of[0].example.job, of[0].prior, list) {
				place++
				of[i].Choice = &scoreResult{Score: place}
			}
		}
	}
}

// far says whether the cell judges little.
func (c *cell) far() bool { return c.grid.JudgesTo > 0 && c.gpus > c.grid.JudgesTo }

// kind is the framework of the cell, those that judge little apart.
func (c *cell) kind() string {
	switch {
	case c.far():
		return fmt.Sprintf("%s beyond %d GPUs, which judge little", c.grid.Of, c.grid.JudgesTo)
	case c.grid.JudgesTo > 0:
		return fmt.Sprintf("%s up to %d GPUs", c.grid.Of, c.grid.JudgesTo)
	}
	return c.grid.Of
}

// kinds are those of some cells, in their order.
func kinds(cells []*cell) (list []string) {
	for _, far := range []bool{false, true} {
		for _, c := range cells {
			if k := c.kind(); c.far() == far && !slices.Contains(list, k) {
				list = append(list, k)
			}
		}
	}
	return list
}

// cellsOf gathers the rows of grids by job and machine.
func cellsOf(results []result) []*cell {
	cells := map[string]*cell{}
	for i := range results {
		r := &results[i]
		if r.example.grid == nil || r.Status != "predicted" {
			continue
		}
		x := r.example.row
		c := cells[r.question()]
		if c == nil {
			c = &cell{name: fmt.Sprintf("%s at %d, %d GPUs", x.Model.Name, x.Model.SeqLen, x.Cluster.GPUs), gpus: x.Cluster.GPUs, grid: r.example.grid, best: math.Inf(1)}
			cells[r.question()] = c
		}
		c.tried = append(c.tried, r)
		if r.Time != nil {
			c.ran++
			c.best = min(c.best, r.Time.MeasuredSeconds)
		} else {
			c.lost++
		}
	}
	var out []*cell
	for _, k := range slices.Sorted(maps.Keys(cells)) {
		if c := cells[k]; c.ran >= fewestRuns {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b *cell) int {
		x, y := a.tried[0].example.row, b.tried[0].example.row
		return cmp.Or(cmp.Compare(a.grid.Of, b.grid.Of), cmp.Compare(x.Model.Name, y.Model.Name), cmp.Compare(x.Model.SeqLen, y.Model.SeqLen), cmp.Compare(a.gpus, b.gpus))
	})
	return out
}

// judge lets the ways of choosing choose.
func (c *cell) judge() judgement {
	feasible := func(r *result) bool { return r.Verdict != nil && r.Verdict.Feasible }
	j := judgement{cell: c}
	j.ndc = c.take(feasible, func(r *result) []float64 { return []float64{r.Choice.Score} })
	j.argmin = c.take(feasible, func(r *result) []float64 { return []float64{r.predicted} })
	j.rule = c.take(func(r *result) bool { return r.Time != nil && r.example.row.Measured.Peak < ruleMemory }, func(r *result) []float64 {
		l := &r.example.layout
		return []float64{float64(l.Recompute), float64(l.TensorParallel * l.PipelineParallel), float64(l.PipelineParallel), -float64(l.ZeroStage), -float64(l.MicroBatchSize)}
	})
	for _, r := range c.tried {
		if r.Time != nil {
			j.random += (r.Time.MeasuredSeconds/c.best - 1) / float64(c.ran)
		}
	}
	return j
}

// take is the layout with the least keys of those that may be taken; of two
// with the same the one that was listed first.
func (c *cell) take(may func(*result) bool, keys func(*result) []float64) choice {
	var best *result
	for _, r := range c.tried {
		if may(r) && (best == nil || slices.Compare(keys(r), keys(best)) < 0) {
			best = r
		}
	}
	return choice{best, c.regretOf(best)}
}

// regretOf is NaN for a layout that did not run. Where one configuration was
// measured twice, its better run counts for every way of choosing.
func (c *cell) regretOf(taken *result) float64 {
	least := math.Inf(1)
	for _, r := range c.tried {
		if taken != nil && r.Time != nil && sameJob(r.example, taken.example) {
			least = min(least, r.Time.MeasuredSeconds/c.best-1)
		}
	}
	if math.IsInf(least, 1) {
		return math.NaN()
	}
	return least
}

// printRegret writes a line per cell and the sums, those of large cells apart.
func printRegret(w io.Writer, results []result) {
	cells := cellsOf(results)
	if len(cells) == 0 {
		return
	}
	out := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(out, "regret %\tran\tdid not\tndc\tfastest predicted\trule\tblind\tnoise")
	of := map[string][]judgement{}
	for _, c := range cells {
		j := c.judge()
		fmt.Fprintf(out, "%s\t%d\t%d\t%s\t%s\t%s\t%.1f\t%.0f\n", c.name, c.ran, c.lost, j.ndc, j.argmin, j.rule, 100*j.random, 100*c.grid.Noise)
		of[c.kind()] = append(of[c.kind()], j)
	}
	for _, k := range kinds(cells) {
		g := of[k]
		fmt.Fprintf(out, "mean of %d of %s\t\t\t%s\t%s\t%s\t%.1f\t%.0f\n", len(g), k, mean(g, func(j *judgement) choice { return j.ndc }),
			mean(g, func(j *judgement) choice { return j.argmin }), mean(g, func(j *judgement) choice { return j.rule }), 100*meanRandom(g), 100*g[0].cell.grid.Noise)
	}
	out.Flush()
	printVerdicts(w, cells)
	for _, k := range kinds(cells) {
		if longer := optimism(of[k]); len(longer) > 1 && !of[k][0].cell.far() {
			mean, deviation := meanWithError(longer)
			fmt.Fprintf(w, "%s: chosen layouts took %+.1f %% longer, against their predictions, than the %d that fit and are predicted next (standard error %.1f %%, %d cells); %+.1f %% against what is expected of them\n",
				k, 100*mean, runnersUp, 100*deviation, len(longer), 100*(mean-uncertainty.Selection(1+runnersUp)))
		}
	}
}

// runnersUp is how many layouts of a cell a chosen one is compared with.
const runnersUp = 10

// optimism is by how much longer the chosen layout of each cell took, against its
// prediction, than the median of those that were predicted next: what a search gains
// by errors in its favour, as logarithms.
func optimism(of []judgement) (all []float64) {
	for i := range of {
		chosen := of[i].ndc.taken
		if chosen == nil || chosen.Time == nil {
			continue
		}
		var next []*result
		for _, r := range of[i].cell.tried {
			if r.Time != nil && r.Verdict.Feasible && r.predicted >= chosen.predicted && !sameJob(r.example, chosen.example) {
				next = append(next, r)
			}
		}
		slices.SortStableFunc(next, func(a, b *result) int { return cmp.Compare(a.predicted, b.predicted) })
		if next = next[:min(len(next), runnersUp)]; len(next) < runnersUp {
			continue
		}
		longer := make([]float64, len(next))
		for k, r := range next {
			longer[k] = math.Log(r.Time.MeasuredSeconds / r.predicted)
		}
		slices.Sort(longer)
		all = append(all, math.Log(chosen.Time.MeasuredSeconds/chosen.predicted)-quantile(longer, 0.5))
	}
	return all
}

// String is the regret in per cent.
func (c choice) String() string {
	switch {
	case c.taken == nil:
		return "nothing fits"
	case math.IsNaN(c.regret):
		return "did not run"
	}
	return fmt.Sprintf("%.1f", 100*c.regret)
}

// mean is the mean regret of the choices that ran; those that did not are
// counted beside it.
func mean(of []judgement, by func(*judgement) choice) string {
	sum, n, failed := 0.0, 0, 0
	for i := range of {
		if r := by(&of[i]).regret; math.IsNaN(r) {
			failed++
		} else {
			sum, n = sum+r, n+1
		}
	}
	text := fmt.Sprintf("%.1f", 100*sum/float64(max(n, 1)))
	if failed > 0 {
		text += fmt.Sprintf(", %d did not run", failed)
	}
	return text
}

func meanRandom(of []judgement) float64 {
	sum := 0.0
	for i := range of {
		sum += of[i].random
	}
	return sum / float64(len(of))
}

// printVerdicts counts what the grids of each framework say about feasibility: runs
// that are called infeasible, and those that did not report and are called feasible,
// by how sure it is that memory was why.
func printVerdicts(w io.Writer, cells []*cell) {
	of := map[string][]*cell{}
	for _, c := range cells {
		of[c.grid.Of] = append(of[c.grid.Of], c)
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		v := gridVerdictsOf(of[name])
		fmt.Fprintf(w, "%s: runs called infeasible: %d of %d; called feasible of those that did not run, by how sure memory was why:", name, v.missed, v.ran)
		for _, grade := range []string{"reported", "certain", "strong", "probable", "unclear", "contrary"} {
			if v.lost[grade] > 0 {
				fmt.Fprintf(w, " %s %d of %d", grade, v.called[grade], v.lost[grade])
			}
		}
		fmt.Fprintln(w)
	}
}

// gridVerdicts are counts over the cells.
type gridVerdicts struct {
	ran, missed  int // runs, and those called infeasible
	called, lost map[string]int
}

func gridVerdictsOf(cells []*cell) gridVerdicts {
	v := gridVerdicts{called: map[string]int{}, lost: map[string]int{}}
	for _, c := range cells {
		for _, r := range c.tried {
			if r.Time != nil {
				v.ran++
				if !r.Verdict.Likely {
					v.missed++
				}
				continue
			}
			grade := r.example.row.grade()
			v.lost[grade]++
			if r.Verdict.Likely {
				v.called[grade]++
			}
		}
	}
	return v
}
