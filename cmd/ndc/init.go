package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/fetch"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/budget"
	"github.com/ndc-dev/ndc/lang/lock"
	"github.com/ndc-dev/ndc/output"
)

// lockfiles are what may become of a lock, the first being the default.
var lockfiles = []string{"update", "readonly"}

func newInit(stdout, stderr io.Writer) *cobra.Command {
	var upgrade, asJSON bool
	lockfile := lockfiles[0]
	c := &cobra.Command{
		Use: "init FILE|DIR", Short: "Fetch the modules that the jobs call", Args: takes(1, 1, "one FILE or DIR"),
		Long: `Fetch the modules that FILE, or the *.hcl files in DIR, and those modules call,
from repositories and archives into .ndc/modules beside them, and write what was
fetched into ndc.lock.hcl. What the lock has is fetched as it was, or not at all
when it is there; --upgrade takes the newest that the module blocks allow. It is
the only command that uses the network.`,
		RunE: func(_ *cobra.Command, args []string) error {
			t := newTerminal(stdout, stderr, asJSON)
			if !slices.Contains(lockfiles, lockfile) {
				return usageError(fmt.Sprintf("--lockfile is %q, and it is update or readonly.", lockfile))
			}
			i := &initializer{version: version, upgrade: upgrade, readonly: lockfile == "readonly", fetched: map[string]*fetched{}, asked: map[string]answer{}, tags: map[string][]string{}, result: initialized{Modules: []initializedModule{}}}
			diags := i.run(filepath.ToSlash(args[0]))
			t.diagnostics(diags, i.files)
			if diags.HasErrors() {
				return exitError(exitInput)
			}
			if t.json {
				return t.printJSON(i.result)
			}
			return t.print(i.result.text(filepath.ToSlash(args[0])))
		},
	}
	c.Flags().BoolVar(&upgrade, "upgrade", false, "take the newest that the module blocks allow")
	c.Flags().StringVar(&lockfile, "lockfile", lockfile, "readonly: fail where ndc.lock.hcl would change")
	c.Flags().BoolVar(&asJSON, "json", false, "print results and diagnostics as JSON")
	return c
}

// initializer fetches what module blocks name.
type initializer struct {
	version           string // of this ndc
	upgrade, readonly bool

	from    string // the folder of the jobs, as a slash path
	lock    *lock.File
	modules []lock.Module       // that are called
	fetched map[string]*fetched // by source and version, or commit
	asked   map[string]answer   // by repository
	tags    map[string][]string // of the repositories that were asked, by the modules' addresses
	files   map[string][]byte   // for snippets
	planted []planted           // in the place of what was there
	result  initialized
	tooDeep bool // told once: a folder that calls itself twice has 65,536 such places
	diags   diag.List
}

// initialized is what `ndc init --json` prints.
type initialized struct {
	Modules []initializedModule `json:"modules"`
	Lock    string              `json:"lock,omitempty"` // where it was written; "": it was current
}

// initializedModule is a module that is there now.
type initializedModule struct {
	Name    string `json:"name"` // its address: "base", or "base.inner" for one in that module
	Source  string `json:"source"`
	Version string `json:"version,omitempty"`
	Commit  string `json:"commit,omitempty"`
	State   string `json:"state"` // fetched or kept
}

// text tells people the same.
func (r *initialized) text(of string) string {
	var b strings.Builder
	for i := range r.Modules {
		m := &r.Modules[i]
		text := m.Name + " from " + m.Source
		if m.Version != "" {
			text += ", version " + m.Version
		}
		if m.Commit != "" {
			text += ", commit " + m.Commit[:min(12, len(m.Commit))]
		}
		b.WriteString(line(m.State, text))
	}
	switch {
	case r.Lock != "":
		b.WriteString(line("Lock", "written: "+r.Lock))
	case len(r.Modules) == 0:
		fmt.Fprintf(&b, "%s calls no module that has to be fetched.\n", inLine(of))
	}
	return b.String()
}

