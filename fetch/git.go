package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/memory"
)

// Repository is one that a server has.
type Repository struct {
	url  string
	refs map[string]string // commits, by the full names of tags and branches
	head string            // the branch of the server's HEAD
	auth transport.AuthMethod
}

// Open asks a server for the tags and branches of a repository. One that wants a
// name and a password gets what git has for it.
func Open(ctx context.Context, url string) (*Repository, error) {
	remote := git.NewRemote(memory.NewStorage(), &config.RemoteConfig{Name: "origin", URLs: []string{url}})
	o := &git.ListOptions{PeelingOption: git.AppendPeeled}
	names := func(ctx context.Context) ([]*plumbing.Reference, error) { return remote.ListContext(ctx, o) }
	refs, err := within(ctx, patience.names, named, names)
	if errors.Is(err, transport.ErrAuthenticationRequired) {
		c, unknown := askGit(ctx, url)
		if unknown != nil {
			return nil, fmt.Errorf("%w; %w", err, unknown)
		}
		o.Auth = &c.auth
		refs, err = within(ctx, patience.names, named, names)
		c.settle(ctx, err == nil)
	}
	if err != nil {
		return nil, said(err)
	}
	r := &Repository{url: url, refs: map[string]string{}, auth: o.Auth}
	for _, ref := range refs {
		name := ref.Name().String()
		switch {
		case ref.Type() == plumbing.SymbolicReference:
			r.head = ref.Target().String()
		case strings.HasSuffix(name, "^{}"): // what an annotated tag is of
			r.refs[strings.TrimSuffix(name, "^{}")] = ref.Hash().String()
		case r.refs[name] == "":
			r.refs[name] = ref.Hash().String()
		}
	}
	return r, nil
}

// patience is how long a server may take to name its tags and branches, a user to touch a key
// meanwhile, and to send a commit: a link of 150 kB/s sends MaxTransfer in half an hour. A user
// at the terminal, or what git asks in their place, may take as long for a password as for a key.
var patience = struct{ names, commit, credential time.Duration }{5 * time.Minute, 30 * time.Minute, 5 * time.Minute}

const named = "named its tags and branches"

// within is what a server answers in time. One that says nothing at all is left: go-git
// waits for the greeting of ssh for ever.
func within[T any](ctx context.Context, most time.Duration, what string, ask func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("it has not %s in %v", what, most))
	defer cancel()
	answers := make(chan func() (T, error), 1)
	go func() {
		given, err := ask(ctx)
		answers <- func() (T, error) { return given, err }
	}()
	select {
	case answer := <-answers:
		if ctx.Err() == nil {
			return answer()
		}
	case <-ctx.Done():
	}
	var none T
	return none, context.Cause(ctx)
}

// owner is what git says of a repository that another user owns, and the folder that
// it has to be allowed to read.
var owner = regexp.MustCompile(`dubious ownership in repository at '(.+)'`)

// todo is what to do about errors of go-git and of what it calls, by words of theirs.
var todo = map[string]string{
	"SSH_AUTH_SOCK":               "a server behind ssh:// gets a key of the SSH agent, and none answers here. Start one and give it the key: eval \"$(ssh-agent)\" && ssh-add",
	"ssh: unable to authenticate": "the server takes no key of the SSH agent. ssh-add -l lists those that it has, and ssh-add FILE gives it another",
	"SSH_KNOWN_HOSTS":             unknownHost,
	"knownhosts: key is unknown":  unknownHost,
	"knownhosts: key mismatch":    "the server has another key than ~/.ssh/known_hosts says: ask who keeps it whether that is meant to be, before you trust it",
	"object-format=sha256":        "its commits have names by SHA-256, which ndc does not read. A repository of git init --object-format=sha1 can hold the same files",
}

const unknownHost = "the server is not in ~/.ssh/known_hosts, so that it could be any. ssh, asked to connect to it, shows its key and writes it there; compare the key with what is published of it"

// said tells what to do where git or go-git names the cause alone: of what git said of a
// repository on this machine, go-git has the first line.
func said(err error) error {
	for sign, what := range todo {
		if strings.Contains(err.Error(), sign) {
			return errors.New(what)
		}
	}
	line, ok := strings.CutPrefix(err.Error(), "unknown error: ")
	if !ok {
		return err
	}
	if m := owner.FindStringSubmatch(line); m != nil {
		return fmt.Errorf("it belongs to another user, and git reads it for you once you say so: git config --global --add safe.directory '%s'", strings.ReplaceAll(m[1], "'", `'\''`))
	}
	return errors.New(line)
}

