package lock

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/ndc-dev/ndc/diag"
)

// Module is what was fetched for the module block of an address.
type Module struct {
	Address string // of the block: "base", or "base.inner" for one in that module
	Source  string // as written there
	Version string // that was chosen, where the block asks for one
	Commit  string // of a source in git
	Hash    string // of the files, as golang.org/x/mod/sumdb/dirhash computes it
}

// Satisfies reports whether the module is what a block with a source and a
// version asks for.
func (m *Module) Satisfies(source, version string) bool {
	return m.Source == source && allows(version, m.Version)
}

// Module returns what was fetched for an address; nil when nothing was.
func (f *File) Module(address string) *Module {
	if f == nil {
		return nil
	}
	i := slices.IndexFunc(f.Modules, func(m Module) bool { return m.Address == address })
	if i < 0 {
		return nil
	}
	return &f.Modules[i]
}

// Folder is where the files of modules lie, in the folder of the job.
const Folder = ".ndc/modules"

// sums is what the name of the list of a module's hashes ends with. The lock has
// the hash of the list; the list tells which file has changed.
const sums = "@sums"

// Fetched finds what was fetched, and holds it to the lock.
type Fetched struct {
	FS   fs.FS
	From string // the folder of the job, as a slash path
	Lock *File

	checked map[string]diag.List
}

// Folder implements lang.Modules.
func (f *Fetched) Folder(address, source, version string, at diag.Range) (folder string, diags diag.List) {
	s, diags := SourceOf(source, version, at, at)
	if diags.HasErrors() {
		return "", diags
	}
	m := f.Lock.Module(address)
	switch {
	case m == nil:
		diags.Error(IDNotFetched, at, "A module is not here yet", fmt.Sprintf("%s has no module %q. Run ndc init, which fetches it; it is the only command that uses the network.", Name, address))
		return "", diags
	case !m.Satisfies(source, version):
		diags.Error(IDNotFetched, at, "A module is not here yet", fmt.Sprintf("%s has another source or version of module %q. Run ndc init, which fetches what is asked for now.", Name, address))
		return "", diags
	}
	root := path.Join(f.From, Folder, address)
	if f.checked == nil {
		f.checked = map[string]diag.List{}
	}
	if _, done := f.checked[address]; !done {
		f.checked[address] = f.check(root, m, at)
	}
	return path.Join(root, s.Inner), f.checked[address]
}

// check compares the files of a module with the lock.
func (f *Fetched) check(root string, m *Module, at diag.Range) (diags diag.List) {
	err := Verify(f.FS, root, m.Hash)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		diags.Error(IDNotFetched, at, "A module is not here yet", fmt.Sprintf("The files of module %q are not in %s. Run ndc init, which fetches them.", m.Address, root))
	case errors.Is(err, errWindows):
		diags.Error(IDChanged, at, "A fetched module was changed", fmt.Sprintf("%v. A .gitattributes at the top of the repository with the line * -text keeps git from it; check the files out again (git checkout -- .).", err))
	case errors.Is(err, errOther):
		diags.Error(IDChanged, at, "A fetched module was changed", fmt.Sprintf("%v. Where the lock changed since they were fetched, as by a pull or a merge, or somebody edited them, ndc init fetches what the lock has.", err))
	case err != nil:
		diags.Error(IDChanged, at, "A fetched module was changed", fmt.Sprintf("%v. What is fetched is not to be edited: run ndc init, which fetches it again, or work on a copy in a folder of your own.", err))
	}
	return diags
}

// ErrGits is what Verify finds wrong with the files of a module that have git's
// own among them. No module that is fetched today has any; those of archives that
// earlier versions unpacked may.
var ErrGits = errors.New("is for git alone to write: settings there make git run programs")

// errWindows is what Verify finds wrong with files that git checked out with other ends of
// lines than they were committed with.
var errWindows = errors.New("end their lines with CR LF, as git writes files where core.autocrlf is set")

// errOther is what Verify finds wrong with files that their own list knows, and the lock
// does not: those of another version, as a rule.
var errOther = errors.New("are not those that " + Name + " has the hash of")

// Verify compares the files in a folder with a hash, and names a file that is
// another one.
func Verify(fsys fs.FS, root, hash string) error {
	files, err := list(fsys, root)
	if err != nil {
		return err
	}
	open := func(name string) (io.ReadCloser, error) { return fsys.Open(path.Join(root, name)) }
	if got, err := dirhash.Hash1(files, open); err != nil || got == hash {
		return err
	}
	text, err := readSums(fsys, root)
	if unix := strings.ReplaceAll(string(text), "\r\n", "\n"); err == nil && unix != string(text) && hashOf(unix) == hash {
		return fmt.Errorf("the files in %s %w", root, errWindows)
	}
	if err != nil || hashOf(string(text)) != hash {
		return fmt.Errorf("the files in %s %w", root, errOther)
	}
	known := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		known[name] = sum
	}
	for _, name := range files {
		got, err := sumOf(fsys, path.Join(root, name))
		switch want, ok := known[name]; {
		case err != nil:
			return err
		case !ok:
			return fmt.Errorf("%s was added to what was fetched", path.Join(root, name))
		case got != want:
			return fmt.Errorf("%s is not as it was fetched", path.Join(root, name))
		}
		delete(known, name)
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		return fmt.Errorf("%s was fetched, and is missing", path.Join(root, name))
	}
	return nil
}

// largestSums is more than any list of a module's hashes has, in bytes: a line for each
// of its files, of which fetch takes no more together.
const largestSums = 64 << 20

// readSums reads the list of a module's hashes as far as any goes: what is cut has
// another hash than the lock.
func readSums(fsys fs.FS, root string) ([]byte, error) {
	f, err := fsys.Open(root + sums)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, largestSums))
}

// Relisted is the list of a module's hashes, made anew of its files, which Verify has nothing
// against, where the one that lies beside them is another, as after a merge; "" where it is not.
func Relisted(fsys fs.FS, root, hash string) string {
	if text, err := readSums(fsys, root); err == nil && hashOf(string(text)) == hash {
		return ""
	}
	files, err := list(fsys, root)
	if err != nil {
		return ""
	}
	slices.Sort(files)
	var b strings.Builder
	for _, name := range files {
		sum, err := sumOf(fsys, path.Join(root, name))
		if err != nil {
			return ""
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, name)
	}
	return b.String()
}

// list lists the files in a folder, in which nothing but files and folders lies.
func list(fsys fs.FS, root string) ([]string, error) {
	if _, err := fs.Stat(fsys, root); err != nil {
		return nil, err
	}
	var files []string
	err := fs.WalkDir(fsys, root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && strings.EqualFold(d.Name(), ".git") {
			err = fmt.Errorf("%s %w", name, ErrGits)
		}
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a folder", name)
		}
		files = append(files, strings.TrimPrefix(name, root+"/"))
		return nil
	})
	return files, err
}

func sumOf(fsys fs.FS, name string) (string, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return fmt.Sprintf("%x", h.Sum(nil)), err
}

// Sums lists the hashes of some files by their names, and returns the hash of
// them all, which is that of the list.
func Sums(files map[string][]byte) (text, hash string) {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(files[name]), name)
	}
	return b.String(), hashOf(b.String())
}

// hashOf is the hash that dirhash.Hash1 gives the files of a list.
func hashOf(sums string) string {
	sum := sha256.Sum256([]byte(sums))
	return "h1:" + base64.StdEncoding.EncodeToString(sum[:])
}

// SumsPath is where the list of a module lies.
func SumsPath(root string) string { return root + sums }
