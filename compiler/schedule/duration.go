package schedule

import (
	"math"
	"slices"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
)

// Duration is Result.Seconds of Simulate, without allocating and without
// simulating every micro-batch. GPipe has a closed form. The others repeat
// themselves: once every pass of a stretch runs exactly one period later than
// it did one round before, all later rounds do, whatever the durations of the
// chunks, and the rounds in between are added without being simulated
// (docs/time.md, "Steady state").
func (m *Simulator) Duration(s Shape, d *Durations) units.Seconds {
	switch s.Schedule {
	case plan.ScheduleNone:
		return units.Seconds(s.MicroBatches) * (d.Forward[0] + d.Backward(0))
	case plan.ScheduleGPipe:
		if s.Virtual == 1 {
			return gpipe(s, d)
		}
		return m.run(s, d)
	case plan.Schedule1F1B, plan.ScheduleInterleaved1F1B:
		return m.steady(s, d)
	}
	return m.repeated(s, d)
}

// repeated simulates as few micro-batches of an order as show its period, and
// adds the others.
func (m *Simulator) repeated(s Shape, d *Durations) units.Seconds {
	each := 1 // micro-batches of the shape for one of the order
	if PlacementOf(s.Schedule) == Opposed {
		each = 2
	}
	short, all := s, s.MicroBatches/each
	for tried := 6 * s.Pipeline; tried < all; tried *= 2 {
		short.MicroBatches = tried * each
		end := m.run(short, d)
		if period, ok := m.orderPeriod(2 * s.Pipeline); ok {
			return end + units.Seconds(all-tried)*period
		}
	}
	return m.run(s, d)
}

// orderPeriod looks for the steady state of the order that has just run: over
// the last micro-batches before the pipeline drains, as many as it can hold,
// every pass of every chunk ends one period after that of the micro-batch
// before.
func (m *Simulator) orderPeriod(holds int) (units.Seconds, bool) {
	n := m.order.MicroBatches
	last := n - holds
	period := m.forwards[last] - m.forwards[last-1]
	for at := 0; at < len(m.forwards); at += n {
		for k := at + last - holds; k < at+last; k++ {
			if !near(m.forwards[k+1]-m.forwards[k], period) || !near(m.gradients[k+1]-m.gradients[k], period) {
				return 0, false
			}
		}
	}
	return period, true
}

// gpipe is the closed form of GPipe with one chunk per rank: the forwards are
// a flow shop, Σf + (m−1)·max f, and so are the backwards.
func gpipe(s Shape, d *Durations) units.Seconds {
	var sum, slowF, slowB units.Seconds
	for c := range s.Pipeline {
		f, b := d.Forward[c], d.Backward(c)
		sum += f + b
		slowF, slowB = max(slowF, f), max(slowB, b)
	}
	sum += 2 * units.Seconds(s.Pipeline-1) * d.Transfer
	return sum + units.Seconds(s.MicroBatches-1)*(slowF+slowB)
}

// steady is repeated for 1F1B and its interleaved form, in rounds of groups.
func (m *Simulator) steady(s Shape, d *Durations) units.Seconds {
	if s.Virtual == 1 {
		s.Group = 1
	} else {
		s.Group = s.group()
	}
	switch {
	case s.MicroBatches == s.Group && s.Group < s.Pipeline && s.Virtual > 1:
		return m.oneGroup(s, d)
	case s.MicroBatches%s.Group != 0 || s.Virtual > 1 && s.Group < s.Pipeline:
		return m.run(s, d)
	}
	rounds, round := s.MicroBatches/s.Group, s.Group*s.Virtual
	short := s
	for tried := 2 + (m.stretch(s)+s.lead(0))*3/2/round; tried < rounds; tried *= 2 {
		short.MicroBatches = tried * s.Group
		end := m.wave(short, d)
		if period, ok := m.period(short); ok {
			return end + units.Seconds(rounds-tried)*period
		}
	}
	return m.wave(s, d)
}

// stretch is the length of the longest dependency in chunk-forwards of a
// rank, in whole rounds.
func (m *Simulator) stretch(s Shape) int {
	round := s.Group * s.Virtual
	return (s.lead(0) + round) / round * round
}

// period looks for the steady state in the last rounds before the pipeline
// drains: every forward and backward of every rank, over a stretch, ends one
// period after its counterpart of the round before.
func (m *Simulator) period(s Shape) (units.Seconds, bool) {
	all, round := s.MicroBatches*s.Virtual, s.Group*s.Virtual
	last := all - s.lead(0)
	first := last - m.stretch(s)
	if first < round {
		return 0, false
	}
	p, back := s.Pipeline, round*s.Pipeline
	lead, lag := s.lead(0), s.lag()
	period := m.forward[first*p] - m.forward[first*p-back]
	for k := first; k < last; k++ {
		f, b := k*p, (k+lead)*p // of the first rank
		for range p {
			if !near(m.forward[f]-m.forward[f-back], period) || !near(m.backward[b]-m.backward[b-back], period) {
				return 0, false
			}
			f += lag*p + 1
			b -= p - 1
		}
	}
	return period, true
}

