package memory

import (
	"cmp"
	"math"

	"github.com/ndc-dev/ndc/compiler/layout"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// overhead is what lies between tensors and the device, from the embedded
// data, for one target.
type overhead struct {
	slack       float64 // share of the allocated bytes that the allocator cannot hand out again
	lossSlack   float64 // share of the loss's transients that it keeps beside
	context     float64 // bytes of the CUDA context
	first, more float64 // bytes of the first communicator and of each further one
	low, high   float64 // 90 % of residuals lie between 1-low and 1+high
	pressed     float64 // the upper end where the allocator has to give back what it only caches
	spread      float64 // of the logarithm of what is needed over what is predicted, where the allocator gives back what it caches
	shared      float64 // share of the variance of residuals that layouts of one job have in common
	growth      float64 // mean share that later steps need more than the first
	crowd       uncertainty.Crowd
	process     int64 // host memory of a rank's process
	worker      int64 // host memory of a data worker
	unbucketed  int64 // elements that are reduced at once where that comes after the backward pass
}

// overheadOf looks the overheads of a runtime up. The context is that of all
// engines where the data says nothing else of this one.
// What the allocator holds is what was measured on the job's cluster.
func overheadOf(c *runtime.Calibration, of *job.Calibration) overhead {
	slack, pressed := overheads["slack/"+c.Memory], overheads["range_pressed/"+c.Memory]
	if of != nil && of.Reserved > 0 {
		slack = max(0, float64((1+slack)*of.Reserved)-1)
	}
	return overhead{
		slack: slack, lossSlack: overheads["loss_slack/"+c.Memory], context: cmp.Or(overheads["context/"+c.Memory], overheads["context"]),
		first: overheads["communicator"], more: overheads["communicator_later"],
		low: overheads["range_low/"+c.Memory], high: overheads["range_high/"+c.Memory],
		pressed: pressed, shared: overheads["range_shared/"+c.Memory],
		spread: math.Log1p(pressed) / uncertainty.Deviations(0.95), growth: overheads["growth"],
		crowd: uncertainty.Crowd{From: overheads["near_limit"], Chance: overheads["near_limit/"+c.Memory],
			Times: overheads["near_limit_times"], Scatter: overheads["near_limit_scatter"]},
		process: int64(overheads["host_process"]), worker: int64(overheads["host_worker"]),
		unbucketed: int64(overheads["unbucketed"]),
	}
}

// reserved is what the allocator holds for what a stage has allocated.
func (m *Model) reserved(s *stageMemory) float64 {
	o := &m.overhead
	return float64(float64(s.sum)*(1+o.slack)) + float64(o.lossSlack*float64(s.loss))
}

// device is what the device shows of it.
func (m *Model) device(e *evaluation, s *stageMemory) float64 {
	return m.reserved(s) + m.overhead.context + e.communicators
}

// allocatable is the most that a rank may have allocated of which the layout does
// not need more than some bytes, if the loss and uneven experts add nothing.
func (m *Model) allocatable(e *evaluation, most units.Bytes) int64 {
	if most == math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(math.Ceil((float64(most)/m.margin - m.overhead.context - e.communicators) / (1 + m.overhead.slack)))
}

// peak is all of this for a stage.
func (m *Model) peak(e *evaluation, stage int, s *stageMemory) Peak {
	o, device := &m.overhead, m.device(e, s)
	ends := *o
	ends.high += m.graphsMore(e, s, device) + segmentsMore(e)
	unpublished := 0.0 // a search chooses graphs of modules unasked; what is asked for warns by its range
	if e.x.CUDAGraphs != "full" {
		unpublished = float64(s.graphs) / device
	}
	return Peak{
		Stage: stage, Rank: m.globalRank(e.l, stage),
		Allocated: units.Bytes(s.sum), Reserved: units.Bytes(m.reserved(s)), Device: s.device, unpublished: unpublished,
		Low: units.Bytes(device * (1 - o.low)), High: units.Bytes(ends.upper(device, float64(m.job.Cluster.GPU.Memory))),
	}
}

// segmentsMore is what the upper end is higher by, as a share, where registered
// buffers keep the allocator from segments that grow.
func segmentsMore(e *evaluation) float64 {
	if e.x.ShardBuffers != "registered" {
		return 0
	}
	return overheads["fixed_segments"]
}

// upper is the upper end of the range of what a GPU shows. Most of it is what
// the allocator caches for another time, which it frees before an allocation
// fails: on a GPU that is full no more counts than what cannot be freed.
func (o *overhead) upper(device, gpu float64) float64 {
	high := float64(device * (1 + o.high))
	if high <= gpu || device > gpu {
		return high
	}
	return max(gpu, float64(device*(1+o.pressed)))
}

// communicators is the memory of NCCL communicators: the first in full, later
// ones share most of it.
func (o *overhead) communicators(l *plan.Layout) float64 {
	n := 0
	for _, size := range [...]int{l.TensorParallel, l.ContextParallel, l.PipelineParallel, l.DataParallel(), l.ExpertParallel, l.ExpertTensorParallel} {
		if size > 1 {
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return o.first + float64(float64(n-1)*o.more)
}

// globalRank is the lowest global rank of a pipeline stage under the target's mesh
// order: the stage times the stride of the pipeline axis.
func (m *Model) globalRank(l *plan.Layout, stage int) int {
	return stage * layout.Stride(m.target.DenseMesh, l, plan.PipelineParallel)
}
