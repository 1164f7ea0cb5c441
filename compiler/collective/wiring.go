package collective

import (
	"math"

	"github.com/ndc-dev/ndc/lang/job"
)

// Topologies of a network, the words of cluster.network.topology.
const (
	clos      = "clos"
	dragonfly = "dragonfly"
	torus     = "torus"
)

// wiring is how the switches of a network lie between its nodes: by what factor
// it carries less than the NICs could send (docs/collectives.md, "Between pods").
type wiring struct {
	topology string
	thinner  float64 // factor by which the network is thinner between pods
	rails    float64 // planes of leaf switches
	side     float64 // nodes along one side of a torus
}

func wiringOf(c *job.Cluster) wiring {
	n := &c.Network
	return wiring{
		topology: n.Topology, thinner: math.Max(1, n.Oversubscription), rails: math.Max(1, float64(n.Rails)),
		side: math.Max(1, math.Cbrt(float64(c.Nodes))),
	}
}

// neighbours is the factor for traffic from every node to the next: rings, trees,
// pipelines. It crosses the edge of a pod once, so that thinner links bind only when a
// group has fewer islands in a pod than they are thinner.
func (w *wiring) neighbours(s shape) float64 {
	switch {
	case w.topology == torus:
		return w.lines(s)
	case s.pods <= 1:
		return 1
	case w.topology == dragonfly:
		// All that leaves a pod is for one other, to which few links lead: routers send half
		// of it over a third pod, and every byte takes two links between pods.
		return math.Max(1, 2*w.thinner/float64(s.perPod))
	}
	return math.Max(1, w.thinner/float64(s.perPod))
}

// next is the factor for messages from every node to its neighbour in the group: they
// leave a pod only where no two nodes of the group share one.
func (w *wiring) next(s shape) float64 {
	if s.perPod == 1 || w.topology == torus {
		return w.neighbours(s)
	}
	return 1
}

// spread is the factor for traffic from every node to every other.
func (w *wiring) spread(s shape) float64 {
	switch {
	case w.topology == torus:
		// Half of the bytes cross the middle, where k x k links lead each way round: of 6 links
		// of a node 8/k are busy.
		return math.Max(w.lines(s), 0.75*math.Min(w.side, math.Cbrt(float64(s.islands))))
	case s.pods <= 1:
		return 1
	}
	leaves := float64(s.size - s.local)
	away := float64(s.size - s.perPod*s.local)
	if !s.nvlink {
		// Nothing carries bytes to the NIC at another rail: they climb above the leaves, too.
		away += (leaves - away) * w.otherRail(s)
	}
	return math.Max(1, away/leaves*w.thinner)
}

// lines is how many times fewer of a torus node's six links a group uses: two along a
// line of nodes, four in a plane.
func (w *wiring) lines(s shape) float64 {
	switch n := float64(s.islands); {
	case n <= math.Ceil(w.side):
		return 3
	case n <= math.Ceil(w.side)*math.Ceil(w.side):
		return 1.5
	}
	return 1
}

// otherRail is the share of what leaves an island that is for a GPU at another rail.
func (w *wiring) otherRail(s shape) float64 {
	return 1 - 1/math.Min(w.rails, float64(s.local))
}
