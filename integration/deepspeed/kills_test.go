//go:build conformance

package deepspeed

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ndc-dev/ndc/lang/job"
)

// killed is the exit code of a rank that SIGKILL ended, as run_cases.py tells it.
const killed = -int(syscall.SIGKILL)

// TestKills goes back from the checkpoint after step 4 to that after step 2,
// keeps one checkpoint, and is killed before an operation on files: of rank 0,
// which publishes and prunes, and of rank 1, which only writes. Whatever was
// reached, the next run goes on with every digit of an unbroken one. All
// operations of the newest release are kills, every seventh of the others;
// NDC_CONFORMANCE_CHEAP leaves three in all.
func TestKills(t *testing.T) {
	each(t, func(t *testing.T, version, python string) {
		stride := 7
		if version == "0.19.8" {
			stride = 1
		}
		if os.Getenv("NDC_CONFORMANCE_CHEAP") != "" {
			stride = 25
		}
		line, root := row(t, version), t.TempDir()
		saves := func(keep, every int) func(*job.Job) {
			return func(j *job.Job) {
				j.Training.Checkpoint = job.Checkpoint{Path: checkpoints(root, "all"), IntervalSteps: every, KeepLast: keep, SaveOptimizer: true}
			}
		}
		cases := filepath.Join(root, "cases")
		write(t, cases, version, trial{name: "whole", ranks: 2, layout: zero(1), change: saves(2, 2)})
		write(t, cases, version, trial{name: "killed", ranks: 2, layout: zero(1), change: saves(1, 1)})
		write(t, cases, version, trial{name: "resumed", ranks: 2, layout: zero(1), change: saves(1, 1)})
		whole := run(t, python, cases, "whole")["whole"]
		must(t, os.WriteFile(filepath.Join(checkpoints(root, "all"), "latest"), []byte("step-2"), 0o644))
		before := filepath.Join(root, "before")
		must(t, exec.Command("cp", "-a", checkpoints(root, "all"), before).Run())
		for rank := range 2 {
			count := 0
			for at := 0; ; at += stride {
				must(t, os.RemoveAll(checkpoints(root, "all")))
				must(t, exec.Command("cp", "-a", before, checkpoints(root, "all")).Run())
				must(t, os.WriteFile(filepath.Join(cases, "killed", "case.json"), fmt.Appendf(nil, `{"ranks": 2, "kill": {"rank": %d, "before": %d}}`, rank, at), 0o644))
				got := run(t, python, cases, "killed", "resumed")
				if code := got["killed"].Code; code != killed && code != 0 {
					t.Fatalf("rank %d, operation %d: exit code %d: %s", rank, at, code, got["killed"].Error)
				}
				steps := got["resumed"].Steps
				resumed(t, fmt.Sprintf("rank %d, killed before operation %d", rank, at), whole, got["resumed"], len(whole.Steps)-len(steps))
				if len(steps) > 2 {
					t.Errorf("rank %d, operation %d: the run began anew after step %d", rank, at, 4-len(steps))
				}
				if got["killed"].Code == 0 || t.Failed() {
					break
				}
				line.Count(t)
				count++
			}
			t.Logf("DeepSpeed %s, rank %d: %d kills lost nothing", version, rank, count)
		}
	})
}
