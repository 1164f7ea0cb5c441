package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Names below the output folder that are there while a build writes, or after
// one was interrupted.
const (
	private  = ".ndc"
	lockFile = private + "/lock"
)

// patience is how long Open waits for another program; a build holds the lock
// for the time of writing alone.
var patience = 10 * time.Second

// BusyError says that another program writes into the folder.
type BusyError struct{ Path, Who string }

// Error names the folder and who holds it.
func (e *BusyError) Error() string {
	return fmt.Sprintf("%s is being written by %s, which did not end within %v", e.Path, e.Who, patience)
}

// errAgain asks to begin anew: whoever had the lock removed its file, or the
// folder, while this program waited.
var errAgain = errors.New("the lock has gone")

// mostTries is how often Open begins anew. Some file systems answer that a folder is
// not there when it can hold no files, such as /proc.
const mostTries = 1000

// acquire opens the folder and takes its lock.
func (o *Output) acquire(ctx context.Context) error {
	deadline := time.Now().Add(patience)
	for tries := 1; ; tries++ {
		err := o.try()
		if err == nil {
			return nil
		}
		o.leave()
		switch {
		case errors.Is(err, errAgain) && tries < mostTries && ctx.Err() == nil:
			continue
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return err
		case time.Now().After(deadline):
			return &BusyError{Path: o.path, Who: o.holder()}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Alone does some work while no other program does such work in a folder, so that a
// file that both bring up to date keeps what both say. It locks the folder itself, for
// which nothing has to be written there. Where a file system has no locks, or somebody
// holds one for too long, the work is done all the same.
func Alone(ctx context.Context, folder string, work func()) {
	f, err := os.Open(folder)
	if err == nil {
		defer func() { _ = f.Close() }()
		for deadline := time.Now().Add(patience); errors.Is(flock(f), syscall.EWOULDBLOCK) && time.Now().Before(deadline) && ctx.Err() == nil; {
			time.Sleep(5 * time.Millisecond)
		}
	}
	work()
}

// try takes the lock if it is free. The lock is a file that is there only
// while somebody holds it, so that nothing stays behind; one that is no longer
// in its place when it is ours locks nothing.
func (o *Output) try() error {
	if err := o.make(); err != nil {
		return err
	}
	root, err := os.OpenRoot(o.path)
	if err != nil {
		return again(err)
	}
	o.root = root
	fresh := root.Mkdir(private, 0o777)
	if fresh != nil && !errors.Is(fresh, fs.ErrExist) {
		return again(o.told(fresh))
	}
	if err := o.onlyFolders(private); err != nil {
		return err
	}
	o.lock, err = root.OpenFile(lockFile, os.O_RDWR|os.O_CREATE|syscall.O_NONBLOCK, 0o666)
	if err != nil {
		if fresh == nil {
			_ = root.Remove(private) // whoever wants to lock in it makes it anew
		}
		return again(o.told(err))
	}
	switch err := flock(o.lock); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return err
	case err != nil:
		o.Unlocked = err
	}
	return o.sign()
}

// again turns the absence of what was just there into another try.
func again(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", errAgain, err)
	}
	return err
}

// sign writes into the lock who holds it.
func (o *Output) sign() error {
	ours, err := o.lock.Stat()
	if err != nil {
		return err
	}
	there, err := o.root.Lstat(lockFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errAgain
	case err != nil:
		return err
	case !there.Mode().IsRegular():
		return fmt.Errorf("%s is %s; remove it", o.name(lockFile), kindOf(there.Mode()))
	case !os.SameFile(ours, there):
		return errAgain
	}
	host, _ := os.Hostname()
	if err = o.lock.Truncate(0); err == nil {
		_, err = fmt.Fprintf(o.lock, "process %d on %s\n", os.Getpid(), host)
	}
	if err != nil {
		o.unlock()
		return o.told(err)
	}
	return nil
}

// holder is what the lock says of who holds it.
func (o *Output) holder() string {
	root, err := os.OpenRoot(o.path)
	if err != nil {
		return "another program"
	}
	defer root.Close()
	content, _, err := read(root, lockFile, 200)
	if who := strings.TrimSpace(string(content)); err == nil && who != "" {
		return who
	}
	return "another program"
}

// leave closes what try opened.
func (o *Output) leave() {
	if o.lock != nil {
		_ = o.lock.Close()
	}
	if o.root != nil {
		_ = o.root.Close()
	}
	o.lock, o.root = nil, nil
}

// release removes the lock while it is held, and the private folder with it
// unless an interrupted build waits there. A lock that cannot be removed is
// free all the same.
func (o *Output) release() {
	o.unlock()
	o.leave()
}

// unlock removes the lock that is held, and the private folder where nothing else
// is in it.
func (o *Output) unlock() {
	_ = o.root.Remove(lockFile)
	_ = o.root.Remove(private)
}

// make makes the output folder and its parents, and remembers which were
// missing.
func (o *Output) make() error {
	var missing []string
	for dir := filepath.Clean(o.path); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		if target, err := os.Readlink(dir); err == nil {
			return &placeError{dir, fmt.Sprintf("is a symbolic link to %s, which is not there", target)}
		}
		missing = append(missing, dir)
	}
	err := os.MkdirAll(o.path, 0o777)
	if len(missing) > 0 {
		o.made = missing
	}
	var at *fs.PathError
	if errors.As(err, &at) && errors.Is(err, syscall.ENOTDIR) {
		return &placeError{at.Path, "must be a folder and is a file"}
	}
	return err
}

