//go:build conformance

package artifacts

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/integration/environment"
)

// TestChildren: a case that hangs, grows, crashes or leaves processes behind is
// an answer, and does no harm to the next one.
func TestChildren(t *testing.T) {
	python, err := environment.Python()
	if err != nil {
		t.Skip("skipped: ", err)
	}
	const program = `
import os, subprocess, sys, time
sys.path.append("..")
import children
children.settle()
def grow():
    return str(len(bytearray(children.MEMORY + 1)))
def leave():
    return str(subprocess.Popen(["sleep", "1000"]).pid)
print(children.run(lambda: "fine"))
children.PATIENCE = 2
def spin():
    while True:
        pass
print(children.run(lambda: time.sleep(1000), seconds=1))
children.PATIENCE = 100
print(children.run(spin, seconds=1))
print(children.run(os.abort))
text, complaint = children.run(grow)
print((text, complaint))
pid, _ = children.run(leave)
time.sleep(0.5)
print("gone" if not os.path.exists(f"/proc/{pid}") or "Z" in open(f"/proc/{pid}/stat").read().split() else "left")
`
	const want = `('fine', '')
('', 'no answer within 2 s')
('', 'no answer within 1 s of computing')
('', 'ended by SIGABRT')
('', 'ended with exit code 1')
gone
`
	out, err := exec.Command(python, "-c", program).Output()
	if err != nil || strings.ReplaceAll(string(out), "\r", "") != want {
		t.Errorf("%v, got\n%swant\n%s", err, out, want)
	}
}

// TestRanks: a rank that fails, or time that runs out, ends the others and what
// they started.
func TestRanks(t *testing.T) {
	python, err := environment.Python()
	if err != nil {
		t.Skip("skipped: ", err)
	}
	const program = `
import glob, os, sys, time
sys.path.append("..")
import children
def ranks(*works):
    started = []
    for work in works:
        child = os.fork()
        if child == 0:
            os._exit(work() or 0)
        os.setpgid(child, child)
        started.append(child)
    return started
def hangs():
    if os.fork() == 0:
        time.sleep(60)
    time.sleep(60)
def alive(group):
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            state, _, of = open(stat).read().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(of) == group and state != "Z":
            return True
    return False
def waited(seconds, *works):
    started, start = ranks(*works), time.time()
    failed, code = children.wait(started, seconds)
    time.sleep(0.5)
    if any(alive(child) for child in started):
        print("left")
    print(failed and started.index(failed), code, "late" if time.time() - start > 30 else "soon")
waited(60, lambda: 0, lambda: 0)
waited(60, hangs, lambda: 3, hangs)
waited(60, hangs, os.abort)
waited(1, lambda: 0, hangs)
`
	const want = `None 0 soon
1 3 soon
1 -6 soon
1 124 soon
`
	out, err := exec.Command(python, "-c", program).Output()
	if err != nil || string(out) != want {
		t.Errorf("%v, got\n%swant\n%s", err, out, want)
	}
}
