package learning

import (
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestAxes: what balances or drops tokens within a part of the batch depends on how
// the batch is cut.
func TestAxes(t *testing.T) {
	together, alone, biased := &runtime.Runtime{}, &runtime.Runtime{Experts: runtime.Experts{BalancesParts: true}}, &runtime.Runtime{Experts: runtime.Experts{BiasAlone: true}}
	for _, c := range []struct {
		balance string
		drop    bool
		runtime *runtime.Runtime
		want    []string
	}{
		{"aux_loss", false, together, []string{"micro_batch_size"}},
		{"aux_loss", false, alone, []string{"micro_batch_size", "context_parallel"}},
		{"sequence_aux_loss", false, together, nil},
		{"sequence_aux_loss", false, alone, []string{"context_parallel"}},
		{"global_aux_loss", false, alone, nil},
		{"aux_loss", false, biased, nil},
		{"bias", false, alone, nil},
		{"bias", true, alone, []string{"micro_batch_size", "tensor_parallel", "sequence_parallel", "context_parallel", "expert_tensor_parallel"}},
	} {
		j := &job.Job{Model: job.Model{MoE: &job.MoE{TokenDrop: c.drop, Router: job.Router{Balance: c.balance}}}}
		var got []string
		for _, l := range Axes(j, c.runtime) {
			got = append(got, l.Axis)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s, drops %t: %v, want %v", c.balance, c.drop, got, c.want)
		}
	}
	if got := Axes(&job.Job{}, alone); got != nil {
		t.Errorf("a dense model: %v", got)
	}
}
