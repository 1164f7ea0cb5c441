package lint

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/intake/shell"
)

// script is one script that is checked.
type script struct {
	name       string
	src        []byte
	marked     bool  // the file begins with a byte order mark
	starts     []int // offsets of the lines
	release    string
	file       *syntax.File
	shell      *shell.Script // what is certain of it
	calls      map[int]*call // by their offset
	order      []*call
	directives []directive
	first      int // offset of the first command
	found      []*launch
	counts     map[string]int // of names
	slurm      string
	diags      diag.List
}

// call is a simple command as it is written.
type call struct {
	expr       *syntax.CallExpr
	stmt       *syntax.Stmt
	background bool // it, or what contains it, ends with &
	function   bool // it stands in a function
	pipe       *syntax.BinaryCmd
	left       bool // it is not the last command of the pipe
	branch     *syntax.IfClause
}

func (c *call) offset() int { return int(c.expr.Pos().Offset()) }

// word is the text of a word that is written without expansions, or "".
func (c *call) word(i int) string {
	if i >= len(c.expr.Args) {
		return ""
	}
	return c.expr.Args[i].Lit()
}

// evaluate prepares what the rules look at.
func (s *script) evaluate(p *shell.Parsed) {
	s.file, s.calls, s.first = p.File, map[int]*call{}, len(s.src)
	if len(s.file.Stmts) > 0 {
		s.first = int(s.file.Stmts[0].Pos().Offset())
	}
	s.walk()
	s.directives = directives(s)
	s.shell = shell.Certain(p)
}

// walk collects the calls with what stands around them.
func (s *script) walk() {
	var above []syntax.Node
	syntax.Walk(s.file, func(n syntax.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return true
		}
		if c, ok := n.(*syntax.CallExpr); ok {
			found := &call{expr: c}
			found.around(above)
			s.calls[found.offset()] = found
			s.order = append(s.order, found)
		}
		above = append(above, n)
		return true
	})
	slices.SortStableFunc(s.order, func(a, b *call) int { return a.offset() - b.offset() })
}

func (c *call) around(above []syntax.Node) {
	for i, n := range above {
		switch n := n.(type) {
		case *syntax.Stmt:
			c.stmt = n
			c.background = c.background || n.Background
		case *syntax.FuncDecl:
			c.function = true
		case *syntax.IfClause:
			c.branch = n
		case *syntax.CmdSubst, *syntax.ProcSubst:
			c.pipe, c.left = nil, false
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				inLeft := i+1 < len(above) && above[i+1] == syntax.Node(n.X)
				if c.pipe == nil {
					c.pipe = n
				}
				c.left = c.left || inLeft
			}
		}
	}
}

// span is the range from one offset to another.
func (s *script) span(from, to int) diag.Range {
	from = max(0, min(from, len(s.src)))
	to = max(from, min(to, len(s.src)))
	return diag.Range{Filename: s.name, Start: s.position(from), End: s.position(to)}
}

func (s *script) position(offset int) diag.Position {
	line := s.at(offset)
	start, _ := s.bounds(line)
	return diag.Position{Line: line, Column: utf8.RuneCount(s.src[start:offset]) + 1, Byte: offset}
}

// at is the line of an offset.
func (s *script) at(offset int) int {
	if s.starts == nil {
		s.starts = []int{0}
		for i, b := range s.src {
			if b == '\n' {
				s.starts = append(s.starts, i+1)
			}
		}
	}
	line, found := slices.BinarySearch(s.starts, offset)
	if found {
		line++
	}
	return line
}

// of is the range of a node.
func (s *script) of(n syntax.Node) diag.Range {
	return s.span(int(n.Pos().Offset()), int(n.End().Offset()))
}

// line is the range of a line, without blanks around it.
func (s *script) line(number int) diag.Range {
	from, to := s.bounds(number)
	text := s.src[from:to]
	from += len(text) - len(bytes.TrimLeft(text, " \t"))
	return s.span(from, from+len(bytes.TrimSpace(text)))
}

// bounds are where a line begins and ends; a line that there is not is empty, at
// an end of the script.
func (s *script) bounds(number int) (from, to int) {
	last := s.at(len(s.src))
	switch {
	case number < 1:
		return 0, 0
	case number > last:
		return len(s.src), len(s.src)
	case number == last:
		return s.starts[number-1], len(s.src)
	}
	return s.starts[number-1], s.starts[number] - 1
}

// find is where a text stands in a line, between characters that no word has; the line where it
// does not.
func (s *script) find(line int, text string) diag.Range {
	from, to := s.bounds(line)
	for at := from; at < to; {
		i := bytes.Index(s.src[at:to], []byte(text))
		if i < 0 || text == "" {
			break
		}
		start, end := at+i, at+i+len(text)
		if (start == from || !wordByte(s.src[start-1])) && (end == to || !wordByte(s.src[end])) {
			return s.span(start, end)
		}
		at = start + 1
	}
	return s.line(line)
}

func wordByte(b byte) bool {
	return b == '_' || b == '-' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// isBatch reports a script for sbatch.
func (s *script) isBatch() bool { return len(s.directives) > 0 }

// says reports whether a pattern occurs anywhere in the script.
func (s *script) says(pattern *regexp.Regexp) bool { return pattern.Match(s.src) }

// mentions reports whether a text occurs anywhere in the script, comments aside.
func (s *script) mentions(text string) bool {
	for line := range strings.Lines(string(s.src)) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") && strings.Contains(line, text) {
			return true
		}
	}
	return false
}
