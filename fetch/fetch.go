// Package fetch gets the files of modules from repositories and archives. It is
// the only part of ndc that uses the network, and ndc init the only command that
// calls it. What comes from there is not trusted: it is read object by object,
// never checked out, so that no hook, filter, submodule or link of a repository
// does anything, and within limits. Which modules there are is the business of
// package lang, what was fetched that of lang/lock, and where it goes on disk the
// command's.
package fetch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/object"
	"golang.org/x/text/unicode/norm"
)

// Limits on what is fetched, far above any folder of modules.
const (
	MaxFiles    = 10_000    // of one repository or archive
	MaxPath     = 1024      // bytes of a file's path; systems open 4,096 at most, or 1,024
	MaxBytes    = 64 << 20  // of all files together, unpacked
	MaxTransfer = 256 << 20 // of what a repository sends, and of each object in it, unpacked
	MaxUnpacked = 32 << 30  // of all objects that a repository sends, unpacked
)

// Files are the files of a repository or archive, by their paths.
type Files struct {
	Content map[string][]byte
	LeftOut []string // links and submodules, which are not fetched

	folded map[string]string // names by what file systems take for one
	bytes  int64
}

// add reads a file of a path that somebody else chose.
func (f *Files) add(name string, r io.Reader) error {
	name = strings.TrimPrefix(name, "./")
	if err := f.check(name); err != nil {
		return err
	}
	content, err := io.ReadAll(io.LimitReader(r, MaxBytes-f.bytes+1))
	if err != nil {
		return fmt.Errorf("%q cannot be read: %w", name, err)
	}
	if f.bytes += int64(len(content)); f.bytes > MaxBytes {
		return fmt.Errorf("its files have more than %d MiB", MaxBytes>>20)
	}
	f.Content[name] = content
	return nil
}

// check refuses a path that leads elsewhere, that is another one on some file
// systems, or that git obeys.
func (f *Files) check(name string) error {
	if !fs.ValidPath(name) || name == "." || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '\\' || r == ':' || r == 0x7f }) {
		return fmt.Errorf("it has a file named %q, which leads out of it or is no name everywhere", name)
	}
	if len(name) > MaxPath {
		return fmt.Errorf("it has a file whose path is longer than %d bytes: %.40q…", MaxPath, name)
	}
	if isGits(name) {
		return fmt.Errorf("it has a file named %q, which is for git alone to write: settings there make git run programs", name)
	}
	if f.Content == nil {
		f.Content, f.folded = map[string][]byte{}, map[string]string{}
	}
	if len(f.Content) == MaxFiles {
		return fmt.Errorf("it has more than %d files", MaxFiles)
	}
	for part := name; part != "."; part = path.Dir(part) {
		folded := norm.NFC.String(strings.ToLower(part)) // letters may be written in two ways
		other, taken := f.folded[folded]
		_, isFile := f.Content[part]
		if taken && (other != part || part == name || isFile) {
			return fmt.Errorf("it has both %q and %q", other, name)
		}
		f.folded[folded] = part
	}
	return nil
}

// isGits reports whether a path has a component that git takes for the folder or
// file of its own, .git, on some file system. An empty tree is asked for the path:
// go-git holds it to what it asks of the trees of repositories, and then has no
// such entry.
func isGits(name string) bool {
	_, err := new(object.Tree).FindEntry(name)
	return !errors.Is(err, object.ErrEntryNotFound) && !errors.Is(err, object.ErrDirectoryNotFound)
}

// Inner reports whether there is a folder of a path.
func (f *Files) Inner(folder string) bool {
	for name := range f.Content {
		if folder == "." || strings.HasPrefix(name, folder+"/") {
			return true
		}
	}
	return false
}

// Folders are those that have files of jobs, "." among them, in order.
func (f *Files) Folders() []string {
	found := map[string]bool{}
	for name := range f.Content {
		if path.Ext(name) == ".hcl" {
			found[path.Dir(name)] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
