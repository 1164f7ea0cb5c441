package ndc_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang"
)

// smallJob is a job of 16 GPUs, less its execution, backend and version.
const smallJob = `
cluster "c" {
  base  = catalog.cluster.dgx_h100
  nodes = 2
}
job "j" {
  model   = catalog.model.llama3_8b
  cluster = cluster.c
  training {
    global_batch_size = 64
    steps             = 100
    precision         = "bf16"
    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  %s
  backend %q {
    version = %q
  }
}
`

// TestNumericsAreTold: of every option that rounds otherwise, a plan says what it would
// gain wherever the framework has it, because a search never takes it unasked.
func TestNumericsAreTold(t *testing.T) {
	offers := func(execution, backend, version string) ([]target.Offer, bool) {
		text := fmt.Sprintf(smallJob, execution, backend, version)
		w, diags := lang.Load(fstest.MapFS{"job.hcl": {Data: []byte(text)}}, "job.hcl", lang.Options{NDCVersion: "1.0.0"})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		to, diags := emitterOf(&w.Jobs[0]).Target(&w.Jobs[0])
		if diags.HasErrors() {
			return nil, false
		}
		return to.Offers, true
	}
	for _, r := range [][2]string{{"megatron", "core_v0.18.2"}, {"torchtitan", "0.2.2"}, {"torchtitan", "0.3.0"}, {"deepspeed", "0.19.8"}} {
		list, ok := offers("", r[0], r[1])
		if !ok {
			t.Fatal(r)
		}
		for i := range option.Options {
			o := &option.Options[i]
			if !o.Numerics {
				continue
			}
			offered := slices.ContainsFunc(list, func(f target.Offer) bool { return f.Option == o.Name && slices.Contains(f.Values, "bf16") })
			if _, has := offers(fmt.Sprintf("execution {\n    %s = \"bf16\"\n  }", o.Name), r[0], r[1]); has && !offered {
				t.Errorf("%s %s takes %s = \"bf16\", and no plan says what it would gain", r[0], r[1], o.Name)
			}
		}
	}
}

// TestUnaskedGains: a plan tells of nothing that only a job which asks for it gets and that
// gains less than a thousandth of the step.
func TestUnaskedGains(t *testing.T) {
	for _, r := range [][2]string{{"megatron", "core_v0.18.2"}, {"torchtitan", "0.3.0"}, {"deepspeed", "0.19.8"}} {
		p, fits := compiled(t, fmt.Sprintf(smallJob, "", r[0], r[1]))
		if !fits {
			t.Fatal(r)
		}
		for _, c := range p.Selection.Among {
			middle := math.Sqrt((1 + c.StepDifferenceRange[0]) * (1 + c.StepDifferenceRange[1]))
			if strings.Contains(c.WhyNot, "not chosen unasked") && middle > 0.99901 {
				t.Errorf("%s takes %.5f of the step: %s", r[0], middle, c.WhyNot)
			}
		}
	}
}
