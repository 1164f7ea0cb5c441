package lang

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
)

// buildJobs evaluates the job blocks that were asked for.
func (l *loader) buildJobs() []job.Job {
	names := l.jobNames()
	switch {
	case len(names) == 0:
		if !l.diags.HasErrors() {
			l.fail(NoJob, diag.Range{}, "No file has a job block, so there is nothing to build. A job names a model, a cluster, the training and its backends.")
		}
		return nil
	case l.options.Job != "" && !slices.Contains(names, l.options.Job):
		hint := diag.DidYouMean(l.options.Job, names)
		if hint == "" {
			hint = " The jobs are " + listed(names) + "."
		}
		l.fail(UnknownJob, diag.Range{}, "There is no job %q.%s", l.options.Job, hint)
		return nil
	}
	var jobs []job.Job
	for _, b := range l.jobs {
		if l.options.Job == "" || l.options.Job == b.Labels[0] {
			jobs = append(jobs, l.buildJob(b)...)
		}
	}
	if l.options.Backend != "" && len(jobs) == 0 && !l.diags.HasErrors() {
		l.noBackend()
	}
	return jobs
}

func (l *loader) jobNames() []string {
	names := make([]string, len(l.jobs))
	for i, b := range l.jobs {
		names[i] = b.Labels[0]
	}
	return names
}

// noBackend reports a --backend that no selected job has.
func (l *loader) noBackend() {
	known := schema.BackendKinds()
	if !slices.Contains(known, l.options.Backend) {
		l.fail(UnknownBackend, diag.Range{}, "There is no backend %q. The backends are %s.%s",
			l.options.Backend, diag.OneOf(known), diag.DidYouMean(l.options.Backend, known))
		return
	}
	whose := "No job has"
	if l.options.Job != "" {
		whose = fmt.Sprintf("The job %q does not have", l.options.Job)
	}
	l.fail(UnknownBackend, diag.Range{}, "%s a block backend %q { version = … }. Add one, or ask for another backend.", whose, l.options.Backend)
}

// parts are the trees that one job is decoded from.
type parts struct {
	job, backend, model, cluster, gpu *block // nil when what defines it was reported
}

// recorded returns parts that record what is read of them.
func (p parts) recorded(into job.Sources) parts {
	p.job, p.backend = p.job.recorded("", into), p.backend.recorded("backend", into)
	for path, part := range map[string]**block{"model": &p.model, "cluster": &p.cluster, "cluster.gpu": &p.gpu} {
		if *part != nil {
			*part = (*part).recorded(path, into)
		}
	}
	return p
}

// buildJob makes one job for each backend of a job block.
func (l *loader) buildJob(b *hclsyntax.Block) []job.Job {
	t := l.evaluate(b, schema.File.Block("job"), scope{origin: job.FromSpec})
	p := parts{model: l.reference(t, "model"), cluster: l.reference(t, "cluster")}
	if p.cluster != nil {
		p.gpu = l.reference(p.cluster, "gpu")
	}
	for _, part := range []*block{p.model, p.cluster, p.gpu} {
		if part != nil {
			l.required(part)
		}
	}
	backends := t.all("backend")
	if len(backends) == 0 {
		l.required(t)
		l.fail(MissingBlock, t.header, "A job needs at least one block backend \"…\" { version = … }. The backends are %s.", diag.OneOf(schema.BackendKinds()))
	}
	var jobs []job.Job
	for _, backend := range backends {
		if l.options.Backend == "" || l.options.Backend == backend.label {
			p.backend, p.job = backend, overlay(t, backend)
			l.required(p.job)
			l.requiredArguments(backend) // its blocks are complete only when merged
			jobs = append(jobs, l.buildFor(p))
		}
	}
	return jobs
}

// reference finds the block that an argument names; nil after a report or
// when the argument is missing.
func (l *loader) reference(t *block, name string) *block {
	a := t.args[name]
	if a == nil || a.bad {
		return nil
	}
	n := l.referent(a.value, name, a.source.Range)
	if n == nil {
		t.broken = true
		return nil
	}
	return n.tree.adopt(a.source.Range)
}

