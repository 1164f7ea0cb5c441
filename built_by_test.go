package ndc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/backends/deepspeed"
	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/backends/torchtitan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/catalog"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestBuiltBy asks every backend, at its oldest and newest version and on both
// sides of a stated boundary, whether it builds each model of the catalogue,
// and compares the answer with what the entry states.
func TestBuiltBy(t *testing.T) {
	for _, b := range []backends.Backend{megatron.Backend{}, torchtitan.Backend{}, deepspeed.Backend{}} {
		versions := b.Versions()
		for _, name := range catalog.Names("model") {
			stated := statement(modelJob(t, name, b.Kind(), versions[0]), b.Kind())
			first := firstVersion(t, name, stated, versions)
			for _, i := range []int{0, first - 1, first, len(versions) - 1} {
				if i < 0 || i >= len(versions) {
					continue
				}
				j := modelJob(t, name, b.Kind(), versions[i])
				_, diags := b.Target(j)
				if refused := modelErrors(diags); (len(refused) == 0) != (i >= first) {
					t.Errorf("%s %s states %q for %s; the backend says %q", b.Kind(), versions[i], stated.Versions, name, refused)
				}
			}
			if stated.Versions == "" && stated.Reason == "" {
				t.Errorf("%s does not say why %s cannot build it", name, b.Kind())
			}
		}
	}
}

// statement is what an entry says about a backend.
func statement(j *job.Job, kind string) job.BuiltBy {
	for _, b := range j.Model.BuiltBy {
		if b.Backend == kind {
			return b
		}
	}
	return job.BuiltBy{Backend: kind}
}

// firstVersion is the place of the oldest version that the entry allows; one
// past the last when it allows none.
func firstVersion(t *testing.T, name string, b job.BuiltBy, versions []string) int {
	t.Helper()
	if b.Versions == "" {
		return len(versions)
	}
	i := slices.Index(versions, strings.TrimPrefix(b.Versions, ">= "))
	if i < 0 {
		t.Fatalf("%s: %q names no version of %s", name, b.Versions, b.Backend)
	}
	return i
}

// modelErrors are the details of the errors that speak of the model.
func modelErrors(diags diag.List) (details []string) {
	for _, d := range diags {
		if d.Severity == diag.Error && strings.Contains(string(d.ID), "model") {
			details = append(details, d.Detail)
		}
	}
	return details
}

// modelJob resolves a job that trains a model of the catalogue on one H100.
func modelJob(t *testing.T, name, kind, version string) *job.Job {
	t.Helper()
	src := fmt.Appendf(nil, `
job "built" {
  model   = catalog.model.%s
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 1
    steps             = 1

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend %q {
    version = %q
  }
}
`, name, kind, version)
	w, diags := lang.Load(fstest.MapFS{"job.hcl": {Data: src}}, "job.hcl", lang.Options{})
	for _, d := range diags {
		t.Errorf("%s: %s", d.Summary, d.Detail)
	}
	if len(w.Jobs) != 1 {
		t.Fatalf("%s: %d jobs, want 1", name, len(w.Jobs))
	}
	return &w.Jobs[0]
}
