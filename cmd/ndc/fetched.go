package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/fetch"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/lock"
)

// wanted is a module that a call asks for.
type wanted struct {
	call    *lang.Call
	by      *caller
	source  lock.Source
	address string
	root    string       // the folder of its files
	known   *lock.Module // of the lock, which is to be had again; nil: what the call asks for now
}

// fetched is what a source gave.
type fetched struct {
	files           *fetch.Files
	commit, version string
	repository      *fetch.Repository // nil: an archive
	err             error             // why it gave nothing
}

// get reads a source, once.
func (i *initializer) get(w *wanted) (*fetched, error) {
	source, known := w.source, w.known
	if source.Git == "" {
		name := lang.Beside(disk{}, w.by.folder, source.Archive)
		if w.by.root != "" && !inFolder(name, w.by.root) {
			return nil, fmt.Errorf("it lies outside of %s, and a module that is fetched reads nothing outside of its source", w.by.root)
		}
		content, err := readArchive(name)
		if err != nil {
			return nil, err
		}
		files, err := fetch.Archive(name, content)
		return &fetched{files: files}, err
	}
	key := source.Git + " " + source.Ref + " " + w.call.Version
	if known != nil {
		key = source.Git + " " + known.Commit
	}
	if f := i.fetched[key]; f != nil {
		if known == nil || f.err != nil {
			return f, f.err
		}
		own := *f
		own.version = known.Version // another module may have the same commit by another name
		return &own, nil
	}
	r, err := i.ask(source.Git)
	f := &fetched{repository: r}
	if err == nil {
		err = f.take(signals.context(), source, w.call.Version, known)
	}
	if errors.Is(err, context.Canceled) {
		signals.wait()
	}
	f.err, i.fetched[key] = err, f
	return f, err
}

// versionError is of the version that a module block asks for, not of its source.
type versionError struct{ error }

// take reads the commit that the lock has, or that a source and a constraint ask for now.
func (f *fetched) take(ctx context.Context, source lock.Source, constraint string, known *lock.Module) (err error) {
	r, ref, twins := f.repository, source.Ref, []string(nil)
	switch {
	case known != nil:
		f.commit, f.version = known.Commit, known.Version
	case constraint != "":
		if ref, f.version, err = lock.Highest(r.Tags(), constraint); err != nil {
			return versionError{err}
		}
		twins = lock.Twins(r.Tags(), ref)
	}
	if f.commit == "" {
		if f.commit, err = r.Resolve(ref); err != nil {
			return err
		}
		for _, twin := range twins {
			if other, _ := r.Resolve(twin); other != f.commit {
				return versionError{fmt.Errorf("its tags %q and %q are one version and two commits. Whoever keeps it can remove one of them; ?ref= in place of a version names either", ref, twin)}
			}
		}
	}
	dir, remove, err := signals.temporary("ndc-init-")
	if err != nil {
		return err
	}
	defer remove()
	if f.files, err = r.Files(ctx, f.commit, dir); errors.Is(err, fetch.ErrUnreachable) && known != nil && source.Ref != known.Commit {
		err = fmt.Errorf("%w. Whoever keeps it can give that commit a tag; ndc init --upgrade takes what is there now instead", err)
	}
	return err
}

// readArchive reads an archive, which is no larger than what it may unpack to.
func readArchive(name string) ([]byte, error) {
	f, err := disk{}.Open(name)
	if err != nil {
		return nil, cause(err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, fetch.MaxBytes+1))
	if err == nil && len(content) > fetch.MaxBytes {
		err = fmt.Errorf("it has more than %d MiB", fetch.MaxBytes>>20)
	}
	return content, err
}

// noFolder tells of a folder that what was fetched does not have which there are: those of
// its name, as where a version moved it, else the first.
func (f *fetched) noFolder(name string) error {
	const most = 5
	what := "it"
	switch {
	case f.version != "":
		what = "version " + f.version
	case f.commit != "":
		what = fmt.Sprintf("commit %.12s", f.commit)
	}
	there := f.files.Folders()
	if same := slices.DeleteFunc(slices.Clone(there), func(other string) bool { return path.Base(other) != path.Base(name) }); len(same) > 0 {
		there = same
	}
	if len(there) == 0 {
		return fmt.Errorf("%s has no folder %q, and no files of modules", what, name)
	}
	var names []string
	for _, folder := range there[:min(most, len(there))] {
		names = append(names, strconv.Quote(folder))
	}
	if len(there) > most {
		names = append(names, "…")
	}
	return fmt.Errorf("%s has no folder %q; modules are in %s", what, name, strings.Join(names, ", "))
}
