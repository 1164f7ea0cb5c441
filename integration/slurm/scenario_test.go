//go:build slurm

package slurm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// scenario is one built job in a scratch folder of its own; the folder's name
// has a blank, because users have such folders.
type scenario struct {
	*cluster
	folder  string // where jobs are submitted
	source  string // the job file
	script  string
	emitted string // the folder of the scripts
	edited  bool   // the test changed an emitted file, which ndc would not replace unasked
}

// patience is how long a scenario may take before it counts as stuck; nothing
// waits for it when all goes well.
const patience = 6 * time.Minute

// prepare makes the folder of a scenario for a job of testdata on one backend.
// When the test ends, its jobs are counted as kind.
func prepare(t *testing.T, c *cluster, kind, name, backend string) *scenario {
	t.Helper()
	folder := filepath.Join(here.Folder, "jobs of "+strings.NewReplacer("/", " ").Replace(t.Name()))
	s := &scenario{cluster: c, folder: folder, source: filepath.Join(folder, "job", name+".hcl"), emitted: filepath.Join(folder, "out", name, backend)}
	s.script = filepath.Join(s.emitted, name+".sbatch")
	content, err := os.ReadFile(filepath.Join("testdata", name+".hcl"))
	must(t, err)
	s.write(t, "job/"+name+".hcl", string(content), 0o644) // a copy, beside which ndc keeps its choices
	t.Cleanup(func() {
		ran := slices.DeleteFunc(s.jobs(), func(j job) bool { return len(j.nodes) == 0 })
		tally.add(kind, len(ran), t.Failed())
	})
	return s
}

// build runs ndc, and returns what it says.
func (s *scenario) build(t *testing.T, variables ...string) string {
	t.Helper()
	args := []string{"build", s.source, "--backend", filepath.Base(s.emitted), "-o", filepath.Join(s.folder, "out"), "--var", "folder=" + s.folder}
	for _, v := range variables {
		args = append(args, "--var", v)
	}
	if s.edited {
		args = append(args, "--force")
	}
	out, err := exec.Command(here.NDC, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("ndc build: %v\n%s", err, out)
	}
	return string(out)
}

// edit changes lines of an emitted file.
func (s *scenario) edit(t *testing.T, name string, lines map[string]string) {
	t.Helper()
	path := filepath.Join(s.emitted, name)
	content, err := os.ReadFile(path)
	must(t, err)
	for old, line := range lines {
		pattern := regexp.MustCompile(`(?m)^` + old + `$`)
		if len(pattern.FindAll(content, -1)) != 1 {
			t.Fatalf("%s does not have %q once", name, old)
		}
		content = pattern.ReplaceAll(content, []byte(line))
	}
	must(t, os.WriteFile(path, content, 0o644))
	s.edited = true
}

// write puts a file into the scenario's folder.
func (s *scenario) write(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(s.folder, name)
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(content), mode))
}

// program copies one of testdata to where the job's PATH begins.
func (s *scenario) program(t *testing.T, name, source string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", source))
	must(t, err)
	s.write(t, "bin/"+name, string(content), 0o755)
}

func (s *scenario) remove(t *testing.T, name string) {
	t.Helper()
	must(t, os.Remove(filepath.Join(s.folder, name)))
}

func (s *scenario) read(name string) string {
	b, _ := os.ReadFile(filepath.Join(s.folder, name))
	return string(b)
}

// submit queues the job, from a folder that is not that of the script.
func (s *scenario) submit(t *testing.T, options string) {
	t.Helper()
	if s.edited {
		options += " --export=ALL,NDC_ALLOW_EDITED=yes"
	}
	s.do(t, "cd %q && sbatch %s %q", s.folder, options, s.script)
}

// job is what Slurm knows of a submission.
type job struct {
	id             string
	state          string
	restarts       string
	nodes          []int
	started, ended time.Time
}

var (
	jobField = regexp.MustCompile(`(\w+)=(\S*)`)
	jobNodes = regexp.MustCompile(`(\d+)(?:-(\d+))?`)
)

