package memory

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
)

// peak turns allocated bytes into what the allocator reserves and what the
// device shows.
func (m *Model) peak(e *evaluation, stage int, allocated int64) Peak {
	l := e.l
	reserved := float64(allocated) * (1 + m.slack)
	device := reserved + overheads["context"] + m.communicators(l)
	return Peak{
		Stage: stage, Rank: m.rank(l, stage),
		Allocated: units.Bytes(allocated), Reserved: units.Bytes(reserved), Device: units.Bytes(device),
		Low: units.Bytes(device * (1 - overheads["range_low"])), High: units.Bytes(device * (1 + overheads["range_high"])),
	}
}

// communicators is the memory of NCCL communicators: the first in full, later
// ones share most of it.
func (m *Model) communicators(l *plan.Layout) float64 {
	n := 0
	for _, size := range [...]int{l.TensorParallel, l.ContextParallel, l.PipelineParallel, l.DataParallel(), l.ExpertParallel, l.ExpertTensorParallel} {
		if size > 1 {
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return overheads["communicator"] + float64(n-1)*overheads["communicator_later"]
}

// rank is the lowest global rank of a pipeline stage under the target's mesh
// order: the stage times the stride of the pipeline axis.
func (m *Model) rank(l *plan.Layout, stage int) int {
	stride := 1
	for _, axis := range m.target.DenseMesh {
		if axis == plan.PipelineParallel {
			return stage * stride
		}
		stride *= axisSize(l, axis)
	}
	return stage * l.GPUs() / l.PipelineParallel
}

func axisSize(l *plan.Layout, a plan.Axis) int {
	switch a {
	case plan.TensorParallel:
		return l.TensorParallel
	case plan.ContextParallel:
		return l.ContextParallel
	case plan.PipelineParallel:
		return l.PipelineParallel
	case plan.DataParallelShard:
		return l.DataParallelShard
	case plan.DataParallelReplicate:
		return l.DataParallelReplicate
	}
	return 1
}

// host is what one node's processes need beside the GPUs: what is offloaded,
// the staging of an asynchronous checkpoint, and the processes themselves.
func (m *Model) host(e *evaluation, perRank int64) plan.HostMemory {
	ranks := int64(m.job.Cluster.GPUsPerNode)
	lines := []plan.LedgerLine{}
	add := func(id, name string, bytes int64) {
		if bytes > 0 {
			lines = append(lines, plan.LedgerLine{ID: id, Name: name, Bytes: units.Bytes(bytes)})
		}
	}
	add("offloaded_state", "offloaded parameters and optimizer state", perRank*ranks)
	var total units.Bytes
	for _, l := range lines {
		total += l.Bytes
	}
	return plan.HostMemory{BytesPerNode: total, Ledger: lines}
}
