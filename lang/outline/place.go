package outline

import (
	"slices"
	"sort"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/ndc-dev/ndc/lang/schema"
)

// Kind is what stands at a place of a file.
type Kind uint8

// The kinds of places.
const (
	Nowhere      Kind = iota // in a comment, or where nothing of ours stands
	Body                     // where a statement begins, a word of it included
	BlockType                // the word that a block begins with
	Label                    // the label of a block, or where one may stand
	ArgumentName             // the word that an argument begins with
	Value                    // in an expression, at a reference or where one may stand
	Function                 // the name of a function
	Quoted                   // within text in quotes
)

// Place is what stands at an offset of a file.
type Place struct {
	Kind     Kind
	Block    *Block    // around the place; nil at the top
	Header   *Block    // of BlockType and Label: whose they are
	Argument *Argument // of ArgumentName and all kinds of expressions
	Word     Text      // that the place is in; empty where there is none
	Steps    []string  // of a reference in a Value: its names, "" for a computed one
	Step     int       // which of them the place is in
}

// Spec is what may stand in the block around a place; nil where that is no block
// of the language.
func (f *File) Spec(p Place) *schema.Block {
	if p.Block == nil {
		return f.Top
	}
	return p.Block.Spec
}

// At finds what stands at an offset; one outside of the file is its beginning or
// end. A place right behind a word is in it.
func (f *File) At(offset int) Place {
	offset = min(max(offset, 0), len(f.Source))
	i := sort.Search(len(f.tokens), func(i int) bool { return f.tokens[i].span.End >= offset })
	if i < len(f.tokens) && f.tokens[i].span.End == offset && i+1 < len(f.tokens) && !f.isWord(i) {
		if next := f.tokens[i+1].span; next.Start == offset && (f.isWord(i+1) || next.End == offset) {
			i++
		}
	}
	if i == len(f.tokens) || f.tokens[i].span.Start > offset || f.tokens[i].span.Start == offset && !f.isWord(i) {
		return f.gap(i-1, offset)
	}
	if f.isWord(i) {
		return f.word(i)
	}
	return f.gap(i, offset)
}

// isWord reports whether a token is one that places are in.
func (f *File) isWord(i int) bool {
	k := f.tokens[i].kind
	return k == hclsyntax.TokenIdent || k == hclsyntax.TokenQuotedLit
}

func (f *File) text(i int) Text {
	span := f.tokens[i].span
	return Text{string(f.Source[span.Start:span.End]), span}
}

// word is the place in a word.
func (f *File) word(i int) Place {
	t := &f.tokens[i]
	p := Place{Block: t.block, Header: t.header, Argument: t.argument, Word: f.text(i)}
	switch t.role {
	case name:
		p.Kind = Body
	case blockType:
		p.Kind = BlockType
	case label:
		p.Kind = Label
	case argumentName:
		p.Kind = ArgumentName
	case expression:
		f.expression(i, &p)
	}
	return p
}

func (f *File) expression(i int, p *Place) {
	if f.tokens[i].kind == hclsyntax.TokenQuotedLit {
		if steps, at, ok := f.indexed(i); ok {
			p.Kind, p.Steps, p.Step = Value, steps, at
			return
		}
		p.Kind = Quoted
		return
	}
	p.Steps, p.Step = f.chain(i)
	p.Kind = Value
	if i+1 < len(f.tokens) && f.tokens[i+1].kind == hclsyntax.TokenOParen && len(p.Steps) == 1 {
		p.Kind = Function
	}
}

// indexed is the reference that text in quotes is a step of, such as
// job["v1.2"].
func (f *File) indexed(i int) (steps []string, at int, ok bool) {
	if i < 3 || f.tokens[i-1].kind != hclsyntax.TokenOQuote || f.tokens[i-2].kind != hclsyntax.TokenOBrack || !f.endsStep(i-3) {
		return nil, 0, false
	}
	if i+2 >= len(f.tokens) || f.tokens[i+1].kind != hclsyntax.TokenCQuote || f.tokens[i+2].kind != hclsyntax.TokenCBrack {
		return nil, 0, false
	}
	before := f.back(i - 3)
	steps = append(before, f.text(i).Text)
	return f.forward(i+3, steps), len(before), true
}

// endsStep reports whether a reference may go on behind a token.
func (f *File) endsStep(i int) bool {
	k := f.tokens[i].kind
	return k == hclsyntax.TokenIdent && f.tokens[i].role == expression || k == hclsyntax.TokenCBrack
}

// chain is the reference that a word is a step of.
func (f *File) chain(i int) (steps []string, at int) {
	before := f.back(i)
	return f.forward(i+1, before), len(before) - 1
}

