package gpu

import (
	"cmp"
	"fmt"
	"strings"
	"testing/fstest"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/integration/artifacts"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
)

// Case is one job to measure.
type Case struct {
	Name      string // of the model in the job: tiny, small
	Base      string // its catalogue entry
	Layers    int
	Sequence  int
	Framework string // the backend's kind
	Version   string
	Only      bool // that version and no other
	GPUs      int  // of the planned layout; more than one: only ranks are run
	Batch     int  // sequences of a step
	Layout    string
	Options   string // further lines of the backend block
	Precision string // and its recipe, such as fp8 rowwise; "": bf16
	Steps     int
}

// Layouts and execution options are HCL lines; this is the shortest layout.
const wholeMicroBatch = "micro_batch_size = 1\n      recompute = \"none\""

// Title names a case among others of a suite.
func (c *Case) Title() string {
	return fmt.Sprintf("%s/%s%d-%s", c.Framework, c.Name, c.Layers, c.precision())
}

func (c *Case) precision() string { return cmp.Or(c.Precision, "bf16") }

// HCL is the job for a machine. room multiplies the GPU's memory, so that files
// can be had of what is predicted not to fit.
func (c *Case) HCL(m *Machine, room int) string {
	precision, recipe, ok := strings.Cut(c.precision(), " ")
	if ok {
		recipe = fmt.Sprintf("fp8 {\n      recipe = %q\n    }", recipe)
	}
	return strings.NewReplacer(
		"@gpu", m.Catalog, "@memory", fmt.Sprintf("%dMiB", m.MemoryMiB*room), "@torch", fmt.Sprintf("%dB", m.TorchMemory*int64(room)),
		"@nodes", fmt.Sprint(max(1, c.GPUs/8)), "@ranks", fmt.Sprint(min(8, c.GPUs)), "@base", c.Base, "@layers", fmt.Sprint(c.Layers),
		"@sequence", fmt.Sprint(c.Sequence), "@batch", fmt.Sprint(c.Batch), "@steps", fmt.Sprint(c.Steps), "@name", c.Name,
		"@layout", c.Layout, "@precision", precision, "@recipe", recipe, "@kind", c.Framework, "@version", c.Version, "@options", c.Options,
	).Replace(jobTemplate)
}

const jobTemplate = `gpu "here" {
  base         = catalog.gpu.@gpu
  memory       = "@memory"
  torch_memory = "@torch"
}

cluster "machine" {
  base          = catalog.cluster.dgx_h100
  gpu           = gpu.here
  nodes         = @nodes
  gpus_per_node = @ranks
}

model "@name" {
  base            = catalog.model.@base
  layers          = @layers
  sequence_length = @sequence
}

job "@name" {
  model   = model.@name
  cluster = cluster.machine

  training {
    global_batch_size = @batch
    steps             = @steps
    precision         = "@precision"
    seed              = 1234
    @recipe

    optimizer "adamw" {
      learning_rate     = 1e-4
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      epsilon           = 1e-8
      gradient_clipping = 1.0
    }
    schedule "constant" {}
    data {
      mock = true
    }
    logging {
      interval = 1
    }
  }
  constraints {
    layout {
      @layout
    }
  }
  backend "@kind" {
    version = "@version"
    @options
  }
  slurm {}
}
`

// Prediction is what ndc says about a case on a machine, through the same path
// as ndc plan.
type Prediction struct {
	Job      *job.Job
	Plan     *plan.Plan
	Launch   *artifacts.Launch
	Feasible bool // on the machine as it is
}

// Predict plans a case for the machine. What does not fit is planned, and
// emitted, for a GPU with eight times the memory.
func Predict(c *Case, m *Machine) (*Prediction, error) {
	for _, room := range []int{1, 8} {
		text := c.HCL(m, room)
		built, diags := artifacts.Build([]byte(text))
		if diags.HasErrors() {
			return nil, fmt.Errorf("%s: %v", c.Name, diags)
		}
		b := built[0]
		if b.Launch == nil {
			if len(b.Refused) == 1 && b.Refused[0].ID == artifacts.Infeasible && room == 1 {
				continue
			}
			return nil, fmt.Errorf("%s on %s: %v", c.Name, c.Framework, b.Refused)
		}
		w, diags := lang.Load(fstest.MapFS{"job.hcl": {Data: []byte(text)}}, "job.hcl", lang.Options{})
		if diags.HasErrors() {
			return nil, fmt.Errorf("%s: %v", c.Name, diags)
		}
		return &Prediction{Job: &w.Jobs[0], Plan: b.Launch.Plan, Launch: b.Launch, Feasible: room == 1}, nil
	}
	return nil, fmt.Errorf("%s on %s does not fit eight times the memory", c.Name, c.Framework)
}
