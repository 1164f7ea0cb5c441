package memory

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/units"
)

// hostMemory is what one rank needs of its node, in bytes.
type hostMemory struct {
	state       int64 // offloaded parameters, gradients and optimizer state
	activations int64 // offloaded activations
	checkpoint  int64 // staged copy of what an asynchronous save writes
}

// cover raises h to hold either of the two, line by line: a node may host the
// worst stage of each.
func (h *hostMemory) cover(o *hostMemory) {
	h.state = max(h.state, o.state)
	h.activations = max(h.activations, o.activations)
	h.checkpoint = max(h.checkpoint, o.checkpoint)
}

// staging is the host copy that an asynchronous checkpoint writes from:
// everything that is particular to this rank. Parameters that every
// data-parallel rank holds in full are written by one of them in turn.
func (m *Model) staging(e *evaluation, s *state) int64 {
	c := &m.job.Training.Checkpoint
	if !c.Async || c.Path == "" {
		return 0
	}
	n := s.resident[lineParameters]
	if m.target.Engine == target.Megatron && e.l.ZeroStage < 3 {
		n /= int64(e.l.DataParallel() * e.l.ContextParallel)
	}
	if c.SaveOptimizer {
		n += s.resident[lineMaster] + s.resident[lineMoments] + s.host
	}
	return n
}

// host is what one node needs beside its GPUs: every rank's process and data
// workers, what is offloaded, and the staging of checkpoints.
func (m *Model) host(h *hostMemory) plan.HostMemory {
	ranks := int64(max(m.job.Cluster.GPUsPerNode, 1))
	process := int64(overheads["host_process"])
	workers := int64(m.job.Training.Data.Workers)
	var out plan.HostMemory
	for _, y := range []struct {
		id, name string
		bytes    int64
	}{
		{"processes", "processes of the ranks", process},
		{"data_workers", "data loader workers", workers * int64(overheads["host_worker"])},
		{"offloaded_state", "offloaded parameters and optimizer state", h.state},
		{"offloaded_activations", "offloaded activations", h.activations},
		{"checkpoint_staging", "staging of asynchronous checkpoints", h.checkpoint},
	} {
		if y.bytes == 0 {
			continue
		}
		b := units.Bytes(y.bytes * ranks)
		out.Ledger = append(out.Ledger, plan.LedgerLine{ID: y.id, Name: y.name, Bytes: b})
		out.BytesPerNode += b
	}
	return out
}
