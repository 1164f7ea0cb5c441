//go:build conformance

package processors

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/integration/environment"
	"github.com/ndc-dev/ndc/integration/random"
)

// processor is one way to compile and run ndc.
type processor struct {
	name     string
	compile  []string // environment of the compiler
	run      []string // environment of the program
	emulator string   // where this machine is another
}

// processors lists them, the plainest first: one instruction for each
// operation; then with the instructions of later processors, which the compiler
// chooses, and which Go's mathematical functions choose when they run.
var processors = []processor{
	{name: "amd64 v1, no fused multiply-add", compile: []string{"GOARCH=amd64", "GOAMD64=v1"}, run: []string{"GODEBUG=cpu.fma=off"}},
	{name: "amd64 v1", compile: []string{"GOARCH=amd64", "GOAMD64=v1"}},
	{name: "amd64 v3", compile: []string{"GOARCH=amd64", "GOAMD64=v3"}},
	{name: "arm64", compile: []string{"GOARCH=arm64"}, emulator: "qemu-aarch64"},
}

// program compiles ndc for a processor and returns the command that runs it.
func (p *processor) program(t *testing.T) []string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "ndc")
	c := exec.Command("go", "build", "-trimpath", "-o", binary, "github.com/ndc-dev/ndc/cmd/ndc")
	c.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux"), p.compile...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	command := []string{binary}
	if native := "GOARCH=" + runtime.GOARCH; p.compile[0] != native {
		emulator, err := exec.LookPath(cmp.Or(p.emulator, "qemu-x86_64"))
		if err != nil {
			t.Skipf("this machine is no %s and has no emulator: %v (Debian: apt-get install qemu-user)", p.name, err)
		}
		command = []string{emulator, binary}
	}
	c = exec.Command(command[0], append(command[1:], "version")...)
	c.Env = append(os.Environ(), p.run...)
	if out, err := c.CombinedOutput(); bytes.Contains(out, []byte("microarchitecture support")) {
		t.Skipf("this machine is no %s: %s", p.name, bytes.TrimSpace(out))
	} else if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return command
}

// said is what a run of ndc left: its exit code, what it printed and wrote.
type said map[string]string

// ask runs ndc in a folder, where it writes to out if it writes at all.
func (p *processor) ask(t *testing.T, command []string, folder string, arguments ...string) said {
	t.Helper()
	c := exec.Command(command[0], append(append([]string{}, command[1:]...), arguments...)...)
	c.Dir = folder
	c.Env = append(os.Environ(), p.run...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	got := said{"the exit code": strconv.Itoa(c.ProcessState.ExitCode()), "what it printed": stdout.String(), "what it reported": stderr.String()}
	out := os.DirFS(folder)
	err := fs.WalkDir(out, "out", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(out, name)
		got[name] = string(content)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return got
}

// compare reports in what two runs differ.
func compare(t *testing.T, want, got said) {
	t.Helper()
	for name := range want {
		if want[name] != got[name] {
			t.Errorf("%s: %s", name, difference(want[name], got[name]))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is written here only", name)
		}
	}
}

func keys(m map[string]said) []string { return slices.Sorted(maps.Keys(m)) }

// difference is the first line in which two texts differ.
func difference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d is %q, elsewhere %q", i+1, b[i], a[i])
		}
	}
	return fmt.Sprintf("%d lines, elsewhere %d", len(b), len(a))
}

// work is the jobs that every processor gets, by name: every example, and jobs
// that nobody wrote down. An emulator gets fewer of those.
func work(t *testing.T) (names []string, text map[string][]byte) {
	t.Helper()
	text = map[string][]byte{}
	add := func(name string, job []byte) { names, text[name] = append(names, name), job }
	paths, err := filepath.Glob("../../examples/*/job.hcl")
	if err != nil || len(paths) == 0 {
		t.Fatal("no examples: ", err)
	}
	for _, path := range paths {
		job, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		add(filepath.Base(filepath.Dir(path)), job)
		if computed := bytes.Replace(job, []byte(" = 1e-3\n"), []byte(" = pow(10, -3.1) * log(7, 3)\n"), 1); !bytes.Equal(computed, job) {
			add("computed", computed)
		}
	}
	if text["computed"] == nil {
		t.Fatal("no example has the learning rate to compute")
	}
	frameworks := []string{"megatron", "deepspeed", "torchtitan"}
	for i := range randomJobs() {
		framework := frameworks[i%len(frameworks)]
		r := rand.New(rand.NewPCG(29, uint64(i)))
		add(fmt.Sprintf("random %d", i), []byte(random.Draw(r, framework, environment.Newest(framework))))
	}
	return names, text
}

func randomJobs() int {
	if n, err := strconv.Atoi(os.Getenv("NDC_RANDOM_JOBS")); err == nil {
		return n
	}
	return 60
}

// drawn are the examples of which pictures are compared, too.
var drawn = []string{"gpt3-175b", "hsdp"}

// emulated is how many random jobs an emulator gets.
const emulated = 5

// TestBytes builds all jobs on every processor. What the first one writes and
// prints, all do.
func TestBytes(t *testing.T) {
	names, text := work(t)
	var want map[string]said
	for _, p := range processors {
		t.Run(p.name, func(t *testing.T) {
			command := p.program(t)
			got, left := map[string]said{}, emulated
			for _, name := range names {
				if len(command) > 1 && strings.HasPrefix(name, "random") {
					if left--; left < 0 {
						continue
					}
				}
				folder := t.TempDir()
				if err := os.WriteFile(filepath.Join(folder, "job.hcl"), text[name], 0o644); err != nil {
					t.Fatal(err)
				}
				got[name] = p.ask(t, command, folder, "build", "job.hcl")
				if slices.Contains(drawn, name) {
					got[name+", drawn"] = p.ask(t, command, folder, "graph", "job.hcl", "-o", "out")
				}
			}
			if want == nil {
				want = got
				return
			}
			for _, name := range keys(got) {
				t.Run(name, func(t *testing.T) { compare(t, want[name], got[name]) })
			}
		})
	}
	for _, of := range []struct {
		code string
		what string
	}{{"0", "files"}, {"2", "reasons"}} {
		n := 0
		for _, s := range want {
			if s["the exit code"] == of.code {
				n++
			}
		}
		if n == 0 {
			t.Errorf("no job ends with exit code %s, so that nothing is known of %s", of.code, of.what)
		}
		t.Logf("%d of %d jobs with exit code %s", n, len(want), of.code)
	}
}
