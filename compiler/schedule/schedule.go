// Package schedule is the pipeline schedule: given how long each model chunk
// takes for one micro-batch, it says in which order every pipeline rank works,
// when each piece of work starts and ends, how long the whole pipeline takes,
// how much of it is bubble and how many micro-batches are in flight. It knows
// durations, not transformers: package estimate makes the durations, package
// memory replays the order and knows what every pass allocates and frees.
//
// A schedule is an Order: per rank a sequence of passes. The simulator, the
// pictures and every count read nothing else; where the hot loop has a closed
// form, a test holds it against the order. Chunks are numbered in pipeline
// order; a Placement says on which rank they run (docs/time.md, "Pipeline").
package schedule

import "github.com/ndc-dev/ndc/compiler/plan"

// Shape is a pipeline without its durations.
type Shape struct {
	Schedule     plan.Schedule
	Pipeline     int // ranks
	Virtual      int // model chunks per rank; 1: not interleaved
	MicroBatches int // forward passes per step
	Group        int // micro-batches that a rank runs on one chunk before the next chunk (interleaved); 0: the framework default, see group
	Ahead        int // chunk-forwards that a rank runs before its first backward beyond those of its schedule; counted in orders, not in durations
}

// group is the number of consecutive micro-batches of one chunk in the
// interleaved schedule. Micro-batches spread evenly over
// max(1, micro-batches div pipeline) rounds; where the pipeline divides them that
// is its size, the default of others (docs/time.md, "Pipeline").
func (s Shape) group() int {
	if s.Group > 0 {
		return s.Group
	}
	rounds := max(1, s.MicroBatches/s.Pipeline)
	return max(1, s.MicroBatches/rounds)
}

// warmup is the number of chunk-forwards that a rank runs before it starts to
// alternate forward and backward.
func (s Shape) warmup(rank int) int {
	return min(s.lead(rank), s.MicroBatches*s.Virtual)
}

// lead is by how many chunk-forwards a rank is ahead of its backwards, if
// there are that many.
func (s Shape) lead(rank int) int {
	switch s.Schedule {
	case plan.ScheduleNone:
		return s.Ahead
	case plan.ScheduleGPipe:
		return s.MicroBatches * s.Virtual
	case plan.Schedule1F1B:
		return s.Pipeline - rank - 1 + s.Ahead
	case plan.ScheduleInterleaved1F1B:
		return 2*(s.Pipeline-rank-1) + (s.Virtual-1)*s.group() + s.Ahead
	}
	panic("schedule: " + s.Schedule.String() + " is not simulated")
}

// Prepare is the shape with its group settled, so that it is not found again, and
// stays with fewer micro-batches.
func (s Shape) Prepare() Shape {
	if s.Virtual > 1 {
		s.Group = s.group()
	}
	return s
}

// groupSize is the number of micro-batches of one round of the interleaved
// schedule: the group, or what is left of the micro-batches.
func (s Shape) groupSize(round int) int {
	return min(s.group(), max(1, s.MicroBatches-round*s.group()))
}

// at is the local chunk and the micro-batch of the k-th chunk-forward of a
// rank. The k-th backward is of the same micro-batch, on chunk virtual-1-chunk.
func (s Shape) at(k int) (chunk, microBatch int) {
	if s.Virtual == 1 {
		return 0, k
	}
	g := s.group()
	round := k / (g * s.Virtual)
	size := s.groupSize(round)
	k -= round * g * s.Virtual
	return k / size, round*g + k%size
}
