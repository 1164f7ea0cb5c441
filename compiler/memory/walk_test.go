package memory

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/schedule"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// walked is how many layouts of each drawn job are compared.
const walked = 60

// drawPipeline draws any schedule with chunks in a loop or a V, with fewer micro-batches
// than stages, as many and more, and layers spread in any way.
func drawPipeline(t *rapid.T, l *plan.Layout, layers int) {
	l.PipelineParallel, l.VirtualPipeline, l.PipelineSchedule = rapid.IntRange(1, 17).Draw(t, "pp"), 1, plan.ScheduleNone
	p := l.PipelineParallel
	l.MicroBatches = rapid.IntRange(1, 4*p).Draw(t, "micro-batches")
	if p > 1 {
		l.PipelineSchedule = rapid.SampledFrom([]plan.Schedule{plan.Schedule1F1B, plan.ScheduleGPipe, plan.ScheduleInterleaved1F1B, plan.ScheduleInterleaved1F1B,
			plan.ScheduleZBH1, plan.ScheduleZBV, plan.ScheduleDualPipeV}).Draw(t, "schedule")
	}
	switch l.PipelineSchedule {
	case plan.ScheduleZBV:
		l.VirtualPipeline = 2
	case plan.ScheduleDualPipeV:
		l.VirtualPipeline, l.MicroBatches = 2, l.MicroBatches+2*p-1
	case plan.ScheduleInterleaved1F1B:
		l.VirtualPipeline = rapid.IntRange(2, 5).Draw(t, "virtual")
		if rapid.Bool().Draw(t, "in rounds") {
			l.MicroBatches = p * rapid.IntRange(1, 4).Draw(t, "rounds")
		}
	}
	l.StageLayers = nil
	switch chunks := l.Chunks(); rapid.IntRange(0, 2).Draw(t, "split") {
	case 0: // any
		l.StageLayers = make([]int, chunks)
		for range layers {
			l.StageLayers[rapid.IntRange(0, chunks-1).Draw(t, "chunk")]++
		}
	case 1: // short ends
		l.StageLayers = make([]int, chunks)
		for i := range layers {
			l.StageLayers[min(max(i%(chunks+2)-1, 0), chunks-1)]++
		}
	}
}

// drawAny draws a layout with its execution, legal on some framework or not.
func drawAny(t *rapid.T, j *job.Job) (*plan.Layout, *plan.Execution) {
	l, x := drawLayout(t, j)
	drawPipeline(t, l, j.Model.Layers)
	l.RecomputeLayers = rapid.IntRange(1, 4).Draw(t, "recompute layers")
	coin := func(name string) bool { return rapid.Bool().Draw(t, name) }
	x.OffloadActivations, x.OffloadOptimizer, x.OffloadParameters = coin("offload activations"), coin("offload optimizer"), coin("offload parameters")
	x.ReshardAfterForward, x.OverlapGradientReduce, x.FullySharded = coin("reshard"), coin("overlap"), coin("fully sharded")
	x.GradientDType = rapid.SampledFrom([]string{"fp32", "bf16"}).Draw(t, "gradients")
	x.LossChunks = rapid.SampledFrom([]int{1, 8}).Draw(t, "loss chunks")
	return l, x
}

// walk is the busiest rank as a walk over all of them finds it.
func walk(j *job.Job, tg *target.Target, l *plan.Layout, x *plan.Execution) (p Peak) {
	m := New(j, tg)
	e := m.evaluate(l, x)
	var host hostMemory
	var state int64
	for rank := range l.PipelineParallel {
		var s stageMemory
		r := m.rank(rank)
		m.stage(&e, &r, &s)
		if q := m.peak(&e, rank, &s); q.Device > p.Device {
			p = q
		}
		state = max(state, s.state)
		host.cover(&s.host)
	}
	p.State, p.Host = units.Bytes(state), m.hostBytes(l, &host)
	return p
}

// TestJudgedIsPrinted: what the search judges, what the plan prints and what a
// walk over all ranks finds are one number, for every engine, schedule, split,
// recompute and offload.
func TestJudgedIsPrinted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		j.Model.Layers *= rapid.IntRange(1, 4).Draw(t, "deeper")
		j.Training.Checkpoint = job.Checkpoint{Async: rapid.Bool().Draw(t, "async"), Path: "/c", SaveOptimizer: true}
		j.Model.MTP.Layers = rapid.IntRange(0, 1).Draw(t, "mtp")
		tg := targetOf(rapid.SampledFrom(runtimes.All()).Draw(t, "runtime"))
		m := New(j, tg)
		for range walked {
			l, x := drawAny(t, j)
			hot, full, want := m.Peak(l, x), m.Memory(l, x), walk(j, tg, l, x)
			if o := &full.OOM; full.NeededBytes != hot.Needed || hot.Needed < hot.Device || o.Start > o.FirstStep || o.FirstStep > o.Optimizer || o.Optimizer > o.Any {
				t.Fatalf("judged to need %d of %d, printed %d, with %+v", hot.Needed, hot.Device, full.NeededBytes, *o)
			}
			if p := hot.Phases; p.Start > max(p.Passes, p.Update) || units.Bytes(max(p.Passes, p.Update)) != hot.Device {
				t.Fatalf("phases %+v of %+v", p, hot)
			}
			most := units.Bytes(float64(hot.Needed) * rapid.Float64Range(0.5, 1.5).Draw(t, "asked"))
			if some := m.PeakUpTo(l, x, most); hot.Needed <= most && some != hot || hot.Needed > most && (some.Needed <= most || some.Needed > hot.Needed) {
				t.Fatalf("asked up to %d of %d: %+v", most, hot.Needed, some)
			}
			hot.Phases, hot.Uncertain, hot.Needed = want.Phases, want.Uncertain, want.Needed
			if hot != want {
				t.Fatalf("%+v\n%+v:\njudged %+v\nwalked %+v", l, x, hot, want)
			}
			compare(t, &full, want)
		}
	})
}

