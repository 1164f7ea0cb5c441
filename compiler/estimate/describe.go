package estimate

import (
	"slices"

	"github.com/ndc-dev/ndc/compiler/collective"
	"github.com/ndc-dev/ndc/compiler/layout"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/schedule"
	"github.com/ndc-dev/ndc/lang/units"
)

// Describe predicts one legal layout in full. Its step time and peak equal
// those of the evaluation.
func (e *Evaluator) Describe(l *plan.Layout, x *plan.Execution) Description {
	s := e.run(l, x)
	e.waits(l)
	total, traffic := e.busiest(l, s)
	d := Description{
		Memory:        e.memory.Memory(l, x),
		Time:          e.time(&total, s),
		Communication: e.communication(&traffic, s),
		Throughput:    e.throughput(l, s.total),
		Mesh:          e.mesh(l),
	}
	d.OffNVLink = e.offNVLink(l)
	d.CheckpointBytes = e.memory.CheckpointBytes(l, x)
	why := e.spread(l, x, &d.Time, d.Memory.NearLimit)
	d.Warnings = e.warnings(e.kernel(x), &d.Time, why)
	d.Warnings = append(d.Warnings, e.weak(l, x, d.Time.StepSeconds)...)
	d.Warnings = append(d.Warnings, e.uneven(l, x, d.Time.StepSeconds)...)
	d.Warnings = append(d.Warnings, e.unplaced(l, x, d.Time.StepSeconds)...)
	d.Warnings = append(d.Warnings, e.doubt(l, &d.Throughput)...)
	return d
}

// busiest is the breakdown and the traffic of a step on the busiest rank.
func (e *Evaluator) busiest(l *plan.Layout, s *step) (total costs, traffic collectives) {
	c, t := e.rankLines(l, s.busiest)
	total, traffic = s.once, s.collectives
	total.add(units.Seconds(l.MicroBatches), &c)
	traffic.add(l.MicroBatches, &t)
	traffic.attribute(&total)
	return total, traffic
}

// time lists the breakdown. Lines of nothing are left out.
func (e *Evaluator) time(c *costs, s *step) plan.Time {
	t := plan.Time{StepSeconds: s.total}
	for i, seconds := range c {
		if seconds != 0 {
			t.Breakdown = append(t.Breakdown, plan.TimeLine{ID: lineNames[i].id, Name: lineNames[i].name, Seconds: seconds})
		}
	}
	if s.total > 0 {
		t.BubbleShare = units.Share(c[lineBubble] / s.total)
		t.ExposedCommunicationShare = units.Share(c.exposed() / s.total)
	}
	return t
}

// Timeline is what the pipeline ranks of a legal layout do in one step; without a
// pipeline it is that of the one rank.
func (e *Evaluator) Timeline(l *plan.Layout, x *plan.Execution) *plan.Timeline {
	s := e.run(l, x)
	return &plan.Timeline{Ranks: schedule.Simulate(s.shape, &s.durations).Ranks}
}

// Occupancy is what the pipeline ranks hold in the passes of that step.
func (e *Evaluator) Occupancy(l *plan.Layout, x *plan.Execution) *plan.Occupancy {
	return e.memory.Occupancy(l, x)
}

// communication lists what the busiest pipeline rank communicates in a step.
func (e *Evaluator) communication(t *collectives, s *step) []plan.Communication {
	out := []plan.Communication{}
	for i := range t {
		if t[i].seconds == 0 {
			continue
		}
		out = append(out, plan.Communication{
			Group: collectiveNames[i].group, Collective: collectiveNames[i].collective,
			Bytes: t[i].bytes, Link: s.g.of(collectiveKind(i)).Link(),
			Seconds: t[i].seconds, ExposedSeconds: t[i].exposed,
		})
	}
	return out
}

// gathers and reductions are the kinds of collectives of sharded state.
var (
	gathers    = []collectiveKind{collectiveShardGather, collectiveExpertShardGather}
	reductions = []collectiveKind{collectiveShardReduce, collectiveShardAllReduce, collectiveReplicaReduce, collectiveExpertShardReduce, collectiveExpertReplicaReduce}
)

// attribute gives the exposed time of sharded state, which is known for all
// its collectives together, to the kinds of collectives in proportion to their time,
// and of what the rank waits for transfers of the pipeline as much to its own as
// they take.
func (t *collectives) attribute(c *costs) {
	t.expose(c[lineParameters], gathers)
	t.expose(c[lineGradients], reductions)
	t.expose(c[lineState], gathers, reductions)
	t[collectivePipeline].exposed = min(c[linePipeline], t[collectivePipeline].seconds)
}

// expose adds exposed seconds to lists of kinds of collectives, by what of each is not
// exposed yet.
func (t *collectives) expose(exposed units.Seconds, lists ...[]collectiveKind) {
	kinds := slices.Concat(lists...)
	var all units.Seconds
	for _, i := range kinds {
		all += t[i].seconds - t[i].exposed
	}
	if all <= 0 {
		return
	}
	for _, i := range kinds {
		t[i].exposed += exposed * (t[i].seconds - t[i].exposed) / all
	}
}

