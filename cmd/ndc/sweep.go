package main

import (
	"reflect"
	"slices"

	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// sweep remembers what a command has planned: jobs that differ in nothing that a plan
// depends on, as those that try seeds or learning rates, are searched once.
type sweep []searched

type searched struct {
	job  essence
	plan plan.Plan
}

// plan is compiler.Compile of a job.
func (s *sweep) plan(j *job.Job, t *target.Target) (*plan.Plan, diag.List, error) {
	if s == nil {
		return compiler.Compile(signals.context(), j, t)
	}
	e := essenceOf(j)
	for i := range *s {
		if m := &(*s)[i]; reflect.DeepEqual(m.job, e) {
			p := m.plan
			p.Input.SHA256 = compiler.Digest(j)
			return &p, nil, nil
		}
	}
	p, diags, err := compiler.Compile(signals.context(), j, t)
	if p != nil && len(diags) == 0 && err == nil {
		kept := *p // whose lists are appended to later, by each job its own
		kept.Warnings, kept.Artifacts = slices.Clip(kept.Warnings), slices.Clip(kept.Artifacts)
		kept.Policies, kept.Overridden = slices.Clip(kept.Policies), slices.Clip(kept.Overridden)
		*s = append(*s, searched{e, kept})
	}
	return p, diags, err
}

// essence is what a plan depends on of a job.
type essence struct {
	job job.Job
	set map[string]bool // the arguments that were written, wherever
}

func essenceOf(j *job.Job) essence {
	e := essence{job: *j, set: map[string]bool{}}
	for path := range j.Sources {
		if j.Sources.IsSet(path) {
			e.set[path] = true
		}
	}
	e.job.Name, e.job.Site, e.job.Block, e.job.At, e.job.Folder, e.job.Sources = "", "", "", diag.Range{}, "", nil
	t := &e.job.Training
	t.Seed, t.Optimizer.LearningRate = 0, 0
	if t.Checkpoint.Path != "" {
		t.Checkpoint.Path = "somewhere"
	}
	return e
}
