package fetch

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tarball is a compressed archive of some headers, each with a short content.
func tarball(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, h := range headers {
		content := "x"
		if h.Typeflag != 0 && h.Typeflag != tar.TypeReg {
			content = ""
		}
		h.Size, h.Mode = int64(len(content)), 0o644
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipped(t *testing.T, modes map[string]fs.FileMode) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(modes)) {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(modes[name])
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestArchive: files are read, folders and headers passed over, links left out.
func TestArchive(t *testing.T) {
	got, err := Archive("a.tar.gz", tarball(t, tar.Header{Name: "./a/b.hcl"}, tar.Header{Name: "a/", Typeflag: tar.TypeDir},
		tar.Header{Name: "a/link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, tar.Header{Name: "hard", Typeflag: tar.TypeLink, Linkname: "a/b.hcl"},
		tar.Header{Name: "pipe", Typeflag: tar.TypeFifo}, tar.Header{Name: "device", Typeflag: tar.TypeChar}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]byte{"a/b.hcl": []byte("x")}, got.Content); diff != "" {
		t.Error(diff)
	}
	if want := []string{"a/link", "hard", "pipe", "device"}; !slices.Equal(got.LeftOut, want) {
		t.Errorf("left out %q", got.LeftOut)
	}
	if !got.Inner("a") || !got.Inner(".") || got.Inner("b") || got.Inner("a/b.hcl") {
		t.Error("folders are not told from others")
	}
	if got, err = Archive("a.tgz", tarball(t, tar.Header{Name: ".gitignore"}, tar.Header{Name: ".github/a"}, tar.Header{Name: "a.git/b"})); err != nil || len(got.Content) != 3 {
		t.Errorf("files that only begin or end as git's own: %v, %v", got, err)
	}
	got, err = Archive("a.zip", zipped(t, map[string]fs.FileMode{"a/b.hcl": 0o755, "link": fs.ModeSymlink | 0o777}))
	if err != nil || len(got.Content) != 1 || !slices.Equal(got.LeftOut, []string{"link"}) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestHostileArchives: what leads out, what is another file elsewhere, and what
// is too much.
func TestHostileArchives(t *testing.T) {
	for _, names := range [][]string{
		{"../evil.hcl"}, {"/etc/evil.hcl"}, {"a/../../evil.hcl"}, {"a/./b"}, {"a//b"}, {`..\evil.hcl`}, {"C:evil"}, {"a\nb"}, {"a\x00b"},
		{"a.hcl", "a.hcl"}, {"a.hcl", "A.hcl"}, {"a", "a/b"}, {"a/b", "a"}, {"dir/a", "DIR/b"}, {"\u00e9.hcl", "e\u0301.hcl"}, {"."}, {""}, {strings.Repeat("abcdefgh/", 128) + "a"},
		{".git"}, {".git/config"}, {"a/.GIT/config"}, {"a/.git"}, {".git./config"}, {"git~1/config"}, {".g\u200cit/config"},
	} {
		var headers []tar.Header
		files := map[string]fs.FileMode{}
		for _, name := range names {
			headers = append(headers, tar.Header{Name: name, Format: tar.FormatPAX})
			files[name] = 0o644
		}
		if !strings.ContainsRune(names[0], 0) {
			if _, err := Archive("a.tgz", tarball(t, headers...)); err == nil {
				t.Errorf("a tar with %q is unpacked", names)
			}
		}
		if names[0] == "" || len(files) < len(names) || names[0] == "." {
			continue
		}
		if _, err := Archive("a.zip", zipped(t, files)); err == nil {
			t.Errorf("a zip with %q is unpacked", names)
		}
	}
	many := make([]tar.Header, MaxFiles+1)
	for i := range many {
		many[i] = tar.Header{Name: fmt.Sprint("f", i)}
	}
	if _, err := Archive("a.tgz", tarball(t, many...)); err == nil || !strings.Contains(err.Error(), "more than 10000 files") {
		t.Error(err)
	}
	for name, content := range map[string][]byte{"a.tgz": nil, "a.tar": []byte("text"), "a.zip": []byte("PK"), "b.tgz": tarball(t)} {
		if _, err := Archive(name, content); err == nil {
			t.Errorf("%s is unpacked", name)
		}
	}
}

// TestBombs: archives that unpack to far more than they are. One of them says
// nothing true of its size.
func TestBombs(t *testing.T) {
	zeros := make([]byte, 1<<20)
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create("bomb")
	if err != nil {
		t.Fatal(err)
	}
	for range MaxBytes>>20 + 1 {
		if _, err := f.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Archive("a.zip", b.Bytes()); err == nil || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Errorf("%d bytes: %v", b.Len(), err)
	}
	b.Reset()
	z := gzip.NewWriter(&b)
	h := tar.NewWriter(z)
	if err := h.WriteHeader(&tar.Header{Name: "bomb", Size: 1 << 40, Format: tar.FormatGNU}); err != nil {
		t.Fatal(err)
	}
	for range MaxBytes>>20 + 1 {
		if _, err := h.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	_ = z.Close()
	if _, err := Archive("a.tgz", b.Bytes()); err == nil || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Errorf("%d bytes: %v", b.Len(), err)
	}
	if _, err := (&bounded{beyond: errors.ErrUnsupported}).Read(zeros); err == nil {
		t.Error("a stream without an end is read")
	}
}

// runGit runs git in a folder, as nobody in particular.
func runGit(t *testing.T, dir string, arguments ...string) string {
	t.Helper()
	c := exec.Command("git", arguments...)
	c.Dir = dir
	c.Env = append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	text, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", arguments, err, text)
	}
	return strings.TrimSpace(string(text))
}

func put(t *testing.T, name, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(content), 0o666)); err != nil {
		t.Fatal(err)
	}
}

// repository makes one with two commits, tags of both kinds, a branch, a link, a
// submodule, attributes that would change files on checkout, and hooks.
func repository(t *testing.T) (dir string, commits []string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here, by which repositories are made and served")
	}
	dir = t.TempDir()
	runGit(t, dir, "init", "-q", "-b", "main")
	put(t, filepath.Join(dir, "pretrain/a.hcl"), "one\n")
	put(t, filepath.Join(dir, ".gitattributes"), "*.hcl text eol=crlf\n*.secret filter=evil\n")
	put(t, filepath.Join(dir, ".gitmodules"), "[submodule \"sub\"]\n\tpath = sub\n\turl = ext::sh -c touch% evil\n")
	runGit(t, dir, "update-index", "--add", "--cacheinfo", "160000,1111111111111111111111111111111111111111,sub")
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	runGit(t, dir, "add", "pretrain", ".gitattributes", ".gitmodules", "link")
	runGit(t, dir, "commit", "-q", "-m", "one")
	runGit(t, dir, "tag", "v1.0.0")
	commits = append(commits, runGit(t, dir, "rev-parse", "HEAD"))
	put(t, filepath.Join(dir, "pretrain/a.hcl"), "two\n")
	runGit(t, dir, "commit", "-q", "-m", "two", "pretrain")
	runGit(t, dir, "tag", "-a", "-m", "annotated", "v1.1.0")
	runGit(t, dir, "branch", "next")
	for _, hook := range []string{"post-checkout", "post-merge", "reference-transaction"} {
		put(t, filepath.Join(dir, ".git/hooks", hook), "#!/bin/sh\ntouch "+filepath.Join(dir, "ran")+"\n")
		if err := os.Chmod(filepath.Join(dir, ".git/hooks", hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir, append(commits, runGit(t, dir, "rev-parse", "HEAD"))
}

// TestRepository: each name of a commit leads to its files, as they are stored;
// nothing in the repository runs.
func TestRepository(t *testing.T) {
	dir, commits := repository(t)
	r, err := Open(t.Context(), "file://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"v1.0.0", "v1.1.0"}; !slices.Equal(r.Tags(), want) {
		t.Errorf("tags %q", r.Tags())
	}
	for ref, want := range map[string]int{"": 1, "HEAD": 1, "v1.0.0": 0, "v1.1.0": 1, "next": 1, "refs/tags/v1.0.0": 0, "tags/v1.1.0": 1, "refs/heads/next": 1, commits[0]: 0} {
		commit, err := r.Resolve(ref)
		if err != nil || commit != commits[want] {
			t.Errorf("%q is %s (%v), want %s", ref, commit, err, commits[want])
			continue
		}
		f, err := r.Files(t.Context(), commit, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if got := string(f.Content["pretrain/a.hcl"]); got != []string{"one\n", "two\n"}[want] {
			t.Errorf("%q has %q", ref, got)
		}
		if diff := cmp.Diff([]string{"link", "sub"}, f.LeftOut); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := r.Resolve("v9"); err == nil {
		t.Error("a tag that is not there is found")
	}
	if _, err := r.Resolve(commits[0][:7]); err == nil || !strings.Contains(err.Error(), "all of its 40 digits") {
		t.Error(err)
	}
	if _, err := r.Files(t.Context(), strings.Repeat("1", 40), t.TempDir()); err == nil || !strings.Contains(err.Error(), "it has no commit") {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("a hook ran")
	}
}

// TestFileTags: git keeps tags of what is no commit, too.
func TestFileTags(t *testing.T) {
	dir, _ := repository(t)
	for _, what := range []string{"HEAD^{tree}", "HEAD:pretrain/a.hcl"} {
		runGit(t, dir, "tag", "-f", "files", what)
		r, err := Open(t.Context(), "file://"+dir)
		if err != nil {
			t.Fatal(err)
		}
		commit, err := r.Resolve("files")
		if _, wrong := r.Files(t.Context(), commit, t.TempDir()); err != nil || wrong == nil || !strings.HasPrefix(wrong.Error(), `its tag "files" is of a file or a folder`) {
			t.Error(err, wrong)
		}
	}
}

// TestOtherHash: a repository whose objects have names of another hash is told as such.
func TestOtherHash(t *testing.T) {
	dir := t.TempDir()
	runGit(t, dir, "init", "-q", "--object-format=sha256")
	put(t, filepath.Join(dir, "a.hcl"), "a")
	runGit(t, dir, "add", "-A")
	runGit(t, dir, "commit", "-q", "-m", "a")
	if _, err := Open(t.Context(), "file://"+dir); err == nil || !strings.HasPrefix(err.Error(), "its commits have names by SHA-256") {
		t.Error(err)
	}
}

// TestHiddenCommit: a commit that no name leads to directly is found among the
// others, as when a branch has moved on.
func TestHiddenCommit(t *testing.T) {
	dir, commits := repository(t)
	runGit(t, dir, "tag", "-d", "v1.0.0")
	r, err := Open(t.Context(), "file://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.Files(t.Context(), commits[0], t.TempDir())
	if err != nil || string(f.Content["pretrain/a.hcl"]) != "one\n" {
		t.Errorf("%v, %v", f, err)
	}
}

// TestUnreachable: a commit that nothing leads to any more, as after a branch was written
// anew, is had where the server gives it, and else it is said what holds.
func TestUnreachable(t *testing.T) {
	dir, commits := repository(t)
	runGit(t, dir, "tag", "-d", "v1.1.0")
	runGit(t, dir, "branch", "-D", "next")
	runGit(t, dir, "update-ref", "refs/heads/main", commits[0])
	r, err := Open(t.Context(), "file://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	want := "it has no commit " + commits[1] + " that a tag or a branch leads to, and gives no other"
	if _, err := r.Files(t.Context(), commits[1], t.TempDir()); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Error(err)
	}
	runGit(t, dir, "config", "uploadpack.allowAnySHA1InWant", "true")
	f, err := r.Files(t.Context(), commits[1], t.TempDir())
	if err != nil || string(f.Content["pretrain/a.hcl"]) != "two\n" {
		t.Errorf("%v, %v", f, err)
	}
	if _, err := r.Files(t.Context(), strings.Repeat("1", 40), t.TempDir()); err == nil || !strings.HasPrefix(err.Error(), "it has no commit 1") {
		t.Error(err)
	}
}

// TestOwner: git refuses to read a repository that another user owns, and who asked is
// told what to do.
func TestOwner(t *testing.T) {
	dir, _ := repository(t)
	t.Setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1") // as git's own tests do
	_, err := Open(t.Context(), "file://"+dir)
	if err == nil || err.Error() != "it belongs to another user, and git reads it for you once you say so: git config --global --add safe.directory '"+dir+"/.git'" {
		t.Error(err)
	}
}

// TestNoAgent: who has no SSH agent is told to start one: keys in files are not read.
func TestNoAgent(t *testing.T) {
	t.Setenv("SSH_AUTH_SOCK", "")
	_, err := Open(t.Context(), "ssh://git@127.0.0.1:1/x.git")
	if err == nil || !strings.HasPrefix(err.Error(), "a server behind ssh:// gets a key of the SSH agent, and none answers here") {
		t.Error(err)
	}
}

// TestUntrusted: what a server behind ssh:// is refused for, or refuses, is told with what to
// do.
func TestUntrusted(t *testing.T) {
	for words, want := range map[string]string{
		"cannot create known hosts callback: unable to find any valid known_hosts file, set SSH_KNOWN_HOSTS env variable":     "the server is not in ~/.ssh/known_hosts",
		"ssh: handshake failed: knownhosts: key is unknown":                                                                   "the server is not in ~/.ssh/known_hosts",
		"ssh: handshake failed: knownhosts: key mismatch":                                                                     "the server has another key than ~/.ssh/known_hosts says",
		"ssh: handshake failed: ssh: unable to authenticate, attempted methods [none publickey], no supported methods remain": "the server takes no key of the SSH agent",
	} {
		if got := said(errors.New(words)).Error(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", words, got)
		}
	}
}

// TestLimit: what a repository sends is counted as it is written.
func TestLimit(t *testing.T) {
	r := &received{bytes: MaxTransfer - 3}
	if _, err := r.Write(make([]byte, 4)); err == nil {
		t.Error("more than the limit is taken")
	}
}

// TestPackBombs: what an object of a pack unpacks to is known before go-git makes it:
// from its header, or from the beginning of its delta.
func TestPackBombs(t *testing.T) {
	object := func(kind byte, size uint64, before, content []byte) []byte {
		b := []byte{kind<<4 | byte(size&15)}
		for size >>= 4; size > 0; size >>= 7 {
			b[len(b)-1] |= 0x80
			b = append(b, byte(size&0x7f))
		}
		var z bytes.Buffer
		w := zlib.NewWriter(&z)
		if _, err := w.Write(content); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		return slices.Concat(b, before, z.Bytes())
	}
	const blob, ofsDelta = 3, 6
	small := object(blob, 1, nil, []byte("x"))
	delta := func(size uint64) []byte {
		content := binary.AppendUvarint([]byte{1}, size)
		return object(ofsDelta, uint64(len(content)), []byte{byte(len(small))}, content)
	}
	for name, c := range map[string]struct {
		objects [][]byte
		bomb    bool
	}{
		"small":             {[][]byte{small, delta(1)}, false},
		"an object":         {[][]byte{small, object(blob, MaxTransfer+1, nil, nil)}, true},
		"a delta":           {[][]byte{small, delta(MaxTransfer + 1)}, true},
		"2^63 of a delta":   {[][]byte{small, delta(1 << 63)}, true},
		"many large deltas": {append([][]byte{small}, slices.Repeat([][]byte{delta(MaxTransfer)}, MaxUnpacked/MaxTransfer)...), true},
	} {
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		r := &received{file: f}
		for _, part := range append([][]byte{binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(c.objects)))}, c.objects...) {
			if _, err := r.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.check(); errors.Is(err, errBomb) != c.bomb || !c.bomb && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