// TestStateIsLeast: what a layout is said to keep whatever its micro-batches and recompute are, none of them
// goes below; gradients that a pipeline keeps whole are of it.
func TestStateIsLeast(t *testing.T) {
	most := func(j *job.Job, tg *target.Target, l *plan.Layout, x *plan.Execution) (n int64) {
		m := New(j, tg)
		e := m.evaluate(l, x)
		for rank := range l.PipelineParallel {
			var s stageMemory
			r := m.rank(rank)
			m.stage(&e, &r, &s)
			n = max(n, s.sum)
		}
		return n
	}
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		j.Model.Layers *= rapid.IntRange(1, 4).Draw(t, "deeper")
		j.Model.MTP.Layers = rapid.IntRange(0, 1).Draw(t, "mtp")
		tg := targetOf(rapid.SampledFrom(runtimes.All()).Draw(t, "runtime"))
		l, x := drawAny(t, j)
		state := New(j, tg).Peak(l, x).State
		for range 8 {
			other := *l
			other.MicroBatchSize = rapid.IntRange(1, 4).Draw(t, "micro-batch")
			if l.PipelineSchedule != plan.ScheduleDualPipeV && l.PipelineSchedule != plan.ScheduleInterleaved1F1B {
				other.MicroBatches = rapid.IntRange(1, 2*l.PipelineParallel).Draw(t, "other micro-batches")
			}
			if !schedule.Splits(l.PipelineSchedule) {
				other.Recompute, other.RecomputeMethod, other.RecomputeModules = plan.RecomputeFull, rapid.SampledFrom([]string{"uniform", "block"}).Draw(t, "method"), 0
			}
			if n := most(j, tg, &other, x); n < int64(state) {
				t.Fatalf("%+v\nkeeps %d at least, and needs %d as %+v\n%+v", l, state, n, other, x)
			}
		}
		if with := tg.Runtime.ShardingOf(x).PerMicroBatch(l); tg.Runtime.Sharding.MakesGradients && !with.Reduce && !schedule.Splits(l.PipelineSchedule) {
			var first int64
			m := New(j, tg)
			e := m.evaluate(l, x)
			for rank := range l.PipelineParallel {
				var a account
				r := m.rank(rank)
				m.open(&e, &r, &a, false)
				first = max(first, 4*(a.content.elements.Sum()-a.content.worst.Sum()-a.content.embedding))
			}
			if state < units.Bytes(first) {
				t.Fatalf("%+v\nkeeps %d at least, and %d of gradients", l, state, first)
			}
		}
	})
}

// TestStoppedIsNotSkewed: of a layout that is given up at a rank that does not fit,
// nothing is compared with all of its ranks, whatever the GPU's size: mixtures, whose
// later ranks need many times as much, would seem to need more than numbers hold.
func TestStoppedIsNotSkewed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		j.Model.Layers *= rapid.IntRange(1, 4).Draw(t, "deeper")
		tg := targetOf(rapid.SampledFrom(runtimes.All()).Draw(t, "runtime"))
		l, x := drawAny(t, j)
		first := New(j, tg).PeakUpTo(l, x, 0).Device
		j.Cluster.GPU.Memory = units.Bytes(float64(first) * rapid.Float64Range(1, 1.25).Draw(t, "GPU"))
		m, most := New(j, tg), units.Bytes(float64(first)*rapid.Float64Range(0.5, 1.5).Draw(t, "asked"))
		some, all := m.PeakUpTo(l, x, most), m.Peak(l, x)
		if all.Needed <= most && some != all || all.Needed > most && (some.Needed <= most || some.Needed > all.Needed) {
			t.Fatalf("asked up to %d of %d: %+v", most, all.Needed, some)
		}
	})
}

// compare holds what a plan prints to a walk.
func compare(t *rapid.T, full *plan.Memory, want Peak) {
	p := &full.Peak
	if printed := (Peak{Stage: p.Stage, Rank: p.Rank, Allocated: p.AllocatedBytes, Reserved: p.ReservedBytes, Device: p.DeviceBytes,
		Low: p.DeviceRangeBytes[0], High: p.DeviceRangeBytes[1], State: want.State, Host: full.Host.BytesPerNode}); printed != want {
		t.Fatalf("printed %+v\nwalked  %+v", printed, want)
	}
	for _, s := range full.Stages {
		if s.DeviceBytes > p.DeviceBytes || s.Stage < p.Stage && s.DeviceBytes == p.DeviceBytes {
			t.Fatalf("stage %d shows %d, the peak is %d on stage %d", s.Stage, s.DeviceBytes, p.DeviceBytes, p.Stage)
		}
	}
	if s := &full.Stages[p.Stage]; s.Stage != p.Stage || s.AllocatedBytes != p.AllocatedBytes || s.ReservedBytes != p.ReservedBytes || s.DeviceBytes != p.DeviceBytes {
		t.Fatalf("stage %+v is not its peak %+v", s, p)
	}
}
