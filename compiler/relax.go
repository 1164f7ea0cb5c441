package compiler

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/compiler/goodput"
	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/search"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// limitChanges moves the limits on communication, time and cost that the job sets, or
// one of them, to what the best layout without them reaches.
func limitChanges(j *job.Job, only diag.ID) []change {
	c := &j.Constraints
	var list []change
	add := func(id diag.ID, set bool, describe func(changed *job.Job, best *search.Candidate) string, apply func(c *job.Constraints)) {
		if set && (only == "" || only == id) {
			list = append(list, change{describe: describe, apply: func(j *job.Job) { apply(&j.Constraints) }, timed: id != search.IDExposed, exposed: id == search.IDExposed})
		}
	}
	raised := func(name string, now float64, takes func(r *plan.Run) float64) func(_ *job.Job, c *search.Candidate) string {
		return func(_ *job.Job, c *search.Candidate) string {
			step := c.Result.StepSeconds
			run := goodput.Run(j, step, step, [2]units.Seconds{step, step})
			return fmt.Sprintf("constraints.%s = %s (now %s)", name, atLeast(takes(&run)), units.Significant(now, 4))
		}
	}
	add(search.IDExposed, c.MaxExposedCommunication.Set, func(_ *job.Job, c *search.Candidate) string { return exposedChange(j, c) },
		func(c *job.Constraints) { c.MaxExposedCommunication = job.Some(units.Share(1)) }) // a limit, so that it is counted
	add(search.IDTrainingTime, c.MaxTrainingTime.Set, func(_ *job.Job, c *search.Candidate) string {
		longest, now := goodput.Longest(j, c.Result.StepSeconds), j.Constraints.MaxTrainingTime.Value.Clock()
		if math.IsInf(float64(longest), 1) {
			return "constraints.max_training_time left out: failures keep the run from ever ending for sure"
		}
		return fmt.Sprintf("constraints.max_training_time = %q (now %s)", longest.Clock(), now)
	}, func(c *job.Constraints) { c.MaxTrainingTime = job.Optional[units.Seconds]{} })
	add(search.IDGPUHours, c.MaxGPUHours.Set, raised("max_gpu_hours", c.MaxGPUHours.Value, func(r *plan.Run) float64 { return r.GPUHours }),
		func(c *job.Constraints) { c.MaxGPUHours = job.Optional[float64]{} })
	add(search.IDCost, c.MaxCost.Set, raised("max_cost", c.MaxCost.Value, func(r *plan.Run) float64 { return r.Cost }),
		func(c *job.Constraints) { c.MaxCost = job.Optional[float64]{} })
	add(search.IDMFU, c.MinMFU.Set, func(_ *job.Job, c *search.Candidate) string {
		return fmt.Sprintf("constraints.min_mfu = %s (now %s)", atMost(search.MFU(j, c.Result.StepSeconds)), units.Significant(j.Constraints.MinMFU.Value, 4))
	}, func(c *job.Constraints) { c.MinMFU = job.Optional[float64]{} })
	return list
}

// exposedChange admits the share of exposed communication that a layout has.
func exposedChange(j *job.Job, c *search.Candidate) string {
	return fmt.Sprintf("constraints.max_exposed_communication = \"%s%%\" (now %s)", atLeast(100*exposedShare(c)), j.Constraints.MaxExposedCommunication.Value)
}

// exposing admits as much exposed communication as a layout has.
func exposing(c *search.Candidate) func(j *job.Job) {
	return func(j *job.Job) { j.Constraints.MaxExposedCommunication = job.Some(units.Share(exposedShare(c))) }
}

// exposedShare is the share of exposed communication of a layout, as a search compares it.
func exposedShare(c *search.Candidate) float64 {
	return float64(c.Result.ExposedCommunicationSeconds / c.Result.StepSeconds)
}

// atLeast writes a number in four digits that is not below it.
func atLeast(n float64) string {
	unit := math.Pow(10, math.Floor(math.Log10(n))-3)
	return units.Significant(math.Ceil(n/unit)*unit, 4)
}

