package torchtitan

import (
	"testing"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestOriginsNeverTouchValues: comments name who chose a value, and a string of
// the job that looks like such a comment stays as it is.
func TestOriginsNeverTouchValues(t *testing.T) {
	j := &job.Job{Sources: job.Sources{"model.layers": {Origin: job.FromCatalog}, "training.seed": {Origin: job.FromSpec}}}
	for in, want := range map[string]string{
		"LAYERS = 80  # spec: model.layers\n":                       "LAYERS = 80  # catalogue: model.layers\n",
		"seed = 1  # spec: training.seed; of all ranks\n":           "seed = 1  # spec: training.seed; of all ranks\n",
		"qk_norm=None,  # spec: model.qk_norm\n":                    "qk_norm=None,  # default: model.qk_norm\n",
		"path=\"/data  # spec: model.layers\",\n":                   "path=\"/data  # spec: model.layers\",\n",
		"path = '/data  # spec: model.layers'  # spec: model.x\n":   "path = '/data  # spec: model.layers'  # default: model.x\n",
		"path = \"/data  # spec: model.layers\"  # not a spec: a\n": "path = \"/data  # spec: model.layers\"  # not a spec: a\n",
	} {
		list := []backends.Artifact{{Content: []byte(in)}}
		nameOrigins(list, j)
		if got := string(list[0].Content); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
