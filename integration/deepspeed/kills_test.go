//go:build conformance

package deepspeed

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/ndc-dev/ndc/integration/summary"
	"github.com/ndc-dev/ndc/lang/job"
)

// killed is the exit code of a rank that SIGKILL ended, and late that of a run
// that took too long, as run_cases.py tells them.
const (
	killed = -int(syscall.SIGKILL)
	late   = 124
)

// TestKills goes back from the checkpoint after step 4 to that after step 2,
// keeps one checkpoint, and is killed before an operation on files: of rank 0,
// which publishes and prunes, and of rank 1, which only writes. Whatever was
// reached, the next run goes on with every digit of an unbroken one. All
// operations of the newest release are kills, every seventh of the others;
// NDC_CONFORMANCE_CHEAP leaves three in all, NDC_KILLS_EVERY every so many.
func TestKills(t *testing.T) {
	each(t, func(t *testing.T, version, python string) {
		stride := 7
		if version == "0.19.8" {
			stride = 1
		}
		k := killing{t: t, version: version, python: python, line: row(t, version), root: t.TempDir(), together: 12}
		if os.Getenv("NDC_CONFORMANCE_CHEAP") != "" {
			stride, k.together = 25, 4
		}
		if given := os.Getenv("NDC_KILLS_EVERY"); given != "" {
			every, err := strconv.Atoi(given)
			must(t, err)
			stride, k.together = every, 6
		}
		k.begin()
		for rank := range 2 {
			t.Run(fmt.Sprint("rank ", rank), func(t *testing.T) {
				k.t = t
				count := 0
				for ended := false; !ended && !t.Failed(); {
					ended = k.batch(rank, &count, stride)
				}
				t.Logf("DeepSpeed %s, rank %d: %d kills lost nothing, before every %d. operation", version, rank, count, stride)
			})
		}
	})
}

// killing runs kills of one release.
type killing struct {
	t                     *testing.T
	version, python, root string
	line                  *summary.Line
	whole                 result // the run that is not killed
	// together is how many kills share a process: importing the frameworks takes
	// longer than a run.
	together int
	lateOnce bool // a killed run took too long: once may be the machine
}

// begin trains without a kill, and goes back to the checkpoint after step 2.
func (k *killing) begin() {
	k.write("whole", "before", 2, 2)
	k.whole = run(k.t, k.python, k.root, "whole")["whole"]
	must(k.t, os.WriteFile(filepath.Join(checkpoints(k.root, "before"), "latest"), []byte("step-2"), 0o644))
}

// write writes a run that saves into a folder.
func (k *killing) write(name, folder string, keep, every int) {
	write(k.t, k.root, k.version, trial{name: name, ranks: 2, layout: zero(1), change: func(j *job.Job) {
		j.Training.Checkpoint = job.Checkpoint{Path: checkpoints(k.root, folder), IntervalSteps: every, KeepLast: keep, SaveOptimizer: true}
	}})
}

// batch kills a rank before some further operations, each in a copy of the
// checkpoints, and reports whether a run came to its end.
func (k *killing) batch(rank int, count *int, stride int) (ended bool) {
	var names []string
	for i := range k.together {
		n := *count + i
		killed, resumed := fmt.Sprintf("killed-%d-%d", rank, n), fmt.Sprintf("resumed-%d-%d", rank, n)
		must(k.t, exec.Command("cp", "-a", checkpoints(k.root, "before"), checkpoints(k.root, killed)).Run())
		k.write(killed, killed, 1, 1)
		k.write(resumed, killed, 1, 1)
		must(k.t, os.WriteFile(filepath.Join(k.root, killed, "case.json"), fmt.Appendf(nil, `{"ranks": 2, "kill": {"rank": %d, "before": %d}}`, rank, n*stride), 0o644))
		names = append(names, killed, resumed)
	}
	got := run(k.t, k.python, k.root, names...)
	for i := 0; i < len(names) && !ended && !k.t.Failed(); i += 2 {
		if got[names[i]].Code == late && !k.lateOnce {
			k.t.Logf("%s took too long; it and those after it are asked again", names[i])
			k.lateOnce = true
			break
		}
		if ended = k.judge(got[names[i]], got[names[i+1]]); !ended {
			k.line.Count(k.t)
			*count++
			k.lateOnce = false
		}
	}
	for _, name := range names {
		must(k.t, os.RemoveAll(checkpoints(k.root, name)))
	}
	return ended
}

// judge compares the run after a kill with the unbroken one, and reports whether
// there was a kill.
func (k *killing) judge(first, rest result) (ended bool) {
	k.t.Helper()
	if first.Code != killed && first.Code != 0 {
		k.t.Fatalf("%s: exit code %d: %s", first.Name, first.Code, first.Error)
	}
	resumed(k.t, first.Name, k.whole, rest, len(k.whole.Steps)-len(rest.Steps))
	if len(rest.Steps) > 2 {
		k.t.Errorf("%s: the run began anew after step %d", first.Name, 4-len(rest.Steps))
	}
	return first.Code == 0
}