// atMost writes a share in three decimals, or as many as three digits take, that is not above it.
func atMost(share float64) string {
	decimals := max(3, 2-int(math.Floor(math.Log10(share))))
	unit := math.Pow10(decimals)
	return strconv.FormatFloat(math.Floor(share*unit)/unit, 'f', decimals, 64)
}

// probabilityParts is into how many parts the way to the usual limits on running out of memory
// is cut, by equal factors.
const probabilityParts = 16

// leastProbability stands for none where a way from it has to be cut.
const leastProbability = 1e-12

// roomChanges gives up what the job keeps free of the GPU's memory, beyond what every job does:
// of the headroom as few thousandths of that memory as suffice.
func roomChanges(j *job.Job) []change {
	var list []change
	if now := j.Constraints.MemoryHeadroom; now.Value > 0 {
		thousandths := int(math.Ceil(1000 * float64(now.Value)))
		list = append(list, change{
			describe: func(_ *job.Job, c *search.Candidate) string {
				left := math.Floor(1000*(1-float64(c.Result.NeededBytes)/float64(j.Cluster.GPU.Memory))) / 1000
				return fmt.Sprintf("constraints.memory_headroom = \"%s%%\" (now %s)", units.Significant(100*max(0, left), 3), now.Value)
			},
			apply: func(j *job.Job) { j.Constraints.MemoryHeadroom = job.Some(units.Share(0)) },
			parts: thousandths,
			part: func(j *job.Job, n int) {
				j.Constraints.MemoryHeadroom = job.Some(units.Share(float64(thousandths-n) / 1000))
			},
		})
	}
	start, run := job.OOMProbability{}.Limits()
	if s, r := j.Constraints.MaxOOMProbability.Limits(); s < start || r < run {
		part := func(j *job.Job, n int) {
			j.Constraints.MaxOOMProbability = job.OOMProbability{Start: job.Some(towards(s, start, n)), Run: job.Some(towards(r, run, n))}
		}
		list = append(list, change{
			describe: func(changed *job.Job, _ *search.Candidate) string {
				mayStart, mayRun := changed.Constraints.MaxOOMProbability.Limits()
				return fmt.Sprintf("constraints.max_oom_probability { start = %g, run = %g } (now %g and %g)", mayStart, mayRun, s, r)
			},
			apply: func(j *job.Job) { part(j, probabilityParts) },
			parts: probabilityParts, part: part,
		})
	}
	return list
}

// towards is a probability after some parts of the way to another one, where that is larger.
func towards(now, to float64, parts int) float64 {
	if now >= to || parts == 0 {
		return now
	}
	now = max(now, leastProbability)
	at := now * math.Pow(to/now, float64(parts)/probabilityParts)
	digits := math.Pow(10, math.Floor(math.Log10(at))-1)
	return min(to, units.RoundedTo(math.Ceil(at/digits)*digits, 1))
}

