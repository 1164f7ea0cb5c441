package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// rewrite gives a file of the user a new content. The file stays what it was:
// its links, owner and mode, and one that may not be written stays as it is.
// Its old content lies beside it until the new one is on disk, and is put back
// when that fails.
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
		return errors.Join(err, os.Remove(backup))
	}
	return os.Remove(backup)
}

// saved writes a copy of a file beside it, synced to disk; none stays when
// that fails.
func saved(path string, content []byte) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".ndc-*")
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
