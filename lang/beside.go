package lang

import (
	"io/fs"
	"path"
	"slices"
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
	entries, _ := fs.ReadDir(m.fsys, m.folder) // what cannot be read has nothing
	for _, e := range entries {
		file := path.Join(m.folder, e.Name())
		if e.IsDir() || ignored(e.Name()) || !strings.HasSuffix(e.Name(), ".hcl") || file == m.alone {
			continue
		}
		if blocks, _ := blocksOf(m.fsys, file); slices.ContainsFunc(blocks, func(b *hclsyntax.Block) bool { return gives(b, root, name) }) {
			return file
		}
	}
	return ""
}

// gives reports whether a block of a file defines root.name.
func gives(b *hclsyntax.Block, root, name string) bool {
	switch root {
	case "local":
		return b.Type == "locals" && b.Body.Attributes[name] != nil
	case "var":
		root = "variable"
	}
	return b.Type == root && len(b.Labels) == 1 && b.Labels[0] == name
}
