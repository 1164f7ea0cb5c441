package uncertainty

import (
	"math"

	"github.com/ndc-dev/ndc/compiler/plan"
)

// Memory is what is uncertain about the memory that the fullest rank of a layout
// needs, beside its prediction. All ranks share the error of the model; what
// steps after the first ones need more is their own.
type Memory struct {
	Spread float64 // of the logarithm of needed over predicted memory
	Growth float64 // share that some rank in some later step needs more, at least
	Tail   float64 // mean of the share that it needs beyond, which is exponential
}

// Phases are the predictions for the phases of a run, in bytes of a GPU: the
// state that exists before the first step, the passes of a step, and its update.
type Phases struct{ Start, Passes, Update float64 }

// reaches is the probability that a need of some bytes lies beyond a capacity.
func (m *Memory) reaches(need, capacity float64) float64 {
	if need <= 0 || capacity <= 0 {
		return 0
	}
	return beyond(math.Log(capacity/need), m.Spread)
}

// later is the probability that it does so with what later steps need more: the
// sum of a normal and an exponential variable lies beyond a number (Grushka
// 1972, exponentially modified Gaussian).
func (m *Memory) later(need, capacity float64) float64 {
	if need <= 0 || capacity <= 0 {
		return 0
	}
	left := math.Log(capacity/need) - m.Growth
	p := beyond(left, m.Spread)
	if m.Tail <= 0 {
		return p
	}
	return min(1, p+m.tailed(left))
}

// far is from how many spreads on a probability is told by its asymptote; some beyond,
// floating point has none.
const far = 30

// tailed is what the tail adds to the probability that a need lies a number beyond.
func (m *Memory) tailed(left float64) float64 {
	k := m.Spread / m.Tail
	if z := k - left/m.Spread; m.Spread > 0 && z >= far { // exp(k²/2 − left/tail) times the density at z is that at left
		at := left / m.Spread
		return math.Exp(-at*at/2) / (z * math.Sqrt(2*math.Pi)) * (1 - 1/(z*z))
	}
	if c := beyond(m.Spread*k-left, m.Spread); c > 0 {
		return math.Exp(k*k/2 - left/m.Tail + math.Log(c))
	}
	return 0
}

// beyond is the probability that a normal variable around zero lies beyond a
// number.
func beyond(number, spread float64) float64 {
	if spread == 0 {
		if number < 0 {
			return 1
		}
		return 0
	}
	return cumulative(-number / spread)
}

// Exhausted are the probabilities that some rank has run out of a capacity by
// the end of each phase. Evaluation runs forward alone and saving stages on the
// host: neither adds to what steps need.
func (m *Memory) Exhausted(p Phases, capacity float64) plan.OOMProbability {
	first := max(p.Start, p.Passes)
	update := max(first, p.Update)
	o := plan.OOMProbability{Start: m.reaches(p.Start, capacity), FirstStep: m.reaches(first, capacity), Optimizer: m.reaches(update, capacity)}
	o.Steady = max(o.Optimizer, m.later(update, capacity))
	for _, p := range []*float64{&o.Start, &o.FirstStep, &o.Optimizer, &o.Steady} {
		*p = math.Round(*p*1e6) / 1e6 // finer than anybody knows
	}
	o.Evaluation, o.Save, o.Any = o.Steady, o.Steady, o.Steady
	return o
}

// Crowd is what is known of steps that take several times as long because the
// GPU's memory is nearly full, which the allocator's work and its retries cost.
type Crowd struct {
	From    float64 // share of the GPU's memory that such runs showed, or more
	Chance  float64 // that a run beyond slows
	Times   float64 // as long as others a slowed step takes, at the median
	Scatter float64 // standard deviation of that one's logarithm
}

// mostCertain is by how many spreads memory stays below [Crowd.From] where
// nothing is asked any more: once in 4,300 times it does not suffice.
const mostCertain = 3.5

