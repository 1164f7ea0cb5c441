package estimate

import (
	"github.com/ndc-dev/ndc/compiler/compute"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/units"
)

// unscaled is what a chunk without delayed scaling ends with.
var unscaled pass

// amax is what delayed scaling ends a chunk with. After its forward pass, and again
// after its backward, the largest absolute values of its tensors are reduced over
// everybody who trains the same layers, and the compute stream waits for them
// (sources: docs/time.md, section "Delayed scaling").
func (e *Evaluator) amax(g *groups) *pass {
	if e.quantised != compute.FP8Delayed || g.amax.Size() == 1 {
		return &unscaled
	}
	const bytes units.Bytes = 64 // or some hundred: all of the time is latency
	p := &pass{}
	t := g.amax.AllReduce(bytes)
	p.forward, p.backward, p.exposed = t, t, 2*t
	p.lines[lineSmall] = 2 * t
	p.collectives.repeated(collectiveAmax, 2, 2*bytes, 2*t, 2*t)
	if e.factors != nil {
		e.factors.pass(p, g)
	}
	return p
}

// chunkOverhead is the host's time for the forward of a pipeline's chunk beside its
// layers': schedule, hand-over and the frame of the model. A graph of the whole step
// takes it away; where every launch is waited for, it is part of that.
func (e *Evaluator) chunkOverhead(l *plan.Layout, x *plan.Execution) units.Seconds {
	if l.PipelineParallel == 1 || x.CUDAGraphs == "full" || e.blocking {
		return 0
	}
	return e.hostChunk
}

// lateness is by how much the forward of a chunk is longer than its layers because
// the host, which launches them one after the other, has not come so far.
func (e *Evaluator) lateness(host, forward units.Seconds) units.Seconds {
	if e.step.hostChunk == 0 {
		return 0
	}
	t := max(0, host+e.step.hostChunk-forward)
	if e.factors != nil {
		t = e.factors[uncertainty.Host].Of(t)
	}
	return t
}
