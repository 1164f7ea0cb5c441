// Package refusals looks the other way than its siblings: for every rule by
// which ndc calls a layout illegal on a framework, a small job breaks that rule
// and no other, is emitted all the same, and handed to the framework. Either the
// framework refuses it too, or a sentence says why ndc is stricter. The table
// in docs/conformance.md is made from the cases.
package refusals

import (
	"fmt"
	"strings"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/integration/artifacts"
	"github.com/ndc-dev/ndc/integration/drafts"
)

// Case breaks one rule.
type Case struct {
	Rule    diag.ID
	Version string // "": the newest that is asked
	Model   string // dense or experts
	What    string // what is asked for, as the table shows it
	Edit    func(d *Draft)
	// Says is a part of the framework's refusal. Where it is empty the
	// framework takes the job, and Why says why ndc does not. Where both are, the
	// answer is not recorded yet, and only printed.
	Says, Why string
	// Unasked says that what breaks the rule cannot be written for the
	// framework at all.
	Unasked bool
}

// Draft is the job that a case changes.
type Draft = drafts.Draft

// Cases are the cases of each framework, the newest release that is asked, and
// the jobs that they start from.
var Cases = map[string]struct {
	Newest string
	Cases  []Case
	Source string
}{
	"megatron":   {"core_v0.19.2", megatronCases, large("megatron", 16, "bf16")},
	"torchtitan": {"0.3.0", torchTitanCases, large("torchtitan", 8, "bf16")},
	"deepspeed":  {"0.19.8", deepSpeedCases, small},
}

// models are two architectures with holes for layers, width, heads and
// length.
const models = `
model "dense" {
  architecture = "llama"
  layers = 8
  hidden_size = %[1]d
  ffn_hidden_size = %[2]d
  attention_heads = 16
  kv_heads = 8
  head_dim = %[3]d
  vocab_size = %[4]d
  sequence_length = %[5]d
  norm_epsilon = 1e-5
  init_std = 0.02
  position_embedding "rope" {
    theta = 10000
  }
}
model "experts" {
  base = model.dense
  architecture = "mixtral"
  moe {
    experts = 8
    top_k = 2
    expert_ffn_hidden_size = %[2]d
    router {
      balance = "none"
      normalize = true
    }
  }
}
`

const jobs = `
cluster "c" {
  base = catalog.cluster.dgx_h100
  nodes = %[1]d
  gpus_per_node = %[2]d
}
job "dense" {
  model = model.dense
%[3]s}
job "experts" {
  model = model.experts
%[3]s}
`

const body = `  cluster = cluster.c
  training {
    global_batch_size = %[1]d
    steps = 2
    precision = %[2]q
    optimizer "adamw" {
      learning_rate = 1e-3
    }
    schedule "cosine" {
      warmup_steps = 1
    }
    data {
      mock = true
      tokenizer "none" {}
    }
  }
  backend %[3]q {
    version = "VERSION"
%[4]s  }
  slurm {
    time = "01:00:00"
  }
`

// large are jobs for a framework whose ranks are built, never computed.
func large(framework string, gpus int, precision string) string {
	more := ""
	if framework == "megatron" {
		more = "    path = \"/opt/megatron-lm\"\n"
	}
	return fmt.Sprintf(models, 1024, 4096, 64, 32000, 4096) +
		fmt.Sprintf(jobs, gpus/8, 8, fmt.Sprintf(body, 64, precision, framework, more))
}

// small are jobs that a CPU trains.
var small = fmt.Sprintf(models, 64, 128, 4, 512, 64) +
	fmt.Sprintf(jobs, 1, 2, fmt.Sprintf(body, 4, "fp32", "deepspeed", "    extra_args = [\"optimizer.params.torch_adam=true\"]\n"))

// Launch emits a case, if that is possible, and names the rules that it breaks.
func Launch(framework string, c Case) (*artifacts.Launch, []diag.ID, error) {
	j, err := drafts.Load(strings.ReplaceAll(Cases[framework].Source, "VERSION", c.version(framework)), c.Model)
	if err != nil {
		return nil, nil, err
	}
	d := drafts.New(j)
	c.Edit(d)
	t, diags := artifacts.Backends[framework].Target(j)
	if diags.HasErrors() {
		return nil, nil, fmt.Errorf("%s: %v", c.Rule, diags)
	}
	p := d.Plan(t)
	broken := drafts.Broken(t, j, p)
	if c.Unasked {
		return nil, broken, nil
	}
	l, err := drafts.Emit(string(c.Rule), j, p)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.Rule, err)
	}
	return l, broken, nil
}
