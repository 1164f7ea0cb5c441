package collective

import (
	"fmt"

	"github.com/ndc-dev/ndc/lang/units"
)

// Way says how a collective over a group travels, and what decided that.
type Way struct {
	Algorithm string
	Why       string
	Latency   units.Seconds        // of the shortest message
	Bandwidth units.BytesPerSecond // of the tensor, for messages whose length alone decides
}

// Named is the operation that a plan calls so.
func Named(name string) Operation {
	switch name {
	case "all_to_all":
		return AllToAll
	case "point_to_point":
		return Send
	}
	return Operation(name)
}

// Word is what a plan calls the operation.
func (op Operation) Word() string {
	switch op {
	case AllToAll:
		return "all_to_all"
	case Send:
		return "point_to_point"
	}
	return string(op)
}

// Way is that of a measured collective over size ranks that are stride apart.
func (t *Topology) Way(op Operation, size, stride int) Way {
	if size <= 1 {
		return Way{Algorithm: "none", Why: "one rank"}
	}
	g, s := t.Group(size, stride), t.shape(size, stride)
	var w Way
	p := g.allReduce
	switch op {
	case AllGather:
		p = g.allGather
	case ReduceScatter:
		p = g.reduceScatter
	case AllToAll:
		p = g.allToAll
	case Send:
		p = g.pointToPoint
	}
	w.Latency = units.Seconds(p.latency)
	if p.rate > 0 {
		w.Bandwidth = units.BytesPerSecond(1 / p.rate)
	}
	w.Algorithm, w.Why = t.words(op, s)
	return w
}

// words name the algorithm that the price of a collective assumes, and why.
func (t *Topology) words(op Operation, s shape) (algorithm, why string) {
	spread := fmt.Sprintf("%d ranks on each of %d nodes", s.local, s.islands)
	if s.local == 1 {
		spread = fmt.Sprintf("one rank on each of %d nodes", s.islands)
	}
	if s.pods > 1 {
		spread += fmt.Sprintf(" in %d pods", s.pods)
	}
	if s.pods > 1 && t.wiring.thinner > 1 {
		spread += fmt.Sprintf(", between which the network is %g times thinner", t.wiring.thinner)
	}
	switch {
	case op == sendReceive && s.nvlink && s.islands == 1:
		return "copy", "neighbours share NVLink, of whose rate a copy reaches 84 %"
	case op == sendReceive && s.islands == 1:
		return "copy through the host", "neighbours share a node without NVLink"
	case op == sendReceive:
		return "send and receive", "some neighbours are on different nodes, and the pipeline waits for them"
	case s.islands == 1 && s.nvlink:
		return "what NCCL chooses inside NVLink", fmt.Sprintf("all %d ranks share NVLink; the curve is that measured on %s, scaled by the link", s.size, t.curves.name)
	case s.islands == 1:
		return "ring through the host", fmt.Sprintf("all %d ranks share a node, which has no NVLink for them", s.size)
	case op == AllToAll:
		return "direct exchange", spread + "; what stays inside and what leaves travel side by side"
	case op == AllReduce && s.islands == 2:
		return "tree inside, one exchange between", spread + ": both trees are one edge, so each node sends the tensor once"
	case op == AllReduce && s.local > 1:
		return "reduction inside, double binary tree between", spread + "; NCCL overlaps both phases, the slower one decides"
	case op == AllReduce:
		return "ring", spread
	case s.local > 1:
		return "ring on every rail", spread + "; the ring crosses the network once for each node and rail"
	}
	return "ring", spread
}
