//go:build linux && (amd64 || arm64)

package output

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/output/trace"
)

// TestMain lets tests run this test binary as a program that makes one build.
func TestMain(m *testing.M) {
	if name := os.Getenv("NDC_TEST_BUILD"); name != "" {
		if err := buildNamed(os.Getenv("NDC_TEST_OUT"), name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// program is one build as a program of its own.
func program(out, name string) trace.Program {
	return trace.Program{
		Path: "/proc/self/exe", Args: []string{"build"}, Output: os.Stderr,
		Env: append(os.Environ(), "GOMAXPROCS=1", "NDC_TEST_BUILD="+name, "NDC_TEST_OUT="+out),
	}
}

func traced(t *testing.T, out, name string, at int) trace.Outcome {
	t.Helper()
	got, err := trace.Run(program(out, name), at, syscall.SIGKILL)
	if errors.Is(err, trace.ErrNotAllowed) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// scenarios are a first build, one that changes things, and a removal.
var scenarios = []struct {
	before []string
	build  string
}{{nil, "first"}, {[]string{"first"}, "second"}, {[]string{"first", "other"}, "nothing"}}

// TestKilled ends a build at every call that changes the disk, and then the
// build that repairs it, too. A sample of the calls is taken; NDC_KILLS=all
// takes all of the build and every seventh of the repair. No folder is mixed without its marker, and the next build of the same or
// another job leaves the files that it leaves after an undisturbed one, and
// nothing else.
func TestKilled(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.build, func(t *testing.T) {
			k := newKilling(t, s.before, s.build)
			for at := 1; k.trial(t, at); at += everyKill(9) {
			}
			if k.kills["rename"] < 1 || k.kills["fsync"] < 1 || k.kills["unlink"] < 1 || k.repairs < 1 {
				t.Errorf("too few kills to prove anything: %v, and %d of repairs", k.kills, k.repairs)
			}
			t.Logf("kills by call: %v; of repairs: %d", k.kills, k.repairs)
		})
	}
}

// everyKill is 1 where all kills are asked for, and else a step between them.
func everyKill(sample int) int {
	if os.Getenv("NDC_KILLS") == "all" {
		return 1
	}
	return sample
}

type killing struct {
	before  []string
	build   string
	start   string                         // the output folder before the build
	legal   []map[string]string            // trees whose folders are whole
	ends    map[string][]map[string]string // next build → trees that it may leave
	kills   map[string]int
	repairs int
}

func newKilling(t *testing.T, before []string, build string) *killing {
	t.Helper()
	if testing.Short() {
		t.Skip("ends many processes, which -short leaves out")
	}
	after := slices.Concat(before, []string{build})
	k := &killing{before: before, build: build, start: filepath.Join(inMemory(t), "out"), kills: map[string]int{}}
	for _, name := range before {
		if err := buildNamed(k.start, name); err != nil {
			t.Fatal(err)
		}
	}
	done, withOther, both := built(t, after...), built(t, slices.Concat(before, []string{"other"})...), built(t, slices.Concat(after, []string{"other"})...)
	k.legal = []map[string]string{tree(t, k.start), done, both}
	k.ends = map[string][]map[string]string{build: {done}, "other": {withOther, both}}
	return k
}

// trial kills one build, at its call number at; false when it has fewer.
func (k *killing) trial(t *testing.T, at int) bool {
	t.Helper()
	out := copied(t, k.start)
	got := traced(t, out, k.build, at)
	if got.Call == "" {
		if got.Status.ExitStatus() != 0 {
			t.Errorf("an undisturbed build ends with status %v", got.Status)
		}
		return false
	}
	k.kills[got.Call]++
	where := fmt.Sprintf("killed before call %d (%s)", at, got.Call)
	k.whole(t, out, where)
	for next := range k.ends {
		k.next(t, copied(t, out), next, where)
		stride := everyKill(97)
		if stride == 1 {
			stride = 7 // all kills of all repairs would take hours
		}
		for n := 1 + at%stride; k.repair(t, copied(t, out), next, n, where); n += stride {
		}
	}
	return true
}

// repair kills the next build, too, at its call number n.
func (k *killing) repair(t *testing.T, out, next string, n int, where string) bool {
	t.Helper()
	got := traced(t, out, next, n)
	if got.Call == "" {
		return false
	}
	k.repairs++
	where = fmt.Sprintf("%s, and then %q before call %d (%s)", where, next, n, got.Call)
	k.whole(t, out, where)
	k.next(t, out, next, where)
	return true
}

// onlyFiles leaves the folders out: an empty one stays where its removal
// failed.
func onlyFiles(files map[string]string) map[string]string {
	found := maps.Clone(files)
	maps.DeleteFunc(found, func(name, _ string) bool { return strings.HasSuffix(name, "/") })
	return found
}

// whole fails for a folder that is neither as it was nor as it shall be and
// has no marker.
func (k *killing) whole(t *testing.T, out, where string) {
	t.Helper()
	files := tree(t, out)
	for _, dir := range []string{"a/megatron", "a/torchtitan", "a/deepspeed", "b/megatron"} {
		got := below(files, dir)
		if _, marked := got[Marker]; !marked && !slices.ContainsFunc(k.legal, func(l map[string]string) bool { return maps.Equal(got, below(l, dir)) }) {
			t.Errorf("%s: %s is mixed and has no marker: %q", where, dir, slices.Sorted(maps.Keys(got)))
		}
	}
}

// next makes the next build, which must end as if nothing had happened.
func (k *killing) next(t *testing.T, out, name, where string) {
	t.Helper()
	if err := buildNamed(out, name); err != nil {
		t.Errorf("%s, then %q: %v", where, name, err)
		return
	}
	got := tree(t, out)
	if !slices.ContainsFunc(k.ends[name], func(l map[string]string) bool { return maps.Equal(got, l) }) {
		t.Errorf("%s, then %q: the files are not those of an undisturbed build (-want +got):\n%s", where, name, cmp.Diff(k.ends[name][0], got))
	}
}

// copied is a copy of an output folder, which may be missing.
func copied(t *testing.T, out string) string {
	t.Helper()
	to := filepath.Join(inMemory(t), "out")
	if _, err := os.Stat(out); errors.Is(err, os.ErrNotExist) {
		return to
	}
	if err := os.CopyFS(to, os.DirFS(out)); err != nil {
		t.Fatal(err)
	}
	return to
}

// inMemory is a new folder in memory, where the system has such: it is the program that
// ends here, not the machine, and hundreds of folders on a disk take most of the time.
func inMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "ndc-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestFailingCalls lets each call that changes the disk fail, one a build. A
// build that says it failed leaves all files as they were, unless it leaves a
// journal and markers; the next one ends as if nothing had happened.
func TestFailingCalls(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.build, func(t *testing.T) {
			k := newKilling(t, s.before, s.build)
			failed, undone := 0, 0
			for at := 1; ; at += everyKill(4) {
				out := copied(t, k.start)
				p := program(out, k.build)
				p.Output = null(t)
				got, err := trace.Fail(p, at, syscall.EIO)
				if errors.Is(err, trace.ErrNotAllowed) {
					t.Skip(err)
				}
				if err != nil {
					t.Fatal(err)
				}
				if got.Call == "" {
					break
				}
				where := fmt.Sprintf("call %d (%s) failed", at, got.Call)
				k.whole(t, out, where)
				_, err = os.Stat(filepath.Join(out, journalFile))
				if journal := err == nil; !journal && got.Status.ExitStatus() != 0 {
					undone++
					left := onlyFiles(tree(t, out))
					if isRemoval := strings.HasPrefix(got.Call, "unlink") || strings.HasPrefix(got.Call, "rmdir"); isRemoval {
						maps.DeleteFunc(left, func(name, _ string) bool { return strings.HasPrefix(name, private+"/") })
					}
					if diff := cmp.Diff(onlyFiles(k.legal[0]), left); diff != "" {
						t.Errorf("%s, and the files are not as they were:\n%s", where, diff)
					}
				}
				failed++
				if err := buildNamed(out, k.build); err != nil {
					t.Errorf("%s, then again: %v", where, err)
				}
				if diff := cmp.Diff(onlyFiles(k.ends[k.build][0]), onlyFiles(tree(t, out))); diff != "" {
					t.Errorf("%s, then again: the files are not those of an undisturbed build:\n%s", where, diff)
				}
			}
			if failed < 5 || undone < 5 {
				t.Errorf("%d calls failed, %d builds were undone: too few to prove anything", failed, undone)
			}
		})
	}
}

func null(t *testing.T) *os.File {
	f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}
