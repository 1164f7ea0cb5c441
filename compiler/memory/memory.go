// Package memory predicts what one rank of each pipeline stage holds at its
// peak, as a ledger of named lines that sum exactly to what the framework's
// allocator counts as allocated; then what the allocator reserves for that, and
// what nvidia-smi would show. It also says what the host of a node needs.
//
// It replays the passes of a rank in the order of package schedule: what each of
// them allocates and frees, the peak of the sum, and what exists then. What is
// sharded, gathered and reduced when is the target's runtime (package runtime);
// what a layer is made of, and saves for its backward pass, comes from package
// program. It decides nothing: package search compares layouts, package estimate
// puts memory and time together. Every formula stands with its source in
// docs/memory.md.
package memory

import (
	"math"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// Peak is the busiest rank of a layout: the answer of the hot path.
type Peak struct {
	Stage, Rank int         // pipeline stage, and the lowest global rank on it
	Allocated   units.Bytes // what the allocator counts as allocated
	Reserved    units.Bytes // what it holds
	Device      units.Bytes // what nvidia-smi shows
	Low, High   units.Bytes // 90 % range of Device
	Phases      uncertainty.Phases
	Uncertain   uncertainty.Memory
	Needed      units.Bytes // what has to be usable for the job's limits on running out
	Slows       float64     // the probability that steps slow because little is left
	Slower      float64     // by what share a step takes longer for that, in expectation
	// State is the largest sum of parameters, gradients and optimizer state on
	// any rank: what no micro-batch and no recompute can go below.
	State units.Bytes
	// Host is what a node needs beside its GPUs.
	Host units.Bytes

	unpublished float64 // by what share graphs of modules, of which nobody published any, may take more
}

// Model predicts memory for one job on one target. It caches terms per axis,
// so it must not be used from several goroutines at once; make one per worker.
type Model struct {
	job          *job.Job
	target       *target.Target
	arch         *program.Program
	runtime      *runtime.Runtime // the target's
	precision    precision
	element      int64 // bytes of the compute type
	whole        int64 // bytes of all parameters in it
	cache        map[shape]*terms
	pipeline     *pipeline // of the layout being evaluated
	pipelines    pipelines
	chunks       []chunk // of the rank being evaluated
	overhead     overhead
	margin       float64 // of a layout without experts
	bound        uncertainty.Bound
	router       uncertainty.Routing // of a mixture
	expertLayers int
	skewed       *Model // with busier experts; made when needed
	balanced     bool   // experts are taken as they are
}

// New prepares a prediction.
func New(j *job.Job, t *target.Target) *Model {
	m := &Model{
		job: j, target: t, arch: program.New(&j.Model), runtime: &t.Runtime,
		precision: precisionOf(&j.Training, &t.Runtime.LowPrecision), element: j.Training.ElementBytes(),
		cache: map[shape]*terms{}, pipelines: pipelines{known: map[string]*pipeline{}}, overhead: overheadOf(&t.Runtime.Calibration, j.Cluster.Calibration),
	}
	m.whole = m.element * (m.arch.ParametersTotal() + m.arch.ParametersMTP())
	m.uncertain()
	return m
}

// Peak evaluates a layout in the hot path of the search, without allocating
// once its terms are cached. It equals the maximum over [Model.Memory]'s
// stages; of equal stages the first is named.
func (m *Model) Peak(l *plan.Layout, x *plan.Execution) Peak {
	return m.PeakUpTo(l, x, math.MaxInt64)
}

// PeakUpTo is Peak for who asks no more of a layout that needs more than some
// bytes: it stops at the first rank and instant that do, so that Needed is more
// than that too, and everything else is of what was seen.
func (m *Model) PeakUpTo(l *plan.Layout, x *plan.Execution, most units.Bytes) Peak {
	e := m.evaluate(l, x)
	e.enough = m.allocatable(&e, most)
	var stage int
	var worst stageMemory
	var state int64
	var phases phases
	var host hostMemory
	stopped := false
	for i := 0; ; i++ {
		r := m.judged(i)
		if r == nil {
			break
		}
		var s stageMemory
		m.stage(&e, r, &s)
		state = max(state, s.state)
		phases.cover(m, &e, &s)
		host.cover(&s.host)
		if s.device > worst.device {
			stage, worst = r.number, s
		}
		if stopped = max(s.passes, s.update) > e.enough; stopped {
			break
		}
	}
	out := m.peak(&e, stage, &worst)
	out.State, out.Host = units.Bytes(state), m.hostBytes(l, &host)
	m.judge(&e, &phases, &out, !stopped)
	return out
}

// Memory evaluates a layout in full: every stage with its ledger, the peak and
// the host. What of the GPU is usable is package search's to say.
func (m *Model) Memory(l *plan.Layout, x *plan.Execution) plan.Memory {
	e := m.evaluate(l, x)
	out := plan.Memory{}
	var worst Peak
	var phases phases
	var host hostMemory
	for r := range l.PipelineParallel {
		s := stageMemory{ledger: &ledger{}}
		rank := m.rank(r)
		m.stage(&e, &rank, &s)
		phases.cover(m, &e, &s)
		p := m.peak(&e, r, &s)
		if p.Device > worst.Device {
			worst = p
		}
		host.cover(&s.host)
		out.Stages = append(out.Stages, plan.StageMemory{
			Stage: r, Layers: m.chunkLayers(l, r),
			AllocatedBytes: p.Allocated, ReservedBytes: p.Reserved, DeviceBytes: p.Device,
			Ledger: s.ledger.print(),
		})
	}
	out.Peak = plan.Peak{Rank: worst.Rank, Stage: worst.Stage, AllocatedBytes: worst.Allocated, ReservedBytes: worst.Reserved,
		DeviceBytes: worst.Device, DeviceRangeBytes: [2]units.Bytes{worst.Low, worst.High}}
	out.Host = m.host(l, &host)
	m.judge(&e, &phases, &worst, true)
	out.NeededBytes, out.OOM = worst.Needed, worst.Uncertain.Exhausted(worst.Phases, float64(m.job.UsableMemory()))
	out.ExpertRows = m.expertRows(&e)
	if worst.Slows > 0 {
		out.NearLimit = &plan.NearLimit{Probability: worst.Slows, Times: 1 + worst.Slower}
	}
	return out
}

// chunkLayers is the number of decoder layers of each chunk on a rank.
func (m *Model) chunkLayers(l *plan.Layout, rank int) []int {
	out := make([]int, l.VirtualPipeline)
	for i := range out {
		c := m.pipeline.chunk(rank, i)
		out[i] = m.pipeline.starts[c+1] - m.pipeline.starts[c]
	}
	return out
}
