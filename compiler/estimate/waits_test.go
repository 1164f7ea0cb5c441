package estimate

import (
	"math"
	"reflect"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tools/runtimes"
	"pgregory.net/rapid"
)

// piped is a layout of eight stages of eight tensor-parallel GPUs, whose only
// way over the network is the pipeline.
func piped(s plan.Schedule, virtual, microBatches int) plan.Layout {
	l := single(64)
	l.TensorParallel, l.SequenceParallel, l.PipelineParallel, l.DataParallelShard = 8, true, 8, 1
	l.PipelineSchedule, l.VirtualPipeline, l.MicroBatches = s, virtual, microBatches
	l.StageLayers = make([]int, l.Chunks())
	for i := range l.StageLayers {
		l.StageLayers[i] = 32 / l.Chunks()
	}
	return l
}

// over describes a layout on a network of some bandwidth, and holds its exposed
// communication to what the search compares with a limit.
func over(t rapid.TB, r runtime.Runtime, l *plan.Layout, bandwidth units.BytesPerSecond) plan.Time {
	t.Helper()
	j, x := jobOf(dense(), 8), execution()
	j.Cluster.Network.Bandwidth = bandwidth
	j.Constraints.MaxExposedCommunication = job.Some(units.Share(1))
	e := New(j, targetOf(r))
	d := e.Describe(l, &x)
	var out Result
	e.EvaluateTime(l, &x, &out)
	searched, told := float64(out.ExposedCommunicationSeconds/out.StepSeconds), float64(d.Time.ExposedCommunicationShare)
	if floor := float64(e.ExposedFloor(l, &x)); math.Abs(searched-told) > 1e-9 || floor > searched {
		t.Fatalf("exposed share %v searched, %v described, floor %v", searched, told, floor)
	}
	return d.Time
}

// TestWaits: whatever the schedule and the network, the parts of a step sum to
// it; what a rank computes and its bubble do not know how fast the network is;
// and what it waits for transfers only grows when the network gets slower.
func TestWaits(t *testing.T) {
	shapes := []struct {
		schedule plan.Schedule
		virtual  int
	}{{plan.ScheduleGPipe, 1}, {plan.Schedule1F1B, 1}, {plan.ScheduleInterleaved1F1B, 2}, {plan.ScheduleInterleaved1F1B, 4},
		{plan.ScheduleZBH1, 1}, {plan.ScheduleZBV, 2}, {plan.ScheduleDualPipeV, 2}}
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SampledFrom(shapes).Draw(t, "shape")
		r := rapid.SampledFrom(runtimes.All()).Draw(t, "runtime")
		l := piped(shape.schedule, shape.virtual, 8*rapid.IntRange(2, 8).Draw(t, "micro-batches"))
		l.StageLayers[0]--
		l.StageLayers[rapid.IntRange(1, l.Chunks()-1).Draw(t, "fullest")]++
		var before *plan.Time
		for _, bandwidth := range []units.BytesPerSecond{50e9, 1e9, 1e7} {
			d := over(t, r, &l, bandwidth)
			var sum units.Seconds
			for _, b := range d.Breakdown {
				sum += b.Seconds
			}
			same(t, "breakdown", sum, d.StepSeconds)
			if before != nil {
				alone, transfers := rest(&d)
				aloneBefore, transfersBefore := rest(before)
				if math.Abs(float64(alone-aloneBefore)) > 1e-9*float64(d.StepSeconds) {
					t.Fatalf("compute and bubble take %v, on a faster network %v", alone, aloneBefore)
				}
				if transfers <= transfersBefore {
					t.Fatalf("transfers take %v, on a faster network %v", transfers, transfersBefore)
				}
			}
			before = &d
		}
	})
}

// rest is what computes and what idles without transfers, and the transfers.
func rest(t *plan.Time) (alone, transfers units.Seconds) {
	for _, b := range t.Breakdown {
		switch b.ID {
		case "pipeline_transfer":
			transfers = b.Seconds
		case "straggler", "small_collectives": // of the step's length, over the network
		default:
			alone += b.Seconds
		}
	}
	return alone, transfers
}

// TestSlowLinks: over 10 Gb/s transfers are what a step waits for, whether the
// schedule sends behind compute or not; its bubble is that of a fast network.
func TestSlowLinks(t *testing.T) {
	for _, c := range []struct {
		schedule plan.Schedule
		virtual  int
	}{{plan.Schedule1F1B, 1}, {plan.ScheduleInterleaved1F1B, 4}} {
		l := piped(c.schedule, c.virtual, 64)
		slow, fast := over(t, runtimes.Whole(), &l, 1.25e9/8), over(t, runtimes.Whole(), &l, 50e9)
		if slow.ExposedCommunicationShare < 0.3 || slow.BubbleShare > fast.BubbleShare {
			t.Errorf("%v: %v exposed, bubble %v, on a fast network %v", c.schedule, slow.ExposedCommunicationShare, slow.BubbleShare, fast.BubbleShare)
		}
	}
}

