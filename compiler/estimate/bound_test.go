package estimate

import (
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/tools/runtimes"

	_ "github.com/ndc-dev/ndc/tools/draws"
	"pgregory.net/rapid"
)

// TestFloors: no floor lies above the step, and what an evaluator remembers of
// other layouts changes nothing.
func TestFloors(t *testing.T) {
	for _, r := range runtimes.All() {
		mixture := moe()
		mixture.MTP.Layers = 1
		used := map[bool]*Evaluator{false: New(jobOf(dense(), 8), targetOf(r)), true: New(jobOf(mixture, 8), targetOf(r))}
		rapid.Check(t, func(t *rapid.T) {
			experts := rapid.Bool().Draw(t, "moe")
			l, x := layouts(t, experts), execution()
			x.OverlapTensorParallel = rapid.Bool().Draw(t, "tensor parallel overlapped")
			x.OverlapExpertParallel = rapid.Bool().Draw(t, "expert parallel overlapped")
			x.MoEDispatcher = rapid.SampledFrom([]string{"alltoall", "allgather", "deepep"}).Draw(t, "dispatcher")
			l.ZeroStage = rapid.IntRange(1, 3).Draw(t, "zero")
			l.StageLayers[0]-- // the last stage has more layers, too
			l.StageLayers[l.Chunks()-1]++
			e, fresh := used[experts], New(used[experts].job, used[experts].target)
			mesh, floor, step := e.MeshFloor(&l, &x), e.Floor(&l, &x), e.Step(&l, &x)
			if mesh > step || floor > step {
				t.Fatalf("%+v: floors %v of the mesh and %v of the pipeline, step %v", l, mesh, floor, step)
			}
			if got := fresh.Step(&l, &x); got != step {
				t.Fatalf("%+v: step %v, %v without what was remembered", l, step, got)
			}
			if got := fresh.Floor(&l, &x); got != floor {
				t.Fatalf("%+v: floor %v, %v without what was remembered", l, floor, got)
			}
			if got := fresh.MeshFloor(&l, &x); got != mesh {
				t.Fatalf("%+v: floor %v of the mesh, %v without what was remembered", l, mesh, got)
			}
		})
	}
}

// TestForgetsNoSchedule: what a schedule makes a pipeline gather is not that of another schedule.
func TestForgetsNoSchedule(t *testing.T) {
	r := runtimes.Blocks()
	j, x := jobOf(dense(), 8), execution()
	x.OverlapParameterGather = false
	l := plan.Layout{TensorParallel: 1, ContextParallel: 1, PipelineParallel: 2, VirtualPipeline: 1, StageLayers: []int{j.Model.Layers / 2, j.Model.Layers / 2},
		ExpertParallel: 1, ExpertTensorParallel: 1, DataParallelReplicate: 1, DataParallelShard: j.Cluster.GPUs() / 2, ZeroStage: 3, MicroBatchSize: 1, MicroBatches: 4}
	schedules := []plan.Schedule{plan.ScheduleGPipe, plan.Schedule1F1B, plan.ScheduleGPipe}
	used := New(j, targetOf(r))
	for _, s := range schedules {
		l.PipelineSchedule = s
		if got, want := used.Step(&l, &x), New(j, targetOf(r)).Step(&l, &x); got != want {
			t.Errorf("%v: step %v, %v without what was remembered", s, got, want)
		}
	}
}

// TestForgets: an evaluator that has seen more layouts than it remembers tells the step and the memory
// that a new one does.
func TestForgets(t *testing.T) {
	e := New(jobOf(dense(), 1), targetOf(runtimes.Whole()))
	at := func(e *Evaluator, microBatch int) (r Result) {
		l, x := single(microBatch), execution()
		e.EvaluateMemory(&l, &x, &r)
		e.EvaluateTime(&l, &x, &r)
		return r
	}
	for n := range mostTables + 10 {
		at(e, n+1)
	}
	if tables := len(e.tables); tables > mostTables || len(e.stateTables) > mostTables {
		t.Errorf("%d tables are remembered", tables)
	}
	for _, n := range []int{1, 7, mostTables} {
		if got, want := at(e, n), at(New(e.job, e.target), n); got != want {
			t.Errorf("micro-batch %d: %+v, %+v by a new one", n, got, want)
		}
	}
}

// TestFloorsOfManyChunks: the passage of one micro-batch through a thousand layers
// is no longer than the step, and tells nearly all of it where there are few.
func TestFloorsOfManyChunks(t *testing.T) {
	deep := dense()
	deep.Layers, deep.HiddenSize, deep.FFNHiddenSize, deep.Attention.Heads, deep.Attention.KVHeads, deep.Attention.HeadDim, deep.SequenceLength = 1024, 256, 768, 4, 2, 64, 512
	for _, r := range runtimes.All() {
		e := New(jobOf(deep, 8), targetOf(r))
		for _, c := range []struct {
			schedule                        plan.Schedule
			pipeline, virtual, microBatches int
		}{
			{plan.ScheduleInterleaved1F1B, 16, 64, 8}, {plan.ScheduleInterleaved1F1B, 16, 32, 64}, {plan.ScheduleInterleaved1F1B, 64, 16, 1},
			{plan.ScheduleZBV, 128, 2, 4}, {plan.ScheduleDualPipeV, 128, 2, 256}, {plan.Schedule1F1B, 256, 1, 300}, {plan.ScheduleZBH1, 256, 1, 256},
		} {
			l, x := single(1), execution()
			l.PipelineParallel, l.VirtualPipeline, l.PipelineSchedule = c.pipeline, c.virtual, c.schedule
			l.DataParallelShard, l.MicroBatches = 1, c.microBatches
			l.StageLayers = slices.Repeat([]int{deep.Layers / l.Chunks()}, l.Chunks())
			mesh, floor, step := e.MeshFloor(&l, &x), e.Floor(&l, &x), e.Step(&l, &x)
			if mesh > step || floor > step {
				t.Errorf("%+v: floors %v of the mesh and %v of the pipeline, step %v", c, mesh, floor, step)
			}
			if few := c.microBatches < c.pipeline/2; few && (floor < 0.9*step || mesh < 0.5*step) {
				t.Errorf("%+v: floors %v of the mesh and %v of the pipeline, step %v", c, mesh, floor, step)
			}
		}
	}
}
