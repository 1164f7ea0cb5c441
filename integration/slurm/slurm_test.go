//go:build slurm

package slurm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// run is one built job with its scratch folder; the name has a blank, because
// users have such folders.
type run struct {
	*cluster
	folder, out string
}

// ndc is the binary under test.
var ndc string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "ndc-binary-")
	if err != nil {
		panic(err)
	}
	ndc = filepath.Join(dir, "ndc")
	if out, err := exec.Command("go", "build", "-o", ndc, "../../cmd/ndc").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s\n", out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// build writes the job's files into a fresh folder.
func build(t *testing.T, c *cluster, variables ...string) *run {
	t.Helper()
	folder := filepath.Join(c.dir, "work "+strings.ReplaceAll(t.Name(), "/", "-"))
	r := &run{cluster: c, folder: folder, out: filepath.Join(folder, "out")}
	for _, d := range []string{"bin", "steer", "megatron"} {
		if err := os.MkdirAll(filepath.Join(folder, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	standIn, err := os.ReadFile("testdata/torchrun")
	if err != nil {
		t.Fatal(err)
	}
	r.write(t, "bin/torchrun", string(standIn), 0o755)
	r.write(t, "megatron/pretrain_gpt.py", "", 0o644)
	args := []string{"build", "testdata/job.hcl", "-o", r.out, "--var", "folder=" + folder}
	for _, v := range variables {
		args = append(args, "--var", v)
	}
	if out, err := exec.Command(ndc, args...).CombinedOutput(); err != nil {
		t.Fatalf("ndc build: %v\n%s", err, out)
	}
	return r
}

func (r *run) write(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.folder, name), []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func (r *run) script() string { return filepath.Join(r.out, "stand-in", "megatron", "stand-in.sbatch") }

// submit queues the job, from a folder that is not its own, and returns its id.
func (r *run) submit(t *testing.T, options string) string {
	t.Helper()
	out, err := r.slurm(fmt.Sprintf("cd %q && sbatch --parsable %s %q", r.folder, options, r.script()))
	if err != nil {
		t.Fatalf("sbatch: %v\n%s", err, out)
	}
	return out
}

// state is what Slurm says of a job, such as COMPLETED.
func (r *run) state(id string) string {
	out, _ := r.slurm("scontrol -o show job " + id)
	if m := regexp.MustCompile(`JobState=(\w+)`).FindStringSubmatch(out); m != nil {
		return m[1]
	}
	return out
}

// finish waits until nothing is queued.
func (r *run) finish(t *testing.T, patience time.Duration) {
	t.Helper()
	r.await(t, "the queue to empty", patience, func() bool {
		out, err := r.slurm("squeue -h")
		return err == nil && out == ""
	})
}

func (r *run) read(name string) string {
	b, _ := os.ReadFile(filepath.Join(r.folder, name))
	return string(b)
}

// logs joins what all submissions logged.
func (r *run) logs() string {
	found, _ := filepath.Glob(filepath.Join(r.out, "stand-in/megatron/logs/*.log"))
	var all strings.Builder
	for _, f := range found {
		b, _ := os.ReadFile(f)
		all.Write(b)
	}
	return all.String()
}

func (r *run) expect(t *testing.T, text string) {
	t.Helper()
	if !strings.Contains(r.logs(), text) {
		t.Errorf("the logs do not say %q:\n%s", text, r.logs())
	}
}

func (r *run) step() string {
	return strings.TrimSpace(r.read("checkpoints/megatron/latest_checkpointed_iteration.txt"))
}

// starts counts how often a node was started.
func (r *run) starts() int { return strings.Count(r.read("steer/starts"), "\n") }

func TestSlurm(t *testing.T) {
	c := start(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *cluster)
	}{
		{"EveryExampleIsAccepted", everyExampleIsAccepted},
		{"ChainTrainsToTheEnd", chainTrainsToTheEnd},
		{"DeadRankStopsTheStep", deadRankStopsTheStep},
		{"WrongNodeCount", wrongNodeCount},
		{"StopFile", stopFile},
		{"TimeLimit", timeLimit},
		{"NodeFailure", nodeFailure}, // last: it leaves a node down
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, c) })
	}
}

// siteOnly are directives that name nodes of a real site, or that Slurm knows
// only since 23.11 (segment); they are taken out before the others are judged.
var siteOnly = regexp.MustCompile(`(?m)^#SBATCH --(exclude|nodelist|segment)=.*\n`)

