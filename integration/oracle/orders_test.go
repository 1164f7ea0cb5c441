//go:build conformance

package oracle

import (
	"os"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/integration/environment"
	"github.com/ndc-dev/ndc/integration/summary"
)

// ordersFile holds the orders of torch's schedules that package schedule is
// tested with.
const ordersFile = "../../compiler/schedule/testdata/torch.jsonl"

// TestOrders asks the torch of every release of TorchTitan for the orders of
// its pipeline schedules again.
func TestOrders(t *testing.T) {
	want, err := os.ReadFile(ordersFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"0.2.2", "0.3.0"} {
		line := summary.Line{Framework: "torchtitan", Version: version, What: "orders of pipeline schedules, asked again"}
		python, err := environment.TorchTitan(version).Python()
		if err != nil {
			line.Skipped = err.Error()
		} else if got, err := environment.Ask(1, nil, nil, python, "orders.py"); err != nil {
			t.Error(err)
		} else if d := diff.Diff(string(want), got); d != "" {
			line.Rejected++
			t.Errorf("%s (-recorded +now):\n%s", version, d)
		} else {
			line.Accepted++
		}
		if err := summary.Add(line); err != nil {
			t.Error(err)
		}
	}
}
