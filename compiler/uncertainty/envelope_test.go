package uncertainty

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// measuredJob is a job and a layout in the middle of what envelope holds.
func measuredJob() (*job.Job, *plan.Layout, Envelope) {
	j := &job.Job{}
	j.Cluster.GPU.Catalog, j.Training.Precision, j.Model.SequenceLength = "h100_sxm", "bf16", 4096
	l := &plan.Layout{TensorParallel: 4, ContextParallel: 1, PipelineParallel: 2, ExpertParallel: 1, DataParallelReplicate: 1, DataParallelShard: 8}
	other := *j
	other.Cluster.GPU.Catalog, other.Training.Precision = "a100_80gb", "fp16"
	var v Envelope
	v.Add(j, l, "a", "one")
	v.Add(&other, l, "a", "one")
	return j, l, v
}

// TestOutside: each axis on its own takes a layout out of the envelope, and
// widening the envelope by it takes it in.
func TestOutside(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*job.Job, *plan.Layout)
		says   string
	}{
		{"as measured", func(*job.Job, *plan.Layout) {}, ""},
		{"smaller degrees", func(_ *job.Job, l *plan.Layout) { l.TensorParallel, l.DataParallelShard = 2, 16 }, ""},
		{"GPU", func(j *job.Job, _ *plan.Layout) { j.Cluster.GPU.Catalog = "b200" }, "GPU b200"},
		{"a GPU of the user's", func(j *job.Job, _ *plan.Layout) { j.Cluster.GPU.Catalog, j.Cluster.GPU.Name = "", "h100_pcie" }, "GPU h100_pcie"},
		{"precision on a GPU", func(j *job.Job, _ *plan.Layout) { j.Training.Precision = "fp16" }, "fp16 on h100_sxm"},
		{"precision", func(j *job.Job, _ *plan.Layout) { j.Training.Precision = "fp8" }, "precision fp8"},
		{"more GPUs", func(_ *job.Job, l *plan.Layout) { l.DataParallelShard = 16 }, "128 GPUs (measured: 64 to 64)"},
		{"fewer GPUs", func(_ *job.Job, l *plan.Layout) { l.DataParallelShard = 1 }, "8 GPUs (measured: 64 to 64)"},
		{"longer", func(j *job.Job, _ *plan.Layout) { j.Model.SequenceLength = 8192 }, "8192 tokens per sequence"},
		{"tensor", func(_ *job.Job, l *plan.Layout) { l.TensorParallel, l.DataParallelShard = 8, 4 }, "tensor_parallel = 8"},
		{"context", func(_ *job.Job, l *plan.Layout) { l.ContextParallel, l.DataParallelShard = 2, 4 }, "context_parallel = 2"},
		{"pipeline", func(_ *job.Job, l *plan.Layout) { l.PipelineParallel, l.DataParallelShard = 4, 4 }, "pipeline_parallel = 4"},
		{"experts", func(_ *job.Job, l *plan.Layout) { l.ExpertParallel = 8 }, "expert_parallel = 8"},
	} {
		j, l, v := measuredJob()
		c.change(j, l)
		if got := strings.Join(v.Outside(j, l, "a"), "; "); c.says == "" && got != "" || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q, want %q", c.name, got, c.says)
		}
		v.Add(j, l, "a", "one")
		if got := v.Outside(j, l, "a"); len(got) > 0 {
			t.Errorf("%s: %q after it was measured", c.name, got)
		}
		if got := v.Outside(j, l, "b"); !slices.Contains(got, "engine b") {
			t.Errorf("%s: %q of an engine that was not measured", c.name, got)
		}
	}
}

// TestRates: a precision that was measured on another GPU alone is as far away as
// one that was measured nowhere.
func TestRates(t *testing.T) {
	for _, c := range []struct {
		gpu, precision string
		far            float64
	}{{"h100_sxm", "bf16", 0}, {"a100_80gb", "fp16", 0}, {"h100_sxm", "fp16", 1}, {"h100_sxm", "fp8", 1}} {
		j, _, v := measuredJob()
		j.Cluster.GPU.Catalog, j.Training.Precision = c.gpu, c.precision
		if d := v.Distance(j, "a"); d.Precision != c.far || d.GPU != 0 {
			t.Errorf("%s on %s: %+v", c.precision, c.gpu, d)
		}
	}
}

// TestSequenceParts: context parallelism over long sequences says little of the same over
// short ones: half the part of a sequence on a rank is one doubling beyond, as twice the
// degree is, and both together are the further one.
func TestSequenceParts(t *testing.T) {
	j, l, v := measuredJob()
	j.Model.SequenceLength, l.ContextParallel = 65536, 8
	v.Add(j, l, "a", "one")
	for _, c := range []struct {
		context, sequence int
		beyond            float64
	}{{8, 65536, 0}, {1, 512, 0}, {4, 32768, 0}, {4, 16384, 1}, {2, 4096, 2}, {16, 131072, 1}, {16, 65536, 1}, {16, 16384, 3}} {
		l.ContextParallel, j.Model.SequenceLength = c.context, c.sequence
		if got := v.Beyond(l, c.sequence); got != c.beyond {
			t.Errorf("%d ranks for %d tokens: %g doublings beyond, want %g", c.context, c.sequence, got, c.beyond)
		}
		said := strings.Contains(strings.Join(v.Outside(j, l, "a"), "; "), "of a sequence on a rank (measured: from 8192)")
		if short := c.context > 1 && c.sequence/c.context < 8192; said != short {
			t.Errorf("%d ranks for %d tokens: %v", c.context, c.sequence, v.Outside(j, l, "a"))
		}
	}
}

// TestOneSource: a rate that one source measured is less certain than one that two did,
// and more certain than one that nobody measured; by how much is what a second look at a
// normal error leaves of it.
func TestOneSource(t *testing.T) {
	j, l, v := measuredJob()
	if got := v.OneSource(j); got != "bf16 on h100_sxm" {
		t.Errorf("one source measured %q", got)
	}
	r := Embedded()
	spread := func(d Distance) float64 { return math.Sqrt(r.At(&r.Dense, d).Covariance[Linear][Linear]) }
	lone := spread(v.Distance(j, "a"))
	v.Add(j, l, "a", "one")
	if got := spread(v.Distance(j, "a")); got != lone {
		t.Errorf("a second step of the same source: %g, before %g", got, lone)
	}
	v.Add(j, l, "a", "two")
	if got := v.OneSource(j); got != "" || !slices.Equal(v.Lone, []string{"a100_80gb", "fp16 on a100_80gb"}) {
		t.Errorf("two sources: %q, %q", got, v.Lone)
	}
	several := spread(v.Distance(j, "a"))
	unknown := spread(Distance{GPU: 1, Precision: 1})
	if !(several < lone && lone < unknown) {
		t.Errorf("spreads of several sources, one and none: %g, %g, %g", several, lone, unknown)
	}
	want := several * several
	for i := range r.Growth {
		if g := &r.Growth[i]; (g.With == "gpu" || g.With == "precision") && g.Includes(Linear) {
			want += 1 / (1/(g.Spread*g.Spread) + 1/(several*several)) // variances of a normal error after one observation
		}
	}
	if math.Abs(lone-math.Sqrt(want)) > 1e-12 {
		t.Errorf("spread of one source %g, want %g", lone, math.Sqrt(want))
	}
}
