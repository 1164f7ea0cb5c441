package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/lock"
)

// inputFlags are what build, plan and validate share.
type inputFlags struct {
	job, backend string
	sites        []string
	variables    []lang.VariableArg
	json         bool
	strict       bool
	replan       bool
	overrides    []lang.Override
	others       bool // plan the other jobs where a backend refuses its own
	asked        int  // sites, of which a side of a comparison may lack some
}

func (f *inputFlags) register(c *cobra.Command) {
	c.Flags().Var(&nameFlag{name: &f.job}, "job", "only the jobs with this label, or the one of this name")
	c.Flags().Var(&nameFlag{name: &f.backend}, "backend", "only this backend: megatron, torchtitan or deepspeed")
	f.registerInput(c)
}

// nameFlag selects by one name. Two of them are an error, not the last one: whoever names
// two jobs means both.
type nameFlag struct {
	name  *string
	given bool
}

func (v *nameFlag) String() string {
	if v.name == nil {
		return ""
	}
	return *v.name
}

func (v *nameFlag) Type() string { return "string" }

func (v *nameFlag) Set(s string) error {
	if v.given && s != *v.name {
		return fmt.Errorf("one name is taken, and %q was given before; without the flag all are taken", *v.name)
	}
	*v.name, v.given = s, true
	return nil
}

// registerInput leaves out what selects among jobs.
func (f *inputFlags) registerInput(c *cobra.Command) {
	c.Flags().Var(&variableFlag{f: f}, "var", "set a variable, as NAME=VALUE; may be repeated")
	c.Flags().Var(&variableFlag{f: f, file: true}, "var-file", "read variables from a file; may be repeated")
	c.Flags().StringArrayVar(&f.sites, "site", nil, "build for this site instead of the one that the jobs name; may be repeated")
	c.Flags().BoolVar(&f.json, "json", false, "print results and diagnostics as JSON")
}

// registerStrict adds --strict, which graph does not have: it decides nothing.
func (f *inputFlags) registerStrict(c *cobra.Command) {
	f.register(c)
	c.Flags().BoolVar(&f.strict, "strict", false, "make errors of warnings about the job")
}

// registerReplan adds --replan, for what chooses.
func (f *inputFlags) registerReplan(c *cobra.Command) {
	c.Flags().BoolVar(&f.replan, "replan", false, "choose anew, whatever ndc.lock.hcl keeps")
}

// variableFlag collects --var and --var-file in their common order.
type variableFlag struct {
	f    *inputFlags
	file bool
}

func (v *variableFlag) String() string { return "" }
func (v *variableFlag) Type() string {
	if v.file {
		return "FILE"
	}
	return "NAME=VALUE"
}

func (v *variableFlag) Set(s string) error {
	if v.file {
		if s == "" {
			return fmt.Errorf("name a file")
		}
		v.f.variables = append(v.f.variables, lang.VariableArg{File: s})
		return nil
	}
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return fmt.Errorf("write it as NAME=VALUE")
	}
	v.f.variables = append(v.f.variables, lang.VariableArg{Name: name, Value: value})
	return nil
}

// load reads the jobs of FILE or DIR. Files keep the names that the user
// wrote, so that diagnostics name what an editor can open.
func load(argument string, f *inputFlags) (*lang.Workspace, diag.List) {
	return loadFrom(disk{}, argument, f)
}

// loadFrom is load for a file system of its own, such as a revision.
func loadFrom(fsys fs.FS, argument string, f *inputFlags) (*lang.Workspace, diag.List) {
	variables := slices.Clone(f.variables)
	for i := range variables {
		variables[i].File = filepath.ToSlash(variables[i].File)
	}
	name := filepath.ToSlash(argument)
	modules, diags := fetchedFor(fsys, name)
	if diags.HasErrors() {
		return &lang.Workspace{Files: pointedInto(fsys, diags)}, diags
	}
	return lang.Load(fsys, name, lang.Options{Variables: variables, NDCVersion: version, Job: f.job, Backend: f.backend, Sites: f.sites, Modules: modules, Overrides: f.overrides})
}

// fetchedFor is what ndc init fetched for FILE or DIR.
func fetchedFor(fsys fs.FS, name string) (*lock.Fetched, diag.List) {
	folder := path.Clean(name)
	if info, err := fs.Stat(fsys, folder); err != nil || !info.IsDir() {
		folder = path.Dir(folder)
	}
	file, diags := readLock(fsys, folder)
	return &lock.Fetched{FS: fsys, From: folder, Lock: file}, diags
}

// pointedInto is the files that diagnostics point into, for their snippets.
func pointedInto(fsys fs.FS, list diag.List) map[string][]byte {
	files := map[string][]byte{}
	for _, d := range list {
		if src, diags := lang.ReadFile(fsys, d.Range.Filename); !diags.HasErrors() {
			files[d.Range.Filename] = src
		}
	}
	return files
}

// jobFolders are the folders, below an output folder, in which builds of all
// jobs may lie.
func jobFolders(w *lang.Workspace) []string {
	var list []string
	for _, name := range w.Names {
		list = append(list, foldersOf(w, name)...)
	}
	return list
}

// foldersOf are those of one job: its own, and one for each site where it is
// built for several.
func foldersOf(w *lang.Workspace, name string) []string {
	list := []string{name}
	for _, site := range w.Sites {
		list = append(list, site+"/"+name)
	}
	return list
}

// beside is where the outputs of FILE or DIR go by default.
func beside(argument string) string {
	if info, err := os.Stat(argument); err == nil && !info.IsDir() {
		argument = filepath.Dir(argument)
	}
	return filepath.Join(argument, "out")
}

// disk is the system's files, by slash paths from the working directory or
// from the root. Unlike os.DirFS it also reaches what lies above.
type disk struct{}

// Open implements fs.FS. A pipe, a device or a socket is not opened: that may
// wait for ever, or do something. Should the name mean another file a moment
// later, opening does not wait, and whoever reads looks once more.
func (disk) Open(name string) (fs.File, error) {
	path := filepath.FromSlash(name)
	info, err := os.Stat(path)
	if err := plain(path, info, err); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// ReadLink implements fs.ReadLinkFS.
func (disk) ReadLink(name string) (string, error) {
	target, err := os.Readlink(filepath.FromSlash(name))
	return filepath.ToSlash(target), err
}

// Lstat implements fs.ReadLinkFS.
func (disk) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(filepath.FromSlash(name)) }

// Sub implements fs.SubFS: no path and no link leads out of the folder.
func (disk) Sub(dir string) (fs.FS, error) { return within(filepath.FromSlash(dir)), nil }

// within is the files of one folder of the system, by slash paths from it.
type within string

// Open implements fs.FS as disk does.
func (w within) Open(name string) (fs.File, error) {
	root, err := os.OpenRoot(string(w))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	path := filepath.FromSlash(name)
	info, err := root.Stat(path)
	if err := plain(path, info, err); err != nil {
		return nil, err
	}
	return root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// plain refuses what is neither a file nor a folder.
func plain(path string, info fs.FileInfo, err error) error {
	if err != nil || info.Mode().IsRegular() || info.IsDir() {
		return err
	}
	return &fs.PathError{Op: "open", Path: path, Err: lang.ErrNoPlainFile}
}

// cause is an error without the operation and the path, which the message
// around it tells.
func cause(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
