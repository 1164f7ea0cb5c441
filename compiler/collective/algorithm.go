package collective

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// More operations, which no step of training waits for long enough that it was measured.
const (
	Broadcast Operation = "broadcast"
	Reduce    Operation = "reduce"
	Scatter   Operation = "scatter"
	Gather    Operation = "gather"
	Send      Operation = sendReceive
)

// Operations are all kinds.
var Operations = []Operation{AllReduce, ReduceScatter, AllGather, Broadcast, Reduce, Scatter, Gather, AllToAll, Send}

// Algorithm is one way to carry out a collective, priced by its formula: steps in
// sequence, each of a hop, and the bytes that the busiest link carries. The formulas say
// which algorithm is taken; what a step waits for is priced by what was measured
// (Group), in which the choice of NCCL is contained.
type Algorithm struct {
	Name    string
	Formula string // of n ranks, L on each of N nodes, and D bytes; a step takes h inside a node and H between, B is the rate of the slowest link
	Needs   string // what it takes beside NCCL as it is; "" nothing
	Source  string
	Seconds units.Seconds
}

// protocol is how NCCL moves bytes: with a flag beside every few of them, or in
// large pieces with a barrier each. A line of data/protocols.jsonl.
type protocol struct {
	Protocol     string  `json:"protocol"`
	Payload      float64 `json:"payload"`       // share of what crosses a link that is data
	NetworkLimit float64 `json:"network_limit"` // bytes per second of one communicator between nodes; 0: none
	Ring         hops    `json:"ring"`
	Tree         hops    `json:"tree"`
	Source       string  `json:"source"`
}

// hops are seconds: of the start, and of one step over each link.
type hops struct {
	Base    float64 `json:"base"`
	NVLink  float64 `json:"nvlink"`
	PCIe    float64 `json:"pcie"`
	Network float64 `json:"network"`
}

var protocols = sync.OnceValue(func() []protocol { return decode[protocol]("protocols") })

// recipe is an algorithm for a group.
type recipe struct {
	name, formula, needs, source string

	tree            bool    // its hops are those of trees
	inside, network float64 // steps in sequence
	fixed           float64 // seconds instead of start and steps

	// Bytes over D: of a rank inside its node, of a node to the network over all its rails, of
	// one rank to the network.
	within, between, single float64
	apart                   bool // the phases follow each other
	efficiency              float64
}

// Where formulas and efficiencies come from.
const (
	fromNCCL    = "NCCL, src/graph/tuning.cc"
	fromThakur  = "Thakur, Rabenseifner, Gropp 2005"
	fromSanders = "Sanders, Speck, Träff 2009"
	notInNCCL   = "NCCL has no such algorithm"
)

// Algorithms prices every way to carry out an operation on bytes over size ranks that
// are stride apart: first what NCCL has as it is, the fastest in front, then the rest. One rank
// or no bytes need none.
func (t *Topology) Algorithms(op Operation, size, stride int, bytes units.Bytes) []Algorithm {
	if size <= 1 || bytes <= 0 {
		return nil
	}
	s := t.shape(size, stride)
	var list []Algorithm
	for _, r := range t.recipes(op, s) {
		list = append(list, Algorithm{Name: r.name, Formula: r.formula, Needs: r.needs, Source: r.source, Seconds: units.Seconds(t.best(&r, s, float64(bytes)))})
	}
	slices.SortStableFunc(list, func(a, b Algorithm) int {
		switch {
		case (a.Needs == "") != (b.Needs == ""):
			if a.Needs == "" {
				return -1
			}
			return 1
		case a.Seconds < b.Seconds:
			return -1
		case a.Seconds > b.Seconds:
			return 1
		}
		return 0
	})
	return list
}

// best is the time with the protocol that is the fastest for so many bytes.
func (t *Topology) best(r *recipe, s shape, bytes float64) float64 {
	least := math.Inf(1)
	for i := range protocols() {
		least = math.Min(least, t.with(&protocols()[i], r, s, bytes))
	}
	return least
}

func (t *Topology) with(p *protocol, r *recipe, s shape, bytes float64) float64 {
	h := &p.Ring
	if r.tree {
		h = &p.Tree
	}
	inside := h.NVLink
	if !s.nvlink {
		inside = h.PCIe
	}
	latency := h.Base + r.inside*inside + r.network*(h.Network+t.networkLatency)
	if r.fixed > 0 {
		latency = r.fixed + r.network*t.networkLatency
		if p.Payload < 1 {
			return math.Inf(1) // the switches take large pieces only
		}
	}
	var times [3]float64
	if r.within > 0 {
		times[0] = r.within / t.insideBandwidth(AllGather, s)
	}
	if s.islands > 1 {
		rails, one := t.railBandwidth(AllGather, s), t.network*t.fabric.efficiency(Send)*t.uncongested(s)/t.wiring.next(s)
		if p.NetworkLimit > 0 {
			rails, one = math.Min(rails, p.NetworkLimit), math.Min(one, p.NetworkLimit)
		}
		times[1], times[2] = r.between/rails, r.single/one
	}
	rate := math.Max(times[0], math.Max(times[1], times[2]))
	if r.apart {
		rate = times[0] + times[1] + times[2]
	}
	return latency + bytes*rate/p.Payload/r.efficiency
}

