// Package drafts emits jobs whose layout a test pins, legal or not: it derives
// what the search would derive, and says which rules are broken. It judges
// nothing; packages refusals and pairs bring the cases.
package drafts

import (
	"fmt"
	"testing/fstest"

	"github.com/ndc-dev/ndc/compiler/goodput"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/integration/artifacts"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
)

// Draft is a job with its layout before what follows from both is filled in.
type Draft struct {
	Job    *job.Job
	Layout plan.Layout
	// Execution changes options after they were resolved; may be nil.
	Execution func(x *plan.Execution)
}

// New is a job on one rank of every axis, with the least sharding that its
// framework has by default.
func New(j *job.Job) *Draft {
	d := &Draft{Job: j, Layout: plan.Layout{TensorParallel: 1, ContextParallel: 1, PipelineParallel: 1, VirtualPipeline: 1,
		ExpertParallel: 1, ExpertTensorParallel: 1, DataParallelReplicate: 1, ZeroStage: 1, MicroBatchSize: 1}}
	if j.Backend.Kind == "torchtitan" {
		d.Layout.ZeroStage = 2
	}
	return d
}

// Load reads one job of a source.
func Load(src, name string) (*job.Job, error) {
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

// Plan derives what the search derives, as far as the draft leaves it open.
func (d *Draft) Plan(t *target.Target) *plan.Plan {
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
	for range l.Chunks() - len(l.StageLayers) {
		l.StageLayers = append(l.StageLayers, j.Model.Layers/l.Chunks())
	}
	if l.PipelineSchedule == plan.ScheduleNone && l.PipelineParallel > 1 {
		l.PipelineSchedule = plan.Schedule1F1B
		if l.VirtualPipeline > 1 {
			l.PipelineSchedule = plan.ScheduleInterleaved1F1B
		}
	}
	x := t.Resolved(j, l)
	if d.Execution != nil {
		d.Execution(&x)
	}
	return &plan.Plan{Backend: j.Backend.Kind, BackendVersion: j.Backend.Version, Feasible: true, Layout: *l, Execution: x, Time: plan.Time{StepSeconds: 4},
		Run: plan.Run{Checkpoints: goodput.Checkpoints(d.Job, 4)}}
}

// Broken names the rules of a target that a plan breaks.
func Broken(t *target.Target, j *job.Job, p *plan.Plan) []diag.ID {
	f := &target.Facts{Job: j, Layout: &p.Layout, Exec: &p.Execution, GPUs: j.Cluster.GPUs(),
		Parameters: program.New(&j.Model).ParametersTotal()}
	var list []diag.ID
	for _, r := range t.Rules {
		if r.Breaks(f) {
			list = append(list, r.ID)
		}
	}
	return list
}

// Emit writes the files of a plan, whatever rules it breaks.
func Emit(name string, j *job.Job, p *plan.Plan) (*artifacts.Launch, error) {
	files, diags := artifacts.Backends[j.Backend.Kind].Emit(j, p)
	if diags.HasErrors() {
		return nil, fmt.Errorf("%v", diags)
	}
	l := &artifacts.Launch{Name: name, Framework: j.Backend.Kind, Version: j.Backend.Version, Capability: j.Cluster.GPU.ComputeCapability,
		Nodes: j.Cluster.Nodes, PerNode: j.Cluster.GPUsPerNode, Layout: &p.Layout, Execution: p.Execution, Files: map[string][]byte{}}
	for _, f := range files {
		l.Files[f.Path] = f.Content
	}
	return l, nil
}