// answer is what a server said of a repository, or why it said nothing.
type answer struct {
	repository *fetch.Repository
	err        error
}

// ask asks for a repository once: several modules are of one, and a server may take minutes
// to say nothing.
func (i *initializer) ask(repository string) (*fetch.Repository, error) {
	a, known := i.asked[repository]
	if !known {
		a.repository, a.err = fetch.Open(signals.context(), repository)
		i.asked[repository] = a
	}
	return a.repository, a.err
}

// caller is a folder of calls.
type caller struct {
	name    string // of the file or folder
	folder  string // of its files
	address string // of the module; "" for the jobs
	root    string // what its relative sources may not leave; "" for the user's own files
	depth   int
	at      diag.Range // of what calls the module

	called  *lang.Call // what was fetched, of which the folder is a part; nil for the user's own files
	fetched string     // its address
}

// run fetches all modules, and then brings the lock up to date.
func (i *initializer) run(argument string) diag.List {
	i.from, i.files = argument, map[string][]byte{}
	alone := isFile(argument)
	if alone {
		i.from = path.Dir(argument)
	}
	i.lock, i.diags = readLock(disk{}, i.from)
	if i.diags.HasErrors() {
		i.files = pointedInto(disk{}, i.diags)
		return i.diags
	}
	if i.noLinks(); i.diags.HasErrors() {
		return i.diags
	}
	i.walk(caller{name: argument, folder: i.from})
	if !i.diags.HasErrors() {
		i.finish(alone)
	}
	i.alone(func() {
		for _, p := range i.planted {
			p.settle(!i.diags.HasErrors())
		}
	})
	return i.diags
}

// noLinks refuses to write below .ndc, and to remove from it, where that is
// another folder in disguise.
func (i *initializer) noLinks() {
	for folder := lock.Folder; folder != "."; folder = path.Dir(folder) {
		name := filepath.Join(filepath.FromSlash(i.from), filepath.FromSlash(folder))
		if info, err := os.Lstat(name); err == nil && !info.IsDir() {
			i.fail(IDCannotWrite, diag.Range{}, "Modules cannot be kept", "%s is no folder of its own, but a link or a file. What is fetched goes there, and what nothing calls is removed from there; remove it and run ndc init again.", name)
		}
	}
}

func (i *initializer) fail(id diag.ID, at diag.Range, summary, format string, args ...any) {
	i.diags.Error(id, at, summary, fmt.Sprintf(format, args...))
}

// walk fetches what the module blocks of a file or folder name, and what those
// modules call in turn.
func (i *initializer) walk(c caller) {
	if i.tooDeep {
		return
	}
	if i.tooDeep = c.depth > budget.MaxDepth; i.tooDeep {
		i.fail(IDFetch, c.at, cannotFetch, "Modules stand more than %d deep in one another at %s; one may call itself.", budget.MaxDepth, c.address)
		return
	}
	var excluded bool
	var calls []lang.Call
	var diags diag.List
	i.alone(func() { // else another may be putting a module into its place
		if excluded = c.called != nil && i.excluded(&c); !excluded {
			calls, diags = lang.Calls(disk{}, c.name)
		}
	})
	if excluded {
		return
	}
	for k := range diags {
		if diags[k].Range.IsZero() { // of a folder that is not there
			diags[k].Range = c.at
		}
	}
	i.diags.Append(diags)
	maps.Copy(i.files, pointedInto(disk{}, diags))
	for _, call := range calls {
		if src, err := os.ReadFile(call.At.Filename); err == nil {
			i.files[call.At.Filename] = src
		}
		inner := caller{address: strings.TrimPrefix(c.address+"."+call.Name, "."), depth: c.depth + 1, root: c.root, at: call.At, called: c.called, fetched: c.fetched}
		var ok bool
		if call.IsFolder() {
			var base string
			inner.folder, base = call.Folder(disk{}, c.folder)
			if ok = c.root == "" || inFolder(base, c.root); !ok {
				i.fail(IDFetch, call.At, cannotFetch, "%q leads out of %s, and a module that is fetched reads nothing outside of its source.", call.Source, c.root)
			}
		} else {
			inner.folder, inner.root, ok = i.module(&call, &c, inner.address)
			inner.called, inner.fetched = &call, inner.address
		}
		if inner.name = inner.folder; ok {
			i.walk(inner)
		}
	}
}

