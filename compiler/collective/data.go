package collective

import (
	"embed"
	"fmt"
	"math"
	"sync"

	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

//go:embed data/*.jsonl
var dataFiles embed.FS

// decode reads an embedded file.
func decode[T any](name string) []T {
	text, err := dataFiles.ReadFile("data/" + name + ".jsonl")
	if err != nil {
		panic(fmt.Sprintf("collective: %v", err))
	}
	return facts.Lines[T]("collective: "+name+".jsonl", string(text))
}

// measuredGPU holds the curves inside one GPU's NVLink domain.
type measuredGPU struct {
	name, capability string
	nvlink           float64
	curves           map[Operation][]*Measured // ascending ranks
}

var measuredGPUs = sync.OnceValue(func() []*measuredGPU {
	var list []*measuredGPU
	for _, m := range decode[*Measured]("nvlink") {
		if len(list) == 0 || list[len(list)-1].name != m.GPU {
			list = append(list, &measuredGPU{m.GPU, m.Capability, m.NVLink, map[Operation][]*Measured{}})
		}
		last := list[len(list)-1]
		last.curves[m.Operation] = append(last.curves[m.Operation], m)
	}
	return list
})

// nearestCurves picks the measured GPU of the same catalogue name (of the same
// name for a user's own), else the one of the nearest compute capability, then of the nearest NVLink rate;
// ties go to the first.
func nearestCurves(c *job.Cluster) *measuredGPU {
	var best *measuredGPU
	least := math.Inf(1)
	for _, m := range measuredGPUs() {
		if c.GPU.Is(m.name) {
			return m
		}
		d := 0.0
		if c.NVLink.Bandwidth > 0 {
			d = math.Abs(math.Log(float64(c.NVLink.Bandwidth) / m.nvlink))
		}
		if c.GPU.ComputeCapability != "" {
			d += 100 * job.GenerationsApart(c.GPU.ComputeCapability, m.capability)
		}
		if d = units.Rounded(d); d < least {
			best, least = m, d
		}
	}
	return best
}

// constant is one line of data/constants.jsonl.
type constant struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Source string  `json:"source"`
}

// constants are the lines of data/constants.jsonl.
var constants = func() (c struct {
	cutNVLink   float64 // share of their rate that links carry of which some are cut off
	copyNVLink  float64 // share of NVLink's rate that a copy between two GPUs reaches
	hopNVLink   float64 // seconds of a hop over NVLink that the measured curves include
	mostNICs    float64 // of one island that a single communicator was seen to drive
	slowestPCIe float64 // bytes per second of a host link that the cluster does not describe

	// NCCL's own estimates of algorithms that have neither the start nor the steps of a
	// protocol: seconds at once, of a hop between nodes, inside a node and for each rank.
	nvls, nvlsTreeHop                   float64 // in the switches of NVLink
	collNet, collNetInside, collNetRank float64 // in the switches of the network
	pat, patHop, patRank                float64 // parallel aggregated trees

	// Shares of their links' bandwidth that algorithms reach.
	treeEfficiency, collNetEfficiency, patEfficiency float64
}) {
	lines := facts.By(decode[constant]("constants"), func(line constant) string { return line.Name })
	for name, into := range map[string]*float64{
		"cut_nvlink": &c.cutNVLink, "copy_nvlink": &c.copyNVLink, "hop_nvlink": &c.hopNVLink,
		"most_nics": &c.mostNICs, "slowest_pcie": &c.slowestPCIe,
		"nvls_latency": &c.nvls, "nvls_tree_hop": &c.nvlsTreeHop,
		"collnet_latency": &c.collNet, "collnet_inside": &c.collNetInside, "collnet_rank": &c.collNetRank,
		"pat_latency": &c.pat, "pat_hop": &c.patHop, "pat_rank": &c.patRank,
		"tree_efficiency": &c.treeEfficiency, "collnet_efficiency": &c.collNetEfficiency, "pat_efficiency": &c.patEfficiency,
	} {
		line, ok := lines[name]
		if !ok {
			panic("collective: constants.jsonl lacks " + name)
		}
		*into = line.Value
	}
	return c
}()

