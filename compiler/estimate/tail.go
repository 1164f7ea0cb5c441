package estimate

import (
	"math"

	"github.com/ndc-dev/ndc/compiler/compute"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/schedule"
	"github.com/ndc-dev/ndc/lang/units"
)

// gradients adds what is reduced and gathered once per step: the gradients of
// the first pipeline rank, which finishes last, behind its last backward, and
// the gather of updated parameters behind its first forward. The last bucket
// of a reduction and the first of a gather have nothing to hide behind.
func (e *Evaluator) gradients(l *plan.Layout, x *plan.Execution) {
	s := &e.step
	p, n := e.runtime.ShardingOf(x), s.elements[0]
	with := p.PerMicroBatch(l)
	if !with.Reduce || p.ReplicasOnce {
		t := e.reduceOnce(l, x, n, with.Reduce)
		window := s.durations.InputGradient[0] + e.trailing(l, s.durations.InputGradient)
		e.behind(lineGradients, t, window, n, x.OverlapGradientReduce)
	}
	if l.ZeroStage >= p.Optimizer && !with.GatherForward {
		t := e.gatherOnce(l, x, n)
		window := s.durations.Forward[0] + e.trailing(l, s.durations.Forward)
		if x.OverlapOptimizerGather {
			exposed, rest := e.besideUpdate(l, x, n, t, window)
			e.expose(lineParameters, exposed, rest, window)
			return
		}
		e.behind(lineParameters, t, window, n, x.OverlapParameterGather)
	}
}

// besideUpdate is what is left of the gather t of elements n where the first chunk
// is gathered, in one piece, while the optimizer updates the other chunks. They
// are gathered behind the window, as ever, which takes rest.
func (e *Evaluator) besideUpdate(l *plan.Layout, x *plan.Execution, n program.Elements, t, window units.Seconds) (exposed, rest units.Seconds) {
	first := e.step.first
	others := program.Elements{Dense: n.Dense - first.Dense, Expert: n.Expert - first.Expert}
	share := units.Seconds(float64(first.Sum()) / math.Max(1, float64(n.Sum())))
	rest = (1 - share) * t
	return max(0, share*t-e.update(l, x, others)) + max(0, rest-window), rest
}

// trailing is how much longer than one chunk the first rank works on its
// chunks of the last (or first) round: the interleaved schedule runs a group
// of micro-batches through every other chunk in between, a V comes to its
// second chunk after the first has run as often as there are other ranks.
func (e *Evaluator) trailing(l *plan.Layout, d []units.Seconds) units.Seconds {
	if schedule.PlacementOf(l.PipelineSchedule) == schedule.Vee {
		return d[0] * units.Seconds(min(l.PipelineParallel-1, l.MicroBatches))
	}
	var t units.Seconds
	for c := l.PipelineParallel; c < len(d); c += l.PipelineParallel {
		t += d[c] * units.Seconds(min(l.PipelineParallel, l.MicroBatches))
	}
	return t
}

// reduceOnce is the gradient reduction of one rank, or, where every micro-batch reduces over
// the shards, what is left of it.
func (e *Evaluator) reduceOnce(l *plan.Layout, x *plan.Execution, n program.Elements, reduced bool) (t units.Seconds) {
	s := &e.step
	if l.ZeroStage >= e.runtime.ShardingOf(x).Optimizer {
		if !reduced {
			t = e.reduce(&s.collectives, s.g, n, l, x)
		}
		t += e.overReplicas(&s.collectives, s.g, n, l, x)
		for _, kind := range reductions {
			s.collectives[kind].pieces = s.collectives[kind].bytes > 0
		}
		return t
	}
	d, w := gradientBytes(n, x)
	t = s.g.data.AllReduce(d)
	s.collectives.bulk(collectiveReplicaReduce, d, t)
	if w > 0 {
		te := s.g.expertData.AllReduce(w)
		s.collectives.bulk(collectiveExpertReplicaReduce, w, te)
		t += te
	}
	return t
}

// gatherOnce is the gather of the first pipeline rank's updated parameters.
func (e *Evaluator) gatherOnce(l *plan.Layout, exec *plan.Execution, n program.Elements) units.Seconds {
	w, wx, plain := e.parameterBytes(exec)
	s, d, x := &e.step, w*float64(n.Dense), wx*float64(n.Expert)
	if w < plain {
		base := e.inBase(l)
		d += (plain - w) * float64(base.Dense)
		x += (plain - wx) * float64(base.Expert)
	}
	t := s.g.shard.AllGather(units.Bytes(d))
	s.collectives.bulk(collectiveShardGather, units.Bytes(d), t)
	if x > 0 {
		te := s.g.expertShard.AllGather(units.Bytes(x))
		s.collectives.bulk(collectiveExpertShardGather, units.Bytes(x), te)
		t += te
	}
	return t
}

// behind puts a collective of t on its line that runs behind a window of compute, but for
// one bucket's share of its elements n, which runs beside none; without overlap all does.
func (e *Evaluator) behind(at line, t, window units.Seconds, n program.Elements, overlap bool) {
	alone := t
	if overlap {
		b := &e.runtime.Buckets
		elements := max(b.Unhidden, b.UnhiddenPerRank*int64(e.step.g.data.Size()))
		alone *= units.Seconds(min(1, float64(elements)/max(1, float64(n.Sum()))))
	}
	e.expose(at, max(t-window, alone), t-alone, window)
}

// expose puts the exposed part of a collective on its line and charges what the
// part that runs beside a window of compute slows that.
func (e *Evaluator) expose(at line, exposed, beside, window units.Seconds) {
	e.step.once[at] += exposed
	e.step.once[lineContention] += slowed(beside, window, e.contention)
}

