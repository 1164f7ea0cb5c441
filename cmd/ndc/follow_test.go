package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFollow: of a log that is rotated or emptied while it is read, every whole line is
// read once.
func TestFollow(t *testing.T) {
	const name, aside = "train.log", "train-1.log"
	write := func(t *testing.T, dir, name, text string, flags int) {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|flags, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	rename := func(t *testing.T, dir string) {
		t.Helper()
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, aside)); err != nil {
			t.Fatal(err)
		}
	}
	for what, steps := range map[string][]func(t *testing.T, dir string){
		"a log that grows": {
			func(t *testing.T, dir string) { write(t, dir, name, "step 3\nst", os.O_APPEND) },
			func(t *testing.T, dir string) { write(t, dir, name, "ep 4\n", os.O_APPEND) },
		},
		"a log that was put aside with lines that were not read": {
			func(t *testing.T, dir string) {
				write(t, dir, name, "step 3\n", os.O_APPEND)
				rename(t, dir)
				write(t, dir, name, "step 4\n", 0)
			},
		},
		"a log that was put aside and becomes longer than before": {
			func(t *testing.T, dir string) { rename(t, dir) },
			func(t *testing.T, dir string) { write(t, dir, aside, "step 3\n", os.O_APPEND) },
			func(t *testing.T, dir string) { write(t, dir, name, "step 4\n", 0) },
		},
		"a log that was deleted": {
			func(t *testing.T, dir string) {
				if err := os.Remove(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			},
			func(t *testing.T, dir string) { write(t, dir, name, "step 3\nstep 4\n", 0) },
		},
		"a log that was emptied": {
			func(t *testing.T, dir string) { write(t, dir, name, "", os.O_TRUNC) },
			func(t *testing.T, dir string) { write(t, dir, name, "step 3\nstep 4\n", os.O_APPEND) },
		},
		"a log that was emptied and is as long as before": {
			func(t *testing.T, dir string) { write(t, dir, name, "step 3\nstep 4\n", os.O_TRUNC) },
		},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, name, "step 1\nstep 2\n", 0)
			var lines []string
			f := follower{line: func(text string) { lines = append(lines, text) }}
			defer f.close()
			for _, step := range append([]func(*testing.T, string){func(*testing.T, string) {}}, steps...) {
				step(t, dir)
				names := []string{filepath.Join(dir, name)}
				if isFile(filepath.Join(dir, aside)) { // in a folder whose logs are followed
					names = append(names, filepath.Join(dir, aside))
				}
				if err := f.advance(names); err != nil {
					t.Fatal(err)
				}
			}
			if got := strings.Join(lines, ", "); got != "step 1, step 2, step 3, step 4" {
				t.Errorf("read %s", got)
			}
		})
	}
}

// TestFollowLongLine: of a line that no log has, as where a file of another kind is named,
// the beginning is read once, and what follows it as a line of its own.
func TestFollowLongLine(t *testing.T) {
	name := filepath.Join(t.TempDir(), "train.log")
	piece := strings.Repeat("step 1 ", 1<<19)
	var read []string
	f := &follower{line: func(text string) { read = append(read, text[:min(len(text), 8)]) }}
	defer f.close()
	for _, text := range []string{"step 0\n" + piece, piece + piece + "\nstep 2\nst", "ep 3\n"} {
		log, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		_, err = log.WriteString(text)
		if err := errors.Join(err, log.Close(), f.advance([]string{name})); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"step 0", "step 1 s", "step 2", "step 3"}; !slices.Equal(read, want) {
		t.Errorf("%q, want %q", read, want)
	}
}
