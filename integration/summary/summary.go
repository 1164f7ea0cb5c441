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
	"strconv"
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
	Pairs     *Pairs `json:"pairs,omitempty"`   // of a line of the other table
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
	slices.SortStableFunc(list, order)
	return Sum(list), nil
}

// Sum makes one line of those that asked the same of the same version.
func Sum(list []Line) []Line {
	var sums []Line
	for _, l := range list {
		i := slices.IndexFunc(sums, l.same)
		if i < 0 {
			sums = append(sums, l)
			continue
		}
		s := &sums[i]
		s.Accepted, s.Rejected, s.Skipped = s.Accepted+l.Accepted, s.Rejected+l.Rejected, both(s.Skipped, l.Skipped)
		if l.Pairs != nil {
			s.Pairs = l.Pairs // the last to be asked
		}
	}
	return sums
}

func (l Line) same(m Line) bool {
	return l.Framework == m.Framework && l.Version == m.Version && l.What == m.What
}

// both joins two reasons; numbers of the same reason are added up.
func both(a, b string) string {
	m, why, counted := strings.Cut(a, " ")
	n, reason, too := strings.Cut(b, " ")
	x, notNumber := strconv.Atoi(m)
	y, noNumber := strconv.Atoi(n)
	switch {
	case a == "" || a == b:
		return b
	case b == "":
		return a
	case counted && too && notNumber == nil && noNumber == nil && why == reason:
		return fmt.Sprint(x+y, " ", why)
	}
	return a + "; " + b
}

// Merge puts lines into a table that holds those of earlier runs: what was
// asked again is replaced, the rest stays.
func Merge(table string, list []Line) []Line {
	merged := slices.Clone(list)
	for row := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(row), " | ")
		if len(cells) != 6 {
			continue
		}
		l := Line{Framework: strings.TrimPrefix(cells[0], "| "), Version: strings.TrimSpace(cells[1]), What: cells[2], Skipped: strings.TrimSpace(strings.TrimSuffix(cells[5], "|"))}
		var err, bad error
		l.Accepted, err = strconv.Atoi(cells[3])
		l.Rejected, bad = strconv.Atoi(cells[4])
		if err == nil && bad == nil && !slices.ContainsFunc(list, l.same) {
			merged = append(merged, l)
		}
	}
	slices.SortStableFunc(merged, order)
	return merged
}

func order(a, b Line) int {
	return strings.Compare(a.Framework+" "+a.Version+" "+a.What, b.Framework+" "+b.Version+" "+b.What)
}

// Table writes the lines as Markdown.
func Table(list []Line) string {
	var b strings.Builder
	b.WriteString("| framework | version | what was asked | accepted | rejected | skipped |\n|---|---|---|---|---|---|\n")
	for _, l := range list {
		if l.Pairs != nil {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d | %s |\n", l.Framework, l.Version, l.What, l.Accepted, l.Rejected, strings.ReplaceAll(l.Skipped, "|", "/"))
	}
	return b.String()
}
