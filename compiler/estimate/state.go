package estimate

import (
	"github.com/ndc-dev/ndc/compiler/compute"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/compiler/schedule"
	"github.com/ndc-dev/ndc/lang/units"
)

// fsdp adds the communication of fully sharded state to passes: what every
// micro-batch gathers and reduces.
type fsdp struct {
	e *Evaluator
	l *plan.Layout
	x *plan.Execution
	g *groups
	runtime.PerMicroBatch
}

// communicate adds the gathers and reductions of sharded state to every pass.
// What one layer communicates runs behind the compute of its neighbour, which
// is taken to be as long as its own; the first gather and the last reduction of
// a micro-batch have nothing to hide behind and are charged to the embedding.
func (s *fsdp) communicate(t *layerTable) {
	for i := range t.layers {
		s.pass(&t.layers[i], inBase(i))
	}
	s.pass(&t.mtp, s.e.quantised == compute.NVFP4)
	s.pass(&t.head, true)
	s.first(&t.embedding, &t.layers[0])
}

// pass adds a pass's own gathers and reduction, hidden where it can be. Parameters in
// the base type are gathered in it.
func (s *fsdp) pass(p *pass, base bool) {
	forward, backward := s.gathers()
	if forward {
		t := s.gather(p, s.g.shard, base)
		s.hide(p, &p.forward, t, s.x.OverlapParameterGather)
	}
	var back units.Seconds
	if backward {
		back += s.gather(p, s.g.hpz, base)
	}
	if s.Reduce {
		back += s.reduction(p)
	}
	s.hide(p, &p.backward, back, s.x.OverlapGradientReduce)
}

// gathers reports which passes of a micro-batch gather parameters. Where a backward pass of
// a pipeline leaves them gathered, the next pass of the chunk finds them: a forward pass that
// takes turns with backward ones, or in GPipe all backward passes but the first.
func (s *fsdp) gathers() (forward, backward bool) {
	forward, backward = s.GatherForward, s.GatherBackward
	if forward && backward && s.l.PipelineParallel > 1 && s.e.runtime.Sharding.LeavesGathered {
		phased := s.l.PipelineSchedule == plan.ScheduleGPipe
		return phased, !phased
	}
	return forward, backward
}

// hide puts communication behind the pass's own compute, if the framework
// overlaps it at all, and what is left on the critical path.
func (s *fsdp) hide(p *pass, side *units.Seconds, t units.Seconds, overlap bool) {
	var hidden, slow units.Seconds
	if overlap {
		hidden, slow = min(t, *side), slowed(t, *side, s.e.contention)
	}
	p.lines[lineState] += t - hidden
	p.lines[lineContention] += slow
	*side += t - hidden + slow
}

// first charges the embedding: its own gather and reduction and one layer's.
func (s *fsdp) first(embedding, layer *pass) {
	if s.GatherForward {
		t := s.gather(embedding, s.g.shard, true) + s.gather(&pass{elements: layer.elements}, s.g.shard, false)
		s.hide(embedding, &embedding.forward, t, false)
	}
	if s.Reduce {
		t := s.reduction(embedding) + s.reduction(&pass{elements: layer.elements})
		s.hide(embedding, &embedding.backward, t, false)
	}
}

// gather is the time to collect a pass's parameters in the compute precision, or in the
// base type.
func (s *fsdp) gather(p *pass, dense interface {
	AllGather(units.Bytes) units.Seconds
}, base bool) units.Seconds {
	w, wx, plain := s.e.parameterBytes(s.x)
	if base {
		w, wx = plain, plain
	}
	d, x := units.Bytes(w*float64(p.elements.Dense)), units.Bytes(wx*float64(p.elements.Expert))
	t := dense.AllGather(d)
	if s.x.OffloadParameters {
		t += s.e.overPCIe(float64(d) / float64(s.g.shard.Size()))
	}
	p.collectives.put(collectiveShardGather, d, t, 0)
	if x > 0 {
		te := s.g.expertShard.AllGather(x)
		p.collectives.put(collectiveExpertShardGather, x, te, 0)
		t += te
	}
	return t
}

// reduction is the time to reduce-scatter a pass's gradients over the shards
// and to all-reduce what is left over the replicas, where every micro-batch does.
func (s *fsdp) reduction(p *pass) units.Seconds {
	t := s.e.reduce(&p.collectives, s.g, p.elements, s.l, s.x)
	if !s.e.runtime.ShardingOf(s.x).ReplicasOnce {
		t += s.e.overReplicas(&p.collectives, s.g, p.elements, s.l, s.x)
	}
	return t
}