// recipes lists the algorithms that a group can use.
func (t *Topology) recipes(op Operation, s shape) []recipe {
	switch op {
	case AllReduce:
		return t.allReduces(s)
	case AllGather, ReduceScatter:
		return t.gathersAll(s)
	case Broadcast, Reduce:
		return rooted(s)
	case Scatter, Gather:
		return pieces(s)
	case AllToAll:
		return t.exchanges(s)
	}
	r := recipe{name: "direct", formula: "H + D/B", source: fromNCCL, network: 1, single: 1, efficiency: 1}
	if s.islands == 1 {
		r.formula, r.network, r.inside, r.single, r.within = "h + D/B", 0, 1, 0, 1
	}
	return []recipe{r}
}

// sums reports whether the switches of NVLink sum (NVLink SHARP): from Hopper on.
func (t *Topology) sums(s shape) bool {
	return s.nvlink && s.local > 1 && job.GenerationOf(t.curves.capability) >= 9
}

// micro writes a constant of a formula.
func micro(seconds float64) string { return units.Significant(1e6*seconds, 3) + " µs" }

func (t *Topology) allReduces(s shape) []recipe {
	k := &constants
	n, l, m := float64(s.size), float64(s.local), float64(s.islands)
	across := 2.0
	if s.islands == 2 {
		across = 1 // both trees are one edge
	}
	if s.islands == 1 {
		across = 0
	}
	list := []recipe{
		{name: "ring", formula: "2(n−N)·h + 2(N−1)·H + 2(n−1)/n·D/B", source: fromNCCL,
			inside: 2 * (n - m), network: 2 * (m - 1), within: 2 * (n - 1) / n, between: 2 * (n - 1) / n, efficiency: 1},
		{name: "double binary tree", formula: fmt.Sprintf("2(L−1)·h + 2·log2 N·H + 2·D/(%g·B)", k.treeEfficiency), source: fromNCCL + "; " + fromSanders, tree: true,
			inside: 2 * (l - 1), network: 2 * math.Log2(m), within: 2 * math.Min(1, l-1), between: across, efficiency: k.treeEfficiency},
	}
	if s.islands == 1 {
		list[0].inside, list[0].formula = 2*(n-1), "2(n−1)·h + 2(n−1)/n·D/B"
		list[1].name, list[1].formula = "chain", fmt.Sprintf("2(n−1)·h + 2·D/(%g·B)", k.treeEfficiency) // a tree inside a node is a chain
	}
	switch {
	case t.sums(s) && s.islands == 1:
		list = append(list, recipe{name: "in the NVLink switches", formula: micro(k.nvls) + " + 6/5·D/B", source: fromNCCL, fixed: k.nvls, within: 6.0 / 5, efficiency: 1})
	case t.sums(s):
		list = append(list, recipe{name: "in the NVLink switches, trees between", formula: fmt.Sprintf("%s + 2·log2 N·%s + max(6/5·D/B, 2·D/B between)", micro(k.nvls), micro(k.nvlsTreeHop)), source: fromNCCL,
			fixed: k.nvls + 2*math.Log2(m)*k.nvlsTreeHop, network: 2 * math.Log2(m), within: 6.0 / 5, between: across, efficiency: 1})
	}
	if s.islands > 1 {
		list = append(list,
			recipe{name: "in the network's switches", formula: fmt.Sprintf("2(L−1)·%s + %s + %s + max(2(L−1)/L·D/B, D/B between)/%g", micro(k.collNetRank), micro(2*k.collNetInside), micro(k.collNet), k.collNetEfficiency), source: fromNCCL, needs: "switches that sum (SHARP), and NCCL_COLLNET_ENABLE=1",
				fixed: k.collNet + 2*(k.collNetInside*math.Min(1, l-1)+k.collNetRank*(l-1)), network: 1, within: 2 * (l - 1) / l, between: 1, efficiency: k.collNetEfficiency})
	}
	if s.islands > 1 && s.local > 1 {
		list = append(list,
			recipe{name: "hierarchical", formula: "2(L−1)·h + 2(N−1)·H + 2(L−1)/L·D/B + 2(N−1)/N·D/B between", source: fromThakur, needs: "collectives of two groups, as hybrid sharding has them",
				inside: 2 * (l - 1), network: 2 * (m - 1), within: 2 * (l - 1) / l, between: 2 * (m - 1) / m, apart: true, efficiency: 1})
	}
	return list
}

