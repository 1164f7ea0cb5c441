package uncertainty

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/ndc-dev/ndc/tools/draws"
)

// TestExhausted compares the probabilities of phases with draws.
func TestExhausted(t *testing.T) {
	for _, m := range []Memory{{0.011, 0, 0.002}, {0.05, 0, 0.002}, {0.02, 0.03, 0.01}, {0.02, 0.01, 0}, {0, 0.01, 0.02}} {
		p, capacity := Phases{Start: 40, Passes: 70, Update: 77}, 80.0
		got := m.Exhausted(p, capacity)
		r := rand.New(rand.NewPCG(7, 9))
		const draws = 400000
		var passes, update, steady float64
		for range draws {
			shared := math.Exp(m.Spread * r.NormFloat64())
			more := math.Exp(m.Growth + m.Tail*r.ExpFloat64())
			if p.Passes*shared > capacity {
				passes++
			}
			if p.Update*shared > capacity {
				update++
			}
			if p.Update*shared*more > capacity {
				steady++
			}
		}
		near(t, "first step", got.FirstStep, passes/draws, 2e-3)
		near(t, "update", got.Optimizer, update/draws, 2e-3)
		near(t, "steady", got.Steady, steady/draws, 2e-3)
		if got.Start > got.FirstStep || got.FirstStep > got.Optimizer || got.Optimizer > got.Steady || got.Any != got.Save {
			t.Errorf("probabilities fall from phase to phase: %+v", got)
		}
	}
}

// TestSlows: steps slow with the probability that memory beyond the limit is
// needed and that a run beyond it slows, and take as much longer as draws do.
func TestSlows(t *testing.T) {
	m, c := Memory{Spread: 0.03}, Crowd{From: 0.9, Chance: 0.25, Times: 4, Scatter: 0.3}
	r := rand.New(rand.NewPCG(3, 5))
	const draws = 400000
	for _, need := range []float64{66, 69, 72, 75, 79} {
		var slow, times float64
		for range draws {
			one := 1.0
			if need*math.Exp(m.Spread*r.NormFloat64()) > 0.9*80 && r.Float64() < 0.25 {
				slow++
				one = 4 * math.Exp(0.3*r.NormFloat64())
			}
			times += one
		}
		p := c.Slows(&m, need, 80)
		near(t, "probability", p, slow/draws, 2e-3)
		near(t, "times", c.Expected(p), times/draws, 1e-2)
	}
	if p := c.Slows(&m, 64, 80); p != 0 {
		t.Errorf("%v with a fifth of the GPU to spare", p)
	}
	if p := (&Crowd{From: 0.9, Times: 4}).Slows(&m, 79, 80); p != 0 || c.Expected(0) != 1 {
		t.Errorf("%v where no run slows", p)
	}
}

// TestUpper: the upper end of a range has as much above it as draws do, and is
// that of the step alone where nothing slows.
func TestUpper(t *testing.T) {
	n, c := Normal{0.02, 0.1}, Crowd{Times: 4, Scatter: 0.3}
	near(t, "nothing slows", c.Upper(n, 0.95, 0), n.Quantile(0.95), 1e-9)
	r := rand.New(rand.NewPCG(1, 5))
	const draws = 400000
	for _, slows := range []float64{0.03, 0.1, 0.6} {
		end, above := c.Upper(n, 0.95, slows), 0.0
		for range draws {
			x := n.Mean + n.Spread*r.NormFloat64()
			if r.Float64() < slows {
				x += math.Log(4) + 0.3*r.NormFloat64()
			}
			if x > math.Log(end) {
				above++
			}
		}
		near(t, "above", above/draws, 0.05, 2e-3)
	}
}

