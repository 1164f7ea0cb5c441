package main

import (
	"path"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/caution"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/lock"
	"github.com/ndc-dev/ndc/output"
)

// compiled is one job on one backend, planned and emitted.
type compiled struct {
	asked     *job.Job // as the files have it: its size may be open, and its lists of options
	job       *job.Job
	target    *target.Target
	plan      *plan.Plan
	artifacts []backends.Artifact // plan.json included; nil when infeasible
	warnings  diag.List           // about the job, with their places; the plan has those about the prediction too
	policies  judge               // nil: none
	verdicts  []lang.Verdict      // of the policies; a plan that breaks one whose severity is error is not written
	lock      decision
}

// judge holds a plan and its files against the policies that apply to its job.
type judge func(lang.Outcome) []lang.Verdict

// judges returns the judge of w.Jobs[i].
func judges(w *lang.Workspace, i int) judge {
	return func(o lang.Outcome) []lang.Verdict { return w.Judge(i, o) }
}

// planName is the file that holds the plan and owns the others by their hashes.
const planName = output.Manifest

// folder is the place of the files below the output folder.
func (c *compiled) folder() string { return path.Join(c.job.Folder, c.job.Backend.Kind) }

// request is one job to compile, with what goes with it.
type request struct {
	job    *job.Job
	warned diag.List        // what the language warned of
	files  []plan.InputFile // that say something of the job
	locked *lock.Plan       // what was chosen before; nil: nothing, or not to be kept
	sweep  *sweep           // what the command has planned; nil: nothing

	policies judge // nil: none
}

// compile makes of each size that a job leaves open a job of its own, and takes the
// best, the nearest where none fits, or the one that is locked. What the backend
// refuses is left out as long as anything is left.
func compile(r *request) (*compiled, diag.List) {
	settled := compiler.Settled(r.job)
	if len(settled) == 1 {
		return r.compile(settled[0])
	}
	alone := r.job.Constraints.Objective != "memory" // what is best of a size does not depend on the others
	if alone {
		if c, diags := r.kept(settled); c != nil {
			return c, diags
		}
	}
	jobs, plans, refused := sketches(settled)
	holdToFastest(jobs, plans)
	if !alone {
		if c, diags := r.kept(jobs); c != nil {
			return c, diags
		}
	}
	switch best := compiler.Best(r.job, plans); {
	case jobs == nil && leftOut(r.job, refused):
		return r.compile(settled[0])
	case jobs == nil:
		return nil, refused
	case best < 0:
		return r.compile(jobs[compiler.Nearest(plans)])
	default:
		return r.compile(jobs[best])
	}
}

// kept compiles the job of the size that is locked; there is nothing where none is, or
// where its choice does not hold.
func (r *request) kept(jobs []*job.Job) (*compiled, diag.List) {
	if r.locked == nil {
		return nil, nil
	}
	for _, j := range jobs {
		if r.locked.Choice.Layout.GPUs() != j.Cluster.GPUs() {
			continue
		}
		if c, diags := r.compile(j); c != nil && c.plan.Feasible && c.isKept(r.locked) {
			return c, diags
		}
	}
	return nil, nil
}

// sketches plans what a backend does not refuse of some jobs; when it refuses
// everything, these are the reports with the fewest errors.
func sketches(settled []*job.Job) (jobs []*job.Job, plans []*plan.Plan, refused diag.List) {
	for _, j := range settled {
		j, p, diags := sketch(j)
		if p == nil {
			if refused == nil || len(diags) < len(refused) {
				refused = diags
			}
			continue
		}
		jobs, plans = append(jobs, j), append(plans, p)
	}
	return jobs, plans, refused
}

// sketch plans a job of one size; there is no plan where the backend refuses the job.
func sketch(j *job.Job) (*job.Job, *plan.Plan, diag.List) {
	j, t, diags := targetOf(j)
	if diags.HasErrors() {
		return j, nil, diags
	}
	p, err := compiler.Sketch(signals.context(), j, t)
	if err != nil {
		signals.wait()
	}
	return j, p, nil
}

// holdToFastest plans those sizes of a job anew whose plans are much slower than the fastest of
// all sizes and need not be.
func holdToFastest(jobs []*job.Job, plans []*plan.Plan) {
	for i, j := range compiler.Held(jobs, plans) {
		if j != jobs[i] {
			jobs[i], plans[i], _ = sketch(j)
		}
	}
}

// targetOf is what the backend of a job can do for it, and the job without the values
// in its lists that the backend refuses.
func targetOf(j *job.Job) (*job.Job, *target.Target, diag.List) {
	backend := find(j)
	if len(j.Constraints.Execution) > 0 {
		if t, diags := backend.Target(j); !diags.HasErrors() {
			j = compiler.Joined(j, t.Variants)
		}
	}
	able, diags := compiler.Able(j, func(j *job.Job) diag.List {
		_, diags := backend.Target(j)
		return diags
	})
	if diags.HasErrors() {
		return j, nil, diags
	}
	t, diags := backend.Target(able)
	return able, t, diags
}

