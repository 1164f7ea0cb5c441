package compiler

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/search"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// reasons explains an infeasible plan. With legal layouts, the first reason is
// what the nearest one fails, with numbers; then follow the rules that took
// the most layouts.
func reasons(j *job.Job, t *target.Target, p *plan.Plan, o *search.Outcome) []plan.Reason {
	list := []plan.Reason{}
	if len(o.Nearest) > 0 {
		list = append(list, missReason(j, p, &o.Nearest[0]))
	} else if o.Counts.Rejected[search.IDLeavesNVLink] > 0 {
		if r := nvlinkReason(j, t); r != nil {
			list = append(list, *r)
		}
	}
	for _, r := range p.Search.Rejected {
		if len(o.Nearest) > 0 && r.ID == string(o.Nearest[0].Broken()) {
			continue
		}
		list = append(list, plan.Reason{ID: r.ID, Summary: units.Count(r.Count, "layout") + ": " + r.Reason})
	}
	return list
}

// missReason says by how much the nearest layout fails its constraint.
func missReason(j *job.Job, p *plan.Plan, c *search.Candidate) plan.Reason {
	r := plan.Reason{ID: string(c.Broken()), Stage: p.Memory.Peak.Stage, Rank: p.Memory.Peak.Rank}
	switch c.Broken() {
	case search.IDMemory:
		memoryReason(j, p, &r)
	case search.IDHostMemory:
		r.Needed, r.Available = float64(p.Memory.Host.BytesPerNode), float64(j.Cluster.HostMemory)
		r.Summary = fmt.Sprintf("every node needs %s beside its GPUs of %s host_memory: %s", gib(p.Memory.Host.BytesPerNode), gib(j.Cluster.HostMemory), largest(p.Memory.Host.Ledger, p.Memory.Host.BytesPerNode))
	case search.IDTrainingTime:
		r.Needed, r.Available = float64(p.Run.Seconds), float64(j.Constraints.MaxTrainingTime.Value)
		r.Summary = fmt.Sprintf("%s of %.3g s take %s, max_training_time allows %s", units.Count(p.Run.Steps, "step"), float64(p.Time.StepSeconds), p.Run.Seconds.Clock(), j.Constraints.MaxTrainingTime.Value.Clock())
	case search.IDMFU:
		r.Needed, r.Available = j.Constraints.MinMFU.Value, float64(p.Throughput.MFU)
		r.Summary = fmt.Sprintf("the fastest layout reaches an MFU of %.1f %%, min_mfu asks for %.1f %%", 100*r.Available, 100*r.Needed)
	case search.IDExposed:
		r.Needed, r.Available = float64(p.Time.ExposedCommunicationShare), float64(j.Constraints.MaxExposedCommunication.Value)
		r.Summary = fmt.Sprintf("%.1f %% of the step is exposed communication, max_exposed_communication allows %.1f %%; most of it: %s",
			100*r.Needed, 100*r.Available, worstCommunication(p))
	}
	return r
}

// memoryReason spells the busiest stage as its largest ledger lines.
func memoryReason(j *job.Job, p *plan.Plan, r *plan.Reason) {
	needed, what := decisive(j, &p.Memory)
	r.Needed, r.Available = float64(needed), float64(p.Memory.UsableBytes)
	r.Summary = fmt.Sprintf("stage %d needs %s%s of %s usable on rank %d: %s", r.Stage, gib(needed), what, gib(p.Memory.UsableBytes), r.Rank, largestLines(p, r.Stage))
}

// decisive is the memory that a plan holds against the limit, and a word on it:
// with a headroom the prediction itself, otherwise the upper end of its range.
func decisive(j *job.Job, m *plan.Memory) (units.Bytes, string) {
	if j.Constraints.MemoryHeadroom.Set {
		return m.Peak.DeviceBytes, ""
	}
	return m.Peak.DeviceRangeBytes[1], " (the upper end of its range)"
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
		parts = append(parts, fmt.Sprintf("%.1f %s", float64(l.Bytes)/float64(units.GiB), l.Name))
		sum -= l.Bytes
	}
	if sum > 0 {
		parts = append(parts, fmt.Sprintf("%.1f other", float64(sum)/float64(units.GiB)))
	}
	return strings.Join(parts, ", ")
}

func gib(b units.Bytes) string { return fmt.Sprintf("%.1f GiB", float64(b)/float64(units.GiB)) }

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
	return fmt.Sprintf("%s over %s, %s a step on %s", c.Collective, c.Group, gib(c.Bytes), c.Link)
}

// change is a modification of a job that may make it fit.
type change struct {
	describe func(p *search.Candidate) string
	apply    func(j *job.Job)
	nearest  []func(j *job.Job) // smaller changes to the same end, tried first
}

