package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/plan"
)

// Some publishers state who works with whom, and not the micro-batch, the chunks of the
// pipeline or the recompute that they found best for it. For rows of a source with
// "open" in clusters.jsonl these are as a search would set them: what is predicted to
// be fastest of all that is likely to fit stands beside what was measured.

// isOpen reports whether the row leaves something open that a search sets.
func (r *row) isOpen() bool {
	l := &r.Layout
	return l.MBS == 0 || l.PP > 1 && l.VPP == 0 || l.Recompute.Mode == "" && !l.Recompute.stated()
}

// settings are the rows that a row with open settings may have been.
func (r *row) settings() (list []*row) {
	l := &r.Layout
	perRank := l.GBS * l.TP * l.PP * max(1, l.CP) / max(1, r.Cluster.GPUs)
	micro, recompute := []int{1, 2, 4, 8}, openRecompute
	if r.Model.MoE == nil {
		recompute = openRecomputeDense
	}
	if l.MBS > 0 {
		micro = []int{l.MBS}
	}
	if l.Recompute.Mode != "" || l.Recompute.stated() {
		recompute = []recomputeChoice{l.Recompute}
	}
	for _, mbs := range micro {
		for vpp := 1; vpp*l.PP <= r.Model.Layers; vpp++ {
			chunked := vpp > 1 && (l.PP == 1 || r.Model.Layers%(vpp*l.PP) != 0 || perRank/mbs%l.PP != 0)
			if mbs > perRank || perRank%mbs != 0 || chunked || l.VPP > 0 && vpp != l.VPP {
				continue
			}
			for _, c := range recompute {
				s := *r
				s.Layout.MBS, s.Layout.VPP, s.Layout.Recompute = mbs, vpp, c
				list = append(list, &s)
			}
		}
	}
	return list
}

// openRecompute is what may be recomputed in mixtures, from nothing to everything, and
// openRecomputeDense in other models.
var (
	openRecompute = []recomputeChoice{
		{Mode: "none"},
		{Mode: "selective", Modules: json.RawMessage(`["moe_act", "layernorm"]`)},
		{Mode: "selective", Modules: json.RawMessage(`["moe"]`)},
		{Mode: "full"},
	}
	openRecomputeDense = []recomputeChoice{
		{Mode: "none"},
		{Mode: "selective", Modules: json.RawMessage(`["core_attn"]`)},
		{Mode: "full"},
	}
)

// open builds the examples of all settings of a row.
func (w *describer) open(r *row) example {
	var all []example
	for _, s := range r.settings() {
		if x := w.example(s); x.skip == "" {
			all = append(all, x)
		}
	}
	if len(all) == 0 {
		return example{row: r, skip: "no setting of what is open can be described"}
	}
	x := all[0]
	x.settings = all
	return x
}

// best predicts the settings of a row that leaves some open, and keeps the fastest that
// fits.
func (x *example) best(p estimate.Parameters) (best result) {
	best = result{ID: x.row.ID, Source: x.source(), Status: "skipped", Reason: "no setting of what is open fits", judge: x.judge, example: &example{row: x.row, skip: "none fits"}}
	for i := range x.settings {
		r := predict(&x.settings[i], p)
		if r.Verdict == nil || !r.Verdict.Likely {
			continue
		}
		if best.Time == nil || r.Time.PredictedSeconds < best.Time.PredictedSeconds {
			best = r
		}
	}
	return best
}

// strategies are the rows with open settings, by what they have in common, those of
// more than one strategy.
func strategies(results []result) (groups [][]*result) {
	var names []string
	by := map[string][]*result{}
	for i := range results {
		r := &results[i]
		if r.Time == nil || !r.example.open {
			continue
		}
		x := r.example.row
		k := fmt.Sprintf("%s on %d GPUs, batch %d", x.Model.Name, x.Cluster.GPUs, x.Layout.GBS)
		if by[k] == nil {
			names = append(names, k)
		}
		by[k] = append(by[k], r)
	}
	for _, k := range names {
		if len(by[k]) > 1 {
			groups = append(groups, by[k])
		}
	}
	return groups
}