// Tags lists the tags.
func (r *Repository) Tags() []string {
	var tags []string
	for name := range r.refs {
		if tag, ok := strings.CutPrefix(name, "refs/tags/"); ok {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	return tags
}

// cut is the name of a commit as git shortens it.
var cut = regexp.MustCompile(`^[0-9a-f]{7,39}$`)

// Resolve finds the commit of a tag, of a branch, of either by its whole name
// ("refs/tags/v1"), of the default branch ("" or "HEAD") or of a commit's own name in full.
func (r *Repository) Resolve(ref string) (commit string, err error) {
	names := []string{"refs/tags/" + ref, "refs/heads/" + ref, "refs/" + ref, ref}
	if ref == "" || ref == "HEAD" {
		names = []string{r.head, "HEAD"}
	}
	for _, name := range names {
		if c := r.refs[name]; c != "" {
			return c, nil
		}
	}
	if plumbing.IsHash(ref) {
		return ref, nil
	}
	if ref == "" {
		return "", errors.New("it has no default branch")
	}
	if cut.MatchString(ref) {
		return "", fmt.Errorf("it has no tag or branch %q; a commit is named by all of its 40 digits, since a server does not find one by a few", ref)
	}
	return "", fmt.Errorf("it has no tag or branch %q", ref)
}

// ErrUnreachable is of a commit that is gone, or that a server has and does not give.
var ErrUnreachable = errors.New("that a tag or a branch leads to, and gives no other")

// Files reads the files of a commit. What a server sends lies in an empty folder
// meanwhile, which the caller removes.
func (r *Repository) Files(ctx context.Context, commit, dir string) (*Files, error) {
	store := &guarded{filesystem.NewStorage(osfs.New(dir, osfs.WithBoundOS()), cache.NewObjectLRUDefault()), dir}
	sent := func(ctx context.Context) (struct{}, error) { return struct{}{}, r.send(ctx, store, commit) }
	if _, err := within(ctx, patience.commit, "sent the commit", sent); err != nil {
		return nil, err
	}
	c, err := object.GetCommit(store, plumbing.NewHash(commit))
	if err != nil {
		return nil, fmt.Errorf("it has no commit %s %w", commit, ErrUnreachable)
	}
	tree, err := c.Tree()
	if err != nil {
		return nil, err
	}
	return read(tree)
}

// send has the server send one commit where it has a name for it, or gives any, and
// else all that its names lead to.
func (r *Repository) send(ctx context.Context, store *guarded, commit string) error {
	o := &git.CloneOptions{URL: r.url, Auth: r.auth, NoCheckout: true, Tags: git.NoTags, RecurseSubmodules: git.NoRecurseSubmodules}
	for _, name := range slices.Sorted(maps.Keys(r.refs)) {
		if r.refs[name] == commit && (strings.HasPrefix(name, "refs/tags/") || strings.HasPrefix(name, "refs/heads/")) {
			o.ReferenceName, o.SingleBranch, o.Depth = plumbing.ReferenceName(name), true, 1
			break
		}
	}
	if o.ReferenceName == "" {
		alone := git.NewRemote(store, &config.RemoteConfig{Name: "origin", URLs: []string{r.url}})
		err := alone.FetchContext(ctx, &git.FetchOptions{Auth: r.auth, Depth: 1, Tags: git.NoTags, RefSpecs: []config.RefSpec{config.RefSpec(commit + ":refs/heads/alone")}})
		if err == nil || ctx.Err() != nil {
			return err
		}
		o.Tags = git.AllTags
	}
	_, err := git.CloneContext(ctx, store, nil, o)
	if errors.Is(err, git.ErrUnableToResolveCommit) {
		return fmt.Errorf("its tag %q is of a file or a folder; a module is taken from a tag of a commit", o.ReferenceName.Short())
	}
	return err
}

// read reads the files of a tree, each as it is stored.
func read(tree *object.Tree) (*Files, error) {
	f := &Files{}
	walker := object.NewTreeWalker(tree, true, nil)
	defer walker.Close()
	for entries := 0; ; entries++ {
		name, entry, err := walker.Next()
		switch {
		case errors.Is(err, io.EOF) && len(f.Content) == 0:
			return nil, errors.New("it has no files")
		case errors.Is(err, io.EOF):
			return f, nil
		case err != nil:
			return nil, err
		case entries > 4*MaxFiles:
			return nil, fmt.Errorf("it has more than %d entries", 4*MaxFiles)
		case entry.Mode == filemode.Dir:
		case entry.Mode == filemode.Regular, entry.Mode == filemode.Executable, entry.Mode == filemode.Deprecated:
			if err := f.addBlob(tree, name, entry.Hash); err != nil {
				return nil, err
			}
		default:
			f.LeftOut = append(f.LeftOut, name)
		}
	}
}

func (f *Files) addBlob(tree *object.Tree, name string, hash plumbing.Hash) error {
	file, err := tree.TreeEntryFile(&object.TreeEntry{Name: name, Mode: filemode.Regular, Hash: hash})
	if err != nil {
		return err
	}
	if file.Size > MaxBytes {
		return fmt.Errorf("its files have more than %d MiB", MaxBytes>>20)
	}
	r, err := file.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	return f.add(name, r)
}
