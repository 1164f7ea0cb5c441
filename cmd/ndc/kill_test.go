//go:build linux && (amd64 || arm64)

package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/output"
	"github.com/ndc-dev/ndc/output/trace"
)

// everyKill is 1 where all kills are asked for, and else a step between them.
func everyKill(sample int) int {
	if os.Getenv("NDC_KILLS") == "all" {
		return 1
	}
	return sample
}

// victim is a folder of job files and output folders for one command that is
// ended early.
type victim struct {
	dir     string
	command []string            // without the output folder
	start   map[string]string   // the output folder before
	legal   []map[string]string // trees of which each folder is as it shall be
	done    map[string]string   // the output folder after the command, undisturbed
}

// victims are the commands: a first build, a build that changes some files, keeps
// some and removes others, and a clean.
var victims = map[string][]string{
	"first build":   {"build", "tiny.hcl"},
	"another build": {"build", "changed.hcl"},
	"clean":         {"clean", "folder"},
}

func newVictim(t *testing.T, name string) *victim {
	t.Helper()
	if testing.Short() {
		t.Skip("ends many processes, which -short leaves out")
	}
	dir := t.TempDir()
	text, err := os.ReadFile("../../examples/tiny/job.hcl")
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("/opt/megatron-lm"), []byte(dir), 1)
	changed := strings.NewReplacer("= 2000", "= 3000", `"0.2.2"`, `"0.3.0"`).Replace(string(text))
	first, rest, ok := strings.Cut(changed, `  backend "deepspeed" {`)
	if !ok {
		t.Fatal("the example has no DeepSpeed any more")
	}
	_, rest, _ = strings.Cut(rest, "\n  }\n")
	for name, content := range map[string]string{
		"tiny.hcl": string(text), "pretrain_gpt.py": "", "changed.hcl": first + rest,
		"other.hcl": strings.Replace(string(text), `job "tiny"`, `job "other"`, 1), "folder/job.hcl": strings.Replace(string(text), `job "tiny"`, `job "renamed"`, 1),
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777), os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	v := &victim{dir: dir, command: victims[name]}
	if name != "first build" {
		v.start = v.after(t, nil, "build", "tiny.hcl")
	}
	v.done = v.after(t, v.start, v.command...)
	v.legal = []map[string]string{v.start, v.done, v.after(t, v.start, "build", "other.hcl")}
	return v
}

// ndc runs a command in the victim's folder to its end.
func (v *victim) ndc(out string, arguments ...string) error {
	c := exec.Command("/proc/self/exe", append(arguments, "-o", out)...)
	c.Args[0], c.Dir = "ndc", v.dir
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("ndc %q: %w\n%s", arguments, err, text)
	}
	return nil
}

// after is the output folder after a command.
func (v *victim) after(t *testing.T, start map[string]string, arguments ...string) map[string]string {
	t.Helper()
	out := plant(t, start)
	if err := v.ndc(out, arguments...); err != nil {
		t.Fatal(err)
	}
	return tree(t, out)
}

