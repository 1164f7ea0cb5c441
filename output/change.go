package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Problem says why a file cannot be replaced.
type Problem struct {
	Kind ProblemKind
	Path string // as the user can open it
	Why  string // goes on after the path: "exists, and nothing beside it says that ndc wrote it"
}

// ProblemKind tells problems apart.
type ProblemKind uint8

// The kinds of problems; all but Blocked are overridden by force.
const (
	Foreign ProblemKind = iota // ndc did not write the file
	Merged                     // git left the marks of a merge in it
	Windows                    // its lines end with CR LF, as git may check files out; told of the first such file
	Edited                     // ndc wrote it, and somebody changed it since
	Blocked                    // something stands there that no file can replace
)

// change collects what a build does to the output folder.
type change struct {
	results  []Result
	problems []Problem
	folders  []string // that change
	missing  []string // to be made, parents first
	emptied  []string // that may be empty afterwards, children first
	steps    []step
	contents []File // of the steps that have new content
}

// entry is what lies at a place.
type entry struct {
	exists bool
	mode   fs.FileMode
	hash   string // of a regular file that can be ndc's
}

// look says what lies at a place whose parents are folders or missing.
func (o *Output) look(name string) (entry, error) {
	if err := o.onlyFolders(path.Dir(name)); err != nil {
		return entry{}, err
	}
	info, err := o.root.Lstat(name)
	if err != nil {
		return entry{}, ignoreMissing(err)
	}
	there := entry{exists: true, mode: info.Mode()}
	content, ok, err := read(o.root, name, largest)
	if ok {
		there.hash = Hash(content)
	}
	return there, err
}

// folder adds what one folder needs.
func (c *change) folder(o *Output, f *Folder, force bool) {
	r := Result{Path: f.Path}
	m := o.manifest(f.Path)
	if f.Kind != "" && m.name != "" && m.name != f.Kind && (len(f.Files) == 0 || !force) {
		if len(f.Files) > 0 {
			c.problem(Problem{Foreign, o.name(f.Path), fmt.Sprintf("is taken: its %s is of the job %q", m.name, m.Job)})
		}
		c.results = append(c.results, r)
		return
	}
	r.Earlier = len(m.paths())
	before := len(c.steps)
	for _, file := range f.Files {
		c.file(o, &r, file, &m, force)
	}
	c.stale(o, &r, f, &m)
	// A marker without a journal was copied, or its journal removed by hand.
	if len(c.steps) > before || o.has(path.Join(f.Path, Marker)) {
		c.folders = append(c.folders, f.Path)
	}
	slices.Sort(r.Written)
	slices.Sort(r.Changed)
	slices.Sort(r.Kept)
	c.results = append(c.results, r)
}

// file adds one file of the build, or a problem with it.
func (c *change) file(o *Output, r *Result, file File, was *manifest, force bool) {
	name := path.Join(r.Path, file.Path)
	there, err := o.look(name)
	if err != nil {
		c.problem(o.blocked(name, err))
		return
	}
	hash := Hash(file.Content)
	switch {
	case !there.exists:
		r.Written = append(r.Written, file.Path)
		c.makes(o, path.Dir(name))
	case there.hash == hash && there.mode.Perm()&0o100 != 0 == file.Executable:
		r.Kept = append(r.Kept, file.Path)
		return
	default:
		owned, ours := was.owned[file.Path]
		p := Problem{Path: o.name(name)}
		if there.refuses(&p, was.name, ours, there.hash != "" && (there.hash == hash || there.hash == owned)); p.Why != "" && (p.Kind == Blocked || !force) {
			switch content, _, _ := read(o.root, name, largest); {
			case merges(content):
				p.Kind, p.Why = Merged, "holds the marks of a merge"
			case windows(content, file.Content):
				p.Kind, p.Why = Windows, "ends its lines with CR LF"
			}
			c.problem(p)
			return
		}
		r.Changed = append(r.Changed, file.Path)
	}
	c.steps = append(c.steps, step{Path: name, New: true, Old: there.state()})
	c.contents = append(c.contents, file)
}

// merges reports whether a file has the marks that git leaves where two branches
// changed it.
func merges(content []byte) bool {
	return bytes.Contains(content, []byte("\n<<<<<<< ")) && bytes.Contains(content, []byte("\n>>>>>>> "))
}

