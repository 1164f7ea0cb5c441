package output

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// attempt makes a build that must not end with an error, but may have problems.
func attempt(t *testing.T, out string, force bool, folders ...Folder) ([]Result, []Problem) {
	t.Helper()
	o, err := Open(context.Background(), out)
	if err != nil {
		t.Fatal(err)
	}
	results, problems, err := o.Replace(context.Background(), folders, force)
	o.Close()
	if err != nil {
		t.Fatal(err)
	}
	return results, problems
}

// must makes a build without problems.
func must(t *testing.T, out string, folders ...Folder) []Result {
	t.Helper()
	results, problems := attempt(t, out, false, folders...)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return results
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(content), 0o666)); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.Symlink(to, name)); err != nil {
		t.Fatal(err)
	}
}

// TestResults: a build tells what it wrote, changed, kept and removed, and what it does not touch.
func TestResults(t *testing.T) {
	out := t.TempDir()
	got := must(t, out, builds["first"]...)
	if diff := cmp.Diff([]string{"environment.sh", "gone.toml", "launch.sh", "old/deep/file", Manifest}, got[0].Written); diff != "" {
		t.Error(diff)
	}
	write(t, filepath.Join(out, "a/deepspeed/launch.sh"), "my own")
	got = must(t, out, builds["second"]...)
	want := []Result{
		{Path: "a/megatron", Written: []string{"new/deep/file"}, Changed: []string{"launch.sh", Manifest}, Kept: []string{"environment.sh"},
			Removed: []string{"gone.toml", "old/deep/file"}, Earlier: 5},
		{Path: "a/torchtitan", Changed: []string{"launch.sh", Manifest, "train.toml"}, Earlier: 3},
		{Path: "a/deepspeed", Removed: []string{Manifest}, Edited: []string{"launch.sh"}, Earlier: 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(out, "a/megatron/old")); !errors.Is(err, os.ErrNotExist) {
		t.Error("an emptied folder stays")
	}
}

// TestLinks plants a link at every level of the output folder, into a place
// that looks like one of ndc's own: nothing behind a link changes, with and
// without force, and neither does anything beside it.
func TestLinks(t *testing.T) {
	for _, place := range []string{"a", "a/megatron", "a/megatron/old", "a/megatron/old/deep", "a/megatron/launch.sh", "a/megatron/plan.json", ".ndc"} {
		for _, inside := range []bool{false, true} {
			for _, force := range []bool{false, true} {
				dir := t.TempDir()
				out, elsewhere := filepath.Join(dir, "out"), filepath.Join(dir, "elsewhere")
				if inside {
					elsewhere = filepath.Join(out, "elsewhere")
				}
				must(t, out, builds["first"]...)
				must(t, elsewhere, builds["first"]...)
				write(t, filepath.Join(elsewhere, ".ndc/old/1"), "of another")
				before := tree(t, elsewhere)
				name := filepath.Join(out, place)
				if err := os.RemoveAll(name); err != nil {
					t.Fatal(err)
				}
				target := filepath.Join(elsewhere, place)
				if inside {
					target, _ = filepath.Rel(filepath.Dir(name), target)
				}
				link(t, target, name)
				o, err := Open(context.Background(), out)
				if place == ".ndc" {
					if err == nil || !strings.Contains(err.Error(), "symbolic link") {
						t.Errorf("the private folder is a link: %v", err)
					}
				} else {
					_, problems, err := o.Replace(context.Background(), append(slices.Clone(builds["second"]), folder("b/megatron", "launch.sh", "b")), force)
					file := strings.Contains(filepath.Base(place), ".")
					refused := slices.ContainsFunc(problems, func(p Problem) bool { return p.Path == name && strings.Contains(p.Why, "symbolic link") })
					gone := place == "a/megatron/old" || place == "a/megatron/old/deep" // the new build has nothing there
					if o.Close(); err != nil || refused == (file && force || gone) {
						t.Errorf("%s is a link (inside %v, force %v): problems %v, error %v", place, inside, force, problems, err)
					}
				}
				if diff := cmp.Diff(before, tree(t, elsewhere)); diff != "" {
					t.Errorf("%s is a link (inside %v, force %v), and what it points to changed:\n%s", place, inside, force, diff)
				}
			}
		}
	}
}

// TestTwoKinds: a job at a site has its folder where a backend of a job that is named like
// the site has its own. Neither takes the files of the other.
func TestTwoKinds(t *testing.T) {
	out := t.TempDir()
	backend := folder("alps/megatron", "launch.sh", "backend")
	job := folder("alps/megatron", "plan.md", "job")
	last := &job.Files[len(job.Files)-1]
	text := func(own string) []byte {
		return fmt.Appendf(nil, `{"format_version":"1.0","job":"megatron","site":"alps","artifacts":[{"path":"plan.md","sha256":%q},{"path":"job.json","sha256":%q}]}`, Hash(job.Files[0].Content), own)
	}
	last.Path, last.Content = JobManifest, text(Hash(text("")))
	backend.Kind, job.Kind = Manifest, JobManifest
	for _, c := range []struct {
		there, comes Folder
		why          string
	}{
		{job, backend, `is taken: its job.json is of the job "megatron"`},
		{backend, job, `is taken: its plan.json is of the job "alps"`},
	} {
		must(t, out, c.there)
		before := tree(t, out)
		if _, problems := attempt(t, out, false, c.comes); len(problems) != 1 || problems[0].Kind != Foreign || !strings.HasPrefix(problems[0].Why, c.why) {
			t.Errorf("%+v, want %s", problems, c.why)
		}
		must(t, out, Folder{Path: c.comes.Path, Kind: c.comes.Kind})
		if d := cmp.Diff(before, tree(t, out)); d != "" {
			t.Errorf("%s: %s", c.why, d)
		}
		must(t, out, Folder{Path: c.there.Path}) // as ndc clean does
	}
}

// TestPlantedManifest names files outside the folder, or behind a link, with
// their true hashes.
func TestPlantedManifest(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	victims := []string{"victim", "out/victim", "out/b/megatron/victim", "linked/victim"}
	for _, v := range victims {
		write(t, filepath.Join(dir, v), "mine")
	}
	link(t, filepath.Join(dir, "linked"), filepath.Join(out, "a/megatron/linked"))
	var artifacts []map[string]string
	for _, p := range []string{filepath.Join(dir, "victim"), "../../../victim", "../../victim", "../../b/megatron/victim", "x/../../../victim",
		"linked/victim", "./../../victim", "", ".", "..", "../../.ndc/lock", ".ndc-unfinished", "a\\b", "a\x00b"} {
		artifacts = append(artifacts, map[string]string{"path": p, "sha256": Hash([]byte("mine"))})
	}
	content, err := json.Marshal(map[string]any{"format_version": "1.0", "job": "a", "backend": "megatron", "artifacts": artifacts})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(out, "a/megatron/plan.json"), string(content))
	before := tree(t, dir)
	results, _ := attempt(t, out, true, Folder{Path: "a/megatron"})
	if len(results[0].Removed) > 0 {
		t.Errorf("removed %q", results[0].Removed)
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// TestPlantedJournal names files outside the output folder.
func TestPlantedJournal(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	write(t, filepath.Join(dir, "victim"), "mine")
	for _, j := range []journal{
		{Steps: []step{{Path: "../victim", Old: Hash([]byte("mine"))}}},
		{Steps: []step{{Path: filepath.Join(dir, "victim"), Old: Hash([]byte("mine"))}}},
		{Undo: true, Steps: []step{{Path: "../victim", New: true}}},
		{Emptied: []string{".."}},
		{Missing: []string{"../made"}},
		{Folders: []string{".."}},
	} {
		content, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(out, journalFile), string(content))
		before := tree(t, dir)
		if _, err := Open(context.Background(), out); err == nil || !strings.Contains(err.Error(), "not a journal of ndc") {
			t.Errorf("%s: %v", content, err)
		}
		if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestJournalBehindLink repairs a journal whose places became links meanwhile.
func TestJournalBehindLink(t *testing.T) {
	for _, undo := range []bool{false, true} {
		dir := t.TempDir()
		out, elsewhere := filepath.Join(dir, "out"), filepath.Join(dir, "elsewhere")
		write(t, filepath.Join(elsewhere, "launch.sh"), "mine")
		write(t, filepath.Join(elsewhere, Marker), "mine")
		link(t, elsewhere, filepath.Join(out, "a/megatron"))
		write(t, filepath.Join(out, newFiles, "0"), "new")
		content, _ := json.Marshal(journal{Undo: undo, Folders: []string{"a/megatron"}, Emptied: []string{"a/megatron"}, Missing: []string{"a/megatron"},
			Steps: []step{{Path: "a/megatron/launch.sh", New: true, Old: Hash([]byte("mine"))}}})
		write(t, filepath.Join(out, journalFile), string(content))
		before := tree(t, elsewhere)
		o, err := Open(context.Background(), out)
		if err != nil {
			t.Errorf("undo %v: %v", undo, err)
		} else {
			o.Close()
		}
		if diff := cmp.Diff(before, tree(t, elsewhere)); diff != "" {
			t.Errorf("undo %v: %s", undo, diff)
		}
	}
}

// TestOddFiles puts what is no regular file, or is too large, where outputs
// go. Nothing hangs, nothing is read whole, and force replaces all but folders.
func TestOddFiles(t *testing.T) {
	odd := map[string]func(name string) error{
		"a named pipe": func(name string) error { return syscall.Mkfifo(name, 0o666) },
		"a folder":     func(name string) error { return os.Mkdir(name, 0o777) },
		"edited or foreign": func(name string) error {
			return errors.Join(os.WriteFile(name, nil, 0o666), os.Truncate(name, 1<<40)) // a terabyte with nothing in it
		},
	}
	if os.Getuid() == 0 {
		odd["a device"] = func(name string) error { return syscall.Mknod(name, syscall.S_IFCHR|0o666, 1<<8|5) } // /dev/zero
	}
	for what, plant := range odd {
		for _, name := range []string{"launch.sh", Manifest} {
			out := t.TempDir()
			must(t, out, builds["first"]...)
			place := filepath.Join(out, "a/megatron", name)
			if err := errors.Join(os.Remove(place), plant(place)); err != nil {
				t.Logf("%s cannot be made here: %v", what, err)
				continue
			}
			_, problems := attempt(t, out, false, builds["second"]...)
			if !slices.ContainsFunc(problems, func(p Problem) bool {
				return p.Path == place && (strings.Contains(p.Why, what) || p.Kind != Blocked && what == "edited or foreign")
			}) {
				t.Errorf("%s as %s: %v", what, name, problems)
			}
			_, problems = attempt(t, out, true, builds["second"]...)
			if (len(problems) > 0) != (what == "a folder") {
				t.Errorf("%s as %s with force: %v", what, name, problems)
			}
		}
		out := t.TempDir()
		if err := errors.Join(os.Mkdir(filepath.Join(out, private), 0o777), plant(filepath.Join(out, lockFile))); err != nil {
			continue
		}
		if o, err := Open(context.Background(), out); what != "edited or foreign" && err == nil {
			t.Errorf("%s as lock is accepted", what)
		} else if err == nil {
			o.Close()
		}
	}
}

// TestFailingMove takes every move back when one fails: a folder is there
// where a file must go, which nobody could know before.
func TestFailingMove(t *testing.T) {
	out := t.TempDir()
	must(t, out, builds["first"]...)
	before := tree(t, out)
	o, err := Open(context.Background(), out)
	if err != nil {
		t.Fatal(err)
	}
	var c change
	for i := range builds["second"] {
		c.folder(o, &builds["second"][i], false)
	}
	if err := o.stage(context.Background(), &c); err != nil {
		t.Fatal(err)
	}
	j := c.journal()
	j.Steps[len(j.Steps)-1].Old = "what is not there"
	if err := o.commit(j); err == nil || !strings.Contains(err.Error(), "changed by somebody else") {
		t.Error(err)
	}
	o.Close()
	if diff := cmp.Diff(before, tree(t, out)); diff != "" {
		t.Error(diff)
	}
}

// TestChangedSinceInterrupted leaves alone what a user edited between an
// interrupted build and its repair: the rest of the build is taken back.
func TestChangedSinceInterrupted(t *testing.T) {
	out := t.TempDir()
	must(t, out, builds["first"]...)
	o, err := Open(context.Background(), out)
	if err != nil {
		t.Fatal(err)
	}
	var c change
	for i := range builds["second"] {
		c.folder(o, &builds["second"][i], false)
	}
	if err := errors.Join(o.stage(context.Background(), &c), o.record(c.journal()), o.move(0, c.steps[0])); err != nil {
		t.Fatal(err)
	}
	o.leave()
	write(t, filepath.Join(out, "a/torchtitan/train.toml"), "edited")
	_, problems := attempt(t, out, false, builds["second"]...)
	if len(problems) != 1 || problems[0].Kind != Edited {
		t.Error(problems)
	}
	want := built(t, "first")
	want["a/torchtitan/train.toml"] = "edited"
	if diff := cmp.Diff(want, tree(t, out)); diff != "" {
		t.Error(diff)
	}
}

// TestOrphanedMarker removes a marker whose journal somebody removed, once the
// folder is whole.
func TestOrphanedMarker(t *testing.T) {
	out := t.TempDir()
	must(t, out, builds["first"]...)
	before := tree(t, out)
	write(t, filepath.Join(out, "a/megatron", Marker), "")
	must(t, out, builds["first"]...)
	if diff := cmp.Diff(before, tree(t, out)); diff != "" {
		t.Error(diff)
	}
}

// TestUmask: modes of files and folders follow the umask.
func TestUmask(t *testing.T) {
	for _, mask := range []int{0o002, 0o022, 0o027, 0o077} {
		old := syscall.Umask(mask)
		out := filepath.Join(t.TempDir(), "out")
		must(t, out, builds["first"]...)
		syscall.Umask(old)
		for name, want := range map[string]os.FileMode{"a/megatron/launch.sh": 0o777, "a/megatron/plan.json": 0o666, "a/megatron": 0o777, ".": 0o777} {
			info, err := os.Stat(filepath.Join(out, name))
			if err != nil {
				t.Fatal(err)
			}
			if want &^= os.FileMode(mask); info.Mode().Perm() != want {
				t.Errorf("umask %03o: %s has mode %03o, want %03o", mask, name, info.Mode().Perm(), want)
			}
		}
	}
}

// TestBusy waits for another build, and says whose it is when that takes long.
func TestBusy(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	first, err := Open(context.Background(), out)
	if err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := Open(soon, out); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second build does not wait: %v", err)
	}
	patience = 200 * time.Millisecond
	defer func() { patience = 10 * time.Second }()
	var busy *BusyError
	if _, err := Open(context.Background(), out); !errors.As(err, &busy) || !strings.HasPrefix(busy.Who, "process ") {
		t.Errorf("a second build does not say who writes: %v", err)
	}
	first.Close()
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Error("an output folder that nothing was written into stays")
	}
}

// TestBuilds: builds are what ndc wrote at their own places: no copy, no link and nobody's own files.
func TestBuilds(t *testing.T) {
	out := t.TempDir()
	must(t, out, append(slices.Clone(builds["first"]), builds["other"]...)...)
	write(t, filepath.Join(out, "mine/megatron/plan.json"), "{}")
	if err := os.CopyFS(filepath.Join(out, "copy"), os.DirFS(filepath.Join(out, "a"))); err != nil {
		t.Fatal(err)
	}
	link(t, "a", filepath.Join(out, "linked"))
	o, err := Open(context.Background(), out)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range o.Builds(func(job, backend string) bool { return job == "a" && backend == "megatron" }) {
		got = append(got, b.Path)
	}
	if diff := cmp.Diff([]string{"a/deepspeed", "a/torchtitan", "b/megatron"}, got); diff != "" {
		t.Error(diff)
	}
	before := maps.Clone(tree(t, out))
	o.Compare(builds["second"])
	if diff := cmp.Diff(before, tree(t, out)); diff != "" {
		t.Errorf("comparing changes files:\n%s", diff)
	}
	o.Close()
}

// builds are what the programs write. "second" changes, keeps, adds and
// removes files of "first", and drops a folder; "other" is of another job;
// "nothing" removes all that "first" wrote.
var builds = map[string][]Folder{
	"first": {
		folder("a/megatron", "launch.sh", "first", "environment.sh", "same", "gone.toml", "first", "old/deep/file", "first"),
		folder("a/torchtitan", "launch.sh", "first", "train.toml", "first"),
		folder("a/deepspeed", "launch.sh", "first"),
	},
	"second": {
		folder("a/megatron", "launch.sh", "second", "environment.sh", "same", "new/deep/file", "second"),
		folder("a/torchtitan", "launch.sh", "second", "train.toml", "second"),
		{Path: "a/deepspeed"},
	},
	"other":   {folder("b/megatron", "launch.sh", "other", "environment.sh", "same")},
	"nothing": {{Path: "a/megatron"}, {Path: "a/torchtitan"}, {Path: "a/deepspeed"}},
}

// folder is a folder of files with their contents, and their plan.json.
func folder(dir string, files ...string) Folder {
	f := Folder{Path: dir}
	var list []string
	for i := 0; i < len(files); i += 2 {
		content := []byte(dir + " " + files[i+1])
		f.Files = append(f.Files, File{Path: files[i], Content: content, Executable: strings.HasSuffix(files[i], ".sh")})
		list = append(list, fmt.Sprintf(`{"path":%q,"sha256":%q}`, files[i], Hash(content)))
	}
	job, backend := path.Split(dir)
	text := func(own string) []byte {
		return fmt.Appendf(nil, `{"format_version":"1.0","job":%q,"backend":%q,"artifacts":[%s,{"path":"plan.json","sha256":%q}]}`,
			path.Clean(job), backend, strings.Join(list, ","), own)
	}
	f.Files = append(f.Files, File{Path: Manifest, Content: text(Hash(text("")))})
	return f
}

func buildNamed(out, name string) error {
	o, err := Open(context.Background(), out)
	if err != nil {
		return err
	}
	_, problems, err := o.Replace(context.Background(), builds[name], false)
	if len(problems) > 0 {
		err = fmt.Errorf("problems: %v", problems)
	}
	o.Close()
	return err
}

// tree reads all files below a folder; of a missing folder there are none.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) && name == root {
			return nil
		}
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, name)
		if d.IsDir() {
			found[rel+"/"] = ""
			return nil
		}
		if d.Type()&os.ModeSymlink != 0 {
			found[rel], err = os.Readlink(name)
			return err
		}
		content, err := os.ReadFile(name)
		found[rel] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// built is the tree after builds one after the other.
