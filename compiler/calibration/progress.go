package calibration

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/logs"
)

// FormatVersion is that of Progress and File in JSON. Within one, fields may be
// added, never renamed.
const FormatVersion = "1.0"

// Progress holds a log against the plan of its run.
type Progress struct {
	FormatVersion string         `json:"format_version"`
	Job           string         `json:"job"`
	Backend       string         `json:"backend"`
	Steps         Steps          `json:"steps"`
	Time          StepTime       `json:"step"`
	Memory        Memory         `json:"memory"`
	Left          units.Seconds  `json:"seconds_left"` // of training, at the measured pace; 0 when done or unknown
	Share         float64        `json:"training_share"`
	Launches      int            `json:"launches"`
	Failures      []logs.Failure `json:"failures"`
	Off           []Suspect      `json:"off"`
	Refused       []logs.Refusal `json:"refused"`
	Notes         []string       `json:"notes"`
	Contradiction string         `json:"contradiction,omitempty"` // why no report counts: the log is not of this plan
	Inside        bool           `json:"inside"`                  // time and memory are as predicted
	Finished      bool           `json:"finished"`                // all steps are done
}

// Steps says how far a run is.
type Steps struct {
	Done  int     `json:"done"`
	Total int     `json:"total"`
	Loss  float64 `json:"loss,omitempty"` // the last one printed; 0: none was

	NoNumber int `json:"loss_no_number_since,omitempty"` // the step since which the loss is not a number or infinite; 0: it is one
}

// StepTime is the time of steady steps beside the prediction.
type StepTime struct {
	Measured  units.Seconds    `json:"measured_seconds"` // 0: no steady steps yet
	Spread    float64          `json:"spread"`           // of reports, as a share
	Reports   int              `json:"reports"`
	Predicted units.Seconds    `json:"predicted_seconds"`
	Range     [2]units.Seconds `json:"predicted_range"`
	Inside    bool             `json:"inside"`

	TokensPerSecondPerGPU float64     `json:"tokens_per_second_per_gpu"`
	MFU                   units.Share `json:"mfu"`
}

// Memory is the peak that was reported beside the prediction, in one of the ways
// that frameworks count; zero where the log says nothing.
type Memory struct {
	Kind      string      `json:"kind"` // reserved, allocated, or "" for neither
	Measured  units.Bytes `json:"measured_bytes"`
	Predicted units.Bytes `json:"predicted_bytes"`
	Limit     units.Bytes `json:"limit_bytes"` // upper end of the prediction's range
	Inside    bool        `json:"inside"`
	Why       string      `json:"why,omitempty"` // it tells nothing
}

// Suspect is a term of the step that may be what is off.
type Suspect struct {
	Term    string        `json:"term"`
	Name    string        `json:"name"`
	Share   units.Share   `json:"share"`   // of the predicted step
	Explain units.Share   `json:"explain"` // of the difference that it most likely stands for
	Seconds units.Seconds `json:"seconds"` // what the step lost by it
	Cause   string        `json:"cause"`
}

// cause is a record of data/causes.json.
type cause struct {
	Term   string `json:"term"`
	Slower string `json:"slower"`
	Faster string `json:"faster"`
	Source string `json:"source"`
}

//go:embed data/causes.json
var causesJSON string

// causes are what usually moves the terms.
var causes = sync.OnceValue(func() map[string]cause {
	return facts.By(facts.One[[]cause]("calibration: data/causes.json", causesJSON), func(c cause) string { return c.Term })
})

// Watch holds a log against a plan. Engine is the key of the calibration of time that
// the plan's runtime has.
func Watch(p *plan.Plan, l *logs.Log, engine string) *Progress {
	w := &Progress{FormatVersion: FormatVersion, Backend: p.Backend, Launches: len(l.Launches), Failures: l.Failures,
		Off: []Suspect{}, Notes: []string{}, Steps: Steps{Total: p.Run.Steps}}
	if w.Failures == nil {
		w.Failures = []logs.Failure{}
	}
	mine, others := own(p, l)
	if last := mine.Last(); last != nil {
		w.Steps = Steps{Done: last.Iteration, Total: p.Run.Steps, Loss: units.Rounded(last.Loss), NoNumber: mine.NoNumber()}
		if other := l.Last(); other.Line != last.Line {
			w.Notes = append(w.Notes, fmt.Sprintf("the log goes on with a launch that is not the plan's, which is at step %d; steps and loss are those of the plan's", other.Iteration))
		}
	}
	w.Finished = w.Steps.Done >= w.Steps.Total
	if mine.Fill(batchOf(p)); len(mine.Steps) == 0 && len(others) > 0 {
		w.Contradiction = others[0].Reason
	}
	y := mine.Steady(conditions(p))
	w.Refused = append([]logs.Refusal{}, slices.Concat(others, y.Refused)...)
	w.time(p, y, engine)
	w.memory(p, mine)
	w.Share = units.Rounded(trainingShare(mine))
	if note := y.Throttling(); note != "" {
		w.Notes = append(w.Notes, note)
	}
	if l.Total > 0 && l.Total != p.Run.Steps {
		w.Notes = append(w.Notes, "the log's run is of another length than the plan's: "+units.Count(l.Total, "step"))
	}
	w.Inside = w.Time.Inside && (w.Memory.Kind == "" || w.Memory.Why != "" || w.Memory.Inside)
	return w
}

// conditions of a plan's run.
func conditions(p *plan.Plan) logs.Conditions {
	c := logs.Conditions{Batch: batchOf(p)}
	if p.Run.Checkpoints != nil {
		c.SaveInterval = p.Run.Checkpoints.IntervalSteps
	}
	return c
}

