// Package compiler turns a job and a target into a plan: it searches the
// layouts that the target can run (package search), describes the best one
// (package estimate) and, when none is feasible, says why and what would be.
// It is pure: no files, no clock, no text for terminals.
package compiler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/goodput"
	"github.com/ndc-dev/ndc/compiler/learning"
	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/search"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// Compile plans a job on a target. Diagnostics are about the input: a pinned
// value that the target does not have, a batch that no layout divides; the
// plan is nil then. That nothing fits is not an error but a plan with
// Feasible false, its reasons, the nearest layouts and verified fixes. The only
// error is that of a context which ends first.
func Compile(ctx context.Context, j *job.Job, t *target.Target) (*plan.Plan, diag.List, error) {
	if diags := Check(j, t); diags.HasErrors() {
		return nil, diags, nil
	}
	t = predicted(j, t)
	found, err := search.Run(ctx, j, t)
	if err != nil {
		return nil, nil, err
	}
	if diags := checkFound(j, t, found); diags.HasErrors() {
		return nil, diags, nil
	}
	p := decide(ctx, j, t, found)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	return p, nil, nil
}

// Unplanned is the plan of a job for a backend that cannot run it whatever the
// layout: without one, and with the errors that say why as its reasons.
func Unplanned(j *job.Job, why diag.List) *plan.Plan {
	p := blank(j)
	p.Backend, p.BackendVersion = j.Backend.Kind, j.Backend.Version
	p.Search.Rejected = []plan.Rejection{}
	p.Infeasible = &plan.Infeasible{Nearest: []plan.Nearest{}, Fixes: []plan.Fix{}}
	for _, d := range why {
		if d.Severity == diag.Error {
			p.Infeasible.Reasons = append(p.Infeasible.Reasons, plan.Reason{ID: string(d.ID), Summary: d.Summary + ": " + d.Detail})
		}
	}
	return p
}

// decide makes a plan of what a search has found. Further searches of a context
// that ends find nothing.
func decide(ctx context.Context, j *job.Job, t *target.Target, found *search.Outcome) *plan.Plan {
	p := blank(j)
	p.Backend, p.BackendVersion, p.Search = t.Backend, t.Version, counts(t, found)
	if len(found.Best) > 0 {
		p.Feasible = true
		describe(p, j, t, &found.Best[0], distinct(j, found))
		p.Time.FastestSeconds = found.Fastest
		p.Selection = selection(p, &found.Choice)
		p.Alternatives = alternatives(found.Best[1:])
		p.Warnings = append(p.Warnings, awkward(ctx, j, t, &found.Best[0])...)
		return p
	}
	p.Infeasible = &plan.Infeasible{Nearest: nearest(j, found.Nearest), Fixes: fixes(ctx, j, t, found)}
	if len(found.Nearest) > 0 {
		describe(p, j, t, &found.Nearest[0], 1)
	} else if found.Illegal != nil {
		p.Layout, p.Execution = found.Illegal.Layout, found.Illegal.Execution
	}
	p.Infeasible.Reasons = reasons(ctx, j, t, p, found)
	roundAll(p.Infeasible)
	return p
}

// Check reports what about a job on a target is wrong whatever a search would
// find: values of the layout that the target does not have.
func Check(j *job.Job, t *target.Target) diag.List {
	diags := checkPins(j, t)
	if diags.HasErrors() {
		return diags
	}
	return append(diags, checkDegrees(j)...)
}

