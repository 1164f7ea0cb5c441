package compiler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/layout"
	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/search"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// degree is a parallel degree of the layout with what it cuts into equal parts
// on any framework.
type degree struct {
	axis   *option.Axis
	choice job.IntChoice
	cuts   []option.Whole
}

// degrees lists the axes that cut something of the job.
func degrees(j *job.Job) []degree {
	var list []degree
	for i := range option.Axes {
		a := &option.Axes[i]
		if a.Cuts == nil {
			continue
		}
		if cuts := a.Cuts(j); cuts != nil {
			list = append(list, degree{a, *a.Counted(&j.Constraints.Layout), cuts})
		}
	}
	return list
}

// checkDegrees reports degrees of which no value that the user allows divides
// what it cuts, with the nearest that do. It does not name the backend: for
// several backends of a job it is one mistake.
func checkDegrees(j *job.Job) diag.List {
	var diags diag.List
	for _, d := range degrees(j) {
		if d.choice.Free() || len(d.fitting(d.choice.Allows)) > 0 {
			continue
		}
		diags.Error(IDDegreeIndivisible, j.Sources.Range("constraints.layout."+d.axis.Name), "A degree of the layout does not divide what it cuts",
			fmt.Sprintf("%s = %s cannot cut %s into equal parts. %s", d.axis.Name, show(d.choice), counted(d.uncut()), d.nearest(least(d.choice))))
	}
	return diags
}

// uncut is the first thing that no allowed degree divides.
func (d *degree) uncut() option.Whole {
	for _, w := range d.cuts {
		if !slices.ContainsFunc(layout.Divisors(w.Size, w.Size), d.choice.Allows) {
			return w
		}
	}
	return d.cuts[len(d.cuts)-1] // every allowed degree fails another one
}

// fitting lists the allowed degrees that divide everything that they cut.
func (d *degree) fitting(allowed func(int) bool) []int {
	whole := d.cuts[0].Size
	return slices.DeleteFunc(layout.Divisors(whole, whole), func(n int) bool {
		return !allowed(n) || slices.ContainsFunc(d.cuts, func(w option.Whole) bool { return w.Size%n != 0 })
	})
}

// nearest says which degrees around a number divide.
func (d *degree) nearest(to int) string {
	what := counted(d.cuts[0])
	for _, w := range d.cuts[1:] {
		what += " and " + counted(w)
	}
	below, above := 0, 0
	for _, n := range d.fitting(func(int) bool { return true }) {
		if n < to {
			below = n
		} else if above == 0 {
			above = n
		}
	}
	switch {
	case above == 0:
		return fmt.Sprintf("The largest that divides %s is %d.", what, below)
	case below == 0:
		return fmt.Sprintf("The smallest that divides %s is %d.", what, above)
	}
	return fmt.Sprintf("The nearest that divide %s are %d and %d.", what, below, above)
}

func counted(w option.Whole) string { return units.Count(w.Size, w.Noun) }

// mostNearby is how many degrees around a pinned one are tried before all.
const mostNearby = 4

// nearby lists the degrees around a pinned one that divide what it cuts, the
// nearest first: where no layout is legal at all, the smallest change is what the
// user most likely wants. Where memory binds, the fastest that fits is.
func nearby(j *job.Job, o *search.Outcome, name string) []func(*job.Job) {
	if len(o.Nearest) > 0 {
		return nil
	}
	for _, d := range degrees(j) {
		if d.axis.Name != name || !d.choice.Pinned() {
			continue
		}
		now := least(d.choice)
		list := d.fitting(func(n int) bool { return n != now })
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(ratio(a, now), ratio(b, now)) })
		var tries []func(*job.Job)
		for _, n := range list[:min(mostNearby, len(list))] {
			tries = append(tries, func(j *job.Job) { *d.axis.Counted(&j.Constraints.Layout) = job.IntChoice{Values: []int{n}} })
		}
		return tries
	}
	return nil
}

// ratio is how many times the larger of two numbers is the smaller.
func ratio(a, b int) float64 { return float64(max(a, b)) / float64(min(a, b)) }

// degreeRules says what degrees have to keep to beside making the number of GPUs.
func degreeRules(j *job.Job) (rules string) {
	if j.Model.MoE != nil {
		rules += " For experts, expert_parallel x expert_tensor_parallel must divide the GPUs of a pipeline stage, and expert_tensor_parallel must divide tensor_parallel."
	}
	if !j.Constraints.Layout.ZeroStage.Free() {
		rules += " With zero_stage = 0 nothing is sharded, so data_parallel_shard is 1; with another stage it is above 1 beside other data-parallel ranks."
	}
	return rules
}

// degreesDetail says what the degrees have to make together, and which of those that
// the job narrows would do alone if it were left free. It does not name the backend: for
// several backends of a job it is one mistake.
func degreesDetail(j *job.Job, t *target.Target) string {
	c := &j.Constraints.Layout
	var alone []string
	for i := range option.Axes {
		a, changed := &option.Axes[i], *j
		if a.IsFree(c) {
			continue
		}
		if a.Free(&changed.Constraints.Layout); len(layout.NewSpace(&changed, t).Meshes) > 0 {
			alone = append(alone, a.Name)
		}
	}
	advice := "Change the degrees or the number of nodes."
	if alone != nil {
		advice = fmt.Sprintf("Leave %s free, or change the number of nodes.", strings.Join(alone, " or "))
	}
	return fmt.Sprintf("The job has %s, and tensor_parallel x context_parallel x pipeline_parallel x data_parallel_replicate x data_parallel_shard must make exactly that, with degrees that the framework and constraints.layout allow (%s).%s %s",
		units.Count(j.Cluster.GPUs(), "GPU"), pinned(j, func(a *option.Axis) bool { return cuts(a) || a.Name == "zero_stage" }), degreeRules(j), advice)
}
