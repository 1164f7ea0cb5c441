package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
)

// inputFlags are what build, plan and validate share.
type inputFlags struct {
	job, backend string
	variables    []lang.VariableArg
	json         bool
}

func (f *inputFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.job, "job", "", "only the job with this label")
	c.Flags().StringVar(&f.backend, "backend", "", "only this backend: megatron, torchtitan or deepspeed")
	c.Flags().Var(&variableFlag{f: f}, "var", "set a variable, as NAME=VALUE; may be repeated")
	c.Flags().Var(&variableFlag{f: f, file: true}, "var-file", "read variables from a file; may be repeated")
	c.Flags().BoolVar(&f.json, "json", false, "print results and diagnostics as JSON")
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

// source is an opened input: a file or folder seen from its own folder.
type source struct {
	root string // folder on disk
	name string // in it; "." for the folder
}

// open finds FILE or DIR on disk.
func open(argument string) (source, error) {
	info, err := os.Stat(argument)
	if err != nil {
		return source{}, fmt.Errorf("%s cannot be read: %w", argument, err)
	}
	if info.IsDir() {
		return source{root: argument, name: "."}, nil
	}
	return source{root: filepath.Dir(argument), name: filepath.Base(argument)}, nil
}

// load reads the jobs of FILE or DIR. Variable files are relative to the
// working directory; what lies outside the input's folder is reached through
// the file system's root.
func load(argument string, f *inputFlags) (*lang.Workspace, source, diag.List, error) {
	s, err := open(argument)
	if err != nil {
		return nil, s, nil, err
	}
	fsys := inputFS{root: s.root, extra: map[string]string{}}
	variables := make([]lang.VariableArg, len(f.variables))
	for i, v := range f.variables {
		if v.File != "" {
			name := filepath.ToSlash(v.File)
			fsys.extra[name] = v.File
			v.File = name
		}
		variables[i] = v
	}
	w, diags := lang.Load(fsys, s.name, lang.Options{Variables: variables, NDCVersion: version, Job: f.job, Backend: f.backend})
	relocate(diags, w, s)
	return w, s, diags, nil
}

// relocate names files in diagnostics as the user can open them, from the
// working directory.
func relocate(diags diag.List, w *lang.Workspace, s source) {
	full := func(name string) string {
		if _, ok := w.Files[name]; !ok || name == "" {
			return name
		}
		return filepath.Join(s.root, filepath.FromSlash(name))
	}
	for i := range diags {
		diags[i].Range.Filename = full(diags[i].Range.Filename)
		diags[i].Context.Filename = full(diags[i].Context.Filename)
	}
	for i := range w.Jobs {
		for path, src := range w.Jobs[i].Sources {
			src.Range.Filename = full(src.Range.Filename)
			w.Jobs[i].Sources[path] = src
		}
	}
	for _, name := range keys(w.Files) {
		w.Files[full(name)] = w.Files[name]
	}
}
