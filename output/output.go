// Package output replaces generated files below one output folder: all of a
// build together or none, whatever ends the program in between, and never
// anything outside that folder or anything that ndc did not write. It knows
// folders, files, hashes, a lock and a journal. Of plans it knows that a
// folder's plan.json, job.json or trial.json lists the files beside it; what the files say
// is the business of those who make them, and how problems are reported that of
// the command.
//
// A build passes four stages. It takes the lock of the output folder, writes
// all new files into .ndc/new there, and records in a journal what will be
// moved where. From then on the build is decided: markers go into the folders
// that change, so that their scripts refuse to start, old files move to
// .ndc/old, new ones to their places, and the markers, the journal and .ndc
// go. A program that ends in between leaves the journal, and the next one that
// opens the folder finishes the build. A move that fails undoes it instead.
// Each step can be repeated, so that ending the repair does no harm either.
package output

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
)

// Folder is one folder below the output folder with all the files that ndc
// shall have in it.
type Folder struct {
	Path  string // with slashes; "." is the output folder itself
	Files []File // none: what ndc wrote there is stale
	// Kind is the manifest that folders of its kind have, Manifest or JobManifest: the
	// folder of a job at a site may be called as that of a backend of another job. What is
	// there by the other one is not touched; "" stands for either.
	Kind string
}

// File is one file, its path with slashes and relative to the folder.
type File struct {
	Path       string
	Content    []byte
	Executable bool
}

// Result is what became of the files of one folder, or would become. Lists
// hold paths relative to the folder, sorted.
type Result struct {
	Path                            string
	Written, Changed, Kept, Removed []string
	Edited                          []string // stale, but edited since ndc wrote them, and so left alone
	Earlier                         int      // files that the plan.json of an earlier build names
}

// IsEmpty reports whether nothing of ndc's is or was in the folder.
func (r *Result) IsEmpty() bool {
	return len(r.Written)+len(r.Changed)+len(r.Kept)+len(r.Removed)+len(r.Edited) == 0
}

// IsCurrent reports whether a build would change nothing in the folder.
func (r *Result) IsCurrent() bool {
	return len(r.Written)+len(r.Changed)+len(r.Removed)+len(r.Edited) == 0
}

// Output is an output folder that this program has locked.
type Output struct {
	path string // as the user wrote it
	root *os.Root
	lock *os.File
	made []string // the folder and its parents, where they were missing

	// Unlocked says why the folder could not be locked where its file system
	// has no locks; nil otherwise.
	Unlocked error
	// Repaired reports that the folder held an interrupted build, which Open
	// finished or took back.
	Repaired bool
}

// Open makes the output folder if it is missing, waits for its lock, and
// finishes or takes back what an interrupted build left.
func Open(ctx context.Context, path string) (*Output, error) {
	o := &Output{path: path}
	if err := o.acquire(ctx); err != nil {
		o.removeMade()
		return nil, err
	}
	if err := o.repair(); err != nil {
		o.Close()
		return nil, &UnfinishedError{fmt.Errorf("a build into %s was interrupted and can be neither finished nor undone: %w", path, o.told(err))}
	}
	return o, nil
}

// Close gives the lock back. Of an output folder that was missing and stayed
// empty nothing is left.
func (o *Output) Close() {
	o.release()
	o.removeMade()
}

// Compare says what Replace would do, problems left out.
func (o *Output) Compare(folders []Folder) []Result {
	var c change
	for i := range folders {
		c.folder(o, &folders[i], true)
	}
	return c.results
}

// Replace makes the folders hold their files: either all of them, or every
// file is as it was. It refuses to replace files that ndc did not write, or
// that were edited since, unless forced to. Until the new files are on disk
// ctx can end it.
func (o *Output) Replace(ctx context.Context, folders []Folder, force bool) ([]Result, []Problem, error) {
	var c change
	for i := range folders {
		c.folder(o, &folders[i], force)
	}
	if len(c.problems) > 0 || len(c.folders) == 0 {
		return c.results, c.problems, nil
	}
	if err := o.stage(ctx, &c); err != nil {
		_ = o.clear() // or the next Open does
		return nil, nil, o.told(err)
	}
	if err := o.commit(c.journal()); err != nil {
		return nil, nil, err
	}
	return c.results, nil, nil
}

// Read returns a file below the output folder; nil when there is no plain file
// of that name.
func (o *Output) Read(name string) []byte {
	if o.onlyFolders(path.Dir(name)) != nil {
		return nil
	}
	content, ok, err := read(o.root, name, largest)
	if err != nil || !ok {
		return nil
	}
	return content
}

// name is a place below the output folder as the user can open it.
func (o *Output) name(path string) string { return filepath.Join(o.path, filepath.FromSlash(path)) }
