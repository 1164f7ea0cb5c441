package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mitchellh/go-wordwrap"
	"golang.org/x/term"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/intake/lint"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/lock"
)

// terminal is where results and diagnostics go.
type terminal struct {
	out, err io.Writer
	json     bool
	colour   bool
	width    int
	files    map[string][]byte // that were read, for snippets
}

func newTerminal(out, err io.Writer, asJSON bool) *terminal {
	t := &terminal{out: out, err: err, json: asJSON, width: 100}
	at := err
	if s, ok := err.(*stream); ok {
		at = s.Writer
	}
	if f, ok := at.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		t.colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		if w, _, e := term.GetSize(int(f.Fd())); e == nil && w > 20 {
			t.width = w
		}
	}
	return t
}

// failure reports an error that has no place in a file.
func (t *terminal) failure(err error) { t.diagnostics(diag.List{failureOf(err)}, nil) }

func failureOf(err error) diag.Diagnostic {
	d := diag.Diagnostic{ID: IDCommand, Summary: "Command failed", Detail: err.Error()}
	var usage usageError
	if errors.As(err, &usage) {
		d.ID, d.Summary = IDUsage, "Wrong usage"
	}
	return d
}

// recover reports a panic: what failed, and where for whoever mends it.
func (t *terminal) recover(code *int) {
	p := recover()
	if p == nil {
		return
	}
	*code = exitDefect
	stack := debug.Stack()
	t.diagnostics(diag.List{{ID: IDDefect, Summary: "Defect of ndc", Detail: fmt.Sprintf(
		"ndc failed where it should not: %v. Please report it, with the job and these lines.\n\n%s", p, stack)}}, nil)
}

// maxShown is how many diagnostics people read; programs get all.
const maxShown = 50

// diagnostics reports a list, with snippets of the files they point into.
func (t *terminal) diagnostics(list diag.List, files map[string][]byte) {
	list.Sort()
	list = slices.Compact(slices.Clone(list)) // one mistake, met by several backends
	files = concealed(files, list)
	if len(list) > maxShown && !t.json {
		slices.SortStableFunc(list, func(a, b diag.Diagnostic) int { return int(a.Severity) - int(b.Severity) })
	}
	for i := range list {
		switch {
		case t.json:
			t.jsonLine(list[i])
		case i < maxShown:
			fmt.Fprint(t.err, t.render(&list[i], files[list[i].Range.Filename]))
		case i == maxShown:
			fmt.Fprintf(t.err, "… and %d more; --json lists all.\n", len(list)-maxShown)
		}
	}
}

// secrets are what is not shown of the place of a diagnostic.
var secrets = map[diag.ID]*regexp.Regexp{lang.LiteralSecret: whole, lint.Secret: whole, lock.IDSource: lock.Credentials}

var whole = regexp.MustCompile(`.+`)

// concealed are files without the secrets that diagnostics are about: who may read what a
// command says, as in the log of a check, need not be who may read the files.
func concealed(files map[string][]byte, list diag.List) map[string][]byte {
	files = maps.Clone(files)
	for _, d := range list {
		source, secret := files[d.Range.Filename], secrets[d.ID]
		from, to := d.Range.Start.Byte, min(d.Range.End.Byte, len(source))
		if secret != nil && from < to {
			hidden := secret.ReplaceAllFunc(source[from:to], func(b []byte) []byte { return bytes.Repeat([]byte("*"), len(b)) })
			files[d.Range.Filename] = slices.Concat(source[:from], hidden, source[to:])
		}
	}
	return files
}

func (t *terminal) jsonLine(d diag.Diagnostic) { t.line(d) }

// line reports something to programs, on a line of its own.
func (t *terminal) line(v any) {
	e := json.NewEncoder(t.err)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("ndc: a report that JSON cannot hold: " + err.Error())
	}
}

// print writes a result for people. It may hold words of logs, of plans and of
// modules that others wrote.
func (t *terminal) print(text string) error {
	_, err := io.WriteString(t.out, harmless(text))
	return err
}

