package lsp

import (
	"context"
	"strings"

	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/outline"
)

// symbols lists the blocks of a document, and what is named in them.
func (s *server) symbols(_ context.Context, p *documentParams) ([]documentSymbol, error) {
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	f := d.outline()
	list := []documentSymbol{}
	for _, b := range f.Blocks {
		list = append(list, d.blockSymbol(b, maxSymbols))
	}
	for _, a := range f.Arguments {
		list = append(list, d.argumentSymbol(a, symbolVariable))
	}
	return list, nil
}

// maxSymbols is how deep blocks are listed; the language needs five.
const maxSymbols = 20

func (d *document) blockSymbol(b *outline.Block, depth int) documentSymbol {
	kind := symbolObject
	switch b.Type.Text {
	case "job":
		kind = symbolStruct
	case "module":
		kind = symbolModule
	case "variable", "output":
		kind = symbolVariable
	}
	selection := b.Type.Span
	name := b.Type.Text
	for _, l := range b.Labels {
		name += " " + lang.Quote(l.Text)
		selection = l.Span
	}
	sym := documentSymbol{Name: name, Kind: kind, Range: d.text.span(b.Span), SelectionRange: d.text.span(selection)}
	if depth == 0 {
		return sym
	}
	for _, a := range b.Arguments {
		k := symbolProperty
		if b.Type.Text == "locals" {
			k = symbolVariable
		}
		sym.Children = append(sym.Children, d.argumentSymbol(a, k))
	}
	for _, inner := range b.Blocks {
		sym.Children = append(sym.Children, d.blockSymbol(inner, depth-1))
	}
	return sym
}

func (d *document) argumentSymbol(a *outline.Argument, kind int) documentSymbol {
	value, _, more := strings.Cut(strings.TrimSpace(d.text.content[a.Value.Start:a.Value.End]), "\n")
	if more {
		value += " …"
	}
	all := outline.Span{Start: a.Name.Span.Start, End: a.Value.End}
	return documentSymbol{Name: a.Name.Text, Detail: value, Kind: kind, Range: d.text.span(all), SelectionRange: d.text.span(a.Name.Span)}
}
