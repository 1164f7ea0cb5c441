package calibration

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
)

// examples are the plans of the repository's examples.
func examples(t *testing.T) map[string]*plan.Plan {
	t.Helper()
	names, err := filepath.Glob("../../examples/*/out/*/*/plan.json")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	plans := map[string]*plan.Plan{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var f file.File
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatal(err)
		}
		plans[name] = f.Decision()
	}
	return plans
}

// TestTermsOf: the terms of every example sum to its step, and communication
// that leaves its nodes is the network's.
func TestTermsOf(t *testing.T) {
	network := 0
	for name, p := range examples(t) {
		terms := TermsOf(p)
		if sum := terms.Sum(); math.Abs(float64(sum/p.Time.StepSeconds)-1) > 1e-6 {
			t.Errorf("%s: terms of %v s, step of %v s", name, sum, p.Time.StepSeconds)
		}
		if terms[uncertainty.Network] > 0 {
			network++
		}
		if p.Input.Nodes == 1 && terms[uncertainty.Network] > 0 {
			t.Errorf("%s: one node, and %v s of network", name, terms[uncertainty.Network])
		}
	}
	if network == 0 {
		t.Error("no example uses the network")
	}
}

// TestEveryLineHasATerm: a line of a breakdown that is not known here would
// count as the host's.
func TestEveryLineHasATerm(t *testing.T) {
	for name, p := range examples(t) {
		for _, line := range p.Time.Breakdown {
			_, term := lineTerms[line.ID]
			_, group := lineGroups[line.ID]
			if !term && !group && line.ID != "recompute" && line.ID != "bubble" {
				t.Errorf("%s: no term for the line %s", name, line.ID)
			}
		}
	}
}

// TestCauses: every term has its words.
func TestCauses(t *testing.T) {
	for k := range uncertainty.Count {
		if c := causes()[k.String()]; c.Name == "" || c.Slower == "" || c.Faster == "" || c.Source == "" {
			t.Errorf("data/causes.json says nothing of %s", k)
		}
	}
}

// TestSuspects: what a step that is off most likely lost, sums to the
// difference but for each layout's own error, the likeliest first.
func TestSuspects(t *testing.T) {
	for name, p := range examples(t) {
		for _, ratio := range []float64{0.8, 1.3, 2} {
			list := suspects(p, "megatron", ratio)
			if len(list) == 0 {
				t.Errorf("%s: nothing is off at %g times the step", name, ratio)
			}
			for i := range list {
				if i > 0 && list[i].Explain > list[i-1].Explain || list[i].Cause == "" {
					t.Errorf("%s: %+v", name, list)
				}
			}
		}
	}
}
