package job

import (
	"math"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/lang/units"
)

// Cluster is the hardware the job runs on.
type Cluster struct {
	Name        string // label of the cluster block
	Catalog     string // catalogue entry it descends from
	GPU         GPU
	Nodes       int
	GPUsPerNode int
	HostMemory  units.Bytes // per node
	CPUsPerNode int         // cores usable by the job; 0: unknown
	NVLink      NVLink
	PCIe        Link
	Network     Network

	HostMemoryBandwidth units.BytesPerSecond `json:",omitempty"` // of a node; 0: not stated

	PricePerGPUHour float64      `json:",omitempty"` // in the currency of the user; 0: not given
	Calibration     *Calibration `json:",omitempty"` // nil: nothing was measured
	Storage         Storage      `json:",omitzero"`
	Reliability     *Reliability `json:",omitempty"` // nil: how often runs fail is not given
}

// Storage is what checkpoints are written to.
type Storage struct {
	Bandwidth units.BytesPerSecond // of writing, in all; 0: not given
	PerNode   units.BytesPerSecond // of one node; 0: no limit but the whole
}

// Reliability says how often runs fail and what that takes.
type Reliability struct {
	GPUHoursBetweenFailures float64       // mean; 0: not given
	Restart                 units.Seconds // from a failure to the next step; 0: not given
}

// GPUs returns the number of GPUs of the job.
func (c *Cluster) GPUs() int { return c.Nodes * c.GPUsPerNode }

// GPU is one accelerator.
type GPU struct {
	Name              string
	Catalog           string      // catalogue entry it descends from, which names its measured kernels
	Memory            units.Bytes // as the driver reports it
	TorchMemory       units.Bytes // what torch can use of it, as it says when it runs out; 0: unknown
	MemoryBandwidth   units.BytesPerSecond
	PeakFLOPS         PeakFLOPS
	ComputeCapability string // "9.0"; "" unknown
	SMs               int
	Power             float64 // watts; 0: unknown
}

// Capability is the compute capability as a number: 9.0 (Hopper), whose rules are the
// stricter ones, where the GPU states none. Whoever refuses what a generation lacks
// asks ComputeCapability whether it is known.
func (g *GPU) Capability() float64 {
	if g.ComputeCapability == "" { // whose error would be made for every layout
		return 9
	}
	c, err := strconv.ParseFloat(g.ComputeCapability, 64)
	if err != nil {
		return 9
	}
	return c
}

// Generation is the number before the point of the compute capability: 8 is Ampere and Ada,
// 9 Hopper, 10 Blackwell. It is asked of every layout, and so is read without the rest of
// the number; see Capability for a GPU that states none.
func (g *GPU) Generation() int {
	if n := GenerationOf(g.ComputeCapability); n > 0 {
		return n
	}
	return int(g.Capability())
}

// GenerationOf is the number before the point of a compute capability, such as "9.0"; 0 of
// none.
func GenerationOf(capability string) int {
	major, _, _ := strings.Cut(capability, ".")
	if major == "" { // an error would be made for every layout
		return 0
	}
	n, err := strconv.Atoi(major)
	if err != nil {
		return 0
	}
	return n
}

// GenerationsApart is by how many generations two compute capabilities differ.
func GenerationsApart(a, b string) float64 {
	return math.Abs(float64(GenerationOf(a) - GenerationOf(b)))
}

// Is reports whether the GPU is the one of a name in the catalogue, or a user's own of that
// name.
func (g *GPU) Is(name string) bool { return g.Catalog == name || g.Catalog == "" && g.Name == name }

// PeakFLOPS holds dense peaks per data type; zero: the GPU lacks the type.
type PeakFLOPS struct {
	FP32, TF32, BF16, FP16, FP8, FP4 units.FLOPsPerSecond
}

// NVLink describes the fast domain. Domain 0 means that there is none.
type NVLink struct {
	Domain    int                  // GPUs that reach each other over NVLink
	Bandwidth units.BytesPerSecond // per GPU, one direction
	Latency   units.Seconds
}

// Link is a bandwidth with a latency.
type Link struct {
	Bandwidth units.BytesPerSecond // per GPU, one direction
	Latency   units.Seconds
}

// Network connects nodes.
type Network struct {
	Kind             string // infiniband, roce, efa, slingshot; "" on a single node without one
	NICsPerNode      int
	Bandwidth        units.BytesPerSecond // per NIC, one direction
	Latency          units.Seconds
	Rails            int
	GPUsPerPod       int         // full bandwidth inside; 0: everywhere
	Oversubscription float64     // above the pod; 1: none
	Topology         string      `json:",omitempty"` // clos, dragonfly, torus; "": clos
	Congestion       units.Share `json:",omitempty"` // of the bandwidth of a group, lost with each doubling of its nodes beyond two
	Environment      []Variable
}

// For returns the dense peak of the data type that a training precision
// computes its GEMMs in; zero if the GPU lacks it.
func (p *PeakFLOPS) For(precision string) units.FLOPsPerSecond {
	switch precision {
	case "fp32":
		if p.TF32 > 0 {
			return p.TF32
		}
		return p.FP32 // a GPU before TensorFloat-32, or one described without
	case "fp16":
		return p.FP16
	case "fp8", "mxfp8":
		return p.FP8
	case "nvfp4":
		return p.FP4
	}
	return p.BF16
}
