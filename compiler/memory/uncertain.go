package memory

import (
	"math"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/units"
)

// phases is what the fullest rank holds on the device in each phase, in bytes.
type phases uncertainty.Phases

// cover widens the phases by a stage.
func (p *phases) cover(m *Model, e *evaluation, s *stageMemory) {
	at := *s
	for _, phase := range [...]struct {
		most *float64
		sum  int64
		loss int64
	}{{&p.Start, s.state, 0}, {&p.Passes, s.passes, s.loss}, {&p.Update, s.update, s.loss}} {
		at.sum, at.loss = phase.sum, phase.loss
		*phase.most = max(*phase.most, m.device(e, &at))
	}
}

// uncertain prepares what all layouts of a job share: the margin that its limits
// on running out of memory ask for.
func (m *Model) uncertain() {
	spread := uncertainty.Memory{Spread: m.overhead.spread, Tail: m.overhead.growth}
	limits := m.job.Constraints.MaxOOMProbability
	m.margin, m.bound = units.Rounded(spread.Margin(limits.Limits())), uncertainty.BoundOf(limits.Limits())
	if m.job.Model.MoE != nil {
		m.router, m.expertLayers = m.routing(), m.layersOfExperts()
	}
}

// judge says how uncertain the peak of a layout is and what has to be usable for
// it. Imbalance is left out of a peak that is not of all ranks: it compares the
// peak with another one that is.
func (m *Model) judge(e *evaluation, p *phases, out *Peak, whole bool) {
	out.Phases = uncertainty.Phases(*p)
	varies := 0.0
	if whole {
		varies = m.varies(e)
	}
	out.Uncertain = m.spreads(e, 0, 0)
	margin := m.margin
	if (varies > 0 || out.unpublished > 0) && m.close(e, out, varies) {
		if varies > 0 {
			varies = float64(varies * m.share(e, out.Device))
		}
		out.Uncertain = m.spreads(e, varies, out.unpublished)
		margin = units.Rounded(out.Uncertain.Margin(m.job.Constraints.MaxOOMProbability.Limits()))
	}
	out.Slows = m.overhead.crowd.Slows(&uncertainty.Memory{Spread: m.overhead.spread}, float64(out.Device), float64(m.job.Cluster.GPU.Memory))
	if out.Slows > 0 {
		out.Slower = units.Rounded(m.overhead.crowd.Expected(out.Slows)) - 1
	}
	// Beyond int64 processors convert differently; nothing has an exbibyte.
	out.Needed = units.Bytes(min(1<<60, math.Ceil(float64(max(p.Passes, p.Update)*margin))))
}

// spreads is how uncertain the memory of a rank is that varies from one step to the
// next by a share of it, and of which another share was never published.
func (m *Model) spreads(e *evaluation, skew, unpublished float64) uncertainty.Memory {
	u := uncertainty.Memory{Spread: m.overhead.spread, Tail: m.overhead.growth}
	if unpublished > 0 {
		u.Spread = math.Hypot(u.Spread, math.Log1p(unpublished)/uncertainty.Deviations(0.95))
	}
	if skew > 0 {
		extreme := math.Sqrt(2 * math.Log(float64(e.l.GPUs()*max(2, m.job.Training.Steps))))
		u.Growth = float64(skew * extreme)
		u.Tail += skew / extreme
	}
	return u
}

// Crowd is what is known of steps that slow for want of memory.
func (m *Model) Crowd() *uncertainty.Crowd { return &m.overhead.crowd }

// Difference is the 90 % range of what the peak of a layout of the job is more than that of another
// one, as a share of it. They share a part of the variance of their errors, by which both are off to
// the same side; of the rest the logarithms of the two ranges add as those of independent errors do.
func (m *Model) Difference(of, over *plan.Peak) [2]float64 {
	apart := func(a, b units.Bytes) float64 { return math.Log(float64(a) / float64(b)) }
	ends := func(p *plan.Peak) (down, up float64) {
		return apart(p.DeviceBytes, p.DeviceRangeBytes[0]), apart(p.DeviceRangeBytes[1], p.DeviceBytes)
	}
	shared := m.overhead.shared
	spread := func(own, other, same float64) float64 {
		return math.Sqrt(float64((1-shared)*(float64(own*own)+float64(other*other))) + float64(shared*(own-same)*(own-same)))
	}
	down, up := ends(of)
	overDown, overUp := ends(over)
	at := apart(of.DeviceBytes, over.DeviceBytes)
	low, high := at-spread(down, overUp, overDown), at+spread(up, overDown, overUp)
	return [2]float64{units.RoundedTo(math.Exp(low)-1, 1), units.RoundedTo(math.Exp(high)-1, 1)}
}