// Slows is the probability that a step slows on a GPU of a capacity whose need is
// predicted, zero well below.
func (c *Crowd) Slows(m *Memory, need, capacity float64) float64 {
	if need <= 0 || capacity <= 0 || c.Chance == 0 {
		return 0
	}
	left := math.Log(c.From * capacity / need)
	if left > mostCertain*m.Spread {
		return 0
	}
	return math.Round(c.Chance*beyond(left, m.Spread)*1e6) / 1e6
}

// Expected is the expectation of how many times as long a step takes that slows
// with a probability.
func (c *Crowd) Expected(slows float64) float64 {
	more := math.Expm1(math.Log(c.Times) + c.Scatter*c.Scatter/2)
	return 1 + float64(slows*more)
}

// Upper is the ratio below which a step's time over its prediction lies with a
// probability, where the step slows with another one.
func (c *Crowd) Upper(n Normal, probability, slows float64) float64 {
	slowed := Normal{n.Mean + math.Log(c.Times), math.Hypot(n.Spread, c.Scatter)}
	low, high := n.Quantile(probability), slowed.Quantile(probability)
	for range 60 {
		at := (low + high) / 2
		if float64((1-slows)*n.Below(at))+float64(slows*slowed.Below(at)) < probability {
			low = at
		} else {
			high = at
		}
	}
	return high
}

// Margin is the least capacity, over the largest prediction, at which a run ends
// out of memory in its first step with no more than one probability, and after
// it with no more than another, both below a half. A search asks it of every layout
// whose experts vary. Over the logarithm of the capacity that of the excess is nearly
// straight, so that the place where a line through both ends of a bracket crosses zero is
// tried next. An end that stays counts half, so that the other one moves (Dowell and
// Jarratt 1971, the Illinois method); every fourth time, and where an end is infinite, it is
// the middle. It always is where later steps may end as many runs as are left by the first: below
// a capacity that suffices there may be a smaller one that does, too, and one between that does not.
func (m *Memory) Margin(start, run float64) float64 {
	low, high := 0.0, 20*m.Spread+m.Growth+50*m.Tail
	below, above := m.excess(low, start, run), m.excess(high, start, run)
	if below <= 0 {
		return 1
	}
	straight := 2*start+run < 1
	var last float64 // the sign of the excess that was found last
	for i := 1; i < 200 && high-low > bracketed; i++ {
		at := high - above*(high-low)/(above-below)
		if !(at > low && at < high) || i%4 == 0 || !straight {
			at = (low + high) / 2
		}
		found := m.excess(at, start, run)
		if found > 0 {
			low, below = at, found
			if last > 0 {
				above /= 2
			}
		} else {
			high, above = at, found
			if last < 0 {
				below /= 2
			}
		}
		last = math.Copysign(1, found)
		if found == 0 {
			break
		}
	}
	return math.Exp(high)
}

// bracketed is how closely a margin is told, well below the digits to which it is rounded.
const bracketed = 1e-13

// excess is the logarithm of how many times as probable as the limits allow it is, at the
// most, that a run ends out of memory on a capacity, which is given by its logarithm over
// the largest prediction.
func (m *Memory) excess(at, start, run float64) float64 {
	capacity := math.Exp(at)
	first := m.reaches(1, capacity)
	times := 0.0
	for _, p := range [...]struct{ is, most float64 }{{first, start}, {m.later(1, capacity) - first, run}} {
		if p.is > 0 {
			times = max(times, p.is/p.most)
		}
	}
	return math.Log(times)
}

// Bound is never below [Memory.Margin] and quickly told: as many spreads and as many
// tails as either is beyond with half of a probability.
type Bound struct{ spreads, tails float64 }

// BoundOf is the bound for two probabilities.
func BoundOf(start, run float64) Bound {
	return Bound{spreads: max(0, Deviations(1-start), Deviations(1-run/2)), tails: math.Log(2 / run)}
}

// Margin is the bound of a rank's.
func (b Bound) Margin(m *Memory) float64 {
	return math.Exp(float64(b.spreads*m.Spread) + m.Growth + float64(b.tails*m.Tail))
}