// back reads a reference from its step at a token to its beginning.
func (f *File) back(i int) (steps []string) {
	for read := true; read && i >= 0; {
		switch {
		case f.tokens[i].kind == hclsyntax.TokenIdent:
			steps = append(steps, f.text(i).Text)
			read = i >= 2 && f.tokens[i-1].kind == hclsyntax.TokenDot && f.endsStep(i-2)
			i -= 2
		case f.tokens[i].kind == hclsyntax.TokenCBrack:
			var key string
			key, i = f.index(i)
			steps = append(steps, key)
		default:
			read = false
		}
	}
	slices.Reverse(steps)
	return steps
}

// index reads [KEY] backwards from its closing bracket: the key where that is
// plain text, and the token before.
func (f *File) index(i int) (key string, before int) {
	if i >= 4 && f.tokens[i-1].kind == hclsyntax.TokenCQuote && f.tokens[i-2].kind == hclsyntax.TokenQuotedLit &&
		f.tokens[i-3].kind == hclsyntax.TokenOQuote && f.tokens[i-4].kind == hclsyntax.TokenOBrack {
		return f.text(i - 2).Text, i - 5
	}
	depth := 0
	for ; i >= 0; i-- {
		switch f.tokens[i].kind {
		case hclsyntax.TokenCBrack:
			depth++
		case hclsyntax.TokenOBrack:
			depth--
		}
		if depth == 0 {
			return "", i - 1
		}
	}
	return "", -1
}

// forward reads the steps that follow a reference.
func (f *File) forward(i int, steps []string) []string {
	for _, s := range f.follow(i) {
		steps = append(steps, s.Text)
	}
	return steps
}

// follow reads the steps of a reference from a token on: names behind dots, and what
// stands in brackets, without text where that is computed.
func (f *File) follow(i int) (steps []Text) {
	for i+1 < len(f.tokens) {
		switch {
		case f.tokens[i].kind == hclsyntax.TokenDot && f.tokens[i+1].kind == hclsyntax.TokenIdent:
			steps = append(steps, f.text(i+1))
			i += 2
		case f.tokens[i].kind == hclsyntax.TokenOBrack:
			closed := f.closed(i)
			if closed < 0 {
				return steps
			}
			step := Text{"", Span{f.tokens[i].span.End, f.tokens[closed].span.Start}}
			if closed == i+4 && f.tokens[i+2].kind == hclsyntax.TokenQuotedLit {
				step = f.text(i + 2)
			}
			steps = append(steps, step)
			i = closed + 1
		default:
			return steps
		}
	}
	return steps
}

// closed is the token that closes the bracket at another; -1 where none does.
func (f *File) closed(i int) int {
	for depth := 0; i < len(f.tokens) && f.tokens[i].role == expression; i++ {
		switch f.tokens[i].kind {
		case hclsyntax.TokenOBrack:
			depth++
		case hclsyntax.TokenCBrack:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// gap is the place behind a token, outside of every word; -1 is the beginning.
func (f *File) gap(i, offset int) Place {
	here := Text{"", Span{offset, offset}}
	if i < 0 {
		return Place{Kind: Body, Word: here}
	}
	i = min(i, len(f.tokens)-1)
	t := &f.tokens[i]
	p := Place{Block: t.block, Argument: t.argument, Word: here}
	switch {
	case t.role == comment && (offset < t.span.End || f.Source[t.span.End-1] != '\n'):
		return Place{}
	case t.header != nil && t.open:
		p.Kind, p.Header = Label, t.header
	case t.argument != nil && t.open:
		f.gapInValue(i, &p)
	case t.kind == hclsyntax.TokenCBrace && t.block != nil && offset >= t.span.End:
		p.Block = t.block.Parent
		fallthrough
	default:
		p.Kind, p.Argument = Body, nil
		if !f.startsLine(offset) && t.kind != hclsyntax.TokenOBrace {
			p.Kind = Nowhere
		}
	}
	return p
}

// gapInValue is the place behind a token of an expression.
func (f *File) gapInValue(i int, p *Place) {
	switch f.tokens[i].kind {
	case hclsyntax.TokenOQuote:
		p.Kind = Quoted
	case hclsyntax.TokenDot:
		p.Kind = Value
		if i > 0 && f.endsStep(i-1) {
			p.Steps = f.back(i - 1)
			p.Steps = append(p.Steps, "")
			p.Step = len(p.Steps) - 1
		}
	case hclsyntax.TokenOHeredoc, hclsyntax.TokenStringLit, hclsyntax.TokenQuotedLit, hclsyntax.TokenIdent, hclsyntax.TokenCQuote, hclsyntax.TokenNumberLit,
		hclsyntax.TokenCBrack, hclsyntax.TokenCBrace, hclsyntax.TokenCParen:
		p.Kind = Nowhere
	default:
		p.Kind = Value
	}
}

// startsLine reports whether only blanks stand before an offset on its line.
func (f *File) startsLine(offset int) bool {
	for i := min(offset, len(f.Source)) - 1; i >= 0; i-- {
		switch f.Source[i] {
		case '\n':
			return true
		case ' ', '\t', '\r':
		default:
			return false
		}
	}
	return true
}