// reduce is a sharded reduction of the gradients of elements.
func (e *Evaluator) reduce(into *collectives, g *groups, n program.Elements, l *plan.Layout, exec *plan.Execution) units.Seconds {
	d, x := gradientBytes(n, exec)
	if e.reducesWhole(l, exec) {
		return e.allReduce(into, g, d, x)
	}
	t := g.shard.ReduceScatter(d)
	into.put(collectiveShardReduce, d, t, 0)
	if x > 0 {
		te := g.expertShard.ReduceScatter(x)
		into.put(collectiveExpertShardReduce, x, te, 0)
		t += te
	}
	return t
}

// gradientBytes are the gradients of elements, and those of experts.
func gradientBytes(n program.Elements, x *plan.Execution) (dense, experts units.Bytes) {
	width := x.GradientBytes()
	return units.Bytes(width * float64(n.Dense)), units.Bytes(width * float64(n.Expert))
}

// reducesWhole reports whether every rank gets all gradients of a sharded reduction.
func (e *Evaluator) reducesWhole(l *plan.Layout, x *plan.Execution) bool {
	p := e.runtime.ShardingOf(x)
	return p.AllReduces && l.ZeroStage < p.Parameters
}

// overReplicas is the sum over the replicas of what a sharded reduction leaves.
func (e *Evaluator) overReplicas(into *collectives, g *groups, n program.Elements, l *plan.Layout, exec *plan.Execution) (t units.Seconds) {
	if e.reducesWhole(l, exec) {
		return 0
	}
	d, x := gradientBytes(n, exec)
	if g.replica.Size() > 1 {
		part := d / units.Bytes(g.shard.Size())
		t = g.replica.AllReduce(part)
		into.put(collectiveReplicaReduce, part, t, 0)
	}
	if x > 0 && g.expertReplica.Size() > 1 {
		part := x / units.Bytes(g.expertShard.Size())
		te := g.expertReplica.AllReduce(part)
		into.put(collectiveExpertReplicaReduce, part, te, 0)
		t += te
	}
	return t
}

// allReduce leaves all gradients on all ranks.
func (e *Evaluator) allReduce(into *collectives, g *groups, dense, experts units.Bytes) units.Seconds {
	t := g.shard.AllReduce(dense)
	into.put(collectiveShardAllReduce, dense, t, 0)
	if experts > 0 {
		te := g.expertShard.AllReduce(experts)
		into.put(collectiveExpertReplicaReduce, experts, te, 0)
		t += te
	}
	return t
}

// parameterBytes is the width in which parameters are gathered, those of experts, and
// those that stay in the base type: the ends of the model, and layers that do.
func (e *Evaluator) parameterBytes(x *plan.Execution) (dense, experts, base float64) {
	base = float64(e.job.Training.ElementBytes())
	dense, experts = base, base
	if !e.job.Training.FP8.ParameterGather {
		return dense, experts, base
	}
	switch e.job.Training.Precision {
	case "nvfp4":
		dense = 0.5
	case "mxfp8":
		if !e.runtime.ShardingOf(x).GathersMXFP8Whole {
			dense = 1
		}
	default:
		dense = 1
	}
	if !e.runtime.Experts.Unquantised {
		experts = dense
	}
	return dense, experts, base
}

// inBase counts the elements of the first pipeline rank that stay in the base type.
func (e *Evaluator) inBase(l *plan.Layout) (n program.Elements) {
	s, first, last := &e.step, 0, l.Chunks()-1
	place := schedule.PlacementOf(l.PipelineSchedule)
	for c, layers := range l.StageLayers {
		if place.Rank(c, l.PipelineParallel) == 0 {
			e.compose(l, first, first+layers)
			for i, times := range s.counts {
				if inBase(i) {
					n = n.Add(s.table.layers[i].elements.Times(int(times)))
				}
			}
			if c == 0 {
				n = n.Add(s.table.embedding.elements)
			}
			if c == last {
				n = n.Add(s.table.head.elements)
				if e.quantised == compute.NVFP4 {
					n = n.Add(s.table.mtp.elements.Times(e.model.MTP.Layers))
				}
			}
		}
		first += layers
	}
	return n
}
