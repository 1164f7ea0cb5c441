// Package summary collects what the conformance suites found, across their
// processes, and prints it as one table. The suites Add; tools/conformance
// prints.
package summary

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// File is the variable that names the file of results; without it Add does
// nothing.
const File = "NDC_CONFORMANCE_RESULTS"

// Line is one row: what was asked of one version.
type Line struct {
	Framework string `json:"framework"`
	Version   string `json:"version"`
	What      string `json:"what"` // such as "examples, built as first and last rank"
	Accepted  int    `json:"accepted"`
	Rejected  int    `json:"rejected"`
	Skipped   string `json:"skipped,omitempty"` // why nothing was asked
}

// Add appends a line to the file of results.
func Add(l Line) error {
	path := os.Getenv(File)
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(f).Encode(l); err != nil {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

// Test is what a running test can tell.
type Test interface {
	Cleanup(func())
	Failed() bool
	Skipped() bool
	Error(...any)
}

// Count counts a test as accepted or rejected once it has ended, skipped ones
// not at all.
func (l *Line) Count(t Test) {
	t.Cleanup(func() {
		switch {
		case t.Failed():
			l.Rejected++
		case !t.Skipped():
			l.Accepted++
		}
	})
}

// AddAfter adds the line when a test has ended, if there is something to say.
func (l *Line) AddAfter(t Test) {
	t.Cleanup(func() {
		if l.Accepted+l.Rejected == 0 && l.Skipped == "" {
			return
		}
		if err := Add(*l); err != nil {
			t.Error(err)
		}
	})
}

// Read returns the lines of a file of results in the order of the table; none
// when there is no file.
func Read(path string) ([]Line, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Line
	for s := bufio.NewScanner(bytes.NewReader(content)); s.Scan(); {
		var l Line
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		list = append(list, l)
	}
	slices.SortStableFunc(list, func(a, b Line) int {
		return strings.Compare(a.Framework+" "+a.Version+" "+a.What, b.Framework+" "+b.Version+" "+b.What)
	})
	return list, nil
}

// Table writes the lines as Markdown.
func Table(list []Line) string {
	var b strings.Builder
	b.WriteString("| framework | version | what was asked | accepted | rejected | skipped |\n|---|---|---|---|---|---|\n")
	for _, l := range list {
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d | %s |\n", l.Framework, l.Version, l.What, l.Accepted, l.Rejected, strings.ReplaceAll(l.Skipped, "|", "/"))
	}
	return b.String()
}