// blank is a plan of which only the job is known. Its lists are empty, not
// nil, so that readers of its JSON form never meet null.
func blank(j *job.Job) *plan.Plan {
	return &plan.Plan{
		Input: input(j),
		Mesh:  plan.Mesh{Order: []plan.Axis{}, Groups: []plan.Group{}, Benchmarks: []plan.Benchmark{}},
		Memory: plan.Memory{
			GPUBytes: j.Cluster.GPU.Memory, UsableBytes: j.UsableMemory(),
			Stages: []plan.StageMemory{}, Host: plan.HostMemory{Ledger: []plan.LedgerLine{}, Phases: []plan.HostPhase{}},
		},
		Time:          plan.Time{Breakdown: []plan.TimeLine{}, ChosenAmong: 1},
		Communication: []plan.Communication{}, Alternatives: []plan.Alternative{}, Policies: []plan.Policy{}, Overridden: []plan.Override{}, Warnings: []plan.Warning{}, Artifacts: []plan.Artifact{},
	}
}

// predicted is the target without offload where nothing says how fast the link
// to the host is.
func predicted(j *job.Job, t *target.Target) *target.Target {
	known := *t
	if j.Cluster.PCIe.Bandwidth == 0 {
		known.Variants = slices.DeleteFunc(slices.Clone(t.Variants), func(v target.Variant) bool { return slices.ContainsFunc(v.Options, option.IsOffload) })
	}
	return &known
}

// describe fills in everything that follows from a layout, which was chosen as the
// fastest among some, itself included.
func describe(p *plan.Plan, j *job.Job, t *target.Target, c *search.Candidate, among int) {
	p.Layout, p.Execution = c.Layout, c.Execution
	d := estimate.New(j, t).Describe(&c.Layout, &c.Execution)
	p.Memory, p.Time, p.Communication, p.Throughput, p.Mesh = d.Memory, d.Time, d.Communication, d.Throughput, d.Mesh
	p.Memory.GPUBytes, p.Memory.UsableBytes = j.Cluster.GPU.Memory, j.UsableMemory()
	p.Warnings = append(p.Warnings, d.Warnings...)
	guard(j, p, c)
	roundTimes(p)
	expect(&p.Time, among)
	p.Run = goodput.Run(j, p.Time.StepSeconds, p.Time.ExpectedSeconds, p.Time.StepRangeSeconds)
	if c := p.Run.Checkpoints; c != nil {
		c.Bytes, c.Kept = d.CheckpointBytes, goodput.Kept(j, c, t.Runtime.Checkpoints.KeepsEvery)
	}
	p.Calibration = calibrated(j, t, c, p.Likeness())
	p.Learned = learning.Axes(j, &t.Runtime)
	roundAll(p)
}

// expect says what a step is expected to take on its cluster whose layout is the fastest
// of several, and shifts its range: such a prediction is more likely one that errs in favour.
func expect(t *plan.Time, among int) {
	longer := units.Ratio(math.Exp(uncertainty.Selection(among)))
	elsewhere := units.Ratio(1 + t.UnmeasuredShare)
	t.ChosenAmong, t.ExpectedSeconds = among, units.Rounded(longer.Of(elsewhere.Of(t.StepSeconds)))
	for i, end := range t.StepRangeSeconds {
		t.StepRangeSeconds[i] = units.Rounded(longer.Of(units.Rounded(end)))
	}
}

// distinct counts the layouts that the first of a ranking was chosen among as the
// fastest, of those that are alike one; 1 where time is not what was looked for. Those
// that take longer than a limit of the job are among them: a limit on the time makes no
// prediction better.
func distinct(j *job.Job, found *search.Outcome) int {
	if j.Constraints.Objective == "memory" {
		return 1
	}
	ranked := slices.Concat(found.Best, found.Over)
	ranked = ranked[:min(len(ranked), search.Kept+1)]
	var list []plan.Choice
	for i := range ranked {
		c := plan.Choice{Layout: ranked[i].Layout, Execution: ranked[i].Execution}
		if !slices.ContainsFunc(list, func(has plan.Choice) bool { return alike(&has, &c) }) {
			list = append(list, c)
		}
	}
	return len(list)
}

