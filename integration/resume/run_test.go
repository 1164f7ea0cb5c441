//go:build conformance

package resume

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/integration/environment"
	engine "github.com/ndc-dev/ndc/integration/megatron"
)

// saved is the step of the checkpoint that is gone on from.
const saved = 3

// launch is what ndc emitted for one layout.
type launch struct {
	id          string
	layout      Layout
	files       string // folder of the emitted files
	checkpoints string // folder that it saves into, and goes on from
	resaved     string // folder for what it loads, or ""
}

// step is what was logged of one step.
type step struct {
	Step int     `json:"step"`
	Loss float64 `json:"loss"`
}

// trained is what became of a launch.
type trained struct {
	ID    string `json:"id"`
	Steps []step `json:"steps"`
	Error string `json:"error"`
}

// stage is where the launches of one release are built and run.
type stage struct {
	framework Framework
	version   string
	program   string // ndc
	scratch   string
	python    string
}

func (s *stage) layout(name string) Layout {
	for _, l := range s.framework.Layouts {
		if l.Name == name {
			return l
		}
	}
	panic(name + " is no layout of " + s.framework.Name)
}

// build lets ndc emit a launch; edits are pairs of what stands in job.hcl and what is
// said instead.
func (s *stage) build(id, layout string, edits ...string) (launch, error) {
	l := s.layout(layout)
	folder := filepath.Join(s.scratch, "jobs", id)
	source, err := os.ReadFile("testdata/job.hcl")
	if err != nil {
		return launch{}, err
	}
	lines := l.Lines
	if s.framework.Name == "megatron" && !strings.Contains(lines, "micro_batch_size") {
		lines += "\n micro_batch_size = 1"
	}
	text := strings.NewReplacer(edits...).Replace(strings.Replace(string(source), "# LAYOUT", lines, 1))
	text = strings.Replace(text, "# BACKEND", fmt.Sprintf("backend %q {\n version = var.version\n %s\n }", s.framework.Name, s.framework.Backend), 1)
	model := l.Model
	if model == "" {
		model = "dense"
	}
	content, err := os.ReadFile(filepath.Join("testdata", model+".hcl"))
	if err != nil {
		return launch{}, err
	}
	for name, content := range map[string]string{"job.hcl": text, "model.hcl": string(content)} {
		if err := write(filepath.Join(folder, name), content); err != nil {
			return launch{}, err
		}
	}
	precision := l.Precision
	if precision == "" {
		precision = "fp32"
	}
	out := filepath.Join(folder, "out")
	err = command(s.program, "build", folder, "-o", out, "--var", "data="+filepath.Join(s.scratch, "data"), "--var", "checkpoints="+filepath.Join(folder, "saved"),
		"--var", "version="+s.version, "--var", fmt.Sprintf("gpus=%d", l.Ranks), "--var", "precision="+precision)
	return launch{id: id, layout: l, files: filepath.Join(out, "small", s.framework.Name), checkpoints: filepath.Join(folder, "saved", s.framework.Name)}, err
}

// plan reads the plan of a launch.
func (l launch) plan() (file.File, error) {
	var p file.File
	content, err := os.ReadFile(filepath.Join(l.files, "plan.json"))
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(content, &p)
}

// hand puts the checkpoint of one launch where another looks for its own.
func (s *stage) hand(from, to launch) error {
	name, trackers := s.names()
	if err := os.MkdirAll(to.checkpoints, 0o755); err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(to.checkpoints, name), os.DirFS(filepath.Join(from.checkpoints, name))); err != nil {
		return err
	}
	for tracker, content := range trackers {
		if err := write(filepath.Join(to.checkpoints, tracker), content); err != nil {
			return err
		}
	}
	return nil
}

// names are the folder of the checkpoint, and the files that name it.
func (s *stage) names() (folder string, trackers map[string]string) {
	switch s.framework.Name {
	case "megatron":
		return fmt.Sprintf("iter_%07d", saved), map[string]string{"latest_checkpointed_iteration.txt": strconv.Itoa(saved)}
	case "deepspeed":
		return fmt.Sprintf("step-%d", saved), map[string]string{"latest": fmt.Sprintf("step-%d", saved)}
	}
	return fmt.Sprintf("step-%d", saved), nil
}

// train runs launches one after the other.
func (s *stage) train(launches []launch) (map[string]trained, error) {
	if len(launches) == 0 {
		return nil, nil
	}
	var list []trained
	var err error
	switch s.framework.Name {
	case "megatron":
		list, err = s.megatron(launches)
	case "torchtitan":
		list, err = s.torchtitan(launches)
	default:
		list, err = s.deepspeed(launches)
	}
	all := map[string]trained{}
	for _, t := range list {
		all[t.ID] = t
	}
	return all, err
}

