package memory

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// TestDifference: the range of the difference of two peaks has the predicted one in it, is the narrower
// the more of their errors is shared, and none for one layout whose errors all are.
func TestDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		m := New(j, targetOf(rapid.SampledFrom(runtimes.All()).Draw(t, "runtime")))
		peak := func() *plan.Peak {
			l, x := drawAny(t, j)
			p := m.Memory(l, x).Peak
			return &p
		}
		a, b := peak(), peak()
		predicted := float64(a.DeviceBytes)/float64(b.DeviceBytes) - 1
		var wider [2]float64
		for i, shared := range []float64{0, m.overhead.shared, 1} {
			m.overhead.shared = shared
			d := m.Difference(a, b)
			if d[0] > predicted+1e-8 || d[1] < predicted-1e-8 {
				t.Fatalf("%v of the errors shared: %v, predicted %v", shared, d, predicted)
			}
			if i > 0 && d[1]-d[0] > wider[1]-wider[0]+1e-8 {
				t.Fatalf("%v of the errors shared: %v, less %v", shared, d, wider)
			}
			wider = d
		}
		if d := m.Difference(a, a); d != [2]float64{} {
			t.Fatalf("one layout differs by %v from itself", d)
		}
	})
}
