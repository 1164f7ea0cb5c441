package uncertainty

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// Envelope is what has been measured: the engines, GPUs and precisions that
// occur, from the least to the most GPUs and tokens, the largest degrees and
// numbers of experts, the shortest parts of sequences, and the slowest network.
type Envelope struct {
	Engines          []string `json:"engines"`
	GPUTypes         []string `json:"gpu_types"`
	Precisions       []string `json:"precisions"`
	Rates            []string `json:"rates"` // precisions by GPU type, as rateOf writes them
	GPUs             [2]int   `json:"gpus"`
	SequenceLength   [2]int   `json:"sequence_length"`
	TensorParallel   int      `json:"tensor_parallel"`
	ContextParallel  int      `json:"context_parallel"`
	SequencePart     int      `json:"sequence_part"` // fewest tokens that a rank has of a sequence that context parallelism cuts; 0: none was cut
	PipelineParallel int      `json:"pipeline_parallel"`
	ExpertParallel   int      `json:"expert_parallel"`
	Experts          int      `json:"experts"`
	Network          float64  `json:"network"` // least bytes per second and GPU between nodes

	// Lone are the GPU types and rates that one source alone measured.
	Lone    []string          `json:"lone"`
	sources map[string]string // of each GPU type and rate the source; "" for several
}

// Add widens the envelope by a measured step of a source; engine is the key of its
// calibration.
func (v *Envelope) Add(j *job.Job, l *plan.Layout, engine, source string) {
	for _, name := range []string{gpuOf(j), rateOf(j)} {
		v.measuredBy(name, source)
	}
	v.Engines = include(v.Engines, engine)
	v.GPUTypes = include(v.GPUTypes, gpuOf(j))
	v.Precisions = include(v.Precisions, j.Training.Precision)
	v.Rates = include(v.Rates, rateOf(j))
	v.GPUs = widen(v.GPUs, l.GPUs())
	v.SequenceLength = widen(v.SequenceLength, j.Model.SequenceLength)
	v.TensorParallel = max(v.TensorParallel, l.TensorParallel)
	v.ContextParallel = max(v.ContextParallel, l.ContextParallel)
	if part := sequencePart(l, j.Model.SequenceLength); part > 0 && (v.SequencePart == 0 || part < v.SequencePart) {
		v.SequencePart = part
	}
	v.PipelineParallel = max(v.PipelineParallel, l.PipelineParallel)
	v.ExpertParallel = max(v.ExpertParallel, l.ExpertParallel)
	v.Experts = max(v.Experts, experts(j))
	if n := network(j); n > 0 && (v.Network == 0 || n < v.Network) {
		v.Network = n
	}
}

// measuredBy keeps the names that one source alone measured.
func (v *Envelope) measuredBy(name, source string) {
	before, known := v.sources[name]
	switch {
	case !known:
		if v.sources == nil {
			v.sources = map[string]string{}
		}
		v.sources[name], v.Lone = source, include(v.Lone, name)
	case before != source && before != "":
		v.sources[name] = ""
		v.Lone = slices.DeleteFunc(v.Lone, func(lone string) bool { return lone == name })
	}
}

// sequencePart is how many tokens of a sequence a rank has; 0 where it has all.
func sequencePart(l *plan.Layout, sequence int) int {
	if l.ContextParallel <= 1 {
		return 0
	}
	return sequence / l.ContextParallel
}

// include keeps a list of names sorted and free of repeats.
func include(names []string, name string) []string {
	if i, found := slices.BinarySearch(names, name); !found {
		return slices.Insert(names, i, name)
	}
	return names
}

// widen extends a range, which is empty at zero, by a positive number.
func widen(r [2]int, n int) [2]int {
	if r[0] == 0 {
		return [2]int{n, n}
	}
	return [2]int{min(r[0], n), max(r[1], n)}
}

// gpuOf is what a job's GPU is called: its name in the catalogue, or the user's.
func gpuOf(j *job.Job) string { return cmp.Or(j.Cluster.GPU.Catalog, j.Cluster.GPU.Name) }

