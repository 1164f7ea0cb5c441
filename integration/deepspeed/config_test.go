//go:build conformance

package deepspeed

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/integration/summary"
)

// TestConfigurations hands every emitted ds_config.json and config.json to the
// real classes of every installed release.
func TestConfigurations(t *testing.T) {
	each(t, func(t *testing.T, version, python string) {
		root := t.TempDir()
		for _, c := range legal(t, version, trials(version)) {
			write(t, root, version, c)
		}
		accept(t, row(t, version), python, root)
	})
}

// accept runs accept.py over the folders of root and reports its complaints.
func accept(t *testing.T, line *summary.Line, python, root string) {
	t.Helper()
	driver, err := filepath.Abs("accept.py")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, driver, root)
	cmd.Env = append(os.Environ(), "DS_ACCELERATOR=cpu")
	out, err := cmd.Output()
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		if name, complaint, bad := strings.Cut(lines.Text(), ": "); bad {
			line.Rejected++
			t.Errorf("%s: %s", name, complaint)
		} else {
			line.Accepted++
		}
	}
	if err != nil {
		t.Errorf("accept.py: %v", err)
	}
	t.Logf("%d configurations accepted", line.Accepted)
}