// limited draws a layout, and the evaluator of a job with a limit on exposed communication.
func limited(t *rapid.T) (plan.Layout, plan.Execution, *Evaluator) {
	experts := rapid.Bool().Draw(t, "experts")
	l, m := layouts(t, experts), dense()
	if experts {
		m = moe()
	}
	j := jobOf(m, 8)
	j.Cluster.Network.Bandwidth = rapid.SampledFrom([]units.BytesPerSecond{50e9, 1e9, 1e7}).Draw(t, "bandwidth")
	j.Constraints.MaxExposedCommunication = job.Some(units.Share(1))
	return l, execution(), New(j, targetOf(rapid.SampledFrom(runtimes.All()).Draw(t, "runtime")))
}

// TestExposedFloorOfLayers: no number of recomputed layers exposes less than the floor of them
// all, which tells of something: one number alone is half of its own share or more.
func TestExposedFloorOfLayers(t *testing.T) {
	told := 0
	rapid.Check(t, func(t *rapid.T) {
		l, x, e := limited(t)
		l.Recompute, l.RecomputeModules, l.RecomputeMethod = plan.RecomputeFull, 0, "block"
		first := rapid.IntRange(0, 32/l.Chunks()-1).Draw(t, "fewest")
		last := rapid.IntRange(first, 32/l.Chunks()).Draw(t, "most")
		floor := e.ExposedFloorOfLayers(&l, &x, first, last)
		for n := first; n <= last; n++ {
			l.RecomputeLayers = n
			var out Result
			e.EvaluateTime(&l, &x, &out)
			if share := units.Share(out.ExposedCommunicationSeconds / out.StepSeconds); share < floor {
				t.Fatalf("%d recomputed layers expose %v, those from %d to %d at least %v", n, share, first, last, floor)
			} else if first == last && floor > share/2 {
				told++
			}
		}
	})
	if told == 0 {
		t.Error("the floor tells of no layout")
	}
}

// TestExposedFloorOfRange: no layout exposes less than the floor of all recompute choices, some
// of which the range is of, and that of one choice alone tells of something.
func TestExposedFloorOfRange(t *testing.T) {
	told := 0
	rapid.Check(t, func(t *rapid.T) {
		l, x, e := limited(t)
		all := [...]plan.Layout{l, l, l, l}
		for i, r := range []plan.Recompute{plan.RecomputeNone, plan.RecomputeSelective, plan.RecomputeFull, plan.RecomputeFull} {
			a := &all[i]
			a.Recompute, a.RecomputeModules, a.RecomputeMethod, a.RecomputeLayers = r, 0, "", 0
			switch {
			case r == plan.RecomputeSelective:
				a.RecomputeModules = plan.ModuleCoreAttention
			case i == 2:
				a.RecomputeMethod, a.RecomputeLayers = "uniform", 1
			case i == 3:
				a.RecomputeMethod, a.RecomputeLayers = "block", rapid.IntRange(1, 32/l.Chunks()).Draw(t, "layers of the block")
			}
		}
		chosen := rapid.SliceOfNDistinct(rapid.IntRange(0, len(all)-1), 1, len(all), rapid.ID).Draw(t, "choices")
		var r PassRange
		e.Widen(&r, &all[0], &x)
		r.Reset()
		for _, i := range chosen {
			e.Widen(&r, &all[i], &x)
		}
		floor := e.ExposedFloorOfRange(&l, &x, &r)
		for _, i := range chosen {
			var out Result
			e.EvaluateTime(&all[i], &x, &out)
			if share := units.Share(out.ExposedCommunicationSeconds / out.StepSeconds); share < floor {
				t.Fatalf("%+v exposes %v, the choices %v at least %v", all[i], share, chosen, floor)
			} else if len(chosen) == 1 && floor > share/2 {
				told++
			}
		}
	})
	if told == 0 {
		t.Error("the floor tells of no layout")
	}
}

// TestTablesWithoutState: what is left out of the key of a table changes nothing in it.
func TestTablesWithoutState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		experts := rapid.Bool().Draw(t, "experts")
		l, x, m := layouts(t, experts), execution(), dense()
		if experts {
			m = moe()
		}
		r := rapid.SampledFrom(runtimes.All()).Draw(t, "runtime")
		y := x
		y.OverlapGradientReduce, y.OverlapParameterGather, y.OverlapOptimizerGather = !x.OverlapGradientReduce, !x.OverlapParameterGather, !x.OverlapOptimizerGather
		y.SHARP, y.OffloadOptimizer, y.OffloadParameters, y.OptimizerStateDType = "data_parallel", !x.OffloadOptimizer, !x.OffloadParameters, "fp8"
		tables := [2]*layerTable{}
		for i, x := range []*plan.Execution{&x, &y} {
			e := New(jobOf(m, 8), targetOf(r))
			tables[i] = e.buildTable(&l, x, e.groupsOf(&l, x))
			if a, b := e.withoutState(e.tableKey(&l, x), x), e.withoutState(e.tableKey(&l, &y), &y); a != b {
				t.Fatalf("%+v and %+v are keys of one table", a, b)
			}
		}
		if !reflect.DeepEqual(tables[0], tables[1]) {
			t.Fatalf("%+v\n%+v", tables[0], tables[1])
		}
	})
}