// excluded reports a module that was fetched, and says itself that it is for another
// version of ndc. A constraint that an older one of its versions meets is the way out
// that needs no other ndc.
func (i *initializer) excluded(c *caller) bool {
	required := lang.Excluded(disk{}, c.name, i.version)
	if required == "" {
		return false
	}
	m, locked := (&lock.File{Modules: i.modules}).Module(c.fetched), i.lock.Module(c.fetched)
	stays, otherwise := "", "call a version of the module that is for this one"
	if locked != nil && *locked != *m {
		stays = fmt.Sprintf(" %s and the files stay at %s.", lock.Name, identity(locked))
	}
	older := fmt.Sprintf("%s, < %s", c.called.Version, m.Version)
	if _, next, err := lock.Highest(i.tags[c.fetched], older); err == nil {
		otherwise = fmt.Sprintf("take the next version below, %s: version = %q", next, older)
	}
	i.fail(IDFetch, c.called.VersionAt, cannotFetch, "Module %q as %s needs ndc %s, and this is ndc %s.%s Install one that fits, or %s.", c.fetched, identity(m), required, i.version, stays, otherwise)
	return true
}

// inFolder reports whether a slash path is root or below it.
func inFolder(name, root string) bool { return name == root || strings.HasPrefix(name, root+"/") }

const cannotFetch = "A module cannot be fetched"

// module makes sure that the files of one module are here, as the lock has them
// or anew, and returns its folder and the root of what was fetched.
func (i *initializer) module(call *lang.Call, c *caller, address string) (folder, root string, ok bool) {
	source, wrong := lock.SourceOf(call.Source, call.Version, call.At, call.VersionAt)
	switch i.diags.Append(wrong); {
	case wrong.HasErrors():
		return "", "", false
	case c.root != "" && strings.HasPrefix(source.Git, "file:"):
		i.fail(IDFetch, call.At, cannotFetch, "Module %q comes from elsewhere and asks for %s on this machine. Only files of your own may do that.", c.address, source.Git)
		return "", "", false
	}
	same := slices.IndexFunc(i.modules, func(m lock.Module) bool { return m.Address != address && strings.EqualFold(m.Address, address) })
	if same >= 0 {
		i.fail(lang.DuplicateBlock, call.At, "Duplicate definition", "Modules %q and %q would lie in one folder on file systems that do not tell upper and lower case apart. Change the name of one.", i.modules[same].Address, address)
		return "", "", false
	}
	root = path.Join(i.from, lock.Folder, address)
	known := i.lock.Module(address)
	if known != nil && (i.upgrade || !known.Satisfies(call.Source, call.Version)) {
		known = nil
	}
	w := &wanted{call: call, by: c, source: source, address: address, root: root, known: known}
	if known != nil {
		var err error
		switch i.alone(func() { err = verified(root, known.Hash) }); {
		case err == nil:
			i.modules = append(i.modules, *known)
			i.tell("kept", known)
			i.compareArchive(w)
			return path.Join(root, source.Inner), root, true
		case errors.Is(err, lock.ErrGits):
			_ = os.RemoveAll(filepath.FromSlash(root)) // git obeys it, whatever is fetched now
		}
	}
	if known == nil && i.readonly && !i.mayBeNewest(call, address) {
		i.fail(IDFetch, call.At, cannotFetch, "%s has not the module %q with this source and version, and --lockfile=readonly leaves it as it is. Run ndc init without it, and commit the lock.", lock.Name, address)
		return "", "", false
	}
	m, err := i.fetch(w)
	if err != nil {
		at := call.At
		if wrong := (versionError{}); errors.As(err, &wrong) {
			at = call.VersionAt
		}
		i.fail(IDFetch, at, cannotFetch, "%s: %v.", call.Source, err)
		return "", "", false
	}
	i.modules = append(i.modules, *m)
	return path.Join(root, source.Inner), root, true
}

