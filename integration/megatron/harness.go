// Package megatron hands emitted launches to the real Megatron-LM on a machine
// without a GPU. It runs launch.sh with a stand-in for torchrun that records
// arguments and environment, and gives both to probe.py, which plays single
// ranks of the planned world, or to train.py, which trains small jobs on CPU
// ranks. It knows no emitter: tests that have launches bring them.
package megatron

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/integration/environment"
)

// Launch is one emitted launch.
type Launch struct {
	Name       string
	Version    string            // the tag, such as core_v0.18.2
	Capability string            // of the GPU, such as 9.0
	Files      map[string][]byte // launch.sh and what it reads
	Nodes      int
	PerNode    int
	Ranks      []int // the ranks to play
	// Unbuildable says that the launch cannot be built here (Megatron-FSDP reads
	// values of its meshes, Muon is a further package): it is judged up to the
	// meshes only.
	Unbuildable bool
	// Resaved is the folder into which Train saves what the launch loads, before
	// any step; or "".
	Resaved string
}

// Answer is what Megatron-LM said as one rank.
type Answer struct {
	ID         string `json:"id"`
	Rank       int    `json:"rank"`
	Accepted   bool   `json:"accepted"`
	Stage      string `json:"stage"`
	Error      string `json:"error"`
	Parameters int64  `json:"parameters"`
	Experts    int64  `json:"expert_parameters"`
	Layers     []int  `json:"layers"`
	Optimizer  int64  `json:"optimizer"`
	// Buffers are those of the data-parallel wrapper, chunk by chunk.
	Buffers []Buffer `json:"buffers"`
}

// Buffer holds main gradients, and with the distributed optimizer parameters.
type Buffer struct {
	Expert   bool   `json:"expert"`
	Elements int64  `json:"numel"`
	Unpadded int64  `json:"unpadded"` // without the padding of its buckets
	Ranks    int    `json:"ranks"`    // that share its reduction
	Gradient string `json:"gradient"` // type
}

// Harness knows where the releases of Megatron-LM are.
type Harness struct {
	Python   string // with torch and Megatron-LM's Python dependencies, for checkouts
	Checkout string // folder with one checkout per tag, named by the tag; or ""
	Driver   string // folder of probe.py
}

// ErrNotInstalled says that a version is neither a wheel that is judged nor a
// checkout that is named.
var ErrNotInstalled = errors.New("no wheel of this version can run; set NDC_MEGATRON_DIR to a folder with Megatron-LM checkouts named by their tags")

// New reads NDC_MEGATRON_DIR and NDC_MEGATRON_PYTHON. The driver is the folder
// of this package, seen from the caller's.
func New(driver string) (*Harness, error) {
	driver, err := filepath.Abs(driver)
	if err != nil {
		return nil, err
	}
	return &Harness{Python: os.Getenv("NDC_MEGATRON_PYTHON"), Checkout: os.Getenv("NDC_MEGATRON_DIR"), Driver: driver}, nil
}

// Source returns the Python and the folder of pretrain_gpt.py for a tag: a
// checkout where there is one, else the release's wheel with the script of
// this project's own.
func (h *Harness) Source(version string) (python, checkout string, err error) {
	if h.Checkout != "" {
		checkout = filepath.Join(h.Checkout, version)
		if _, err := os.Stat(filepath.Join(checkout, "pretrain_gpt.py")); err == nil {
			python, err = h.python(environment.MegatronWheels[0])
			return python, checkout, err
		}
	}
	release := strings.TrimPrefix(version, "core_v")
	if !environment.HasMegatronWheel(release) {
		return "", "", ErrNotInstalled
	}
	python, err = environment.Megatron(release).Python()
	return python, filepath.Join(h.Driver, "wheel"), err
}

// python is what runs checkouts, whose own packages come first.
func (h *Harness) python(release string) (string, error) {
	if h.Python != "" {
		return h.Python, nil
	}
	return environment.Megatron(release).Python()
}

// recorder stands in for torchrun, and for Python where Slurm starts the ranks.
const recorder = `#!/bin/bash
printf '%s\0' "$@" >"$RECORD/arguments"
env -0 >"$RECORD/environment"
`

// absences lets a job's own setup commands read what lies on its cluster only.
const absences = `source() { [[ ! -e $1 ]] || builtin source "$@"; }
`

// recorded is a line of input of probe.py and train.py.
type recorded struct {
	ID          string            `json:"id"`
	Capability  [2]int            `json:"capability"`
	World       int               `json:"world"`
	Ranks       []int             `json:"ranks"`
	Script      string            `json:"script"` // the name of the program
	Arguments   []string          `json:"arguments"`
	Environment map[string]string `json:"environment"`
	Folder      string            `json:"folder"` // for what the ranks write
	Resaved     string            `json:"resaved,omitempty"`
}

