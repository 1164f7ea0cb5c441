package outline

import (
	"bytes"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/ndc-dev/ndc/lang/schema"
)

// role is what a token is.
type role uint8

const (
	other role = iota
	comment
	name         // a word in a body, of which nothing says yet what it is to be
	blockType    // of a block
	label        // of a block, without its quotes
	argumentName // of an argument
	expression   // any part of a value
)

// token is one token of a file and what it is part of.
type token struct {
	kind     hclsyntax.TokenType
	span     Span
	role     role
	block    *Block    // around it; nil at the top
	header   *Block    // whose type or label it is
	argument *Argument // whose value it is part of

	open bool // behind it the same line of a header, or the same value, goes on
}

// maxUnclosed is after how many lines with an unclosed quote nobody helps any
// more.
const maxUnclosed = 20

// lex splits a file into tokens. Text in quotes ends with its line: what follows
// an unclosed quote would be text up to the end of the file.
func lex(src []byte) []token {
	var list []token
	from := 0
	for unclosed := 0; ; unclosed++ {
		tokens, _ := hclsyntax.LexConfig(src[from:], "", hcl.InitialPos)
		again := -1
		for _, t := range tokens {
			span := Span{from + t.Range.Start.Byte, min(from+t.Range.End.Byte, len(src))}
			list = append(list, token{kind: t.Type, span: span})
			if t.Type == hclsyntax.TokenQuotedNewline && unclosed < maxUnclosed {
				again = span.End
				break
			}
		}
		if again < 0 {
			return list
		}
		from = again
	}
}

// scanner finds blocks and arguments among tokens.
type scanner struct {
	file   *File
	tokens []token
	i      int
	block  *Block // that is open
}

func (s *scanner) scan() {
	for s.i < len(s.tokens) {
		t := &s.tokens[s.i]
		t.block = s.block
		switch t.kind {
		case hclsyntax.TokenComment:
			t.role = comment
		case hclsyntax.TokenCBrace:
			s.close(t.span.End)
		case hclsyntax.TokenIdent:
			s.statement()
			continue
		}
		s.i++
	}
	for s.block != nil {
		s.close(len(s.file.Source))
	}
	s.file.tokens = s.tokens
}

func (s *scanner) close(end int) {
	if s.block != nil {
		s.block.Span.End = end
		s.block = s.block.Parent
	}
}

func (s *scanner) kind(i int) hclsyntax.TokenType {
	if i < len(s.tokens) {
		return s.tokens[i].kind
	}
	return hclsyntax.TokenEOF
}

func (s *scanner) text(i int) Text {
	span := s.tokens[i].span
	return Text{string(s.file.Source[span.Start:span.End]), span}
}

// spec is what may stand in the open block.
func (s *scanner) spec() *schema.Block {
	if s.block == nil {
		return s.file.Top
	}
	return s.block.Spec
}

func nested(b *schema.Block, name string) *schema.Block {
	if b == nil {
		return nil
	}
	return b.Block(name)
}

// statement reads what begins with a word: an argument, a block, or something
// that is not finished.
func (s *scanner) statement() {
	if s.kind(s.i+1) == hclsyntax.TokenEqual {
		s.argument()
		return
	}
	first := s.text(s.i)
	end, labels, opens := s.header(s.i + 1)
	if opens {
		s.leave(first)
	}
	b := &Block{Spec: nested(s.spec(), first.Text), Type: first, Labels: labels, Parent: s.block}
	b.Span = Span{first.Span.Start, s.tokens[end-1].span.End}
	for ; s.i < end; s.i++ {
		t := &s.tokens[s.i]
		t.block, t.header, t.role, t.open = s.block, b, label, true
	}
	s.tokens[end-1].open = !opens
	start := &s.tokens[end-1]
	switch {
	case !opens && len(labels) == 0 && end-1 == s.indexOf(first):
		start.role = name
		return
	case opens:
		start.role, start.block, start.header = other, b, nil
	}
	s.tokens[s.indexOf(first)].role = blockType
	if opens {
		s.open(b)
	}
}

// indexOf is the token of a word that was read right now.
func (s *scanner) indexOf(word Text) int {
	i := s.i - 1
	for s.tokens[i].span.Start > word.Span.Start {
		i--
	}
	return i
}

func (s *scanner) open(b *Block) {
	if s.block == nil {
		s.file.Blocks = append(s.file.Blocks, b)
	} else {
		s.block.Blocks = append(s.block.Blocks, b)
	}
	s.block = b
}

// header reads the labels behind the type of a block up to its brace. It returns
// the token behind, and whether there is a brace.
func (s *scanner) header(i int) (end int, labels []Text, opens bool) {
	for {
		switch s.kind(i) {
		case hclsyntax.TokenIdent:
			labels = append(labels, s.text(i))
		case hclsyntax.TokenOQuote:
			labels = append(labels, Text{"", Span{s.tokens[i].span.End, s.tokens[i].span.End}})
		case hclsyntax.TokenQuotedLit:
			last := &labels[len(labels)-1]
			part := s.text(i)
			last.Text, last.Span.End = last.Text+part.Text, part.Span.End
		case hclsyntax.TokenCQuote:
		case hclsyntax.TokenOBrace:
			return i + 1, labels, true
		default:
			return i, labels, false
		}
		i++
	}
}

