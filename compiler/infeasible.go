package compiler

import (
	"cmp"
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

// reasons explains an infeasible plan. With legal layouts, the first reasons are
// what the nearest one fails, with numbers; then follow the rules that took
// the most layouts.
func reasons(ctx context.Context, j *job.Job, t *target.Target, p *plan.Plan, o *search.Outcome) []plan.Reason {
	list := []plan.Reason{}
	if len(o.Nearest) > 0 {
		list = append(list, missReason(j, p, o.Nearest[0].Broken()))
		list = append(list, furtherMisses(j, p, o.Nearest[0].Broken())...)
	} else if o.Counts.Rejected[search.IDLeavesNVLink] > 0 {
		if r := nvlinkReason(ctx, j, t); r != nil {
			list = append(list, *r)
		}
	}
	for _, r := range p.Search.Rejected {
		if slices.ContainsFunc(list, func(said plan.Reason) bool { return said.ID == r.ID }) {
			continue // with numbers
		}
		list = append(list, plan.Reason{ID: r.ID, Summary: units.Count(r.Count, "layout") + ": " + r.Reason})
	}
	return list
}

// timeReason says how long the run takes, with its failures where they are known.
func timeReason(j *job.Job, p *plan.Plan, r *plan.Reason) {
	most, longest := j.Constraints.MaxTrainingTime.Value, goodput.Longest(j, p.Time.StepSeconds)
	r.Needed, r.Available = float64(longest), float64(most)
	r.Summary = fmt.Sprintf("%s take %s", stepsOf(j, p), p.Run.Seconds.Clock())
	switch {
	case math.IsInf(float64(longest), 1):
		r.Needed = float64(p.Run.Seconds)
		r.Summary += " without failures, with which the run does not end"
	case longest.Clock() != p.Run.Seconds.Clock(): // without failures they differ by what rounding takes
		r.Summary += fmt.Sprintf(", with failures up to %s (%.0f %% of runs)", longest.Clock(), 100*goodput.Likely)
	}
	r.Summary += fmt.Sprintf(", max_training_time allows %s", most.Clock())
}

// furtherMisses says which limits on time, cost and communication a layout fails beside the one that
// it misses by the most. Another layout may keep one of them, so that advice tells other numbers.
func furtherMisses(j *job.Job, p *plan.Plan, most diag.ID) (list []plan.Reason) {
	c := &j.Constraints
	for _, l := range [...]struct {
		id  diag.ID
		set bool
	}{
		{search.IDTrainingTime, c.MaxTrainingTime.Set}, {search.IDGPUHours, c.MaxGPUHours.Set},
		{search.IDCost, c.MaxCost.Set}, {search.IDMFU, c.MinMFU.Set}, {search.IDExposed, c.MaxExposedCommunication.Set},
	} {
		if !l.set || l.id == most || most == search.IDMemory || most == search.IDHostMemory {
			continue
		}
		if r := missReason(j, p, l.id); r.Needed > r.Available {
			list = append(list, r)
		}
	}
	return list
}

// missReason says by how much the nearest layout fails a constraint.
func missReason(j *job.Job, p *plan.Plan, broken diag.ID) plan.Reason {
	r := plan.Reason{ID: string(broken), Stage: p.Memory.Peak.Stage, Rank: p.Memory.Peak.Rank}
	switch broken {
	case search.IDMemory:
		memoryReason(p, &r)
	case search.IDHostMemory:
		r.Needed, r.Available = float64(p.Memory.Host.BytesPerNode), float64(j.Cluster.HostMemory)
		r.Summary = fmt.Sprintf("every node needs %s beside its GPUs of %s host_memory: %s", p.Memory.Host.BytesPerNode.HumanGiB(), j.Cluster.HostMemory.HumanGiB(), largest(p.Memory.Host.Ledger, p.Memory.Host.BytesPerNode))
	case search.IDTrainingTime:
		timeReason(j, p, &r)
	case search.IDGPUHours:
		r.Needed, r.Available = p.Run.GPUHours, j.Constraints.MaxGPUHours.Value
		r.Summary = fmt.Sprintf("%s take %s GPU-hours on %s, max_gpu_hours allows %s", stepsOf(j, p), units.Significant(r.Needed, 4), units.Count(p.Input.GPUs+p.Input.SpareNodes*j.Cluster.GPUsPerNode, "GPU"), units.Significant(r.Available, 4))
	case search.IDCost:
		r.Needed, r.Available = p.Run.Cost, j.Constraints.MaxCost.Value
		r.Summary = fmt.Sprintf("%s GPU-hours at %g cost %s, max_cost allows %s", units.Significant(p.Run.GPUHours, 4), j.Cluster.PricePerGPUHour, units.Significant(r.Needed, 4), units.Significant(r.Available, 4))
	case search.IDMFU:
		r.Needed, r.Available = j.Constraints.MinMFU.Value, float64(p.Throughput.MFU)
		r.Summary = fmt.Sprintf("the nearest layout reaches an MFU of %.1f %%, min_mfu asks for %.1f %%", 100*r.Available, 100*r.Needed)
	case search.IDExposed:
		r.Needed, r.Available = float64(p.Time.ExposedCommunicationShare), float64(j.Constraints.MaxExposedCommunication.Value)
		r.Summary = fmt.Sprintf("%s %% of the step is exposed communication, max_exposed_communication allows %s %%; most of it: %s",
			units.Significant(100*r.Needed, 3), units.Significant(100*r.Available, 3), worstCommunication(p))
	}
	return r
}

// memoryReason spells the busiest stage as its largest ledger lines.
func memoryReason(p *plan.Plan, r *plan.Reason) {
	needed := p.Memory.NeededBytes
	r.Needed, r.Available = float64(needed), float64(p.Memory.UsableBytes)
	r.Summary = fmt.Sprintf("stage %d needs %s (%s with the margin for its error) of %s usable on rank %d: %s", r.Stage, p.Memory.Peak.DeviceBytes.HumanGiB(), needed.HumanGiB(), p.Memory.UsableBytes.HumanGiB(), r.Rank, largestLines(p, r.Stage))
}

// largestLines names what a stage holds most of.
func largestLines(p *plan.Plan, stage int) string {
	for i := range p.Memory.Stages {
		s := &p.Memory.Stages[i]
		if s.Stage != stage {
			continue
		}
		return largest(s.Ledger, s.DeviceBytes)
	}
	return "no ledger"
}

// largest names the four largest lines of a ledger and the rest of a sum, if
// any.
func largest(ledger []plan.LedgerLine, sum units.Bytes) string {
	lines := slices.Clone(ledger)
	slices.SortStableFunc(lines, func(a, b plan.LedgerLine) int { return cmp.Compare(b.Bytes, a.Bytes) })
	var parts []string
	for _, l := range lines[:min(4, len(lines))] {
		parts = append(parts, fmt.Sprintf("%.1f %s", l.Bytes.GiB(), l.Name))
		sum -= l.Bytes
	}
	if sum > 0 {
		parts = append(parts, fmt.Sprintf("%.1f other", sum.GiB()))
	}
	return strings.Join(parts, ", ")
}

// worstCommunication names the collective that is exposed longest.
func worstCommunication(p *plan.Plan) string {
	if len(p.Communication) == 0 {
		return "none"
	}
	c := slices.MaxFunc(p.Communication, func(a, b plan.Communication) int {
		switch {
		case a.ExposedSeconds < b.ExposedSeconds:
			return -1
		case a.ExposedSeconds > b.ExposedSeconds:
			return 1
		}
		return 0
	})
	return fmt.Sprintf("%s over %s, %s a step on %s", c.Collective, c.Group, c.Bytes.HumanGiB(), c.Link)
}

// change is a modification of a job that may make it fit.
type change struct {
	option   string // of execution that it frees
	describe func(changed *job.Job, best *search.Candidate) string
	apply    func(j *job.Job)
	nearest  []func(j *job.Job) // smaller changes to the same end, tried first
	timed    bool               // it moves a limit on the step, which that of the shortest one keeps first
	exposed  bool               // it moves that on exposed communication
	// A change that can be made in parts is apply when all of them are made. What fits with
	// some of them fits with more.
	parts int
	part  func(j *job.Job, n int)
}

// least is as few parts of a change as suffice, with the best layout of the job that is changed
// by them, nil if all of them do not. The shortest step is asked for as in fits.
func (c *change) least(ctx context.Context, t *target.Target, shortest bool, with func(apply func(j *job.Job)) *job.Job) (apply func(j *job.Job), best *search.Candidate) {
	apply, best = c.apply, fits(ctx, with(c.apply), t, shortest)
	if best == nil {
		return apply, nil
	}
	for low, high := 0, c.parts; low+1 < high; {
		middle := (low + high) / 2
		some := func(j *job.Job) { c.part(j, middle) }
		if b := fits(ctx, with(some), t, shortest); b != nil {
			apply, best, high = some, b, middle
		} else {
			low = middle
		}
	}
	return apply, best
}

// fixes tries single changes from small to large and returns those with which
// the same search finds a feasible layout. Which are worth a search depends on
// what binds. Where none of them suffices, it looks for several that do together.
func fixes(ctx context.Context, j *job.Job, t *target.Target, o *search.Outcome) []plan.Fix {
	list := []plan.Fix{}
	tell := func(f plan.Fix) {
		if !slices.ContainsFunc(list, func(told plan.Fix) bool { return told.Change == f.Change }) {
			list = append(list, f) // the fastest layout may be the one that exposes the least
		}
	}
	with := func(apply func(j *job.Job)) *job.Job {
		changed := *j
		apply(&changed)
		return &changed
	}
	if c := o.Exposed; c != nil {
		tell(answer{job: with(exposing(c)), target: t, best: c}.fix(ctx, func(*search.Candidate) string { return exposedChange(j, c) }))
	}
	all := changes(j, o)
	for i := range all {
		c := &all[i]
		apply, b := c.apply, (*search.Candidate)(nil)
		for i := 0; i < len(c.nearest) && b == nil; i++ {
			apply = c.nearest[i]
			b = fits(ctx, with(apply), t, c.timed)
		}
		if b == nil {
			apply, b = c.least(ctx, t, c.timed, with)
		}
		if b == nil {
			continue
		}
		changed := with(apply)
		describe := func(b *search.Candidate) string { return c.describe(changed, b) }
		if c.exposed && j.Constraints.Objective == "memory" { // the least of what the limit leaves may be another one
			text := exposedChange(j, b)
			changed, describe = with(exposing(b)), func(*search.Candidate) string { return text }
			if least := fits(ctx, changed, t, false); least != nil {
				b = least
			}
		}
		tell(answer{changed, t, b, c.timed}.fix(ctx, describe))
	}
	switch binds(o) {
	case search.IDExposed:
	case search.IDGPUHours, search.IDCost:
		list = append(list, halfNodes(ctx, j, t)...)
	default:
		list = append(append(list, fewerNodes(ctx, j, t)...), moreNodes(ctx, j, t, o)...)
	}
	if len(list) == 0 {
		list = append(list, together(ctx, j, t)...)
	}
	return list
}

// fits searches the best layout of a changed job, nil if there is none. That of the shortest
// step is asked for where a limit on it has to be told: the rule of choice may prefer one that
// takes a little longer.
func fits(ctx context.Context, j *job.Job, t *target.Target, shortest bool) *search.Candidate {
	return chosen(outcome(ctx, j, t), shortest)
}

// chosen is the best layout of what was found, or the shortest; nil if there is none.
func chosen(o *search.Outcome, shortest bool) *search.Candidate {
	if o == nil || len(o.Best) == 0 {
		return nil
	}
	if shortest {
		return o.Shortest
	}
	return &o.Best[0]
}

// outcome is what a search of a changed job finds, nil where the target refuses that.
func outcome(ctx context.Context, j *job.Job, t *target.Target) *search.Outcome {
	able, diags := t.Again(j)
	if diags.HasErrors() || Check(j, able).HasErrors() {
		return nil
	}
	o, err := search.Seek(ctx, j, predicted(j, able))
	if err != nil {
		return nil
	}
	return o
}

// answer is a changed job that some layout fits.
type answer struct {
	job      *job.Job
	target   *target.Target // of the job before the change
	best     *search.Candidate
	shortest bool // best is the layout of the shortest step, as fits is asked for it
}

// fix tells of the change with the best layout of the changed job, and names what the search
// offloads beside it, because no layout fits without, but for options that the change tells of.
// Who asks for that may get another layout than the search found: one that needs no offload, but
// exposes too much communication without.
func (a answer) fix(ctx context.Context, describe func(best *search.Candidate) string, told ...string) plan.Fix {
	var with []string
	for {
		also := offloads(a.job, a.best, told)
		if also == nil {
			break
		}
		a.job, with = offloading(a.job, also), append(with, also...)
		if b := fits(ctx, a.job, a.target, a.shortest); b != nil {
			a.best = b
		}
	}
	text := describe(a.best)
	if with != nil {
		text += " with execution." + strings.Join(with, " and execution.")
	}
	return plan.Fix{Change: text, StepSeconds: a.best.Result.StepSeconds, PeakDeviceBytes: a.best.Result.PeakDeviceBytes}
}

// offloads lists what a layout offloads that its job does not ask for, but for some options.
func offloads(j *job.Job, c *search.Candidate, told []string) (names []string) {
	for i := range option.Options {
		o := &option.Options[i]
		if used, is := o.Value(&c.Execution).(*bool); is && *used && o.IsOffload() && !slices.Contains(told, o.Name) && !j.Constraints.MayBe(o.Name, "true") && !o.Choice(&j.Execution).(*job.Optional[bool]).Value {
			names = append(names, o.Name)
		}
	}
	return names
}

// offloading is a job that asks for some offload.
func offloading(j *job.Job, names []string) *job.Job {
	asks := *j
	asks.Sources = maps.Clone(j.Sources)
	for _, name := range names {
		*option.FindOption(name).Choice(&asks.Execution).(*job.Optional[bool]) = job.Some(true)
		asks.Sources["execution."+name] = job.Source{Origin: job.FromSpec}
	}
	return &asks
}

// binds names the constraint that the nearest layout fails, "" if none is legal.
func binds(o *search.Outcome) diag.ID {
	if len(o.Nearest) == 0 {
		return ""
	}
	return o.Nearest[0].Broken()
}

// changes lists what may be changed: each narrowed axis of the layout set
// free, then execution options, then what is kept free of memory, then all of the layout.
func changes(j *job.Job, o *search.Outcome) []change {
	if id := binds(o); id != "" && id != search.IDMemory && id != search.IDHostMemory {
		list := append(limitChanges(j, id), freeLayout(j)...)
		if offloads(j, &o.Nearest[0], nil) != nil { // for want of memory
			list = append(list, roomChanges(j)...)
		}
		return list
	}
	var list []change
	axes := narrowed(j)
	if len(o.Nearest) == 0 { // what is illegal may be so by any of them
		axes = constrained(j)
	}
	for _, a := range axes {
		c := freed(j, a)
		c.nearest = nearby(j, o, a.Name)
		list = append(list, c)
	}
	list = slices.Concat(list, batchChange(j), executionChanges(j), hostChange(j, o))
	list = append(list, segmentChange(j, o)...)
	list = append(list, anywhere(j)...)
	list = append(list, roomChanges(j)...)
	if len(narrowed(j)) > 1 {
		list = append(list, freeLayout(j)...)
	}
	return list
}

// freeLayout leaves every axis to the search.
func freeLayout(j *job.Job) []change {
	if len(narrowed(j)) == 0 {
		return nil
	}
	return []change{{
		describe: func(_ *job.Job, c *search.Candidate) string {
			return "constraints.layout left free: " + summary(&c.Layout)
		},
		apply: func(j *job.Job) { j.Constraints.Layout = job.LayoutConstraints{} },
	}}
}

// batchChange rounds the global batch to the nearest multiple of the GPUs, by
// which every data-parallel size can divide it; where that is far, and the nodes
// do not divide the batch, first to one that they do: not far from the job's, or
// the nearest.
func batchChange(j *job.Job) []change {
	gpus, now := j.Cluster.GPUs(), j.Training.GlobalBatchSize
	to := func(sequences int) func(j *job.Job) { return func(j *job.Job) { j.SetBatch(sequences) } }
	whole := max(1, (now+gpus/2)/gpus) * gpus
	if whole == now {
		return nil
	}
	c := change{
		describe: func(_ *job.Job, c *search.Candidate) string {
			l := &c.Layout
			return fmt.Sprintf("training.global_batch_size = %d (now %d)", l.MicroBatchSize*l.MicroBatches*l.DataParallelReplicate*l.DataParallelShard, now)
		},
		apply: to(whole),
	}
	if !divides(j, j.Cluster.Nodes) {
		unit := odd(gpus)
		near := []int{roundBatch(j), max(1, (now+unit/2)/unit) * unit}
		for _, sequences := range slices.Compact(near) {
			if sequences > 0 && sequences != now && sequences != whole {
				c.nearest = append(c.nearest, to(sequences))
			}
		}
	}
	return []change{c}
}

func fixed(text string) func(*job.Job, *search.Candidate) string {
	return func(*job.Job, *search.Candidate) string { return text }
}

// executionChanges lists the options that trade speed or digits for memory;
// those that need a link to the host where one is described.
func executionChanges(j *job.Job) []change {
	var list []change
	for _, o := range byRelief(option.Options, func(o *option.Option) int { return o.Relief }) {
		if !j.Constraints.MayBe(o.Name, o.Saves) && (!o.IsOffload() || j.Cluster.PCIe.Bandwidth > 0) {
			list = append(list, change{describe: fixed(o.Save(&job.Execution{})), apply: func(j *job.Job) {
				unlist(j, o)
				o.Save(&j.Execution)
			}})
		}
	}
	return list
}

// unlist takes away the list of values that the job leaves an option.
func unlist(j *job.Job, o *option.Option) {
	j.Constraints.Execution = maps.Clone(j.Constraints.Execution)
	delete(j.Constraints.Execution, o.Name)
}

// byRelief lists the rows that are tried when nothing fits, cheapest first.
func byRelief[R any](rows []R, relief func(*R) int) []*R {
	var list []*R
	for i := range rows {
		if relief(&rows[i]) > 0 {
			list = append(list, &rows[i])
		}
	}
	slices.SortStableFunc(list, func(a, b *R) int { return cmp.Compare(relief(a), relief(b)) })
	return list
}

// mostHostMemory is how many times a node's memory may be raised to find a fit.
const mostHostMemory = 4

// hostChange gives the nodes as much memory as offloading takes: what the layout that needs
// the least takes, and more where that one fails a limit besides.
func hostChange(j *job.Job, o *search.Outcome) []change {
	now := j.Cluster.HostMemory
	if o.HostBytes == 0 || o.HostBytes > mostHostMemory*now {
		return nil
	}
	to := func(memory units.Bytes) func(j *job.Job) { return func(j *job.Job) { j.Cluster.HostMemory = memory } }
	return []change{{
		describe: func(_ *job.Job, c *search.Candidate) string {
			return fmt.Sprintf("cluster.host_memory = \"%.0fGiB\" (now %s)", math.Ceil(c.Result.HostBytes.GiB()), now.HumanGiB())
		},
		nearest: []func(j *job.Job){to((o.HostBytes + units.GiB - 1) / units.GiB * units.GiB)},
		apply:   to(mostHostMemory * now),
		parts:   int((mostHostMemory-1)*now/units.GiB) + 1,
		part:    func(j *job.Job, n int) { j.Cluster.HostMemory = now + units.Bytes(n)*units.GiB },
	}}
}

// narrowed lists the axes that the user constrained, cheapest change first.
func narrowed(j *job.Job) []*option.Axis {
	c := &j.Constraints.Layout
	return slices.DeleteFunc(byRelief(option.Axes, func(a *option.Axis) int { return a.Relief }), func(a *option.Axis) bool {
		return a.IsFree(c) && !slices.ContainsFunc(option.Axes, func(with option.Axis) bool {
			return with.FreedWith == a.Name && with.FreesAlone && !with.IsFree(c)
		})
	})
}

// constrained lists all axes that the user constrained, first those whose change relieves memory.
func constrained(j *job.Job) []*option.Axis {
	list := narrowed(j)
	for i := range option.Axes {
		if a := &option.Axes[i]; a.Relief == 0 && !a.IsFree(&j.Constraints.Layout) {
			list = append(list, a)
		}
	}
	return list
}

// free leaves an axis to the search, with those that mean nothing without it.
func free(a *option.Axis, c *job.LayoutConstraints) {
	a.Free(c)
	for i := range option.Axes {
		if with := &option.Axes[i]; with.FreedWith == a.Name {
			with.Free(c)
		}
	}
}

// summary names the main degrees of a layout.
func summary(l *plan.Layout) string {
	return fmt.Sprintf("tensor_parallel %d, context_parallel %d, pipeline_parallel %d, data_parallel %d x %d, zero_stage %d, micro_batch_size %d, recompute %s",
		l.TensorParallel, l.ContextParallel, l.PipelineParallel, l.DataParallelReplicate, l.DataParallelShard, l.ZeroStage, l.MicroBatchSize, l.Recompute)
}

// stepsOf is the steps of a run and how long each takes, at most where the batch grows.
func stepsOf(j *job.Job, p *plan.Plan) string {
	most := ""
	if j.Training.BatchRamp != nil {
		most = "at most "
	}
	return fmt.Sprintf("%s of %s%s s", units.Count(p.Run.Steps, "step"), most, units.Significant(float64(p.Time.StepSeconds), 3))
}