// printJSON writes a result for programs.
func (t *terminal) printJSON(v any) error {
	b, err := render.JSON(v)
	if err != nil {
		return err
	}
	_, err = t.out.Write(b)
	return err
}

const (
	red    = "\x1b[1;31m"
	yellow = "\x1b[1;33m"
	bold   = "\x1b[1m"
	reset  = "\x1b[0m"
)

func (t *terminal) paint(colour, text string) string {
	if !t.colour {
		return text
	}
	return colour + text + reset
}

// render writes one diagnostic: summary, place with its line, and detail.
func (t *terminal) render(d *diag.Diagnostic, source []byte) string {
	var b strings.Builder
	label, colour := "Error", red
	if d.Severity == diag.Warning {
		label, colour = "Warning", yellow
	}
	fmt.Fprintf(&b, "%s %s [%s]\n", t.paint(colour, label+":"), t.paint(bold, d.Summary), d.ID)
	if !d.Range.IsZero() {
		fmt.Fprintf(&b, "  on %s line %d:\n", shown(inLine(d.Range.Filename)), d.Range.Start.Line)
		if source != nil {
			b.WriteString(t.snippet(d.Range, source))
		}
	}
	for _, line := range strings.Split(wordwrap.WrapString(shown(d.Detail), uint(t.width-2)), "\n") {
		b.WriteString(strings.TrimRight("  "+line, " ") + "\n")
	}
	b.WriteByte('\n')
	return b.String()
}

// shown is text of a file or its name as a diagnostic shows it, with tabs as wide
// as any other sign.
func shown(s string) string { return strings.ReplaceAll(harmless(s), "\t", " ") }

// harmless is text as a terminal may get it: what would steer the terminal, or show
// signs in another order than they stand in, is replaced. CR LF ends a line as LF does.
func harmless(s string) string {
	lines := strings.Split(strings.ToValidUTF8(s, string(utf8.RuneError)), "\r\n")
	for i := range lines {
		lines[i] = strings.Map(func(r rune) rune {
			switch {
			case r != '\n' && r != '\t' && unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
				return utf8.RuneError
			}
			return r
		}, lines[i])
	}
	return strings.Join(lines, "\r\n")
}

// inLine is text of one line, such as the name of a file, which may hold the end of one.
func inLine(s string) string { return strings.ReplaceAll(s, "\n", string(utf8.RuneError)) }

// snippet shows the first line of a range with its columns underlined. Long
// lines are cut around the place.
func (t *terminal) snippet(r diag.Range, source []byte) string {
	if r.Start.Byte > len(source) {
		return ""
	}
	first := strings.LastIndexByte(string(source[:r.Start.Byte]), '\n') + 1
	line, _, _ := strings.Cut(string(source[first:]), "\n")
	line = strings.TrimSuffix(line, "\r")
	start, end := r.Start.Byte-first, min(r.End.Byte-first, len(line))
	if start > len(line) || end <= start {
		end = min(start+1, len(line))
	}
	start = min(start, len(line))
	line, start, end = cut(line, start, max(start, end), max(40, t.width-10))
	number := fmt.Sprintf("%5d: ", r.Start.Line)
	underline := strings.Repeat(" ", len(number)+utf8.RuneCountInString(shown(line[:start]))) +
		strings.Repeat("^", max(1, utf8.RuneCountInString(shown(line[start:end]))))
	return number + shown(line) + "\n" + t.paint(red, underline) + "\n"
}

// cut keeps width bytes of a line around [start, end).
func cut(line string, start, end, width int) (string, int, int) {
	if len(line) <= width {
		return line, start, end
	}
	from := max(0, min(start-width/4, len(line)-width))
	for from > 0 && !utf8.RuneStart(line[from]) {
		from--
	}
	to := min(len(line), from+width)
	for to < len(line) && !utf8.RuneStart(line[to]) {
		to++
	}
	return line[from:to], start - from, min(end, to) - from
}
