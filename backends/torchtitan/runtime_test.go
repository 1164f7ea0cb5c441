package torchtitan

import (
	"os/exec"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
)

// TestKills kills a run at every operation on files of its saving, where there
// is a Python: a complete checkpoint stays to resume from.
// integration/torchtitan does the same with TorchTitan itself.
func TestKills(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	out, err := exec.Command(python, "testdata/kills.py", "templates", t.TempDir()).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// TestDispatchVariables: the library that moves tokens is told what it cannot see.
func TestDispatchVariables(t *testing.T) {
	for _, c := range []struct {
		dispatcher      string
		nodes, nics, ep int
		want            string
	}{
		{"hybridep", 16, 4, 64, "NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN=64 NVLINK_DOMAIN_SIZE=72 USE_MNNVL=1 "},
		{"deepep", 16, 4, 64, ""},
		{"deepep", 1, 0, 4, "EP_DISABLE_GIN=1 EP_REUSE_NCCL_COMM=0 "},
		{"alltoall", 16, 4, 64, ""},
	} {
		j := testJob("0.3.0", expertModel(), 4)
		j.Cluster.Nodes, j.Cluster.NVLink.Domain, j.Cluster.Network.NICsPerNode = c.nodes, 72, c.nics
		v, _ := findVersion(j)
		b := &build{v: v, j: j, p: &plan.Plan{Layout: plan.Layout{ExpertParallel: c.ep, ExpertTensorParallel: 1}, Execution: plan.Execution{MoEDispatcher: c.dispatcher}}}
		got := ""
		for _, s := range b.environment() {
			got += s.Name + "=" + s.Value.String() + " "
		}
		if got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