// TestMargin: at the margin one of the two limits is met exactly, below it one
// is broken, and it grows with everything that is uncertain.
func TestMargin(t *testing.T) {
	last := 1.0
	for _, m := range []Memory{{0.005, 0, 0.002}, {0.011, 0, 0.002}, {0.011, 0, 0.01}, {0.011, 0.02, 0.01}, {0.05, 0.02, 0.01}} {
		k := m.Margin(0.05, 0.001)
		if k <= last {
			t.Errorf("%+v: margin %v, less uncertain %v", m, k, last)
		}
		last = k
		broken := func(at float64) bool {
			first := m.reaches(1, at)
			return first > 0.05 || m.later(1, at)-first > 0.001
		}
		if broken(k*(1+1e-9)) || !broken(k*(1-1e-6)) {
			t.Errorf("%+v: the limits are not met at %v", m, k)
		}
	}
	normal := Memory{Spread: 0.02}
	near(t, "margin of a normal error", math.Log(normal.Margin(0.05, 1)), 1.6449*0.02, 1e-5)
}

// TestMarginByHalves: a margin is what halving the distance between two bounds finds, to more
// digits than it is rounded to.
func TestMarginByHalves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Memory{rapid.Float64Range(1e-3, 0.15).Draw(t, "spread"), rapid.Float64Range(0, 0.2).Draw(t, "growth"), rapid.Float64Range(0, 0.03).Draw(t, "tail")}
		start, run := rapid.Float64Range(1e-6, 0.49).Draw(t, "start"), rapid.Float64Range(1e-6, 0.49).Draw(t, "run")
		low, high := 1.0, math.Exp(20*m.Spread+m.Growth+50*m.Tail)
		for range 60 {
			at := (low + high) / 2
			if first := m.reaches(1, at); first <= start && m.later(1, at)-first <= run {
				high = at
			} else {
				low = at
			}
		}
		if got := m.Margin(start, run); math.Abs(got/high-1) > 1e-11 {
			t.Errorf("%+v within %v and %v: margin %v, by halves %v", m, start, run, got, high)
		}
	})
}

// TestLittleTail: beside a wide error, a tail that is much smaller adds what its mean
// moves the error by, however much smaller it is.
func TestLittleTail(t *testing.T) {
	for _, times := range []float64{5, 20, 36, 38, 40, 50, 100} {
		m := Memory{Spread: 0.002 * times, Tail: 0.002}
		last := 1.0
		for z := 0.0; z < 6; z += 0.01 {
			p := m.later(1, math.Exp(z*m.Spread))
			if p > last {
				t.Fatalf("spread %v: %v at %.2f spreads, %v before", m.Spread, p, z, last)
			}
			last = p
		}
		if times >= 20 {
			near(t, "later", m.later(1, math.Exp(2*m.Spread)), beyond(2*m.Spread-m.Tail, m.Spread), 2e-4)
		}
	}
}

// TestBound: what a bound admits the margin admits, whatever is uncertain.
func TestBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Memory{Spread: rapid.Float64Range(1e-4, 0.1).Draw(t, "spread"), Growth: rapid.Float64Range(0, 0.5).Draw(t, "growth"), Tail: rapid.Float64Range(0, 0.05).Draw(t, "tail")}
		start, run := rapid.Float64Range(1e-9, 0.49).Draw(t, "start"), rapid.Float64Range(1e-9, 0.49).Draw(t, "run")
		if got, least := BoundOf(start, run).Margin(&m), m.Margin(start, run); got < least*(1-1e-9) {
			t.Fatalf("bound %v, margin %v", got, least)
		}
	})
}

// TestWorkedMemory holds the example of docs/uncertainty.md.
func TestWorkedMemory(t *testing.T) {
	m := Memory{Spread: math.Log(1.018) / 1.645, Tail: 0.002}
	first, all := m.reaches(77, 80), m.later(77, 80)
	near(t, "first step", 1/first, 4700, 50)
	near(t, "later", 1/(all-first), 2800, 80)
	near(t, "margin", m.Margin(0.05, 0.001), 1.035, 5e-4)
}