// fixes tries single changes from small to large and returns those with which
// the same search finds a feasible layout. Which are worth a search depends on
// what binds.
func fixes(j *job.Job, t *target.Target, o *search.Outcome) []plan.Fix {
	list := []plan.Fix{}
	for _, c := range changes(j, o) {
		for _, apply := range append(c.nearest, c.apply) {
			changed := *j
			apply(&changed)
			if b := fits(&changed, t); b != nil {
				list = append(list, fix(c.describe(b)+alongside(&changed, b), b))
				break
			}
		}
	}
	if binds(o) != search.IDExposed {
		list = append(append(list, fewerNodes(j, t)...), moreNodes(j, t)...)
	}
	return list
}

// fits searches the best layout of a changed job, nil if there is none.
func fits(j *job.Job, t *target.Target) *search.Candidate {
	if Check(j, t).HasErrors() {
		return nil
	}
	if o := search.Run(j, t); len(o.Best) > 0 {
		return &o.Best[0]
	}
	return nil
}

func fix(change string, b *search.Candidate) plan.Fix {
	return plan.Fix{Change: change, StepSeconds: b.Result.StepSeconds, PeakDeviceBytes: b.Result.PeakDeviceBytes}
}

// alongside names what the search offloads beside a change, because no layout
// fits without.
func alongside(j *job.Job, c *search.Candidate) string {
	var also []string
	for _, o := range []struct {
		name         string
		used, wanted bool
	}{
		{"optimizer", c.Execution.OffloadOptimizer, j.Execution.OffloadOptimizer.Value},
		{"parameters", c.Execution.OffloadParameters, j.Execution.OffloadParameters.Value},
		{"activations", c.Execution.OffloadActivations, j.Execution.OffloadActivations.Value},
	} {
		if o.used && !o.wanted {
			also = append(also, "execution.offload."+o.name)
		}
	}
	if also == nil {
		return ""
	}
	return " with " + strings.Join(also, " and ")
}

// binds names the constraint that the nearest layout fails, "" if none is legal.
func binds(o *search.Outcome) diag.ID {
	if len(o.Nearest) == 0 {
		return ""
	}
	return o.Nearest[0].Broken()
}

// changes lists what may be changed: each narrowed axis of the layout set
// free, then execution options, then the headroom, then all of the layout.
func changes(j *job.Job, o *search.Outcome) []change {
	if id := binds(o); id != "" && id != search.IDMemory && id != search.IDHostMemory {
		return append(relaxations(o), freeLayout(j)...)
	}
	var list []change
	for _, a := range narrowed(j) {
		list = append(list, change{
			describe: func(c *search.Candidate) string {
				return fmt.Sprintf("constraints.layout.%s = %s", a.name, a.value(&c.Layout))
			},
			apply:   func(j *job.Job) { a.free(&j.Constraints.Layout) },
			nearest: nearby(j, o, a.name),
		})
	}
	list = slices.Concat(list, batchChange(j), executionChanges(j), hostChange(j))
	list = append(list, segmentChange(j, o)...)
	if len(j.Constraints.NVLinkOnly) > 0 {
		list = append(list, change{describe: fixed("constraints.nvlink_only = []"), apply: func(j *job.Job) { j.Constraints.NVLinkOnly = nil }})
	}
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
		describe: func(c *search.Candidate) string { return "constraints.layout left free: " + summary(&c.Layout) },
		apply:    func(j *job.Job) { j.Constraints.Layout = job.LayoutConstraints{} },
	}}
}

// relaxations names the limit that would admit the nearest layout, when
// another one than memory binds.
func relaxations(o *search.Outcome) []change {
	if len(o.Nearest) == 0 {
		return nil
	}
	r := &o.Nearest[0].Result
	switch binds(o) {
	case search.IDExposed:
		share := math.Ceil(float64(r.ExposedCommunicationSeconds/r.StepSeconds)*1000) / 1000
		return []change{{describe: fixed(fmt.Sprintf("constraints.max_exposed_communication = \"%.1f%%\"", 100*share)),
			apply: func(j *job.Job) { j.Constraints.MaxExposedCommunication = job.Some(units.Share(share)) }}}
	case search.IDTrainingTime:
		return []change{{describe: func(c *search.Candidate) string { return "constraints.max_training_time raised to what this takes" },
			apply: func(j *job.Job) { j.Constraints.MaxTrainingTime = job.Optional[units.Seconds]{} }}}
	case search.IDMFU:
		return []change{{describe: func(c *search.Candidate) string { return "constraints.min_mfu lowered to what this reaches" },
			apply: func(j *job.Job) { j.Constraints.MinMFU = job.Optional[float64]{} }}}
	}
	return nil
}

// batchChange rounds the global batch to the nearest multiple of the GPUs, by
// which every data-parallel size can divide it; where that is far, and the nodes
// do not divide the batch, to one that they do.
func batchChange(j *job.Job) []change {
	gpus, now := j.Cluster.GPUs(), j.Training.GlobalBatchSize
	near := max(1, (now+gpus/2)/gpus) * gpus
	if !divides(j, j.Cluster.Nodes) {
		near = cmp.Or(roundBatch(j), near)
	}
	if near == now {
		return nil
	}
	return []change{{
		describe: fixed(fmt.Sprintf("training.global_batch_size = %d (now %d)", near, now)),
		apply:    func(j *job.Job) { j.Training.GlobalBatchSize = near },
	}}
}

