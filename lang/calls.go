package lang

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/ndc-dev/ndc/diag"
)

// Call is a module block, as far as it is known before anything is evaluated.
type Call struct {
	Name            string
	Source, Version string     // Version is "" without one
	At              diag.Range // of the source
	VersionAt       diag.Range // of the version, or else of the source
}

// IsFolder reports whether the source is a folder as it is, which nobody has to
// fetch.
func (c *Call) IsFolder() bool { return isRelative(c.Source) }

// Folder is that folder, for a call in a folder, and the one that it may not
// leave: what stands before //.
func (c *Call) Folder(fsys fs.FS, from string) (folder, root string) {
	outer, inner, _ := strings.Cut(c.Source, "//")
	root = Beside(fsys, from, outer)
	return path.Join(root, inner), root
}

// Beside is a path from a folder, as the system takes it: above a link to a folder is what is
// above the folder that it leads to.
func Beside(fsys fs.FS, folder, name string) string {
	links := mostLinks
	return beside(fsys, folder, name, &links)
}

// PathFrom is the path from a folder that Beside takes back to a file: the same however
// the folder is reached. A file that no such path leads to keeps its name.
func PathFrom(fsys fs.FS, folder, name string) string {
	up := "."
	for range deepest {
		switch at := Beside(fsys, folder, up); {
		case at == ".":
			if within(name, at) {
				return path.Join(up, name)
			}
		case within(name, at):
			return path.Join(up, strings.TrimPrefix(name, at))
		}
		up = path.Join(up, "..")
	}
	return name
}

// deepest is how far above a folder its modules may be.
const deepest = 100

// mostLinks are followed in all, as systems do: they may lead in a circle.
const mostLinks = 40

func beside(fsys fs.FS, folder, name string, links *int) string {
	at := path.Clean(folder)
	for part := range strings.SplitSeq(name, "/") {
		for part == ".." && *links > 0 {
			target, err := fs.ReadLink(fsys, at)
			if err != nil {
				break
			}
			if *links--; path.IsAbs(target) {
				at = path.Clean(target)
			} else {
				at = beside(fsys, path.Dir(at), target, links)
			}
		}
		at = path.Join(at, part)
	}
	return at
}

// IsArchive reports whether a path is that of an archive that ndc init unpacks.
func IsArchive(name string) bool {
	for _, ext := range []string{".tar.gz", ".tgz", ".tar", ".zip"} {
		if strings.HasSuffix(name, ext) {
			return true
		}
	}
	return false
}

// Calls lists the module blocks of a file, or of all *.hcl files of a folder, each name
// once: several files may have the same block.
func Calls(fsys fs.FS, name string) ([]Call, diag.List) {
	var calls []Call
	blocks, diags := blocksOf(fsys, name)
	for _, b := range blocks {
		if b.Type == "module" && len(b.Labels) == 1 && hclsyntax.ValidIdentifier(b.Labels[0]) {
			c := Call{Name: b.Labels[0], At: rangeOf(b.DefRange())}
			wrong := len(diags)
			if b.Body.Attributes["source"] == nil {
				diags.Error(MissingArgument, c.At, summaries[MissingArgument], lacksSource(b))
			}
			c.Source = written(b, "source", &c.At, &diags)
			c.VersionAt = c.At
			c.Version = written(b, "version", &c.VersionAt, &diags)
			same := func(o Call) bool { return o.Name == c.Name }
			switch i := slices.IndexFunc(calls, same); {
			case wrong < len(diags):
			case i < 0:
				calls = append(calls, c)
			case calls[i].Source != c.Source || calls[i].Version != c.Version:
				diags.Error(DuplicateBlock, rangeOf(b.DefRange()), summaries[DuplicateBlock], fmt.Sprintf("module %q is already defined at %s:%d. %s",
					c.Name, calls[i].At.Filename, calls[i].At.Start.Line, otherCall))
			}
		}
	}
	return calls, diags
}

// otherCall says what is wrong with a second module block of a name.
const otherCall = "Several files of a folder may have the same module block; this one says something else. Give it another name, or make the two alike."

// Declares reports whether a file, or an *.hcl file of a folder, has a variable block of
// a name. Files that cannot be read declare nothing.
func Declares(fsys fs.FS, name, variable string) bool {
	blocks, _ := blocksOf(fsys, name)
	return slices.ContainsFunc(blocks, func(b *hclsyntax.Block) bool {
		return b.Type == "variable" && len(b.Labels) == 1 && b.Labels[0] == variable
	})
}

// blocksOf lists the blocks of a file, or of all *.hcl files of a folder.
func blocksOf(fsys fs.FS, name string) (blocks []*hclsyntax.Block, diags diag.List) {
	name = path.Clean(name)
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	names := []string{name}
	if info.IsDir() {
		names = nil
		entries, err := fs.ReadDir(fsys, name)
		if err != nil {
			return nil, unreadable(name, err)
		}
		for _, e := range entries {
			if !e.IsDir() && !ignored(e.Name()) && strings.HasSuffix(e.Name(), ".hcl") {
				names = append(names, path.Join(name, e.Name()))
			}
		}
	}
	for _, name := range names {
		src, wrong := ReadFile(fsys, name)
		diags.Append(wrong)
		body, wrong := parseSource(src, name)
		diags.Append(wrong)
		if body != nil {
			blocks = append(blocks, body.Blocks...)
		}
	}
	return blocks, diags
}

// written is an argument that stands there as text, and its place.
func written(b *hclsyntax.Block, name string, at *diag.Range, diags *diag.List) string {
	a := b.Body.Attributes[name]
	if a == nil {
		return ""
	}
	*at = rangeOf(a.Expr.Range())
	t, ok := a.Expr.(*hclsyntax.TemplateExpr)
	if !ok || !t.IsStringLiteral() {
		diags.Error(InvalidValue, rangeOf(a.Expr.Range()), summaries[InvalidValue],
			fmt.Sprintf("%q is plain text in quotes: modules are found before anything is evaluated. To choose between modules, write a block for each.", name))
		return ""
	}
	v, _ := t.Value(nil)
	if v.AsString() == "" {
		diags.Error(MissingArgument, rangeOf(a.Expr.Range()), summaries[MissingArgument], emptyText(name))
	}
	return v.AsString()
}