// optimizer adds the update: what the busiest rank reads and writes.
func (e *Evaluator) optimizer(l *plan.Layout, x *plan.Execution) {
	s := &e.step
	var worst units.Seconds
	for r, n := range s.elements {
		if r == 0 || n != s.elements[r-1] {
			worst = max(worst, e.update(l, x, n))
		}
	}
	if x.OffloadOptimizer {
		s.once[lineHostUpdate] = worst
	} else {
		s.once[lineOptimizer] = worst
	}
}

// update is the optimizer's time for one rank's parameters: the update reads
// gradient, master weight and moments and writes master, moments and the
// 16-bit weight; clipping reads the gradient once for its norm and scales it;
// some clear the whole gradient buffer.
func (e *Evaluator) update(l *plan.Layout, x *plan.Execution, n program.Elements) units.Seconds {
	s := &e.step
	own := float64(n.Dense + n.Expert)
	full := own
	p := e.runtime.ShardingOf(x)
	if l.ZeroStage >= p.Optimizer {
		own = float64(n.Dense) / float64(s.g.shard.Size())
		if n.Expert > 0 {
			own += float64(n.Expert) / float64(s.g.expertShard.Size())
		}
	}
	gradient, moments := x.GradientBytes(), e.moments*2*x.MomentBytes()
	perElement := gradient + 8 + moments + 2
	if e.job.Training.Optimizer.GradientClipping > 0 {
		perElement += 3 * gradient
	}
	if x.OffloadOptimizer {
		if e.runtime.Host.StagesGradients {
			return e.hostUpdate(own, stagedUpdate+2*gradient+moments, stagedTransfer+2*gradient)
		}
		return e.hostUpdate(own, perElement, gradient+2)
	}
	bytes := own * perElement
	if p.ClearsGradients {
		bytes += full * gradient
	}
	t := e.device.Traffic(compute.Optimizer, units.Bytes(math.Round(bytes)))
	if e.job.Training.Optimizer.Kind == "muon" && full > 0 { // a rank between the others may have no layer at all
		t += e.orthogonalise(own / full * float64(l.StageLayers[0]*l.VirtualPipeline))
	}
	return t
}

// newtonSchulz is the number of iterations by which Muon orthogonalises an
// update (Jordan 2024; Liu et al. 2025, arXiv:2502.16982).
const newtonSchulz = 5

// orthogonalise is Muon's Newton–Schulz iteration over the matrices of some
// layers: for r rows and c ≥ r columns, 4·r²·c + 2·r³ operations each time.
func (e *Evaluator) orthogonalise(layers float64) units.Seconds {
	if e.muon == 0 {
		e.arch.Weights(e.arch.KindOf(e.model.Layers-1), func(_ *program.Operation, w *program.Weight) {
			if w.Matrix() {
				r, c := float64(min(w.Rows, w.Columns)), float64(max(w.Rows, w.Columns))
				e.muon += newtonSchulz * float64(w.Copies) * (4*r*r*c + 2*r*r*r)
			}
		})
	}
	return units.Seconds(layers * e.muon / float64(e.device.Peak(e.base)) / e.parameters.at("muon_rate"))
}

// What an update on the host moves for each parameter where gradients are staged, in
// bytes beside twice the gradient's own and the moments: in the host's memory the
// gradient is written in fp32 (4), scaled (8) and read (4), the master weight read and
// written (8), and the 16-bit weight made of it (6) and sent (2); over PCIe go the
// gradient in fp32 and the weight.
const (
	stagedUpdate   = 4 + 8 + 4 + 8 + 6 + 2
	stagedTransfer = 4 + 2
)

// hostUpdate is the update on the host of so many parameters: the ranks of a node share
// its memory bandwidth, each reaches no more of it than its cores do, and gradients and
// weights cross PCIe.
func (e *Evaluator) hostUpdate(own, bytes, transfer float64) units.Seconds {
	ranks := float64(e.job.Cluster.GPUsPerNode)
	cores := float64(e.job.CoresPerRank()) * e.parameters.at("host_core_bandwidth")
	rate := min(cores, e.hostBandwidth()*e.parameters.at("host_memory_share")/ranks)
	return units.Seconds(own*bytes/rate) + e.overPCIe(own*transfer)
}

// small adds the collectives whose size hardly matters: the gradient norm,
// the check for overflow and the loss over all ranks, the gradients of weights
// that tensor ranks share under sequence parallelism, and the gradient of an
// embedding of which the last stage of a pipeline has a copy.
func (e *Evaluator) small(l *plan.Layout) {
	s := &e.step
	t := 3 * s.g.world.AllReduce(8)
	s.collectives.repeated(collectiveNorm, 3, 24, t, t)
	if l.SequenceParallel {
		var most int64
		for _, n := range s.elements {
			most = max(most, n.Replicated)
		}
		bytes := units.Bytes(most) * units.Bytes(s.table.gradientBytesPerElement)
		r := s.g.tensor.AllReduce(bytes)
		s.collectives.put(collectiveTensorReduce, bytes, r, r)
		t += r
	}
	if (e.model.TiedEmbeddings || e.model.MTP.Layers > 0) && l.PipelineParallel > 1 {
		vocabulary := e.target.Vocabulary(e.model, l.TensorParallel)
		bytes := units.Bytes(e.arch.WordEmbedding(vocabulary, l.TensorParallel)) * units.Bytes(s.table.gradientBytesPerElement)
		r := s.g.embedding.AllReduce(bytes)
		s.collectives.put(collectiveEmbedding, bytes, r, r)
		t += r
	}
	s.once[lineSmall] = t
}
