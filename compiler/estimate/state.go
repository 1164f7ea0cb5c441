package estimate

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/units"
)

// policy is what an engine gathers and reduces with every micro-batch instead
// of once per step.
type policy struct {
	gatherForward, gatherBackward, reduce bool
}

// policyOf reads the engine's habits. FSDP2 in torchtitan has no no_sync:
// without pipeline stages every micro-batch gathers and reduces; under
// pipelining the stage reduces with its last micro-batch only. DeepSpeed
// reduces per micro-batch from ZeRO-2 on and gathers in ZeRO-3. Megatron's
// distributed optimizer does neither; Megatron-FSDP follows its ZeRO stage.
func (e *Evaluator) policyOf(l *plan.Layout, x *plan.Execution) policy {
	switch e.target.Engine {
	case target.FSDP2:
		piped := l.PipelineParallel > 1
		return policy{gatherForward: l.ZeroStage >= 2 && (!piped || l.ZeroStage == 3), gatherBackward: l.ZeroStage == 3, reduce: !piped}
	case target.DeepSpeed:
		return policy{gatherForward: l.ZeroStage == 3, gatherBackward: l.ZeroStage == 3, reduce: l.ZeroStage >= 2}
	}
	full := x.FullySharded
	return policy{gatherForward: full && l.ZeroStage == 3, gatherBackward: full && l.ZeroStage == 3, reduce: full && l.ZeroStage >= 2}
}

// sharder adds state communication to passes.
type sharder struct {
	e *Evaluator
	l *plan.Layout
	x *plan.Execution
	g *groups
	policy
}

// chargeAll adds the gathers and reductions of sharded state to every pass.
// What one layer communicates runs behind the compute of its neighbour, which
// is taken to be as long as its own; the first gather and the last reduction of
// a micro-batch have nothing to hide behind and are charged to the embedding.
func (s *sharder) chargeAll(t *layerTable) {
	for i := range t.layers {
		s.charge(&t.layers[i])
	}
	s.charge(&t.mtp)
	s.charge(&t.head)
	s.first(&t.embedding, &t.layers[0])
}

// charge adds a pass's own gathers and reduction, hidden where it can be.
func (s *sharder) charge(p *pass) {
	if s.gatherForward {
		t := s.gather(p, s.g.shard)
		s.hide(p, &p.forward, t, s.x.OverlapParameterGather)
	}
	var back units.Seconds
	if s.gatherBackward {
		back += s.gather(p, s.g.hpz)
	}
	if s.reduce {
		back += s.reduction(p)
	}
	s.hide(p, &p.backward, back, s.x.OverlapGradientReduce)
}

// hide puts communication behind the pass's own compute, if the framework
// overlaps it at all, and what is left on the critical path.
func (s *sharder) hide(p *pass, side *units.Seconds, t units.Seconds, overlap bool) {
	hidden := units.Seconds(0)
	if overlap {
		hidden = min(t, *side)
	}
	slow := units.Seconds(s.e.contention) * hidden
	p.lines[lineState] += t - hidden
	p.lines[lineContention] += slow
	*side += t - hidden + slow
}

// first charges the embedding: its own gather and reduction and one layer's.
func (s *sharder) first(embedding, layer *pass) {
	if s.gatherForward {
		t := s.gather(embedding, s.g.shard) + s.gather(&pass{elements: layer.elements}, s.g.shard)
		s.hide(embedding, &embedding.forward, t, false)
	}
	if s.reduce {
		t := s.reduction(embedding) + s.reduction(&pass{elements: layer.elements})
		s.hide(embedding, &embedding.backward, t, false)
	}
}

// gather is the time to collect a pass's parameters in the compute precision.
func (s *sharder) gather(p *pass, dense interface {
	AllGather(units.Bytes) units.Seconds
}) units.Seconds {
	w := s.e.parameterBytes()
	d, x := units.Bytes(w*float64(p.elements.Dense)), units.Bytes(w*float64(p.elements.Expert))
	t := dense.AllGather(d)
	if s.x.OffloadParameters {
		t += s.e.overPCIe(float64(d) / float64(s.g.shard.Size()))
	}
	p.load.put(channelShardGather, d, t, 0)
	if x > 0 {
		te := s.g.expertShard.AllGather(x)
		p.load.put(channelExpertShardGather, x, te, 0)
		t += te
	}
	return t
}

// reduction is the time to reduce-scatter a pass's gradients over the shards
// and to all-reduce what is left over the replicas.
func (s *sharder) reduction(p *pass) units.Seconds {
	return s.e.reduce(&p.load, s.g, p.elements, bytesOf(s.x.GradientDType), s.l.ZeroStage)
}

// reduce is a sharded gradient reduction of elements of width bytes.
func (e *Evaluator) reduce(into *load, g *groups, n program.Elements, width float64, stage int) units.Seconds {
	d, x := units.Bytes(width*float64(n.Dense)), units.Bytes(width*float64(n.Expert))
	if e.target.AllReducesShards && stage < 3 {
		return e.allReduce(into, g, d, x)
	}
	t := g.shard.ReduceScatter(d)
	into.put(channelShardReduce, d, t, 0)
	if g.replica.Size() > 1 {
		part := d / units.Bytes(g.shard.Size())
		r := g.replica.AllReduce(part)
		into.put(channelReplicaReduce, part, r, 0)
		t += r
	}
	if x == 0 {
		return t
	}
	te := g.expertShard.ReduceScatter(x)
	into.put(channelExpertShardReduce, x, te, 0)
	t += te
	if g.expertReplica.Size() > 1 {
		part := x / units.Bytes(g.expertShard.Size())
		r := g.expertReplica.AllReduce(part)
		into.put(channelExpertReplicaReduce, part, r, 0)
		t += r
	}
	return t
}

// allReduce leaves all gradients on all ranks.
func (e *Evaluator) allReduce(into *load, g *groups, dense, experts units.Bytes) units.Seconds {
	t := g.shard.AllReduce(dense)
	into.put(channelShardAllReduce, dense, t, 0)
	if experts > 0 {
		te := g.expertShard.AllReduce(experts)
		into.put(channelExpertReplicaReduce, experts, te, 0)
		t += te
	}
	return t
}

// parameterBytes is the width in which parameters are gathered.
func (e *Evaluator) parameterBytes() float64 {
	if e.job.Training.FP8.ParameterGather {
		return 1
	}
	if e.job.Training.Precision == "fp32" {
		return 4
	}
	return 2
}