// verified holds files that are here to a hash. The list beside them, which tells what was
// edited, is written anew where a merge left its marks in it; without it nothing is wrong.
func verified(root, hash string) error {
	err := lock.Verify(disk{}, root, hash)
	if err == nil {
		if text := lock.Relisted(disk{}, root, hash); text != "" {
			_ = replaceFile(filepath.FromSlash(lock.SumsPath(root)), []byte(text))
		}
	}
	return err
}

// mayBeNewest reports whether a module that is to be upgraded may turn out to be
// what the lock has: only what is there now tells.
func (i *initializer) mayBeNewest(call *lang.Call, address string) bool {
	locked := i.lock.Module(address)
	return i.upgrade && locked != nil && locked.Satisfies(call.Source, call.Version)
}

// identity says which of a module's versions it is, shortly.
func identity(m *lock.Module) string {
	switch commit := m.Commit[:min(12, len(m.Commit))]; {
	case m.Version != "":
		return fmt.Sprintf("version %s (commit %s)", m.Version, commit)
	case commit != "":
		return "commit " + commit
	}
	return "files of hash " + m.Hash
}

// compare warns where a version or tag that the lock has is another commit of the same
// repository now: tags are not to move, and whoever reviews the lock sees the same
// version or source in it as before.
func (i *initializer) compare(locked, m *lock.Module, r *fetch.Repository, source lock.Source, at diag.Range) {
	if locked == nil || r == nil || locked.Version != m.Version {
		return
	}
	if before, err := lock.ParseSource(locked.Source); err != nil || before.Git != source.Git || before.Ref != source.Ref {
		return
	}
	what, tag := "Tag "+source.Ref, source.Ref
	if m.Version != "" {
		what = "Version " + m.Version
		tag, _, _ = lock.Highest(r.Tags(), m.Version) // "" where it is gone
	}
	if !slices.Contains(r.Tags(), tag) {
		return
	}
	now, err := r.Resolve(tag)
	if err != nil || now == locked.Commit {
		return
	}
	then := fmt.Sprintf("with the %s of before, ndc init fetches the commit of before", lock.Name)
	if m.Commit == locked.Commit {
		then = fmt.Sprintf("what was fetched is the commit of %s", lock.Name)
	}
	i.diags.Warn(IDTagMoved, at, "The tag of a version was moved", fmt.Sprintf("%s of module %q was commit %s when it was locked, and is commit %s now. Look at what changed between them, or ask who moved the tag; %s.",
		what, m.Address, locked.Commit, now, then))
}

// compareArchive warns where an archive is another now than what is kept of it. One that
// is gone, or that nobody can read, says nothing against what is here.
func (i *initializer) compareArchive(w *wanted) {
	if w.source.Git != "" {
		return
	}
	now, err := i.get(w)
	if err != nil {
		return
	}
	if _, hash := lock.Sums(now.files.Content); hash != w.known.Hash {
		i.diags.Warn(IDArchiveChanged, w.call.At, "An archive was changed", fmt.Sprintf("%s is not what %s has the hash of, whose files of module %q are kept, and read by every command. ndc init --upgrade takes what is there now.",
			lang.Beside(disk{}, w.by.folder, w.source.Archive), lock.Name, w.known.Address))
	}
}