// of is the communicator of a kind of collective.
func (g *groups) of(c collectiveKind) *collective.Group {
	switch c {
	case collectiveTensorGather, collectiveTensorScatter, collectiveTensorReduce:
		return g.tensor
	case collectiveContextExchange:
		return g.heads
	case collectiveContextRing, collectiveContextGather:
		return g.ring
	case collectiveExpertExchange, collectiveExpertGather:
		return g.expert
	case collectiveExpertTensorGather, collectiveExpertTensorScatter:
		return g.expertTensor
	case collectiveShardGather, collectiveShardReduce, collectiveShardAllReduce:
		return g.shard
	case collectiveReplicaReduce:
		if g.replica.Size() == 1 {
			return g.data
		}
		return g.replica
	case collectiveExpertShardGather, collectiveExpertShardReduce:
		return g.expertShard
	case collectiveExpertReplicaReduce:
		if g.expertReplica.Size() == 1 {
			return g.expertData
		}
		return g.expertReplica
	case collectivePipeline:
		return g.pipeline
	case collectiveAmax:
		return g.amax
	case collectiveEmbedding:
		return g.embedding
	}
	return g.world
}

// throughput restates the step time. Model FLOPs halve causal attention and
// do not count recompute; the peak is the dense one of the compute precision.
func (e *Evaluator) throughput(l *plan.Layout, step units.Seconds) plan.Throughput {
	gpus, batch := float64(l.GPUs()), float64(e.job.Training.GlobalBatchSize)
	perGPU := batch / gpus / float64(step)
	model := float64(e.arch.ModelFLOPsPerSequence()) * perGPU
	t := plan.Throughput{
		TokensPerSecondPerGPU: perGPU * float64(e.model.SequenceLength),
		ModelTFLOPSPerGPU:     model / 1e12,
	}
	if peak := float64(e.job.Cluster.GPU.PeakFLOPS.For(e.job.Training.Precision)); peak > 0 {
		t.MFU = units.Share(model / peak)
		t.HFU = units.Share((model + perGPU*float64(e.model.SequenceLength)*e.repeated(l)) / peak)
	}
	return t
}

// repeated is the recomputed FLOPs per token.
func (e *Evaluator) repeated(l *plan.Layout) float64 {
	var n float64
	first := 0
	for _, layers := range l.StageLayers {
		end := first + layers
		switch {
		case l.Recompute == plan.RecomputeNone:
			end = first
		case l.Recompute == plan.RecomputeFull && l.RecomputeMethod == "block":
			end = min(end, first+l.RecomputeLayers)
		}
		for i := first; i < end; i++ {
			n += e.repeatedLayer(l, e.arch.KindOf(i))
		}
		first += layers
	}
	return n
}

// repeatedLayer is the recomputed FLOPs per token of one layer.
func (e *Evaluator) repeatedLayer(l *plan.Layout, kind int) float64 {
	if l.Recompute == plan.RecomputeFull {
		return e.arch.LayerFLOPs(kind)
	}
	var n float64
	s := program.ShapeOf(l)
	c := e.arch.CoreAttention(kind, &s)
	core := c.FLOPs() * float64(l.TensorParallel) / float64(e.arch.Tokens(&s))
	for rest := l.RecomputeModules; rest != 0; rest &^= rest.First() {
		switch m := rest.First(); m {
		case plan.ModuleCoreAttention:
			n += core
		case plan.ModuleOperators:
			n += (e.arch.LayerFLOPs(kind) - core) / 2
		default:
			n += e.arch.ModuleFLOPs(kind, m)
		}
	}
	return n
}

// mesh lists the groups of the dense and then of the expert mesh.
func (e *Evaluator) mesh(l *plan.Layout) plan.Mesh {
	m := plan.Mesh{Order: e.target.DenseMesh}
	m.Groups = e.meshGroups(l, e.target.DenseMesh, nil)
	if e.model.MoE != nil {
		m.Groups = e.meshGroups(l, e.target.ExpertMesh, m.Groups)
	}
	m.Benchmarks = e.benchmarks()
	return m
}

// benchmarks are all-reduces over 1, 2, 4, … nodes, long enough that a rate decides:
// so that a node more changes none of them.
func (e *Evaluator) benchmarks() []plan.Benchmark {
	out, c := []plan.Benchmark{}, &e.job.Cluster
	for nodes := 1; nodes <= c.Nodes; nodes *= 2 {
		if gpus := nodes * c.GPUsPerNode; gpus > 1 {
			g := e.group(gpus, 1)
			out = append(out, plan.Benchmark{Nodes: nodes, GPUs: gpus, Link: g.Link(), Bytes: units.GiB, Seconds: units.Rounded(g.AllReduce(units.GiB))})
		}
	}
	return out
}

// meshGroups appends the groups of one mesh that are not listed yet.
func (e *Evaluator) meshGroups(l *plan.Layout, order []plan.Axis, out []plan.Group) []plan.Group {
	for _, a := range order {
		if listed(out, string(a)) {
			continue
		}
		n, step := layout.Size(l, a), layout.Stride(order, l, a)
		out = append(out, plan.Group{
			Name: string(a), Size: n, Stride: step,
			Link: e.group(n, step).Link(), Count: l.GPUs() / n,
		})
	}
	return out
}

// listed reports whether a group is there already: both meshes have the
// pipeline.
func listed(groups []plan.Group, name string) bool {
	for _, g := range groups {
		if g.Name == name {
			return true
		}
	}
	return false
}

// offNVLink lists the axes whose group leaves its NVLink domain, or its node
// on a cluster without NVLink.
func (e *Evaluator) offNVLink(l *plan.Layout) []plan.Axis {
	var out []plan.Axis
	for _, g := range e.mesh(l).Groups {
		local := g.Link == collective.LinkSelf || g.Link == collective.LinkNVLink
		if e.job.Cluster.NVLink.Domain == 0 {
			local = local || g.Link == collective.LinkPCIe
		}
		if !local {
			out = append(out, plan.Axis(g.Name))
		}
	}
	return out
}
