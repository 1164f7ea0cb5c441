package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sweepJob tries learning rates and seeds, and one batch that is another job.
const sweepJob = `
job "rates" {
  for_each = { low = [1e-4, 64], high = [4e-4, 64], small = [1e-4, 32] }
  model    = catalog.model.llama3_8b
  cluster  = cluster.c
  training {
    global_batch_size = each.value[1]
    steps             = 1000
    seed              = 1 + floor(1e4 * each.value[0])
    optimizer "adamw" {
      learning_rate = each.value[0]
    }
    data {
      mock = true
    }
    checkpoint {
      path = "/checkpoints/${each.key}"
    }
  }
  backend "megatron" {
    version = "core_v0.19.2"
  }
  backend "torchtitan" {
    version = "0.3.0"
  }
}
cluster "c" {
  base  = catalog.cluster.dgx_h100
  nodes = 1
}
`

// TestSweep: jobs that differ in what no plan depends on are planned once, and their
// files are those that each of them gives alone.
func TestSweep(t *testing.T) {
	folder := t.TempDir()
	spec, out := filepath.Join(folder, "job.hcl"), filepath.Join(folder, "out")
	if err := os.WriteFile(spec, []byte(sweepJob), 0o644); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if code := run([]string{"build", spec, "-o", out}, &text, &text); code != exitOK {
		t.Fatal(code, text.String())
	}
	for _, name := range []string{"rates-low", "rates-high", "rates-small"} {
		alone := filepath.Join(folder, name)
		if code := run([]string{"build", spec, "--replan", "--job", name, "-o", alone}, &text, &text); code != exitOK {
			t.Fatal(code, text.String())
		}
		if diff := cmp.Diff(tree(t, filepath.Join(alone, name)), tree(t, filepath.Join(out, name))); diff != "" {
			t.Errorf("%s (-alone +with the others):\n%s", name, diff)
		}
	}
	w, diags := loadFrom(disk{}, spec, &inputFlags{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var s sweep
	for i := range w.Jobs {
		j, target, diags := targetOf(&w.Jobs[i])
		if p, more, err := s.plan(j, target); p == nil || diags.HasErrors() || more.HasErrors() || err != nil {
			t.Fatal(p, diags, more, err)
		}
	}
	if len(w.Jobs) != 6 || len(s) != 4 {
		t.Errorf("%d jobs, of which %d were searched, not 4 of 6", len(w.Jobs), len(s))
	}
}

// unread is how Go code reads what no plan depends on.
var unread = regexp.MustCompile(`\.Seed\b|\.LearningRate\b|Checkpoint\.Path( [!=]= "")?`)

// TestNoPlanDependsOn: the compiler does not read what plans of a sweep may differ in,
// but for whether checkpoints are saved at all. Cautions do, and are no part of a plan that is kept.
func TestNoPlanDependsOn(t *testing.T) {
	files := tree(t, "../../compiler")
	for name, text := range files {
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "caution/") {
			continue
		}
		for _, m := range unread.FindAllStringSubmatch(text, -1) {
			if m[1] == "" {
				t.Errorf("compiler/%s reads %s, which jobs of one plan may differ in", name, m[0])
			}
		}
	}
	if len(files) < 50 {
		t.Errorf("only %d files", len(files))
	}
}
