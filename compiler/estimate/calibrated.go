package estimate

import (
	"math"
	"slices"

	"github.com/ndc-dev/ndc/compiler/collective"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/units"
)

// factors multiply what a step spends on each term, as the calibration of the
// job's cluster says. A pass is as long as its lines are after that: what hides
// behind what was decided before.
type factors [uncertainty.Count]units.Ratio

// calibrated are the factors of the job's cluster, GEMMs' those of its precision; nil
// without a calibration.
func (e *Evaluator) calibrated() *factors {
	c := e.job.Cluster.Calibration
	if c == nil {
		return nil
	}
	var f factors
	of := uncertainty.Factors(c)
	for k := range f {
		f[k] = units.Ratio(of[uncertainty.Term(k).In(e.job.Training.Precision)])
	}
	return &f
}

// of is the factor of a line.
func (f *factors) of(at line, g *groups) units.Ratio {
	switch at {
	case lineLinear, lineHead:
		return f[uncertainty.Linear]
	case lineExperts:
		return f[uncertainty.Grouped]
	case lineAttention:
		return f[uncertainty.Attention]
	case lineMemoryBound, lineOptimizer:
		return f[uncertainty.Bandwidth]
	case lineHostUpdate:
		return f[uncertainty.HostUpdate]
	case lineHost:
		return f[uncertainty.Host]
	case lineContention:
		return f[uncertainty.Overlap]
	case lineOffload:
		return f[uncertainty.PCIe]
	case lineStraggler:
		return f[uncertainty.Straggler]
	}
	return f[termOver(g.along(at))]
}

// along is the group whose link a line of communication waits for.
func (g *groups) along(at line) *collective.Group {
	switch at {
	case lineTensor:
		return g.tensor
	case lineContext:
		return g.context()
	case lineExpert:
		return g.expert
	case linePipeline:
		return g.pipeline
	case lineGradients:
		return g.data
	case lineSmall:
		return g.world
	}
	return g.shard
}

// passes multiplies all passes of a table.
func (f *factors) passes(t *layerTable, g *groups) {
	t.layers = slices.Clone(t.layers) // tables with other state communication share them
	for i := range t.layers {
		f.pass(&t.layers[i], g)
	}
	for _, p := range []*pass{&t.embedding, &t.head, &t.mtp} {
		f.pass(p, g)
	}
	t.seal()
}

// pass multiplies a pass. What is recomputed takes longer as the first time does.
func (f *factors) pass(p *pass, g *groups) {
	before := p.lines.sum()
	if before == 0 {
		return
	}
	var compute, longer units.Seconds
	for _, at := range computed {
		compute += p.lines[at]
		longer += f.of(at, g).Of(p.lines[at])
	}
	for at := range p.lines {
		switch {
		case p.lines[at] == 0:
		case line(at) != lineRecompute:
			p.lines[at] = f.of(line(at), g).Of(p.lines[at])
		case compute > 0:
			p.lines[at] *= longer / compute
		}
	}
	by := p.lines.sum() / before
	p.forward *= by
	p.backward *= by
	p.weight = min(f[uncertainty.Linear].Of(p.weight), p.backward)
	f.traffic(&p.collectives, g)
}

// computed are the lines of what a layer computes, and recompute repeats.
var computed = [...]line{lineLinear, lineExperts, lineAttention, lineMemoryBound}

// kept is the share of a pass that no recompute takes away: it may hide what waits, of
// which the factor can be larger than that of what is computed for it.
func (f *factors) kept(p *pass, g *groups) units.Ratio {
	least := units.Ratio(math.Inf(1))
	for _, at := range computed {
		if p.lines[at] > 0 {
			least = min(least, f.of(at, g))
		}
	}
	all := p.lines.sum()
	t := all
	for at, s := range p.lines {
		if s > 0 && !slices.Contains(computed[:], line(at)) {
			t -= max(0, 1-least/f.of(line(at), g)).Of(s)
		}
	}
	if t == all {
		return 1
	}
	return units.Ratio(t / all)
}

// once multiplies what comes once per step, but for what is made of it later.
func (f *factors) once(s *step) {
	for _, at := range [...]line{lineGradients, lineParameters, lineSmall, lineOptimizer, lineHostUpdate, lineContention} {
		s.once[at] = f.of(at, s.g).Of(s.once[at])
	}
	f.traffic(&s.collectives, s.g)
}

// traffic multiplies what collectives take.
func (f *factors) traffic(t *collectives, g *groups) {
	for i := range t {
		if t[i].seconds != 0 {
			by := f[termOver(g.of(collectiveKind(i)))]
			t[i].seconds, t[i].exposed = by.Of(t[i].seconds), by.Of(t[i].exposed)
		}
	}
}
