//go:build conformance

package torchtitan_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	frameworks "github.com/ndc-dev/ndc/integration/environment"
)

// TestKills kills the framework's own checkpoint manager, with the emitted
// hooks, before every operation on files; with NDC_CONFORMANCE_CHEAP, before
// every twelfth.
func TestKills(t *testing.T) {
	program, every := ndc(t), 1
	if os.Getenv("NDC_CONFORMANCE_CHEAP") != "" {
		every = 12
	}
	for _, r := range releases {
		t.Run(r.version, func(t *testing.T) {
			line := r.line("checkpoints under kills at every operation on files")
			line.AddAfter(t)
			files := layoutCase{name: "single", gpus: 1, layout: "data_parallel_shard = 1"}.build(t, program, r, t.TempDir())
			for _, mode := range []string{"disabled", "async"} {
				line.Count(t)
				out := run(t, 30*time.Minute, environment(t, files), files, r.python(t), "-W", "ignore", here(t)+"/kills.py", files, t.TempDir(), mode, fmt.Sprint(every))
				if !strings.Contains(out, "kills lost nothing") {
					t.Error(frameworks.Tail(out, 20))
				}
				t.Logf("TorchTitan %s, saves %s: %s", r.version, mode, frameworks.Tail(out, 1))
			}
		})
	}
}
