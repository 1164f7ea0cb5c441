//go:build conformance

package artifacts

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ndc-dev/ndc/integration/summary"
)

// Ask hands launches of one version to their framework, and adds what it said
// to the summary; every rejection is an error of the test. root is the
// repository, what a row of the summary.
func Ask(t *testing.T, launches []*Launch, depth Depth, root, what string) {
	t.Helper()
	line := summary.Line{Framework: launches[0].Framework, Version: launches[0].Version, What: what}
	verdicts, err := Judge(launches, depth, root, t.TempDir())
	switch {
	case errors.Is(err, ErrUnavailable):
		line.Skipped = err.Error()
	case err != nil:
		t.Error(err)
	}
	skipped := 0
	for _, v := range verdicts {
		switch {
		case v.Skipped:
			skipped++
			continue
		case v.Error == "":
			line.Accepted++
			continue
		}
		line.Rejected++
		t.Errorf("%s %s, %s: %s", line.Framework, line.Version, v.Launch.Name, v.Error)
	}
	if skipped > 0 {
		line.Skipped = fmt.Sprintf("%d ask for a GPU, Megatron-FSDP outside of the meta device, torchao, emerging-optimizers or a newer transformers", skipped)
	}
	if err := summary.Add(line); err != nil {
		t.Error(err)
	}
	if len(verdicts) == 0 {
		t.Skip("skipped: ", line.Skipped)
	}
	t.Logf("%s: %d accepted, %d rejected", what, line.Accepted, line.Rejected)
}
