package lsp

import (
	"io/fs"
	"path"
	"strings"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/catalog"
	"github.com/ndc-dev/ndc/lang/outline"
)

// lookup finds names in the files as they are at one moment.
type lookup struct {
	server    *server
	documents map[string]*document
	files     overlay
	read      map[string]*source // what was read meanwhile, by path
}

// source is a file with its outline.
type source struct {
	path    string
	text    *text
	outline *outline.File
}

func (s *server) lookup() *lookup {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lookupIn(s.current.documents)
}

func (s *server) lookupIn(documents map[string]*document) *lookup {
	return &lookup{s, documents, s.overlaid(documents), map[string]*source{}}
}

// file reads a file, a document first; nil when it cannot be read.
func (l *lookup) file(name string) *source {
	if f, ok := l.read[name]; ok {
		return f
	}
	var f *source
	if d := l.documents[name]; d != nil {
		f = &source{name, d.text, d.outline()}
	} else if src, diags := lang.ReadFile(l.files, name); !diags.HasErrors() {
		f = &source{name, newText(string(src)), outline.Read(name, src)}
	}
	l.read[name] = f
	return f
}

// folder reads the files of jobs in a folder; of a file alone that one.
func (l *lookup) folder(name string) []*source {
	names := []string{name}
	if entries, err := fs.ReadDir(l.files, name); err == nil {
		names = nil
		for _, e := range entries {
			d := document{path: "/" + e.Name()}
			if !e.IsDir() && strings.HasSuffix(e.Name(), ".hcl") && !strings.HasPrefix(e.Name(), ".") && d.isJob() {
				names = append(names, path.Join(name, e.Name()))
			}
		}
	}
	var list []*source
	for _, n := range names {
		if f := l.file(n); f != nil {
			list = append(list, f)
		}
	}
	return list
}

// definition is where a name is given.
type definition struct {
	file  *source
	block *outline.Block    // nil for a local
	local *outline.Argument // nil for a block
}

// name is the place of the name itself.
func (d *definition) name() outline.Span {
	if d.local != nil {
		return d.local.Name.Span
	}
	if len(d.block.Labels) > 0 {
		return d.block.Labels[0].Span
	}
	return d.block.Type.Span
}

// span is all of it.
func (d *definition) span() outline.Span {
	if d.local != nil {
		return outline.Span{Start: d.local.Name.Span.Start, End: d.local.Value.End}
	}
	return d.block.Span
}

// text is how it is written.
func (d *definition) text() string {
	s := d.span()
	return d.file.text.content[s.Start:s.End]
}

// definitions lists what a folder defines under the root of references: var,
// local, the kinds of blocks, module and output.
func (l *lookup) definitions(folder, root string) []definition {
	var list []definition
	for _, f := range l.folder(folder) {
		for _, b := range f.outline.Blocks {
			switch {
			case root == "local" && b.Type.Text == "locals":
				for _, a := range b.Arguments {
					list = append(list, definition{file: f, local: a})
				}
			case root == "var" && b.Type.Text == "variable", root != "local" && b.Type.Text == root:
				if b.Label() != "" {
					list = append(list, definition{file: f, block: b})
				}
			}
		}
	}
	return list
}

// label is the name by which references have it.
func (d *definition) label() string {
	if d.local != nil {
		return d.local.Name.Text
	}
	return d.block.Label()
}

// define finds one definition; nil when there is none.
func (l *lookup) define(folder, root, name string) *definition {
	for _, d := range l.definitions(folder, root) {
		if d.label() == name {
			return &d
		}
	}
	return nil
}

// moduleFolder is the folder of a module that a folder calls; "" when it is not
// there.
func (l *lookup) moduleFolder(folder string, d *definition) string {
	given, ok := d.file.outline.ValueText(d.block.Argument("source"))
	if !ok {
		return ""
	}
	call := lang.Call{Name: d.label(), Source: given}
	if call.IsFolder() {
		inner, _ := call.Folder(l.files, folder)
		return inner
	}
	version, _ := d.file.outline.ValueText(d.block.Argument("version"))
	if modules := l.server.Program.Modules(l.files, folder); modules != nil {
		if found, diags := modules.Folder(call.Name, given, version, diag.Range{}); !diags.HasErrors() {
			return path.Clean(found)
		}
	}
	// What a module calls was fetched for the jobs that call it, which know its place.
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	return l.server.modules[lang.Called{Folder: folder, Name: call.Name}]
}

// isCatalog reports whether an open document is an entry of the catalogue as it
// is, which is no job of anybody.
func isCatalog(d *document) bool {
	name := strings.TrimSuffix(path.Base(d.path), ".hcl")
	for _, kind := range catalog.Kinds() {
		if src := catalog.Source(kind, name); src != nil && string(src) == d.text.content {
			return true
		}
	}
	return false
}