// rateOf names a precision on a GPU. The rate of GEMMs is known by both: that of
// a GPU in 8 bits says little of what it reaches in 16.
func rateOf(j *job.Job) string { return j.Training.Precision + " on " + gpuOf(j) }

func experts(j *job.Job) int {
	if j.Model.MoE == nil {
		return 0
	}
	return j.Model.MoE.Experts
}

// network is what a GPU has of the network between its nodes, in bytes per
// second; zero where there is one node only.
func network(j *job.Job) float64 {
	c := &j.Cluster
	if c.Nodes <= 1 || c.GPUsPerNode == 0 || c.GPUs() <= c.NVLink.Domain {
		return 0
	}
	n := float64(c.Network.NICsPerNode) * float64(c.Network.Bandwidth) / float64(c.GPUsPerNode)
	return n / max(1, c.Network.Oversubscription)
}

// Distance is how far a job lies from what was measured, zero within it: in
// doublings, or one for what was not measured at all.
type Distance struct {
	GPU, Engine             float64 // 1: never measured
	Precision               float64 // 1: never measured on this GPU
	GPUs, Sequence, Experts float64 // doublings beyond
	Network                 float64 // halvings below the slowest one
	PCIe                    float64 // 1: a node without NVLink
	Pattern                 float64 // 1: layers of several kinds, which nothing was fitted to

	LoneGPU, LonePrecision bool // measured by one source alone
}

// lone reports whether one source alone measured what a distance by its name is from.
func (d *Distance) lone(name string) bool {
	return name == "gpu" && d.LoneGPU || name == "precision" && d.LonePrecision
}

// Named is a distance by its name in the data, which has to exist.
func (d *Distance) Named(name string) float64 {
	switch name {
	case "gpu":
		return d.GPU
	case "precision":
		return d.Precision
	case "engine":
		return d.Engine
	case "gpus":
		return d.GPUs
	case "sequence":
		return d.Sequence
	case "experts":
		return d.Experts
	case "network":
		return d.Network
	case "pcie":
		return d.PCIe
	case "pattern":
		return d.Pattern
	}
	panic(fmt.Sprintf("uncertainty: no distance %q", name))
}

// Distance is how far a job lies outside.
func (v *Envelope) Distance(j *job.Job, engine string) Distance {
	var d Distance
	for _, n := range [...]struct {
		to       *float64
		value    string
		measured []string
	}{{&d.GPU, gpuOf(j), v.GPUTypes}, {&d.Precision, rateOf(j), v.Rates}, {&d.Engine, engine, v.Engines}} {
		if !slices.Contains(n.measured, n.value) {
			*n.to = 1
		}
	}
	d.LoneGPU, d.LonePrecision = slices.Contains(v.Lone, gpuOf(j)), v.OneSource(j) != ""
	d.GPUs, d.Sequence = doublings(j.Cluster.GPUs(), v.GPUs), doublings(j.Model.SequenceLength, v.SequenceLength)
	if n := experts(j); v.Experts > 0 {
		d.Experts = doublings(n, [2]int{1, v.Experts})
	}
	if n := network(j); n > 0 && v.Network > 0 {
		d.Network = max(0, math.Log2(v.Network/n))
	}
	if j.Cluster.NVLink.Domain == 0 && j.Cluster.GPUsPerNode > 1 {
		d.PCIe = 1
	}
	if j.Model.LayerPattern != "" {
		d.Pattern = 1
	}
	return d
}

// narrow reports whether a precision computes in 8 bits or fewer.
func narrow(precision string) bool {
	return precision == "fp8" || precision == "mxfp8" || precision == "nvfp4"
}

// doublings is how far a positive number lies outside a range of positive ones.
func doublings(n int, r [2]int) float64 {
	switch {
	case n <= 0 || r[0] <= 0:
		return 0
	case n < r[0]:
		return math.Log2(float64(r[0]) / float64(n))
	case n > r[1]:
		return math.Log2(float64(n) / float64(r[1]))
	}
	return 0
}

