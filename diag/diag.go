// Package diag is what every room of ndc reports with: a severity, a stable
// id, a constant summary, a detail that explains, and the source range that
// caused it. It is a leaf: it knows neither HCL nor terminals. Package lang
// fills in ranges from the files it read; cmd/ndc is the only place that
// renders.
package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// ID is the stable name of one kind of diagnostic, in kebab case, such as
// "unknown-model". Each package declares its ids as documented constants in a
// file ids.go; docs/diagnostics.md is generated from them. An id is never
// reused with another meaning.
type ID string

// Unsupported reports whether what it is about is right, and beyond what answers:
// ids of what a framework lacks have this word.
func (id ID) Unsupported() bool {
	return slices.Contains(strings.Split(string(id), "-"), "unsupported")
}

// Severity separates what stops a build from what only deserves a look.
type Severity uint8

// The severities, most severe first.
const (
	Error Severity = iota
	Warning
)

// String returns "error" or "warning".
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// MarshalText writes the severity as its name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a severity name.
func (s *Severity) UnmarshalText(b []byte) error {
	switch string(b) {
	case "error":
		*s = Error
	case "warning":
		*s = Warning
	default:
		return fmt.Errorf("unknown severity %q", b)
	}
	return nil
}

// Position is a place in a file. Line and Column count from 1, columns in
// grapheme clusters; Byte counts from 0.
type Position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

// Range is a half-open stretch of a file. The zero Range means "nowhere".
type Range struct {
	Filename string   `json:"filename"`
	Start    Position `json:"start"`
	End      Position `json:"end"`
}

// IsZero reports whether the range points nowhere.
func (r Range) IsZero() bool { return r == Range{} }

// Holds reports whether another range lies in this one.
func (r Range) Holds(other Range) bool {
	return r.Filename == other.Filename && r.Start.Byte <= other.Start.Byte && other.End.Byte <= r.End.Byte
}

// String formats the start as FILE:LINE,COLUMN.
func (r Range) String() string {
	if r.IsZero() {
		return ""
	}
	return fmt.Sprintf("%s:%d,%d", r.Filename, r.Start.Line, r.Start.Column)
}

// Diagnostic is one message to the user.
//
// Summary is a constant without values and without a final stop. Detail is
// full sentences: what is wrong, why (with numbers), how to fix it. Range is
// the tightest stretch of source that causes it.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	ID       ID       `json:"id"`
	Summary  string   `json:"summary"`
	Detail   string   `json:"detail"`
	Range    Range    `json:"range,omitzero"`
}

// String formats the diagnostic on one line, for tests and panics.
func (d Diagnostic) String() string {
	at := d.Range.String()
	if at != "" {
		at += ": "
	}
	return fmt.Sprintf("%s%s: %s; %s [%s]", at, d.Severity, d.Summary, d.Detail, d.ID)
}

// List collects diagnostics. The zero List is ready to use.
type List []Diagnostic

// HasErrors reports whether any diagnostic is an error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == Error })
}

// Error appends an error.
func (l *List) Error(id ID, at Range, summary, detail string) {
	*l = append(*l, Diagnostic{Severity: Error, ID: id, Summary: summary, Detail: clip(detail), Range: at})
}

// Warn appends a warning.
func (l *List) Warn(id ID, at Range, summary, detail string) {
	*l = append(*l, Diagnostic{Severity: Warning, ID: id, Summary: summary, Detail: clip(detail), Range: at})
}

// maxDetail is more than anyone reads: a detail may quote what a file holds.
const maxDetail = 4000

// clip cuts a text at maxDetail bytes, between two characters.
func clip(text string) string {
	if len(text) <= maxDetail {
		return text
	}
	return strings.ToValidUTF8(text[:maxDetail], "") + "…"
}

// Append adds the diagnostics of another list.
func (l *List) Append(other List) { *l = append(*l, other...) }

// Sort orders the list by file, position, severity and id, so that the output
// does not depend on the order of discovery.
func (l List) Sort() {
	slices.SortStableFunc(l, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.Range.Filename, b.Range.Filename),
			cmp.Compare(a.Range.Start.Byte, b.Range.Start.Byte),
			cmp.Compare(a.Severity, b.Severity),
			cmp.Compare(a.ID, b.ID),
			cmp.Compare(a.Detail, b.Detail),
		)
	})
}