// jobs lists the scenario's submissions in their order.
func (s *scenario) jobs() []job {
	out, _ := s.sh("scontrol -o show job")
	var list []job
	for line := range strings.Lines(out) {
		if !strings.Contains(line, " WorkDir="+s.folder+" ") {
			continue
		}
		fields := map[string]string{}
		for _, m := range jobField.FindAllStringSubmatch(line, -1) {
			fields[m[1]] = m[2]
		}
		j := job{id: fields["JobId"], state: fields["JobState"], restarts: fields["Restarts"]}
		for _, m := range jobNodes.FindAllStringSubmatch(fields["NodeList"], -1) {
			for i := number(m[1]); i <= max(number(m[1]), number(m[2])); i++ {
				j.nodes = append(j.nodes, i)
			}
		}
		j.started, _ = time.Parse("2006-01-02T15:04:05", fields["StartTime"])
		j.ended, _ = time.Parse("2006-01-02T15:04:05", fields["EndTime"])
		list = append(list, j)
	}
	slices.SortFunc(list, func(a, b job) int { return number(a.id) - number(b.id) })
	return list
}

func number(s string) int { n, _ := strconv.Atoi(s); return n }

// states joins the states of all submissions.
func (s *scenario) states() string {
	var list []string
	for _, j := range s.jobs() {
		list = append(list, j.state)
	}
	return strings.Join(list, " ")
}

// finish waits until all submissions have ended.
func (s *scenario) finish(t *testing.T) {
	t.Helper()
	s.finishWithin(t, patience)
}

// finishWithin is patient as long as it is told to be.
func (s *scenario) finishWithin(t *testing.T, patience time.Duration) {
	t.Helper()
	s.await(t, "the jobs to end", patience, func() bool {
		list := s.jobs()
		return len(list) > 0 && !slices.ContainsFunc(list, func(j job) bool {
			return slices.Contains([]string{"PENDING", "CONFIGURING", "RUNNING", "SUSPENDED", "COMPLETING", "REQUEUED", "STOPPED"}, j.state)
		})
	})
}

// left lists processes of the scenario's jobs, by the folder in their command
// lines.
func (s *scenario) left() []string {
	var list []string
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		b, _ := os.ReadFile(name)
		if line := strings.ReplaceAll(string(b), "\x00", " "); strings.Contains(line, s.folder+"/") {
			list = append(list, line)
		}
	}
	return list
}

// logOf is the log of one submission.
func (s *scenario) logOf(id string) string {
	found, _ := filepath.Glob(filepath.Join(s.emitted, "logs", "*-"+id+".log"))
	var all strings.Builder
	for _, f := range found {
		b, _ := os.ReadFile(f)
		all.Write(b)
	}
	return all.String()
}

// log joins those of all submissions, in their order.
func (s *scenario) log() string {
	var all strings.Builder
	for _, j := range s.jobs() {
		all.WriteString(s.logOf(j.id))
	}
	return all.String()
}

// expect looks for a text in the logs.
func (s *scenario) expect(t *testing.T, text string) {
	t.Helper()
	if !strings.Contains(s.log(), text) {
		t.Errorf("the logs do not say %q:\n%s", text, s.log())
	}
}

// expectStates compares the states of all submissions.
func (s *scenario) expectStates(t *testing.T, want string) {
	t.Helper()
	if got := s.states(); got != want {
		t.Errorf("the jobs are %s, want %s:\n%s", got, want, s.log())
	}
}

// counts of jobs by kind, over all scenarios.
type counts struct {
	sync.Mutex
	ran    map[string]int
	failed map[string]int
}

var tally = counts{ran: map[string]int{}, failed: map[string]int{}}

func (c *counts) add(kind string, jobs int, failed bool) {
	c.Lock()
	defer c.Unlock()
	if failed {
		c.failed[kind]++
		c.ran[kind] += 0
		return
	}
	c.ran[kind] += jobs
}

// record adds a row for each kind.
func (c *counts) record(t *testing.T) {
	t.Helper()
	for kind, n := range c.ran {
		record(t, fmt.Sprintf("jobs run, %s", kind), n, c.failed[kind], "")
	}
}