func (t *Topology) gathersAll(s shape) []recipe {
	k := &constants
	n, l, m := float64(s.size), float64(s.local), float64(s.islands)
	share := (n - 1) / n
	list := []recipe{{name: "ring", formula: "(n−N)·h + (N−1)·H + (n−1)/n·D/B", source: fromNCCL, inside: n - m, network: m - 1, within: share, between: share, efficiency: 1}}
	if s.islands == 1 {
		list[0].inside, list[0].formula = n-1, "(n−1)·h + (n−1)/n·D/B"
		if t.sums(s) {
			list = append(list, recipe{name: "in the NVLink switches", formula: micro(k.nvls) + " + (n−1)/n·D/B", source: fromNCCL, fixed: k.nvls, within: share, efficiency: 1})
		}
		return list
	}
	if s.local == 1 {
		return append(list, recipe{name: "parallel aggregated trees", formula: fmt.Sprintf("%s + log2 N·%s + n·%s + (n−1)/n·D/(%g·B)", micro(k.pat), micro(k.patHop), micro(k.patRank), k.patEfficiency), source: fromNCCL,
			fixed: k.pat + math.Log2(m)*k.patHop + n*k.patRank, network: math.Log2(m), between: share, efficiency: k.patEfficiency})
	}
	return append(list, recipe{name: "hierarchical", formula: "(L−1)·h + (N−1)·H + (L−1)/L·D/B + (N−1)/N·D/B between", source: fromThakur, needs: "collectives of two groups, as hpZ and hybrid sharding have them",
		inside: l - 1, network: m - 1, within: (l - 1) / l, between: (m - 1) / m, apart: true, efficiency: 1})
}

// rooted lists broadcasts; reductions are their mirror image.
func rooted(s shape) []recipe {
	n, l, m := float64(s.size), float64(s.local), float64(s.islands)
	rounds := func(x float64) float64 { return math.Ceil(math.Log2(x)) }
	// On a ring inside nodes the network is crossed with all rails, else by one rank.
	list := []recipe{
		{name: "ring", formula: "(n−N)·h + N·H + D/B", source: fromNCCL, inside: n - m, network: m, within: 1, between: 1, efficiency: 1},
		{name: "double binary tree", formula: "2·log2 L·h + 2·log2 N·H + D/B", source: fromSanders, needs: notInNCCL, tree: true, inside: 2 * rounds(l), network: 2 * rounds(m), within: 1, between: 1, efficiency: 1},
		{name: "binomial tree", formula: "log2 L·(h + D/B) + log2 N·(H + D/B)", source: fromThakur, needs: notInNCCL, inside: rounds(l), network: rounds(m), within: rounds(l), single: rounds(m), apart: true, efficiency: 1},
	}
	if s.islands == 1 {
		list[0].inside, list[0].network, list[0].formula = n, 0, "n·h + D/B"
	}
	return list
}

// pieces lists gathers to one rank; scatters are their mirror image.
func pieces(s shape) []recipe {
	n, l, m := float64(s.size), float64(s.local), float64(s.islands)
	inside := (l - 1) / n
	away := (n - l) / n
	rounds := func(x float64) float64 { return math.Ceil(math.Log2(x)) }
	return []recipe{
		{name: "direct", formula: "h or H + max((L−1)/n·D/B, (n−L)/n·D/B between)", source: fromNCCL + " (sends and receives)", inside: math.Min(1, l-1), network: math.Min(1, m-1), within: inside, single: away, efficiency: 1},
		{name: "binomial tree", formula: "log2 L·h + log2 N·H + (L−1)/n·D/B + (n−L)/n·D/B between", source: fromThakur, needs: notInNCCL, inside: rounds(l), network: rounds(m), within: inside, single: away, apart: true, efficiency: 1},
	}
}

func (t *Topology) exchanges(s shape) []recipe {
	n, l, m := float64(s.size), float64(s.local), float64(s.islands)
	thinner := 1.0
	within := (l - 1) / n
	if s.islands > 1 {
		thinner = t.wiring.spread(s) / t.wiring.next(s)
		if s.nvlink {
			within += (n - l) / n * t.wiring.otherRail(s)
		}
	}
	rounds := func(x float64) float64 { return math.Ceil(math.Log2(x)) }
	return []recipe{
		{name: "direct", formula: "(L−1)·h + (N−1)·H + max((L−1)/n·D/B, (n−L)/n·D/B between)", source: fromNCCL + " (sends and receives)", inside: l - 1, network: m - 1, within: within, single: (n - l) / n * thinner, efficiency: 1},
		{name: "Bruck", formula: "log2 L·(h + D/2B) + log2 N·(H + D/2B)", source: fromThakur, needs: notInNCCL, inside: rounds(l), network: rounds(m), within: rounds(l) / 2, single: rounds(m) / 2 * thinner, apart: true, efficiency: 1},
	}
}