func built(t *testing.T, names ...string) map[string]string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	for _, name := range names {
		if err := buildNamed(out, name); err != nil {
			t.Fatal(err)
		}
	}
	return tree(t, out)
}

// below is the part of a tree in one folder.
func below(files map[string]string, dir string) map[string]string {
	found := map[string]string{}
	for name, content := range files {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok && rest != "" && !strings.HasSuffix(rest, "/") {
			found[rest] = content
		}
	}
	return found
}

// TestFolderThatHoldsNoFiles: a file system that has no place for files is an error, and
// not waited for.
func TestFolderThatHoldsNoFiles(t *testing.T) {
	const folder = "/proc/self/task"
	if _, err := os.Stat(folder); err != nil {
		t.Skip("skipped: ", err)
	}
	if o, err := Open(t.Context(), folder); err == nil {
		o.Close()
		t.Error("a lock where no file can be")
	}
}

// TestMergeMarks: where git left the marks of a merge, that is told, and not that ndc
// did not write the file.
func TestMergeMarks(t *testing.T) {
	out := t.TempDir()
	must(t, out, builds["first"]...)
	name := filepath.Join(out, "a/torchtitan/train.toml")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	write(t, name, "first\n<<<<<<< HEAD\n"+string(text)+"\n=======\n"+string(text)+"\n>>>>>>> other\n")
	_, problems := attempt(t, out, false, builds["second"]...)
	if len(problems) != 1 || problems[0].Kind != Merged {
		t.Error(problems)
	}
}

// TestWindowsLines: that a checkout wrote other ends of lines is told, once for all
// files, and not that somebody edited them; a check shows no lines of it.
func TestWindowsLines(t *testing.T) {
	out := t.TempDir()
	must(t, out, builds["first"]...)
	for _, name := range []string{"a/torchtitan/train.toml", "a/torchtitan/plan.json"} {
		text, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(out, name), strings.ReplaceAll(strings.TrimSuffix(string(text), "\n")+"\n", "\n", "\r\n"))
	}
	_, problems := attempt(t, out, false, builds["first"]...)
	if len(problems) != 1 || problems[0].Kind != Windows {
		t.Error(problems)
	}
	list, err := Differences(out, builds["first"], func(string) bool { return false }, func(_, _ string) bool { return true })
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	for _, d := range list {
		if d.Kind != Changed || d.Old != nil || d.Why != "ends its lines with CR LF" {
			t.Errorf("%v %s %q", d.Kind, d.Path, d.Why)
		}
	}
}
