package schedule

import (
	"math"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
	"pgregory.net/rapid"
)

// even returns durations of equal chunks.
func even(chunks int, f, b units.Seconds) *Durations {
	d := &Durations{}
	for range chunks {
		d.Forward = append(d.Forward, f)
		d.InputGradient = append(d.InputGradient, b)
	}
	return d
}

// TestBubbleOfEvenStages checks bubble over ideal time (p−1)/m and
// (p−1)/(v·m) (Narayanan et al. 2021, arXiv:2104.04473, section 2.2).
func TestBubbleOfEvenStages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.IntRange(2, 9).Draw(t, "pipeline")
		v := rapid.IntRange(1, 4).Draw(t, "virtual")
		m := p * rapid.IntRange(1, 6).Draw(t, "rounds")
		s := Shape{Schedule: plan.ScheduleInterleaved1F1B, Pipeline: p, Virtual: v, MicroBatches: m}
		if v == 1 {
			s.Schedule = rapid.SampledFrom([]plan.Schedule{plan.Schedule1F1B, plan.ScheduleGPipe}).Draw(t, "schedule")
		}
		f, b := units.Seconds(1), units.Seconds(rapid.Float64Range(0.5, 3).Draw(t, "backward"))
		r := Simulate(s, even(p*v, f, b))
		ideal := units.Seconds(m*v) * (f + b)
		want := float64(p-1) / float64(v*m)
		if got := float64((r.Seconds - ideal) / ideal); math.Abs(got-want) > 1e-9 {
			t.Fatalf("bubble over ideal = %v, want %v", got, want)
		}
		share := float64(p-1) / float64(v*m+p-1)
		if math.Abs(float64(r.BubbleShare)-share) > 1e-9 {
			t.Fatalf("bubble share = %v, want %v", r.BubbleShare, share)
		}
	})
}

// shapes draws any simulated shape with any durations.
func shapes(t *rapid.T) (Shape, *Durations) {
	p := rapid.IntRange(1, 7).Draw(t, "pipeline")
	v := rapid.IntRange(1, 4).Draw(t, "virtual")
	m := rapid.IntRange(1, 60).Draw(t, "microBatches")
	s := Shape{Schedule: plan.ScheduleNone, Pipeline: p, Virtual: v, MicroBatches: m}
	switch {
	case p == 1:
		s.Virtual = 1
	case v > 1:
		s.Schedule = plan.ScheduleInterleaved1F1B
		s.MicroBatches = p * (1 + m/8)
	default:
		s.Schedule = rapid.SampledFrom([]plan.Schedule{plan.Schedule1F1B, plan.ScheduleGPipe}).Draw(t, "schedule")
	}
	d := &Durations{Transfer: units.Seconds(rapid.SampledFrom([]float64{0, 0.1, 1}).Draw(t, "transfer"))}
	one := rapid.OneOf(rapid.SampledFrom([]float64{1, 2}), rapid.Float64Range(0.1, 3))
	for range s.Pipeline * s.Virtual {
		d.Forward = append(d.Forward, units.Seconds(one.Draw(t, "forward")))
		d.InputGradient = append(d.InputGradient, units.Seconds(one.Draw(t, "input gradient")))
		d.WeightGradient = append(d.WeightGradient, units.Seconds(one.Draw(t, "weight gradient")))
	}
	return s, d
}

// TestDurationEqualsSimulation compares the hot form with the simulator.
func TestDurationEqualsSimulation(t *testing.T) {
	var hot Simulator
	rapid.Check(t, func(t *rapid.T) {
		s, d := shapes(t)
		want, got := Simulate(s, d).Seconds, hot.Duration(s, d)
		if math.Abs(float64(got-want)) > 1e-7*float64(want) {
			t.Fatalf("%+v: Duration = %v, Simulate = %v", s, got, want)
		}
	})
}

// TestUnevenGroups: with fewer micro-batches than ranks, or a number that ranks do
// not divide, the hot form of the interleaved schedule finds the times of the
// simulator.
func TestUnevenGroups(t *testing.T) {
	var hot Simulator
	rapid.Check(t, func(t *rapid.T) {
		s := Shape{Schedule: plan.ScheduleInterleaved1F1B, Pipeline: rapid.IntRange(2, 12).Draw(t, "pipeline"), Virtual: rapid.IntRange(2, 5).Draw(t, "virtual")}
		s.MicroBatches = rapid.IntRange(1, 3*s.Pipeline).Draw(t, "microBatches")
		s.MicroBatches -= s.MicroBatches % max(1, s.MicroBatches/s.Pipeline) // others are refused; they wait for themselves
		d := &Durations{Transfer: units.Seconds(rapid.SampledFrom([]float64{0, 0.1, 3}).Draw(t, "transfer"))}
		one := rapid.Float64Range(0.1, 3)
		for range s.Pipeline * s.Virtual {
			d.Forward = append(d.Forward, units.Seconds(one.Draw(t, "forward")))
			d.InputGradient = append(d.InputGradient, units.Seconds(one.Draw(t, "input gradient")))
		}
		want, got := Simulate(s, d).Seconds, hot.Duration(s, d)
		if math.Abs(float64(got-want)) > 1e-9*float64(want) {
			t.Fatalf("%+v: Duration = %v, Simulate = %v", s, got, want)
		}
	})
}

