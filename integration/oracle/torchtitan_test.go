package oracle

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

const torchtitanFile = "../../testdata/oracle/torchtitan.jsonl"

// TestTorchTitan holds plans against the live tensors of the real Trainer. A
// rank's parameters, gradients and moments are exact but for the rounding of
// uneven shards; the peak, without the workspaces of libraries that a machine
// without a GPU does not have, has ceilings.
func TestTorchTitan(t *testing.T) {
	cases, err := Read[Live](torchtitanFile)
	if err != nil {
		t.Fatal(err)
	}
	var errors []float64
	var table strings.Builder
	for i := range cases {
		c := &cases[i]
		if len(c.Answers) == 0 {
			t.Errorf("%s: not recorded", c.Name())
		}
		_, p, err := c.Plan()
		if err != nil {
			t.Errorf("%s: %v", c.Name(), err)
			continue
		}
		for _, a := range c.Answers {
			s := &p.Memory.Stages[Stage(p, a.Rank)]
			got := int64(s.AllocatedBytes) - Line(s, "workspaces")
			off := float64(got)/float64(a.Peak) - 1
			errors = append(errors, math.Abs(off))
			fmt.Fprintf(&table, "%+6.2f %% %8.3f GiB %s rank %d, %s\n", 100*off, float64(a.Peak)/(1<<30), c.Name(), a.Rank, a.Phase)
			near(t, c.Name(), "parameters", Line(s, "parameters"), a.Parameters)
			near(t, c.Name(), "moments", Line(s, "optimizer_moments"), a.Moments)
			if testing.Verbose() {
				for _, y := range s.Ledger {
					fmt.Fprintf(&table, "    %s %d", y.ID, y.Bytes>>20)
				}
				table.WriteByte('\n')
			}
		}
	}
	slices.Sort(errors)
	if len(errors) == 0 {
		t.Fatal("no answers")
	}
	median, worst := errors[len(errors)/2], errors[len(errors)-1]
	t.Logf("\n%s%d ranks of %d layouts: median %.2f %%, max %.2f %%", table.String(), len(errors), len(cases), 100*median, 100*worst)
	if median > 0.01 || worst > 0.055 {
		t.Errorf("median %.4f, max %.4f", median, worst)
	}
}

// near demands equality but for the padding of uneven shards.
func near(t *testing.T, name, what string, got, want int64) {
	t.Helper()
	if d := math.Abs(float64(got - want)); d > 1e-3*float64(want) {
		t.Errorf("%s: %s %d, want %d", name, what, got, want)
	}
}
