package estimate

import (
	"fmt"
	"math"

	"github.com/ndc-dev/ndc/compiler/collective"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/units"
)

// sections are where docs/time.md has the formulas of the lines.
var sections = [lines]string{
	lineLinear: "gemms", lineExperts: "gemms", lineAttention: "attention", lineMemoryBound: "memory-bound-kernels", lineHead: "embedding-head-and-loss",
	lineRecompute: "recompute", lineHost: "host", lineContention: "communication-inside-a-layer", lineOffload: "offload", lineOptimizer: "once-per-step", lineHostUpdate: "once-per-step",
	lineTensor: "communication-inside-a-layer", lineContext: "communication-inside-a-layer", lineExpert: "communication-inside-a-layer", lineState: "sharded-state",
	linePipeline: "pipeline", lineGradients: "sharded-state", lineParameters: "sharded-state", lineSmall: "once-per-step", lineBubble: "pipeline", lineStraggler: "once-per-step",
}

// MemoryTerms takes the ledger of a pipeline stage of a legal layout apart.
func (e *Evaluator) MemoryTerms(l *plan.Layout, x *plan.Execution, stage int) []plan.Term {
	return e.memory.Terms(l, x, stage)
}

// TimeTerms takes the breakdown of a legal layout's step apart: what every
// micro-batch takes on the busiest rank, and what comes once.
func (e *Evaluator) TimeTerms(l *plan.Layout, x *plan.Execution) []plan.Term {
	d := e.Describe(l, x)
	s := e.run(l, x)
	work := e.waits(l)
	each := e.microBatchLines(l, s.busiest)
	prior := e.Prior()
	micro := units.Count(l.MicroBatches, "micro-batch")
	var list []plan.Term
	for _, part := range d.Time.Breakdown {
		at := lineNamed(part.ID)
		t := plan.Term{Name: part.Name, Amount: float64(part.Seconds), Section: "docs/time.md#" + sections[at]}
		once := s.once[at]
		switch {
		case at == lineBubble:
			t.Formula = fmt.Sprintf("%.4g s of the pipeline without transfers - %s · %.4g s", float64(once+units.Seconds(l.MicroBatches)*work), micro, float64(work))
		case at == lineStraggler:
			t.Formula = fmt.Sprintf("%.3g · ln %d · %.4g s of the pipeline", e.straggler, l.GPUs(), float64(s.pipeline))
		case each[at] != 0 && once != 0:
			t.Formula = fmt.Sprintf("%s · %.4g s + %.4g s once", micro, float64(each[at]), float64(once))
		case each[at] != 0:
			t.Formula = fmt.Sprintf("%s · %.4g s on rank %d of the pipeline", micro, float64(each[at]), s.busiest)
		default:
			t.Formula = "once per step"
		}
		if term, ok := termOf(at, s.g); ok {
			n := uncertainty.Normal{Mean: prior.Mean[term], Spread: math.Sqrt(prior.Covariance[term][term])}
			t.Error = n.Range(0.9)
		}
		list = append(list, t)
	}
	return list
}

// lineNamed is the line of an id.
func lineNamed(id string) line {
	for i := range lineNames {
		if lineNames[i].id == id {
			return line(i)
		}
	}
	panic("estimate: no line " + id)
}

// termOf is the term whose error a line has; recompute and bubble have those of the
// work that they repeat or wait for.
func termOf(at line, g *groups) (uncertainty.Term, bool) {
	switch at {
	case lineRecompute, lineBubble:
		return 0, false
	}
	var c costs
	c[at] = 1
	for k, t := range g.terms(&c) {
		if t > 0 {
			return uncertainty.Term(k), true
		}
	}
	return 0, false
}

// Routes says how the collectives of a legal layout travel.
func (e *Evaluator) Routes(l *plan.Layout, x *plan.Execution, list []plan.Communication) []plan.Route {
	s := e.run(l, x)
	_, traffic := e.busiest(l, s)
	var routes []plan.Route
	for _, c := range list {
		for kind := range collectiveKinds {
			if n := collectiveNames[kind]; n.group != c.Group || n.collective != c.Collective {
				continue
			}
			g := s.g.of(kind)
			op := collective.Named(c.Collective)
			way := e.topology.Way(op, g.Size(), g.Stride())
			routes = append(routes, plan.Route{Communication: c, Size: g.Size(), Algorithm: way.Algorithm, Why: way.Why, Latency: way.Latency, Bandwidth: way.Bandwidth,
				Messages: e.messages(op, g), Calls: traffic[kind].known()})
			break
		}
	}
	return routes
}

// Kinds says what every kind of collective would take over all ranks of a layout, also those
// that no step has: a start broadcasts, a save may gather.
func (e *Evaluator) Kinds(l *plan.Layout) []plan.Route {
	g := e.group(l.GPUs(), 1)
	var routes []plan.Route
	for _, op := range collective.Operations {
		if list := e.messages(op, g); list != nil {
			routes = append(routes, plan.Route{Communication: plan.Communication{Group: "world", Collective: op.Word(), Link: g.Link()}, Size: g.Size(), Messages: list})
		}
	}
	return routes
}

// messageSizes are those that are shown: from what a norm sends to the gradients of a
// large layer.
var messageSizes = []units.Bytes{64 << 10, 1 << 20, 16 << 20, 256 << 20, 4 << 30}

// messages are what messages of a few sizes take in a group.
func (e *Evaluator) messages(op collective.Operation, g *collective.Group) []plan.Message {
	if g.Size() <= 1 {
		return nil
	}
	var list []plan.Message
	for _, bytes := range messageSizes {
		m := plan.Message{Bytes: bytes, Estimated: g.Time(op, bytes)}
		for _, a := range e.topology.Algorithms(op, g.Size(), g.Stride(), bytes) {
			m.Algorithms = append(m.Algorithms, plan.Algorithm(a))
		}
		list = append(list, m)
	}
	return list
}
