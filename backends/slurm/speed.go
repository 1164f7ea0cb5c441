package slurm

import (
	_ "embed" // for data/speed.json
	"math"
	"strconv"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/compiler/collective"
	"github.com/ndc-dev/ndc/compiler/compute"
	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

//go:embed data/speed.json
var speedData string

// speed is how the speed of nodes is measured, and what is slow.
var speed = facts.One[struct {
	MatmulShare   float64       `json:"matmul_share"` // of the predicted rate
	NodeShare     float64       `json:"node_share"`
	NetworkShare  float64       `json:"network_share"`
	MatmulSize    int           `json:"matmul_size"` // rows and columns
	ReducedBytes  units.Bytes   `json:"reduced_bytes"`
	Gather        units.Seconds `json:"gather_seconds"`  // that nodes have to come
	Round         units.Seconds `json:"round_seconds"`   // of one measurement at most
	Between       units.Seconds `json:"between_seconds"` // two measurements
	NodesOfSecond int           `json:"nodes_per_second"`

	Source      string `json:"source"` // of the shares
	SizesSource string `json:"sizes_source"`
	TimesSource string `json:"times_source"`
}]("slurm: data/speed.json", speedData)

// checksSpeed reports whether the nodes compute and talk to each other before a
// start: where there are nodes to spare, unless the job says no.
func checksSpeed(j *job.Job) bool { return j.Slurm.SpareNodes > 0 && j.Slurm.CheckSpeed.Or(true) }

// roundSeconds is the time of a measurement on all nodes, whose addresses have to be
// handed around.
func roundSeconds(nodes int) int { return int(speed.Round) + nodes/speed.NodesOfSecond }

// speedLimit bounds the whole: the nodes come, each is measured alone, all
// together, then halves of halves until pairs are left, and those with others.
func speedLimit(j *job.Job) int {
	nodes := j.AllocatedNodes()
	rounds := 2 + int(math.Ceil(math.Log2(float64(max(2, nodes)))))
	return int(speed.Gather) + rounds*(roundSeconds(nodes)+int(speed.Between))
}

type speedView struct {
	Header, Summary                      string
	GPUs, Matmul                         int
	Bytes                                int64
	MatmulSeconds, NodeSeconds           string
	Fabric                               []fabricTime
	MatmulShare, NodeShare, NetworkShare string
	Most, GatherSeconds, RoundSeconds    int
}

// fabricTime is what an all-reduce over so many nodes takes.
type fabricTime struct {
	Nodes   int
	Seconds string
}

// speedProgram measures the nodes: check_speed.py.
func speedProgram(j *job.Job, l Launch) []byte {
	c, nodes := j.Cluster, j.AllocatedNodes()
	v := speedView{
		Header: render.Header, Summary: summary(j, l), GPUs: c.GPUsPerNode, Matmul: speed.MatmulSize, Bytes: int64(speed.ReducedBytes),
		MatmulShare: render.Number(speed.MatmulShare), NodeShare: render.Number(speed.NodeShare), NetworkShare: render.Number(speed.NetworkShare),
		Most: mostBad(j), GatherSeconds: int(speed.Gather), RoundSeconds: roundSeconds(nodes),
	}
	v.MatmulSeconds = rounded(compute.NewDevice(&c.GPU).GEMM(compute.BF16, speed.MatmulSize, speed.MatmulSize, speed.MatmulSize))
	v.NodeSeconds = rounded(reduceSeconds(c, 1))
	for n := 2; n < 2*nodes; n *= 2 {
		v.Fabric = append(v.Fabric, fabricTime{n, rounded(reduceSeconds(c, n))})
	}
	return templates.Execute("check_speed.py.tmpl", v)
}

// reduceSeconds is the predicted time of the all-reduce over all GPUs of so many
// nodes. Nodes of one NVLink domain may be found in two where nodes are missing; so
// what counts is the slower of both ways.
func reduceSeconds(c job.Cluster, nodes int) units.Seconds {
	c.Nodes = nodes
	over := func() units.Seconds {
		g := collective.NewTopology(&c).Group(c.GPUs(), 1)
		return g.AllReduce(speed.ReducedBytes)
	}
	seconds := over()
	if nodes > 1 && c.NVLink.Domain > c.GPUsPerNode {
		c.NVLink.Domain = c.GPUsPerNode
		seconds = max(seconds, over())
	}
	return seconds
}

// rounded keeps three digits, which is more than is known. Without a rate there is no
// time, and nothing is slow.
func rounded(t units.Seconds) string {
	if !(t > 0) || math.IsInf(float64(t), 0) {
		return `float("inf")`
	}
	return strconv.FormatFloat(float64(t), 'g', 3, 64)
}
