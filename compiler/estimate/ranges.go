package estimate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// Range is the 90 % range of measured over predicted step time for a class of
// jobs, from steps that the parameters were not fitted to. Empty fields match
// every job. Inside holds for what was measured, Beyond for what was not.
type Range struct {
	GPU       string     `json:"gpu"`
	Precision string     `json:"precision"`
	MoE       bool       `json:"moe"`
	Inside    [2]float64 `json:"inside"`
	Beyond    [2]float64 `json:"beyond"`
	Rows      int        `json:"rows"`
	Measured  Envelope   `json:"measured"`
	Source    string     `json:"source"`
}

// Envelope is what has been measured of a class: the engines, GPUs and
// precisions that occur, from the least to the most GPUs and tokens, and the
// largest degrees.
type Envelope struct {
	Engines          []string `json:"engines"`
	GPUTypes         []string `json:"gpu_types"`
	Precisions       []string `json:"precisions"`
	GPUs             [2]int   `json:"gpus"`
	SequenceLength   [2]int   `json:"sequence_length"`
	TensorParallel   int      `json:"tensor_parallel"`
	ContextParallel  int      `json:"context_parallel"`
	PipelineParallel int      `json:"pipeline_parallel"`
	ExpertParallel   int      `json:"expert_parallel"`
}

// Add widens the envelope by a measured step; engine is the key of its
// calibration.
func (v *Envelope) Add(j *job.Job, l *plan.Layout, engine string) {
	v.Engines = include(v.Engines, engine)
	v.GPUTypes = include(v.GPUTypes, gpuOf(j))
	v.Precisions = include(v.Precisions, j.Training.Precision)
	v.GPUs = widen(v.GPUs, l.GPUs())
	v.SequenceLength = widen(v.SequenceLength, j.Model.SequenceLength)
	v.TensorParallel = max(v.TensorParallel, l.TensorParallel)
	v.ContextParallel = max(v.ContextParallel, l.ContextParallel)
	v.PipelineParallel = max(v.PipelineParallel, l.PipelineParallel)
	v.ExpertParallel = max(v.ExpertParallel, l.ExpertParallel)
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
	for _, n := range []measure{
		{units.Count(l.GPUs(), "GPU"), l.GPUs(), v.GPUs}, {units.Count(j.Model.SequenceLength, "token") + " per sequence", j.Model.SequenceLength, v.SequenceLength},
		degree("tensor_parallel", l.TensorParallel, v.TensorParallel), degree("context_parallel", l.ContextParallel, v.ContextParallel),
		degree("pipeline_parallel", l.PipelineParallel, v.PipelineParallel), degree("expert_parallel", l.ExpertParallel, v.ExpertParallel),
	} {
		if n.value < n.measured[0] || n.value > n.measured[1] {
			out = append(out, fmt.Sprintf("%s (measured: %d to %d)", n.what, n.measured[0], n.measured[1]))
		}
	}
	return out
}

// gpuOf is what a job's GPU is called: its name in the catalogue, or the user's.
func gpuOf(j *job.Job) string { return cmp.Or(j.Cluster.GPU.Catalog, j.Cluster.GPU.Name) }

// measure is a number of a layout beside those that were measured.
type measure struct {
	what     string
	value    int
	measured [2]int
}

func degree(name string, value, most int) measure {
	return measure{fmt.Sprintf("%s = %d", name, value), value, [2]int{1, most}}
}

// Class is the most specific of some ranges that matches the job.
func Class(ranges []Range, j *job.Job) *Range {
	if j.Model.LayerPattern != "" {
		return hybridRange()
	}
	best, score := &Range{Inside: [2]float64{1, 1}, Beyond: [2]float64{1, 1}}, -1
	for i := range ranges {
		if s := ranges[i].matches(j); s > score {
			best, score = &ranges[i], s
		}
	}
	return best
}

// hybridRange is the range of models with a layer pattern, which nothing was
// fitted to.
var hybridRange = sync.OnceValue(func() *Range {
	r := &Range{}
	readJSON("data/hybrid.json", r)
	return r
})

// matches counts how many fields of a class single out the job; -1 when it is
// of another class.
func (r *Range) matches(j *job.Job) int {
	n := 0
	if r.MoE != (j.Model.MoE != nil) {
		return -1
	}
	for _, f := range [][2]string{{r.GPU, j.Cluster.GPU.Catalog}, {r.Precision, j.Training.Precision}} {
		switch f[0] {
		case "":
		case f[1]:
			n++
		default:
			return -1
		}
	}
	return n
}

// Of is the range of a layout of a job, and in what it lies beyond what was
// measured.
func (r *Range) Of(j *job.Job, l *plan.Layout, engine string) (span [2]float64, outside []string) {
	if j.Model.LayerPattern != "" { // nothing was measured to be outside of
		return r.Beyond, nil
	}
	if outside = r.Measured.Outside(j, l, engine); len(outside) > 0 {
		return r.Beyond, outside
	}
	return r.Inside, nil
}

// span is the 90 % range around a predicted step, by the class of the job in
// data/ranges.json, and what it stands on.
func (e *Evaluator) span(l *plan.Layout, t units.Seconds) (ends [2]units.Seconds, stands string) {
	var ranges []Range
	readJSON("data/ranges.json", &ranges)
	class := Class(ranges, e.job)
	r, outside := class.Of(e.job, l, e.runtime.Calibration.Time)
	stands = class.Source
	if len(outside) > 0 {
		stands += "; this layout lies beyond them: " + strings.Join(outside, ", ")
	}
	return [2]units.Seconds{t * units.Seconds(r[0]), t * units.Seconds(r[1])}, stands
}
