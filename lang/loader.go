package lang

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/budget"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
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

	bodies        []*hclsyntax.Body // of the *.hcl files, in the order of names
	autoVariables []string          // *.auto.ndcvars files

	variables     map[string]*variable
	variableOrder []string
	unread        bool // a file of variables was reported
	nodes         map[string]*node
	order         []*node // of the files, in the order of writing
	stack         []*node // being evaluated
	jobs          []*hclsyntax.Block
}

func newLoader(fsys fs.FS, o Options) *loader {
	return &loader{fsys: fsys, options: o, budget: budget.New(), files: map[string][]byte{}, variables: map[string]*variable{}, nodes: map[string]*node{}}
}

// load runs the phases; later ones need what earlier ones found.
func (l *loader) load(name string) []job.Job {
	defer l.stopped()
	if !l.read(name) || !l.checkVersion() {
		return nil
	}
	l.collect()
	l.setVariables()
	for _, n := range l.order {
		l.settle(n, nil)
	}
	l.validateVariables()
	return l.buildJobs()
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

// collect sorts the blocks of all files into variables, nodes and jobs.
func (l *loader) collect() {
	for _, body := range l.bodies {
		for _, a := range ordered(body.Attributes) {
			l.unknownArgument(a, &schema.File)
		}
		for _, b := range body.Blocks {
			l.collectBlock(b)
		}
	}
}

func (l *loader) collectBlock(b *hclsyntax.Block) {
	spec := schema.File.Block(b.Type)
	switch {
	case spec == nil:
		l.unknownBlock(b, &schema.File)
	case b.Type == "ndc": // read before
	case b.Type == "locals":
		l.collectLocals(b)
	case !l.label(b, spec) && len(b.Labels) != 1: // a bad name still has a content to check
	case b.Type == "variable":
		l.collectVariable(b)
	case b.Type == "job":
		l.collectJob(b)
	default:
		l.addNode(&node{path: b.Type + "." + b.Labels[0], block: b}, b)
	}
}

func (l *loader) collectLocals(b *hclsyntax.Block) {
	spec := schema.File.Block("locals")
	l.label(b, spec)
	for _, n := range b.Body.Blocks {
		l.unknownBlock(n, spec)
	}
	for _, a := range ordered(b.Body.Attributes) {
		n := &node{path: "local." + a.Name, expr: a.Expr}
		if first := l.nodes[n.path]; first != nil {
			l.fail(DuplicateBlock, rangeOf(a.NameRange), "%q is already defined at %s:%d. Names of locals are unique over all files of a folder.",
				a.Name, first.expr.Range().Filename, first.expr.Range().Start.Line)
			continue
		}
		l.add(n)
	}
}

func (l *loader) addNode(n *node, b *hclsyntax.Block) {
	if first := l.nodes[n.path]; first != nil {
		l.duplicateNamed(b, first.block)
		return
	}
	l.add(n)
}

func (l *loader) add(n *node) {
	n.scope = scope{origin: job.FromSpec}
	l.nodes[n.path] = n
	l.order = append(l.order, n)
}

func (l *loader) duplicateNamed(b, first *hclsyntax.Block) {
	at := first.DefRange()
	l.fail(DuplicateBlock, rangeOf(b.DefRange()), "%s %q is already defined at %s:%d. Names are unique over all files of a folder.",
		b.Type, b.Labels[0], at.Filename, at.Start.Line)
}

func (l *loader) collectJob(b *hclsyntax.Block) {
	if len(l.jobs) == maxBlocks {
		l.fail(FileTooLarge, rangeOf(b.DefRange()), "There are more than %d jobs.", maxBlocks)
	}
	for _, other := range l.jobs {
		if other.Labels[0] == b.Labels[0] {
			l.duplicateNamed(b, other)
			return
		}
	}
	if len(l.jobs) <= maxBlocks {
		l.jobs = append(l.jobs, b)
	}
}
