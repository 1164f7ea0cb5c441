package torchtitan

import (
	"os/exec"
	"testing"
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
