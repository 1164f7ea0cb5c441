package slurm

import (
	"math"
	"strconv"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/compiler/collective"
	"github.com/ndc-dev/ndc/compiler/compute"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// How the speed of nodes is measured, and what is slow: shares of the predicted
// rate. ndc's choices. Products and sums inside a node are predicted within the
// fifth that these shares leave and more (docs/accuracy.md); a network that others use
// may be slower than alone, and a node that has lost half of its rate is found all the same.
const (
	matmulSize                           = 8192
	reducedBytes                         = 1 * units.GiB
	matmulShare, nodeShare, networkShare = 0.7, 0.7, 0.6

	// gatherTime is how long nodes have to come: containers start, and torch is read.
	gatherTime units.Seconds = 300
	// roundTime is how long one measurement may take, most of which is the start of
	// communicators.
	roundTime units.Seconds = 120
)

// checksSpeed reports whether the nodes compute and talk to each other before a
// start: where there are nodes to spare, unless the job says no.
func checksSpeed(j *job.Job) bool { return j.Slurm.SpareNodes > 0 && j.Slurm.CheckSpeed.Or(true) }

// roundSeconds is the time of a measurement on all nodes: a second more for every
// sixteen, whose addresses all have to be handed around.
func roundSeconds(nodes int) int { return int(roundTime) + nodes/16 }

// speedLimit bounds the whole: the nodes come, each is measured alone, all
// together, then halves of halves until pairs are left, and those with others.
func speedLimit(j *job.Job) int {
	nodes := j.AllocatedNodes()
	rounds := 2 + int(math.Ceil(math.Log2(float64(max(2, nodes)))))
	return int(gatherTime) + rounds*(roundSeconds(nodes)+60)
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
		Header: render.Header, Summary: summary(j, l), GPUs: c.GPUsPerNode, Matmul: matmulSize, Bytes: int64(reducedBytes),
		MatmulShare: render.Number(matmulShare), NodeShare: render.Number(nodeShare), NetworkShare: render.Number(networkShare),
		Most: mostBad(j), GatherSeconds: int(gatherTime), RoundSeconds: roundSeconds(nodes),
	}
	v.MatmulSeconds = rounded(compute.NewDevice(&c.GPU).GEMM(compute.BF16, matmulSize, matmulSize, matmulSize))
	v.NodeSeconds = rounded(reduceSeconds(c, 1))
	for n := 2; n < 2*nodes; n *= 2 {
		v.Fabric = append(v.Fabric, fabricTime{n, rounded(reduceSeconds(c, n))})
	}
	return must("check_speed.py.tmpl", v)
}

// reduceSeconds is the predicted time of the all-reduce over all GPUs of so many
// nodes. Nodes of one NVLink domain may be found in two where nodes are missing; so
// what counts is the slower of both ways.
func reduceSeconds(c job.Cluster, nodes int) units.Seconds {
	c.Nodes = nodes
	over := func() units.Seconds {
		g := collective.NewTopology(&c).Group(c.GPUs(), 1)
		return g.AllReduce(reducedBytes)
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
