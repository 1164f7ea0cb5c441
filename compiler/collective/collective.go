// Package collective says how long a communication takes on a cluster: the
// collectives of NCCL over a group of ranks, from the algorithm's volume, the
// links that the group's ranks share, and efficiencies measured by message
// size, fabric and scale (data/*.json, each record with its source).
//
// It knows ranks, links and bytes. It does not know what is communicated or
// what hides it (package estimate), nor kernels (package compute).
package collective

import (
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// Links over which a group communicates, the slowest that its ranks need.
const (
	LinkSelf    = "self"
	LinkNVLink  = "nvlink"
	LinkPCIe    = "pcie"
	LinkNetwork = "network"
)

// Topology is a cluster seen by its communication: who shares an NVLink
// domain, a node and a pod, and how fast each level is. It is read-only and
// safe for concurrent use.
type Topology struct {
	gpus       int // of the job
	perNode    int // GPUs per node
	perDomain  int // GPUs per NVLink domain; 0: none
	perPod     int // GPUs that reach each other at full network bandwidth
	nvlink     job.Link
	pcie       job.Link
	network    job.Link // share of one GPU of its node's NICs
	oversubscr float64
}

// NewTopology prepares the cluster. The cluster is not kept.
func NewTopology(c *job.Cluster) *Topology {
	t := &Topology{gpus: c.GPUs(), perNode: c.GPUsPerNode, perDomain: c.NVLink.Domain, perPod: c.Network.GPUsPerPod}
	t.nvlink = job.Link{Bandwidth: c.NVLink.Bandwidth, Latency: c.NVLink.Latency}
	t.pcie = c.PCIe
	share := float64(c.Network.NICsPerNode) / float64(c.GPUsPerNode)
	t.network = job.Link{Bandwidth: c.Network.Bandwidth * units.BytesPerSecond(share), Latency: c.Network.Latency}
	t.oversubscr = max(1, c.Network.Oversubscription)
	return t
}

// Group is one communicator kind: size ranks, stride apart in mesh order,
// every rank of the job in one such group and all groups busy at once (they
// share the NICs of their nodes). It is a small value with all costs prepared;
// its methods allocate nothing. The zero Group costs nothing.
type Group struct {
	size   int
	stride int
	link   string
	wire   job.Link
}

// Group returns the communicator of size ranks, stride apart. Ranks are
// numbered along the mesh, innermost axis first, and fill one node after
// another. size and stride must be at least 1.
func (t *Topology) Group(size, stride int) Group {
	g := Group{size: size, stride: stride, link: LinkSelf}
	switch span := size * stride; {
	case size <= 1:
	case span <= t.perDomain:
		g.link, g.wire = LinkNVLink, t.nvlink
	case span <= t.perNode:
		g.link, g.wire = LinkPCIe, t.pcie
	default:
		g.link, g.wire = LinkNetwork, t.network
	}
	return g
}

// Size is the number of ranks.
func (g *Group) Size() int { return g.size }

// Link names the slowest link that the group needs: self, nvlink, pcie or
// network.
func (g *Group) Link() string { return g.link }

// AllReduce sums a tensor of bytes over the group; every rank holds all of it
// before and after.
func (g *Group) AllReduce(bytes units.Bytes) units.Seconds {
	return 2 * g.ReduceScatter(bytes)
}

// AllGather collects a tensor of bytes in total, of which every rank brings
// 1/size.
func (g *Group) AllGather(bytes units.Bytes) units.Seconds { return g.ReduceScatter(bytes) }

// ReduceScatter sums a tensor of bytes in total and leaves 1/size of it on
// every rank.
func (g *Group) ReduceScatter(bytes units.Bytes) units.Seconds {
	if g.size <= 1 || bytes == 0 {
		return 0
	}
	n := float64(g.size)
	return g.wire.Latency + units.Seconds((n-1)/n*float64(bytes)/float64(g.wire.Bandwidth))
}

// AllToAll exchanges equal pieces: every rank sends bytes in total, 1/size of
// them to each rank, itself included.
func (g *Group) AllToAll(bytes units.Bytes) units.Seconds { return g.ReduceScatter(bytes) }

// Broadcast copies a tensor of bytes from one rank to all others.
func (g *Group) Broadcast(bytes units.Bytes) units.Seconds { return g.ReduceScatter(bytes) }

// PointToPoint sends bytes from every rank to its next neighbour in the
// group, one stride away.
func (g *Group) PointToPoint(bytes units.Bytes) units.Seconds {
	if g.size <= 1 || bytes == 0 {
		return 0
	}
	return g.wire.Latency + units.Seconds(float64(bytes)/float64(g.wire.Bandwidth))
}
