// Package explain tells where the numbers of a plan come from: ledgers and
// breakdowns line by line, what the neighbours of a layout would be, how data
// travels, which fact moves the step most. An explanation is a document of tables,
// which is written as text for a terminal, as Markdown, or as JSON for programs.
// It sees what package compiler takes apart and computes nothing of its own;
// package view tells a plan on one screen, package view/picture draws it.
package explain

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ndc-dev/ndc/view/markdown"
)

// Document is an explanation of a plan.
type Document struct {
	Title    string    `json:"title"`
	Sections []Section `json:"sections"`
}

// Section explains one thing about it.
type Section struct {
	Topic  string   `json:"topic"`
	Title  string   `json:"title"`
	Lines  []string `json:"lines,omitempty"`
	Tables []Table  `json:"tables,omitempty"`
}

// Table has rows of as many cells as there are columns.
type Table struct {
	Caption string
	Columns []Column
	Rows    [][]Cell
}

// Column is a column of a table: Key is its member in JSON, Right says that its cells
// are numbers.
type Column struct {
	Key, Title string
	Right      bool
}

// Cell is a value with its words.
type Cell struct {
	Text  string
	Value any
}

// Words is a cell that is nothing but text.
func Words(s string) Cell { return Cell{s, s} }

// MarshalJSON writes the rows as objects by the keys of the columns.
func (t Table) MarshalJSON() ([]byte, error) {
	rows := make([]map[string]any, len(t.Rows))
	for i, cells := range t.Rows {
		rows[i] = map[string]any{}
		for k, c := range cells {
			rows[i][t.Columns[k].Key] = c.Value
		}
	}
	return json.Marshal(map[string]any{"caption": t.Caption, "rows": rows})
}

// Text writes the document for a terminal. What is long in the last column of a
// table is wrapped.
func (d *Document) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", d.Title)
	for i := range d.Sections {
		s := &d.Sections[i]
		fmt.Fprintf(&b, "\n%s\n%s\n", s.Title, strings.Repeat("=", utf8.RuneCountInString(s.Title)))
		for _, l := range s.Lines {
			b.WriteString(wrapped(l, textWidth) + "\n")
		}
		for k := range s.Tables {
			s.Tables[k].text(&b)
		}
	}
	return b.String()
}

// textWidth is how long lines of prose are.
const textWidth = 110

// wrapped breaks a line between words.
func wrapped(s string, most int) string {
	var b strings.Builder
	at := 0
	for i, word := range strings.Fields(s) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > most:
			b.WriteByte('\n')
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

func (t *Table) text(b *strings.Builder) {
	if t.Caption != "" {
		fmt.Fprintf(b, "\n%s\n", t.Caption)
	}
	widths := make([]int, len(t.Columns))
	for k, c := range t.Columns {
		widths[k] = utf8.RuneCountInString(c.Title)
		for _, row := range t.Rows {
			widths[k] = max(widths[k], utf8.RuneCountInString(row[k].Text))
		}
	}
	line := func(cell func(k int) string) {
		var l strings.Builder
		last := len(t.Columns) - 1
		indent := 0
		for k, c := range t.Columns[:last] {
			text := cell(k)
			space := strings.Repeat(" ", widths[k]-utf8.RuneCountInString(text))
			if c.Right {
				l.WriteString(space + text + "  ")
			} else {
				l.WriteString(text + space + "  ")
			}
			indent += widths[k] + 2
		}
		if text := cell(last); t.Columns[last].Right {
			l.WriteString(strings.Repeat(" ", widths[last]-utf8.RuneCountInString(text)) + text)
		} else {
			l.WriteString(strings.ReplaceAll(wrapped(text, lastWidth), "\n", "\n  "+strings.Repeat(" ", indent)))
		}
		b.WriteString("  " + strings.TrimRight(l.String(), " ") + "\n")
	}
	line(func(k int) string { return t.Columns[k].Title })
	for _, row := range t.Rows {
		line(func(k int) string { return row[k].Text })
	}
}

// lastWidth is how long the lines of a table's last column are.
const lastWidth = 72

// Markdown writes the document as a page.
func (d *Document) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", markdown.Text(d.Title))
	for i := range d.Sections {
		s := &d.Sections[i]
		fmt.Fprintf(&b, "\n## %s\n\n", markdown.Text(s.Title))
		for _, l := range s.Lines {
			fmt.Fprintf(&b, "%s\n", markdown.Text(l))
		}
		for k := range s.Tables {
			s.Tables[k].markdown(&b)
		}
	}
	return b.String()
}

func (t *Table) markdown(b *strings.Builder) {
	if t.Caption != "" {
		fmt.Fprintf(b, "\n%s\n", markdown.Text(t.Caption))
	}
	var titles []string
	var right []int
	for i, c := range t.Columns {
		titles = append(titles, markdown.Cell(c.Title))
		if c.Right {
			right = append(right, i)
		}
	}
	b.WriteString("\n" + markdown.Head(titles, right...))
	for _, row := range t.Rows {
		var cells []string
		for _, c := range row {
			cells = append(cells, markdown.Cell(c.Text))
		}
		b.WriteString(markdown.Row(cells...))
	}
}
