package estimate

import (
	"fmt"
	"math"
	"strings"

	"github.com/ndc-dev/ndc/compiler/collective"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/units"
)

// Prior is how far predictions on the job's machine can be trusted.
func (e *Evaluator) Prior() *uncertainty.Prior {
	return uncertainty.For(e.job, e.runtime.Calibration.Time)
}

// MemoryDifference is the 90 % range of what the peak of a layout is more than that of another one,
// as a share of it.
func (e *Evaluator) MemoryDifference(of, over *plan.Peak) [2]float64 {
	return e.memory.Difference(of, over)
}

// Uncertain fills in what the uncertainty of a legal layout's step depends on.
// A pipeline that waits, waits for work like its own. It allocates nothing once
// the layout's terms are known.
func (e *Evaluator) Uncertain(l *plan.Layout, x *plan.Execution, out *uncertainty.Step) {
	s := e.run(l, x)
	work := e.waits(l)
	c := e.microBatchLines(l, s.busiest)
	out.Terms = s.g.terms(&c)
	times := units.Seconds(l.MicroBatches)
	if work > 0 {
		times += s.once[lineBubble] / work
	}
	once := s.g.terms(&s.once)
	for k := range out.Terms {
		out.Terms[k] = times*out.Terms[k] + once[k]
	}
	out.Terms = out.Terms.In(e.job.Training.Precision)
	out.Beyond = uncertainty.Embedded().Of(e.job).Measured.Beyond(l, e.model.SequenceLength)
}

// spread fills in the 90 % range of a predicted step and by how much longer it is
// expected to take on a cluster that nothing is known of, and says what makes the range
// wide. Its upper end counts with a step that slows for want of memory, and with a network
// that is slow enough for what hides behind compute to come out.
func (e *Evaluator) spread(l *plan.Layout, x *plan.Execution, of *plan.Time, limit *plan.NearLimit) (why string) {
	var s uncertainty.Step
	t := of.StepSeconds
	e.Uncertain(l, x, &s)
	prior := e.Prior()
	ratio := prior.Ratio(&s)
	above := prior.RatioBeside(&s, uncertainty.Network, e.hidden(l, x, &s, prior))
	of.UnmeasuredShare = units.Share(math.Expm1(ratio.Mean))
	of.StepRangeSeconds = [2]units.Seconds{t * units.Seconds(ratio.Quantile(0.05)), t * units.Seconds(above.Quantile(0.95))}
	if limit != nil {
		of.StepRangeSeconds[1] = t * units.Seconds(e.memory.Crowd().Upper(above, 0.95, limit.Probability))
	}
	worst, share := prior.Cause(&s)
	why = fmt.Sprintf("Least certain is %s, %.0f %% of the step%s.", worst.Words(), 100*share, repeated(worst, of))
	if without := ratio.Quantile(0.95); above.Quantile(0.95)-without > toldHidden {
		why += fmt.Sprintf(" Of what it may take longer, %.1f %% is communication that hides behind compute and would not on a slower network.",
			100*(above.Quantile(0.95)-without))
	}
	measured := &uncertainty.Embedded().Of(e.job).Measured
	if rate := measured.OneSource(e.job); rate != "" {
		why += " One source alone measured " + rate + "."
	}
	if outside := measured.Outside(e.job, l, e.runtime.Calibration.Time); len(outside) > 0 {
		why += " It lies beyond what was measured: " + strings.Join(outside, ", ") + "."
	}
	return why
}

// repeated says what the share of a term counts beside its own line of the breakdown.
func repeated(term uncertainty.Term, of *plan.Time) string {
	var parts []string
	for _, line := range of.Breakdown {
		switch {
		case line.Seconds < toldHidden*of.StepSeconds:
		case line.ID == lineNames[lineRecompute].id && term.Computes():
			parts = append(parts, "what is recomputed")
		case line.ID == lineNames[lineBubble].id && term != uncertainty.HostUpdate && term != uncertainty.Straggler:
			parts = append(parts, "its part of the pipeline bubble")
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " with " + strings.Join(parts, " and ")
}

// toldHidden is by what share of a step hidden communication raises the upper end of its
// range where that is worth a sentence, and the least share of a line that is told.
const toldHidden = 0.01

// hidden is how much longer a step takes for each e-fold by which the network between
// nodes is slower than it is taken to be, in logarithms and beside what is exposed
// of it already. It is that between the network that is predicted and one that is slower
// by the 90 % range of its error.
func (e *Evaluator) hidden(l *plan.Layout, x *plan.Execution, s *uncertainty.Step, p *uncertainty.Prior) float64 {
	slower := uncertainty.Deviations(0.95) * math.Sqrt(p.Covariance[uncertainty.Network][uncertainty.Network])
	if slower == 0 || e.job.Cluster.Network.Bandwidth == 0 {
		return 0
	}
	j := *e.job
	j.Cluster.Network.Bandwidth /= units.BytesPerSecond(math.Exp(slower))
	total := e.run(l, x).total
	exposed := total + s.Terms[uncertainty.Network]*units.Seconds(math.Expm1(slower))
	return max(0, math.Log(float64(NewWith(&j, e.target, e.parameters).Step(l, x)/exposed))/slower)
}

// microBatchLines is the breakdown of one micro-batch on a pipeline rank.
func (e *Evaluator) microBatchLines(l *plan.Layout, rank int) (c costs) {
	e.each(l, rank, func(times int, p *pass) { c.add(units.Seconds(times), &p.lines) })
	return c
}

// terms puts a breakdown, but for its bubble, into terms. Repeated passes spend
// their time as the first ones do.
func (g *groups) terms(c *costs) uncertainty.Terms {
	var t uncertainty.Terms
	t[uncertainty.Linear] = c[lineLinear] + c[lineHead]
	t[uncertainty.Grouped] = c[lineExperts]
	t[uncertainty.Attention] = c[lineAttention]
	t[uncertainty.Bandwidth] = c[lineMemoryBound]
	if compute := t.Sum(); compute > 0 {
		for k := range t {
			t[k] *= 1 + c[lineRecompute]/compute
		}
	}
	t[uncertainty.Bandwidth] += c[lineOptimizer]
	t[uncertainty.HostUpdate] = c[lineHostUpdate]
	t[uncertainty.Host] = c[lineHost]
	t[uncertainty.Overlap] = c[lineContention]
	t[uncertainty.PCIe] = c[lineOffload]
	t[uncertainty.Straggler] = c[lineStraggler]
	for _, exposed := range [...]struct {
		at   line
		over *collective.Group
	}{{lineTensor, g.tensor}, {lineContext, g.context()}, {lineExpert, g.expert}, {lineState, g.shard}, {linePipeline, g.pipeline},
		{lineGradients, g.data}, {lineParameters, g.shard}, {lineSmall, g.world}} {
		if c[exposed.at] != 0 {
			t[termOver(exposed.over)] += c[exposed.at]
		}
	}
	return t
}

// termOver is the term of communication over a group.
func termOver(g *collective.Group) uncertainty.Term {
	switch g.Link() {
	case collective.LinkNVLink, collective.LinkSelf:
		return uncertainty.NVLink
	case collective.LinkPCIe:
		return uncertainty.PCIe
	}
	return uncertainty.Network
}
