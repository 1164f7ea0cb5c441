package calibration

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// File is what ndc calibrate writes, NAME.ndccal.json, and clusters name.
type File struct {
	FormatVersion string      `json:"format_version"`
	NDCVersion    string      `json:"ndc_version"`
	GPU           string      `json:"gpu"`
	Sources       []Source    `json:"sources"`
	Runs          []Run       `json:"runs"`
	Terms         []Term      `json:"terms"`      // of the model with the most runs
	Covariance    [][]float64 `json:"covariance"` // of the terms' errors, in their order
	Models        []Trained   `json:"models"`     // those that runs trained, the one with the most runs first
	Others        Errors      `json:"others"`     // of models that none of the runs trained
	Unidentified  []string    `json:"unidentified"`
	Network       *Network    `json:"network"`   // null: it seems to be what the jobs say
	Allocator     *Allocator  `json:"allocator"` // null: no log told of memory
	Chain         *Chain      `json:"chain"`     // null: no log told of more than steps
	Links         []Link      `json:"links"`     // what tables of nccl-tests say
	Speeds        []Speed     `json:"speeds"`    // what the check of nodes and nccl-tests measured that was predicted
}

// Network says that the network between nodes seems to be another than the jobs' clusters
// say. The terms count it so.
type Network struct {
	Times float64 `json:"times"` // as long as predicted: what is exposed of communication between nodes
	Odds  float64 `json:"odds"`  // how much more likely that makes what was measured
}

// Link is the largest message of a table of nccl-tests.
type Link struct {
	Collective   string               `json:"collective"` // "" where the table does not tell
	Ranks        int                  `json:"ranks"`
	Nodes        int                  `json:"nodes"`
	Bytes        units.Bytes          `json:"bytes"`
	BusBandwidth units.BytesPerSecond `json:"bus_bytes_per_second"` // nccl-tests' definition

	// Predicted is that of the plan's, at a GiB; 0 where the plan has none, or the message
	// is shorter by so much that latency is in it.
	Predicted units.BytesPerSecond `json:"predicted_bus_bytes_per_second"`
}

// Source is a file that was read.
type Source struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// Run is what was read of one plan's runs.
type Run struct {
	Job       string           `json:"job"`
	Site      string           `json:"site,omitempty"`
	Backend   string           `json:"backend"`
	Model     string           `json:"model"`
	GPUs      int              `json:"gpus"`
	Likeness  string           `json:"likeness,omitempty"` // of the plan, by which a plan is known that was run; "" in older files
	Used      bool             `json:"used"`
	Why       string           `json:"why,omitempty"` // it was not
	Measured  units.Seconds    `json:"step_seconds"`
	Spread    float64          `json:"spread"` // of the reports, as a share
	Reports   int              `json:"reports"`
	Predicted units.Seconds    `json:"predicted_seconds"`            // without a calibration
	After     units.Seconds    `json:"predicted_seconds_calibrated"` // as the terms' means move it
	Refused   []Refusal        `json:"refused"`
	Memory    *Memory          `json:"memory"` // null: the log does not tell
	FirstPeak units.Bytes      `json:"first_peak_bytes"`
	Timers    map[string]Timer `json:"timers,omitempty"`
}

// Refusal is a reason for which reports of steps were left out.
type Refusal struct {
	Reason  string `json:"reason"`
	Reports int    `json:"reports"`
	First   int    `json:"first_step"`
}

// Timer is the mean of one of the framework's own timers.
type Timer struct {
	Seconds units.Seconds `json:"seconds"`
	Reports int           `json:"reports"`
}

// Term is what is known of the error of one part of a step: of the logarithm of
// measured over predicted time.
type Term struct {
	Term       string  `json:"term"`
	Name       string  `json:"name"`
	Before     Normal  `json:"before"`
	After      Normal  `json:"after"`
	Factor     float64 `json:"factor"`     // that the estimate is multiplied by
	Identified bool    `json:"identified"` // the runs say something of it
}

