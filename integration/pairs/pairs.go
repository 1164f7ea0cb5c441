// Package pairs asks the frameworks' own configuration classes about every pair
// of choices: execution options, recompute modules, schedules, dispatchers,
// precisions and the axes that they go with, on a few kinds of models. What
// a target calls legal must be accepted. What it calls illegal is emitted all
// the same: the framework refuses it, too, or stricter.jsonl says why ndc is
// stricter. Sibling refusals breaks every rule once and looks deeper; sibling
// random combines more than two choices.
package pairs

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/compiler/layout"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/integration/artifacts"
	"github.com/ndc-dev/ndc/integration/drafts"
	"github.com/ndc-dev/ndc/lang/job"
)

// Case is one pair in one kind of model.
type Case struct {
	Kind string
	A, B *Value
}

// String names a case.
func (c Case) String() string { return c.Kind + ": " + c.A.Name() + " × " + c.B.Name() }

// Cases lists the pairs of a framework: two options, one choice of each.
func Cases(framework string) []Case {
	var list []Case
	for _, kind := range kinds[framework] {
		for i := range values {
			for k := range values[:i] {
				if a, b := &values[k], &values[i]; a.Option != b.Option {
					list = append(list, Case{kind, a, b})
				}
			}
		}
	}
	return list
}

// Answer is what ndc says of a case.
type Answer struct {
	Case
	Legal  bool
	Broken []diag.ID         // of an illegal layout
	Launch *artifacts.Launch // nil: nothing can be written for it
}

// Base holds the jobs of one version, by the kind of their model.
type Base map[string]*job.Job

// Load reads the jobs that the cases of a version change.
func Load(framework, version string) (Base, error) {
	b := Base{}
	for _, kind := range kinds[framework] {
		j, err := drafts.Load(source(framework, version, kind), "pair")
		if err != nil {
			return nil, err
		}
		b[kind] = j
	}
	return b, nil
}

// stages are those of ZeRO that a framework's cases are asked with where they do not
// choose one: releases of DeepSpeed lack each of them for some combinations.
var stages = map[string][]int{"deepspeed": {1, 3, 2}}

// Ask makes a case's layout, and says whether the target offers it and which rules
// it breaks: in the first stage of ZeRO that breaks none, or in the first. What the
// target has no words for is neither legal nor written.
func (b Base) Ask(c Case) Answer {
	d := drafts.New(clone(b[c.Kind]))
	others := stages[d.Job.Backend.Kind]
	first := b.ask(c, d.Layout.ZeroStage)
	for i := 1; i < len(others) && !first.Legal; i++ {
		if a := b.ask(c, others[i]); a.Legal {
			return a
		}
	}
	return first
}

// ask asks in one stage, unless the case has another.
func (b Base) ask(c Case, stage int) Answer {
	d := drafts.New(clone(b[c.Kind]))
	d.Layout.ZeroStage = stage
	apply(d, c)
	answer := Answer{Case: c}
	t, diags := artifacts.Backends[d.Job.Backend.Kind].Target(d.Job)
	if diags.HasErrors() {
		return answer
	}
	p := d.Plan(t)
	if p.Layout.GPUs() != d.Job.Cluster.GPUs() {
		return answer
	}
	pin(&d.Job.Constraints.Layout, &p.Layout)
	if t, diags = artifacts.Backends[d.Job.Backend.Kind].Target(d.Job); diags.HasErrors() || !offered(d.Job, t) {
		return answer
	}
	answer.Broken = drafts.Broken(t, d.Job, p)
	answer.emit(d.Job, p)
	return answer
}

// emit writes a launch. Some illegal layouts cannot be written: emitters may
// panic about what they were promised not to get.
func (a *Answer) emit(j *job.Job, p *plan.Plan) {
	if len(a.Broken) > 0 {
		defer func() { _ = recover() }()
	}
	if l, err := drafts.Emit(a.String(), j, p); err == nil {
		a.Launch, a.Legal = l, len(a.Broken) == 0
	}
}

// clone copies what cases change.
func clone(j *job.Job) *job.Job {
	c := *j
	return &c
}

// apply sets both values and what they need.
func apply(d *drafts.Draft, c Case) {
	chosen := map[string]bool{c.A.Option: true, c.B.Option: true}
	for queue := []*Value{c.A, c.B}; len(queue) > 0; queue = queue[1:] {
		v := queue[0]
		v.set(d)
		for _, name := range v.needs {
			if n := named(name); !chosen[n.Option] {
				chosen[n.Option] = true
				queue = append(queue, n)
			}
		}
	}
	if !chosen["sequence_parallel"] {
		d.Layout.SequenceParallel = d.Layout.TensorParallel > 1 && d.Job.Backend.Kind != "deepspeed"
	}
}

func named(name string) *Value {
	i := slices.IndexFunc(values, func(v Value) bool { return v.Name() == name })
	if i < 0 {
		panic("pairs: no value " + name)
	}
	return &values[i]
}

// pin writes a layout as constraints, as a job that asks for it would.
func pin(c *job.LayoutConstraints, l *plan.Layout) {
	one := func(n int) job.IntChoice { return job.IntChoice{Values: []int{n}} }
	c.TensorParallel, c.ContextParallel, c.PipelineParallel = one(l.TensorParallel), one(l.ContextParallel), one(l.PipelineParallel)
	c.VirtualPipeline, c.ExpertParallel, c.ExpertTensorParallel = one(l.VirtualPipeline), one(l.ExpertParallel), one(l.ExpertTensorParallel)
	c.DataParallelReplicate, c.DataParallelShard, c.ZeroStage = one(l.DataParallelReplicate), one(l.DataParallelShard), one(l.ZeroStage)
	c.MicroBatchSize, c.SequenceParallel = one(l.MicroBatchSize), job.BoolChoice{Set: true, Value: l.SequenceParallel}
	if l.PipelineParallel > 1 {
		c.PipelineSchedule, c.StageLayers = job.StringChoice{l.PipelineSchedule.String()}, l.StageLayers
	}
	c.Recompute, c.RecomputeModules = job.StringChoice{l.Recompute.String()}, nil
	if l.RecomputeModules != 0 {
		c.RecomputeModules = l.RecomputeModules.Names()
	}
	if l.Recompute == plan.RecomputeFull {
		c.RecomputeMethod, c.RecomputeLayers = job.StringChoice{l.RecomputeMethod}, one(l.RecomputeLayers)
	}
}

// offered reports whether the pinned layout is in the space that a search would
// walk.
func offered(j *job.Job, t *target.Target) bool {
	s := layout.NewSpace(j, t)
	return slices.ContainsFunc(s.Meshes, func(m layout.Mesh) bool { return s.Leaves(&m) > 0 })
}

// key is the same for launches that ask a framework the same.
func key(l *artifacts.Launch) string {
	h := sha256.New()
	fmt.Fprintln(h, l.Capability)
	for _, name := range slices.Sorted(maps.Keys(l.Files)) {
		if !strings.HasSuffix(name, ".sbatch") && !strings.HasSuffix(name, ".md") {
			fmt.Fprintf(h, "%s\n%s\n", name, l.Files[name])
		}
	}
	return string(h.Sum(nil))
}

func itoa(n int) string { return strconv.Itoa(n) }
