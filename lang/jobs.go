package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
)

// element is one job of a job block: the block itself, or what it is for one
// element of its for_each.
type element struct {
	node     *node
	instance *instance // nil without for_each and count
}

// name is what the job is called, in paths and in Slurm.
func (e element) name() string {
	if e.instance == nil {
		return e.node.block.Labels[0]
	}
	return e.node.block.Labels[0] + "-" + e.instance.key
}

// buildJobs makes the jobs that were asked for, and names all of them.
func (m *module) buildJobs() (jobs []job.Job, names []string) {
	elements, labels := m.elements()
	var asked []element
	for _, e := range elements {
		names = append(names, e.name())
		if m.options.Job == "" || m.options.Job == e.node.block.Labels[0] || m.options.Job == e.name() {
			asked = append(asked, e)
		}
	}
	switch {
	case len(elements) == 0:
		m.noJob(labels)
	case len(asked) == 0 && !slices.Contains(labels, m.options.Job):
		m.unknownJob(slices.Concat(labels, names))
	}
	var owned []diag.Owned
	var parts [][]span // of each
	var wholes []span
	for _, site := range m.askedSites() {
		for _, e := range asked {
			from := len(m.diags)
			jobs = append(jobs, m.buildJob(e, site)...)
			owned = append(owned, diag.Owned{Owner: e.node.block.Labels[0], At: rangeOf(e.node.block.Range())})
			parts, wholes = append(parts, append(slices.Clone(m.inherited), span{from, m.evaluated})), append(wholes, span{m.evaluated, len(m.diags)})
		}
	}
	for i := range owned {
		for _, p := range parts[i] {
			owned[i].Parts = append(owned[i].Parts, m.diags[p.from:p.to])
		}
		owned[i].List = m.diags[wholes[i].from:wholes[i].to]
	}
	diag.Attribute("job", owned, diag.Error) // warnings are told of each plan
	if m.options.Backend != "" && len(asked) > 0 && len(jobs) == 0 && !m.diags.HasErrors() {
		m.noBackend()
	}
	if !m.diags.HasErrors() {
		m.checkPaths(jobs)
	}
	return jobs, names
}

func (m *module) noJob(labels []string) {
	switch {
	case m.diags.HasErrors():
	case len(labels) > 0:
		m.fail(NoJob, diag.Range{}, "for_each or count of every job is empty, so there is nothing to build.")
	default:
		m.fail(NoJob, diag.Range{}, "No file has a job block, so there is nothing to build. A job names a model, a cluster, the training and its backends.")
	}
}

func (m *module) unknownJob(known []string) {
	slices.Sort(known)
	known = slices.Compact(known) // a job is called as its block, unless the block makes many
	hint := diag.DidYouMean(m.options.Job, known)
	if hint == "" {
		hint = " The jobs are " + listed(known) + "."
	}
	m.fail(UnknownJob, m.askedAt("job"), "There is no job %q.%s", m.options.Job, hint)
}

// elements lists the jobs of all job blocks, and the labels of those blocks.
func (m *module) elements() (elements []element, labels []string) {
	taken := map[string]element{}
	for _, n := range m.order {
		if n.block == nil || n.block.Type != "job" {
			continue
		}
		labels = append(labels, n.block.Labels[0])
		instances, _ := m.instances(n.block, n.scope)
		for _, i := range instances {
			e := element{n, i}
			if m.nameable(e, taken) {
				taken[folded(e)] = e
				elements = append(elements, e)
			}
		}
	}
	return elements, labels
}

// folded is a job's name as it is the name of a folder: some file systems do not
// tell upper and lower case apart.
func folded(e element) string { return strings.ToLower(e.name()) }

// nameable reports a name of an element that is none or that another job has,
// by folded names.
func (m *module) nameable(e element, taken map[string]element) bool {
	other, isTaken := taken[folded(e)]
	if e.instance == nil && !isTaken {
		return true // the label was checked
	}
	at := rangeOf(e.node.block.LabelRanges[0])
	if e.instance != nil {
		at = e.instance.at
	}
	if isTaken {
		place := other.node.block.DefRange()
		if other.name() != e.name() {
			m.fail(DuplicateBlock, at, "This makes a job %q, and %s:%d makes %q, whose folder is the same on file systems that do not tell upper and lower case apart. Change a label or a key.", e.name(), place.Filename, place.Start.Line, other.name())
			return false
		}
		m.fail(DuplicateBlock, at, "This makes a job %q, and so does the job block at %s:%d. The name of an element is LABEL-KEY; change a label or a key.", e.name(), place.Filename, place.Start.Line)
		return false
	}
	return m.labelText(e.name(), at, schema.File.Block("job"))
}

// noBackend reports a --backend that no selected job has.
func (l *loader) noBackend() {
	known := schema.BackendKinds()
	if !slices.Contains(known, l.options.Backend) {
		l.fail(UnknownBackend, l.askedAt("backend"), "There is no backend %q. The backends are %s.%s",
			l.options.Backend, diag.OneOf(known), diag.DidYouMean(l.options.Backend, known))
		return
	}
	whose := "No job has"
	if l.options.Job != "" {
		whose = fmt.Sprintf("The job %q does not have", l.options.Job)
	}
	l.fail(UnknownBackend, l.askedAt("backend"), "%s a block backend %q { version = … }. Add one, or ask for another backend.", whose, l.options.Backend)
}

