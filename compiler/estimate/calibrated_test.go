package estimate

import (
	"math"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tools/runtimes"
	"pgregory.net/rapid"
)

// TestCalibrated: factors of one change nothing; others multiply the terms of a
// step, whose breakdown still sums to it; floors stay below.
func TestCalibrated(t *testing.T) {
	for _, r := range runtimes.All() {
		rapid.Check(t, func(t *rapid.T) {
			experts := rapid.Bool().Draw(t, "moe")
			model := dense
			if experts {
				model = moe
			}
			plain := jobOf(model(), 8)
			plain.Training.Precision = rapid.SampledFrom([]string{"bf16", "fp8"}).Draw(t, "precision")
			l, x := layouts(t, experts), execution()
			same, moved := *plain, *plain
			same.Cluster.Calibration = &job.Calibration{}
			c := &job.Calibration{}
			factors := [uncertainty.Count]float64{}
			for k := range uncertainty.Count {
				m := rapid.Float64Range(-0.5, 0.5).Draw(t, k.String())
				c.Terms, factors[k] = append(c.Terms, job.TermError{Name: k.String(), Mean: m, Before: 10}), math.Exp(m)
				c.Covariance = append(c.Covariance, make([]float64, uncertainty.Count))
			}
			moved.Cluster.Calibration = c

			e, unit, f := New(plain, targetOf(r)), New(&same, targetOf(r)), New(&moved, targetOf(r))
			step := e.Step(&l, &x)
			if got := unit.Step(&l, &x); math.Abs(float64(got/step)-1) > 1e-12 {
				t.Fatalf("factors of one: step %v, %v without", got, step)
			}
			var known uncertainty.Step
			e.Uncertain(&l, &x, &known)
			var passes, want units.Seconds // the slowest rank is waited for by a share of them
			for k, s := range known.Terms {
				if uncertainty.Term(k) != uncertainty.Straggler {
					passes, want = passes+s, want+s*units.Seconds(factors[k])
				}
			}
			want += known.Terms[uncertainty.Straggler] * units.Seconds(factors[uncertainty.Straggler]) * want / passes
			d := f.Describe(&l, &x)
			if got := d.Time.StepSeconds; l.PipelineParallel == 1 && math.Abs(float64(got/want)-1) > 0.01 {
				t.Fatalf("%+v: step %v, the terms say %v, without factors %v", l, got, want, step)
			}
			var sum units.Seconds
			for _, b := range d.Time.Breakdown {
				sum += b.Seconds
			}
			if math.Abs(float64(sum/d.Time.StepSeconds)-1) > 1e-9 {
				t.Fatalf("breakdown of %v, step of %v", sum, d.Time.StepSeconds)
			}
			if mesh, floor := f.MeshFloor(&l, &x), f.Floor(&l, &x); mesh > d.Time.StepSeconds || floor > d.Time.StepSeconds {
				t.Fatalf("%+v: floors %v of the mesh and %v of the pipeline, step %v", l, mesh, floor, d.Time.StepSeconds)
			}
			if spread := f.Prior().Ratio(&known).Spread; spread >= e.Prior().Ratio(&known).Spread {
				t.Fatalf("known to %v, before to %v", spread, e.Prior().Ratio(&known).Spread)
			}
		})
	}
}

// TestCalibratedFloor: where the host is slower than the cluster's calibration expected
// and kernels are faster, recompute hides more of the host than it adds, and the floor
// of the mesh is below that, too.
func TestCalibratedFloor(t *testing.T) {
	j := jobOf(moe(), 8)
	c := &job.Calibration{}
	for k := range uncertainty.Count {
		m := 0.5
		switch k {
		case uncertainty.Grouped, uncertainty.Attention, uncertainty.Bandwidth, uncertainty.Overlap:
			m = -0.5
		}
		c.Terms = append(c.Terms, job.TermError{Name: k.String(), Mean: m, Before: 10})
		c.Covariance = append(c.Covariance, make([]float64, uncertainty.Count))
	}
	j.Cluster.Calibration = c
	l, x := single(1), execution()
	l.TensorParallel, l.SequenceParallel, l.ContextParallel, l.DataParallelShard, l.MicroBatches = 2, true, 2, 16, 32
	l.Recompute, l.RecomputeModules = plan.RecomputeSelective, plan.ModuleCoreAttention
	for _, r := range runtimes.All() {
		e := New(j, targetOf(r))
		if floor, step := e.MeshFloor(&l, &x), e.Step(&l, &x); floor > step {
			t.Errorf("floor %v of the mesh, step %v", floor, step)
		}
	}
}
