package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// follower reads logs as they grow. A log that a program has put aside is read on
// under whatever name it has now, and a new one of its name beside it: a file is
// told by what it is, not by its name, and none is read twice.
type follower struct {
	line func(text string)
	logs []*followed
}

// followed is a log that is held open, so that it can be read to its end when its
// name leads elsewhere, and no other file is taken for it.
type followed struct {
	name string
	file fs.File
	info fs.FileInfo
	at   int64  // bytes of whole lines that were read
	tail []byte // the last of them
	long bool   // the next byte is still of a line of which enough was read
}

// longestTail is how many bytes before the place in a log tell whether it was begun
// anew since. They hold a step, a time or a loss, of which the other has another.
const longestTail = 256

// advance reads what the logs of some names have more. A line that is not whole yet is
// left for the next time. A name that leads nowhere for a moment, as while logs are
// rotated, has nothing more.
func (f *follower) advance(names []string) error {
	for _, name := range names {
		err := f.find(name)
		if errors.Is(err, fs.ErrNotExist) && f.has(name) {
			err = nil
		}
		if err != nil {
			return fmt.Errorf("%s cannot be read: %w", name, cause(err))
		}
	}
	for _, l := range f.logs {
		err := l.read(f.line)
		if errors.Is(err, syscall.ESTALE) { // another machine deleted it: nothing more comes
			continue
		}
		if err != nil {
			return fmt.Errorf("%s cannot be read: %w", l.name, cause(err))
		}
	}
	return nil
}

// has reports whether a log of this name was read.
func (f *follower) has(name string) bool {
	return slices.ContainsFunc(f.logs, func(l *followed) bool { return l.name == name })
}

// find opens the log that a name leads to, unless it is held already.
func (f *follower) find(name string) error {
	file, err := openLog(name)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil || slices.ContainsFunc(f.logs, func(l *followed) bool { return os.SameFile(l.info, info) }) {
		file.Close()
		return err
	}
	f.logs = append(f.logs, &followed{name: name, file: file, info: info})
	return nil
}

// close lets go of the logs.
func (f *follower) close() {
	for _, l := range f.logs {
		l.file.Close()
	}
}

// read gives the whole lines behind those that were read.
func (l *followed) read(line func(string)) error {
	same, err := l.same()
	if err != nil {
		return err
	}
	if !same {
		l.at, l.tail, l.long = 0, nil, false
	}
	if _, err := l.file.(io.Seeker).Seek(l.at, io.SeekStart); err != nil {
		return err
	}
	buffer := make([]byte, 1<<20)
	var rest []byte
	for {
		n, err := l.file.Read(buffer)
		rest = append(rest, buffer[:n]...)
		whole := rest
		for {
			end := bytes.IndexByte(rest, '\n')
			if end < 0 && len(rest) < cap(buffer) {
				break
			}
			ended := end >= 0
			if !ended { // no log has lines like that: its beginning is read, as package logs does
				end = len(rest)
			}
			if !l.long {
				line(string(rest[:end]))
			}
			l.long = !ended
			rest = rest[min(end+1, len(rest)):]
		}
		l.passed(whole[:len(whole)-len(rest)])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// passed goes on behind lines that were read.
func (l *followed) passed(text []byte) {
	l.at += int64(len(text))
	l.tail = append(l.tail, text[max(0, len(text)-longestTail):]...)
	l.tail = l.tail[max(0, len(l.tail)-longestTail):]
}

// same reports whether what was read of a log is still there: one that was emptied is
// begun anew, however long it has become since.
func (l *followed) same() (bool, error) {
	tail := make([]byte, len(l.tail))
	if _, err := l.file.(io.ReaderAt).ReadAt(tail, l.at-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return bytes.Equal(tail, l.tail), nil
}
