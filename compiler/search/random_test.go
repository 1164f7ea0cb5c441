package search

import (
	"cmp"
	"context"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/ndc-dev/ndc/compiler/goodput"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// TestRandomJobs chooses for jobs drawn at random as brute force does, and where nothing fits
// tells of the same nearest layouts; the short ones have so little memory that most layouts need a variant, the cramped ones less still, the limited ones limits of every kind. Each of the seeds
// found a fault; NDC_SEARCH_SEED and NDC_SEARCH_JOBS draw others.
func TestRandomJobs(t *testing.T) {
	plain, short, cramped, limited := []int64{47, 78, 88, 105, 77002}, []int64{124, 75044}, []int64{96, 211}, []int64{171, 7042}
	if first, err := strconv.ParseInt(os.Getenv("NDC_SEARCH_SEED"), 10, 64); err == nil {
		plain, short, cramped, limited = nil, nil, nil, nil
		for n, _ := strconv.ParseInt(os.Getenv("NDC_SEARCH_JOBS"), 10, 64); n > 0; n-- {
			plain, short, cramped, limited = append(plain, first), append(short, first), append(cramped, first), append(limited, first)
			first++
		}
	}
	for _, seed := range plain {
		t.Run(strconv.FormatInt(seed, 10), func(t *testing.T) {
			d := draw(rand.New(rand.NewSource(seed)))
			t.Logf("%+v", *d)
			compareSearch(t, d)
		})
	}
	for _, little := range []struct {
		name  string
		seeds []int64
		by    units.Bytes // the memory is divided
	}{{"short", short, 3}, {"cramped", cramped, 10}} {
		for _, seed := range little.seeds {
			t.Run(fmt.Sprintf("%d %s", seed, little.name), func(t *testing.T) {
				d := draw(rand.New(rand.NewSource(seed)))
				d.memory /= little.by
				t.Logf("%+v", *d)
				compareSearch(t, d)
			})
		}
	}
	for _, seed := range limited {
		t.Run(fmt.Sprintf("%d limited", seed), func(t *testing.T) {
			r := rand.New(rand.NewSource(seed))
			d := draw(r)
			d.limit(r)
			t.Logf("%+v %+v", *d, *d.limits)
			compareSearch(t, d)
		})
	}
}

// compareSearch holds the search of a drawn job against brute force.
func compareSearch(t *testing.T, d *drawn) {
	t.Helper()
	j, target := d.job()
	got := searched(j, target)
	compareSought(t, j, target, got)
	if testing.Short() {
		return // for the race detector: brute force is alone
	}
	_, want, leaves := everything(j, target)
	switch {
	case len(got.Best) == 0 && len(want.Best) == 0:
		compareMisses(t, &want, got)
		return
	case len(got.Best) == 0:
		t.Fatalf("the search finds nothing, brute force %+v", want.Best[0])
	case len(want.Best) == 0:
		t.Fatalf("brute force finds nothing, the search %+v", got.Best[0])
	}
	if got.Counts.Enumerated != leaves {
		t.Errorf("enumerated %d, brute force %d", got.Counts.Enumerated, leaves)
	}
	compareChoice(t, &want, got)
}

// compareSought holds what is asked of Seek to what Run finds.
func compareSought(t *testing.T, j *job.Job, target *target.Target, want *Outcome) {
	t.Helper()
	got, err := Seek(context.Background(), j, target)
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Best) == 0 || len(got.Best) == 0 {
		if len(want.Best) != len(got.Best) || len(want.Nearest) != len(got.Nearest) {
			t.Fatalf("Run finds %d and %d nearest, Seek %d and %d", len(want.Best), len(want.Nearest), len(got.Best), len(got.Nearest))
		}
		for i := range want.Nearest {
			if a, b := &want.Nearest[i], &got.Nearest[i]; !sameChoice(a, b) || a.broken != b.broken || a.missing != b.missing {
				t.Errorf("miss %d of Run is %s by %v, of Seek %s by %v:\n%+v\n%+v", i, a.broken, a.missing, b.broken, b.missing, a.Layout, b.Layout)
			}
		}
		if a, b := want.Exposed, got.Exposed; (a == nil) != (b == nil) || a != nil && (!sameChoice(a, b) || a.missing != b.missing) {
			t.Errorf("exposes the least: %+v by Run, %+v by Seek", a, b)
		}
		return
	}
	if !sameChoice(&want.Best[0], &got.Best[0]) || want.Choice.Rule != got.Choice.Rule || !sameChoice(want.Shortest, got.Shortest) {
		t.Errorf("Run chooses %+v, Seek %+v", want.Best[0].Layout, got.Best[0].Layout)
	}
}