// everyExampleIsAccepted lets Slurm's own parser judge the directives of every
// example; partitions and node counts of real sites are replaced on the
// command line, which overrides the script.
func everyExampleIsAccepted(t *testing.T, c *cluster) {
	jobs, err := filepath.Glob("../../examples/*/job.hcl")
	if err != nil || len(jobs) == 0 {
		t.Fatal("no examples", err)
	}
	for _, j := range jobs {
		out := filepath.Join(t.TempDir(), "out")
		if text, err := exec.Command(ndc, "build", j, "-o", out).CombinedOutput(); err != nil {
			if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == 2 {
				continue // the example that does not fit
			}
			t.Errorf("%s: %v\n%s", j, err, text)
			continue
		}
		scripts, _ := filepath.Glob(filepath.Join(out, "*", "*", "*.sbatch"))
		for _, s := range scripts {
			content, err := os.ReadFile(s)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(s, siteOnly.ReplaceAll(content, nil), 0o644); err != nil {
				t.Fatal(err)
			}
			text, err := c.slurm(fmt.Sprintf("sbatch --test-only --partition=gpu --account= --qos= --reservation= --nodes=1 --gres=gpu:1 --cpus-per-task=1 --mem=100 --constraint= %q", s))
			if err != nil {
				t.Errorf("%s: %s", s, text)
			}
		}
	}
}

// chainTrainsToTheEnd: 30 steps at 10 a submission take three links, each
// meeting at the first node of its allocation; the fourth is taken back.
func chainTrainsToTheEnd(t *testing.T, c *cluster) {
	r := build(t, c)
	id := r.submit(t, "")
	r.finish(t, 2*time.Minute)
	if r.step() != "30" || r.starts() != 6 {
		t.Errorf("step %q after %d node starts, want 30 after 6:\n%s", r.step(), r.starts(), r.logs())
	}
	if s := r.state(id); s != "COMPLETED" {
		t.Errorf("first link is %s", s)
	}
	r.expect(t, "the chain ends at step 30")
	first := strings.SplitN(r.read("steer/starts"), "\n", 2)[0]
	for _, want := range []string{"of 2", "gpus 2", "cpus 4"} {
		if !strings.Contains(first, want) {
			t.Errorf("the node was started as %q, want %q", first, want)
		}
	}
}

// deadRankStopsTheStep: node 1 fails, node 0 would run for ten minutes; two
// submissions without a checkpoint end the chain.
func deadRankStopsTheStep(t *testing.T, c *cluster) {
	r := build(t, c)
	r.write(t, "steer/die", "", 0o644)
	begin := time.Now()
	id := r.submit(t, "")
	r.finish(t, 3*time.Minute)
	if s := r.state(id); s != "FAILED" {
		t.Errorf("the job with a dead rank is %s", s)
	}
	r.expect(t, "2 submissions in a row saved nothing after step 0; the chain ends")
	if r.starts() != 4 {
		t.Errorf("%d node starts, want 4", r.starts())
	}
	t.Logf("both links and the end took %s", time.Since(begin).Round(time.Second))
}

func wrongNodeCount(t *testing.T, c *cluster) {
	r := build(t, c)
	r.submit(t, "--nodes=3")
	r.finish(t, time.Minute)
	r.expect(t, "the layout needs 2 nodes, the allocation has 3")
	if r.starts() != 0 {
		t.Error("training started on the wrong number of nodes")
	}
}

func stopFile(t *testing.T, c *cluster) {
	r := build(t, c)
	r.write(t, "out/stand-in/megatron/STOP", "", 0o644)
	id := r.submit(t, "")
	r.finish(t, time.Minute)
	if s := r.state(id); s != "COMPLETED" || r.starts() != 0 {
		t.Errorf("a stopped chain is %s after %d starts", s, r.starts())
	}
	r.expect(t, "the chain ends at step 0")
}

// timeLimit: the first link saves and then runs into the limit; the second
// resumes from its checkpoint.
func timeLimit(t *testing.T, c *cluster) {
	r := build(t, c, "chain=2")
	r.write(t, "steer/hang", "", 0o644)
	id := r.submit(t, "--time=1")
	r.await(t, "the limit", 3*time.Minute, func() bool { return r.state(id) == "TIMEOUT" })
	if err := os.Remove(filepath.Join(r.folder, "steer/hang")); err != nil {
		t.Fatal(err)
	}
	r.finish(t, 2*time.Minute)
	if r.step() != "20" {
		t.Errorf("step %q after the limit and a second link, want 20:\n%s", r.step(), r.logs())
	}
}

// nodeFailure: a node dies with everything on it; Slurm requeues the job on
// the others, where it goes on.
func nodeFailure(t *testing.T, c *cluster) {
	r := build(t, c, "requeue=true", "chain=1")
	r.write(t, "steer/hang", "", 0o644)
	id := r.submit(t, "")
	r.await(t, "the first checkpoint", time.Minute, func() bool { return r.step() == "10" })
	if err := os.Remove(filepath.Join(r.folder, "steer/hang")); err != nil {
		t.Fatal(err)
	}
	out, _ := r.slurm("scontrol -o show job " + id)
	m := regexp.MustCompile(` NodeList=n\[?(\d)`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("where does the job run? %s", out)
	}
	c.crash(t, int(m[1][0]-'0'))
	r.finish(t, 3*time.Minute)
	if r.step() != "20" {
		t.Errorf("step %q after the node failure, want 20:\n%s", r.step(), r.logs())
	}
}
