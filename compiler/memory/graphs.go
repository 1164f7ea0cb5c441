package memory

import (
	"math/bits"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
)

// captured is what a CUDA graph of modules of a layer has beside what the modules
// keep: for every micro-batch in flight what of its inputs and outputs nothing
// else needs, and once the gradients of its outputs. Its input takes the place of
// the layer's own, into which it is copied.
func (m *Model) captured(s *shape, p program.Layer) (static, gradients int64) {
	x := plan.Execution{CUDAGraphs: s.graphs}
	if s.graphs == "full" {
		return 0, 0
	}
	stream := m.stream(s)
	last := p[len(p)-1].GraphModule()
	router := last == plan.GraphMoERouter
	switch moe := m.arch.Model.MoE; {
	case router && x.Captures(plan.GraphMoE), !router && x.Captures(last): // the output of the layer
		static, gradients = stream, stream
	case router && x.Captures(last): // the residual stream, the shared experts' output and what goes to the experts
		gradients = 2 * stream
		if program.SharedWidth(moe) > 0 {
			static, gradients = stream, gradients+stream
		}
		if x.Captures(plan.GraphMoEPreprocess) && m.runtime.Graphs.SendsCopies && !plan.SendsTokens(s.dispatcher) {
			copies := int64(moe.TopK) * stream
			static, gradients = static+copies, gradients-stream+copies
		}
	case x.Captures(p[0].GraphModule()):
		gradients = stream
	}
	if m.runtime.Graphs.Masks && p[0].GraphModule() == plan.GraphAttention && x.Captures(plan.GraphAttention) {
		static += int64(m.arch.Tokens(&s.Shape)) * int64(m.arch.Model.SequenceLength)
	}
	return static, gradients
}

// graphs is what the CUDA graphs of a rank take: one set of static tensors for each
// micro-batch that is ever in flight. Of a whole step these are the pages of its
// experts, and host is what they have in host memory.
func (m *Model) graphs(e *evaluation, rank *stageRank, c *content) (bytes, host int64) {
	static := m.static(e.x)
	if e.x.CUDAGraphs == "none" || e.x.CUDAGraphs == "full" && !static { // no tensors of modules
		return 0, 0
	}
	for i := range rank.runs {
		for _, at := range [...]*instant{&rank.runs[i].first, &rank.runs[i].last} {
			var n int64
			for k := range at.held {
				n += int64(at.held[k].alive) * c.chunks[k].static
			}
			bytes = max(bytes, n)
		}
	}
	var gradients int64
	for k := range e.terms.kinds {
		if c.present[k] {
			gradients = max(gradients, e.terms.layers[k].graphGradients)
		}
	}
	if static {
		host = m.hostPages(e, c, bytes)
	}
	return bytes + gradients, host
}

// hostPages is what a rank has in host memory for pages beside those of its GPU: a
// pinned buffer for each kind of tensor, which the allocator makes as large as the
// next power of two (ATen/core/CachingHostAllocator.h).
func (m *Model) hostPages(e *evaluation, c *content, pages int64) (host int64) {
	fixed := &m.runtime.Experts.Static
	for k := range e.terms.kinds {
		y := &e.terms.layers[k]
		if !c.present[k] || y.graphGradients == 0 || fixed.Pages == 0 {
			continue
		}
		for _, part := range y.paged { // which layers with experts share
			n := times(times(pages, float64(part)/float64(y.graphGradients)), fixed.HostPages/fixed.Pages)
			if n > 0 {
				host += 1 << bits.Len64(uint64(n-1))
			}
		}
		break
	}
	return host
}

// times multiplies bytes by a ratio.
func times(bytes int64, ratio float64) int64 { return int64(float64(float64(bytes) * ratio)) }

// graphsMore is what the upper end of a range is higher by, as a share, beside CUDA
// graphs, whose pools nobody has published line by line: as much again as their
// static tensors, and for a whole step what was published of one.
func (m *Model) graphsMore(e *evaluation, s *stageMemory, device float64) float64 {
	if e.x.CUDAGraphs == "full" {
		return overheads["graph_full"]
	}
	return float64(s.graphs) / device
}
