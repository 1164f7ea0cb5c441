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