func input(j *job.Job) plan.Input {
	a := program.New(&j.Model)
	return plan.Input{
		SHA256: Digest(j), Files: []plan.InputFile{}, Model: j.Model.Name,
		ParametersTotal: a.ParametersTotal(), ParametersActive: a.ParametersActive(),
		SequenceLength: j.Model.SequenceLength, GlobalBatchSize: j.Training.GlobalBatchSize,
		Precision: j.Training.Precision, GPU: j.Cluster.GPU.Name, Nodes: j.Cluster.Nodes, GPUs: j.Cluster.GPUs(), SpareNodes: j.AllocatedNodes() - j.Cluster.Nodes,
	}
}

// Digest is a hash of the resolved job without its source positions, so that
// moving a line or a comment changes nothing.
func Digest(j *job.Job) string {
	bare := *j
	bare.Sources = nil
	b, err := json.Marshal(bare)
	if err != nil {
		panic("compiler: a job that JSON cannot hold: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func counts(t *target.Target, o *search.Outcome) plan.Search {
	s := plan.Search{Enumerated: o.Counts.Enumerated, Evaluated: o.Counts.Evaluated, Pruned: o.Counts.Pruned, Rejected: []plan.Rejection{}}
	for id, n := range o.Counts.Rejected {
		s.Rejected = append(s.Rejected, plan.Rejection{ID: string(id), Reason: reason(t, id), Count: n})
	}
	slices.SortFunc(s.Rejected, func(a, b plan.Rejection) int {
		if a.Count != b.Count {
			return int(min(1, max(-1, b.Count-a.Count)))
		}
		return strings.Compare(a.ID, b.ID)
	})
	return s
}

// reason is the sentence behind a rejection: the target's for its rules.
func reason(t *target.Target, id diag.ID) string {
	if r, ok := search.Reasons[id]; ok {
		return r
	}
	for i := range t.Rules {
		if t.Rules[i].ID == id {
			return t.Rules[i].Reason
		}
	}
	panic("compiler: rejection without a reason: " + string(id))
}

// likely is the probability of the ranges of a choice.
const likely = 0.9

// differenceRange is the likely range of a ratio of two times, as the share by which one is longer.
func differenceRange(ratio uncertainty.Normal) [2]float64 {
	r := ratio.Range(likely)
	return [2]float64{units.RoundedTo(r[0]-1, 1), units.RoundedTo(r[1]-1, 1)}
}

// selection tells how the plan was chosen.
func selection(p *plan.Plan, c *search.Choice) *plan.Selection {
	s := &plan.Selection{Rule: c.Rule, Among: []plan.Contender{}}
	for i := range c.Among {
		other := &c.Among[i]
		s.Among = append(s.Among, plan.Contender{Layout: other.Layout, Execution: other.Execution,
			StepDifferenceRange: differenceRange(other.Difference), WhyNot: other.WhyNot})
	}
	if c.Loss.Spread > 0 { // of the GPU-hours p, those of the fastest are p over their ratio
		r := c.Loss.Range(likely)
		for i := range r {
			s.GPUHoursRange[i] = units.Rounded(p.Run.GPUHours * (1 - 1/r[i]))
		}
	}
	return s
}

func alternatives(best []search.Candidate) []plan.Alternative {
	list := []plan.Alternative{}
	for i := range best {
		c := &best[i]
		list = append(list, plan.Alternative{Layout: c.Layout, Execution: c.Execution, StepSeconds: c.Result.StepSeconds, PeakDeviceBytes: c.Result.PeakDeviceBytes})
	}
	return list
}

func nearest(j *job.Job, misses []search.Candidate) []plan.Nearest {
	list := []plan.Nearest{}
	for i := range misses {
		c := &misses[i]
		n := plan.Nearest{Layout: c.Layout, StepSeconds: c.Result.StepSeconds, PeakDeviceBytes: c.Result.PeakDeviceBytes}
		n.MissingBytes, n.MissingHostBytes = c.Missing(j)
		for _, name := range offloads(j, c, nil) {
			n.With = append(n.With, "execution."+name)
		}
		list = append(list, n)
	}
	return list
}