// compareMisses holds what is told where nothing fits to what is nearest of everything.
func compareMisses(t *testing.T, want, got *Outcome) {
	t.Helper()
	if len(want.Nearest) > 0 != (len(got.Nearest) > 0) {
		t.Fatalf("brute force has %d misses, the search %d", len(want.Nearest), len(got.Nearest))
	}
	if len(want.Nearest) > 0 {
		a, b := &want.Nearest[0], &got.Nearest[0]
		if a.broken != b.broken || a.missing != b.missing {
			t.Errorf("the nearest of brute force misses %s by %v, that of the search %s by %v:\n%+v\n%+v\n%+v\n%+v", a.broken, a.missing, b.broken, b.missing, a.Layout, b.Layout, a.Execution, b.Execution)
		}
	}
	switch a, b := want.Exposed, got.Exposed; {
	case (a == nil) != (b == nil):
		t.Errorf("exposes the least: brute force %+v, the search %+v", a, b)
	case a != nil && (!sameChoice(a, b) || a.missing != b.missing):
		t.Errorf("exposes the least: brute force %v %+v %+v\nthe search %v %+v %+v", a.missing, a.Layout, a.Execution, b.missing, b.Layout, b.Execution)
	}
	gibs := func(b units.Bytes) units.Bytes { return (b + units.GiB - 1) / units.GiB } // as it is told
	if len(want.Nearest) > 0 && want.Nearest[0].shortage() > 0 && gibs(want.HostBytes) != gibs(got.HostBytes) {
		t.Errorf("a node needs %v at least, by the search %v", want.HostBytes, got.HostBytes)
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
	limits                    *drawnLimits
}

// drawnLimits are limits beyond those on memory and communication.
type drawnLimits struct {
	step      string  // what limits the step
	slack     float64 // the longest step over the fastest there is
	failures  bool
	host      units.Bytes
	domain    int // of NVLink
	nvlink    []string
	oom       job.OOMProbability
	prefer    []string
	avoid     []string
	elsewhere float64 // for the least memory: the step of another size over the fastest
	layout    job.LayoutConstraints
}

// limit draws limits of a job.
func (d *drawn) limit(r *rand.Rand) {
	in := func(n int) bool { return r.Intn(n) == 0 }
	l := &drawnLimits{step: [...]string{"", "time", "hours", "cost", "mfu", "mfu"}[r.Intn(6)],
		slack: [...]float64{0.5, 0.8, 0.97, 0.999, 1, 1.01, 1.04, 1.1, 1.3}[r.Intn(9)], failures: in(2), host: units.TiB, domain: 8, nvlink: []string{"tensor_parallel"}}
	if d.crowded { // ranked by what steps may take longer, too, which no limit counts
		l.step = ""
	}
	if in(3) {
		l.host = units.Bytes(8+r.Intn(120)) * units.GiB
	}
	if in(3) {
		l.domain = 2 << r.Intn(2)
		l.nvlink = [][]string{nil, {"tensor_parallel"}, {"tensor_parallel", "context_parallel"}, {"data_parallel_shard"}, {"expert_parallel"}}[r.Intn(5)]
	}
	if in(3) {
		l.oom.Start, l.oom.Run = job.Some([...]float64{0.5, 0.05, 1e-4}[r.Intn(3)]), job.Some([...]float64{0.1, 1e-3, 1e-9}[r.Intn(3)])
	} else {
		l.oom = certain
	}
	names := func() (list []string) {
		for _, name := range []string{"tensor_parallel", "pipeline_parallel", "context_parallel", "recompute", "virtual_pipeline", "offload", "zero_stage", "cuda_graphs"} {
			if in(6) {
				list = append(list, name)
			}
		}
		return list
	}
	if in(2) {
		l.prefer, l.avoid = names(), names()
	}
	if in(3) {
		l.elsewhere = [...]float64{0.96, 0.99, 1.02}[r.Intn(3)]
	}
	c := &l.layout
	switch r.Intn(8) {
	case 0:
		c.ZeroStage = job.IntChoice{Values: []int{r.Intn(2)}}
	case 1:
		c.Recompute = [...]job.StringChoice{{"none"}, {"selective"}, {"full"}, {"none", "full"}}[r.Intn(4)]
	case 2:
		c.MicroBatchSize = job.IntChoice{Ranged: true, Min: 1, Not: []int{1 + r.Intn(2)}}
	case 3:
		c.MicroBatches = job.IntChoice{Ranged: true, Min: 1, Max: 1 << r.Intn(4)}
	case 4:
		c.DataParallelShard = job.IntChoice{Ranged: true, Min: 1 + r.Intn(2)}
	case 5:
		c.RecomputeMethod = [...]job.StringChoice{{"block"}, {"uniform"}}[r.Intn(2)]
	}
	d.limits = l
}

// apply limits a job.
func (l *drawnLimits) apply(j *job.Job, t *target.Target) {
	c, k := &j.Constraints, &j.Cluster
	k.HostMemory, k.NVLink.Domain, c.NVLinkOnly, c.MaxOOMProbability, c.Prefer, c.Avoid = l.host, l.domain, l.nvlink, l.oom, l.prefer, l.avoid
	to := &c.Layout
	to.ZeroStage, to.Recompute, to.MicroBatchSize, to.MicroBatches, to.DataParallelShard, to.RecomputeMethod = l.layout.ZeroStage, l.layout.Recompute, l.layout.MicroBatchSize, l.layout.MicroBatches, l.layout.DataParallelShard, l.layout.RecomputeMethod
	if l.failures {
		k.Reliability = &job.Reliability{GPUHoursBetweenFailures: 500, Restart: 300}
		j.Training.Checkpoint = job.Checkpoint{Path: "/checkpoints", IntervalSteps: 100, SaveOptimizer: true}
	}
	k.PricePerGPUHour = 2.5
	step := fastest(j, t)
	longest := step * units.Seconds(l.slack)
	run := goodput.Run(j, longest, longest, [2]units.Seconds{longest, longest})
	switch l.step {
	case "time":
		c.MaxTrainingTime = job.Some(goodput.Longest(j, longest))
	case "hours":
		c.MaxGPUHours = job.Some(run.GPUHours)
	case "cost":
		c.MaxCost = job.Some(run.Cost)
	case "mfu":
		c.MinMFU = job.Some(MFU(j, longest))
	}
	if l.elsewhere > 0 { // never so much faster that no layout of this size is almost as fast
		c.Fastest = units.Rounded(fastest(j, t) * units.Seconds(l.elsewhere))
	}
}

// fastest is the shortest step of a job; a second where nothing fits.
func fastest(j *job.Job, t *target.Target) units.Seconds {
	fast := *j
	fast.Constraints.Objective = "throughput"
	best := searched(&fast, t).Best
	if len(best) == 0 {
		return 1
	}
	return slices.MinFunc(best, func(a, b Candidate) int { return cmp.Compare(a.Result.StepSeconds, b.Result.StepSeconds) }).Result.StepSeconds
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
	if d.limits != nil {
		d.limits.apply(j, t)
	}
	return j, t
}
