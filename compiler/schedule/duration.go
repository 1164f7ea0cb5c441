package schedule

import (
	"math"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
)

// Duration is Result.Seconds of Simulate, without allocating and without
// simulating every micro-batch. GPipe has a closed form. 1F1B and its
// interleaved form repeat themselves: once every operation of a stretch of
// rounds runs exactly one period later than it did one round before, all
// later rounds do, whatever the durations of the chunks, and the rounds in
// between are added without being simulated (docs/time.md, "Steady state").
func (m *Simulator) Duration(s Shape, d *Durations) units.Seconds {
	switch s.Schedule {
	case plan.ScheduleNone:
		return units.Seconds(s.MicroBatches) * (d.Forward[0] + d.backward(0))
	case plan.ScheduleGPipe:
		if s.Virtual == 1 {
			return gpipe(s, d)
		}
	case plan.Schedule1F1B, plan.ScheduleInterleaved1F1B:
		return m.steady(s, d)
	}
	return m.run(s, d)
}

// gpipe is the closed form of GPipe with one chunk per rank: the forwards are
// a flow shop, Σf + (m−1)·max f, and so are the backwards.
func gpipe(s Shape, d *Durations) units.Seconds {
	var sum, slowF, slowB units.Seconds
	for c := range s.Pipeline {
		f, b := d.Forward[c], d.backward(c)
		sum += f + b
		slowF, slowB = max(slowF, f), max(slowB, b)
	}
	sum += 2 * units.Seconds(s.Pipeline-1) * d.Transfer
	return sum + units.Seconds(s.MicroBatches-1)*(slowF+slowB)
}

// steady simulates as few rounds as show the period and adds the others.
func (m *Simulator) steady(s Shape, d *Durations) units.Seconds {
	round := 1
	if s.Virtual > 1 {
		round = s.group()
	}
	if s.MicroBatches%round != 0 {
		return m.run(s, d)
	}
	rounds := s.MicroBatches / round
	for tried := 2 + 4*s.Pipeline/round; tried < rounds; tried *= 2 {
		short := s
		short.MicroBatches, short.Group = tried*round, round
		end := m.run(short, d)
		if period, ok := m.period(short, round*s.Virtual); ok {
			return end + units.Seconds(rounds-tried)*period
		}
	}
	return m.run(s, d)
}

// period looks for the steady state in the last simulated rounds before the
// pipeline drains: every forward and backward of every rank, over a stretch
// as long as the longest dependency, starts one period after its counterpart
// of the round before. round counts chunk-forwards.
func (m *Simulator) period(s Shape, round int) (units.Seconds, bool) {
	stretch := (m.warm[0] + 1 + round) / round * round
	last := s.MicroBatches*s.Virtual - m.warm[0]
	first := last - stretch
	if first < round {
		return 0, false
	}
	period := m.shift(s, 0, first, round)
	for rank := range s.Pipeline {
		for k := first; k < last; k++ {
			if !near(m.shift(s, rank, k, round), period) || !near(m.backwardShift(s, rank, k, round), period) {
				return 0, false
			}
		}
	}
	return period, true
}

// shift is how much later the k-th forward of a rank ends than the forward
// one round before it.
func (m *Simulator) shift(s Shape, rank, k, round int) units.Seconds {
	chunk := int(m.localChunk[k])*s.Pipeline + rank
	before := int(m.localChunk[k-round])*s.Pipeline + rank
	return m.end[chunk*s.MicroBatches+int(m.microBatch[k])] - m.end[before*s.MicroBatches+int(m.microBatch[k-round])]
}

// backwardShift is shift for backwards.
func (m *Simulator) backwardShift(s Shape, rank, k, round int) units.Seconds {
	chunk := (s.Virtual-1-int(m.localChunk[k]))*s.Pipeline + rank
	all := s.MicroBatches * s.Virtual * s.Pipeline
	at := all + chunk*s.MicroBatches + int(m.microBatch[k])
	return m.end[at] - m.end[at-round/s.Virtual]
}

// near compares two durations but for rounding.
func near(a, b units.Seconds) bool {
	return math.Abs(float64(a-b)) <= 1e-9*math.Abs(float64(b))
}
