package compiler

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
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
	add := func(id diag.ID, set bool, describe func(c *search.Candidate) string, apply func(c *job.Constraints)) {
		if set && (only == "" || only == id) {
			list = append(list, change{describe: describe, apply: func(j *job.Job) { apply(&j.Constraints) }})
		}
	}
	raised := func(name string, now float64, takes func(r *plan.Run) float64) func(c *search.Candidate) string {
		return func(c *search.Candidate) string {
			step := c.Result.StepSeconds
			run := goodput.Run(j, step, step, [2]units.Seconds{step, step})
			return fmt.Sprintf("constraints.%s = %s (now %s)", name, atLeast(takes(&run)), units.Significant(now, 4))
		}
	}
	add(search.IDExposed, c.MaxExposedCommunication.Set, func(c *search.Candidate) string {
		share := math.Ceil(float64(c.Result.ExposedCommunicationSeconds/c.Result.StepSeconds)*1000) / 1000
		return fmt.Sprintf("constraints.max_exposed_communication = \"%.1f%%\" (now %s)", 100*share, j.Constraints.MaxExposedCommunication.Value)
	}, func(c *job.Constraints) { c.MaxExposedCommunication = job.Some(units.Share(1)) }) // a limit, so that it is counted
	add(search.IDTrainingTime, c.MaxTrainingTime.Set, func(c *search.Candidate) string {
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
	add(search.IDMFU, c.MinMFU.Set, func(c *search.Candidate) string {
		return fmt.Sprintf("constraints.min_mfu = %.3f (now %s)", math.Floor(1000*search.MFU(j, c.Result.StepSeconds))/1000, units.Significant(j.Constraints.MinMFU.Value, 4))
	}, func(c *job.Constraints) { c.MinMFU = job.Optional[float64]{} })
	return list
}

// atLeast writes a number in four digits that is not below it.
func atLeast(n float64) string {
	unit := math.Pow(10, math.Floor(math.Log10(n))-3)
	return units.Significant(math.Ceil(n/unit)*unit, 4)
}

// roomChanges gives up what the job keeps free of the GPU's memory, beyond what every job does:
// of the headroom one hundredth of that memory, or two, four, …, or all.
func roomChanges(j *job.Job) []change {
	var list []change
	if now := j.Constraints.MemoryHeadroom; now.Value > 0 {
		to := func(headroom units.Share) func(j *job.Job) {
			return func(j *job.Job) { j.Constraints.MemoryHeadroom = job.Some(headroom) }
		}
		c := change{
			describe: func(c *search.Candidate) string {
				left := math.Floor(1000*(1-float64(c.Result.NeededBytes)/float64(j.Cluster.GPU.Memory))) / 1000
				return fmt.Sprintf("constraints.memory_headroom = \"%s%%\" (now %s)", units.Significant(100*max(0, left), 3), now.Value)
			},
			apply: to(0),
		}
		for less := units.Share(0.01); less < now.Value; less *= 2 {
			c.nearest = append(c.nearest, to(now.Value-less))
		}
		list = append(list, c)
	}
	start, run := job.OOMProbability{}.Limits()
	if s, r := j.Constraints.MaxOOMProbability.Limits(); s < start || r < run {
		list = append(list, change{
			describe: fixed(fmt.Sprintf("constraints.max_oom_probability { start = %g, run = %g } (now %g and %g)", max(s, start), max(r, run), s, r)),
			apply: func(j *job.Job) {
				j.Constraints.MaxOOMProbability = job.OOMProbability{Start: job.Some(max(s, start)), Run: job.Some(max(r, run))}
			},
		})
	}
	return list
}

// together looks for several changes of which none alone suffices and none is idle: all that the
// job asks for is given up, on more nodes where these do not suffice, with another batch where
// no nodes do, and taken back piece by piece as far as something still fits, the dearest first.
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
	best := fits(ctx, with(all), t)
	if best == nil {
		if nodes, best = enoughNodes(ctx, with(all), t); best != nil {
			all = allChanges(withNodes(j, nodes), t)
		} else {
			nodes = j.Cluster.Nodes
			batch := batchChange(j)
			all = append(allChanges(with(batch), t), batch...)
			if best = fits(ctx, with(all), t); best == nil {
				return nil
			}
		}
	}
	for i := len(all) - 1; i >= 0 && (len(all) > 1 || nodes != j.Cluster.Nodes); i-- { // the job as it is does not fit
		fewer := slices.Delete(slices.Clone(all), i, i+1)
		if b := fits(ctx, with(fewer), t); b != nil {
			all, best = fewer, b
		}
	}
	var texts, told []string
	for i := range all {
		texts, told = append(texts, all[i].describe(best)), append(told, all[i].option)
	}
	if nodes != j.Cluster.Nodes {
		texts = append(texts, nodesChange(j, nodes))
	}
	return []plan.Fix{fix(strings.Join(texts, " and ")+alongside(with(all), best, told...), best)}
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
		if o.Numerics || !o.IsSet(&j.Execution) {
			continue
		}
		list = append(list, change{
			option:   o.Name,
			describe: func(c *search.Candidate) string { return "execution." + o.Name + " = " + o.Spelled(&c.Execution) },
			apply: func(j *job.Job) {
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
		describe: func(c *search.Candidate) string {
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
