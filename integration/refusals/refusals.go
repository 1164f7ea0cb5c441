// Package refusals looks the other way than its siblings: for every rule by
// which ndc calls a layout illegal on a framework, a small job breaks that rule
// and no other, is emitted all the same, and handed to the framework. Either the
// framework refuses it too, or a sentence says why ndc is stricter. The table
// in docs/conformance.md is made from the cases.
package refusals

import (
	"fmt"
	"strings"
	"testing/fstest"

	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/compiler/transformer"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/integration/artifacts"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
)

// Case breaks one rule.
type Case struct {
	Rule    diag.ID
	Version string // "": the newest that is asked
	Model   string // dense, experts or latent
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

// Draft is a job with its layout before what follows from both is filled in.
type Draft struct {
	Job    *job.Job
	Layout plan.Layout
	// Execution changes options after they were resolved; may be nil.
	Execution func(x *plan.Execution)
}

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

// models are three architectures with holes for layers, width, heads and
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
	set := Cases[framework]
	version := c.version(framework)
	j, err := load(strings.Replace(set.Source, "VERSION", version, -1), c.Model)
	if err != nil {
		return nil, nil, err
	}
	d := &Draft{Job: j, Layout: plan.Layout{TensorParallel: 1, ContextParallel: 1, PipelineParallel: 1, VirtualPipeline: 1,
		ExpertParallel: 1, ExpertTensorParallel: 1, DataParallelReplicate: 1, ZeroStage: 1, MicroBatchSize: 1}}
	if framework == "torchtitan" {
		d.Layout.ZeroStage = 2
	}
	c.Edit(d)
	b := artifacts.Backends[framework]
	t, diags := b.Target(j)
	if diags.HasErrors() {
		return nil, nil, fmt.Errorf("%s: %v", c.Rule, diags)
	}
	p := d.plan(framework, version, t)
	if c.Unasked {
		return nil, broken(t, j, p), nil
	}
	files, diags := b.Emit(j, p)
	if diags.HasErrors() {
		return nil, nil, fmt.Errorf("%s: %v", c.Rule, diags)
	}
	l := &artifacts.Launch{Name: string(c.Rule), Framework: framework, Version: version, Capability: j.Cluster.GPU.ComputeCapability,
		Nodes: j.Cluster.Nodes, PerNode: j.Cluster.GPUsPerNode, Layout: &p.Layout, Execution: p.Execution, Files: map[string][]byte{}}
	for _, f := range files {
		l.Files[f.Path] = f.Content
	}
	return l, broken(t, j, p), nil
}

func load(src, name string) (*job.Job, error) {
	w, diags := lang.Load(fstest.MapFS{"job.hcl": {Data: []byte(src)}}, "job.hcl", lang.Options{})
	if diags.HasErrors() {
		return nil, fmt.Errorf("%v", diags)
	}
	for i := range w.Jobs {
		if w.Jobs[i].Name == name {
			return &w.Jobs[i], nil
		}
	}
	return nil, fmt.Errorf("no job %q", name)
}

// plan derives what the search derives, as far as the case leaves it open.
func (d *Draft) plan(framework, version string, t *target.Target) *plan.Plan {
	j, l := d.Job, &d.Layout
	data := j.Cluster.GPUs() / (l.TensorParallel * l.ContextParallel * l.PipelineParallel)
	if l.ZeroStage == 0 && l.DataParallelShard == 0 {
		l.DataParallelReplicate, l.DataParallelShard = data, 1
	}
	if l.DataParallelShard == 0 {
		l.DataParallelShard = max(1, data/l.DataParallelReplicate)
	}
	if l.MicroBatches == 0 {
		l.MicroBatches = max(1, j.Training.GlobalBatchSize/(l.MicroBatchSize*l.DataParallel()))
	}
	for range l.Chunks() {
		l.StageLayers = append(l.StageLayers, j.Model.Layers/l.Chunks())
	}
	if l.PipelineSchedule == plan.ScheduleNone && l.PipelineParallel > 1 {
		l.PipelineSchedule = plan.Schedule1F1B
		if l.VirtualPipeline > 1 {
			l.PipelineSchedule = plan.ScheduleInterleaved1F1B
		}
	}
	x := t.Resolve(j, l)
	if d.Execution != nil {
		d.Execution(&x)
	}
	return &plan.Plan{Backend: framework, BackendVersion: version, Feasible: true, Layout: *l, Execution: x, Time: plan.Time{StepSeconds: 4},
		Run: plan.Run{Checkpoints: compiler.Checkpoints(d.Job, 4)}}
}

func broken(t *target.Target, j *job.Job, p *plan.Plan) []diag.ID {
	f := &target.Facts{Job: j, Layout: &p.Layout, Exec: &p.Execution, GPUs: j.Cluster.GPUs(),
		Parameters: transformer.New(&j.Model).ParametersTotal()}
	var list []diag.ID
	for _, r := range t.Rules {
		if r.Breaks(f) {
			list = append(list, r.ID)
		}
	}
	return list
}
