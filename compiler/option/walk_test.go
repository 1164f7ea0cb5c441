package option_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
	"github.com/ndc-dev/ndc/view"
)

// load reads a job with lines in its layout and offload blocks.
func load(t *testing.T, layout, offload string) (*job.Job, diag.List) {
	t.Helper()
	text := fmt.Sprintf(`
job "toy" {
  model   = catalog.model.llama3_8b
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 8
    steps             = 1

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    schedule "constant" {}
    data {
      mock = true
    }
  }
  constraints {
    layout {
      %s
    }
  }
  execution {
    offload {
      %s
    }
  }
  backend %q {
    version = "1"
  }
}
`, layout, offload, schema.BackendKinds()[0])
	w, diags := lang.Load(fstest.MapFS{"job.hcl": {Data: []byte(text)}}, "job.hcl", lang.Options{})
	if diags.HasErrors() {
		return nil, diags
	}
	return &w.Jobs[0], diags
}

// TestToyIsDecoded: the language takes a row that it has never heard of, with
// the limits and the places of its values.
func TestToyIsDecoded(t *testing.T) {
	j, diags := load(t, "toy_parallel = { min = 2, max = 4 }", "toy = true")
	if j == nil {
		t.Fatal(diags)
	}
	if got := j.Constraints.Layout.VirtualPipeline; !got.Ranged || got.Min != 2 || got.Max != 4 {
		t.Errorf("toy_parallel is %+v", got)
	}
	if !j.Execution.OffloadParameters.Or(false) || !j.Sources.IsSet("execution.offload.toy") || !j.Sources.IsSet("constraints.layout.toy_parallel") {
		t.Errorf("offload.toy is %+v", j.Execution.OffloadParameters)
	}
	for layout, want := range map[string]string{"toy_parallel = 65": "at most 64", "toy_paralel = 2": `Did you mean "toy_parallel"?`} {
		if _, diags := load(t, layout, ""); len(diags) != 1 || !strings.Contains(diags[0].Detail, want) {
			t.Errorf("%s: %v, want %q", layout, diags, want)
		}
	}
}

// TestToyIsPinned: the compiler checks what a pinned row cuts.
func TestToyIsPinned(t *testing.T) {
	for degree, want := range map[int]string{3: "", 4: "toy_parallel = 4 cannot cut 6 toys into equal parts. The nearest that divide 6 toys are 3 and 6."} {
		j, diags := load(t, fmt.Sprint("toy_parallel = ", degree), "")
		if j == nil {
			t.Fatal(diags)
		}
		got := ""
		for _, d := range compiler.Check(j, &target.Target{VirtualPipeline: true}) {
			got += d.Detail
		}
		if got != want {
			t.Errorf("toy_parallel = %d: %q, want %q", degree, got, want)
		}
	}
}

// TestToyIsPrinted: summaries tell of it.
func TestToyIsPrinted(t *testing.T) {
	p := plan.Plan{Feasible: true}
	p.Layout.VirtualPipeline, p.Execution.OffloadParameters = 3, true
	text := view.Summary("toy", &p)
	for _, want := range []string{"virtual 3, toy 3, data", "toys offloaded\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

// TestToyIsWritten: a plan's JSON has it, and is read back.
func TestToyIsWritten(t *testing.T) {
	var p plan.Plan
	p.Layout.VirtualPipeline, p.Execution.OffloadParameters = 3, true
	text, err := json.Marshal(file.Of(&p))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"toy_parallel":3`, `"offload_toy":true`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	alone := []byte(`{"layout": {"toy_parallel": 3}, "execution": {"offload_toy": true}}`)
	var read file.Plan
	if err := json.Unmarshal(alone, &read); err != nil || read.Layout.VirtualPipeline != 3 || !read.Execution.OffloadParameters {
		t.Errorf("%s is %+v (%v)", alone, read, err)
	}
}
