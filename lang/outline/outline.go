// Package outline reads the text of a file as far as it goes: which blocks and
// arguments stand where, by the tables of package schema, and what stands at a
// place of it. It never evaluates anything and reports nothing, so that a file
// which somebody is still writing has an outline, too; what a file means, and
// what is wrong with it, package lang says. Package lsp answers editors with it.
package outline

import (
	"path"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/lang/schema"
)

// Span is a half-open stretch of a file, in bytes.
type Span struct{ Start, End int }

// Text is a word of a file with its place.
type Text struct {
	Text string
	Span Span // of a quoted word without its quotes
}

// Block is one block as it is written.
type Block struct {
	Spec      *schema.Block // nil where the language has no such block
	Type      Text
	Labels    []Text
	Span      Span   // from its type to its closing brace, or as far as it goes
	Parent    *Block // nil at the top
	Arguments []*Argument
	Blocks    []*Block
}

// Label is the first label, or "".
func (b *Block) Label() string {
	if len(b.Labels) == 0 {
		return ""
	}
	return b.Labels[0].Text
}

// Argument finds an argument by name; nil when it is not written.
func (b *Block) Argument(name string) *Argument {
	for _, a := range b.Arguments {
		if a.Name.Text == name {
			return a
		}
	}
	return nil
}

// Argument is NAME = VALUE as it is written.
type Argument struct {
	Spec  *schema.Argument // nil where the block has no such argument
	Name  Text
	Value Span
	Block *Block // nil at the top
}

// File is the outline of a file.
type File struct {
	Source    []byte
	Top       *schema.Block // what may stand at the top
	Blocks    []*Block
	Arguments []*Argument // at the top

	tokens []token
}

// maxSource is more than any file of the language has; package lang refuses
// larger ones.
const maxSource = 1 << 20

// Read outlines a file, whose name says what may stand in it: jobs, the runs of
// a test, or values of variables.
func Read(name string, src []byte) *File {
	f := &File{Source: src, Top: top(name)}
	if len(src) > maxSource {
		return &File{Top: &nothing}
	}
	s := &scanner{file: f, tokens: lex(src)}
	s.scan()
	return f
}

// nothing may stand in a lock, which nobody writes by hand, and in what is too
// large.
var nothing = schema.Block{Name: "nothing"}

var variables = schema.Block{Name: "variables", Doc: "Values of variables."}

func top(name string) *schema.Block {
	switch {
	case strings.HasSuffix(name, ".ndctest.hcl"):
		return &schema.TestFile
	case strings.HasSuffix(name, ".ndcvars"):
		return &variables
	case path.Base(name) == "ndc.lock.hcl":
		return &nothing
	}
	return &schema.File
}

// ValueText is the value of an argument where that is plain text in quotes.
func (f *File) ValueText(a *Argument) (string, bool) {
	if a == nil {
		return "", false
	}
	text := strings.TrimSpace(string(f.Source[a.Value.Start:a.Value.End]))
	inner := strings.TrimSuffix(strings.TrimPrefix(text, `"`), `"`)
	if len(inner) != len(text)-2 || strings.ContainsAny(inner, "\"\\") || strings.Contains(inner, "${") || strings.Contains(inner, "%{") {
		return "", false
	}
	return inner, true
}

// All calls visit for each block of the file, those around others first.
func (f *File) All(visit func(*Block)) {
	waiting := slices.Clone(f.Blocks)
	slices.Reverse(waiting)
	for len(waiting) > 0 {
		b := waiting[len(waiting)-1]
		visit(b)
		waiting = waiting[:len(waiting)-1]
		for i := len(b.Blocks) - 1; i >= 0; i-- {
			waiting = append(waiting, b.Blocks[i])
		}
	}
}
