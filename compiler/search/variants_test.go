package search

import (
	"testing"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

var (
	offloadOptimizer = target.Variant{Options: []string{"offload.optimizer"},
		Applies: func(f *target.Facts) bool { return f.Layout.ZeroStage > 0 },
		Apply:   func(x *plan.Execution) { x.OffloadOptimizer = true }}
	lossInChunks = target.Variant{Options: []string{"loss_chunks"},
		Applies: func(f *target.Facts) bool { return f.Exec.LossChunks == 1 },
		Apply:   func(x *plan.Execution) { x.LossChunks = 8 }}
	offloadActivations = target.Variant{Options: []string{"offload.activations"},
		Apply: func(x *plan.Execution) { x.OffloadActivations = true }}
)

// offloading is a job of one layout, a target that can offload two things, and
// what that layout needs with each set of them; changed before, if it has to be.
func offloading(change ...func(*job.Job, *target.Target)) (*job.Job, *target.Target, func(...target.Variant) estimate.Result) {
	j, t := smallJob(false, 1), smallTarget()
	t.Variants = []target.Variant{offloadOptimizer, offloadActivations}
	one := func(n int) job.IntChoice { return job.IntChoice{Values: []int{n}} }
	j.Constraints.Layout = job.LayoutConstraints{TensorParallel: one(2), ContextParallel: one(1), PipelineParallel: one(1),
		MicroBatchSize: one(1), ZeroStage: one(1), DataParallelReplicate: one(1), Recompute: job.StringChoice{"none"}}
	j.Constraints.MemoryHeadroom = job.Some(units.Share(0))
	j.Cluster.GPU.Memory = units.TiB
	for _, c := range change {
		c(j, t)
	}
	layout := searched(j, t).Best[0].Layout
	return j, t, func(set ...target.Variant) (r estimate.Result) {
		x := t.Resolved(j, &layout)
		for _, v := range set {
			v.Apply(&x)
		}
		estimate.New(j, t).EvaluateMemory(&layout, &x, &r)
		return r
	}
}

// TestVariantsTogether: a job that fits only with two variants is feasible, one
// that fits with one gets no more, and what the user chose is left alone.
func TestVariantsTogether(t *testing.T) {
	j, target, needs := offloading()
	optimizer, activations, both := needs(offloadOptimizer).PeakDeviceBytes, needs(offloadActivations).PeakDeviceBytes, needs(offloadOptimizer, offloadActivations).PeakDeviceBytes
	if least := min(optimizer, activations); both >= least || needs().PeakDeviceBytes <= max(optimizer, activations) {
		t.Fatalf("the variants do not tell: %v, %v, both %v", optimizer, activations, both)
	}
	for _, c := range []struct {
		name                          string
		memory                        units.Bytes
		set                           string // an option that the user wrote
		found, optimizer, activations bool
	}{
		{"both", both, "", true, true, true},
		{"optimizer", optimizer, "", true, true, false},
		{"none", both - 1, "", false, false, false},
		{"the user's choice", both, "execution.offload.optimizer", false, false, false},
	} {
		j.Cluster.GPU.Memory, j.Sources = c.memory, job.Sources{}
		if c.set != "" {
			j.Sources[c.set] = job.Source{Origin: job.FromSpec}
		}
		o := searched(j, target)
		if found := len(o.Best) > 0; found != c.found {
			t.Errorf("%s: feasible %v, want %v", c.name, found, c.found)
			continue
		}
		if c.found && (o.Best[0].Execution.OffloadOptimizer != c.optimizer || o.Best[0].Execution.OffloadActivations != c.activations) {
			t.Errorf("%s: %+v", c.name, o.Best[0].Execution)
		}
	}
}

// TestVariantThatCosts: a job that fits with one variant is feasible also where another one
// beside it takes more memory than it saves.
func TestVariantThatCosts(t *testing.T) {
	j, target, needs := offloading(func(j *job.Job, t *target.Target) {
		j.Constraints.Layout.Recompute = job.StringChoice{"full"}
		t.Runtime, j.Model.SequenceLength = runtimes.Blocks(), 128 // the gradient of the head outweighs the logits
	})
	optimizer := needs(offloadOptimizer)
	for _, variants := range []variantList{{lossInChunks, offloadOptimizer}, {offloadOptimizer, lossInChunks}} {
		target.Variants = variants
		if both := needs(variants...); both.NeededBytes <= optimizer.NeededBytes {
			t.Fatalf("the variants do not tell: %v with both, %v with one", both.NeededBytes, optimizer.NeededBytes)
		}
		for _, c := range []struct {
			memory units.Bytes
			fits   bool
		}{{optimizer.NeededBytes, true}, {optimizer.NeededBytes - 1, false}} {
			j.Cluster.GPU.Memory = c.memory
			switch o := searched(j, target); {
			case len(o.Best) > 0 != c.fits:
				t.Errorf("in %v: feasible %v, want %v", c.memory, !c.fits, c.fits)
			case c.fits && (!o.Best[0].Execution.OffloadOptimizer || o.Best[0].Execution.LossChunks > 1):
				t.Errorf("in %v: %+v", c.memory, o.Best[0].Execution)
			}
		}
	}
}

// TestHostMemory: what goes to the host must fit there.
func TestHostMemory(t *testing.T) {
	j, target, needs := offloading()
	with := needs(offloadOptimizer)
	j.Cluster.GPU.Memory, j.Cluster.HostMemory = with.PeakDeviceBytes, with.HostBytes
	if o := searched(j, target); len(o.Best) == 0 {
		t.Error("not feasible on a node with just enough memory")
	}
	j.Cluster.HostMemory--
	if o := searched(j, target); len(o.Best) > 0 {
		t.Error("feasible on a node with too little memory")
	} else if o.HostBytes != with.HostBytes {
		t.Errorf("%v on the host would do, %v are told", with.HostBytes, o.HostBytes)
	}
	j.Execution.OffloadOptimizer = job.Some(true)
	target.Variants = nil
	resolve := target.Resolve
	target.Resolve = func(j *job.Job, l *plan.Layout, x *plan.Execution) {
		resolve(j, l, x)
		x.OffloadOptimizer = j.Execution.OffloadOptimizer.Value
	}
	o := searched(j, target)
	if device, host := o.Nearest[0].Missing(j); len(o.Best) > 0 || o.Nearest[0].Broken() != IDHostMemory || device != 0 || host != 1 || o.HostBytes != with.HostBytes {
		t.Errorf("nearest misses %v by %d bytes of the GPU and %d of the host, want host memory by 1", o.Nearest[0].Broken(), device, host)
	}
}
