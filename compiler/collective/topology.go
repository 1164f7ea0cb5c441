package collective

import (
	"math"

	"github.com/ndc-dev/ndc/lang/job"
)

// Topology is a cluster seen by its communication: who shares an NVLink
// domain, a node and a pod, and how fast each level is. It is read-only and
// safe for concurrent use.
type Topology struct {
	island  int // GPUs that reach each other without the network: a node, or an NVLink domain of several
	domain  int // GPUs per NVLink domain; 1: no NVLink
	pod     int // GPUs that reach each other at full network bandwidth; 0: all
	nics    float64
	nvlink  float64 // bytes per second and direction, as all rates here
	pcie    float64
	network float64 // one GPU's share of its node's NICs
	wiring  wiring
	kept    float64 // share of the network that each doubling of a group's islands beyond two leaves: 1 without congestion

	curves *measuredGPU
	fabric *fabric

	// Latencies of one hop beyond what the measured tables include.
	nvlinkLatency, pcieLatency, networkLatency float64
}

// NewTopology prepares the cluster. The cluster is not kept.
func NewTopology(c *job.Cluster) *Topology {
	n := &c.Network
	t := &Topology{
		domain: max(1, domainOf(c)), pod: n.GPUsPerPod, wiring: wiringOf(c), kept: 1 - float64(n.Congestion),
		nvlink: float64(c.NVLink.Bandwidth), pcie: float64(c.PCIe.Bandwidth), nics: float64(n.NICsPerNode),
	}
	t.island = max(c.GPUsPerNode, t.domain)
	t.network = float64(n.Bandwidth) * t.nics / float64(max(1, c.GPUsPerNode))
	t.curves = nearestCurves(c)
	t.fabric = fabricOf(n.Kind)
	t.nvlinkLatency = math.Max(0, float64(c.NVLink.Latency)-constants.hopNVLink)
	t.pcieLatency = math.Max(0, float64(c.PCIe.Latency)-pcie().hopLatency)
	t.networkLatency = math.Max(0, float64(n.Latency)-t.fabric.hopLatency)
	if t.pcie <= 0 {
		t.pcie = constants.slowestPCIe
	}
	return t
}

// domainOf is the number of GPUs that a group can count on sharing an NVLink
// domain. A job no larger than a domain of several nodes is all inside. A larger one
// fills it only when it is a multiple of it; otherwise the scheduler places blocks
// of the largest power of two of nodes that fit (Slurm's --segment), so that groups
// stay inside.
func domainOf(c *job.Cluster) int {
	d := c.NVLink.Domain
	if d <= c.GPUsPerNode || c.GPUs()%d == 0 {
		return d
	}
	if c.GPUs() < d {
		return c.GPUs()
	}
	block := c.GPUsPerNode
	for 2*block <= d {
		block *= 2
	}
	return block
}

// Unplaced is what domainOf is where nothing places blocks of so many GPUs: what blocks
// and NVLink domains, each following on the last, have both as a part.
func Unplaced(c *job.Cluster, block int) int { return gcd(block, c.NVLink.Domain) }

// local is how many members of a group share a block of ranks, at the worst
// place. Groups tile the ranks in spans of size × stride.
func local(size, stride, block int) int {
	span := size * stride
	switch {
	case block <= 0 || stride >= block:
		return 1
	case block%span == 0:
		return size
	case span%block == 0 && block%stride == 0:
		return block / stride
	case size == 2 && block%stride != 0:
		return 2 // first and last stage of a pipeline inside the block
	}
	return max(1, gcd(span, block)/stride)
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// Group returns the communicator of size ranks, stride apart. Ranks are
// numbered along the mesh, innermost axis first, and fill one node after
// another. size and stride must be at least 1.
func (t *Topology) Group(size, stride int) Group {
	g := Group{size: size, stride: stride, link: LinkSelf}
	if size <= 1 {
		return g
	}
	s := t.shape(size, stride)
	switch {
	case s.islands > 1:
		g.link = LinkNetwork
	case s.nvlink:
		g.link = LinkNVLink
	default:
		g.link = LinkPCIe
	}
	g.allReduce = t.collective(AllReduce, s)
	g.allGather = t.collective(AllGather, s)
	g.reduceScatter = t.collective(ReduceScatter, s)
	g.allToAll = t.exchange(s)
	g.pointToPoint = t.send(s)
	return g
}

// shape is how a group lies on the cluster.
type shape struct {
	size    int
	local   int // members per island
	islands int
	nvlink  bool // members of an island reach each other over NVLink
	perPod  int  // islands of the group in one pod
	pods    int
}

func (t *Topology) shape(size, stride int) shape {
	s := shape{size: size, local: local(size, stride, t.island)}
	s.islands = (size + s.local - 1) / s.local
	s.nvlink = t.domain > 1 && local(size, stride, t.domain) >= s.local
	s.perPod, s.pods = s.islands, 1
	if t.pod > 0 && (t.wiring.thinner > 1 || t.wiring.topology == dragonfly) {
		s.perPod = max(1, local(size, stride, t.pod)/s.local)
		s.pods = (s.islands + s.perPod - 1) / s.perPod
	}
	return s
}
