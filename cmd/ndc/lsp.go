package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/catalog"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/lock"
	"github.com/ndc-dev/ndc/lsp"
)

// typingPause is how long an editor's user stops typing before files are looked at.
const typingPause = 150 * time.Millisecond

func newLSP(stdout io.Writer) *cobra.Command {
	var alone bool
	var flags inputFlags
	c := &cobra.Command{
		Use: "lsp", Short: "Answer an editor over the Language Server Protocol", Args: takes(0, 0, "no arguments"),
		Long: `Answer an editor over standard input and output: diagnostics while one types,
completion, explanations, definitions, renaming, symbols, formatting, and above
each job the step time, memory and MFU that are predicted for it. Editors start
this command themselves; docs/editors.md has their settings. Nothing is written
but entries of the catalogue that one goes to, in the user's cache folder.

A file is read with its folder, as validate does with DIR, and as a module of
the folders that call it. --alone reads each file alone, as validate does with
FILE, for folders of files that have nothing to do with one another. --site and
--var are those of validate, for the folders that have such a site or variable.`,
		RunE: func(c *cobra.Command, _ []string) error {
			err := lsp.Serve(c.InOrStdin(), kept{stdout}, lsp.Options{Files: disk{}, Program: editing{flags}, Version: buildVersion(), Alone: alone, Delay: typingPause})
			if errors.Is(err, lsp.ErrNoShutdown) {
				return exitError(exitInput) // as the protocol has it; nobody reads a message
			}
			return err
		},
	}
	c.Flags().BoolVar(&alone, "alone", false, "read each file alone, not with its folder")
	c.Flags().StringArrayVar(&flags.sites, "site", nil, "look at jobs as they are built for this site; may be repeated")
	c.Flags().Var(&variableFlag{f: &flags}, "var", "set a variable, as NAME=VALUE; may be repeated")
	return c
}

// kept is a stream that stays open.
type kept struct{ io.Writer }

// Close implements io.Closer.
func (kept) Close() error { return nil }

// editing is this program as editors use it, with the sites and variables that it was
// started with.
type editing struct{ flags inputFlags }

// Load implements lsp.Program. Of many folders each takes what it has.
func (e editing) Load(fsys fs.FS, name string) (*lang.Workspace, diag.List) {
	f := inputFlags{variables: slices.DeleteFunc(slices.Clone(e.flags.variables), func(a lang.VariableArg) bool { return !lang.Declares(fsys, name, a.Name) })}
	w, diags := loadFrom(fsys, name, &f)
	diags = forModule(w, diags)
	f.sites = slices.DeleteFunc(slices.Clone(e.flags.sites), func(site string) bool { return !w.HasSite(site) })
	if len(f.sites) == 0 {
		return w, diags
	}
	w, diags = loadFrom(fsys, name, &f)
	return w, forModule(w, diags)
}

// Check implements lsp.Program.
func (editing) Check(jobs []job.Job) diag.List { return check(jobs) }

// Plan implements lsp.Program.
func (editing) Plan(ctx context.Context, fsys fs.FS, name string, w *lang.Workspace, i int) (*plan.Plan, error) {
	j, t, diags := targetOf(&w.Jobs[i])
	if leftOut(j, diags) {
		return compiler.Unplanned(j, diags), nil
	}
	if diags.HasErrors() {
		return nil, nil
	}
	p, _, err := compiler.Compile(ctx, j, t)
	if p == nil {
		return nil, err
	}
	if info, err := fs.Stat(fsys, name); err != nil || !info.IsDir() {
		name = path.Dir(name)
	}
	f, _ := readLock(fsys, name)
	if before := f.Find(j.Name, j.Backend.Kind, j.Site); before != nil && before.Inputs == lock.Inputs(j) {
		same, _, err := compiler.Keep(ctx, j, t, p, &before.Choice, before.SinceVersion)
		if same != nil || err != nil {
			return same, err
		}
	}
	return p, nil
}

// Modules implements lsp.Program.
func (editing) Modules(fsys fs.FS, folder string) lang.Modules {
	modules, _ := fetchedFor(fsys, folder)
	return modules
}

// FetchedFor implements lsp.Program.
func (editing) FetchedFor(file string) string {
	folder, _, fetched := strings.Cut(file, "/"+lock.Folder+"/")
	if !fetched {
		return ""
	}
	return cmp.Or(folder, "/")
}

// Real implements lsp.Program.
func (editing) Real(folder string) string {
	real, err := filepath.EvalSymlinks(filepath.FromSlash(folder))
	if err != nil {
		return folder
	}
	return filepath.ToSlash(real)
}

// Versions implements lsp.Program.
func (editing) Versions(backend string) []string {
	for _, b := range emitters() {
		if b.Kind() == backend {
			return b.Versions()
		}
	}
	return nil
}

// CatalogFile implements lsp.Program: editors open files, so an entry becomes
// one in the user's cache folder.
func (editing) CatalogFile(kind, name string) string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	folder := filepath.Join(cache, "ndc-catalog", kind)
	file, src := filepath.Join(folder, name+".hcl"), catalog.Source(kind, name)
	if now, err := os.ReadFile(file); err == nil && bytes.Equal(now, src) {
		return filepath.ToSlash(file)
	}
	if os.MkdirAll(folder, 0o777) != nil || replaceFile(file, src) != nil || os.Chmod(file, 0o444) != nil {
		return ""
	}
	return filepath.ToSlash(file)
}