// record runs launch.sh in dir and returns what torchrun, or a rank's Python, would have been given.
func record(l Launch, checkout, dir string) (recorded, error) {
	c := recorded{ID: l.Name, World: l.Nodes * l.PerNode, Ranks: l.Ranks, Folder: filepath.Join(dir, "ranks"), Resaved: l.Resaved}
	if _, err := fmt.Sscanf(l.Capability, "%d.%d", &c.Capability[0], &c.Capability[1]); err != nil {
		return c, fmt.Errorf("%s: capability %q: %w", l.Name, l.Capability, err)
	}
	files := map[string][]byte{"bin/torchrun": []byte(recorder), "bin/python3": []byte(recorder), "absences.sh": []byte(absences)}
	for name, content := range l.Files {
		files[name] = content
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return c, err
		}
		if err := os.WriteFile(path, content, 0o755); err != nil {
			return c, err
		}
	}
	cmd := exec.Command("bash", filepath.Join(dir, "launch.sh"))
	cmd.Env = []string{
		"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + dir, "USER=ndc", "RECORD=" + dir,
		"NDC_NODES=" + strconv.Itoa(l.Nodes), "NDC_GPUS_PER_NODE=" + strconv.Itoa(l.PerNode),
		"MEGATRON_PATH=" + checkout, "BASH_ENV=" + filepath.Join(dir, "absences.sh"),
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return c, fmt.Errorf("%s: launch.sh: %w\n%s", l.Name, err, out)
	}
	return c, c.read(dir)
}

// read takes the recorded arguments behind the script, and the environment.
func (c *recorded) read(dir string) error {
	arguments, err := os.ReadFile(filepath.Join(dir, "arguments"))
	if err != nil {
		return err
	}
	c.program(strings.Split(strings.TrimSuffix(string(arguments), "\x00"), "\x00"))
	environment, err := os.ReadFile(filepath.Join(dir, "environment"))
	if err != nil {
		return err
	}
	c.Environment = map[string]string{}
	for _, v := range strings.Split(string(environment), "\x00") {
		name, value, _ := strings.Cut(v, "=")
		c.variable(name, value)
	}
	return nil
}

// program keeps the arguments behind the script among torchrun's.
func (c *recorded) program(words []string) {
	for i, w := range words {
		if base := filepath.Base(w); strings.HasPrefix(base, "pretrain_") && strings.HasSuffix(base, ".py") {
			c.Script, c.Arguments = base, words[i+1:]
			return
		}
	}
}

// variable keeps one that Megatron-LM or its libraries read.
func (c *recorded) variable(name, value string) {
	if strings.Contains(name, "CUDA") || strings.HasPrefix(name, "N") {
		c.Environment[name] = value
	}
}

// Judge hands launches of one version to Megatron-LM, as they were emitted: up to
// the meshes, or built, up to the schedule. It returns what was answered before an
// error, too.
func (h *Harness) Judge(launches []Launch, built bool, scratch string) ([]Answer, error) {
	var args []string
	if !built {
		args = append(args, "--upto", "mesh")
	}
	return ask[Answer](h, launches, scratch, "probe.py", args...)
}

// Configure hands launches of one version to the parser, the validation and the
// transformer configuration of Megatron-LM, as they were emitted: many in a
// minute. Wheels before 0.17 have the transformer configuration alone.
func (h *Harness) Configure(launches []Launch, scratch string) ([]Answer, error) {
	python, args, err := h.configuration(launches[0].Version)
	if err != nil {
		return nil, err
	}
	var input bytes.Buffer
	for i, l := range launches {
		c, err := interpret(l)
		if err != nil { // the interpreter lacks what the script uses; bash has it
			c, err = record(l, filepath.Join(h.Driver, "wheel"), filepath.Join(scratch, strconv.Itoa(i)))
		}
		if err != nil {
			return nil, err
		}
		if err := json.NewEncoder(&input).Encode(c); err != nil {
			return nil, err
		}
	}
	return answers[Answer](h, python, len(launches), &input, "configure.py", args)
}

// HasConfiguration says why the configuration classes of a release cannot be
// asked, and installs what it takes.
func (h *Harness) HasConfiguration(version string) error {
	_, _, err := h.configuration(version)
	return err
}

// configuration finds the Python of a release whose configuration is asked, and
// the driver's arguments.
func (h *Harness) configuration(version string) (python string, args []string, err error) {
	if python, checkout, err := h.Source(version); err == nil {
		if checkout != filepath.Join(h.Driver, "wheel") {
			args = []string{"--checkout", checkout}
		}
		return python, args, nil
	}
	release := strings.TrimPrefix(version, "core_v")
	python, err = environment.Megatron(release).Python()
	if environment.CoreAlone(release) {
		series := release[:strings.LastIndex(release, ".")] + ".0" // whose table its patches share
		args = []string{"--options", filepath.Join(h.Driver, "..", "..", "backends", "megatron", "schema", "core_v"+series+".jsonl")}
	}
	return python, args, err
}

// ask records launches of one version and hands them to a program of the
// driver; what it answered before an error is returned, too.
func ask[A any](h *Harness, launches []Launch, scratch, program string, args ...string) ([]A, error) {
	python, checkout, err := h.Source(launches[0].Version)
	if err != nil {
		return nil, err
	}
	var input bytes.Buffer
	for i, l := range launches {
		c, err := record(l, checkout, filepath.Join(scratch, strconv.Itoa(i)))
		if err != nil {
			return nil, err
		}
		if err := json.NewEncoder(&input).Encode(c); err != nil {
			return nil, err
		}
	}
	return answers[A](h, python, len(launches), &input, program, append([]string{"--checkout", checkout}, args...))
}

// answers runs a driver.
func answers[A any](h *Harness, python string, cases int, input *bytes.Buffer, program string, args []string) ([]A, error) {
	args = append([]string{filepath.Join(h.Driver, program)}, args...)
	out, err := environment.Ask(cases, input, []string{"OMP_NUM_THREADS=1"}, python, args...)
	var answers []A
	for line := range strings.Lines(out) {
		var a A
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			return answers, fmt.Errorf("%s: %w in %q", program, err, line)
		}
		answers = append(answers, a)
	}
	return answers, err
}