// removeMade removes the folders that make made, if they are empty.
func (o *Output) removeMade() {
	for _, dir := range o.made {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() || os.Remove(dir) != nil {
			return
		}
	}
}

// onlyFolders fails where something else than a folder, such as a link, stands
// at a path or above it. What is missing is no failure.
func (o *Output) onlyFolders(dir string) error {
	if dir == "." {
		return nil
	}
	if err := o.onlyFolders(path.Dir(dir)); err != nil {
		return err
	}
	info, err := o.root.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return &placeError{o.name(dir), "must be a folder and is a symbolic link, which ndc does not follow below the output folder"}
	case !info.IsDir():
		return &placeError{o.name(dir), "must be a folder and is " + kindOf(info.Mode())}
	}
	return nil
}

// placeError says that something else than a folder stands at a place.
type placeError struct{ path, why string }

func (e *placeError) Error() string { return e.path + " " + e.why }

// kindOf names a kind of file.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a file"
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// read reads a regular file of a limited size, through no link at its end and
// without waiting for a writer; ok is false for everything else.
func read(root *os.Root, name string, most int64) (content []byte, ok bool, err error) {
	before, err := root.Lstat(name)
	if err != nil || !before.Mode().IsRegular() || before.Size() > most {
		return nil, false, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !os.SameFile(before, info) {
		return nil, false, err
	}
	content, err = io.ReadAll(io.LimitReader(f, most+1))
	return content, err == nil && int64(len(content)) <= most, err
}

// told names the place of an error as the user can open it.
func (o *Output) told(err error) error {
	var at *fs.PathError
	var move *os.LinkError
	switch {
	case errors.As(err, &move):
		return fmt.Errorf("%s cannot be moved to %s: %w", o.name(move.Old), o.name(move.New), move.Err)
	case errors.As(err, &at):
		return fmt.Errorf("%s: %w", o.placeOf(at), at.Err)
	}
	return err
}

// placeOf is where an error happened. Calls below the folder (openat, mkdirat)
// name places in it, calls to it and to an opened file whole paths.
func (o *Output) placeOf(at *fs.PathError) string {
	rest, whole := strings.CutPrefix(at.Path, o.path)
	if whole && (rest == "" || os.IsPathSeparator(rest[0])) && !strings.HasSuffix(at.Op, "at") {
		return filepath.Clean(at.Path)
	}
	return o.name(at.Path)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