// wave is run for 1F1B and its interleaved form with whole groups, without
// looking for what is ready: rank r does its k-th pair of forward and backward
// in step k + p − 1 − r. A forward then finds its input made by the rank before
// it in the same step or earlier (two steps for the interleaved schedule, which
// warms up by two more per rank), one from the last rank at least one step
// earlier because a group has at least p micro-batches, and a backward its
// gradient in the step before. Ends are kept step after step, rank beside rank, so
// that what a step reads lies in the one before it.
func (m *Simulator) wave(s Shape, d *Durations) units.Seconds {
	all, p := s.MicroBatches*s.Virtual, s.Pipeline
	m.prepareWave(s, d, all+1+s.lead(0))
	away := (s.Group - p + 1) * p // from what the first rank waits for to the last one's, and the other way round
	lag := s.lag() * p
	row := 0
	for step := p - 1 - m.warm[0]; step < all+p; step++ {
		for rank := range p {
			k, at, end := step-(p-1-rank), row+rank, m.free[rank]
			if n := k + m.warm[rank]; n >= 0 && n < all {
				chunk := int(m.localChunk[n])
				if rank > 0 {
					end = later(end, m.forward[at-1-lag]+d.Transfer)
				} else if chunk > 0 {
					end = later(end, m.forward[at-away+p-1]+d.Transfer)
				}
				end += d.Forward[chunk*p+rank]
				m.forward[at] = end
			}
			if k >= 0 && k < all {
				chunk := int(m.localChunk[k])
				if rank < p-1 {
					end = later(end, m.backward[at+1-p]+d.Transfer)
				} else if chunk > 0 {
					end = later(end, m.backward[at-away-p+1]+d.Transfer)
				}
				end += m.whole[(s.Virtual-1-chunk)*p+rank]
				m.backward[at] = end
			}
			m.free[rank] = end
		}
		row += p
	}
	return slices.Max(m.free)
}

// lag is by how many steps of wave a rank makes a forward later than the rank
// before it.
func (s Shape) lag() int { return s.lead(0) - s.lead(1) - 1 }

// later is max for times, none of which is NaN.
func later(a, b units.Seconds) units.Seconds {
	if b > a {
		return b
	}
	return a
}

// oneGroup is wave for the interleaved schedule with fewer micro-batches than
// ranks: all of them pass a chunk of every rank before the next chunk, and every
// rank leads by all chunks but the last, or by all there are. So forwards and
// backwards alternate on the last chunk alone, in the steps of wave.
func (m *Simulator) oneGroup(s Shape, d *Durations) units.Seconds {
	group, all := s.MicroBatches, s.MicroBatches*s.Virtual
	last := all - group // the first forward of the last chunk
	m.prepareWave(s, d, all)
	for at := 0; at < last; at += group {
		for rank := range s.Pipeline {
			for n := at; n < at+group; n++ {
				m.stepForward(s, d, rank, n)
			}
		}
	}
	for step := 1 - s.Pipeline; step < group+s.Pipeline; step++ {
		for rank := range s.Pipeline {
			k := step - (s.Pipeline - 1 - rank)
			if n := k + m.warm[rank]; n >= last && n < all {
				m.stepForward(s, d, rank, n)
			}
			if k >= 0 && k < group {
				m.stepBackward(s, d, rank, k)
			}
		}
	}
	for at := group; at < all; at += group {
		for rank := s.Pipeline - 1; rank >= 0; rank-- {
			for k := at; k < at+group; k++ {
				m.stepBackward(s, d, rank, k)
			}
		}
	}
	return slices.Max(m.free)
}

// prepareWave sizes the scratch space for so many ends of a rank.
func (m *Simulator) prepareWave(s Shape, d *Durations, ends int) {
	all := s.MicroBatches * s.Virtual
	m.forward, m.backward = grow(m.forward, ends*s.Pipeline), grow(m.backward, ends*s.Pipeline)
	m.whole = grow(m.whole, s.Pipeline*s.Virtual)
	for c := range m.whole {
		m.whole[c] = d.Backward(c)
	}
	m.localChunk = grow(m.localChunk, all)
	for k := range all {
		m.localChunk[k] = int32(k / s.Group % s.Virtual)
	}
	m.free, m.warm = grow(m.free, s.Pipeline), grow(m.warm, s.Pipeline)
	for rank := range s.Pipeline {
		m.free[rank], m.warm[rank] = 0, s.lead(rank)
	}
}

// stepForward runs the n-th chunk-forward of a rank, whose ends lie side by side.
func (m *Simulator) stepForward(s Shape, d *Durations, rank, n int) {
	all, chunk := s.MicroBatches*s.Virtual, int(m.localChunk[n])
	start := m.free[rank]
	switch {
	case rank > 0:
		start = max(start, m.forward[(rank-1)*all+n]+d.Transfer)
	case chunk > 0:
		start = max(start, m.forward[(s.Pipeline-1)*all+n-s.Group]+d.Transfer)
	}
	end := start + d.Forward[chunk*s.Pipeline+rank]
	m.forward[rank*all+n], m.free[rank] = end, end
}

// stepBackward runs the k-th chunk-backward of a rank, on the mirrored chunk.
func (m *Simulator) stepBackward(s Shape, d *Durations, rank, k int) {
	all, chunk := s.MicroBatches*s.Virtual, int(m.localChunk[k])
	start := m.free[rank]
	switch {
	case rank < s.Pipeline-1:
		start = max(start, m.backward[(rank+1)*all+k]+d.Transfer)
	case chunk > 0:
		start = max(start, m.backward[k-s.Group]+d.Transfer)
	}
	end := start + m.whole[(s.Virtual-1-chunk)*s.Pipeline+rank]
	m.backward[rank*all+k], m.free[rank] = end, end
}

// near compares two durations but for rounding.
func near(a, b units.Seconds) bool {
	return math.Abs(float64(a-b)) <= 1e-9*math.Abs(float64(b))
}