// near is the share of the usable memory from which on imbalance, and what nobody
// published, is always looked at.
const near = 0.8

// close reports whether what a peak varies by, if all of it did, and what nobody
// published can matter: the peak fits, and is near to the usable memory, or would
// not fit with them.
func (m *Model) close(e *evaluation, out *Peak, varies float64) bool {
	usable, device := float64(m.job.UsableMemory()), float64(out.Device)
	if device > usable {
		return false
	}
	if device >= float64(near*usable) {
		return true
	}
	most := m.spreads(e, varies, out.unpublished)
	return float64(device*units.Rounded(m.bound.Margin(&most))) > usable
}

// varies is the spread of what a rank's experts get from one step to the next, as a
// share of it, because routers favour some experts. The loads of experts and layers are
// taken to be independent, so that the largest of many ranks and steps is that of
// so many normal numbers (√(2 ln n) spreads, with an exponential tail of
// 1/√(2 ln n); Embrechts et al. 1997, Modelling Extremal Events, section 3.3).
// Nothing varies where tokens are dropped, or where experts have buffers of a fixed
// size.
func (m *Model) varies(e *evaluation) float64 {
	moe := m.job.Model.MoE
	if moe == nil || moe.TokenDrop || m.balanced || m.static(e.x) {
		return 0
	}
	return m.uneven(e) / math.Sqrt(max(1, float64(m.expertLayers)/float64(e.l.PipelineParallel)))
}

// share is how much of a rank's memory grows with the tokens of its experts.
func (m *Model) share(e *evaluation, device units.Bytes) float64 {
	if m.skewed == nil {
		m.skewed = m.busier()
	}
	const busier = 0.1
	return min(1, max(0, (float64(m.skewed.Peak(e.l, e.x).Device)/float64(device)-1)/busier))
}

// layersOfExperts counts the layers that have experts.
func (m *Model) layersOfExperts() (layers int) {
	for k := range m.arch.Kinds() {
		if m.arch.Kinds()[k].MoE {
			layers += m.arch.Count(k, 0, m.arch.Model.Layers)
		}
	}
	return layers
}

// uneven is the spread of what a rank's experts get in one layer and micro-batch, as
// a share of the mean.
func (m *Model) uneven(e *evaluation) float64 {
	moe := m.job.Model.MoE
	s := program.ShapeOf(e.l)
	return m.router.Rank(m.exchanged(&s), moe.Experts, moe.TopK, moe.Experts/e.l.ExpertParallel)
}

// exchanged is the number of tokens of a micro-batch that the ranks of an expert
// group exchange.
func (m *Model) exchanged(s *program.Shape) float64 {
	return float64(s.MicroBatch*m.arch.Model.SequenceLength*s.ExpertParallel*s.ExpertTensorParallel) / float64(s.ContextParallel*s.TensorParallel)
}

// expertRows is how full buffers of a fixed size get: the largest load of any rank
// in any layer, by the same normal numbers as above or as the job knows it, and half
// the padding of each expert. nil where there are none.
func (m *Model) expertRows(e *evaluation) *plan.ExpertRows {
	if !m.static(e.x) {
		return nil
	}
	moe, fixed := m.job.Model.MoE, &m.runtime.Experts.Static
	s := program.ShapeOf(e.l)
	mean := m.exchanged(&s) * float64(moe.TopK) / float64(e.l.ExpertParallel)
	padding := float64(moe.Experts/e.l.ExpertParallel*fixed.RowMultiple) / 2 / mean
	load := moe.LoadImbalance
	if load <= 1 {
		ranks := e.l.ExpertParallel * m.expertLayers
		load = 1 + float64(m.uneven(e)*math.Sqrt(2*math.Log(float64(max(2, ranks)))))
	}
	return &plan.ExpertRows{Buffer: fixed.Capacity, Busiest: units.Rounded(load + padding)}
}

// routing is how unevenly the job's router loads experts. One that starts at
// random has to learn first, which is when it loads them the most unevenly: no bias
// has found its value yet, and no loss has worked.
func (m *Model) routing() uncertainty.Routing {
	balanced := overheads["imbalance/"+m.job.Model.MoE.Router.Balance]
	if from := m.job.Training.Start.From; from == "" || from == "scratch" {
		return uncertainty.Routing(max(balanced, overheads["imbalance_young"]))
	}
	return uncertainty.Routing(balanced)
}

// busier is the model with a tenth more tokens for the busiest rank's experts.
func (m *Model) busier() *Model {
	j := *m.job
	moe := *j.Model.MoE
	moe.LoadImbalance = float64(max(1, moe.LoadImbalance) * 1.1)
	j.Model.MoE = &moe
	out := New(&j, m.target)
	out.balanced = true
	return out
}
