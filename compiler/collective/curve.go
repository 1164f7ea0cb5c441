package collective

import "math"

// Curve is how long a collective takes by the volume v that each rank sends:
//
//	t = Latency + Ramp·v/(v + Half) + v/Bandwidth
//
// Latency is that of the shortest messages, Ramp what filling the pipeline of
// chunks adds before Bandwidth is reached. It rises with v.
type Curve struct {
	Latency   float64 `json:"latency"`   // seconds
	Ramp      float64 `json:"ramp"`      // seconds
	Half      float64 `json:"half"`      // bytes at which half of the ramp is paid
	Bandwidth float64 `json:"bandwidth"` // bytes per second, as nccl-tests' bus bandwidth
}

// overhead is the time without the bandwidth term.
func (c *Curve) overhead(v float64) float64 { return c.Latency + c.Ramp*v/(v+c.Half) }

// At is the time for a volume of v bytes per rank.
func (c *Curve) At(v float64) float64 { return c.overhead(v) + v/c.Bandwidth }

// mix interpolates between two curves, geometrically where it must stay
// positive.
func mix(a, b Curve, share float64) Curve {
	geometric := func(x, y float64) float64 { return math.Exp(math.Log(x) + share*(math.Log(y)-math.Log(x))) }
	return Curve{
		Latency:   a.Latency + share*(b.Latency-a.Latency),
		Ramp:      a.Ramp + share*(b.Ramp-a.Ramp),
		Half:      geometric(a.Half, b.Half),
		Bandwidth: geometric(a.Bandwidth, b.Bandwidth),
	}
}

// Volume is what every rank of n sends, over the bytes of the tensor, by the
// bandwidth-optimal algorithms that nccl-tests' bus bandwidth assumes
// (NVIDIA/nccl-tests, doc/PERFORMANCE.md): 2(n−1)/n for all-reduce, (n−1)/n
// for all-gather, reduce-scatter and all-to-all.
func Volume(op Operation, n int) float64 {
	share := float64(n-1) / float64(n)
	if op == AllReduce {
		return 2 * share
	}
	return share
}

// Operation is a collective.
type Operation string

// The collectives that were measured.
const (
	AllReduce     Operation = "all_reduce"
	AllGather     Operation = "all_gather"
	ReduceScatter Operation = "reduce_scatter"
	AllToAll      Operation = "alltoall"
)

// Measured is the curve of one collective over some ranks of one NVLink
// domain, fitted by tools/fit.
type Measured struct {
	GPU        string    `json:"gpu"` // catalogue name
	Capability string    `json:"capability"`
	Operation  Operation `json:"operation"`
	Ranks      int       `json:"ranks"`
	Curve
	NVLink float64 `json:"nvlink"` // bytes per second and direction of the measured GPU
	Rows   int     `json:"rows"`
	Median float64 `json:"median"` // error on every other size when fitted to the rest
	Max    float64 `json:"max"`
	Source string  `json:"source"`
}