// Beyond is by how many doublings the degrees of a layout lie beyond the
// largest measured ones, all together. Context parallelism is as far beyond as its
// degree is, or as its part of a sequence is shorter than any that was measured: what
// was seen of 8 ranks at 131,072 tokens says little of 4 ranks at 8,192.
func (v *Envelope) Beyond(l *plan.Layout, sequence int) float64 {
	context := doublings(l.ContextParallel, [2]int{1, v.ContextParallel})
	if part := sequencePart(l, sequence); part < v.SequencePart {
		context = max(context, doublings(part, [2]int{v.SequencePart, v.SequencePart}))
	}
	return doublings(l.TensorParallel, [2]int{1, v.TensorParallel}) + context +
		doublings(l.PipelineParallel, [2]int{1, v.PipelineParallel}) + doublings(l.ExpertParallel, [2]int{1, v.ExpertParallel})
}

// Outside says in what a job's layout lies outside the envelope, empty when
// it lies inside.
func (v *Envelope) Outside(j *job.Job, l *plan.Layout, engine string) []string {
	var out []string
	for _, n := range []struct {
		what, value string
		measured    []string
	}{{"engine", engine, v.Engines}, {"GPU", gpuOf(j), v.GPUTypes}, {"precision", j.Training.Precision, v.Precisions}} {
		if !slices.Contains(n.measured, n.value) {
			out = append(out, n.what+" "+n.value)
		}
	}
	if rate := rateOf(j); len(out) == 0 && !slices.Contains(v.Rates, rate) {
		out = append(out, rate)
	}
	for _, n := range []measure{
		{units.Count(l.GPUs(), "GPU"), l.GPUs(), v.GPUs}, {units.Count(j.Model.SequenceLength, "token") + " per sequence", j.Model.SequenceLength, v.SequenceLength},
		degree("tensor_parallel", l.TensorParallel, v.TensorParallel), degree("context_parallel", l.ContextParallel, v.ContextParallel),
		degree("pipeline_parallel", l.PipelineParallel, v.PipelineParallel), degree("expert_parallel", l.ExpertParallel, v.ExpertParallel),
	} {
		if n.value < n.measured[0] || n.value > n.measured[1] {
			out = append(out, fmt.Sprintf("%s (measured: %d to %d)", n.what, n.measured[0], n.measured[1]))
		}
	}
	if part := sequencePart(l, j.Model.SequenceLength); part > 0 && part < v.SequencePart {
		out = append(out, fmt.Sprintf("%s of a sequence on a rank (measured: from %d)", units.Count(part, "token"), v.SequencePart))
	}
	if n := experts(j); n > v.Experts {
		out = append(out, fmt.Sprintf("%s (measured: up to %d)", units.Count(n, "expert"), v.Experts))
	}
	if n := network(j); n > 0 && n < v.Network {
		out = append(out, fmt.Sprintf("%.3g GB/s per GPU between nodes (measured: from %.3g)", n/1e9, v.Network/1e9))
	}
	if j.Cluster.NVLink.Domain == 0 && j.Cluster.GPUsPerNode > 1 {
		out = append(out, "a node without NVLink")
	}
	if j.Model.LayerPattern != "" {
		out = append(out, "layers of several kinds")
	}
	return out
}

// OneSource names the precision on a GPU that a job has where one source alone measured
// it, empty where several did or none.
func (v *Envelope) OneSource(j *job.Job) string {
	if rate := rateOf(j); slices.Contains(v.Lone, rate) {
		return rate
	}
	return ""
}

// measure is a number of a layout beside those that were measured.
type measure struct {
	what     string
	value    int
	measured [2]int
}

func degree(name string, value, most int) measure {
	return measure{fmt.Sprintf("%s = %d", name, value), value, [2]int{1, most}}
}
