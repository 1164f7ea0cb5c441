package output

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
)

// Difference is a file in which an output folder is not what a build makes.
type Difference struct {
	Kind DifferenceKind
	Path string // with slashes, relative to the output folder
	Why  string // of a place where no plain file lies: "is a symbolic link"; or of its mode or the ends of its lines

	// Old is what lies there, New what the build makes; nil where there is none, and
	// where Why says all.
	Old, New []byte
}

// Against sets what is there instead of what a build makes. Where its lines end with
// CR LF, or are far more than the build makes, that is said, and no line is shown: all of
// them differ, or nobody would read them.
func (d *Difference) Against(old []byte) {
	const readable = 4 << 20
	switch d.Old = old; {
	case windows(old, d.New):
		d.Old, d.Why = nil, "ends its lines with CR LF"
	case len(old) > len(d.New)+readable:
		d.Old, d.Why = nil, fmt.Sprintf("has %d MiB, far more than the build makes", len(old)>>20)
	}
}

// DifferenceKind tells differences apart.
type DifferenceKind uint8

// The kinds of differences.
const (
	Missing DifferenceKind = iota // the build makes the file, and it is not there
	Stale                         // it is as an earlier build made it
	Changed                       // it is as no build of ndc made it
	Stray                         // no build makes it
)

// String names the kind as the command prints it.
func (k DifferenceKind) String() string {
	return [...]string{"missing", "stale", "edited", "stray"}[k]
}

// ErrInterrupted says that an output folder holds a build that was ended while
// it replaced files.
var ErrInterrupted = errors.New("a build into it was interrupted; the next build finishes or undoes it")

// Differences compares folders below an output folder with what a build makes
// of them, and changes nothing, not even to lock it. A file beside those of the
// build is a stray unless it is left by something that may leave it there;
// so is every file of a folder JOB/BACKEND that ndc wrote and nobody claims.
func Differences(path string, folders []Folder, left func(name string) bool, claimed func(job, backend string) bool) ([]Difference, error) {
	var list []Difference
	err := Look(path, func(o *Output) {
		for _, b := range o.Builds(claimed) {
			if !slices.ContainsFunc(folders, func(f Folder) bool { return f.Path == b.Path }) {
				folders = append(slices.Clip(folders), Folder{Path: b.Path})
			}
		}
		for i := range folders {
			list = append(list, o.differences(&folders[i])...)
			list = append(list, o.foreign(&folders[i], left)...)
		}
	})
	if errors.Is(err, fs.ErrNotExist) {
		return missing(folders), nil
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b Difference) int { return cmp.Compare(a.Path, b.Path) })
	return slices.CompactFunc(list, func(a, b Difference) bool { return a.Path == b.Path }), nil
}

// Look opens an output folder for what changes nothing, not even to lock it. The error may be
// ErrInterrupted.
func Look(path string, look func(*Output)) error {
	root, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer root.Close()
	o := &Output{path: path, root: root}
	if o.has(journalFile) {
		return ErrInterrupted
	}
	look(o)
	return nil
}

// missing are the files of a build of which nothing is there.
func missing(folders []Folder) (list []Difference) {
	for _, f := range folders {
		for _, file := range f.Files {
			list = append(list, Difference{Kind: Missing, Path: path.Join(f.Path, file.Path), New: file.Content})
		}
	}
	return list
}

// differences compares the files of one folder, and those that its plan.json
// names, with what a build makes.
func (o *Output) differences(f *Folder) (list []Difference) {
	m := o.manifest(f.Path)
	for _, file := range f.Files {
		d := Difference{Kind: Changed, Path: path.Join(f.Path, file.Path), New: file.Content}
		there, err := o.look(d.Path)
		switch {
		case err != nil:
			d.Why = o.blocked(d.Path, err).Why
		case !there.exists:
			d.Kind = Missing
		case there.hash == "" && there.mode.IsRegular():
			d.Why = fmt.Sprintf("has more than %d MiB", largest>>20)
		case there.hash == "":
			d.Why = "is " + kindOf(there.mode)
		case there.hash != Hash(file.Content):
			if there.hash == m.owned[file.Path] {
				d.Kind = Stale
			}
			old, _, _ := read(o.root, d.Path, largest)
			d.Against(old)
		case there.mode.Perm()&0o100 != 0 != file.Executable:
			d.Why = "may be executed"
			if file.Executable {
				d.Why = "may not be executed"
			}
		default:
			continue
		}
		list = append(list, d)
	}
	for _, name := range m.paths() {
		if there, err := o.look(path.Join(f.Path, name)); !f.has(name) && err == nil && there.exists {
			list = append(list, Difference{Kind: Stray, Path: path.Join(f.Path, name)})
		}
	}
	return list
}

// foreign lists the files that lie beside those of a build.
func (o *Output) foreign(f *Folder, left func(name string) bool) (list []Difference) {
	dirs := map[string]bool{}
	for _, file := range f.Files {
		dirs[path.Dir(file.Path)] = true
	}
	for _, dir := range sortedKeys(dirs) {
		at := path.Join(f.Path, dir)
		if o.onlyFolders(at) != nil {
			continue
		}
		entries, _ := fs.ReadDir(o.root.FS(), at)
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			if !e.IsDir() && !f.has(name) && !left(e.Name()) {
				list = append(list, Difference{Kind: Stray, Path: path.Join(f.Path, name)})
			}
		}
	}
	return list
}

func (f *Folder) has(name string) bool {
	return slices.ContainsFunc(f.Files, func(file File) bool { return file.Path == name })
}