// compile takes a job, the requested one or that with its size settled, through
// the stages that this program is made of: the backend's target, the plan, the
// files, the policies. What the language already warned of joins the plan's
// warnings. A choice that is locked decides the plan as long as it holds.
func (r *request) compile(j *job.Job) (*compiled, diag.List) {
	warned := r.warned
	j, t, diags := targetOf(j)
	if leftOut(j, diags) {
		return &compiled{job: j, plan: compiler.Unplanned(j, diags), warnings: warned}, nil
	}
	if diags.HasErrors() {
		return nil, diags
	}
	p, more, err := r.sweep.plan(j, t)
	if err != nil {
		signals.wait()
	}
	j = compiler.Alone(j)
	if leftOut(j, more) {
		p, more = compiler.Unplanned(j, more), nil
	}
	if p == nil {
		return nil, slices.Concat(diags, caution.Job(j), more)
	}
	c := &compiled{job: j, target: t, plan: p}
	c.keep(r.locked)
	p = c.plan
	if p.Feasible && len(j.Constraints.Execution) > 0 {
		j = compiler.Chosen(j, p)
		c.job = j
		_, diags = find(j).Target(j) // warns of what was chosen
	}
	diags.Append(caution.Job(j))
	diags.Append(more)
	p.Input.Files, p.Input.SHA256 = r.files, compiler.Digest(r.job)
	c.warnings = slices.Concat(warned, diags)
	if !p.Feasible {
		return c, slices.Concat(diags, c.lock.misfit)
	}
	diags.Append(caution.Plan(j, p))
	artifacts, more := find(j).Emit(j, p)
	diags.Append(more)
	if diags.HasErrors() {
		return nil, diags
	}
	c.warnings = slices.Concat(warned, diags)
	c.record(artifacts)
	diags.Append(c.hold(r.policies))
	c.seal()
	return c, slices.Concat(diags, c.lock.misfit)
}

// leftOut reports whether errors say no more than what a backend lacks that its
// job can do without.
func leftOut(j *job.Job, diags diag.List) bool {
	return !j.Backend.Required && diags.HasErrors() &&
		!slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.Severity == diag.Error && !d.ID.Unsupported() })
}

// find returns the backend of a job; package lang knows the same kinds.
func find(j *job.Job) backends.Backend {
	for _, b := range emitters() {
		if b.Kind() == j.Backend.Kind {
			return b
		}
	}
	panic("ndc: no emitter for the backend " + j.Backend.Kind)
}

// record puts warnings, the hashes of the files and what a site's templates say in
// them into the plan.
func (c *compiled) record(artifacts []backends.Artifact) {
	c.plan.Warnings = append(c.plan.Warnings, planWarnings(c.warnings)...)
	slices.SortFunc(artifacts, func(a, b backends.Artifact) int { return strings.Compare(a.Path, b.Path) })
	for _, a := range artifacts {
		c.plan.Artifacts = append(c.plan.Artifacts, plan.Artifact{Path: a.Path, SHA256: output.Hash(a.Content)})
	}
	c.artifacts = artifacts
	if c.job.Templates != nil {
		for _, t := range c.job.Templates.Parts {
			c.plan.Overridden = append(c.plan.Overridden, plan.Override{Part: t.Part, Template: t.Name, SHA256: output.Hash([]byte(t.Text))})
		}
	}
}

func planWarnings(list diag.List) []plan.Warning {
	warnings := make([]plan.Warning, len(list))
	for i, d := range list {
		warnings[i] = plan.Warning{ID: string(d.ID), Summary: d.Summary, Detail: d.Detail}
	}
	return warnings
}

// hold asks the policies and returns their warnings, which join the plan's.
func (c *compiled) hold(policies judge) diag.List {
	c.policies = policies
	if policies == nil {
		return nil
	}
	c.verdicts = policies(c.outcome())
	var warnings diag.List
	for _, v := range c.verdicts {
		c.plan.Policies = append(c.plan.Policies, v.Policy)
		if !v.Reports.HasErrors() {
			warnings.Append(v.Reports)
		}
	}
	c.warnings = append(c.warnings, warnings...)
	c.plan.Warnings = append(c.plan.Warnings, planWarnings(warnings)...)
	return warnings
}

// forbidden reports whether the plan breaks a policy whose severity is error.
func (c *compiled) forbidden() bool {
	return slices.ContainsFunc(c.verdicts, func(v lang.Verdict) bool { return v.Reports.HasErrors() })
}

// outcome is the plan with its files as policies and tests see them.
func (c *compiled) outcome() lang.Outcome {
	p := file.Of(c.plan)
	o := lang.Outcome{Plan: &p, Artifacts: map[string]string{}}
	for _, a := range c.artifacts {
		o.Artifacts[a.Path] = string(a.Content)
	}
	return o
}

// seal adds plan.json.
func (c *compiled) seal() {
	content, _ := c.planFile()
	c.artifacts = append(c.artifacts, backends.Artifact{Path: planName, Content: content})
}

// planFile is plan.json: the plan with the versions of format and program. Its
// own hash stands among the artifacts, taken with that entry empty.
func (c *compiled) planFile() (content []byte, own string) {
	f := file.File{FormatVersion: file.FormatVersion, NDCVersion: version, Job: c.job.Name, Site: c.job.Site, Plan: file.Of(c.plan)}
	f.Artifacts = append(f.Artifacts, file.Artifact{Path: planName})
	own = output.Hash(mustJSON(f))
	f.Artifacts[len(f.Artifacts)-1].SHA256 = own
	return mustJSON(f), own
}

func mustJSON(v any) []byte {
	b, err := render.LineJSON(v)
	if err != nil {
		panic("ndc: a plan that JSON cannot hold: " + err.Error())
	}
	return b
}
