package lang

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/budget"
)

// loader is the state of one Load.
type loader struct {
	fsys    fs.FS
	options Options
	budget  *budget.Budget

	exhausted bool // that the budget is used up was reported
	diags     diag.List
	files     map[string][]byte
	size      int // of all of them, in bytes

	folders map[string]*sources // of modules, by their place
	modules int                 // evaluated so far
	nodes   map[string]*node    // by their addresses, of all modules and of the catalogue
	stack   []*node             // being evaluated

	bases      map[basis]basisTree // of jobs that are the base of others
	siteOfBase map[*node]*node     // that they name

	evaluated    int    // diagnostics when the job at hand had been evaluated over its bases
	inherited    []span // of those, what was reported of its bases, maybe for an earlier job
	severalSites bool   // what is built is for more than one site
	root         *module
	planned      []cty.Value // the jobs that were made, as policies see them
	policies     [][]*policy // that apply to them
}

func newLoader(fsys fs.FS, o Options) *loader {
	return &loader{fsys: fsys, options: o, budget: budget.New(), files: map[string][]byte{}, folders: map[string]*sources{}, nodes: map[string]*node{}, bases: map[basis]basisTree{}, siteOfBase: map[*node]*node{}}
}

// load runs the phases; later ones need what earlier ones found.
func (l *loader) load(name string, w *Workspace) {
	defer l.stopped()
	read := l.read(name)
	if !read.ok {
		return
	}
	root := newModule(l, read)
	l.root = root
	if !root.checkVersion() {
		return
	}
	root.collect()
	root.setVariables()
	root.validateVariables()
	for _, n := range root.order {
		l.settle(n, nil)
	}
	root.checkPolicies()
	root.checkAsserts()
	w.Jobs, w.Names = root.buildJobs()
	if !l.diags.HasErrors() {
		root.idlePolicies()
	}
	for _, n := range root.sites() {
		w.Sites = append(w.Sites, n.block.Labels[0])
	}
}

func (l *loader) fail(id diag.ID, at diag.Range, format string, args ...any) {
	l.diags.Error(id, at, summaries[id], fmt.Sprintf(format, args...))
	l.enough()
}

// report appends diagnostics.
func (l *loader) report(diags diag.List) {
	l.diags.Append(diags)
	l.enough()
}

// maxDiagnostics is when a file is beyond help.
const maxDiagnostics = 500

// enough stops everything, by a panic that stopped recovers, when nobody would
// read on.
func (l *loader) enough() {
	if len(l.diags) > maxDiagnostics {
		panic(enough{})
	}
}

type enough struct{}

func (l *loader) stopped() {
	r := recover()
	if _, ours := r.(enough); r != nil && !ours {
		panic(r)
	}
	if r != nil {
		l.diags.Error(TooManyErrors, diag.Range{}, summaries[TooManyErrors], fmt.Sprintf("Reading stopped after %d messages. Mend the first ones.", maxDiagnostics))
	}
}

// finish sorts the diagnostics and drops those that several jobs share.
func (l *loader) finish() diag.List {
	l.diags.Sort()
	return slices.CompactFunc(l.diags, func(a, b diag.Diagnostic) bool { return a == b })
}
