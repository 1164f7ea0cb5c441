package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/ndc-dev/ndc/lang/lock"
)

// planted is the folder of a module with new files, and what was there before.
type planted struct {
	root, was string
	sums      []byte // of what was there
}

// plantModule puts the files of a module into a folder: all of them, or the
// folder is as it was or not there, also when this program is killed.
func plantModule(root string, files map[string][]byte, sums string) (p planted, err error) {
	root = filepath.FromSlash(root)
	draft := fmt.Sprintf("%s.new-%d", root, os.Getpid())
	defer os.RemoveAll(draft)
	if err := errors.Join(os.RemoveAll(draft), os.MkdirAll(draft, 0o777)); err != nil {
		return p, err
	}
	inside, err := os.OpenRoot(draft)
	if err != nil {
		return p, err
	}
	defer inside.Close()
	for _, name := range keys(files) {
		if err := inside.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o777); err != nil {
			return p, err
		}
		if err := inside.WriteFile(filepath.FromSlash(name), files[name], 0o666); err != nil {
			return p, err
		}
	}
	p = planted{root: root, was: fmt.Sprintf("%s.old-%d", root, os.Getpid())}
	p.sums, _ = os.ReadFile(lock.SumsPath(root)) // nil without
	if err := os.RemoveAll(p.was); err != nil {
		return p, err
	}
	if err := os.Rename(root, p.was); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	if err := errors.Join(os.Rename(draft, root), replaceFile(lock.SumsPath(root), []byte(sums))); err != nil {
		p.settle(false)
		return p, err
	}
	return p, nil
}

// settle removes what was there before or, where the new files do not stay since
// another module cannot be had, puts it back: the lock is that of before, too. New
// files where there were none are in nobody's way.
func (p *planted) settle(stay bool) {
	if _, err := os.Lstat(p.was); err == nil && !stay {
		_ = errors.Join(os.RemoveAll(p.root), os.Rename(p.was, p.root), os.Remove(lock.SumsPath(p.root)))
		if p.sums != nil {
			_ = replaceFile(lock.SumsPath(p.root), p.sums)
		}
	}
	_ = os.RemoveAll(p.was)
}
