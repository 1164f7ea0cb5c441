//go:build conformance

package deepspeed

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/backends/deepspeed"
	"github.com/ndc-dev/ndc/compiler/goodput"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// trial is one small job in one layout.
type trial struct {
	name   string
	ranks  int
	change func(*job.Job)
	layout func(*plan.Layout)
	// same names the trial whose losses and norms this one must repeat, to a
	// tolerance.
	same      string
	tolerance float64
}

// llama is a job that a CPU trains in a second: no dropout, fp32, torch's own
// AdamW (the fused one would be compiled first).
func llama(version string, ranks int) *job.Job {
	return &job.Job{
		Name:    "trial",
		Backend: job.Backend{Kind: "deepspeed", Version: version, ExtraArgs: []string{"optimizer.params.torch_adam=true"}},
		Model: job.Model{
			Name: "trial", Architecture: "llama", Layers: 4, HiddenSize: 64, FFNHiddenSize: 128,
			Attention: job.Attention{Heads: 4, KVHeads: 2, HeadDim: 16}, VocabSize: 512, SequenceLength: 64, MaxPositions: 256,
			Activation: job.Activation{Kind: "swiglu"}, Norm: job.Norm{Kind: "rmsnorm", Epsilon: 1e-5}, InitStd: 0.02,
			PositionEmbedding: job.PositionEmbedding{Kind: "rope", Theta: 10000},
		},
		Cluster: job.Cluster{Name: "box", Nodes: 1, GPUsPerNode: ranks, GPU: job.GPU{Name: "cpu"}},
		Training: job.Training{
			GlobalBatchSize: 8, Steps: 4, Precision: "fp32", Seed: 1234,
			Optimizer:  job.Optimizer{Kind: "adamw", LearningRate: 1e-3, WeightDecay: 0.1, Beta1: 0.9, Beta2: 0.95, Epsilon: 1e-8, GradientClipping: 0.5},
			Schedule:   job.Schedule{Kind: "cosine", WarmupSteps: 1, MinimumLearningRate: 1e-4},
			Data:       job.Data{Mock: true, Format: "megatron", Tokenizer: job.Tokenizer{Kind: "none"}},
			Start:      job.Start{From: "scratch"},
			Checkpoint: job.Checkpoint{SaveOptimizer: true},
			Logging:    job.Logging{Interval: 1},
		},
	}
}

// legal keeps the trials whose options the release has and whose layout it can run.
func legal(t *testing.T, version string, all []trial) []trial {
	t.Helper()
	return slices.DeleteFunc(all, func(c trial) bool {
		j := llama(version, c.ranks)
		if c.change != nil {
			c.change(j)
		}
		if _, diags := (deepspeed.Backend{}).Target(j); diags.HasErrors() {
			t.Logf("%s is refused: %v", c.name, diags)
			return true
		}
		_, rule := resolved(t, j, c.layout)
		if rule != nil {
			t.Logf("%s is illegal: %s", c.name, rule.Reason)
		}
		return rule != nil
	})
}

// write emits a trial's files into root/name.
func write(t *testing.T, root, version string, c trial) {
	t.Helper()
	j := llama(version, c.ranks)
	if c.change != nil {
		c.change(j)
	}
	folder := filepath.Join(root, c.name)
	for _, f := range emitted(t, j, c.layout) {
		save(t, filepath.Join(folder, f.name), f.content)
	}
	about, _ := json.Marshal(map[string]int64{"ranks": int64(c.ranks), "parameters": program.New(&j.Model).ParametersTotal()})
	save(t, filepath.Join(folder, "case.json"), about)
}

type file struct {
	name    string
	content []byte
}

func emitted(t *testing.T, j *job.Job, layout func(*plan.Layout)) []file {
	t.Helper()
	p, rule := resolved(t, j, layout)
	if rule != nil {
		t.Fatalf("%+v breaks %s: %s", p.Layout, rule.ID, rule.Reason)
	}
	artifacts, diags := deepspeed.Backend{}.Emit(j, p)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	files := make([]file, len(artifacts))
	for i, a := range artifacts {
		files[i] = file{a.Path, a.Content}
	}
	return files
}

// resolved is the plan of a layout, and the first rule that it breaks.
func resolved(t *testing.T, j *job.Job, layout func(*plan.Layout)) (*plan.Plan, *target.Rule) {
	t.Helper()
	tg, diags := deepspeed.Backend{}.Target(j)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	l := spread(j, layout)
	x := tg.Resolved(j, &l)
	p := &plan.Plan{Backend: "deepspeed", BackendVersion: j.Backend.Version, Layout: l, Execution: x, Run: plan.Run{Checkpoints: goodput.Checkpoints(j, 4)}}
	facts := &target.Facts{Job: j, Layout: &l, Exec: &x, GPUs: l.GPUs()}
	for i := range tg.Rules {
		if tg.Rules[i].Breaks(facts) {
			return p, &tg.Rules[i]
		}
	}
	return p, nil
}

// spread makes data parallel what the layout leaves over.
func spread(j *job.Job, change func(*plan.Layout)) plan.Layout {
	l := plan.Layout{TensorParallel: 1, ContextParallel: 1, PipelineParallel: 1, VirtualPipeline: 1, StageLayers: []int{j.Model.Layers},
		ExpertParallel: 1, ExpertTensorParallel: 1, DataParallelReplicate: 1, ZeroStage: 1, MicroBatchSize: 2}
	if change != nil {
		change(&l)
	}
	dp := j.Cluster.GPUs() / (l.TensorParallel * l.ContextParallel)
	if l.ZeroStage == 0 {
		l.DataParallelReplicate = dp
	}
	l.DataParallelShard = dp / l.DataParallelReplicate
	l.MicroBatches = j.Training.GlobalBatchSize / (l.MicroBatchSize * dp)
	return l
}

func save(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
