package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
)

// folder is one out/JOB/BACKEND with the files that it shall hold.
type folder struct {
	path  string
	files []backends.Artifact // none: the backend is gone, its files are stale
	owned map[string]string   // path → hash, of the plan.json that is there now
}

// write replaces the files of all folders together: either every file is new
// or every file is as it was.
func write(folders []folder, force bool) diag.List {
	var diags diag.List
	for i := range folders {
		folders[i].owned = readOwned(folders[i].path)
		if !force {
			folders[i].checkOwnership(&diags)
		}
	}
	if diags.HasErrors() {
		return diags
	}
	t := &transaction{}
	if err := t.run(folders); err != nil {
		diags.Error(IDCannotWrite, diag.Range{}, "Output cannot be written", fmt.Sprintf("%v. All files are as they were; choose another folder with -o.", err))
	}
	return diags
}

// readOwned reads which files an earlier build wrote, from its plan.json. It
// reads no more of it than that, so that a plan of another version of ndc
// tells as well.
func readOwned(dir string) map[string]string {
	content, err := os.ReadFile(filepath.Join(dir, planName))
	if err != nil {
		return nil
	}
	var file struct {
		FormatVersion string          `json:"format_version"`
		Artifacts     []plan.Artifact `json:"artifacts"`
	}
	if json.Unmarshal(content, &file) != nil || file.FormatVersion == "" {
		return nil
	}
	owned := map[string]string{}
	for _, a := range file.Artifacts {
		switch {
		case !filepath.IsLocal(filepath.FromSlash(a.Path)): // nothing outside the folder is ndc's
		case a.Path == planName:
			if hash(withoutOwnHash(content, a.SHA256)) == a.SHA256 {
				owned[planName] = hash(content)
			}
		default:
			owned[a.Path] = a.SHA256
		}
	}
	return owned
}

// withoutOwnHash is plan.json as its own hash was taken: with that hash empty.
func withoutOwnHash(content []byte, own string) []byte {
	return bytes.Replace(content, []byte(`"`+own+`"`), []byte(`""`), 1)
}

// checkOwnership refuses to replace files that are not ndc's own, or no
// longer. What already has the new content is never in the way.
func (f *folder) checkOwnership(diags *diag.List) {
	for _, a := range f.files {
		path := filepath.Join(f.path, filepath.FromSlash(a.Path))
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue // a file where a folder must go is reported once, by mkdir
		}
		was, ours := f.owned[a.Path]
		switch {
		case err != nil:
			diags.Error(IDCannotWrite, diag.Range{}, "Output cannot be written", fmt.Sprintf("%s cannot be replaced by a file: %v. Move it away or choose another folder with -o.", path, cause(err)))
		case hash(content) == hash(a.Content) || ours && hash(content) == was:
		case ours:
			diags.Error(IDEditedFile, diag.Range{}, "A generated file was edited",
				fmt.Sprintf("%s is not as ndc wrote it: its hash is not the one in %s. Move your change into the job, or replace the file with --force.", path, planName))
		default:
			diags.Error(IDForeignFile, diag.Range{}, "An output would replace a foreign file",
				fmt.Sprintf("%s exists and ndc did not write it. Move it away, choose another folder with -o, or replace it with --force.", path))
		}
	}
}

// stale lists files of the earlier build that the new one does not have, if
// nobody edited them.
func (f *folder) stale() []string {
	fresh := map[string]bool{}
	for _, a := range f.files {
		fresh[a.Path] = true
	}
	var list []string
	for _, path := range keys(f.owned) {
		full := filepath.Join(f.path, filepath.FromSlash(path))
		content, err := os.ReadFile(full)
		if !fresh[path] && err == nil && hash(content) == f.owned[path] {
			list = append(list, full)
		}
	}
	return list
}

// transaction replaces files so that a failure can be undone.
type transaction struct {
	created []string // folders made
	staged  []rename // new content waiting beside its place
	done    []rename // replaced: from is the backup, "" if there was nothing
}

type rename struct{ from, to string }

func (t *transaction) run(folders []folder) error {
	for i := range folders {
		if err := t.stage(&folders[i]); err != nil {
			return errors.Join(err, t.undo())
		}
	}
	for _, s := range t.staged {
		if err := t.replace(s); err != nil {
			return errors.Join(err, t.undo())
		}
	}
	for i := range folders {
		for _, path := range folders[i].stale() {
			if err := t.replace(rename{to: path}); err != nil {
				return errors.Join(err, t.undo())
			}
		}
	}
	t.forget(folders)
	return nil
}

// stage writes the new files of a folder under temporary names beside their
// places, synced to disk.
func (t *transaction) stage(f *folder) error {
	for _, a := range f.files {
		path := filepath.Join(f.path, filepath.FromSlash(a.Path))
		if err := t.mkdir(filepath.Dir(path)); err != nil {
			return err
		}
		temporary, err := writeTemporary(path, a)
		if temporary != "" {
			t.staged = append(t.staged, rename{temporary, path})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func writeTemporary(path string, a backends.Artifact) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".ndc-*")
	if err != nil {
		return "", err
	}
	mode := os.FileMode(0o644)
	if a.Executable {
		mode = 0o755
	}
	_, err = f.Write(a.Content)
	return f.Name(), errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
}

// mkdir makes a folder and its parents and remembers which were missing.
func (t *transaction) mkdir(path string) error {
	if info, err := os.Stat(path); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("%s must be a folder and is a file", path)
		}
		return nil
	}
	if parent := filepath.Dir(path); parent != path {
		if err := t.mkdir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	t.created = append(t.created, path)
	return nil
}

// replace moves what is at a place to a backup and puts the new file there,
// or nothing when the new file is "".
func (t *transaction) replace(r rename) error {
	backup := ""
	if info, err := os.Lstat(r.to); err == nil {
		if info.IsDir() {
			return fmt.Errorf("%s must be a file and is a folder", r.to)
		}
		backup = filepath.Join(filepath.Dir(r.to), "."+filepath.Base(r.to)+".ndc-old")
		if err := os.Rename(r.to, backup); err != nil {
			return err
		}
	}
	t.done = append(t.done, rename{backup, r.to})
	if r.from == "" {
		return nil
	}
	return os.Rename(r.from, r.to)
}

// undo puts everything back.
func (t *transaction) undo() error {
	var failed error
	for i := len(t.done) - 1; i >= 0; i-- {
		d := t.done[i]
		if d.from == "" {
			failed = errors.Join(failed, ignoreMissing(os.Remove(d.to)))
		} else {
			failed = errors.Join(failed, os.Rename(d.from, d.to))
		}
	}
	for _, s := range t.staged {
		failed = errors.Join(failed, ignoreMissing(os.Remove(s.from)))
	}
	for i := len(t.created) - 1; i >= 0; i-- {
		_ = os.Remove(t.created[i]) // stays if somebody else used it meanwhile
	}
	return failed
}

// forget removes the backups and the folders that are empty now.
func (t *transaction) forget(folders []folder) {
	for _, d := range t.done {
		if d.from != "" {
			_ = os.Remove(d.from)
		}
	}
	for i := range folders {
		folders[i].prune()
	}
}

// prune removes folders that held files of the earlier build and hold nothing
// now. One that still holds something stays, as os.Remove does.
func (f *folder) prune() {
	for _, name := range keys(f.owned) {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			_ = os.Remove(filepath.Join(f.path, filepath.FromSlash(dir)))
		}
	}
	if len(f.files) == 0 {
		_ = os.Remove(f.path)
	}
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
