// Package artifacts gathers what ndc emits and hands it to the real
// frameworks: built jobs, the golden files of the backends, and whatever a
// test brings. It knows how to ask each framework, and nothing of what the
// answer should be; the sibling packages train.
package artifacts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/backends/deepspeed"
	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/backends/torchtitan"
	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
)

// Backends are all emitters, by kind.
var Backends = map[string]backends.Backend{
	"megatron": megatron.Backend{}, "torchtitan": torchtitan.Backend{}, "deepspeed": deepspeed.Backend{},
}

// Launch is what was emitted for one job and backend, with what a framework
// must be told beside it.
type Launch struct {
	Name       string
	Framework  string // the backend's kind
	Version    string
	Capability string // compute capability of the GPU, such as 9.0
	Nodes      int
	PerNode    int
	Parameters int64        // of the whole model as it is built; 0 where unknown
	Layout     *plan.Layout // nil for golden files
	Execution  plan.Execution
	Plan       *plan.Plan     // nil for golden files
	Target     *target.Target // whose search made the plan; nil for golden files
	Job        *job.Job       // nil for golden files
	Files      map[string][]byte
}

// World is the number of ranks.
func (l *Launch) World() int { return l.Nodes * l.PerNode }

// Built is a job on one backend: a launch, or why ndc refuses it.
type Built struct {
	Launch  *Launch
	Refused diag.List
}

// Infeasible stands for a plan without a layout that fits.
const Infeasible diag.ID = "infeasible"

// Build loads a job file and takes each of its backends through target,
// compiler and emitter, in this process.
func Build(src []byte) ([]Built, diag.List) {
	return BuildSome(src, func(string) bool { return true })
}

// BuildSome is Build for the jobs whose names are wanted.
func BuildSome(src []byte, wanted func(name string) bool) ([]Built, diag.List) {
	w, diags := lang.Load(fstest.MapFS{"job.hcl": {Data: src}}, "job.hcl", lang.Options{})
	if diags.HasErrors() {
		return nil, diags
	}
	var list []Built
	for i := range w.Jobs {
		if wanted(w.Jobs[i].Name) {
			list = append(list, BuildJob(&w.Jobs[i]))
		}
	}
	return list, nil
}

// BuildJob is Build for a job that is at hand.
func BuildJob(j *job.Job) Built {
	b := Backends[j.Backend.Kind]
	t, diags := b.Target(j)
	if diags.HasErrors() {
		return Built{Refused: diags}
	}
	p, diags, _ := compiler.Compile(context.Background(), j, t) // a context that does not end
	if diags.HasErrors() || p == nil {
		return Built{Refused: diags}
	}
	if !p.Feasible {
		return Built{Refused: diag.List{{Severity: diag.Error, ID: Infeasible, Summary: "nothing fits"}}}
	}
	files, diags := b.Emit(j, p)
	if diags.HasErrors() {
		return Built{Refused: diags}
	}
	l := launch(j, p)
	l.Target = t
	for _, f := range files {
		l.Files[f.Path] = f.Content
	}
	return Built{Launch: l}
}

func launch(j *job.Job, p *plan.Plan) *Launch {
	m := j.Model
	m.VocabSize = max(m.VocabSize, m.PaddedVocabSize) // rows that a framework builds count, too
	return &Launch{
		Name: j.Name, Framework: j.Backend.Kind, Version: j.Backend.Version, Capability: j.Cluster.GPU.ComputeCapability,
		Nodes: j.Cluster.Nodes, PerNode: j.Cluster.GPUsPerNode, Parameters: program.New(&m).ParametersTotal(),
		Layout: &p.Layout, Execution: p.Execution, Plan: p, Job: j, Files: map[string][]byte{},
	}
}

// Read replaces a launch's files by those of a folder that ndc wrote.
func (l *Launch) Read(folder string) error {
	l.Files = map[string][]byte{}
	return filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		l.Files[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
}

// headline is how emitted files introduce themselves.
var headline = regexp.MustCompile(`on (TorchTitan|DeepSpeed) ([0-9.]+)[:,] (?:([0-9]+) nodes x )?([0-9]+)`)

// Golden reads the golden files of a backend, root being the repository. Those
// of Megatron-LM are judged beside their emitter, which knows their layouts.
func Golden(root, framework string) ([]*Launch, error) {
	paths, err := filepath.Glob(filepath.Join(root, "backends", framework, "testdata", "*.txtar"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("no golden files of %s: %w", framework, err)
	}
	// What is the same for every job is left out of TorchTitan's golden files.
	runtime, _ := os.ReadFile(filepath.Join(root, "backends", framework, "templates", "ndc_runtime.py"))
	var list []*Launch
	for _, path := range paths {
		l, err := golden(path, framework)
		if err != nil {
			return nil, err
		}
		if l.Files["ndc_runtime.py"] == nil && runtime != nil {
			l.Files["ndc_runtime.py"] = runtime
		}
		list = append(list, l)
	}
	return list, nil
}

func golden(path, framework string) (*Launch, error) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	l := &Launch{Name: "golden-" + filepath.Base(path[:len(path)-len(".txtar")]), Framework: framework, Nodes: 1, Files: map[string][]byte{}}
	for _, f := range archive.Files {
		l.Files[f.Name] = f.Data
		if m := headline.FindSubmatch(f.Data); m != nil && l.Version == "" {
			l.Version = string(m[2])
			if len(m[3]) > 0 {
				l.Nodes, _ = strconv.Atoi(string(m[3]))
			}
			l.PerNode, _ = strconv.Atoi(string(m[4]))
		}
	}
	if l.Version == "" {
		return nil, fmt.Errorf("%s does not say its version", path)
	}
	return l, nil
}

// Write puts a launch's files into a folder.
func (l *Launch) Write(folder string) error {
	for name, content := range l.Files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o755); err != nil {
			return err
		}
	}
	return nil
}
