package slurm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestCheckSpeed: slow nodes are found among 2 to 2,048, in as many measurements as
// halving takes, and what is slow everywhere is nobody's fault.
func TestCheckSpeed(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("skipped: no python3")
	}
	j, p, l := example()
	j.Slurm.SpareNodes, p.Run.Checkpoints = 2, &plan.Checkpoints{SaveSeconds: 30}
	program := filepath.Join(t.TempDir(), speedName)
	if err := os.WriteFile(program, speedProgram(j, l), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(python, "testdata/bisect.py", program).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, asked := range []bool{true, false} {
		j.Slurm.CheckSpeed = job.Some(asked)
		archive := files(t, j, p, l)
		found := false
		for _, f := range archive.Files {
			found = found || f.Name == speedName || strings.Contains(string(f.Data), speedName)
		}
		if found != asked {
			t.Errorf("check_speed = %v, and the files name the program: %v", asked, found)
		}
	}
}

// TestReduceSeconds: an all-reduce over more nodes takes no less, and one over racks of
// NVL72 what the network takes.
func TestReduceSeconds(t *testing.T) {
	j, _, _ := example()
	before := reduceSeconds(j.Cluster, 1)
	for nodes := 2; nodes <= 2048; nodes *= 2 {
		now := reduceSeconds(j.Cluster, nodes)
		if now < before {
			t.Errorf("%d nodes take %v s, half of them %v s", nodes, now, before)
		}
		before = now
	}
}
