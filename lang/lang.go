// Package lang turns the files of a user into resolved jobs: it parses HCL,
// settles variables, references, catalogue entries and defaults, and checks
// everything that can be known before a layout is chosen. It is the only part
// of ndc that knows HCL and cty. The result is plain data in package job; what
// the words of the language mean is declared once in package schema; the
// built-in models, GPUs and clusters are in package catalog. Whether a
// framework can honour a job is decided by the backends, and how diagnostics
// look on a terminal by the command.
package lang

import (
	"io/fs"
	"slices"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/catalog"
	"github.com/ndc-dev/ndc/lang/job"
)

// Options are the inputs of Load beside the files.
type Options struct {
	// Variables are the command line's --var and --var-file options in their
	// order; a later one wins.
	Variables []VariableArg
	// VariableFiles are further variable files, as slash paths in the file
	// system, read before Variables.
	VariableFiles []string
	// NDCVersion is what required_version is held against. An empty version
	// and development builds ("0.0.0-dev", "(devel)") satisfy everything.
	NDCVersion string
	// Job, when not empty, selects the jobs of one block by its label, or one job
	// by its name.
	Job string
	// Backend, when not empty, selects one backend of each job.
	Backend string
	// Sites are the sites to build for, by label or address, instead of those that
	// the jobs name.
	Sites []string
	// Modules finds the modules whose source is no relative path; nil where none
	// was fetched.
	Modules Modules
	// Overrides are arguments of the jobs, set above all that the files say; of two
	// that set the same, the later one counts.
	Overrides []Override

	run *TestRun // whose jobs these are
}

// Modules finds what was fetched for module blocks.
type Modules interface {
	// Folder returns the folder of a module, as a slash path in the file system.
	// The address is that of the module block, such as "base" or "base.inner";
	// source and version are as written there, at is the place of the source.
	Folder(address, source, version string, at diag.Range) (folder string, diags diag.List)
}

// VariableArg is one --var NAME=VALUE, or one --var-file FILE when File is
// set, at its place on the command line.
type VariableArg struct {
	Name, Value string
	File        string // slash path in the file system
}

// Workspace is what a file or folder says.
type Workspace struct {
	// Jobs holds one job for each pair of a job and a backend block, in the order
	// of the files' names, of the blocks in them and of the elements of for_each.
	Jobs []job.Job
	// Names holds the name of every job, asked for or not.
	Names []string
	// Sites holds the labels of all sites, of the modules that are called too.
	Sites []string
	// Files holds every file that was read, by name, for snippets beside
	// diagnostics.
	Files map[string][]byte

	loader     *loader
	references *references // among them, once somebody asks
}

// Load reads name, a slash path in fsys: a file alone, or a folder with every
// *.hcl and *.auto.ndcvars in it. The workspace is never nil; when the list
// has errors its jobs are incomplete and must not be used.
func Load(fsys fs.FS, name string, o Options) (*Workspace, diag.List) {
	l := newLoader(fsys, o)
	w := &Workspace{Files: l.files, loader: l}
	l.load(name, w)
	return w, l.finish()
}

// BuiltBy says which backends build a model of the catalogue and from which
// version on, or why not; nil for a name that the catalogue does not have.
func BuiltBy(model string) []job.BuiltBy {
	if !slices.Contains(catalog.Names("model"), model) {
		return nil
	}
	l := newLoader(nil, Options{})
	n := l.catalogNode("model", model)
	l.settle(n, nil)
	return decodeModel(n.tree).BuiltBy
}