func (s *stage) megatron(launches []launch) ([]trained, error) {
	h, err := engine.New("../megatron")
	if err != nil {
		return nil, err
	}
	var given []engine.Launch
	for _, l := range launches {
		e := engine.Launch{Name: l.id, Version: s.version, Capability: "9.0", Nodes: 1, PerNode: l.layout.Ranks, Files: map[string][]byte{}, Resaved: l.resaved}
		for _, name := range []string{"launch.sh", "environment.sh"} {
			if e.Files[name], err = os.ReadFile(filepath.Join(l.files, name)); err != nil {
				return nil, err
			}
		}
		given = append(given, e)
	}
	scratch, err := os.MkdirTemp(s.scratch, "ranks")
	if err != nil {
		return nil, err
	}
	answers, err := h.Train(given, scratch)
	var list []trained
	for _, a := range answers {
		t := trained{ID: a.ID, Error: a.Error}
		for _, one := range a.Steps {
			t.Steps = append(t.Steps, step{one.Step, one.Loss})
		}
		list = append(list, t)
	}
	return list, err
}

func (s *stage) torchtitan(launches []launch) ([]trained, error) {
	arguments := []string{"--module", "ndc_job", "--config", "run"}
	if s.version == "0.2.2" {
		arguments = []string{"--job.config_file", "train.toml"}
	}
	var input bytes.Buffer
	for _, l := range launches {
		c := map[string]any{"id": l.id, "files": l.files, "world": l.layout.Ranks, "folder": filepath.Join(s.scratch, "ranks", l.id), "arguments": arguments, "resaved": l.resaved}
		if err := json.NewEncoder(&input).Encode(c); err != nil {
			return nil, err
		}
	}
	return ask[trained](len(launches), &input, s.python, "../torchtitan/ranks.py")
}

// deepspeed hands folders to run_cases.py, which reads case.json of each.
func (s *stage) deepspeed(launches []launch) ([]trained, error) {
	root, err := os.MkdirTemp(s.scratch, "ranks")
	if err != nil {
		return nil, err
	}
	arguments := []string{"../deepspeed/run_cases.py", root}
	byName := map[string]string{}
	for i, l := range launches {
		name := strconv.Itoa(i)
		byName[name] = l.id
		if err := os.CopyFS(filepath.Join(root, name), os.DirFS(l.files)); err != nil {
			return nil, err
		}
		about, _ := json.Marshal(map[string]any{"ranks": l.layout.Ranks, "resaved": l.resaved})
		if err := write(filepath.Join(root, name, "case.json"), string(about)); err != nil {
			return nil, err
		}
		arguments = append(arguments, name)
	}
	results, err := ask[struct {
		Name  string
		Code  int
		Error string
		Steps [][4]any
	}](len(launches), nil, s.python, arguments[0], arguments[1:]...)
	var list []trained
	for _, r := range results {
		t := trained{ID: byName[r.Name]}
		if r.Code != 0 {
			t.Error = r.Error
		}
		for _, one := range r.Steps {
			loss, _ := strconv.ParseFloat(one[1].(string), 64)
			t.Steps = append(t.Steps, step{int(one[0].(float64)), loss})
		}
		list = append(list, t)
	}
	return list, err
}

// Compared is what compare.py says of two checkpoints.
type Compared struct {
	ID          string          `json:"id"`
	Weights     bool            `json:"weights"`
	Optimizer   bool            `json:"optimizer"`
	Rest        map[string]bool `json:"rest"`
	Sharding    bool            `json:"sharding"`
	Differences []string        `json:"differences"`
	Error       string          `json:"error"`
}

// convert rewrites the checkpoint that each launch goes on from with DeepSpeed's
// own tool. It returns what the tool could not do.
func (s *stage) convert(from map[string]launch, to []launch) (map[string]Compared, error) {
	var input bytes.Buffer
	name, _ := s.names()
	for _, l := range to {
		place := filepath.Join(l.checkpoints, name)
		if err := os.RemoveAll(place); err != nil {
			return nil, err
		}
		if err := json.NewEncoder(&input).Encode(map[string]string{"id": l.id, "one": filepath.Join(from[l.id].checkpoints, name), "other": place}); err != nil {
			return nil, err
		}
	}
	list, err := ask[Compared](len(to), &input, s.python, "universal.py", "convert")
	failed := map[string]Compared{}
	for _, c := range list {
		if c.Error != "" {
			failed[c.ID] = c
		}
	}
	return failed, err
}

// compare compares what pairs had with what they loaded.
func (s *stage) compare(had, loaded map[string]string) (map[string]Compared, error) {
	var input bytes.Buffer
	for id, one := range had {
		if err := json.NewEncoder(&input).Encode(map[string]string{"id": id, "one": one, "other": loaded[id]}); err != nil {
			return nil, err
		}
	}
	var list []Compared
	var err error
	if s.framework.Name == "deepspeed" {
		list, err = ask[Compared](len(had), &input, s.python, "universal.py", "compare")
	} else {
		list, err = ask[Compared](len(had), &input, s.python, "compare.py")
	}
	all := map[string]Compared{}
	for _, c := range list {
		all[c.ID] = c
	}
	return all, err
}

func ask[A any](cases int, input *bytes.Buffer, python, program string, args ...string) ([]A, error) {
	if input == nil {
		input = &bytes.Buffer{}
	}
	program, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	out, err := environment.Ask(cases, input, []string{"OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1"}, python, append([]string{program}, args...)...)
	var list []A
	for line := range strings.Lines(out) {
		var a A
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			return list, fmt.Errorf("%w in %q", err, line)
		}
		list = append(list, a)
	}
	return list, err
}

func write(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), fs.FileMode(0o644))
}

func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
