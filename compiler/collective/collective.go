// Package collective says how long a communication takes on a cluster: the
// collectives of NCCL over a group of ranks, from the algorithm's volume, the
// links that the group's ranks share, and what was measured by message size,
// fabric and scale (data/*.jsonl, each record with its source;
// docs/collectives.md has the formulas).
//
// It knows ranks, links and bytes. It does not know what is communicated or
// what hides it (package estimate), nor kernels (package compute).
package collective

import "github.com/ndc-dev/ndc/lang/units"

// Links over which a group communicates, the slowest that its ranks need.
const (
	LinkSelf    = "self"
	LinkNVLink  = "nvlink"
	LinkPCIe    = "pcie"
	LinkNetwork = "network"
)

// Group is one communicator kind: size ranks, stride apart in mesh order,
// every rank of the job in one such group and all groups busy at once (they
// share the NICs of their nodes). It is a small value with all costs prepared;
// its methods allocate nothing. The zero Group costs nothing.
type Group struct {
	size   int
	stride int
	link   string

	allReduce, allGather, reduceScatter, allToAll, pointToPoint price
}

// price is a cost as a function of the bytes that the caller states.
type price struct {
	latency float64 // seconds of the shortest message
	ramp    float64 // seconds more once the pipeline of chunks fills
	half    float64 // bytes at which half of the ramp is paid
	rate    float64 // seconds per byte
}

// of is the time for some bytes; nothing costs nothing.
func (p *price) of(bytes units.Bytes) units.Seconds {
	if bytes <= 0 || p.rate == 0 {
		return 0
	}
	x := float64(bytes)
	return units.Seconds(p.latency + p.ramp*x/(x+p.half) + x*p.rate)
}

// Size is the number of ranks.
func (g *Group) Size() int { return g.size }

// Stride is how far its ranks are apart.
func (g *Group) Stride() int { return g.stride }

// Link names the slowest link that the group needs: self, nvlink, pcie or
// network.
func (g *Group) Link() string { return g.link }

// AllReduce sums a tensor of bytes over the group; every rank holds all of it
// before and after.
func (g *Group) AllReduce(bytes units.Bytes) units.Seconds { return g.allReduce.of(bytes) }

// AllGather collects a tensor of bytes in total, of which every rank brings
// 1/size.
func (g *Group) AllGather(bytes units.Bytes) units.Seconds { return g.allGather.of(bytes) }

// ReduceScatter sums a tensor of bytes in total and leaves 1/size of it on
// every rank.
func (g *Group) ReduceScatter(bytes units.Bytes) units.Seconds { return g.reduceScatter.of(bytes) }

// AllToAll exchanges equal pieces: every rank sends bytes in total, 1/size of
// them to each rank, itself included.
func (g *Group) AllToAll(bytes units.Bytes) units.Seconds { return g.allToAll.of(bytes) }

// PointToPoint sends bytes from every rank to its neighbour in the group, one
// stride away.
func (g *Group) PointToPoint(bytes units.Bytes) units.Seconds { return g.pointToPoint.of(bytes) }

// Time is what a collective of some kind takes on bytes, and zero for kinds that were not
// measured.
func (g *Group) Time(op Operation, bytes units.Bytes) units.Seconds {
	switch op {
	case AllReduce:
		return g.AllReduce(bytes)
	case AllGather:
		return g.AllGather(bytes)
	case ReduceScatter:
		return g.ReduceScatter(bytes)
	case AllToAll:
		return g.AllToAll(bytes)
	case Send:
		return g.PointToPoint(bytes)
	}
	return 0
}