// Trained is what is known of a model that runs trained. Its errors hold what all its
// layouts share.
type Trained struct {
	Model            string `json:"model"`
	ParametersTotal  int64  `json:"parameters_total"` // names are a folder's own: another's of this name has others
	ParametersActive int64  `json:"parameters_active"`
	Runs             int    `json:"runs"`
	Errors
}

// Errors are the means and the covariance of the terms' errors, in their order.
type Errors struct {
	Before     []float64   `json:"before"` // spreads as long as nothing was measured; none in older files
	Means      []float64   `json:"means"`
	Covariance [][]float64 `json:"covariance"`
}

// Normal is a mean and a standard deviation.
type Normal struct {
	Mean   float64 `json:"mean"`
	Spread float64 `json:"spread"`
}

// Allocator is what the logs say of reserved memory over the prediction.
type Allocator struct {
	Before Normal  `json:"before"`
	After  Normal  `json:"after"`
	Factor float64 `json:"factor"` // on what the allocator holds
	Runs   int     `json:"runs"`
}

// Chain is what launches and what lies between them tell of a machine.
type Chain struct {
	Launches                int            `json:"launches"`
	Failures                map[string]int `json:"failures"`                   // by kind
	GPUHours                float64        `json:"gpu_hours"`                  // of all launches
	GPUHoursBetweenFailures float64        `json:"gpu_hours_between_failures"` // of launches that trained; 0: none failed
	Start                   *Duration      `json:"start"`
	Load                    *Duration      `json:"load"`
	Save                    *Duration      `json:"save"`
	Queue                   *Duration      `json:"queue"`
}

// Duration is what a phase takes.
type Duration struct {
	Seconds units.Seconds `json:"seconds"` // the median
	Longest units.Seconds `json:"longest"`
	Count   int           `json:"count"`
}

// Read reads what a calibration says of a model, for a cluster that names it,
// whose GPU goes by some names. A model of which something is wrong has its name
// alone.
func Read(name string, text []byte, model *job.Model, gpu ...string) (*job.Calibration, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	var f File
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("it is not JSON as ndc calibrate writes it: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something stands behind its end")
	}
	if major, _, _ := bytes.Cut([]byte(f.FormatVersion), []byte(".")); string(major) != "1" {
		return nil, fmt.Errorf("its format_version is %q, and this ndc reads %s", f.FormatVersion, FormatVersion)
	}
	if !slices.Contains(gpu, f.GPU) {
		return nil, fmt.Errorf("it tells of %q, and this cluster has %s", f.GPU, gpu[0])
	}
	for i := range f.Models {
		if err := f.Models[i].fits(f.Terms, fmt.Sprintf("the model %q", f.Models[i].Model), false); err != nil {
			return nil, err
		}
	}
	if err := f.Others.fits(f.Terms, "other models", true); err != nil {
		return nil, err
	}
	trained, ran := f.turn(model)
	sum := sha256.Sum256(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))) // as git writes it on Windows, it is the same
	c := &job.Calibration{File: name, SHA256: hex.EncodeToString(sum[:]), Covariance: f.Covariance, Trained: trained, Ran: ran}
	if len(f.Covariance) != len(f.Terms) {
		return nil, fmt.Errorf("it has %d terms and a covariance of %d rows", len(f.Terms), len(f.Covariance))
	}
	for i, t := range f.Terms {
		if _, ok := uncertainty.Named(t.Term); !ok {
			return nil, fmt.Errorf("there is no term %q", t.Term)
		}
		if slices.ContainsFunc(f.Terms[:i], func(u Term) bool { return u.Term == t.Term }) {
			return nil, fmt.Errorf("the term %s stands there twice", t.Term)
		}
		if !f.isRow(i) {
			return nil, fmt.Errorf("row %d of its covariance is none", i+1)
		}
		if s := t.Before.Spread; s < 0 || s > largest {
			return nil, fmt.Errorf("the error of %s is spread by %g before, and that is no standard deviation of a machine's", t.Term, s)
		}
		if math.Abs(t.After.Mean) > largest {
			return nil, fmt.Errorf("the error of %s is %g, and e to that power is no factor of a machine", t.Term, t.After.Mean)
		}
		c.Terms = append(c.Terms, job.TermError{Name: t.Term, Mean: t.After.Mean, Before: t.Before.Spread * t.Before.Spread})
	}
	for i := range f.Runs {
		if r := &f.Runs[i]; r.Used && r.Likeness != "" && r.Measured > 0 {
			if r.Measured > longest {
				return nil, fmt.Errorf("a run of %q took %g s a step, and no run does", r.Model, float64(r.Measured))
			}
			c.Runs = append(c.Runs, job.MeasuredRun{Likeness: r.Likeness, StepSeconds: r.Measured})
		}
	}
	if n := f.Network; n != nil {
		if n.Times < math.Exp(-largest) || n.Times > math.Exp(largest) {
			return nil, fmt.Errorf("a network that takes %g times as long is no error of a job's", n.Times)
		}
		c.NetworkTimes = n.Times
	}
	if a := f.Allocator; a != nil {
		if a.Factor < math.Exp(-largest) || a.Factor > math.Exp(largest) {
			return nil, fmt.Errorf("the allocator's factor is %g", a.Factor)
		}
		c.Reserved = a.Factor
	}
	return c, nil
}

