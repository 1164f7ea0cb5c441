package goodput

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tools/golden"
)

// published is a run whose goodput its operator tells, with what it tells of the
// run's failures and saves. What is zero is not told.
type published struct {
	Run      string   `json:"run"`
	GPUs     int      `json:"gpus"`
	Step     float64  `json:"step_seconds"`
	Interval float64  `json:"interval_seconds"`
	Stall    *float64 `json:"stall_seconds"`
	Between  float64  `json:"between_hours"`
	Restart  float64  `json:"restart_seconds"`
	Goodput  float64  `json:"published"`
	Bound    string   `json:"bound"`   // above, where no more is told
	Kind     string   `json:"kind"`    // own: all inputs are; defaults: some are ndc's
	Inputs   string   `json:"inputs"`  // in words
	Note     string   `json:"note"`    // what else the figure is
	Outside  string   `json:"outside"` // why it is not in the range
	Source   string   `json:"source"`
}

// run is what ndc expects of a published run.
func (p *published) run() plan.Run {
	step := p.Step
	if step == 0 {
		step = 10
	}
	j := &job.Job{Model: small, Cluster: job.Cluster{Nodes: p.GPUs / 8, GPUsPerNode: 8, Reliability: &job.Reliability{Restart: units.Seconds(p.Restart)}}}
	j.Cluster.Reliability.GPUHoursBetweenFailures = p.Between * float64(p.GPUs)
	j.Training.Steps, j.Training.Checkpoint = 1_000_000, job.Checkpoint{Path: "/c", IntervalTime: units.Seconds(p.Interval)}
	if p.Stall != nil {
		j.Cluster.Storage.Bandwidth = units.BytesPerSecond(checkpointBytes(j) / max(*p.Stall, 1e-6))
	}
	return Run(j, units.Seconds(step), units.Seconds(step), [2]units.Seconds{units.Seconds(step), units.Seconds(step)})
}

// points is how far a goodput may be from a published one whose inputs are known.
const points = 0.03

// TestPublished holds expected goodputs to published ones: within three points where
// a run's own failures, restarts and saves are known, and inside the range where some
// are ndc's. Runs that people restarted by hand lie outside it, and say so; a model
// that ever held them too would have to drop the excuse.
func TestPublished(t *testing.T) {
	lines, err := os.ReadFile("testdata/published.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var own, defaults strings.Builder
	ours, held := 0, 0
	for line := range strings.Lines(string(lines)) {
		var p published
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatal(err)
		}
		r := p.run()
		if p.Source == "" || r.ExpectedSeconds == 0 {
			t.Errorf("%s: no source or no end: %+v", p.Run, r)
			continue
		}
		told := p.Bound
		if told != "" {
			told += " "
		}
		told += fmt.Sprintf("%.0f %%", 100*p.Goodput)
		run := p.Run
		if p.Note != "" {
			run += " (" + p.Note + ")"
		}
		low, high := float64(r.Seconds/r.ExpectedRange[1]), float64(r.Seconds/r.ExpectedRange[0])
		if p.Kind == "own" {
			ours++
			fmt.Fprintf(&own, "| %s | %d | %s | %s | %.1f %% | %s |\n", run, p.GPUs, p.Inputs, told, 100*float64(r.Goodput), p.Source)
			if math.Abs(float64(r.Goodput)-p.Goodput) > points {
				t.Errorf("%s: %.1f %%, published %s", p.Run, 100*float64(r.Goodput), told)
			}
			continue
		}
		inside := p.Goodput <= high && (p.Goodput >= low || p.Bound == "above")
		if inside != (p.Outside == "") {
			t.Errorf("%s: %.1f %% to %.1f %%, published %s, outside because %q", p.Run, 100*low, 100*high, told, p.Outside)
		}
		where := "inside"
		if inside {
			held++
		} else {
			where = "no: " + p.Outside
		}
		fmt.Fprintf(&defaults, "| %s | %d | %s | %s | %.0f to %.0f %% | %s | %s |\n", run, p.GPUs, p.Inputs, told, 100*low, 100*high, where, p.Source)
	}
	if ours < 5 || held < 5 {
		t.Errorf("%d runs with their own inputs, %d inside their range", ours, held)
	}
	table(t, "own", "| run | GPUs | its inputs | published | ndc | source |\n|---|---|---|---|---|---|\n"+own.String())
	table(t, "defaults", "| run | GPUs | its inputs | published | ndc's range | inside | source |\n|---|---|---|---|---|---|---|\n"+defaults.String())
	var rates strings.Builder
	for _, f := range failureRates {
		fmt.Fprintf(&rates, "| %s | %d | %d | %s |\n", f.Run, int(f.GPUs), int(f.GPUHours), f.Source)
	}
	table(t, "rates", "| run | GPUs | GPU-hours between failures | source |\n|---|---|---|---|\n"+rates.String())
}

// table holds a table of docs/goodput.md to what was computed, or rewrites it.
func table(t *testing.T, name, want string) {
	t.Helper()
	const page = "../../docs/goodput.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	open, end := "<!-- table "+name+" -->\n", "<!-- end -->"
	before, rest, ok := strings.Cut(string(text), open)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no place for the table %s", page, name)
	}
	golden.Compare(t, page, []byte(before+open+want+end+after))
}

// TestByHand: docs/goodput.md says what OPT-175B's restarts would have to take.
func TestByHand(t *testing.T) {
	p := published{GPUs: 992, Between: 14.9, Restart: 5 * 3600}
	if r := p.run(); math.Abs(float64(r.Goodput)-0.626) > 0.002 {
		t.Errorf("goodput %v", r.Goodput)
	}
}

// TestAround: a job of 16,384 GPUs that says nothing of its failures is held against
// runs of 2,048 to 131,072; with numbers of its own against none.
func TestAround(t *testing.T) {
	j := &job.Job{Cluster: job.Cluster{Nodes: 2048, GPUsPerNode: 8, Reliability: &job.Reliability{}}}
	best, worst := savings.around(j)
	if best.between != 119800*3600./16384 || worst.between != 29500*3600./16384 || best.restart != 120 || worst.restart != 1800 {
		t.Errorf("%+v to %+v", worst, best)
	}
	j.Cluster.Reliability = &job.Reliability{GPUHoursBetweenFailures: 1000, Restart: 60}
	if best, worst := savings.around(j); best != worst || best.restart != 60 {
		t.Errorf("%+v to %+v of what is given", worst, best)
	}
}

// TestEndless: a run whose restarts take as long as the time between its failures
// never ends, and a range that reaches so far ends at twenty times the ideal time.
func TestEndless(t *testing.T) {
	if _, r := failing(&job.Reliability{GPUHoursBetweenFailures: 16384. / 6, Restart: 600}, 1); r.ExpectedSeconds != 0 {
		t.Errorf("ends after %v", r.ExpectedSeconds)
	}
	if _, r := failing(&job.Reliability{GPUHoursBetweenFailures: 16384. / 2}, 1); r.ExpectedRange[1] != 20*11*11400 {
		t.Errorf("range %v", r.ExpectedRange)
	}
}
