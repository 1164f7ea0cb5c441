package lsp

import (
	"net/url"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/outline"
)

// text is the content of a document or a file, which never changes, and where
// its lines begin.
type text struct {
	content string
	lines   []int
}

func newText(content string) *text {
	t := &text{content: content, lines: []int{0}}
	for i := range len(content) {
		if content[i] == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// offset is the byte of a position. Beyond the end of a line it is that end,
// beyond the last line the end of the text, between the halves of a character
// its beginning.
func (t *text) offset(p position) int {
	if p.Line < 0 {
		return 0
	}
	if p.Line >= len(t.lines) {
		return len(t.content)
	}
	at, end := t.lines[p.Line], t.lineEnd(p.Line)
	for units := 0; at < end; {
		r, size := utf8.DecodeRuneInString(t.content[at:])
		if units += utf16.RuneLen(r); units > p.Character {
			break
		}
		at += size
	}
	return at
}

// lineEnd is where a line ends, without what ends it.
func (t *text) lineEnd(line int) int {
	if line+1 >= len(t.lines) {
		return len(t.content)
	}
	end := t.lines[line+1] - 1
	if end > t.lines[line] && t.content[end-1] == '\r' {
		end--
	}
	return end
}

// position is that of a byte.
func (t *text) position(offset int) position {
	offset = min(max(offset, 0), len(t.content))
	line := t.line(offset)
	units := 0
	for at := t.lines[line]; at < offset; {
		r, size := utf8.DecodeRuneInString(t.content[at:])
		units += utf16.RuneLen(r)
		at += size
	}
	return position{line, units}
}

// line finds the line that a byte is in.
func (t *text) line(offset int) int {
	low, high := 0, len(t.lines)
	for high-low > 1 {
		if middle := (low + high) / 2; t.lines[middle] <= offset {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

func (t *text) span(s outline.Span) textRange {
	return textRange{t.position(s.Start), t.position(s.End)}
}

func (t *text) rangeOf(r diag.Range) textRange {
	return textRange{t.position(r.Start.Byte), t.position(r.End.Byte)}
}

// changed is the text after some changes, one after the other.
func (t *text) changed(changes []contentChange) *text {
	for _, c := range changes {
		if c.Range == nil {
			t = newText(c.Text)
			continue
		}
		start, end := t.offset(c.Range.Start), t.offset(c.Range.End)
		end = max(start, end)
		t = newText(t.content[:start] + c.Text + t.content[end:])
	}
	return t
}

// pathOf is the path of a document, with slashes; "" for one that is no file.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || !strings.HasPrefix(u.Path, "/") {
		return ""
	}
	return u.Path
}

// uriOf is the document of a path.
func uriOf(path string) string {
	u := url.URL{Scheme: "file", Path: path}
	return u.String()
}
