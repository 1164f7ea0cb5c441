package compiler

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ndc-dev/ndc/compiler/search"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// degree is a parallel degree of the layout with what it cuts into equal parts.
type degree struct {
	name   string
	choice job.IntChoice
	cuts   []whole
}

// whole is something that a degree cuts.
type whole struct {
	size int
	noun string
}

func (w whole) String() string { return units.Count(w.size, w.noun) }

// degrees lists what every degree has to divide, on any framework.
func degrees(j *job.Job) []degree {
	c, m := &j.Constraints.Layout, &j.Model
	gpus := whole{j.Cluster.GPUs(), "GPU"}
	list := []degree{
		{"tensor_parallel", c.TensorParallel, []whole{{m.AttentionHeads, "attention head"}, gpus}},
		{"context_parallel", c.ContextParallel, []whole{{m.SequenceLength, "token"}, gpus}},
		{"pipeline_parallel", c.PipelineParallel, []whole{gpus}},
		{"data_parallel_replicate", c.DataParallelReplicate, []whole{gpus}},
		{"data_parallel_shard", c.DataParallelShard, []whole{gpus}},
	}
	if m.MoE != nil {
		list = append(list, degree{"expert_parallel", c.ExpertParallel, []whole{{m.MoE.Experts, "expert"}, gpus}})
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
		diags.Error(IDDegreeIndivisible, j.Sources.Range("constraints.layout."+d.name), "A degree of the layout does not divide what it cuts",
			fmt.Sprintf("%s = %s cannot cut %s into equal parts. %s", d.name, show(d.choice), d.uncut(), d.nearest(least(d.choice))))
	}
	return diags
}

// uncut is the first thing that no allowed degree divides.
func (d *degree) uncut() whole {
	for _, w := range d.cuts {
		if !slices.ContainsFunc(divisors(w.size), d.choice.Allows) {
			return w
		}
	}
	return d.cuts[len(d.cuts)-1] // every allowed degree fails another one
}

// fitting lists the allowed degrees that divide everything that they cut.
func (d *degree) fitting(allowed func(int) bool) []int {
	return slices.DeleteFunc(divisors(d.cuts[0].size), func(n int) bool {
		return !allowed(n) || slices.ContainsFunc(d.cuts, func(w whole) bool { return w.size%n != 0 })
	})
}

// nearest says which degrees around a number divide.
func (d *degree) nearest(to int) string {
	what := d.cuts[0].String()
	for _, w := range d.cuts[1:] {
		what += " and " + w.String()
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

// divisors lists the divisors of n, ascending.
func divisors(n int) []int {
	var list []int
	for i := 1; i <= n; i++ {
		if n%i == 0 {
			list = append(list, i)
		}
	}
	return list
}

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
		if d.name != name || !d.choice.Pinned() {
			continue
		}
		now := least(d.choice)
		list := d.fitting(func(n int) bool { return n != now })
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(ratio(a, now), ratio(b, now)) })
		var tries []func(*job.Job)
		for _, n := range list[:min(mostNearby, len(list))] {
			tries = append(tries, func(j *job.Job) { *pinOf(&j.Constraints.Layout, name) = job.IntChoice{Values: []int{n}} })
		}
		return tries
	}
	return nil
}

// ratio is how many times the larger of two numbers is the smaller.
func ratio(a, b int) float64 { return float64(max(a, b)) / float64(min(a, b)) }

// pinOf is the choice of one of degrees' names.
func pinOf(c *job.LayoutConstraints, name string) *job.IntChoice {
	switch name {
	case "tensor_parallel":
		return &c.TensorParallel
	case "context_parallel":
		return &c.ContextParallel
	case "pipeline_parallel":
		return &c.PipelineParallel
	case "data_parallel_replicate":
		return &c.DataParallelReplicate
	case "data_parallel_shard":
		return &c.DataParallelShard
	}
	return &c.ExpertParallel
}