// plant writes a tree into a new output folder; launch.sh is executable.
func plant(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	for name, content := range files {
		mode := os.FileMode(0o666)
		if filepath.Base(name) == "launch.sh" {
			mode = 0o777
		}
		full := filepath.Join(out, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o777), os.WriteFile(full, []byte(content), mode)); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// ended runs the victim's command up to its call number at and sends a signal.
func (v *victim) ended(t *testing.T, out string, at int, signal syscall.Signal) trace.Outcome {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	got, err := trace.Run(trace.Program{
		Path: "/proc/self/exe", Args: slices.Concat([]string{"ndc"}, v.command, []string{"-o", out}), Dir: v.dir, Output: null, Env: append(os.Environ(), "GOMAXPROCS=1"),
	}, at, signal)
	if errors.Is(err, trace.ErrNotAllowed) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestKilledBuild kills the command at its calls that change the disk
// (NDC_KILLS=all: at each of them). No script of a mixed folder starts, the
// same command again ends with the bytes of an undisturbed one, and so does
// the build of another job.
func TestKilledBuild(t *testing.T) {
	t.Parallel() // one process runs at a time
	for name := range victims {
		t.Run(name, func(t *testing.T) {
			v := newVictim(t, name)
			kills, mixed := map[string]int{}, map[string]int{}
			for at := 1; ; at += everyKill(31) {
				out := plant(t, v.start)
				got := v.ended(t, out, at, syscall.SIGKILL)
				if got.Call == "" {
					break
				}
				kills[got.Call]++
				if v.mixed(t, out) {
					mixed[got.Call]++
				}
				v.recovers(t, out, fmt.Sprintf("killed before call %d (%s)", at, got.Call))
			}
			for call, n := range mixed {
				if n > 0 {
					t.Errorf("%d of %d kills at %s left a mixed folder whose scripts start", n, kills[call], call)
				}
			}
			if len(kills) < 4 {
				t.Errorf("too few kinds of calls to prove anything: %v", kills)
			}
			t.Logf("%s: kills by call %v", name, kills)
		})
	}
}

// mixed reports whether a folder is not whole and its scripts start
// nonetheless.
func (v *victim) mixed(t *testing.T, out string) bool {
	t.Helper()
	files := tree(t, out)
	for _, dir := range []string{"tiny/deepspeed", "tiny/megatron", "tiny/torchtitan", "other/deepspeed", "other/megatron", "other/torchtitan"} {
		got := below(files, dir)
		if slices.ContainsFunc(v.legal, func(l map[string]string) bool { return maps.Equal(got, below(l, dir)) }) {
			continue
		}
		for name := range got {
			if (name == "launch.sh" || strings.HasSuffix(name, ".sbatch")) && starts(t, got, name) {
				return true
			}
		}
	}
	return false
}

func below(files map[string]string, dir string) map[string]string {
	found := map[string]string{}
	for name, content := range files {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
			found[rest] = content
		}
	}
	return found
}

// starts runs a script of a folder, given by its files, and reports whether it
// starts anything. It is told to take edited files, so that the marker alone
// can stop it.
func starts(t *testing.T, files map[string]string, script string) bool {
	t.Helper()
	dir := plant(t, files)
	bin := plant(t, map[string]string{
		"scontrol": "#!/bin/sh\ntest \"$2\" != hostnames || echo node1\n", "sbatch": "#!/bin/sh\necho 2\n",
		"srun": "#!/bin/sh\ntouch \"$STARTED\"\n", "torchrun": "#!/bin/sh\ntouch \"$STARTED\"\n",
	})
	started := filepath.Join(filepath.Dir(dir), "started")
	c := exec.Command("bash", filepath.Join(dir, script))
	c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "STARTED="+started, "NDC_ALLOW_EDITED=yes", "NDC_GPUS_PER_NODE=1",
		"SLURM_SUBMIT_DIR="+dir, "SLURM_JOB_ID=1", "SLURM_JOB_NAME=tiny", "SLURM_JOB_NODELIST=node1", "SLURM_JOB_NUM_NODES=1")
	for name := range tree(t, bin) {
		if err := os.Chmod(filepath.Join(bin, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.Run() // what a script without a training ends with is no matter
	_, err := os.Stat(started)
	return err == nil
}

// TestScriptsStart shows that the scripts of a whole folder would start, and
// that the marker is what stops them.
func TestScriptsStart(t *testing.T) {
	v := newVictim(t, "clean")
	for _, backend := range []string{"megatron", "torchtitan", "deepspeed"} {
		files := below(v.start, "tiny/"+backend)
		for _, script := range []string{"launch.sh", "tiny.sbatch"} {
			if !starts(t, files, script) {
				t.Errorf("%s of %s does not start", script, backend)
			}
			marked := maps.Clone(files)
			marked[output.Marker] = ""
			if starts(t, marked, script) {
				t.Errorf("%s of %s starts beside a marker", script, backend)
			}
		}
	}
}

// recovers holds what comes after a kill to what comes without one.
func (v *victim) recovers(t *testing.T, out, where string) {
	t.Helper()
	left := tree(t, out)
	again := plant(t, left)
	if err := v.ndc(again, v.command...); err != nil {
		t.Errorf("%s: %v", where, err)
	}
	if diff := cmp.Diff(v.done, tree(t, again)); diff != "" {
		t.Errorf("%s: the same command again does not end as an undisturbed one:\n%s", where, diff)
	}
	other := plant(t, left)
	if err := v.ndc(other, "build", "other.hcl"); err != nil {
		t.Errorf("%s: %v", where, err)
	}
	got := tree(t, other)
	for _, dir := range []string{"tiny/deepspeed", "tiny/megatron", "tiny/torchtitan", "other/deepspeed", "other/megatron", "other/torchtitan"} {
		if !slices.ContainsFunc(v.legal, func(l map[string]string) bool { return maps.Equal(below(got, dir), below(l, dir)) }) {
			t.Errorf("%s: after a build of another job %s is mixed", where, dir)
		}
	}
	for name := range got {
		if !strings.HasPrefix(name, "tiny/") && !strings.HasPrefix(name, "other/") || strings.HasPrefix(filepath.Base(name), ".ndc") {
			t.Errorf("%s: after a build of another job %s is left", where, name)
		}
	}
}

// TestInterrupted sends signals at the same calls: the files are all old or
// all new, nothing else is left, and the exit code says which signal it was.
func TestInterrupted(t *testing.T) {
	t.Parallel() // as above
	v := newVictim(t, "another build")
	for signal, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		if ignored(signal) {
			continue // as under nohup, which ndc must not undo
		}
		exits, trees := map[int]int{}, map[string]int{}
		for at := 2; ; at += everyKill(23) {
			out := plant(t, v.start)
			got := v.ended(t, out, at, signal)
			if got.Call == "" {
				break
			}
			exits[got.Status.ExitStatus()]++
			switch left := tree(t, out); {
			case maps.Equal(left, v.start):
				trees["old"]++
			case maps.Equal(left, v.done):
				trees["new"]++
			default:
				t.Errorf("%v before call %d (%s) leaves files that are neither the old nor the new ones:\n%s", signal, at, got.Call, cmp.Diff(v.done, left))
			}
		}
		// A signal at the last calls of all may come after the end.
		if exits[0] > 2 || exits[code] == 0 || len(exits) > 2 {
			t.Errorf("%v: exit codes %v, want %d", signal, exits, code)
		}
		if trees["old"] == 0 || trees["new"] == 0 {
			t.Errorf("%v: the signals came at one end only: %v", signal, trees)
		}
		t.Logf("%v: exit codes %v, files %v", signal, exits, trees)
	}
}

// ignored reports whether this process, and so what it starts, ignores a signal.
func ignored(s syscall.Signal) bool { return signal.Ignored(s) }

// TestCrash ends the program in Go's own way, which must not look like a job
// without a feasible plan.
func TestCrash(t *testing.T) {
	v := newVictim(t, "first build")
	got := v.ended(t, plant(t, nil), 20, syscall.SIGQUIT)
	if got.Call == "" || !got.Status.Signaled() || got.Status.Signal() != syscall.SIGABRT {
		t.Errorf("SIGQUIT at %q ends with %v", got.Call, got.Status)
	}
}

// TestTogether makes two builds of different jobs into one folder at once:
// both end well, and the files are those of one of them.
func TestTogether(t *testing.T) {
	v := newVictim(t, "another build")
	trials := 10
	if everyKill(2) == 1 {
		trials = 200
	}
	for range trials {
		out := plant(t, nil)
		var group sync.WaitGroup
		for _, job := range []string{"tiny.hcl", "changed.hcl"} {
			group.Go(func() {
				if err := v.ndc(out, "build", job); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if got := tree(t, out); !maps.Equal(got, v.done) && !maps.Equal(got, v.start) {
			t.Errorf("two builds at once are mixed:\n%s", cmp.Diff(v.done, got))
		}
	}
}
