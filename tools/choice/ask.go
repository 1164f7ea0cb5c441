package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/integration/artifacts"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/view"
)

// leastShare is what of the pinned layout's rate a free choice has at least, unless
// the pinned layout stands among those that it is tied with.
const leastShare = 0.97

// question is a job whose layout somebody has pinned.
type question struct {
	name      string
	job       *job.Job
	published published
}

// published is what the authors of a launch say that it reached, on each GPU.
type published struct {
	TokensPerSecond float64 `json:"tokens_per_second_per_gpu"`
	TFLOPS          float64 `json:"tflops_per_gpu"`
	StepSeconds     float64 `json:"step_seconds"`
}

// answer is what is predicted of a question, in tokens per second and GPU.
type answer struct {
	Name      string  `json:"name"`
	Published float64 `json:"published,omitempty"` // 0: nothing
	Pinned    float64 `json:"pinned,omitempty"`    // 0: it does not fit
	Layout    float64 `json:"layout,omitempty"`    // the layout is free, options of execution are pinned
	Free      float64 `json:"free,omitempty"`      // nothing is pinned
	Tied      bool    `json:"tied,omitempty"`      // the pinned layout stands among those tied with the free choice of layout
	Takes     string  `json:"takes,omitempty"`     // the layout that is chosen where nothing is pinned
	// Unasked are options of the pinned launch that only a job which names them gets.
	Unasked []string `json:"unasked,omitempty"`
}

// questionsOf lists the launches and the examples, by name.
func questionsOf(root string) ([]question, error) {
	lines, err := os.ReadFile(filepath.Join(root, "testdata/launches/launches.jsonl"))
	if err != nil {
		return nil, err
	}
	figures := map[string]published{}
	for line := range strings.Lines(string(lines)) {
		var l struct {
			Name      string
			Published published
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			return nil, err
		}
		figures[l.Name] = l.Published
	}
	var all []question
	files, err := filepath.Glob(filepath.Join(root, "testdata/launches/*.hcl"))
	if err != nil {
		return nil, err
	}
	examples, err := filepath.Glob(filepath.Join(root, "examples/*/job.hcl"))
	if err != nil {
		return nil, err
	}
	for _, file := range slices.Concat(files, examples) {
		w, diags := lang.Load(os.DirFS(filepath.Dir(file)), filepath.Base(file), lang.Options{})
		if diags.HasErrors() {
			return nil, fmt.Errorf("%s: %v", file, diags)
		}
		for i := range w.Jobs {
			if j := &w.Jobs[i]; isPinned(j) {
				q := question{name: j.Name, job: j, published: figures[j.Name]}
				if _, launch := figures[j.Name]; !launch {
					q.name += " on " + j.Backend.Kind
				}
				all = append(all, q)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b question) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// isPinned reports whether a job says anything of its layout or of how it runs.
func isPinned(j *job.Job) bool {
	c := &j.Constraints
	return slices.ContainsFunc(option.Axes, func(a option.Axis) bool { return !a.IsFree(&c.Layout) }) ||
		slices.ContainsFunc(option.Options, func(o option.Option) bool { return o.IsSet(&j.Execution) || c.Execution[o.Name] != nil })
}

// freed is a job without what it says of its layout and, where execution is true,
// of how it runs.
func freed(j *job.Job, execution bool) *job.Job {
	free := *j
	free.Constraints.Layout = job.LayoutConstraints{}
	prefixes := []string{"constraints.layout"}
	if execution {
		free.Execution, free.Constraints.Execution = job.Execution{}, nil
		prefixes = append(prefixes, "execution")
	}
	free.Sources = maps.Clone(j.Sources)
	maps.DeleteFunc(free.Sources, func(path string, _ job.Source) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return path == p || strings.HasPrefix(path, p+".") })
	})
	return &free
}

// ask plans the job as it is, with its layout free, and with nothing pinned.
func (q *question) ask() (answer, error) {
	a := answer{Name: q.name}
	pinned, err := planned(q.job)
	if err != nil {
		return a, err
	}
	layout, err := planned(freed(q.job, false))
	if err != nil {
		return a, err
	}
	free, err := planned(freed(q.job, true))
	if err != nil {
		return a, err
	}
	a.Pinned, a.Layout, a.Free = rate(pinned), rate(layout), rate(free)
	if free.Feasible {
		a.Takes = strings.Join(strings.Fields(view.Layout(&free.Layout)), " ")
	}
	if pinned.Feasible {
		a.Published = q.published.rate(q.job, pinned)
		a.Tied = among(layout, pinned)
		a.Unasked = unasked(q.job, pinned)
	}
	return a, nil
}

func planned(j *job.Job) (*plan.Plan, error) {
	t, diags := artifacts.Backends[j.Backend.Kind].Target(j)
	if diags.HasErrors() {
		return nil, fmt.Errorf("%s: %v", j.Name, diags)
	}
	p, diags, err := compiler.Compile(context.Background(), j, t)
	if err == nil && diags.HasErrors() {
		err = fmt.Errorf("%s: %v", j.Name, diags)
	}
	return p, err
}

// rate is the throughput of a plan, rounded as it is recorded; 0 where nothing fits.
func rate(p *plan.Plan) float64 {
	if !p.Feasible {
		return 0
	}
	return units.Rounded(p.Throughput.TokensPerSecondPerGPU)
}

// rate is what was published in tokens per second and GPU: as it was said, or by
// the time of a step, or by what the plan counts of FLOPs in a token.
func (f published) rate(j *job.Job, p *plan.Plan) float64 {
	switch {
	case f.TokensPerSecond > 0:
		return f.TokensPerSecond
	case f.StepSeconds > 0:
		return units.Rounded(float64(j.Training.GlobalBatchSize) * float64(j.Model.SequenceLength) / f.StepSeconds / float64(j.Cluster.GPUs()))
	case f.TFLOPS > 0:
		return units.Rounded(f.TFLOPS / p.Throughput.ModelTFLOPSPerGPU * p.Throughput.TokensPerSecondPerGPU)
	}
	return 0
}

// among reports whether a layout is the chosen one or tied with it.
func among(p, with *plan.Plan) bool {
	same := func(l *plan.Layout) bool {
		return !slices.ContainsFunc(option.Axes, func(a option.Axis) bool { return !a.Same(l, &with.Layout) })
	}
	return p.Feasible && (same(&p.Layout) || p.Selection != nil && slices.ContainsFunc(p.Selection.Among, func(c plan.Contender) bool { return same(&c.Layout) }))
}

// unasked lists the options of a plan that a search never chooses by itself.
func unasked(j *job.Job, p *plan.Plan) []string {
	bare := freed(j, true)
	t, diags := artifacts.Backends[j.Backend.Kind].Target(bare)
	if diags.HasErrors() {
		return nil
	}
	x := t.Resolved(bare, &p.Layout)
	var names []string
	for i := range option.Options {
		o := &option.Options[i]
		may := o.Same(&x, &p.Execution)
		for _, offer := range t.Offers {
			may = may || offer.Option == o.Name && offer.Asked == "" && !o.Numerics && slices.Contains(offer.Values, o.Text(&p.Execution))
		}
		if !may {
			names = append(names, o.Name+" = "+o.Spelled(&p.Execution))
		}
	}
	return names
}
