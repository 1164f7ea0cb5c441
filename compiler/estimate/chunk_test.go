package estimate

import (
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// TestAmax: delayed scaling reduces once after the forward and once after the backward
// of every chunk, over all ranks of a stage; other recipes reduce nothing.
func TestAmax(t *testing.T) {
	j, x := jobOf(dense(), 8), execution()
	j.Training.Precision = "fp8"
	l := piped(plan.ScheduleInterleaved1F1B, 4, 16)
	reductions := func(recipe string) traffic {
		j.Training.FP8.Recipe = recipe
		e := New(j, targetOf(runtimes.Whole()))
		e.run(&l, &x)
		_, t := e.rankLines(&l, 0)
		return t[collectiveAmax]
	}
	if got := reductions("tensorwise"); got.calls != 0 || got.seconds != 0 {
		t.Errorf("per tensor: %+v", got)
	}
	one := New(j, targetOf(runtimes.Whole())).group(8, 1).AllReduce(64) // the eight GPUs of a stage
	if got := reductions("delayed"); got.calls != 2*4 || !equal(got.seconds, 8*one) || got.exposed != got.seconds {
		t.Errorf("of a micro-batch %d calls in %v s, %v exposed; want 8 of %v s", got.calls, got.seconds, got.exposed, one)
	}
	if size := New(j, targetOf(runtimes.Whole())).groupsOf(&l, &x).of(collectiveAmax).Size(); size != 8 {
		t.Errorf("%d ranks, of eight stages of eight", size)
	}
	l = single(1)
	if got := reductions("delayed"); got.calls != 0 || got.seconds != 0 {
		t.Errorf("one GPU: %+v", got)
	}
}

func equal(a, b units.Seconds) bool { return a-b < 1e-12 && b-a < 1e-12 }

// TestHostChunk: of chunks whose layers take the host longer than the device the forward
// is as long as the host takes for layers and chunk; the backward, and what the host is
// fast enough for, know nothing of it.
func TestHostChunk(t *testing.T) {
	j, x := jobOf(dense(), 8), execution()
	l := piped(plan.ScheduleInterleaved1F1B, 4, 16)
	chunk := func(sequence int, graphs string) (with, without units.Seconds, backward [2]units.Seconds) {
		j.Model.SequenceLength, x.CUDAGraphs = sequence, graphs
		var forward [2]units.Seconds
		for i, value := range []float64{0.001, 0} {
			e := NewWith(j, targetOf(runtimes.Whole()), DefaultParameters().With("host_chunk", value))
			e.begin(&l, &x)
			forward[i], backward[i] = e.step.durations.Forward[5], e.step.durations.InputGradient[5]
		}
		return forward[0], forward[1], backward
	}
	with, without, backward := chunk(128, "none")
	if layer := units.Seconds(DefaultParameters().at("host_layer." + runtimes.Whole().Calibration.Time)); !equal(with, layer+0.001) || without < layer || without >= with {
		t.Errorf("one layer of %v s on the host and a chunk of 1 ms take %v s, %v without", layer, with, without)
	}
	if backward[0] != backward[1] {
		t.Errorf("backward: %v", backward)
	}
	if with, without, _ = chunk(32768, "none"); with != without {
		t.Errorf("long: %v and %v s", with, without)
	}
	if with, without, _ = chunk(128, "full"); with != without {
		t.Errorf("one graph: %v and %v s", with, without)
	}
	if with, without, _ = chunk(128, "layer"); !(with >= 0.001 && with < 0.0011 && without < 0.001) {
		t.Errorf("graphs of layers: %v and %v s", with, without)
	}
}