// batchOf is what a step of a plan trains on.
func batchOf(p *plan.Plan) logs.Batch {
	return logs.Batch{Sequences: p.Input.GlobalBatchSize, Length: p.Input.SequenceLength, GPUs: p.Input.GPUs}
}

// time compares the steady steps.
func (w *Progress) time(p *plan.Plan, y *logs.Steady, engine string) {
	t := &w.Time
	t.Predicted, t.Range, t.Reports = p.Time.StepSeconds, p.Time.StepRangeSeconds, len(y.Steps)
	if y.Mean <= 0 || t.Predicted <= 0 {
		return
	}
	t.Measured, t.Spread = units.Rounded(units.Seconds(y.Mean)), units.Rounded(y.Spread)
	t.Inside = t.Measured >= t.Range[0] && t.Measured <= t.Range[1]
	ratio := float64(t.Measured / t.Predicted)
	t.TokensPerSecondPerGPU = units.Rounded(p.Throughput.TokensPerSecondPerGPU / ratio)
	t.MFU = units.Rounded(units.Share(float64(p.Throughput.MFU) / ratio))
	w.Left = units.Rounded(units.Seconds(max(0, w.Steps.Total-w.Steps.Done)) * t.Measured)
	if uncertainty.Beyond(ratio, uncertainty.MostOff) {
		w.Notes = append(w.Notes, "the "+implausible(ratio)+", or the machine another than planned")
	}
	if !t.Inside {
		w.Off = suspects(p, engine, ratio)
	}
}

// implausible says of a step that no term is what is off.
func implausible(ratio float64) string {
	return fmt.Sprintf("step takes %.3g times as long as predicted, which is no error of a term: the plan may be that of another run", ratio)
}

// suspects shares a step's deviation out to its terms as the prior makes most
// likely: by how much of the step each is, and how little is known of it.
func suspects(p *plan.Plan, engine string, ratio float64) []Suspect {
	const fewest = 0.05 // of the difference
	step, prior := stepOf(p), priorOf(p, engine)
	post := prior.Update([]uncertainty.Observation{{Step: step, Ratio: ratio}})
	total := step.Terms.Sum()
	out := []Suspect{}
	for k := range uncertainty.Count {
		moved := float64(step.Terms[k]) * (math.Exp(post.Mean[k]) - math.Exp(prior.Mean[k]))
		c := causes()[k.String()]
		s := Suspect{Term: k.String(), Name: k.Words(), Share: units.Rounded(units.Share(step.Terms[k] / total)), Seconds: units.Rounded(units.Seconds(moved)),
			Explain: units.Rounded(units.Share(moved / (float64(total) * (ratio - 1)))), Cause: c.Slower}
		if ratio < 1 {
			s.Cause = c.Faster
		}
		if float64(s.Explain) >= fewest {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b Suspect) int {
		switch {
		case a.Explain > b.Explain:
			return -1
		case a.Explain < b.Explain:
			return 1
		}
		return 0
	})
	return out
}

// memory compares peaks of one kind.
func (w *Progress) memory(p *plan.Plan, l *logs.Log) {
	allocated, reserved := l.Peak()
	m, peak := &w.Memory, &p.Memory.Peak
	switch {
	case reserved > 0:
		m.Kind, m.Measured, m.Predicted = "reserved", bytesOf(reserved), peak.ReservedBytes
	case allocated > 0:
		m.Kind, m.Measured, m.Predicted = "allocated", bytesOf(allocated), peak.AllocatedBytes
	default:
		return
	}
	// What the device shows beside the allocator's own is the same either way. Tensors are
	// taken to be off by the same share as what holds them.
	m.Limit = peak.DeviceRangeBytes[1] - (peak.DeviceBytes - peak.ReservedBytes)
	if m.Kind == "allocated" && peak.ReservedBytes > 0 {
		m.Limit = units.Bytes(math.Round(float64(m.Limit) * float64(peak.AllocatedBytes) / float64(peak.ReservedBytes)))
	}
	switch gpu := p.Memory.GPUBytes; {
	case gpu > 0 && m.Measured > gpu:
		m.Why = "a GPU has no more than " + gpu.Human()
	case m.Predicted > 0 && uncertainty.Beyond(float64(m.Measured)/float64(m.Predicted), uncertainty.MostOff):
		m.Why = fmt.Sprintf("it is off by more than a factor of %g, which is no error of a prediction", uncertainty.MostOff)
	default:
		m.Inside = m.Measured <= m.Limit
	}
}

// bytesOf is an amount that a log prints, at most an exbibyte: it may print anything.
func bytesOf(printed float64) units.Bytes {
	const most = 1 << 60
	return units.Bytes(min(printed, most))
}

// trainingShare is how much of the time that a log's stamps cover went into
// steps; 0 without stamps. Those that a later launch repeats count once.
func trainingShare(l *logs.Log) float64 {
	var steps, all float64
	begun := math.MaxInt // the step behind which a later report begins
	for i := len(l.Steps) - 1; i >= 0; i-- {
		s := &l.Steps[i]
		before := s.Iteration - s.Over
		steps += s.Seconds * float64(max(0, min(begun, s.Iteration)-before))
		begun = min(begun, before)
	}
	if n := len(l.Launches); n > 0 && !l.Launches[0].Began.IsZero() {
		all = l.Launches[n-1].Ended.Sub(l.Launches[0].Began).Seconds()
	}
	if all <= 0 {
		return 0
	}
	return min(1, steps/all)
}
