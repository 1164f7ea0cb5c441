package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ndc-dev/ndc/lang/lock"
)

// revision is the files of one commit of a git repository, read through the
// git command, by slash paths from the top of the repository. A symbolic link is
// named in its folder and not followed, and a submodule is not there: nothing
// leads out of the commit, but for what ndc init fetched, which teams need not commit. It is taken from the working
// tree, and held to the hash in the commit's own lock like all that is fetched.
type revision struct {
	blobs   *blobs
	fetched fs.FS                    // the working tree; nil without one
	was, is string                   // a folder with what was fetched, and where it lies by now
	entries map[string]revisionEntry // by path
	below   map[string][]fs.DirEntry // of folders, in the order of their names
	left    map[string]notFollowed   // links and submodules, by path
}

// notFollowed says what lies at a path of a revision, which is not there to who reads it.
type notFollowed string

// Error says what it is, and where it can be read.
func (n notFollowed) Error() string {
	return fmt.Sprintf("it is a %s, which is not followed in a revision; check the revision out beside (git worktree add) and compare the folders", string(n))
}

// Is reports whether it is told as absence.
func (n notFollowed) Is(target error) bool { return target == fs.ErrNotExist }

// revisionEntry is a file or a folder of a commit, as fs tells of it.
type revisionEntry struct {
	name, object string // the object that has the content; "" for a folder
	mode         fs.FileMode
	size         int64
}

// openRevision lists the files of a commit of the repository that dir lies in,
// and returns the path of dir in it.
func openRevision(ctx context.Context, dir, name string) (r *revision, prefix string, err error) {
	commit, err := commitOf(ctx, dir, name)
	if err != nil {
		return nil, "", err
	}
	inside, err := git(ctx, dir, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, "", err
	}
	var tree fs.FS
	if top, err := git(ctx, dir, "rev-parse", "--show-toplevel"); err == nil {
		if root, err := os.OpenRoot(strings.TrimSuffix(string(top), "\n")); err == nil {
			tree = root.FS()
		}
	}
	listing, err := git(ctx, dir, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return nil, "", err
	}
	blobs, err := openBlobs(ctx, dir)
	if err != nil {
		return nil, "", err
	}
	r = &revision{blobs: blobs, fetched: tree, entries: map[string]revisionEntry{".": {name: ".", mode: fs.ModeDir | 0o555}}, below: map[string][]fs.DirEntry{}, left: map[string]notFollowed{}}
	for line := range strings.SplitSeq(string(listing), "\x00") {
		what, file, _ := strings.Cut(line, "\t")
		switch f := strings.Fields(what); {
		case len(f) != 3:
		case f[1] == "commit":
			r.left[file] = "submodule"
		case !strings.HasPrefix(f[0], "100"):
			r.left[file] = "symbolic link"
			r.list(file, revisionEntry{name: path.Base(file), mode: fs.ModeSymlink})
		default:
			r.add(file, revisionEntry{name: path.Base(file), object: f[2], mode: 0o444})
		}
	}
	for _, list := range r.below {
		slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	return r, path.Clean("./" + strings.TrimSuffix(string(inside), "\n")), nil
}

// commitOf is the commit that a revision names in the repository that dir lies in.
func commitOf(ctx context.Context, dir, name string) (string, error) {
	commit, err := git(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	var failed *exec.ExitError
	if errors.As(err, &failed) { // and said nothing
		return "", fmt.Errorf("there is no revision %q%s", name, shallow(ctx, dir))
	}
	return strings.TrimSpace(string(commit)), err
}

// shallow says of a repository that has a part of its history alone, as clones for
// continuous integration have, where the rest is; "" of any other.
func shallow(ctx context.Context, dir string) string {
	if out, err := git(ctx, dir, "rev-parse", "--is-shallow-repository"); err != nil || strings.TrimSpace(string(out)) != "true" {
		return ""
	}
	return "; the clone is shallow, and git fetch --unshallow brings the rest of the history"
}

// mergeBase is the commit that two revisions have in common.
func mergeBase(ctx context.Context, a, b string) (string, error) {
	args := []string{"merge-base"}
	for _, name := range []string{a, b} {
		commit, err := commitOf(ctx, ".", name)
		if err != nil {
			return "", err
		}
		args = append(args, commit)
	}
	commit, err := git(ctx, ".", args...)
	if err != nil {
		return "", errors.New("they have no commit in common" + shallow(ctx, "."))
	}
	return strings.TrimSpace(string(commit)), nil
}

// movedFrom is the file or folder of a revision that git says was moved as a whole to a name
// since, in the revision to, or in what is added to the working tree where that is "".
func movedFrom(ctx context.Context, dir, rev, to, name string) (from string, found bool) {
	args := []string{"diff", "--name-status", "-z", "--find-renames", "--diff-filter=R", "--no-relative", "--end-of-options", rev}
	if to != "" {
		args = append(args, to)
	}
	list, err := git(ctx, dir, append(args, "--")...)
	if err != nil {
		return "", false
	}
	moves := strings.Split(string(list), "\x00") // for each file how much is alike, the old name and the new one
	for ; len(moves) > 2; moves = moves[3:] {
		below, ok := moves[2]+"/", holds(name, moves[2]+"/")
		if name != "." {
			below = strings.TrimPrefix(below, name+"/")
		}
		from, same := strings.CutSuffix("/"+moves[1]+"/", "/"+below)
		from = path.Join(".", from)
		if ok && same && (!holds(from, name) || isJobOf(from, moves[1])) {
			return from, !remains(ctx, dir, to, from, name)
		}
	}
	return "", false
}

// remains reports whether a file or folder is still there, where movedFrom looks; of a folder
// that holds what was moved out of it, whether files of jobs are.
func remains(ctx context.Context, dir, to, from, name string) bool {
	args := []string{"ls-files", "-z", "--full-name", "--", ":(top)"}
	if to != "" {
		args = []string{"ls-tree", "-r", "-z", "--name-only", "--full-tree", to}
	}
	list, err := git(ctx, dir, args...)
	return err != nil || slices.ContainsFunc(strings.Split(string(list), "\x00"), func(left string) bool {
		if holds(from, name) {
			return isJobOf(from, left)
		}
		return left == from || holds(from, left)
	})
}

// holds reports whether a path of the repository lies below a folder.
func holds(folder, name string) bool { return folder == "." || strings.HasPrefix(name, folder+"/") }

// isJobOf reports whether a path is that of a file that is read as one of a folder of jobs.
func isJobOf(folder, name string) bool {
	return path.Dir(name) == folder && strings.HasSuffix(name, ".hcl")
}

// add enters a file and the folders above it.
func (r *revision) add(name string, e revisionEntry) {
	if _, ok := r.entries[name]; ok {
		return
	}
	r.entries[name] = e
	r.list(name, e)
}

// list names something in its folder.
func (r *revision) list(name string, e revisionEntry) {
	dir := path.Dir(name)
	r.below[dir] = append(r.below[dir], fs.FileInfoToDirEntry(e))
	r.add(dir, revisionEntry{name: path.Base(dir), mode: fs.ModeDir | 0o555})
}

// Open implements fs.FS.
func (r *revision) Open(name string) (fs.File, error) {
	e, ok := r.entries[path.Clean(name)]
	if !ok && r.fetched != nil && strings.Contains("/"+name, "/"+lock.Folder+"/") {
		return r.fetched.Open(r.now(name))
	}
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: r.missing(name)}
	}
	f := &revisionFile{revisionEntry: e, list: r.below[path.Clean(name)]}
	if e.object != "" {
		content, err := r.blobs.read(e.object)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		f.size, f.Reader = int64(len(content)), bytes.NewReader(content)
	}
	return f, nil
}

