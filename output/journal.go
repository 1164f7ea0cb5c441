package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

const (
	newFiles    = private + "/new"
	oldFiles    = private + "/old"
	journalFile = private + "/journal.json"
	draftFile   = private + "/journal.new"
)

// Marker is the file that lies in a folder while its files are replaced. The
// scripts that ndc writes do not start beside it.
const Marker = ".ndc-unfinished"

// markerText is for whoever finds the marker.
const markerText = "The files in this folder are being replaced, or the build that replaced them was interrupted.\nThe next ndc build or ndc clean finishes it.\n"

// journal says what a build moves, so that whoever finds it can finish or undo
// the moves. Step number i takes its new file from .ndc/new/i and leaves what
// it replaces as .ndc/old/i: where these two and the file itself are says how
// far the step came.
type journal struct {
	Undo    bool     `json:"undo"`    // a move failed: all are taken back
	Folders []string `json:"folders"` // get the marker
	Missing []string `json:"missing"` // folders to make, parents first
	Steps   []step   `json:"steps"`
	Emptied []string `json:"emptied"` // folders to remove if they are empty, children first
}

// step is one file that is written, replaced or removed.
type step struct {
	Path string `json:"path"`
	New  bool   `json:"new"`           // .ndc/new/i goes there
	Old  string `json:"old,omitempty"` // what lies there: nothing, the hash of a file, or its kind
}

// state is an entry as a journal has it.
func (e *entry) state() string {
	switch {
	case !e.exists:
		return ""
	case e.hash != "":
		return e.hash
	}
	return kindOf(e.mode)
}

func numbered(dir string, i int) string { return dir + "/" + strconv.Itoa(i) }

// commit writes the journal, from which on the build is decided, and makes the
// moves. A failure takes all of them back.
func (o *Output) commit(j *journal) error {
	if err := o.record(j); err != nil {
		return o.undone(err, o.forget())
	}
	err := o.forward(j)
	if err != nil {
		return o.undone(err, o.undo(j))
	}
	if err := o.finish(j); err != nil {
		return &UnfinishedError{o.told(err)}
	}
	return nil
}

// undone is the failure of a build that was taken back, or could not be.
func (o *Output) undone(err, failed error) error {
	if failed == nil {
		return o.told(err)
	}
	return &UnfinishedError{fmt.Errorf("%w; %w", o.told(err), o.told(failed))}
}

// UnfinishedError says that some files may be new and some old. The scripts in
// their folders do not start, and the next Open tries again.
type UnfinishedError struct{ Err error }

// Error is that of the change that was left.
func (e *UnfinishedError) Error() string { return e.Err.Error() }

// Unwrap returns the failure itself.
func (e *UnfinishedError) Unwrap() error { return e.Err }

// repair finishes or takes back what an interrupted build left.
func (o *Output) repair() error {
	j, err := o.readJournal()
	if err != nil {
		return err
	}
	if j == nil {
		return o.clear()
	}
	o.Repaired = true
	if j.Undo {
		return o.backward(j)
	}
	if o.forward(j) == nil {
		return o.finish(j)
	}
	return o.undo(j)
}

// undo takes all moves back. That the journal cannot say so, as on a full
// disk, matters only if they cannot be taken back now.
func (o *Output) undo(j *journal) error {
	j.Undo = true
	unsaid := o.record(j)
	if err := o.backward(j); err != nil {
		return errors.Join(unsaid, err)
	}
	return nil
}

// record makes the journal durable: all of it, or none.
func (o *Output) record(j *journal) error {
	content, err := json.Marshal(j)
	if err != nil {
		return err
	}
	if err := ignoreMissing(o.root.Remove(draftFile)); err != nil {
		return err
	}
	if err := o.create(draftFile, File{Content: content}); err != nil {
		return err
	}
	if err := o.root.Rename(draftFile, journalFile); err != nil {
		return err
	}
	return o.sync(private)
}