// at interpolates the curve over the logarithm of the ranks. Beyond the
// largest measured group, latency and ramp keep growing per doubling;
// all-reduce, which the switches sum, keeps its time per byte of the tensor,
// the others their bus bandwidth.
func (m *measuredGPU) at(op Operation, ranks int) Curve {
	list := m.curves[op]
	last := len(list) - 1
	if ranks >= list[last].Ranks {
		return beyond(list[last-1], list[last], ranks)
	}
	i := 0
	for i < last-1 && ranks >= list[i+1].Ranks {
		i++
	}
	a, b := list[i], list[i+1]
	share := math.Log2(float64(ranks)/float64(a.Ranks)) / math.Log2(float64(b.Ranks)/float64(a.Ranks))
	return mix(a.Curve, b.Curve, math.Max(0, share))
}

// beyond extrapolates past the last of two measured groups.
func beyond(a, b *Measured, ranks int) Curve {
	c := b.Curve
	doublings := math.Log2(float64(ranks)/float64(b.Ranks)) / math.Log2(float64(b.Ranks)/float64(a.Ranks))
	c.Latency += doublings * math.Max(0, b.Latency-a.Latency)
	c.Ramp += doublings * math.Max(0, b.Ramp-a.Ramp)
	if b.Operation == AllReduce {
		c.Bandwidth *= Volume(AllReduce, ranks) / Volume(AllReduce, b.Ranks)
	}
	return c
}

// sendReceive is the point-to-point operation of the fabric tables.
const sendReceive Operation = "sendrecv"

// fabric holds the overheads and efficiencies of one kind of network.
type fabric struct {
	hopLatency float64
	operations map[Operation]*fabricRecord
}

// fabricRecord is one line of data/network.jsonl.
type fabricRecord struct {
	Kind       string    `json:"kind"`
	Operation  Operation `json:"operation"`
	Latency    scaling   `json:"latency"`     // seconds
	Ramp       scaling   `json:"ramp"`        // seconds
	Half       float64   `json:"half"`        // bytes of the tensor per rail at which half of the ramp is paid
	Efficiency float64   `json:"efficiency"`  // of the NICs' rate
	HopLatency float64   `json:"hop_latency"` // seconds; what the cluster states beyond is added per hop
	Hops       scaling   `json:"hops"`        // network hops in sequence
	Source     string    `json:"source"`
}

// scaling grows with the group.
type scaling struct {
	Base        float64 `json:"base"`
	PerDoubling float64 `json:"per_doubling"` // of the islands
	PerIsland   float64 `json:"per_island"`   // beyond the first
	PerRank     float64 `json:"per_rank"`     // beyond the first of each island
	PerLocal    float64 `json:"per_local"`    // members of an island beyond the first
}

func (c *scaling) at(s shape) float64 {
	return c.Base + c.PerDoubling*math.Log2(float64(s.islands)) + c.PerIsland*float64(s.islands-1) +
		c.PerRank*float64(s.size-s.islands) + c.PerLocal*float64(s.local-1)
}

var fabrics = sync.OnceValue(func() map[string]*fabric {
	m := map[string]*fabric{}
	for _, r := range decode[*fabricRecord]("network") {
		if m[r.Kind] == nil {
			m[r.Kind] = &fabric{hopLatency: r.HopLatency, operations: map[Operation]*fabricRecord{}}
		}
		m[r.Kind].operations[r.Operation] = r
	}
	return m
})

// fabricOf finds the tables of a kind of network; one that is not known
// behaves like InfiniBand.
func fabricOf(kind string) *fabric {
	if f, ok := fabrics()[kind]; ok {
		return f
	}
	return fabrics()["infiniband"]
}

// pcie holds the tables of collectives through the host.
func pcie() *fabric { return fabrics()["pcie"] }

// overhead is the price without its rate; half is in bytes per rail.
func (f *fabric) overhead(op Operation, s shape, extraLatency float64) price {
	r := f.operations[op]
	return price{latency: r.Latency.at(s) + extraLatency*r.Hops.at(s), ramp: r.Ramp.at(s), half: r.Half}
}

func (f *fabric) efficiency(op Operation) float64 { return f.operations[op].Efficiency }
