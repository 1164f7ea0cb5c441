package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ndc-dev/ndc/lang"
)

// rewrite gives a file of the user a new content. The file stays what it was:
// its links, owner and mode, and one that may not be written stays as it is.
// Its old content lies beside it until the new one is on disk, and is put back
// when that fails, or by mend.
func rewrite(path string, content []byte) (err error) {
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	old, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	backup, err := saved(path, old)
	if err != nil {
		return err
	}
	if err := overwrite(f, content); err != nil {
		if undone := overwrite(f, old); undone != nil {
			return errors.Join(err, undone, errors.New("the old content is in "+backup))
		}
		return errors.Join(err, discard(backup))
	}
	return discard(backup)
}

// discard removes a backup, if another command has not.
func discard(backup string) error {
	if err := os.Remove(backup); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// mend ends what formatting began when it was killed: it puts the old content back
// where the new one is not whole, and removes the backup.
func mend(path string) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), backupPrefix(path)) || !e.Type().IsRegular() {
			continue
		}
		if err := mendFrom(path, filepath.Join(filepath.Dir(path), e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// mendFrom mends a file that has a backup.
func mendFrom(path, backup string) error {
	old, diags := lang.ReadFile(disk{}, filepath.ToSlash(backup))
	now, more := lang.ReadFile(disk{}, filepath.ToSlash(path))
	if diags.Append(more); diags.HasErrors() {
		return nil // what is wrong is said when the file is read
	}
	formatted, diags := lang.Format(old, path)
	valid := !diags.HasErrors()
	switch {
	case bytes.Equal(now, old), valid && bytes.Equal(now, formatted):
	case valid && torn(now, old, formatted):
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		if err := errors.Join(overwrite(f, old), f.Close()); err != nil {
			return err
		}
	case bytes.HasPrefix(now, old): // a backup that was not whole yet
	default:
		return fmt.Errorf("it was edited after a format of it was killed, and %s has what was there before: remove one of them", backup)
	}
	return discard(backup)
}

// torn reports whether a content is what overwriting an old one with a new one
// leaves before its end: the new one's beginning and the old one's rest.
func torn(now, old, new []byte) bool {
	k := 0
	for k < len(now) && k < len(new) && now[k] == new[k] {
		k++
	}
	return bytes.Equal(now[k:], old[min(k, len(old)):])
}

// backupPrefix is what the names of a file's backups begin with.
func backupPrefix(path string) string { return "." + filepath.Base(path) + ".ndc-" }

// saved writes a copy of a file beside it, synced to disk; none stays when
// that fails.
func saved(path string, content []byte) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), backupPrefix(path)+"*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// overwrite replaces all of an open file.
func overwrite(f *os.File, content []byte) error {
	if _, err := f.WriteAt(content, 0); err != nil {
		return err
	}
	return errors.Join(f.Truncate(int64(len(content))), f.Sync())
}
