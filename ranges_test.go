package ndc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/plan"
)

// oneNIC is a job on nodes with one slow port, less its constraints.
const oneNIC = `
cluster "c" {
  base  = catalog.cluster.dgx_h100
  nodes = 8
  network {
    nics_per_node = 1
    bandwidth     = "100Gb/s"
  }
}
job "j" {
  model   = catalog.model.llama3_8b
  cluster = cluster.c
  training {
    global_batch_size = 128
    steps             = 10000
    precision         = "bf16"
    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  %s
  backend "megatron" {
    version = "core_v0.18.2"
  }
}
`

// TestWideRangeOfChosen: what the warning of a wide range says is the plan's range, which
// lies around what is expected of a chosen layout.
func TestWideRangeOfChosen(t *testing.T) {
	p, _ := compiled(t, fmt.Sprintf(oneNIC, ""))
	i := slices.IndexFunc(p.Warnings, func(w plan.Warning) bool { return w.ID == string(estimate.IDWideRange) })
	if i < 0 || p.Time.ChosenAmong < 2 {
		t.Fatal(p.Time, p.Warnings)
	}
	low, high := float64(1-p.Time.StepRangeSeconds[0]/p.Time.ExpectedSeconds), float64(p.Time.StepRangeSeconds[1]/p.Time.ExpectedSeconds-1)
	want := fmt.Sprintf("Nine in ten such steps lie between %.0f %% below and %.0f %% above what is expected.", 100*low, 100*high)
	if got := p.Warnings[i].Detail; got[:len(want)] != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestLimitedChoice: a limit that all but the fastest layouts fail makes the fastest no
// less of a choice among them, and its prediction no less one that errs in favour.
func TestLimitedChoice(t *testing.T) {
	free, _ := compiled(t, fmt.Sprintf(oneNIC, ""))
	fastest := free.Time.StepSeconds
	for i := range free.Alternatives {
		fastest = min(fastest, free.Alternatives[i].StepSeconds)
	}
	hours := 1.0001 * float64(fastest) * 10000 * 64 / 3600
	limited, _ := compiled(t, fmt.Sprintf(oneNIC, fmt.Sprintf("constraints {\n    max_gpu_hours = %.3f\n  }", hours)))
	if !limited.Feasible || len(limited.Alternatives) >= len(free.Alternatives) {
		t.Fatal(limited.Feasible, len(limited.Alternatives), len(free.Alternatives))
	}
	if limited.Time.ChosenAmong != free.Time.ChosenAmong {
		t.Errorf("chosen among %d with a limit, %d without", limited.Time.ChosenAmong, free.Time.ChosenAmong)
	}
}

// TestExpectedRun: what a run with its failures is expected to take is made of the step
// that is expected of a chosen layout, as its range is.
func TestExpectedRun(t *testing.T) {
	source := strings.Replace(fmt.Sprintf(oneNIC, ""), "  nodes = 8\n", "  nodes = 8\n  reliability {\n    gpu_hours_between_failures = 1e9\n    restart = \"6m\"\n  }\n", 1)
	source = strings.Replace(source, "    data {", "    checkpoint {\n      path     = \"/c\"\n      interval = 10000\n    }\n    data {", 1)
	p, _ := compiled(t, source)
	if p.Time.ChosenAmong < 2 || p.Run.ExpectedSeconds == 0 {
		t.Fatal(p.Time, p.Run)
	}
	if least := p.Time.ExpectedSeconds * 10000; p.Run.ExpectedSeconds < least || p.Run.ExpectedSeconds > 1.005*least {
		t.Errorf("expected %v, of steps that are expected to take %v", p.Run.ExpectedSeconds, least)
	}
}
