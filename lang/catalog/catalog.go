// Package catalog holds the models, GPUs and clusters that ndc knows, as
// embedded files in the users' own language, one block per file, each number
// with its source. It serves bytes only; package lang evaluates them like any
// user's file, and tests hold every entry to its published configuration.
package catalog

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed all:models all:gpus all:clusters
var files embed.FS

// folders maps the kinds to the folders of their files.
var folders = map[string]string{"model": "models", "gpu": "gpus", "cluster": "clusters"}

// Kinds lists the kinds of entries: model, gpu and cluster.
func Kinds() []string { return []string{"model", "gpu", "cluster"} }

// Names lists the entries of a kind in alphabetical order; nil for an unknown
// kind.
func Names(kind string) []string {
	folder, ok := folders[kind]
	if !ok {
		return nil
	}
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		panic(err) // the folder is embedded
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".hcl"); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Source returns the file of one entry as it is printed for pasting; nil when
// there is none.
func Source(kind, name string) []byte {
	src, err := files.ReadFile(path.Join(folders[kind], name+".hcl"))
	if err != nil {
		return nil
	}
	return src
}
