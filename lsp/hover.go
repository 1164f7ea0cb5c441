package lsp

import (
	"context"
	"path"
	"slices"

	"github.com/ndc-dev/ndc/lang/catalog"
	"github.com/ndc-dev/ndc/lang/functions"
	"github.com/ndc-dev/ndc/lang/outline"
)

// hover tells what stands at a position.
func (s *server) hover(_ context.Context, p *positionParams) (*hover, error) {
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	place, _ := d.place(p.Position)
	if text := s.explain(d, &place); text != "" {
		return &hover{markdown(text), d.text.span(place.Word.Span)}, nil
	}
	return nil, nil
}

func (s *server) explain(d *document, p *outline.Place) string {
	switch p.Kind {
	case outline.Body:
		if spec := d.outline().Spec(*p); spec != nil {
			if b := spec.Block(p.Word.Text); b != nil {
				return blockDoc(b)
			}
			if a := spec.Argument(p.Word.Text); a != nil {
				return argumentDoc(a, effectOf(a, p.Block))
			}
		}
	case outline.BlockType, outline.Label:
		if p.Header.Spec != nil && p.Word.Text != "" {
			return blockDoc(p.Header.Spec)
		}
	case outline.ArgumentName:
		return s.explainArgument(d, p)
	case outline.Function:
		return functionDoc(p.Word.Text)
	case outline.Value:
		l := s.lookup()
		if list := l.valuesAt(path.Dir(d.path), p); list != nil {
			return hereDoc(list)
		}
		return explainMeaning(l.resolve(path.Dir(d.path), p.Steps[:min(len(p.Steps), max(p.Step+1, 2))]), p)
	case outline.Quoted:
		if a := p.Argument.Spec; a != nil && slices.Contains(a.Enum, p.Word.Text) {
			return argumentDoc(a, effectOf(a, p.Block))
		}
	}
	return ""
}

// explainArgument tells of an argument of the language, or of the variable that
// an input of a module sets.
func (s *server) explainArgument(d *document, p *outline.Place) string {
	if a := p.Argument.Spec; a != nil {
		return argumentDoc(a, effectOf(a, p.Block))
	}
	l, folder := s.lookup(), path.Dir(d.path)
	if p.Block != nil && p.Block.Type.Text == "module" {
		if m := l.define(folder, "module", p.Block.Label()); m != nil {
			folder = l.moduleFolder(folder, m)
		}
	} else if p.Block != nil {
		return ""
	}
	if v := l.define(folder, "var", p.Argument.Name.Text); v != nil {
		return excerpt(v.text())
	}
	return ""
}

// explainMeaning tells what a reference leads to.
func explainMeaning(m *meaning, p *outline.Place) string {
	switch {
	case m == nil:
		return ""
	case m.argument != nil && m.steps == p.Step+1:
		return argumentDoc(m.argument, 0)
	case m.definition != nil:
		return excerpt(m.definition.text())
	case m.name != "":
		return entryDoc(m.kind, m.name)
	}
	return ""
}

// entryDoc shows an entry of the catalogue with its sources, and who builds it.
func entryDoc(kind, name string) string {
	return "`catalog." + kind + "." + name + "`\n\n" + code(string(catalog.Source(kind, name)))
}

// functionDoc shows how a function is called.
func functionDoc(name string) string {
	f := functions.Signature(name)
	if f == "" {
		return ""
	}
	return code(f) + "\nAs Terraform's function of that name."
}