// together looks for several changes of which none alone suffices and none is idle: all that the
// job asks for is given up, with more memory of a node where that is short, on more nodes where
// these do not suffice, with another batch where no nodes do, and taken back piece by piece as far
// as something still fits, the dearest first.
func together(ctx context.Context, j *job.Job, t *target.Target) []plan.Fix {
	nodes, all := j.Cluster.Nodes, allChanges(j, t)
	with := func(list []change) *job.Job {
		changed := withNodes(j, nodes)
		for i := range list {
			list[i].apply(changed)
		}
		return changed
	}
	if len(all) == 0 {
		return nil
	}
	timed := slices.ContainsFunc(all, func(c change) bool { return c.timed })
	found := outcome(ctx, with(all), t)
	best := chosen(found, timed)
	if best == nil && found != nil {
		if more := slices.Concat(all, hostChange(j, found)); len(more) > len(all) {
			if best = fits(ctx, with(more), t, timed); best != nil {
				all = more
			}
		}
	}
	if best == nil {
		if nodes, best = enoughNodes(ctx, with(all), t, nil); best != nil {
			all = allChanges(withNodes(j, nodes), t)
		} else {
			nodes = j.Cluster.Nodes
			batch := batchChange(j)
			all = append(allChanges(with(batch), t), batch...)
			if best = fits(ctx, with(all), t, timed); best == nil {
				return nil
			}
		}
	}
	for i := len(all) - 1; i >= 0 && (len(all) > 1 || nodes != j.Cluster.Nodes); i-- { // the job as it is does not fit
		fewer := slices.Delete(slices.Clone(all), i, i+1)
		if b := fits(ctx, with(fewer), t, timed); b != nil {
			all, best = fewer, b
		}
	}
	if timed && !slices.ContainsFunc(all, func(c change) bool { return c.timed }) { // no limit on the step is left to tell
		timed = false
		best = fits(ctx, with(all), t, false)
	}
	for i := range all {
		one, others := all[i], slices.Delete(slices.Clone(all), i, i+1)
		switch {
		case one.parts > 0:
			all[i].apply, best = one.least(ctx, t, timed, func(apply func(j *job.Job)) *job.Job { return with(append(others, change{apply: apply})) })
		case one.exposed && !timed:
			if o := outcome(ctx, with(others), t); o != nil && o.Exposed != nil {
				best = o.Exposed
				all[i].apply = exposing(best)
			}
		}
	}
	changed := with(all)
	var told []string
	for i := range all {
		told = append(told, all[i].option)
	}
	return []plan.Fix{answer{changed, t, best, timed}.fix(ctx, func(best *search.Candidate) string {
		var texts []string
		for i := range all {
			texts = append(texts, all[i].describe(changed, best))
		}
		if nodes != j.Cluster.Nodes {
			texts = append(texts, nodesChange(j, nodes))
		}
		return strings.Join(texts, " and ")
	}, told...)}
}

// allChanges gives up everything that the job asks for, piece by piece, the cheapest first.
func allChanges(j *job.Job, t *target.Target) []change {
	pins := slices.DeleteFunc(pinChanges(j), func(c change) bool {
		changed := *j
		c.apply(&changed)
		return Check(&changed, t).HasErrors()
	})
	return slices.Concat(pins, roomChanges(j), limitChanges(j, ""))
}

// pinChanges frees everything that the job says of the layout, of the options of execution and of where
// the layout lies, each by itself, the cheapest first. What rounds otherwise is not touched.
func pinChanges(j *job.Job) []change {
	var list []change
	for _, a := range constrained(j) {
		list = append(list, freed(j, a))
	}
	for i := range option.Options {
		o := &option.Options[i]
		if o.Numerics || !o.IsSet(&j.Execution) && j.Constraints.Execution[o.Name] == nil {
			continue
		}
		list = append(list, change{
			option: o.Name,
			describe: func(_ *job.Job, c *search.Candidate) string {
				return "execution." + o.Name + " = " + o.Spelled(&c.Execution)
			},
			apply: func(j *job.Job) {
				unlist(j, o)
				o.Free(&j.Execution)
				j.Sources = maps.Clone(j.Sources)
				delete(j.Sources, "execution."+o.Name)
			},
		})
	}
	return append(list, anywhere(j)...)
}

// freed leaves an axis of the layout to the search, with those that mean nothing without
// it, and tells of those that the job does not allow to be what they become.
func freed(j *job.Job, a *option.Axis) change {
	return change{
		describe: func(_ *job.Job, c *search.Candidate) string {
			var texts []string
			for i := range option.Axes {
				with, now := &option.Axes[i], j.Constraints.Layout
				if (with.Name == a.Name || with.FreedWith == a.Name) && !with.Pin(&now, &c.Layout) {
					texts = append(texts, fmt.Sprintf("constraints.layout.%s = %s", with.Name, with.Text(&c.Layout)))
				}
			}
			if texts == nil {
				texts = []string{fmt.Sprintf("constraints.layout.%s = %s", a.Name, a.Text(&c.Layout))}
			}
			return strings.Join(texts, " and ")
		},
		apply: func(j *job.Job) { free(a, &j.Constraints.Layout) },
	}
}

// anywhere lets every axis leave the fast links.
func anywhere(j *job.Job) []change {
	if len(j.Constraints.NVLinkOnly) == 0 {
		return nil
	}
	return []change{{describe: fixed("constraints.nvlink_only = []"), apply: func(j *job.Job) { j.Constraints.NVLinkOnly = nil }}}
}
