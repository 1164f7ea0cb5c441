package search

import (
	"math/rand"
	"os"
	"strconv"
	"testing"

	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// TestRandomJobs chooses for jobs drawn at random as brute force does. Each of the seeds
// found a fault; NDC_SEARCH_SEED and NDC_SEARCH_JOBS draw others.
func TestRandomJobs(t *testing.T) {
	seeds := []int64{47, 78, 88, 105}
	if first, err := strconv.ParseInt(os.Getenv("NDC_SEARCH_SEED"), 10, 64); err == nil {
		seeds = nil
		for n, _ := strconv.ParseInt(os.Getenv("NDC_SEARCH_JOBS"), 10, 64); n > 0; n-- {
			seeds = append(seeds, first)
			first++
		}
	}
	for _, seed := range seeds {
		t.Run(strconv.FormatInt(seed, 10), func(t *testing.T) {
			d := draw(rand.New(rand.NewSource(seed)))
			t.Logf("%+v", *d)
			j, target := d.job()
			got := searched(j, target)
			if testing.Short() {
				return // for the race detector: brute force is alone
			}
			fast := *j
			fast.Constraints.Objective = "throughput"
			if list, _, _ := everything(&fast, target); len(list) == 0 {
				if len(got.Best) > 0 {
					t.Fatalf("brute force finds nothing, the search %+v", got.Best[0])
				}
				return
			}
			_, want, leaves := everything(j, target)
			if len(got.Best) == 0 {
				t.Fatalf("the search finds nothing, brute force %+v", want.Best[0])
			}
			if got.Counts.Enumerated != leaves {
				t.Errorf("enumerated %d, brute force %d", got.Counts.Enumerated, leaves)
			}
			compareChoice(t, &want, got)
		})
	}
}

// drawn is what a random job has.
type drawn struct {
	moe                       bool
	layers, tokens, sequences int
	runtime                   string
	crowded                   bool // steps slow near the GPU's limit
	options, listed           bool // left open; of which some by the job's lists
	variants                  [3]bool
	exposed                   float64
	objective                 string
	memory                    units.Bytes
	tensor, context, pipeline job.IntChoice
}

// draw draws a job.
func draw(r *rand.Rand) *drawn {
	one := func(of ...int) int { return of[r.Intn(len(of))] }
	in := func(n int) bool { return r.Intn(n) == 0 }
	d := &drawn{moe: in(3), layers: one(4, 5, 6, 8), tokens: one(256, 1024, 2048, 8192), sequences: one(8, 16, 16, 24),
		runtime: [...]string{"whole", "whole", "buckets", "blocks"}[r.Intn(4)], crowded: in(3), options: in(2), listed: in(2),
		variants: [...]bool{!in(3), !in(3), in(3)}, exposed: 1, objective: "throughput"}
	if in(2) {
		d.exposed = [...]float64{0.003, 0.01, 0.02, 0.03, 0.05, 0.1}[r.Intn(6)]
	}
	if in(4) {
		d.objective = "memory"
	}
	few, single := job.IntChoice{Values: []int{1, 2}}, job.IntChoice{Values: []int{1}}
	if d.context = few; in(2) {
		d.context = single
	}
	if in(2) {
		d.pipeline = few
	}
	least := 4.0
	if d.moe { // which are slow to search
		d.tensor, d.context, d.pipeline, least = few, single, few, 12
	}
	d.memory = units.Bytes(least * (1 + 8*r.Float64()*r.Float64()) * float64(units.GiB))
	return d
}

// job is the drawn job and the framework it is for.
func (d *drawn) job() (*job.Job, *target.Target) {
	j, t := smallJob(d.moe, 1), smallTarget()
	switch d.runtime {
	case "buckets":
		t.Runtime = runtimes.Buckets()
	case "blocks":
		t.Runtime = runtimes.Blocks()
	}
	if t.Runtime.Calibration.Memory = ""; d.crowded {
		t.Runtime.Calibration.Memory = "nanotron" // of whose runs some slowed
		j.Constraints.MemoryHeadroom = job.Some(units.Share(0))
	}
	if d.options {
		if open(j, t); !d.listed {
			j.Constraints.Execution = nil
		}
	}
	for i, v := range []target.Variant{offloadOptimizer, offloadActivations, lossInChunks} {
		if d.variants[i] {
			t.Variants = append(t.Variants, v)
		}
	}
	j.Model.Layers, j.Model.SequenceLength, j.Training.GlobalBatchSize = d.layers, d.tokens, d.sequences
	j.Cluster.GPU.Memory, j.Cluster.GPU.TorchMemory = d.memory, d.memory
	c := &j.Constraints
	c.Objective = d.objective
	if d.exposed < 1 {
		c.MaxExposedCommunication = job.Some(units.Share(d.exposed))
	}
	c.Layout.TensorParallel, c.Layout.ContextParallel, c.Layout.PipelineParallel = d.tensor, d.context, d.pipeline
	c.Layout.VirtualPipeline = job.IntChoice{Values: []int{1, 2}}
	return j, t
}