// leave closes what is open before a block that stands at the beginning of a
// line and belongs to the top: a brace is missing above it.
func (s *scanner) leave(first Text) {
	at := first.Span.Start
	atMargin := at == 0 || s.file.Source[at-1] == '\n'
	if s.block == nil || !atMargin || nested(s.spec(), first.Text) != nil || s.file.Top.Block(first.Text) == nil {
		return
	}
	for s.block != nil {
		s.close(at)
	}
}

// argument reads NAME = VALUE.
func (s *scanner) argument() {
	a := &Argument{Name: s.text(s.i), Block: s.block}
	if spec := s.spec(); spec != nil {
		a.Spec = spec.Argument(a.Name.Text)
	}
	s.tokens[s.i].block, s.tokens[s.i].role, s.tokens[s.i].argument = s.block, argumentName, a
	equal := &s.tokens[s.i+1]
	equal.block, equal.role, equal.argument, equal.open = s.block, expression, a, true
	a.Value = Span{equal.span.End, equal.span.End}
	s.i += 2
	s.value(a)
	value := s.file.Source[a.Value.Start:a.Value.End]
	a.Value.Start += len(value) - len(bytes.TrimLeft(value, " \t"))
	if s.block == nil {
		s.file.Arguments = append(s.file.Arguments, a)
	} else {
		s.block.Arguments = append(s.block.Arguments, a)
	}
}

// closing maps what opens in an expression to what closes it.
var closing = map[hclsyntax.TokenType]hclsyntax.TokenType{
	hclsyntax.TokenOBrace: hclsyntax.TokenCBrace, hclsyntax.TokenOBrack: hclsyntax.TokenCBrack, hclsyntax.TokenOParen: hclsyntax.TokenCParen,
	hclsyntax.TokenTemplateInterp: hclsyntax.TokenTemplateSeqEnd, hclsyntax.TokenTemplateControl: hclsyntax.TokenTemplateSeqEnd,
	hclsyntax.TokenOQuote: hclsyntax.TokenCQuote, hclsyntax.TokenOHeredoc: hclsyntax.TokenCHeredoc,
}

// value reads the tokens of an expression: up to the end of the line on which
// everything that it opens is closed.
func (s *scanner) value(a *Argument) {
	var opened []hclsyntax.TokenType // what closes it
	for ; s.i < len(s.tokens); s.i++ {
		t := &s.tokens[s.i]
		end := len(opened) == 0 && (t.kind == hclsyntax.TokenNewline || t.kind == hclsyntax.TokenCBrace)
		if end || t.kind == hclsyntax.TokenEOF || s.begins(opened) {
			return
		}
		t.block, t.argument, t.role, t.open = s.block, a, expression, true
		switch t.kind {
		case hclsyntax.TokenComment:
			t.role = comment
			if len(opened) == 0 && s.endsLine(t) {
				t.open = false
				s.i++
				return
			}
			continue
		case hclsyntax.TokenQuotedNewline:
			t.open = false
			opened = unquoted(opened)
			if len(opened) == 0 {
				s.i++
				return
			}
			continue
		}
		if t.kind != hclsyntax.TokenNewline {
			a.Value.End = t.span.End
		}
		if c, ok := closing[t.kind]; ok {
			opened = append(opened, c)
		} else if n := len(opened); n > 0 && opened[n-1] == t.kind {
			opened = opened[:n-1]
		}
	}
}

// endsLine reports whether a comment reaches to the end of its line.
func (s *scanner) endsLine(t *token) bool {
	return t.span.End > 0 && s.file.Source[t.span.End-1] == '\n'
}

// unquoted is what stays open when text in quotes ends with its line.
func unquoted(opened []hclsyntax.TokenType) []hclsyntax.TokenType {
	for i, c := range opened {
		if c == hclsyntax.TokenCQuote {
			return opened[:i]
		}
	}
	return opened
}

// begins reports whether a statement begins here, in what no expression can be:
// a bracket above is not closed yet.
func (s *scanner) begins(opened []hclsyntax.TokenType) bool {
	if len(opened) == 0 || s.i == 0 || s.kind(s.i) != hclsyntax.TokenIdent {
		return false
	}
	if before := &s.tokens[s.i-1]; before.kind != hclsyntax.TokenNewline && (before.role != comment || !s.endsLine(before)) {
		return false
	}
	switch opened[len(opened)-1] {
	case hclsyntax.TokenCBrack, hclsyntax.TokenCParen:
		if s.kind(s.i+1) == hclsyntax.TokenEqual {
			return true
		}
	case hclsyntax.TokenCBrace:
	default:
		return false
	}
	if next := s.kind(s.i + 1); next != hclsyntax.TokenOQuote && next != hclsyntax.TokenOBrace {
		return false
	}
	_, _, opens := s.header(s.i + 1)
	return opens
}
