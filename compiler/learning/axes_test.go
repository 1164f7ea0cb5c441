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
	losses, biased := &runtime.Runtime{}, &runtime.Runtime{Experts: runtime.Experts{BiasAlone: true}}
	for _, c := range []struct {
		balance string
		drop    bool
		runtime *runtime.Runtime
		want    []string
	}{
		{"aux_loss", false, losses, []string{"micro_batch_size"}},
		{"sequence_aux_loss", false, losses, nil},
		{"global_aux_loss", false, losses, nil},
		{"aux_loss", false, biased, nil},
		{"bias", false, losses, nil},
		{"bias", true, losses, []string{"micro_batch_size", "tensor_parallel", "sequence_parallel", "context_parallel", "expert_tensor_parallel"}},
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
	if got := Axes(&job.Job{}, losses); got != nil {
		t.Errorf("a dense model: %v", got)
	}
}