// strategyOrder counts the pairs of strategies that differ, and those of them that are
// predicted in their order.
func strategyOrder(groups [][]*result) *ordering {
	o := &ordering{}
	for _, g := range groups {
		for i, r := range g {
			for _, other := range g[:i] {
				o.compare(other, r)
			}
		}
	}
	return o
}

// printStrategies tells which strategy was measured to be the best, and which is
// predicted to be.
func printStrategies(w io.Writer, results []result) {
	groups := strategies(results)
	if len(groups) == 0 {
		return
	}
	fmt.Fprint(w, "\n| job | tensor, pipeline, expert x its tensor | measured | predicted | micro-batch, chunks, recompute |\n|---|---|---|---|---|\n")
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b *result) int { return cmp.Compare(a.Time.MeasuredSeconds, b.Time.MeasuredSeconds) })
		for i, r := range g {
			x, l, job := r.example.row, &r.example.layout, ""
			if i == 0 {
				job = fmt.Sprintf("%s, %d GPUs, batch %d", x.Model.Name, x.Cluster.GPUs, x.Layout.GBS)
			}
			fmt.Fprintf(w, "| %s | %d, %d, %d x %d | %.2f s | %.2f s (%+.1f %%) | %d, %d, %s |\n", job,
				l.TensorParallel, l.PipelineParallel, l.ExpertParallel, l.ExpertTensorParallel, r.Time.MeasuredSeconds, r.Time.PredictedSeconds,
				100*(r.Time.PredictedSeconds/r.Time.MeasuredSeconds-1), l.MicroBatchSize, l.VirtualPipeline, recomputed(l))
		}
	}
	o := strategyOrder(groups)
	fmt.Fprintf(w, "\nOf %d pairs that differ by more than 5 %%, %d are predicted in their order.\n", o.pairs, o.right)
}

// printSteps lists the steps of a source, which stand in no group.
func printSteps(w io.Writer, results []result, source string) {
	var last *result
	for i := range results {
		r := &results[i]
		if r.Source != source || r.Time == nil {
			continue
		}
		if last == nil {
			fmt.Fprint(w, "\n| job | GPUs | batch | measured | predicted | ZeRO, micro-batch, chunks, recompute |\n|---|---|---|---|---|---|\n")
		}
		x, l, job := r.example.row, &r.example.layout, ""
		if last == nil || last.example.row.Source.Name != x.Source.Name || last.example.row.Model.Name != x.Model.Name {
			job = strings.TrimPrefix(x.Model.Name+", "+x.Source.Name, ", ")
		}
		fmt.Fprintf(w, "| %s | %d | %d | %.2f s | %.2f s (%+.1f %%) | %d, %d, %d, %s%s |\n", job, x.Cluster.GPUs, x.Layout.GBS, r.Time.MeasuredSeconds, r.Time.PredictedSeconds,
			100*(r.Time.PredictedSeconds/r.Time.MeasuredSeconds-1), l.ZeroStage, l.MicroBatchSize, l.VirtualPipeline, recomputed(l), offloaded(&r.example.exec))
		last = r
	}
}

// The sources whose steps are listed one by one.
const largeMachines, deepSpeed, torchTitanLogs = "large_machines", "deepspeed_a800", "torchtitan_commits"

// offloaded is what of the state lies in the memory of the host.
func offloaded(x *plan.Execution) (text string) {
	if x.OffloadOptimizer {
		text += ", optimizer offloaded"
	}
	if x.OffloadParameters {
		text += ", parameters offloaded"
	}
	return text
}

// recomputed is what a layout recomputes, in a word or a few.
func recomputed(l *plan.Layout) string {
	if l.Recompute == plan.RecomputeSelective {
		return strings.Join(l.RecomputeModules.Names(), " and ")
	}
	return l.Recompute.String()
}
