package collective

import "math"

// collective prices all-reduce, all-gather and reduce-scatter.
//
// Inside an island it is the measured curve. Over islands NCCL pipelines the
// phase inside with the one between (NVLSTree, or a flat ring that crosses
// the network once per island and rail), so that the slower one decides, with
// some loss where they are alike: (a⁴ + b⁴)^¼, which meets 16 measurements
// (docs/collectives.md).
func (t *Topology) collective(op Operation, s shape) price {
	if s.islands == 1 {
		return t.inside(op, s)
	}
	between := Volume(op, s.size)
	within := Volume(op, s.size)
	if op == AllReduce {
		within = Volume(op, s.local)
		if s.islands == 2 { // both trees are one edge: each island sends the tensor once
			between = 1
		}
	}
	a := 0.0
	if s.local > 1 {
		a = within / t.insideBandwidth(op, s)
	}
	b := between / t.railBandwidth(op, s)
	p := t.fabric.overhead(op, s, t.networkLatency)
	p.rate = math.Pow(math.Pow(a, 4)+math.Pow(b, 4), 0.25)
	p.half *= float64(s.local) // from bytes per rail
	return p
}

// railBandwidth is what all NICs of one island carry for one group, as far as a
// single communicator drives them. Groups with one member per island use one GPU's
// share each.
func (t *Topology) railBandwidth(op Operation, s shape) float64 {
	driven := math.Min(float64(s.local), constants.mostNICs)
	return driven * t.network * t.fabric.efficiency(op) * t.uncongested(s) / t.wiring.neighbours(s)
}

// uncongested is the share of the network that congestion leaves to a group: the
// more islands, the more flows meet in a switch. Two islands meet nobody of their own.
func (t *Topology) uncongested(s shape) float64 {
	if t.kept == 1 || s.islands <= 2 {
		return 1
	}
	return math.Pow(t.kept, math.Log2(float64(s.islands)/2))
}

// inside prices a collective whose ranks share an island.
func (t *Topology) inside(op Operation, s shape) price {
	if !s.nvlink {
		return t.overPCIe(op, s)
	}
	c := t.curves.at(op, s.local)
	v := Volume(op, s.size)
	extra := t.nvlinkLatency * float64(s.local-1)
	return price{latency: c.Latency + extra, ramp: c.Ramp, half: c.Half / v, rate: v / t.insideBandwidth(op, s)}
}

// insideBandwidth is the bus bandwidth among the members of one island, the
// measured one scaled by the ratio of the links. What the multiprocessors move through
// whole links keeps up with links of which some are cut off, as far as those carry.
// All-reduce, which the switches sum, does not.
func (t *Topology) insideBandwidth(op Operation, s shape) float64 {
	if !s.nvlink {
		return t.pcie * pcie().efficiency(op)
	}
	c := t.curves.at(op, s.local)
	scaled := c.Bandwidth * t.nvlink / t.curves.nvlink
	if t.nvlink < t.curves.nvlink && op != AllReduce {
		return math.Max(scaled, math.Min(c.Bandwidth, constants.cutNVLink*t.nvlink))
	}
	return scaled
}

// overPCIe prices a collective through the host's PCIe switches.
func (t *Topology) overPCIe(op Operation, s shape) price {
	p := pcie().overhead(op, s, t.pcieLatency)
	p.rate = Volume(op, s.size) / (t.pcie * pcie().efficiency(op))
	return p
}

// exchange prices an all-to-all: of the bytes that a rank sends, its island
// takes (local−1)/n, the rest goes over its share of the NICs; the two run
// side by side. What is for another rail crosses NVLink first, to the GPU at that rail
// (NCCL's PXN), so that NVLink carries it as well.
func (t *Topology) exchange(s shape) price {
	if s.islands == 1 {
		return t.inside(AllToAll, s)
	}
	n := float64(s.size)
	p := t.fabric.overhead(AllToAll, s, t.networkLatency)
	leaves := (n - float64(s.local)) / n
	inside := float64(s.local-1) / n
	if s.nvlink {
		inside += leaves * t.wiring.otherRail(s)
	}
	within := inside / t.insideBandwidth(AllToAll, s)
	between := leaves * t.wiring.spread(s) / (t.network * t.fabric.efficiency(AllToAll) * t.uncongested(s))
	p.rate = math.Max(within, between)
	return p
}

// send prices a point-to-point transfer between neighbours.
func (t *Topology) send(s shape) price {
	switch {
	case s.local == 1 || s.islands == s.size:
		p := t.fabric.overhead(sendReceive, s, t.networkLatency)
		p.rate = 1 / (t.network * t.fabric.efficiency(sendReceive))
		p.rate *= t.wiring.next(s)
		return p
	case s.nvlink && s.islands == 1:
		c := t.curves.at(AllToAll, 2)
		return price{latency: c.Latency + t.nvlinkLatency, rate: 1 / (t.nvlink * constants.copyNVLink)}
	case s.islands == 1:
		p := pcie().overhead(sendReceive, s, t.pcieLatency)
		p.rate = 1 / (t.pcie * pcie().efficiency(sendReceive))
		return p
	}
	// Some neighbours are in another island: the pipeline waits for them.
	p := t.fabric.overhead(sendReceive, s, t.networkLatency)
	p.rate = 1 / (t.network * t.fabric.efficiency(sendReceive))
	return p
}