func fixed(text string) func(*search.Candidate) string {
	return func(*search.Candidate) string { return text }
}

// executionChanges lists the options that trade speed or digits for memory;
// those that need a link to the host where one is described.
func executionChanges(j *job.Job) []change {
	list := []change{
		{describe: fixed(`execution.optimizer_state_dtype = "bf16"`), apply: func(j *job.Job) { j.Execution.OptimizerStateDType = job.Some("bf16") }},
		{describe: fixed(`execution.gradient_dtype = "bf16"`), apply: func(j *job.Job) { j.Execution.GradientDType = job.Some("bf16") }},
	}
	if j.Cluster.PCIe.Bandwidth == 0 {
		return list
	}
	return slices.Concat(
		[]change{{describe: fixed("execution.offload.optimizer = true"), apply: func(j *job.Job) { j.Execution.OffloadOptimizer = job.Some(true) }}}, list,
		[]change{{describe: fixed("execution.offload.activations = true"), apply: func(j *job.Job) { j.Execution.OffloadActivations = job.Some(true) }}})
}

// mostHostMemory is how many times a node's memory may be raised to find a fit.
const mostHostMemory = 4

// hostChange gives the nodes as much memory as offloading takes.
func hostChange(j *job.Job) []change {
	now := j.Cluster.HostMemory
	if now == 0 {
		return nil
	}
	return []change{{
		describe: func(c *search.Candidate) string {
			return fmt.Sprintf("cluster.host_memory = \"%.0fGiB\" (now %s)", math.Ceil(float64(c.Result.HostBytes)/float64(units.GiB)), gib(now))
		},
		apply: func(j *job.Job) { j.Cluster.HostMemory = mostHostMemory * now },
	}}
}

// freed is a narrowed axis of constraints.layout.
type freed struct {
	name  string
	value func(l *plan.Layout) string
	free  func(c *job.LayoutConstraints)
}

func number(get func(l *plan.Layout) int) func(*plan.Layout) string {
	return func(l *plan.Layout) string { return fmt.Sprint(get(l)) }
}

// narrowed lists the axes that the user constrained, cheapest change first.
func narrowed(j *job.Job) []freed {
	c := &j.Constraints.Layout
	var list []freed
	add := func(narrow bool, f freed) {
		if narrow {
			list = append(list, f)
		}
	}
	add(c.Recompute != nil, freed{"recompute", func(l *plan.Layout) string { return fmt.Sprintf("%q", l.Recompute) },
		func(c *job.LayoutConstraints) {
			c.Recompute, c.RecomputeModules, c.RecomputeMethod, c.RecomputeLayers = nil, nil, nil, job.IntChoice{}
		}})
	add(!c.MicroBatchSize.Free(), freed{"micro_batch_size", number(func(l *plan.Layout) int { return l.MicroBatchSize }),
		func(c *job.LayoutConstraints) { c.MicroBatchSize, c.MicroBatches = job.IntChoice{}, job.IntChoice{} }})
	add(!c.ZeroStage.Free(), freed{"zero_stage", number(func(l *plan.Layout) int { return l.ZeroStage }),
		func(c *job.LayoutConstraints) { c.ZeroStage = job.IntChoice{} }})
	add(!c.DataParallelShard.Free() || !c.DataParallelReplicate.Free(), freed{"data_parallel_shard", number(func(l *plan.Layout) int { return l.DataParallelShard }),
		func(c *job.LayoutConstraints) {
			c.DataParallelShard, c.DataParallelReplicate = job.IntChoice{}, job.IntChoice{}
		}})
	add(!c.ExpertParallel.Free(), freed{"expert_parallel", number(func(l *plan.Layout) int { return l.ExpertParallel }),
		func(c *job.LayoutConstraints) { c.ExpertParallel = job.IntChoice{} }})
	add(!c.TensorParallel.Free(), freed{"tensor_parallel", number(func(l *plan.Layout) int { return l.TensorParallel }),
		func(c *job.LayoutConstraints) { c.TensorParallel = job.IntChoice{} }})
	add(!c.PipelineParallel.Free(), freed{"pipeline_parallel", number(func(l *plan.Layout) int { return l.PipelineParallel }),
		func(c *job.LayoutConstraints) {
			c.PipelineParallel, c.VirtualPipeline, c.StageLayers = job.IntChoice{}, job.IntChoice{}, nil
		}})
	add(!c.ContextParallel.Free(), freed{"context_parallel", number(func(l *plan.Layout) int { return l.ContextParallel }),
		func(c *job.LayoutConstraints) { c.ContextParallel = job.IntChoice{} }})
	return list
}

// summary names the main degrees of a layout.
func summary(l *plan.Layout) string {
	return fmt.Sprintf("tensor_parallel %d, context_parallel %d, pipeline_parallel %d, data_parallel %d x %d, zero_stage %d, micro_batch_size %d, recompute %s",
		l.TensorParallel, l.ContextParallel, l.PipelineParallel, l.DataParallelReplicate, l.DataParallelShard, l.ZeroStage, l.MicroBatchSize, l.Recompute)
}