// moved notes that a folder of the commit lies elsewhere in the working tree by now. What
// was fetched for it went along, unless it was left where it was.
func (r *revision) moved(was, is string) {
	if r.fetched == nil {
		return
	}
	if _, err := fs.Stat(r.fetched, path.Join(was, lock.Folder)); err != nil {
		r.was, r.is = was, is
	}
}

// now is the path by which the working tree has a file that was fetched.
func (r *revision) now(name string) string {
	below, ok := strings.CutPrefix(name, r.was+"/")
	switch {
	case r.was == ".":
		return path.Join(r.is, name)
	case ok:
		return path.Join(r.is, below)
	}
	return name
}

// missing says why there is nothing at a path.
func (r *revision) missing(name string) error {
	for at := path.Clean(name); at != "." && at != "/"; at = path.Dir(at) {
		if what := r.left[at]; what != "" {
			return what
		}
	}
	return fs.ErrNotExist
}

// revisionFile is an open file or folder.
type revisionFile struct {
	revisionEntry
	*bytes.Reader
	list []fs.DirEntry
}

// Stat implements fs.File.
func (f *revisionFile) Stat() (fs.FileInfo, error) { return f.revisionEntry, nil }

// Size is the content's.
func (f *revisionFile) Size() int64 { return f.size }

// Read implements fs.File.
func (f *revisionFile) Read(b []byte) (int, error) {
	if f.Reader == nil {
		return 0, errors.New("is a directory")
	}
	return f.Reader.Read(b)
}

// ReadDir implements fs.ReadDirFile.
func (f *revisionFile) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(f.list)
	} else if len(f.list) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(f.list))
	list := f.list[:n]
	f.list = f.list[n:]
	return list, nil
}

// Close implements fs.File.
func (f *revisionFile) Close() error { return nil }

// The methods of fs.FileInfo.

func (e revisionEntry) Name() string       { return e.name }
func (e revisionEntry) Size() int64        { return e.size }
func (e revisionEntry) Mode() fs.FileMode  { return e.mode }
func (e revisionEntry) ModTime() time.Time { return time.Time{} }
func (e revisionEntry) IsDir() bool        { return e.mode.IsDir() }
func (e revisionEntry) Sys() any           { return nil }

// gitCommand is the git command in a folder.
func gitCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "--no-optional-locks"}, args...)...)
	if inTree(dir) {
		c.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
			return strings.HasPrefix(v, "GIT_DIR=") || strings.HasPrefix(v, "GIT_WORK_TREE=")
		})
	}
	return c
}

// inTree reports whether git finds the work tree of a folder by itself. Hooks name their
// repository in GIT_DIR, beside which git takes any folder for the top of its tree.
func inTree(dir string) bool {
	at, err := filepath.Abs(dir)
	if err == nil {
		at, err = filepath.EvalSymlinks(at)
	}
	for err == nil {
		if _, absent := os.Lstat(filepath.Join(at, ".git")); absent == nil {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
		at = filepath.Dir(at)
	}
	return false
}

// git runs the git command in a folder and returns what it prints. What it
// says of a failure is the error.
func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	c := gitCommand(ctx, dir, args...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		if said := strings.TrimSpace(stderr.String()); said != "" {
			return nil, errors.New(said)
		}
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return stdout.Bytes(), nil
}
