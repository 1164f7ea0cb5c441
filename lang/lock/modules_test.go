package lock

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/diag"
)

// TestSources: what is fetched, and the ways by which somebody could reach
// something else.
func TestSources(t *testing.T) {
	for text, want := range map[string]Source{
		"git::https://example.org/ml/modules.git//pretrain?ref=v1": {Git: "https://example.org/ml/modules.git", Ref: "v1", Inner: "pretrain"},
		"git::ssh://git@example.org/ml/modules.git":                {Git: "ssh://git@example.org/ml/modules.git", Inner: "."},
		"git::file:///srv/modules//a/b":                            {Git: "file:///srv/modules", Inner: "a/b"},
		"git::https://example.org/x//a?ref=v1.0+cu121;b%26c%25":    {Git: "https://example.org/x", Ref: "v1.0+cu121;b&c%", Inner: "a"},
		"git::file:///srv/die Module.git//größe 1?ref=v1":          {Git: "file:///srv/die%20Module.git", Ref: "v1", Inner: "größe 1"},
		"./modules.tar.gz//a":                                      {Archive: "modules.tar.gz", Inner: "a"},
		"../x/modules.zip":                                         {Archive: "../x/modules.zip", Inner: "."},
	} {
		got, err := ParseSource(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	for _, text := range []string{
		"git::ext::sh -c touch% evil", "git::ext://sh", "git::--upload-pack=touch evil", "git::ssh://-oProxyCommand=evil/x", "git::ssh://-l@host/x",
		"git::file://-c/x", "git::https://host/--upload-pack=evil", "git::https://user:secret@host/x", "git::https://token@host/x", "git::http://host/x", "git::git://host/x",
		"git::/srv/modules", "git::../modules", "git::file://host/srv", "git::https:///x", "git::https://host/x?ref=--evil", "git::https://host/x?ref=a..b:c",
		"git::https://host/x?ref=", "git::https://host/x?ref", "git::https://host/x?", "git::https://host/x//a?ref=&ref=v1", "git::https://host/x//a?ref=v1&ref=v2", "git::https://host/x//a?ref=100%", "git::https://host/x?sshkey=abc", "git::https://host/x?depth=1", "git::https://host/x#y", "git::https://host/x//../y", "git::https://host/%2e%2e/x", "git::https://host/x//%2e%2e/ü", "git::https://host/x//ü%2fy", "git::https://host/x\n",
		"https://host/x.tar.gz", "x.tar.gz", "/x.tar.gz", "./x.tar.gz//../y", "./x.rar", `.\x.zip`, "git@host:x.git", "", "s3::https://host/x", "hg::https://host/x",
	} {
		if s, err := ParseSource(text); err == nil {
			t.Errorf("%q is fetched from %+v", text, s)
		} else if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "token") {
			t.Errorf("the message repeats a secret: %v", err)
		}
	}
	for _, text := range []string{"git::git@host:ml/x.git", "git::ssh://git@host:ml/x.git"} { // as git writes it without a scheme
		if _, err := ParseSource(text); err == nil || !strings.Contains(err.Error(), "git::ssh://USER@HOST/PATH, with a slash behind the host") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := ParseSource("git::https://github.com/a/b?ref=v1.0.0//c"); err == nil || !strings.Contains(err.Error(), "//FOLDER?ref=NAME") {
		t.Error(err)
	}
	if _, err := ParseSource("git::https://token@github.com/a/b"); err == nil || !strings.Contains(err.Error(), "git credential") {
		t.Error(err) // with it a server of https:// is asked, and no agent
	}
}

// TestHighest: of the tags that are versions the highest that a constraint allows is taken,
// prereleases left out.
func TestHighest(t *testing.T) {
	tags := []string{"v1.0.0", "v2.0.0", "v2.1.0", "2.3.1", "v2.4.0-rc1", "v3.0.0", "latest", "pretrain-v9"}
	for constraint, want := range map[string]string{"~> 2.1": "2.3.1", "~> 2.1.0": "v2.1.0", ">= 1, < 2": "v1.0.0", "2.1.0": "v2.1.0", ">= 0": "v3.0.0", "2.4.0-rc1": "v2.4.0-rc1", "!= 3.0.0": "2.3.1", "!= 2.4.0-rc2, < 3": "2.3.1"} {
		if got, _, err := Highest(tags, constraint); got != want || err != nil {
			t.Errorf("%s: %s (%v), want %s", constraint, got, err, want)
		}
	}
	if got := Twins([]string{"1.3.0", "v1.2.0", "v1.3.0", "1.3.0+build7", "1.3", "latest"}, "v1.3.0"); !slices.Equal(got, []string{"1.3.0", "1.3"}) {
		t.Errorf("%q", got)
	}
	for _, constraint := range []string{"~> 4.0", "newest", "", "~> "} {
		if got, _, err := Highest(tags, constraint); err == nil {
			t.Errorf("%q gives %s", constraint, got)
		}
	}
	if _, _, err := Highest(tags, "~> 4.0"); !strings.HasSuffix(err.Error(), "there are 3.0.0, 2.4.0-rc1, 2.3.1, 2.1.0, 2.0.0, …") {
		t.Error(err)
	}
	if _, _, err := Highest([]string{"1.3.0", "v1.2.0", "v1.3.0", "1.3.0+build7"}, "~> 4.0"); !strings.HasSuffix(err.Error(), "there are 1.3.0, 1.2.0") {
		t.Error(err)
	}
	if _, _, err := Highest([]string{"latest"}, "~> 4.0"); !strings.HasSuffix(err.Error(), "of its tags (1) none is a version") {
		t.Error(err)
	}
}

// TestFetched: a module is found as the lock has it, and every change of it is
// told by the name of its file.
func TestFetched(t *testing.T) {
	sums, hash := Sums(map[string][]byte{"a/x.hcl": []byte("x"), "y.hcl": []byte("y")})
	const source = "git::https://example.org/m.git//a"
	f := &File{Modules: []Module{{Address: "base", Source: source, Version: "2.3.1", Commit: "c", Hash: hash}}}
	read, diags := Parse(f.Bytes(), Name)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	if diff := cmp.Diff(f, read); diff != "" {
		t.Fatal(diff)
	}
	for name, c := range map[string]struct {
		address, source, version string
		change                   func(fstest.MapFS)
		want                     string // part of the message; "" for none
	}{
		"as locked":     {"base", source, "~> 2.1", func(fstest.MapFS) {}, ""},
		"other address": {"other", source, "~> 2.1", func(fstest.MapFS) {}, "has no module"},
		"other source":  {"base", source + "b", "~> 2.1", func(fstest.MapFS) {}, "another source or version"},
		"other version": {"base", source, "~> 3.0", func(fstest.MapFS) {}, "another source or version"},
		"no version":    {"base", source, "", func(fstest.MapFS) {}, "another source or version"},
		"no source":     {"base", "ftp://x", "", func(fstest.MapFS) {}, "ftp://x"},
		"ref":           {"base", source + "?ref=v1", "~> 2.1", func(fstest.MapFS) {}, "remove one of them"},
		"missing":       {"base", source, "~> 2.1", func(m fstest.MapFS) { clear(m) }, "not in jobs/.ndc/modules/base"},
		"byte":          {"base", source, "~> 2.1", func(m fstest.MapFS) { m["jobs/.ndc/modules/base/a/x.hcl"] = &fstest.MapFile{Data: []byte("X")} }, "base/a/x.hcl is not as it was fetched"},
		"added":         {"base", source, "~> 2.1", func(m fstest.MapFS) { m["jobs/.ndc/modules/base/a/z.hcl"] = &fstest.MapFile{} }, "base/a/z.hcl was added"},
		"removed":       {"base", source, "~> 2.1", func(m fstest.MapFS) { delete(m, "jobs/.ndc/modules/base/y.hcl") }, "base/y.hcl was fetched, and is missing"},
		"link": {"base", source, "~> 2.1", func(m fstest.MapFS) {
			m["jobs/.ndc/modules/base/l"] = &fstest.MapFile{Mode: 0o777 | 1<<27, Data: []byte("y.hcl")}
		}, "neither a file nor a folder"},
		"git's": {"base", source, "~> 2.1", func(m fstest.MapFS) {
			m["jobs/.ndc/modules/base/a/.GIT/config"] = &fstest.MapFile{}
		}, "base/a/.GIT is for git alone to write"},
		"list too": {"base", source, "~> 2.1", func(m fstest.MapFS) {
			other, _ := Sums(map[string][]byte{"a/x.hcl": []byte("X"), "y.hcl": []byte("y")})
			m["jobs/.ndc/modules/base/a/x.hcl"] = &fstest.MapFile{Data: []byte("X")}
			m["jobs/.ndc/modules/base@sums"] = &fstest.MapFile{Data: []byte(other)}
		}, "are not those that ndc.lock.hcl has the hash of. Where the lock changed since they were fetched, as by a pull"},
		"as git writes it for Windows": {"base", source, "~> 2.1", func(m fstest.MapFS) {
			m["jobs/.ndc/modules/base/a/x.hcl"] = &fstest.MapFile{Data: []byte("x\r\n")}
			m["jobs/.ndc/modules/base@sums"] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(sums, "\n", "\r\n"))}
		}, "jobs/.ndc/modules/base end their lines with CR LF, as git writes files where core.autocrlf is set. A .gitattributes"},
	} {
		files := fstest.MapFS{
			"jobs/.ndc/modules/base/a/x.hcl": {Data: []byte("x")}, "jobs/.ndc/modules/base/y.hcl": {Data: []byte("y")}, "jobs/.ndc/modules/base@sums": {Data: []byte(sums)},
		}
		c.change(files)
		folder, diags := (&Fetched{FS: files, From: "jobs", Lock: f}).Folder(c.address, c.source, c.version, diag.Range{})
		switch {
		case c.want == "" && (len(diags) > 0 || folder != "jobs/.ndc/modules/base/a"):
			t.Errorf("%s: %q, %v", name, folder, diags)
		case c.want != "" && (!diags.HasErrors() || !strings.Contains(diags[0].Detail, c.want)):
			t.Errorf("%s: %v, want %q", name, diags, c.want)
		}
	}
}

// TestEndlessSums: a list of hashes that somebody put there for its size is not read to
// its end.
func TestEndlessSums(t *testing.T) {
	files := endless{fstest.MapFS{"m/x.hcl": {Data: []byte("x")}, "m@sums": {}}}
	if err := Verify(files, "m", "h1:none"); !errors.Is(err, errOther) {
		t.Error(err)
	}
}

// endless is a file system with a list of hashes that has no end.
type endless struct{ fstest.MapFS }

func (e endless) Open(name string) (fs.File, error) {
	f, err := e.MapFS.Open(name)
	if name == "m@sums" {
		f = zeros{f}
	}
	return f, err
}

type zeros struct{ fs.File }

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestAddresses: an address becomes the name of a folder.
func TestAddresses(t *testing.T) {
	for _, address := range []string{SumsPath("base"), "..", "a/b", "a..b", "", "a.", "../x", "a b", "C:"} {
		text := "module \"" + address + "\" {\n source = \"x\"\n hash = \"y\"\n}\n"
		if _, diags := Parse([]byte(text), Name); !diags.HasErrors() {
			t.Errorf("%q is an address", address)
		}
	}
}
