package lsp

import (
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/lang/outline"
)

// siteValue is an entry of a site's values, which its jobs read as here.NAME.
type siteValue struct {
	site  string
	value definition
}

// here lists the values that may be read in a block: those of the site that its job names,
// else those of all sites that its folder has, its modules, and the folders that call it.
func (l *lookup) here(folder string, b *outline.Block) []siteValue {
	for b != nil && b.Parent != nil {
		b = b.Parent
	}
	if b != nil && b.Type.Text == "job" {
		if named := l.siteOf(folder, b); named != nil {
			return valuesOf(named)
		}
	}
	var list []siteValue
	for _, f := range append(callersOf(folder, l.server.callers()), folder) {
		for _, s := range l.sites(f) {
			for _, v := range valuesOf(&s) {
				if !slices.ContainsFunc(list, func(o siteValue) bool { return o.value.file == v.value.file && o.value.name() == v.value.name() }) {
					list = append(list, v)
				}
			}
		}
	}
	return list
}

// siteOf is the site that a job names; nil where it names none that is known.
func (l *lookup) siteOf(folder string, job *outline.Block) *definition {
	for _, f := range l.folder(folder) {
		for _, r := range f.outline.References() {
			a := job.Argument("site")
			if a == nil || r.Block != job || r.Steps[0].Span.Start != a.Value.Start {
				continue
			}
			var steps []string
			for _, s := range r.Steps {
				steps = append(steps, s.Text)
			}
			if m := l.resolve(folder, steps); m != nil && m.definition != nil && m.definition.block != nil && m.definition.block.Type.Text == "site" {
				return m.definition
			}
		}
	}
	return nil
}

// sites lists those of a folder and of the modules that it calls.
func (l *lookup) sites(folder string) []definition {
	list := l.definitions(folder, "site")
	for _, m := range l.definitions(folder, "module") {
		if inner := l.moduleFolder(folder, &m); inner != "" {
			list = append(list, l.definitions(inner, "site")...)
		}
	}
	return list
}

func valuesOf(site *definition) []siteValue {
	var list []siteValue
	for _, e := range site.file.outline.Entries(site.block.Argument("values")) {
		list = append(list, siteValue{site.label(), definition{file: site.file, local: e}})
	}
	return list
}

// values offers what sites give, each name once.
func (c *completer) values() {
	byName := map[string][]siteValue{}
	var names []string
	for _, v := range c.here(c.folder, c.place.Block) {
		name := v.value.label()
		if byName[name] == nil {
			names = append(names, name)
		}
		byName[name] = append(byName[name], v)
	}
	for _, name := range names {
		c.add(completionItem{Label: name, Kind: kindField, Detail: "of the site", Documentation: markdown(hereDoc(byName[name]))}, name)
	}
}

// valuesAt are the values of sites that a place names; nil where it names none.
func (l *lookup) valuesAt(folder string, p *outline.Place) []siteValue {
	if len(p.Steps) < 2 || p.Steps[0] != "here" {
		return nil
	}
	return slices.DeleteFunc(l.here(folder, p.Block), func(v siteValue) bool { return v.value.label() != p.Steps[1] })
}

// hereDoc shows values, each with its site.
func hereDoc(list []siteValue) string {
	var b strings.Builder
	for _, v := range list {
		b.WriteString("site " + v.site + ": " + v.value.text() + "\n")
	}
	if b.Len() == 0 {
		return ""
	}
	return excerpt(b.String())
}
