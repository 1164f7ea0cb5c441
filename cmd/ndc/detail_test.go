package main

import (
	"context"
	"errors"
	"testing"
	"testing/fstest"

	"github.com/ndc-dev/ndc/backends/torchtitan"
	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
)

// piped is a job of two pipeline ranks with its target.
func piped(t *testing.T) (*job.Job, *target.Target) {
	t.Helper()
	const text = `
cluster "node" {
  base  = catalog.cluster.dgx_h100
  nodes = 1
}

job "piped" {
  model   = catalog.model.llama3_8b
  cluster = cluster.node

  training {
    global_batch_size = 64
    steps             = 1

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    schedule "constant" {}
    data {
      mock = true
    }
  }
  constraints {
    layout {
      pipeline_parallel = 2
    }
  }
  backend "torchtitan" {
    version = "0.3.0"
  }
}
`
	w, diags := lang.Load(fstest.MapFS{"job.hcl": {Data: []byte(text)}}, "job.hcl", lang.Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	j := &w.Jobs[0]
	to, diags := torchtitan.Backend{}.Target(j)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return j, to
}

// TestTimeline: the pipeline schedule of a plan has its ranks, and fits into the
// step.
func TestTimeline(t *testing.T) {
	j, to := piped(t)
	p, diags, err := compiler.Compile(context.Background(), j, to)
	if err != nil || diags.HasErrors() || !p.Feasible {
		t.Fatal(diags, err)
	}
	line := compiler.NewDetail(j, to, p).Timeline()
	if line == nil || len(line.Ranks) != 2 {
		t.Fatalf("the timeline is %+v", line)
	}
	for r, slots := range line.Ranks {
		if len(slots) < 2*p.Layout.MicroBatches {
			t.Errorf("rank %d has %d slots for %d micro-batches", r, len(slots), p.Layout.MicroBatches)
		}
		for _, s := range slots {
			if s.Start < 0 || s.End < s.Start || s.End > p.Time.StepSeconds {
				t.Errorf("rank %d: %+v in a step of %v", r, s, p.Time.StepSeconds)
			}
		}
	}
	p.Layout.PipelineParallel, p.Layout.VirtualPipeline, p.Layout.StageLayers = 1, 1, []int{32}
	if line := compiler.NewDetail(j, to, p).Timeline(); len(line.Ranks) != 1 || len(line.Ranks[0]) != 2*p.Layout.MicroBatches {
		t.Errorf("the timeline of one rank is %+v", line)
	}
}

// TestEndedContext: what ends before the plan is made leaves no plan.
func TestEndedContext(t *testing.T) {
	j, to := piped(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if p, diags, err := compiler.Compile(ctx, j, to); p != nil || diags != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v, %v", p, diags, err)
	}
}

// TestSketch: a size is told as its plan is, also what is expected of a run with failures.
func TestSketch(t *testing.T) {
	j, to := piped(t)
	j.Training.Steps, j.Training.Checkpoint.Path, j.Training.Checkpoint.IntervalSteps = 100000, "/checkpoints", 100
	j.Cluster.Reliability = &job.Reliability{GPUHoursBetweenFailures: 5000}
	p, _, err := compiler.Compile(context.Background(), j, to)
	if err != nil {
		t.Fatal(err)
	}
	s, err := compiler.Sketch(context.Background(), j, to)
	if err != nil {
		t.Fatal(err)
	}
	if p.Time.ChosenAmong < 2 || p.Run.ExpectedSeconds <= p.Run.Seconds {
		t.Fatalf("of %d layouts %v are expected", p.Time.ChosenAmong, p.Run.ExpectedSeconds)
	}
	if s.Run.ExpectedSeconds != p.Run.ExpectedSeconds || s.Run.Seconds != p.Run.Seconds || s.Time.ExpectedSeconds != p.Time.ExpectedSeconds {
		t.Errorf("%v of %v are expected, the plan has %v of %v", s.Run.ExpectedSeconds, s.Run.Seconds, p.Run.ExpectedSeconds, p.Run.Seconds)
	}
}