// fetch gets a module, that of the lock where there is one, and puts its files
// into their folder.
func (i *initializer) fetch(w *wanted) (*lock.Module, error) {
	got, err := i.get(w)
	if err != nil {
		return nil, err
	}
	if got.repository != nil {
		i.tags[w.address] = got.repository.Tags()
	}
	if !got.files.Inner(w.source.Inner) {
		for _, name := range got.files.LeftOut {
			if strings.HasPrefix(w.source.Inner+"/", strings.TrimSuffix(name, "/")+"/") {
				return nil, fmt.Errorf("%q of it is a link or a submodule, which is not fetched. Name the repository that the submodule is of, or the folder that the link leads to", name)
			}
		}
		return nil, got.noFolder(w.source.Inner)
	}
	sums, hash := lock.Sums(got.files.Content)
	m := &lock.Module{Address: w.address, Source: w.call.Source, Version: got.version, Commit: got.commit, Hash: hash}
	if w.known != nil && hash != w.known.Hash {
		return nil, fmt.Errorf("what is there now is not what %s has the hash of, although it has the same name. If that is meant to be, run ndc init --upgrade; otherwise ask who changed it", lock.Name)
	}
	if locked := i.lock.Module(w.address); i.readonly && *m != *locked {
		return nil, fmt.Errorf("%s has module %q as %s, --upgrade would take %s, and --lockfile=readonly leaves the lock as it is", lock.Name, w.address, identity(locked), identity(m))
	}
	i.alone(func() {
		var p planted
		if p, err = plantModule(w.root, got.files.Content, sums); err == nil {
			i.planted = append(i.planted, p)
		}
	})
	if err != nil {
		return nil, err
	}
	i.tell("fetched", m)
	i.compare(i.lock.Module(w.address), m, got.repository, w.source, w.call.At)
	if n := len(got.files.LeftOut); n > 0 {
		i.diags.Warn(IDLeftOut, w.call.At, "Parts of a module are left out", fmt.Sprintf("Links and submodules are not fetched: %s.", strings.Join(got.files.LeftOut[:min(n, 5)], ", ")))
	}
	return m, nil
}

// alone does some work in the folder of what is fetched while no other ndc init of
// these jobs does, which would remove the drafts of this one, or move what it reads.
func (i *initializer) alone(work func()) {
	output.Alone(signals.context(), filepath.FromSlash(i.from), work)
}

// tell says what became of a module.
func (i *initializer) tell(state string, m *lock.Module) {
	i.result.Modules = append(i.result.Modules, initializedModule{Name: m.Address, Source: m.Source, Version: m.Version, Commit: m.Commit, State: state})
}

// finish writes the lock, and removes the files of modules that nobody calls. A
// file alone says nothing of what the files beside it call.
func (i *initializer) finish(alone bool) {
	next := &lock.File{Modules: slices.Clone(i.modules), Plans: i.lock.Plans}
	if alone {
		for _, m := range i.lock.Modules {
			if next.Module(m.Address) == nil {
				next.Modules = append(next.Modules, m)
			}
		}
	}
	slices.SortFunc(next.Modules, func(a, b lock.Module) int { return strings.Compare(a.Address, b.Address) })
	name := filepath.Join(filepath.FromSlash(i.from), lock.Name)
	if slices.Equal(next.Modules, i.lock.Modules) {
		i.prune(next)
		return
	}
	if i.readonly {
		i.fail(IDFetch, diag.Range{}, cannotFetch, "%s has modules that nothing calls, and --lockfile=readonly leaves it as it is.", name)
		return
	}
	if err := saveModules(i.from, name, next); err != nil {
		i.fail(IDCannotWrite, diag.Range{}, "The lock cannot be written", "%s: %v.", name, cause(err))
		return
	}
	i.result.Lock = name
	i.prune(next)
}

// prune removes what was fetched for modules that are not in the lock.
func (i *initializer) prune(next *lock.File) {
	i.alone(func() { i.removeUnknown(next) })
}

func (i *initializer) removeUnknown(next *lock.File) {
	folder := filepath.Join(filepath.FromSlash(i.from), filepath.FromSlash(lock.Folder))
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		i.fail(IDCannotWrite, diag.Range{}, "Modules cannot be removed", "%s: %v.", folder, cause(err))
	}
	for _, e := range entries {
		address := strings.TrimSuffix(e.Name(), lock.SumsPath(""))
		if next.Module(address) == nil {
			_ = os.RemoveAll(filepath.Join(folder, e.Name())) // what stays is in nobody's way
		}
	}
}