// windows reports whether all lines of a file end with CR LF and those that a build
// makes do not.
func windows(content, built []byte) bool {
	crlf := []byte("\r\n")
	ends := bytes.Count(content, crlf)
	return ends > 0 && ends == bytes.Count(content, crlf[1:]) && !bytes.Contains(built, crlf)
}

// refuses says why what lies at a place is not replaced: ours is what the
// manifest names, and known what has a hash that ndc gave it.
func (e *entry) refuses(p *Problem, manifest string, ours, known bool) {
	switch {
	case e.mode.IsDir():
		p.Kind, p.Why = Blocked, "must be a file and is a folder"
	case known:
	case !e.mode.IsRegular():
		p.Kind, p.Why = Foreign, "is "+kindOf(e.mode)+", which ndc did not write"
	case ours:
		p.Kind, p.Why = Edited, "is not as ndc wrote it: its hash is not the one in "+manifest
	default:
		p.Kind, p.Why = Foreign, "exists, and nothing beside it says that ndc wrote it"
	}
}

// stale adds the files of the earlier build that the new one does not have, if
// nobody edited them.
func (c *change) stale(o *Output, r *Result, f *Folder, m *manifest) {
	fresh := map[string]bool{}
	for _, file := range f.Files {
		fresh[file.Path] = true
	}
	for _, p := range m.paths() {
		name := path.Join(f.Path, p)
		there, err := o.look(name)
		switch {
		case fresh[p] || err != nil || !there.exists:
		case there.hash != "" && there.hash == m.owned[p]:
			r.Removed = append(r.Removed, p)
			c.steps = append(c.steps, step{Path: name, Old: there.state()})
			c.empties(f, path.Dir(name))
		default:
			r.Edited = append(r.Edited, p)
		}
	}
}

// problem keeps one message for each place, and one for all that a checkout wrote
// with other ends of lines.
func (c *change) problem(p Problem) {
	if !slices.ContainsFunc(c.problems, func(q Problem) bool { return q == p || q.Kind == Windows && p.Kind == Windows }) {
		c.problems = append(c.problems, p)
	}
}

// makes notes the folders that are missing for a file.
func (c *change) makes(o *Output, dir string) {
	if dir == "." || slices.Contains(c.missing, dir) {
		return
	}
	if _, err := o.root.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		c.makes(o, path.Dir(dir))
		c.missing = append(c.missing, dir)
	}
}

// empties notes the folders that may be empty once a file is gone: those in
// the build's folder, and that with its parents when nothing stays in it.
func (c *change) empties(f *Folder, dir string) {
	for ; dir != "."; dir = path.Dir(dir) {
		inside := f.Path == "." || strings.HasPrefix(dir, f.Path+"/")
		if (inside || len(f.Files) == 0) && !slices.Contains(c.emptied, dir) {
			c.emptied = append(c.emptied, dir)
		}
	}
	slices.SortStableFunc(c.emptied, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") })
}

func (c *change) journal() *journal {
	return &journal{Folders: c.folders, Missing: c.missing, Steps: c.steps, Emptied: c.emptied}
}

// stage writes the new files of a build into the private folder and syncs them
// to disk.
func (o *Output) stage(ctx context.Context, c *change) error {
	for _, dir := range []string{newFiles, oldFiles} {
		if err := o.root.Mkdir(dir, 0o777); err != nil {
			return err
		}
	}
	next := 0
	for i, s := range c.steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !s.New {
			continue
		}
		if err := o.create(numbered(newFiles, i), c.contents[next]); err != nil {
			return err
		}
		next++
	}
	return o.sync(newFiles)
}

// create writes a new file and syncs it to disk. The user's umask decides who
// may read and write it.
func (o *Output) create(name string, file File) error {
	mode := os.FileMode(0o666)
	if file.Executable {
		mode = 0o777
	}
	f, err := o.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(file.Content)
	return errors.Join(err, f.Sync(), f.Close())
}

// sync makes the names in a folder durable. What is gone, or is no folder any
// more, needs nothing.
func (o *Output) sync(dir string) error {
	if o.onlyFolders(dir) != nil {
		return nil
	}
	f, err := o.root.Open(dir)
	if err != nil {
		return ignoreMissing(err)
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil // this file system makes names durable by itself
	}
	return errors.Join(err, f.Close())
}

// blocked is the problem behind an error of look.
func (o *Output) blocked(name string, err error) Problem {
	var place *placeError
	if errors.As(err, &place) {
		return Problem{Blocked, place.path, place.why}
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return Problem{Blocked, o.name(name), "cannot be read: " + err.Error()}
}
