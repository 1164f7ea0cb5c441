package estimate

import (
	"fmt"
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

// span is the 90 % range around a predicted step and what makes it wide. Its
// upper end counts with a step that slows for want of memory.
func (e *Evaluator) span(l *plan.Layout, x *plan.Execution, t units.Seconds, limit *plan.NearLimit) (ends [2]units.Seconds, why string) {
	var s uncertainty.Step
	e.Uncertain(l, x, &s)
	prior := e.Prior()
	ratio := prior.Ratio(&s)
	for i, r := range ratio.Range(0.9) {
		ends[i] = t * units.Seconds(r)
	}
	if limit != nil {
		ends[1] = t * units.Seconds(e.memory.Crowd().Upper(ratio, 0.95, limit.Probability))
	}
	worst, share := prior.Cause(&s)
	why = fmt.Sprintf("Least certain is %s, %.0f %% of the step.", worst.Words(), 100*share)
	if outside := uncertainty.Embedded().Of(e.job).Measured.Outside(e.job, l, e.runtime.Calibration.Time); len(outside) > 0 {
		why += " It lies beyond what was measured: " + strings.Join(outside, ", ") + "."
	}
	return ends, why
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
	t[uncertainty.Host] = c[lineHost]
	t[uncertainty.Overlap] = c[lineContention]
	t[uncertainty.PCIe] = c[lineOffload]
	t[uncertainty.Straggler] = c[lineStraggler]
	for _, exposed := range [...]struct {
		at   line
		over *collective.Group
	}{{lineTensor, g.tensor}, {lineContext, g.context}, {lineExpert, g.expert}, {lineState, g.shard}, {linePipeline, g.pipeline},
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
