// Package estimate predicts one training step: from a job, a target, a layout
// and the resolved execution options it makes the step time with a breakdown,
// the memory peak, the exposed communication and the throughput.
//
// It composes its siblings and holds what none of them can know: which kernels
// and collectives a step runs and what overlaps with what, per engine and
// option. Package transformer counts shapes, compute times kernels, collective
// times communication, schedule runs the pipeline, memory counts bytes.
// Choosing among layouts is package search's. Every formula, with its source,
// is in docs/time.md; the parameters are in data/*.json.
package estimate

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// Evaluator evaluates layouts of one job on one target. It remembers terms
// that layouts share, so it is not safe for concurrent use: every worker of
// the search makes its own with New.
type Evaluator struct {
	job    *job.Job
	target *target.Target
}

// Result is the evaluation of one layout, flat for the hot loop.
type Result struct {
	StepSeconds units.Seconds

	// PeakDeviceBytes is what nvidia-smi would show on the busiest rank;
	// PeakDeviceUpperBytes the upper end of its 90 % range. PeakStage is its
	// pipeline rank, PeakRank its global rank.
	PeakDeviceBytes      units.Bytes
	PeakDeviceUpperBytes units.Bytes
	PeakStage            int
	PeakRank             int

	// ExposedCommunicationSeconds is communication on the critical path,
	// BubbleSeconds the idle time of the busiest pipeline rank; both are parts
	// of StepSeconds.
	ExposedCommunicationSeconds units.Seconds
	BubbleSeconds               units.Seconds
}

// Description is everything that a plan says about one layout.
type Description struct {
	Memory        plan.Memory
	Time          plan.Time
	Communication []plan.Communication
	Throughput    plan.Throughput
	Mesh          plan.Mesh

	// OffNVLink lists the axes whose group has more than one rank and leaves an
	// NVLink domain (a node, on a cluster without NVLink), in the order of Mesh.
	OffNVLink []plan.Axis

	Warnings []plan.Warning
}

// New prepares a job on a target. Both must be complete and are kept.
func New(j *job.Job, t *target.Target) *Evaluator {
	return &Evaluator{job: j, target: t}
}

// Evaluate predicts one legal layout into out, without allocating once the
// terms it shares with earlier layouts are known.
func (e *Evaluator) Evaluate(l *plan.Layout, x *plan.Execution, out *Result) {
	*out = Result{}
}

// Describe predicts one legal layout in full.
func (e *Evaluator) Describe(l *plan.Layout, x *plan.Execution) Description {
	return Description{}
}
