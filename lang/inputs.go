package lang

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// LockFile is the name of the file in a folder of jobs that package lang/lock
// reads; it holds no jobs.
const LockFile = "ndc.lock.hcl"

// Parse parses HCL, of a size and depth that is safe to evaluate.
func Parse(src []byte, name string) (*hclsyntax.Body, diag.List) { return parseSource(src, name) }

// RangeOf is a place in a file of HCL.
func RangeOf(r hcl.Range) diag.Range { return rangeOf(r) }

// Inputs lists the files that say something of a job: those in which its
// arguments stand, and those that define or set what is named there, and so on.
func (w *Workspace) Inputs(j *job.Job) []string {
	if w.references == nil {
		w.references = referencesOf(w.Files)
		w.references.modules(w.loader)
	}
	found := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		if _, read := w.Files[name]; !read || found[name] {
			return
		}
		found[name] = true
		for _, to := range w.references.uses[name] {
			for _, definer := range w.references.definers[to] {
				add(definer)
			}
			if _, variable, ok := strings.Cut(to, ":var."); ok {
				for _, setter := range w.references.setters[variable] {
					add(setter)
				}
			}
		}
	}
	for _, s := range j.Sources {
		add(s.Range.Filename)
	}
	if c := j.Cluster.Calibration; c != nil {
		add(path.Join(path.Dir(j.Sources.Range("cluster.calibration").Filename), c.File))
	}
	return slices.Sorted(maps.Keys(found))
}

// references says which files name what, and which define it, as
// FOLDER:local.NAME, since names are those of a folder. All under a root is
// FOLDER:local.*.
type references struct {
	uses     map[string][]string // by file
	definers map[string][]string // files, by name
	setters  map[string][]string // files of variables, by the variable
}

func referencesOf(files map[string][]byte) *references {
	r := &references{uses: map[string][]string{}, definers: map[string][]string{}, setters: map[string][]string{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		body, diags := parseSource(files[name], name)
		if diags.HasErrors() {
			continue
		}
		folder := path.Dir(name) + ":"
		if path.Ext(name) != ".hcl" {
			for variable := range body.Attributes {
				r.setters[variable] = append(r.setters[variable], name)
			}
			continue
		}
		for _, b := range body.Blocks {
			r.block(b, folder, name)
		}
		_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
			if e, ok := n.(*hclsyntax.ScopeTraversalExpr); ok {
				r.use(e.Traversal, folder, name)
			}
			return nil
		})
	}
	return r
}

func (r *references) define(folder, root, name, file string) {
	for _, what := range []string{folder + root + "." + name, folder + root + ".*"} {
		if !slices.Contains(r.definers[what], file) {
			r.definers[what] = append(r.definers[what], file)
		}
	}
}

func (r *references) block(b *hclsyntax.Block, folder, file string) {
	switch {
	case b.Type == "locals":
		for local := range b.Body.Attributes {
			r.define(folder, "local", local, file)
		}
	case b.Type == "variable" && len(b.Labels) > 0:
		r.define(folder, "var", b.Labels[0], file)
	case len(b.Labels) > 0:
		r.define(folder, b.Type, b.Labels[0], file)
	}
}

// modules adds the files of each module to what defines it: its jobs' files, not
// what some job at a site reads beside them, which are that job's alone.
func (r *references) modules(l *loader) {
	for _, n := range l.nodes {
		if n.block == nil || n.block.Type != "module" {
			continue
		}
		folder := path.Dir(n.block.DefRange().Filename) + ":"
		for _, c := range n.calls {
			for name := range l.files {
				if path.Dir(name) == c.module.folder && path.Ext(name) == ".hcl" {
					r.define(folder, "module", n.block.Labels[0], name)
				}
			}
		}
	}
}

// use notes what a reference names; all under its root where the name is
// computed.
func (r *references) use(t hcl.Traversal, folder, file string) {
	name, literal := step(t, 1)
	if !literal {
		name = "*"
	}
	r.uses[file] = append(r.uses[file], folder+t.RootName()+"."+name)
}
