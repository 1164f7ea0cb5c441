// Package schedule is the pipeline schedule: given how long each model chunk
// takes for one micro-batch, it says in which order every pipeline rank works,
// when each piece of work starts and ends, how long the whole pipeline takes,
// how much of it is bubble and how many micro-batches are in flight. It knows
// durations, not transformers: package estimate makes the durations, package
// memory multiplies the in-flight counts with bytes.
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
		return 0
	case plan.ScheduleGPipe:
		return s.MicroBatches * s.Virtual
	case plan.Schedule1F1B:
		return s.Pipeline - rank - 1
	case plan.ScheduleInterleaved1F1B:
		return 2*(s.Pipeline-rank-1) + (s.Virtual-1)*s.group()
	}
	panic("schedule: " + s.Schedule.String() + " is not simulated")
}

// InFlight is the largest number of chunk-forwards whose activations are alive
// on a rank at once: those of the warm-up and the one that is running.
func (s Shape) InFlight(rank int) int {
	return min(s.warmup(rank)+1, s.MicroBatches*s.Virtual)
}

// Prepare is the shape with its group settled, so that the counts below need
// not find it again: for the hot loop of package memory.
func (s Shape) Prepare() Shape {
	if s.Virtual > 1 {
		s.Group = s.group()
	}
	return s
}

// Split divides n, the result of InFlight for a rank, among its local chunks
// (0 to virtual-1) as they are at the moment when the rank first holds that
// many chunk-forwards. With chunks of very different size the peak may come a
// little later: PeakWeight is exact.
func (s Shape) Split(n int) Split {
	if s.Virtual == 1 {
		return Split{each: n}
	}
	g := s.group()
	round := n / (g * s.Virtual)
	return Split{each: round * g, group: s.groupSize(round), rest: n - round*g*s.Virtual}
}

// Split is how chunk-forwards are divided among the local chunks of a rank:
// each has some, and groups of the rest are on one chunk after the other.
type Split struct {
	each, group, rest int
	listed            bool
	pair              [2]int // where an order says so
}

// On is the number on a local chunk. Over the chunks it sums to what was
// divided.
func (p Split) On(chunk int) int {
	if p.listed {
		return p.pair[chunk]
	}
	return p.each + min(max(p.rest-chunk*p.group, 0), p.group)
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
