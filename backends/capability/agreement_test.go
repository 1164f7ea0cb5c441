package capability_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/backends/capability"
	"github.com/ndc-dev/ndc/backends/deepspeed"
	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/backends/torchtitan"
	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
	_ "github.com/ndc-dev/ndc/tools/seldom"
)

var emitters = []backends.Backend{megatron.Backend{}, torchtitan.Backend{}, deepspeed.Backend{}}

// TestVersions: the table speaks of the versions that the backends support.
func TestVersions(t *testing.T) {
	if len(capability.Backends()) != len(emitters) {
		t.Fatalf("%d backends in the table, want %d", len(capability.Backends()), len(emitters))
	}
	for i, b := range capability.Backends() {
		if e := emitters[i]; b.Kind != e.Kind() || !slices.Equal(b.Versions, e.Versions()) {
			t.Errorf("%s has versions %v, the table says %s with %v", e.Kind(), e.Versions(), b.Kind, b.Versions)
		}
	}
}

// TestAgreement: a version can run a job that asks for a feature if and only if
// the table says so. A feature that a version has for some jobs alone is asked
// of one of these and of one of the others.
func TestAgreement(t *testing.T) {
	t.Parallel()
	probed := map[capability.Feature]bool{}
	for _, p := range probes {
		probed[p.feature] = true
	}
	for _, r := range capability.Rows() {
		if !probed[r.Feature] {
			t.Errorf("%s: no probe asks for it", r.Feature)
		}
	}
	for _, e := range emitters {
		for _, p := range probes {
			if p.kind != "" && p.kind != e.Kind() {
				continue
			}
			for _, version := range telling(e, p.feature) {
				want := capability.Has(e.Kind(), version, p.feature)
				if p.kind != "" {
					want = capability.HasFor(e.Kind(), version, p.feature)
				}
				if got, why := runs(t, e, version, &p); got != want {
					t.Errorf("%s on %s, %s %s: runs %t, the table says %t: %s", p.feature, p.base(), e.Kind(), version, got, want, why)
				}
			}
		}
	}
}

// telling are the versions of a backend that a feature is asked of: the oldest,
// the newest, and those on both sides of a change.
func telling(e backends.Backend, f capability.Feature) []string {
	all := e.Versions()
	var some []string
	for i, v := range all {
		edge := func(other int) bool {
			w := all[other]
			return capability.Has(e.Kind(), v, f) != capability.Has(e.Kind(), w, f) || capability.HasFor(e.Kind(), v, f) != capability.HasFor(e.Kind(), w, f)
		}
		if i == 0 || i == len(all)-1 || edge(i-1) || edge(i+1) {
			some = append(some, v)
		}
	}
	return some
}

// runs reports whether a version can run the job of a probe, or why not.
func runs(t *testing.T, e backends.Backend, version string, p *probe) (bool, string) {
	j := baseJob(t, p.base(), e)
	j.Backend.Version = version
	p.edit(j)
	tg, diags := e.Target(j)
	if i := slices.IndexFunc(diags, func(d diag.Diagnostic) bool { return d.Severity == diag.Error || d.ID == torchtitan.Differs }); i >= 0 {
		return false, diags[i].Detail
	}
	found, diags, err := compiler.Compile(t.Context(), j, tg)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case diags.HasErrors():
		return false, first(diags)
	case !found.Feasible:
		return false, fmt.Sprint("no feasible layout: ", found.Search.Rejected)
	}
	return true, ""
}

func first(diags diag.List) string {
	for _, d := range diags {
		if d.Severity == diag.Error {
			return d.Detail
		}
	}
	return ""
}

// bases are jobs by model and backend, loaded once.
var bases = map[string]*job.Job{}

// baseJob is a small job that every version of a backend which builds the model
// can run, on eight GPUs that know every precision.
func baseJob(t *testing.T, model string, e backends.Backend) *job.Job {
	t.Helper()
	key := model + " " + e.Kind()
	if bases[key] == nil {
		bases[key] = load(t, model, e)
	}
	j := *bases[key]
	if m := j.Model.MoE; m != nil {
		copied := *m
		j.Model.MoE = &copied
	}
	if m := j.Model.Attention.MLA; m != nil {
		copied := *m
		j.Model.Attention.MLA = &copied
	}
	return &j
}

func load(t *testing.T, model string, e backends.Backend) *job.Job {
	t.Helper()
	src := fmt.Sprintf(`
model "m" {
  base       = catalog.model.%s
  layers     = 4
  mtp_layers = 0
}
cluster "c" {
  base  = catalog.cluster.dgx_b200
  nodes = 1
}
job "probe" {
  model   = model.m
  cluster = cluster.c
  training {
    global_batch_size = 64
    steps             = 100
    optimizer "adamw" {
      learning_rate = 1e-4
    }
    schedule "cosine" {
      warmup_steps = 10
    }
    data {
      format = "megatron"
      source "text" {
        path = "/data/text"
      }
    }
    checkpoint {
      path     = "/checkpoints"
      interval = 50
    }
  }
  constraints {
    layout {
      micro_batch_size = 1
    }
  }
  backend %q {
    version = %q
  }
}
`, model, e.Kind(), e.Versions()[0])
	w, diags := lang.Load(fstest.MapFS{"job.hcl": {Data: []byte(src)}}, "job.hcl", lang.Options{})
	if diags.HasErrors() || len(w.Jobs) != 1 {
		t.Fatalf("%s: %s", model, first(diags))
	}
	j := &w.Jobs[0]
	if j.Model.Attention.Sinks { // YaRN is a feature of its own
		j.Model.PositionEmbedding.Scaling = nil
	}
	if e := j.Model.MoE; e != nil { // and so are the ways to balance experts
		r := &e.Router
		r.Balance, r.AuxCoefficient, r.ZLossCoefficient, r.BiasUpdateRate, r.DType = "none", 0, 0, 0, ""
	}
	return j
}