// readJournal returns nil when there is none.
func (o *Output) readJournal() (*journal, error) {
	content, ok, err := read(o.root, journalFile, largest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var j journal
	if !ok || json.Unmarshal(content, &j) != nil || !j.isLocal() {
		return nil, fmt.Errorf("%s is not a journal of ndc; look at it, and remove it", o.name(journalFile))
	}
	return &j, nil
}

// isLocal reports whether a journal names nothing outside the output folder.
func (j *journal) isLocal() bool {
	for _, s := range j.Steps {
		if !isLocal(s.Path) {
			return false
		}
	}
	return !slices.ContainsFunc(slices.Concat(j.Folders, j.Missing, j.Emptied), func(dir string) bool { return dir != "." && !isLocal(dir) })
}

// forward makes the moves that are not made yet.
func (o *Output) forward(j *journal) error {
	for _, dir := range j.Missing {
		if err := o.onlyFolders(dir); err != nil {
			return err
		}
		if err := o.root.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	for _, dir := range j.Folders {
		if err := o.mark(dir); err != nil {
			return err
		}
	}
	for i, s := range j.Steps {
		if err := o.move(i, s); err != nil {
			return err
		}
	}
	return o.syncAll(j)
}

// mark puts the marker into a folder, before anything in it moves. One that is
// not there was emptied by the build that is repaired.
func (o *Output) mark(dir string) error {
	if err := o.onlyFolders(dir); err != nil || dir != "." && !o.has(dir) {
		return err
	}
	err := o.create(path.Join(dir, Marker), File{Content: []byte(markerText)})
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return o.sync(dir)
}

// move makes one step, from wherever it stopped. What lies at the place must
// be what the build found there.
func (o *Output) move(i int, s step) error {
	from, backup := numbered(newFiles, i), numbered(oldFiles, i)
	waits, kept := o.has(from), o.has(backup)
	if s.New && !waits || !s.New && kept {
		return nil // made
	}
	there, err := o.look(s.Path)
	switch {
	case err != nil:
		return err
	case kept && there.exists, there.exists && there.state() != s.Old:
		return fmt.Errorf("%s was changed by somebody else meanwhile", o.name(s.Path))
	case there.exists:
		if err := o.root.Rename(s.Path, backup); err != nil {
			return err
		}
	}
	if !s.New {
		return nil
	}
	return o.root.Rename(from, s.Path)
}

// has reports whether something lies at a place.
func (o *Output) has(name string) bool {
	_, err := o.root.Lstat(name)
	return err == nil
}

// syncAll makes all moves durable.
func (o *Output) syncAll(j *journal) error {
	dirs := map[string]bool{newFiles: true, oldFiles: true}
	for _, s := range j.Steps {
		dirs[path.Dir(s.Path)] = true
	}
	for _, dir := range j.Missing {
		dirs[path.Dir(dir)] = true
	}
	for _, dir := range sortedKeys(dirs) {
		if err := o.sync(dir); err != nil {
			return err
		}
	}
	return nil
}

// finish ends a build whose moves are all made and durable.
func (o *Output) finish(j *journal) error {
	if err := o.unmark(j); err != nil {
		return err
	}
	for _, dir := range j.Emptied {
		if o.onlyFolders(dir) == nil {
			_ = o.root.Remove(dir) // stays while something is in it
		}
	}
	return o.forget()
}

// backward takes back what forward moved.
func (o *Output) backward(j *journal) error {
	for i, s := range slices.Backward(j.Steps) {
		if err := o.moveBack(i, s); err != nil {
			return err
		}
	}
	if err := errors.Join(o.syncAll(j), o.unmark(j)); err != nil {
		return err
	}
	for _, dir := range slices.Backward(j.Missing) {
		if o.onlyFolders(dir) == nil {
			_ = o.root.Remove(dir) // stays if somebody else used it meanwhile
		}
	}
	return o.forget()
}

// moveBack takes one step back, from wherever it stopped.
func (o *Output) moveBack(i int, s step) error {
	from, backup := numbered(newFiles, i), numbered(oldFiles, i)
	if o.onlyFolders(path.Dir(s.Path)) != nil {
		return nil // nothing of this build can be there
	}
	if s.New && !o.has(from) && o.has(s.Path) {
		if err := o.root.Rename(s.Path, from); err != nil {
			return err
		}
	}
	if o.has(backup) && !o.has(s.Path) {
		return o.root.Rename(backup, s.Path)
	}
	return nil
}

// unmark removes the markers.
func (o *Output) unmark(j *journal) error {
	for _, dir := range j.Folders {
		if o.onlyFolders(dir) != nil {
			continue
		}
		if err := ignoreMissing(o.root.Remove(path.Join(dir, Marker))); err != nil {
			return err
		}
		if err := o.sync(dir); err != nil {
			return err
		}
	}
	return nil
}

// forget removes the journal and then what it needed. Of the latter the next
// Open removes what stays.
func (o *Output) forget() error {
	if err := ignoreMissing(o.root.Remove(journalFile)); err != nil {
		return err
	}
	_ = o.sync(private)
	_ = o.clear()
	return nil
}

// clear empties the private folder, the lock left out. No journal is there.
func (o *Output) clear() error {
	err := ignoreMissing(o.root.Remove(draftFile))
	for _, dir := range []string{newFiles, oldFiles} {
		if e := o.onlyFolders(dir); e != nil {
			return errors.Join(err, e)
		}
		entries, _ := fs.ReadDir(o.root.FS(), dir)
		for _, e := range entries {
			if strings.Trim(e.Name(), "0123456789") == "" {
				err = errors.Join(err, ignoreMissing(o.root.Remove(dir+"/"+e.Name())))
			}
		}
		_ = o.root.Remove(dir)
	}
	return err
}