// parts are the trees that one job is decoded from.
type parts struct {
	element
	site                              *node  // nil without one
	whole                             *block // the job block with all its backends
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

// buildJob makes one job for each backend, at a site or, with nil, at that
// which the job names.
func (l *loader) buildJob(e element, site *node) []job.Job {
	s := e.node.scope
	s.instance = e.instance
	if s.site = site; site == nil {
		s.site = l.siteOf(e.node, s, nil)
	}
	over := l.jobOverBase(e.node, s, nil)
	t := over.tree
	l.evaluated, l.inherited = len(l.diags), over.told
	all := s.site.under(t, "")
	p := parts{element: e, site: s.site, whole: t, model: l.reference(t, "model"), cluster: l.reference(all, "cluster")}
	if p.cluster != nil {
		p.gpu = l.reference(p.cluster, "gpu")
	}
	l.override(map[string]**block{"model": &p.model, "cluster": &p.cluster, "cluster.gpu": &p.gpu})
	for _, part := range []*block{p.model, p.cluster, p.gpu} {
		if part != nil {
			l.required(part)
		}
	}
	backends := t.all("backend")
	if len(backends) == 0 && !all.partial {
		l.required(all)
		if slices.Contains(t.meant, "backend") {
			return nil
		}
		l.fail(MissingBlock, t.header, "A job needs at least one block backend \"…\" { version = … }. The backends are %s.", diag.OneOf(schema.BackendKinds()))
	}
	var jobs []job.Job
	for _, backend := range backends {
		if l.options.Backend == "" || l.options.Backend == backend.label {
			p.backend = s.site.underBackend(backend)
			if p.job = overlay(s.site.under(t, backend.label), backend); t.partial {
				p.job.doubt()
			}
			l.override(map[string]**block{"": &p.job, "backend": &p.backend})
			l.required(p.job)
			l.requiredArguments(p.backend) // its blocks are complete only when merged
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
	found := n.tree.adopt(a.source.Range)
	if a.source.Origin == job.FromSite {
		found = found.owned()
	}
	return found
}

// overlay merges a backend's own blocks over the job's, as those of a job over its
// base's and its site's.
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
	merged.blocks = mergeBlocks(merged.blocks, own, adding)
	if c := backend.find("container"); c != nil {
		slurm := merged.find("slurm")
		if slurm == nil {
			slurm = &block{spec: t.spec.Block("slurm"), header: backend.header, at: backend.at}
		}
		over := *slurm
		over.args, over.blocks, over.broken = nil, []*block{c}, c.broken
		merged.blocks = mergeBlocks(merged.blocks, []*block{merge(slurm, &over, adding)}, replacing)
	}
	return &merged
}

// doubt counts the blocks in a block as reported: what seems missing or wrong in one
// may be mended by that of a base, which was reported itself.
func (b *block) doubt() {
	for i, c := range b.blocks {
		part := *c
		part.broken = true
		b.blocks[i] = &part
	}
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
	j := job.Job{Name: p.name(), At: rangeOf(p.node.block.Range()), Sources: job.Sources{}}
	j.Folder = j.Name
	if p.instance != nil {
		j.Block = p.node.block.Labels[0]
	}
	if p.site != nil {
		j.Site = p.site.tree.label
	}
	if l.severalSites {
		j.Folder = j.Site + "/" + j.Name
	}
	p.job.sources("", j.Sources)
	p.backend.sources("backend", j.Sources)
	p = p.recorded(j.Sources)
	j.Backend = decodeBackend(p.backend)
	c := checker{loader: l, job: &j, whole: p.whole}
	if p.model != nil {
		p.model.sources("model", j.Sources)
		j.Model = decodeModel(p.model)
		c.when(p.model, c.model)
	}
	if p.cluster != nil {
		p.cluster.sources("cluster", j.Sources)
		j.Cluster = decodeCluster(p.cluster)
		c.when(p.cluster, c.cluster)
		c.nodes(get[job.IntChoice](p.job, "nodes"))
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
	j.Execution, j.Constraints.Execution = decodeExecution(p.job.child("execution"))
	j.OverlapConfig = p.job.child("execution").text("tensor_parallel_overlap_config")
	c.when(p.job.child("execution"), c.execution)
	j.Slurm = decodeSlurm(p.job.child("slurm"))
	c.when(p.job.child("slurm"), c.slurm)
	if p.gpu != nil {
		c.when(p.gpu, func() { c.calibration(p) })
	}
	j.Templates = p.templatesFor(j.Sources)
	l.planned, l.policies = append(l.planned, p.planned()), append(l.policies, l.applying(p.node, p.site))
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
	folder := c.job.Backend.Kind
	if p.instance != nil {
		folder = c.job.Name + "/" + folder
	}
	c.job.Training = decodeTraining(t, folder)
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

// checkPaths reports jobs that would write their checkpoints over one another's.
func (l *loader) checkPaths(jobs []job.Job) {
	first, told := map[[2]string]*job.Job{}, map[string]bool{}
	for i := range jobs {
		j := &jobs[i]
		path := j.Training.Checkpoint.Path
		key := [2]string{j.Site, path} // sites have file systems of their own
		other := first[key]
		if other == nil {
			first[key] = j
		}
		if path == "" || other == nil || told[j.Name] {
			continue
		}
		told[j.Name] = true
		at := j.Sources.Range("training.checkpoint.path")
		if at == other.Sources.Range("training.checkpoint.path") {
			at = j.Sources[""].Range // what both have from elsewhere is one's own to change
		}
		l.fail(SharedCheckpoint, at, "%s", SharingCheckpoints(other.Name, j.Name, path))
	}
}

// SharingCheckpoints says what is wrong with two jobs that save to one folder.
func SharingCheckpoints(a, b, folder string) string {
	return fmt.Sprintf("%s and %s would both save to %s, and each would remove or continue the other's checkpoints. Give one of them a path of its own.", a, b, folder)
}