// TestRepeatedEqualsSimulation does so for the orders that split the backward
// pass, with many micro-batches and uneven chunks.
func TestRepeatedEqualsSimulation(t *testing.T) {
	var hot Simulator
	rapid.Check(t, func(t *rapid.T) {
		s := anyShape(t)
		s.MicroBatches += 2 * s.Pipeline * rapid.IntRange(0, 20).Draw(t, "more")
		d := &Durations{Transfer: units.Seconds(rapid.SampledFrom([]float64{0, 0.1, 3}).Draw(t, "transfer")), Together: rapid.Bool().Draw(t, "together")}
		one := rapid.OneOf(rapid.SampledFrom([]float64{1, 2}), rapid.Float64Range(0.1, 3))
		for range NewOrder(s).Chunks {
			d.Forward = append(d.Forward, units.Seconds(one.Draw(t, "forward")))
			d.InputGradient = append(d.InputGradient, units.Seconds(one.Draw(t, "input gradient")))
			d.WeightGradient = append(d.WeightGradient, units.Seconds(one.Draw(t, "weight gradient")))
		}
		want, got := Simulate(s, d).Seconds, hot.Duration(s, d)
		if math.Abs(float64(got-want)) > 1e-7*float64(want) {
			t.Fatalf("%+v: Duration = %v, Simulate = %v", s, got, want)
		}
	})
}

// TestSlots checks what every schedule must obey: nothing overlaps on a rank,
// every micro-batch passes every chunk once forward and once backward, and
// nothing starts before its input.
func TestSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, d := shapes(t)
		type key struct {
			kind              string
			chunk, microBatch int
		}
		ends := map[key]plan.Slot{}
		for rank, slots := range Simulate(s, d).Ranks {
			free := units.Seconds(0)
			for _, x := range slots {
				if x.Start < free-1e-9 || x.Chunk%s.Pipeline != rank {
					t.Fatalf("rank %d: %+v starts before %v or is not its own", rank, x, free)
				}
				free = x.End
				ends[key{x.Kind, x.Chunk, x.MicroBatch}] = x
			}
		}
		chunks := s.Pipeline * s.Virtual
		if len(ends) != 2*chunks*s.MicroBatches {
			t.Fatalf("%d different slots of %d", len(ends), 2*chunks*s.MicroBatches)
		}
		for k, x := range ends {
			before := key{k.kind, k.chunk - 1, k.microBatch}
			if k.kind == "backward" {
				before.chunk = k.chunk + 1
				if k.chunk == chunks-1 {
					before = key{"forward", k.chunk, k.microBatch}
				}
			}
			if in, ok := ends[before]; ok && x.Start < in.End-1e-9 {
				t.Fatalf("%+v starts before its input %+v ends", x, in)
			}
		}
	})
}

// TestWarmup pins published orders: 1F1B holds p−r micro-batches,
// the interleaved schedule 2(p−r−1)+(v−1)·p+1 chunk-forwards.
func TestWarmup(t *testing.T) {
	for _, c := range []struct {
		s                 plan.Schedule
		p, v, m, rank, in int
	}{
		{plan.Schedule1F1B, 8, 1, 64, 0, 8},
		{plan.Schedule1F1B, 8, 1, 64, 7, 1},
		{plan.Schedule1F1B, 8, 1, 4, 0, 4},
		{plan.ScheduleGPipe, 8, 1, 64, 3, 64},
		{plan.ScheduleInterleaved1F1B, 4, 2, 8, 0, 11},
		{plan.ScheduleInterleaved1F1B, 4, 2, 8, 3, 5},
		{plan.ScheduleInterleaved1F1B, 4, 2, 4, 0, 8},
		{plan.ScheduleNone, 1, 1, 12, 0, 1},
	} {
		shape := Shape{Schedule: c.s, Pipeline: c.p, Virtual: c.v, MicroBatches: c.m}
		if got := NewOrder(shape).InFlight(c.rank); got != c.in {
			t.Errorf("InFlight(%v, %d, %d, %d, %d) = %d, want %d", c.s, c.p, c.v, c.m, c.rank, got, c.in)
		}
	}
}

// BenchmarkDuration is the hot form at the size of a large job.
func BenchmarkDuration(b *testing.B) {
	var m Simulator
	for _, v := range []int{1, 4} {
		s := Shape{Schedule: plan.ScheduleInterleaved1F1B, Pipeline: 16, Virtual: v, MicroBatches: 256}
		if v == 1 {
			s.Schedule = plan.Schedule1F1B
		}
		d := even(16*v, 1, 2)
		d.Forward[16*v-1], d.InputGradient[16*v-1] = 1.2, 2.3
		b.Run(s.Schedule.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.Duration(s, d)
			}
		})
	}
	deep := Shape{Schedule: plan.Schedule1F1B, Pipeline: 1024, Virtual: 1, MicroBatches: 8192}
	stages := even(1024, 1, 2)
	b.Run("a thousand ranks", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m.Duration(deep, stages)
		}
	})
	few := Shape{Schedule: plan.ScheduleInterleaved1F1B, Pipeline: 64, Virtual: 15, MicroBatches: 32}
	d := even(64*15, 1, 2)
	b.Run("fewer micro-batches than ranks", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m.Duration(few, d)
		}
	})
}
