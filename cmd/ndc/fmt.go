package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/lock"
	"github.com/ndc-dev/ndc/output"
)

func newFmt(stdout, stderr io.Writer) *cobra.Command {
	var check, showDiff bool
	c := &cobra.Command{
		Use: "fmt [FILE|DIR]...", Short: "Format job files", Args: noneEmpty,
		Long: `Rewrite job files in the canonical style and list those that changed. With - it
reads standard input and writes standard output. --check changes nothing and
fails when a file is not formatted; --diff shows what would change.`,
		RunE: func(c *cobra.Command, args []string) error {
			f := &formatter{terminal: newTerminal(stdout, stderr, false), check: check, diff: showDiff}
			if len(args) == 0 {
				args = []string{"."}
			}
			for _, a := range args {
				f.failed(f.argument(a, c.InOrStdin()))
			}
			f.diagnostics(f.diags, f.files)
			if f.diags.HasErrors() {
				return exitError(exitInput)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&check, "check", false, "change nothing; fail when a file is not formatted")
	c.Flags().BoolVar(&showDiff, "diff", false, "show the changes; with --check change nothing")
	return c
}

type formatter struct {
	*terminal
	check, diff bool
	diags       diag.List
	files       map[string][]byte
}

// argument formats a file, every job and variable file of a folder, or stdin.
func (f *formatter) argument(name string, stdin io.Reader) error {
	if name == "-" {
		return f.stream(stdin)
	}
	info, err := os.Stat(name)
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", name, cause(err))
	}
	if !info.IsDir() {
		return f.file(name)
	}
	return f.folder(name)
}

// folder formats what ndc reads of a folder: no hidden files, which editors
// leave, and no folders in it.
func (f *formatter) folder(name string) error {
	entries, err := os.ReadDir(name)
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", name, cause(err))
	}
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") || ext != ".hcl" && ext != ".ndcvars" {
			continue
		}
		f.failed(f.file(filepath.Join(name, e.Name())))
	}
	return nil
}

// failed keeps what went wrong with a file, if anything did. The others are formatted all
// the same.
func (f *formatter) failed(err error) {
	if err != nil {
		f.diags = append(f.diags, failureOf(err))
	}
}

// stdinName is what diagnostics call standard input, which - stands for on the command line.
const stdinName = "<stdin>"

func (f *formatter) stream(stdin io.Reader) error {
	src, diags := lang.Read(stdin, stdinName)
	if f.diags.Append(diags); diags.HasErrors() {
		return nil
	}
	formatted, ok := f.format(stdinName, src)
	if !ok {
		return nil
	}
	if f.check || f.diff {
		return f.report(stdinName, src, formatted)
	}
	_, err := f.out.Write(formatted)
	return err
}

func (f *formatter) format(name string, src []byte) ([]byte, bool) {
	formatted, diags := lang.Format(src, name)
	f.diags.Append(diags)
	if f.files == nil {
		f.files = map[string][]byte{}
	}
	f.files[name] = src
	return formatted, !diags.HasErrors()
}

func (f *formatter) file(path string) (err error) {
	if isFetched(path) {
		f.diags.Warn(IDFetched, diag.Range{}, "File is left as it is", fmt.Sprintf("%s is of a module that ndc init fetched, which is held to its hash in ndc.lock.hcl.", path))
		return nil
	}
	folder := filepath.Dir(path)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		folder = filepath.Dir(target)
	}
	output.Alone(signals.context(), folder, func() { err = f.alone(path) })
	return err
}

// alone formats a file that no other command formats meanwhile.
func (f *formatter) alone(path string) error {
	if !f.check {
		if err := mend(path); err != nil {
			return fmt.Errorf("%s cannot be formatted: %w", path, cause(err))
		}
	}
	src, diags := lang.ReadFile(disk{}, filepath.ToSlash(path))
	if f.diags.Append(diags); diags.HasErrors() {
		return nil
	}
	formatted, ok := f.format(path, src)
	if !ok || bytes.Equal(src, formatted) {
		return nil
	}
	if !f.check {
		if err := rewrite(path, formatted); err != nil {
			return fmt.Errorf("%s cannot be formatted: %w", path, cause(err))
		}
	}
	return f.report(path, src, formatted)
}

// isFetched reports whether a file is one that ndc init fetched.
func isFetched(path string) bool {
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	return strings.Contains(filepath.ToSlash(path), "/"+lock.Folder+"/")
}

// report tells that a file is not formatted, as asked for.
func (f *formatter) report(path string, src, formatted []byte) error {
	if bytes.Equal(src, formatted) {
		return nil
	}
	if f.check {
		argument := render.Quote(path)
		if path == stdinName {
			argument = "-"
		}
		f.diags.Error(IDNotFormatted, diag.Range{}, "File is not formatted", fmt.Sprintf("%s is not in the canonical style. Run: ndc fmt %s", path, argument))
	}
	if f.diff {
		return f.print(string(diff.Diff(inLine(path), src, inLine(path)+" (formatted)", formatted)))
	}
	return f.print(inLine(path) + "\n")
}
