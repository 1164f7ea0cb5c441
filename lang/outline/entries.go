package outline

import "github.com/hashicorp/hcl/v2/hclsyntax"

// Entries are those of a map that is written out as the value of an argument.
func (f *File) Entries(a *Argument) []*Argument {
	if a == nil {
		return nil
	}
	var list []*Argument
	var open *Argument // the entry whose value is read
	depth := 0
	for i := 0; i < len(f.tokens); i++ {
		t := &f.tokens[i]
		if t.argument != a || t.role != expression && t.role != comment {
			continue
		}
		switch t.kind {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen:
			depth++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen:
			depth--
		}
		switch {
		case depth == 1 && (t.kind == hclsyntax.TokenNewline || t.kind == hclsyntax.TokenComma), t.role == comment, depth == 0:
			open = nil
		case open != nil:
			open.Value.End = t.span.End
		case depth == 1 && f.isWord(i) && f.assigned(i+1) > 0:
			open = &Argument{Name: f.text(i), Block: a.Block}
			i = f.assigned(i + 1)
			open.Value = Span{f.tokens[i].span.End, f.tokens[i].span.End}
			list = append(list, open)
		}
	}
	return list
}

// assigned is the equals sign or the colon at a token, behind a quote that closes; 0
// where there is none.
func (f *File) assigned(i int) int {
	if i < len(f.tokens) && f.tokens[i].kind == hclsyntax.TokenCQuote {
		i++
	}
	if i < len(f.tokens) && (f.tokens[i].kind == hclsyntax.TokenEqual || f.tokens[i].kind == hclsyntax.TokenColon) {
		return i
	}
	return 0
}
