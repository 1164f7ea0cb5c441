package tune

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// FormatVersion is that of File in JSON. Within one, fields may be added, never
// renamed.
const FormatVersion = "1.0"

// File is a trial from its first round on: what it runs, what was known before, and
// what its scripts need.
type File struct {
	FormatVersion  string             `json:"format_version"`
	NDCVersion     string             `json:"ndc_version"`
	Job            string             `json:"job"`
	Backend        string             `json:"backend"`
	GPUs           int                `json:"gpus"`
	GPUBytes       units.Bytes        `json:"gpu_bytes"` // memory of one
	GlobalBatch    int                `json:"global_batch_size"`
	Steps          int                `json:"steps"`            // of each run
	RunGPUHours    float64            `json:"run_gpu_hours"`    // of the training that the trial is for
	BudgetGPUHours float64            `json:"budget_gpu_hours"` // of the trial
	Candidates     []Member           `json:"candidates"`       // the first is what a build chooses; the last may be in reserve
	Known          *uncertainty.Joint `json:"known"`            // of their step times, before any run: logarithms of seconds
	Rounds         []Held             `json:"rounds"`
	Directives     []string           `json:"directives"`       // of sbatch, but for name and time limit
	Header         string             `json:"header,omitempty"` // what the site's template adds to them
	LimitSeconds   units.Seconds      `json:"limit_seconds"`    // of one run
	Artifacts      []Artifact         `json:"artifacts"`
}

// Member is a candidate of a trial.
type Member struct {
	Name        string        `json:"name"` // of its folder
	Layout      string        `json:"layout"`
	StepSeconds units.Seconds `json:"step_seconds"` // as predicted
	GPUHours    float64       `json:"gpu_hours"`    // of one run
	Features    int           `json:"features"`
	DeviceBytes units.Bytes   `json:"device_bytes"` // of a GPU, as predicted
	Pin         string        `json:"pin"`          // the blocks that make a job have it

	Configuration string `json:"configuration,omitempty"` // of its plan.json, as the logs of its runs name it; "" in trials of earlier versions
}

// Held is a round with its script.
type Held struct {
	Script   string   `json:"script"`
	Runs     []string `json:"runs"`                    // names of candidates, in order
	GPUHours float64  `json:"gpu_hours"`               // of its runs, as planned
	Gain     float64  `json:"expected_gain_gpu_hours"` // GPU-hours of the training that it was expected to save
}

// Artifact is a file beside this one, by its hash; its own was taken with that
// place empty.
type Artifact struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// List are the candidates as rounds are made of them.
func (f *File) List() []Candidate {
	list := make([]Candidate, len(f.Candidates))
	for i := range f.Candidates {
		list[i] = Candidate{f.Candidates[i].GPUHours, f.Candidates[i].Features}
	}
	return list
}

// most is the most seconds or GPU-hours that a file may tell of.
const most = 1e15

// Sound reports whether a file that was read can be one of this format: its parts
// belong together, its numbers are those of runs, and what becomes lines of a script
// is no more than that. It may be anybody's.
func (f *File) Sound() bool {
	n := len(f.Candidates)
	if major, _, _ := strings.Cut(f.FormatVersion, "."); major != "1" || n == 0 || len(f.Rounds) == 0 || f.GPUs <= 0 || f.Known == nil {
		return false
	}
	if len(f.Known.Mean) != n || len(f.Known.Covariance) != n || !job.IsName(f.Job) || !job.IsName(f.Backend) || !f.plainLines() {
		return false
	}
	amounts := []float64{f.RunGPUHours, f.BudgetGPUHours, float64(f.LimitSeconds)}
	for i, r := range f.Rounds {
		if r.Script != RoundName(i+1)+".sbatch" || math.Abs(r.Gain) > most {
			return false
		}
		amounts = append(amounts, r.GPUHours)
	}
	for i, m := range f.Candidates {
		if m.Name != FolderOf(i) || len(f.Known.Covariance[i]) != n || m.StepSeconds <= 0 || math.Abs(f.Known.Mean[i]) > math.Log(most) {
			return false
		}
		if slices.ContainsFunc(f.Known.Covariance[i], func(c float64) bool { return math.Abs(c) > math.Log(most) }) {
			return false
		}
		amounts = append(amounts, float64(m.StepSeconds), m.GPUHours)
	}
	return !slices.ContainsFunc(amounts, func(x float64) bool { return x < 0 || x > most })
}

// plainLines reports whether the directives are one line each, and all that the site
// adds are lines that bash does not read.
func (f *File) plainLines() bool {
	for _, d := range f.Directives {
		if !strings.HasPrefix(d, "--") || strings.ContainsFunc(d, unicode.IsControl) {
			return false
		}
	}
	for line := range strings.Lines(f.Header) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}

// RoundName is what the script of a round is called, without its ending; the first
// is number 1.
func RoundName(number int) string { return fmt.Sprintf("round-%d", number) }

// FolderOf is the folder of a candidate's files.
func FolderOf(place int) string { return fmt.Sprintf("candidate-%d", place+1) }

// LogFolder is where the scripts of rounds log.
const LogFolder = "logs"

// Limit is how long a run may take before it is ended: much longer than it should.
func Limit(start, step units.Seconds, steps int) units.Seconds {
	return 2*start + 4*units.Seconds(steps)*step
}

// Hold adds a round.
func (f *File) Hold(r *Round) {
	h := Held{Script: RoundName(len(f.Rounds)+1) + ".sbatch", GPUHours: units.Rounded(r.GPUHours), Gain: units.Rounded(r.Gain)}
	for _, i := range r.Order(len(f.Rounds) + 1) {
		h.Runs = append(h.Runs, f.Candidates[i].Name)
	}
	f.Rounds = append(f.Rounds, h)
}

// Held reports whether a candidate was in a round; others are in reserve.
func (f *File) Held(name string) bool {
	return slices.ContainsFunc(f.Rounds, func(h Held) bool { return slices.Contains(h.Runs, name) })
}

// Left is what the rounds so far have left of the budget.
func (f *File) Left() Budget {
	b := Budget{Run: f.RunGPUHours, Trial: f.BudgetGPUHours}
	for i := range f.Rounds {
		b.Trial -= f.Rounds[i].GPUHours
	}
	return b
}

// Allocation is the limit of the allocation of a round, in whole minutes: half as
// much again as its runs take, and half of what one may.
func (f *File) Allocation(round int) units.Seconds {
	const more = 1.5
	seconds := units.Hour.Times(f.Rounds[round].GPUHours) / units.Seconds(f.GPUs)
	minutes := math.Ceil(float64((more*seconds + f.LimitSeconds/2) / units.Minute))
	return units.Minute.Times(minutes)
}

// Difference is by what share the step of a candidate may be longer than the
// first's, before any run: the 90 % range.
func (f *File) Difference(i int) [2]float64 {
	return shares(f.Known.Difference(i, 0).Range(likely))
}
