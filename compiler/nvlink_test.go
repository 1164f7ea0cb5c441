package compiler

import (
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
)

// TestTraffic: an amount that would be none in GiB is told in a smaller unit.
func TestTraffic(t *testing.T) {
	all := []plan.Communication{
		{Group: "tensor_parallel", Collective: "all_gather", Bytes: 3 << 30, Link: "network", Seconds: 1},
		{Group: "tensor_parallel", Collective: "all_reduce", Bytes: 15 << 20, Link: "network", Seconds: 1},
		{Group: "pipeline_parallel", Collective: "send", Bytes: 1, Link: "network", Seconds: 1},
	}
	const want = "all_gather of 3.0 GiB over network, all_reduce of 15.0 MiB over network a step"
	if got := traffic(all, "tensor_parallel"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
