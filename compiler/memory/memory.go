// Package memory predicts what one rank of each pipeline stage holds at its
// peak, as a ledger of named lines that sum exactly to what torch's allocator
// counts as allocated; then what the allocator reserves for that, and what
// nvidia-smi would show. It also says what the host of a node needs.
//
// It follows the state policy of the target's engine (Megatron, FSDP2,
// DeepSpeed), the tensors that each layer saves for its backward pass, and the
// in-flight counts of package schedule. What a layer is made of comes from
// package transformer. It decides nothing: package search compares layouts,
// package estimate puts memory and time together.
package memory

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// Peak is the busiest rank of a layout: the answer of the hot path.
type Peak struct {
	Stage, Rank int         // pipeline stage, and the lowest global rank on it
	Allocated   units.Bytes // what torch's allocator counts as allocated
	Reserved    units.Bytes // what it holds
	Device      units.Bytes // what nvidia-smi shows
	Low, High   units.Bytes // 90 % range of Device
}

// Model predicts memory for one job on one target. It caches terms per axis,
// so it must not be used from several goroutines at once; make one per worker.
type Model struct {
	job    *job.Job
	target *target.Target
}

// New prepares a prediction.
func New(j *job.Job, t *target.Target) *Model { return &Model{job: j, target: t} }

// Peak evaluates a layout in the hot path of the search, without allocating
// once its terms are cached. It equals the maximum over [Model.Memory]'s
// stages.
func (m *Model) Peak(l *plan.Layout, x *plan.Execution) Peak { return Peak{} }

// Memory evaluates a layout in full: every stage with its ledger, the peak and
// the host. GPUBytes is the job's GPU; UsableBytes applies the headroom.
func (m *Model) Memory(l *plan.Layout, x *plan.Execution) plan.Memory { return plan.Memory{} }
