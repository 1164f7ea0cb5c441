package lang

import (
	"io/fs"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// undefined reports a reference to a name of a kind that the module does not have. Of a
// file that was read alone, the files beside it may: who splits jobs over files and names
// one of them means the folder.
func (m *module) undefined(t hcl.Traversal, root, problem string) {
	name, _ := step(t, 1)
	if file := m.beside(root, name); file != "" {
		m.fail(UnknownReference, rangeOf(hcl.RangeBetween(t[0].SourceRange(), t[1].SourceRange())),
			"%s %s beside this file has it, and the file was read alone. Name the folder instead: %s.", problem, path.Base(file), m.folder)
		return
	}
	m.unknownName(t, 2, problem, m.names(root))
}

// beside is the first of the other files of the folder that defines root.name, where one
// file of it was read alone; "" when there is none.
func (m *module) beside(root, name string) string {
	if m.alone == "" {
		return ""
	}
	if m.others == nil {
		m.others = m.given()
	}
	return m.others[root+"."+name]
}

// given is what the other files of the folder define, each with the first file that does.
// It is read once, and no further than a folder may be large.
func (m *module) given() map[string]string {
	files, left := map[string]string{}, maxFolder
	entries, _ := fs.ReadDir(m.fsys, m.folder) // what cannot be read has nothing
	for _, e := range entries {
		file := path.Join(m.folder, e.Name())
		if e.IsDir() || ignored(e.Name()) || !strings.HasSuffix(e.Name(), ".hcl") || file == m.alone {
			continue
		}
		src, _ := ReadFile(m.fsys, file)
		if left -= len(src); left < 0 {
			break
		}
		body, _ := parseSource(src, file)
		if body == nil {
			continue
		}
		for _, b := range body.Blocks {
			for _, name := range gives(b) {
				if files[name] == "" {
					files[name] = file
				}
			}
		}
	}
	return files
}

// gives lists what a block of a file defines, as it is referred to.
func gives(b *hclsyntax.Block) (names []string) {
	switch {
	case b.Type == "locals":
		for name := range b.Body.Attributes {
			names = append(names, "local."+name)
		}
	case len(b.Labels) == 1 && b.Type == "variable":
		names = append(names, "var."+b.Labels[0])
	case len(b.Labels) == 1:
		names = append(names, b.Type+"."+b.Labels[0])
	}
	return names
}
