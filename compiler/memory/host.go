package memory

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
)

// hostMemory is what one rank needs of its node, in bytes.
type hostMemory struct {
	state       int64 // offloaded parameters, gradients and optimizer state
	activations int64 // offloaded activations
	pages       int64 // for activations of experts that find no page on the GPU
	read        int64 // what is read of a checkpoint at once
	checkpoint  int64 // staged copy of what an asynchronous save writes
}

// cover raises h to hold either of the two, line by line: a node may host the
// worst stage of each.
func (h *hostMemory) cover(o *hostMemory) {
	h.state = max(h.state, o.state)
	h.activations = max(h.activations, o.activations)
	h.pages = max(h.pages, o.pages)
	h.read = max(h.read, o.read)
	h.checkpoint = max(h.checkpoint, o.checkpoint)
}

// hostOf is what a rank of a stage needs.
func (m *Model) hostOf(e *evaluation, s *state, moved, spilled int64) hostMemory {
	return hostMemory{state: s.host, activations: moved, pages: spilled, read: m.reading(e, s), checkpoint: m.staging(s)}
}

// reading is what a rank reads into host memory at once when it resumes: the file
// of its parameters, then that of its optimizer, which without sharding are one.
func (m *Model) reading(e *evaluation, s *state) int64 {
	if !m.runtime.Host.ReadsFiles || !m.resumes() {
		return 0
	}
	parameters := s.resident[lineParameters]
	var optimizer int64
	if c := &m.job.Training.Checkpoint; c.SaveOptimizer || c.Path == "" {
		optimizer = s.resident[lineMaster] + s.resident[lineMoments] + s.host
	}
	if e.l.ZeroStage == 0 {
		return parameters + optimizer
	}
	return max(parameters, optimizer)
}

// resumes reports whether the run reads checkpoints in the framework's own form.
func (m *Model) resumes() bool {
	return m.job.Training.Checkpoint.Path != "" || m.job.Training.Start.From == "checkpoint"
}

// staging is the host copy that an asynchronous checkpoint writes from:
// everything that is particular to this rank. Of parameters that several ranks
// hold in full each writes a part.
func (m *Model) staging(s *state) int64 {
	c := &m.job.Training.Checkpoint
	if !c.Async || c.Path == "" {
		return 0
	}
	n := s.written
	if c.SaveOptimizer {
		n += s.resident[lineMaster] + max(s.resident[lineMoments], s.saved) + s.host
	}
	return n
}

// building is how much a node holds of whole models before its ranks have cut
// them: while they are made, and while the weights of others are imported.
func (m *Model) building(l *plan.Layout) (made, imported int64) {
	h := &m.runtime.Host
	whole := m.whole
	cut := l.TensorParallel > 1 || l.ExpertParallel > 1
	switch imports := m.job.Training.Start.From == "huggingface"; {
	case imports && (cut || l.ZeroStage < 3):
		return 0, int64(h.Imports) * whole
	case imports:
		return 0, int64(h.ImportsSharded) * whole
	case h.BuildsCut && cut:
		return whole, 0
	}
	return 0, 0
}

// hostPhase is a phase of a run as the host sees it.
type hostPhase uint8

// The phases, in their order.
const (
	hostStart hostPhase = iota
	hostLoad
	hostSteady
	hostSave
	hostPhases
)

var hostPhaseNames = [hostPhases]string{"start", "load", "steady", "save"}

// hostLine is one line of what a node needs beside its GPUs, and the phases in
// which it does.
type hostLine struct {
	id, name string
	bytes    int64
	during   [hostPhases]bool
}

// hostLines lists what a node needs: the processes and data workers of its ranks,
// models that are not cut yet, what is read of checkpoints, what is offloaded or may
// spill, and the staging of checkpoints.
func (m *Model) hostLines(l *plan.Layout, h *hostMemory) [9]hostLine {
	ranks := int64(max(m.job.Cluster.GPUsPerNode, 1))
	made, imported := m.building(l)
	running := [hostPhases]bool{hostSteady: true, hostSave: true}
	return [...]hostLine{
		{"processes", "processes of the ranks", ranks * m.overhead.process, [hostPhases]bool{true, true, true, true}},
		{"data_workers", "data loader workers", ranks * int64(m.job.Training.Data.Workers) * m.overhead.worker, running},
		{"model", "the model before it is cut, once per node", made, [hostPhases]bool{hostStart: true}},
		{"imported_weights", "imported weights before they are cut", imported, [hostPhases]bool{hostStart: true}},
		{"checkpoint_reading", "files of a checkpoint that is read", ranks * h.read, [hostPhases]bool{hostLoad: true}},
		{"offloaded_state", "offloaded parameters and optimizer state", ranks * h.state, [hostPhases]bool{hostLoad: true, hostSteady: true, hostSave: true}},
		{"offloaded_activations", "offloaded activations", ranks * h.activations, running},
		{"expert_pages", "pages for activations of experts", ranks * h.pages, running},
		{"checkpoint_staging", "staging of asynchronous checkpoints", ranks * h.checkpoint, [hostPhases]bool{hostSave: true}},
	}
}

// occursOnHost reports whether a run comes by a phase.
func (m *Model) occursOnHost(p hostPhase) bool {
	switch p {
	case hostLoad:
		return m.resumes()
	case hostSave:
		return m.job.Training.Checkpoint.Path != ""
	}
	return true
}

// hostBytes is what one node needs beside its GPUs, in the worst phase.
func (m *Model) hostBytes(l *plan.Layout, h *hostMemory) units.Bytes {
	var sums [hostPhases]int64
	for _, line := range m.hostLines(l, h) {
		for p := range sums {
			if line.during[p] && m.occursOnHost(hostPhase(p)) {
				sums[p] += line.bytes
			}
		}
	}
	var most int64
	for _, sum := range sums {
		most = max(most, sum)
	}
	return units.Bytes(most)
}

// host is the same with its ledger, phase by phase. The ledger of the worst phase
// is that of the node, of equal ones the last.
func (m *Model) host(l *plan.Layout, h *hostMemory) plan.HostMemory {
	out := plan.HostMemory{BytesPerNode: m.hostBytes(l, h)}
	lines := m.hostLines(l, h)
	for p := range hostPhases {
		if !m.occursOnHost(p) {
			continue
		}
		phase := plan.HostPhase{Name: hostPhaseNames[p]}
		for _, line := range lines {
			if line.during[p] && line.bytes > 0 {
				phase.BytesPerNode += units.Bytes(line.bytes)
				phase.Ledger = append(phase.Ledger, plan.LedgerLine{ID: line.id, Name: line.name, Bytes: units.Bytes(line.bytes)})
			}
		}
		out.Phases = append(out.Phases, phase)
		if phase.BytesPerNode == out.BytesPerNode {
			out.Ledger = phase.Ledger
		}
	}
	return out
}
