package memory

import (
	"github.com/ndc-dev/ndc/compiler/plan"
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
	if e.sharding.SavesInParts && e.l.ZeroStage < e.sharding.Parameters {
		n /= int64(e.l.DataParallel() * e.l.ContextParallel)
	}
	if c.SaveOptimizer {
		n += s.resident[lineMaster] + s.resident[lineMoments] + s.host
	}
	return n
}

// hostLine is one line of what the ranks of a node need of it.
type hostLine struct {
	id, name string
	bytes    int64
}

// hostLines lists what one rank needs of its node: its process and data
// workers, what is offloaded, and the staging of checkpoints.
func (m *Model) hostLines(h *hostMemory) [5]hostLine {
	return [...]hostLine{
		{"processes", "processes of the ranks", m.overhead.process},
		{"data_workers", "data loader workers", int64(m.job.Training.Data.Workers) * m.overhead.worker},
		{"offloaded_state", "offloaded parameters and optimizer state", h.state},
		{"offloaded_activations", "offloaded activations", h.activations},
		{"checkpoint_staging", "staging of asynchronous checkpoints", h.checkpoint},
	}
}

// hostBytes is what one node needs beside its GPUs.
func (m *Model) hostBytes(h *hostMemory) units.Bytes {
	var sum int64
	for _, line := range m.hostLines(h) {
		sum += line.bytes
	}
	return units.Bytes(sum * int64(max(m.job.Cluster.GPUsPerNode, 1)))
}

// host is the same with its ledger.
func (m *Model) host(h *hostMemory) plan.HostMemory {
	out := plan.HostMemory{BytesPerNode: m.hostBytes(h)}
	for _, line := range m.hostLines(h) {
		if line.bytes > 0 {
			bytes := units.Bytes(line.bytes * int64(max(m.job.Cluster.GPUsPerNode, 1)))
			out.Ledger = append(out.Ledger, plan.LedgerLine{ID: line.id, Name: line.name, Bytes: bytes})
		}
	}
	return out
}