// fits says what is wrong with the numbers of some models, which are those of the terms; older
// files may have none.
func (e *Errors) fits(terms []Term, of string, older bool) error {
	for _, list := range []struct {
		name    string
		numbers []float64
	}{{"before", e.Before}, {"means", e.Means}} {
		if n := len(list.numbers); n != len(terms) && (n > 0 || !older) {
			return fmt.Errorf("%q of %s has %s for %s", list.name, of, units.Count(n, "number"), units.Count(len(terms), "term"))
		}
	}
	for i, s := range e.Before {
		if s < 0 || s > largest {
			return fmt.Errorf("the error of %s of %s is spread by %g before, and that is no standard deviation of a machine's", terms[i].Term, of, s)
		}
	}
	return nil
}

// isRow reports whether a row of the covariance may be one: as long as there are
// terms, of a variance that errors can have, and of covariances that go with those of
// the other terms but for what rounding makes of them.
func (f *File) isRow(i int) bool {
	row := f.Covariance[i]
	if len(row) != len(f.Terms) || row[i] < 0 || row[i] > largest*largest {
		return false
	}
	for k, c := range row {
		if other := f.Covariance[k]; len(other) != len(row) || c*c > 1.0001*row[i]*other[k]+1e-12 {
			return false
		}
	}
	return true
}

// turn puts what is known of a model in the place of what is known of the one with the
// most runs, and reports whether that is told apart, and whether runs trained it. Older
// files have no models: what they know of all that were trained together stands there
// already, without what layouts of one share, and the first ones know nothing of others.
func (f *File) turn(model *job.Model) (trained, ran bool) {
	if i := slices.IndexFunc(f.Models, func(t Trained) bool { return t.is(model) }); i >= 0 {
		f.take(&f.Models[i].Errors)
		return true, true
	}
	old := len(f.Models) == 0 && slices.ContainsFunc(f.Runs, func(r Run) bool { return r.Used && r.Model == model.Name })
	if len(f.Others.Means) == len(f.Terms) && !old {
		f.take(&f.Others)
	}
	return false, old
}

// is reports whether runs trained a model: one of its name, and of its parameters where
// the file tells them.
func (t *Trained) is(model *job.Model) bool {
	if t.Model != model.Name || t.ParametersTotal == 0 || model.Layers == 0 {
		return t.Model == model.Name
	}
	p := program.New(model)
	return p.ParametersTotal() == t.ParametersTotal && p.ParametersActive() == t.ParametersActive
}

// take puts some errors in the place of the terms' own.
func (f *File) take(e *Errors) {
	for i := range f.Terms {
		f.Terms[i].After.Mean = e.Means[i]
		if len(e.Before) > 0 {
			f.Terms[i].Before.Spread = e.Before[i]
		}
	}
	f.Covariance = e.Covariance
}

// longest is the longest step that runs can take, in seconds: thirty years.
const longest = 1e9

// largest is the greatest error that a term can have: a factor of twenty.
const largest = 3.0
