package main

import (
	"io/fs"
	"os"
	"slices"
)

// inputFS is the folder of the input, plus files that the command line names
// by paths that may lie outside it.
type inputFS struct {
	root  string
	extra map[string]string // name given to lang → path on disk
}

// Open implements fs.FS.
func (f inputFS) Open(name string) (fs.File, error) {
	if path, ok := f.extra[name]; ok {
		return os.Open(path)
	}
	return os.DirFS(f.root).Open(name)
}

// ReadDir implements fs.ReadDirFS.
func (f inputFS) ReadDir(name string) ([]fs.DirEntry, error) {
	return fs.ReadDir(os.DirFS(f.root), name)
}

func keys[V any](m map[string]V) []string {
	list := make([]string, 0, len(m))
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}