// overlay merges a backend's own blocks over the job's.
func overlay(t, backend *block) *block {
	merged := *t
	merged.blocks = slices.DeleteFunc(slices.Clone(t.blocks), func(c *block) bool { return c.spec.Name == "backend" })
	merged.broken = false // each part counts for itself
	var own []*block
	for _, c := range backend.blocks {
		if c.spec.Name != "container" && (c.spec.Name != "training" || t.find("training") != nil) {
			own = append(own, c) // without the job's, a backend's training is only a part
		}
	}
	merged.blocks = mergeBlocks(merged.blocks, own)
	if c := backend.find("container"); c != nil {
		slurm := merged.find("slurm")
		if slurm == nil {
			slurm = &block{spec: t.spec.Block("slurm"), header: backend.header, at: backend.at}
		}
		over := *slurm
		over.args, over.blocks, over.broken = nil, []*block{c}, c.broken
		merged.blocks = mergeBlocks(merged.blocks, []*block{merge(slurm, &over)})
	}
	return &merged
}

// required reports required arguments and blocks that are missing, here and
// below. What stands there misspelt has been reported as that.
func (l *loader) required(t *block) {
	if t.partial {
		return
	}
	l.requiredArguments(t)
	for i := range t.spec.Blocks {
		if b := &t.spec.Blocks[i]; b.Required && t.find(b.Name) == nil {
			t.broken = true
			if slices.Contains(t.meant, b.Name) {
				continue
			}
			l.fail(MissingBlock, t.header, "%s needs a block %s. %s", blockName(t.spec), blockForm(b), b.Doc)
		}
	}
	for _, c := range t.blocks {
		l.required(c)
		t.broken = t.broken || c.broken
	}
}

func (l *loader) requiredArguments(t *block) {
	for i := range t.spec.Arguments {
		if a := &t.spec.Arguments[i]; a.Required && t.args[a.Name] == nil {
			t.broken = true
			if slices.Contains(t.meant, a.Name) {
				continue
			}
			l.fail(MissingArgument, t.header, "%s needs the argument %q. %s%s", blockName(t.spec), a.Name, a.Doc, completion(t, a.Name))
		}
	}
}

// completion says how to add to an entry of the catalogue, which cannot be
// edited.
func completion(t *block, name string) string {
	if t.origin != job.FromCatalog || t.spec.Label != schema.Identifier {
		return ""
	}
	return fmt.Sprintf(" The catalogue leaves it to you: write a block %s \"NAME\" { … } with base = catalog.%s.%s and %s = ….", t.spec.Name, t.spec.Name, t.label, name)
}

// buildFor decodes and checks one job.
func (l *loader) buildFor(p parts) job.Job {
	j := job.Job{Name: p.job.label, Sources: job.Sources{}}
	p.job.sources("", j.Sources)
	p.backend.sources("backend", j.Sources)
	p = p.recorded(j.Sources)
	j.Backend = decodeBackend(p.backend)
	c := checker{loader: l, job: &j}
	if p.model != nil {
		p.model.sources("model", j.Sources)
		j.Model = decodeModel(p.model)
		c.when(p.model, c.model)
	}
	if p.cluster != nil {
		p.cluster.sources("cluster", j.Sources)
		j.Cluster = decodeCluster(p.cluster)
		c.when(p.cluster, c.cluster)
	}
	if p.gpu != nil {
		p.gpu.sources("cluster.gpu", j.Sources)
		j.Cluster.GPU = decodeGPU(p.gpu)
		c.when(p.gpu, c.gpu)
	}
	l.buildTraining(p, &c)
	if p.model != nil {
		c.when(p.model, func() { c.published(p.model) })
	}
	j.Constraints = decodeConstraints(p.job.child("constraints"))
	c.when(p.job.child("constraints"), c.constraints)
	j.Execution = decodeExecution(p.job.child("execution"))
	c.when(p.job.child("execution"), c.execution)
	j.Slurm = decodeSlurm(p.job.child("slurm"))
	c.when(p.job.child("slurm"), c.slurm)
	return j
}

// buildTraining decodes and checks the training block, which needs the model's
// sequence length and the GPU.
func (l *loader) buildTraining(p parts, c *checker) {
	t := p.job.find("training")
	c.unsure = t == nil || t.broken
	if t == nil {
		return
	}
	c.job.Training = decodeTraining(t, c.job.Backend.Kind)
	if t.broken {
		return
	}
	c.training()
	if p.model != nil && !p.model.broken {
		c.schedule(t)
	}
	if p.gpu != nil && !p.gpu.broken {
		c.precision()
	}
}
