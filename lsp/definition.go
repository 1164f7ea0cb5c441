package lsp

import (
	"context"
	"path"

	"github.com/ndc-dev/ndc/lang/outline"
)

// definition answers where the name at a position is given.
func (s *server) definition(_ context.Context, p *positionParams) ([]location, error) {
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	place, _ := d.place(p.Position)
	l, folder := s.lookup(), path.Dir(d.path)
	switch place.Kind {
	case outline.Value:
		if list := l.valuesAt(folder, &place); list != nil {
			return l.places(list), nil
		}
		return l.locate(l.resolve(folder, place.Steps[:min(len(place.Steps), max(place.Step+1, 2))])), nil
	case outline.Quoted, outline.ArgumentName:
		if b := place.Block; b != nil && b.Type.Text == "module" {
			return l.inModule(folder, &place), nil
		}
	}
	return []location{}, nil
}

// places are those of the values of sites.
func (l *lookup) places(list []siteValue) []location {
	places := []location{}
	for _, v := range list {
		places = append(places, location{l.uri(v.value.file.path), v.value.file.text.span(v.value.name())})
	}
	return places
}

// locate is the place of what a reference means.
func (l *lookup) locate(m *meaning) []location {
	switch {
	case m == nil:
		return []location{}
	case m.definition != nil:
		f := m.definition.file
		return []location{{l.uri(f.path), f.text.span(m.definition.name())}}
	}
	if name := l.server.Program.CatalogFile(m.kind, m.name); name != "" {
		return []location{{uriOf(name), textRange{}}}
	}
	return []location{}
}

// uri is how the editor calls a file.
func (l *lookup) uri(name string) string {
	if d := l.documents[name]; d != nil {
		return d.uri
	}
	return uriOf(name)
}

// inModule leads from the source of a module block to the first file of the
// module, and from an input to its variable.
func (l *lookup) inModule(folder string, place *outline.Place) []location {
	d := l.define(folder, "module", place.Block.Label())
	if d == nil || place.Argument == nil {
		return []location{}
	}
	inner := l.moduleFolder(folder, d)
	name := place.Argument.Name.Text
	switch {
	case inner == "":
	case place.Kind == outline.ArgumentName && place.Argument.Spec == nil:
		if v := l.define(inner, "var", name); v != nil {
			return []location{{l.uri(v.file.path), v.file.text.span(v.name())}}
		}
	case name == "source":
		for _, f := range l.folder(inner) {
			return []location{{l.uri(f.path), textRange{}}}
		}
	}
	return []location{}
}
