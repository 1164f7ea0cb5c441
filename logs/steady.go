package logs

import (
	"fmt"
	"math"
	"slices"
)

// Conditions of a run that decide which of its steps are alike.
type Conditions struct {
	SaveInterval int   // steps between checkpoints; 0: as the log itself says
	Batch        Batch // of a step; of what is 0 every one counts
}

// Steady are the steps of a log that show the run at rest, and why the others
// do not.
type Steady struct {
	Steps   []Step
	Mean    float64 // seconds of a step, weighted by how many each report covers; 0 without any
	Spread  float64 // standard deviation of the reports, as a share of the mean
	Refused []Refusal
	Drift   float64 // the last third's time over the first's, less one; 0 of fewer than twelve reports

	at map[string]int // places of reasons in Refused
}

// Refusal is a reason for which reports were left out.
type Refusal struct {
	Reason  string `json:"reason"`
	Reports int    `json:"reports"`
	First   int    `json:"first_step"`
}

// What is refused. Warm-up is over when caches, communicators and graphs are
// made, which takes all frameworks some steps; five is what the slowest of the
// published logs that were looked at took without graphs of a whole step.
const (
	warmUp    = 5    // steps of a launch
	outlier   = 6    // robust standard deviations
	atLeast   = 0.05 // of the median, how far off the rest a step must be to count as slow
	throttled = 0.05 // drift that is said
	skipped   = 0.05 // of a report's steps at most, in which the optimizer did nothing: a tenth of a step is the most that it takes, so that half a percent is missing
)

// Steady chooses the steps that a prediction can be held against.
func (l *Log) Steady(c Conditions) *Steady {
	out := &Steady{}
	var kept []Step
	saves, began, backwards := l.saves(), 0, l.backwards()
	for i := range l.Steps {
		if s := &l.Steps[i]; i == 0 || l.Steps[i-1].Launch != s.Launch {
			began = s.Iteration - s.Over
		}
		reason := l.disturbed(i, began, saves, c)
		if backwards {
			reason = "the newest lines stand first, as collectors of logs print them: tac turns a log round"
		}
		if reason != "" {
			out.refuse(reason, l.Steps[i].Iteration)
			continue
		}
		kept = append(kept, l.Steps[i])
	}
	middle, width := medianOf(kept)
	for i := range kept {
		s := &kept[i]
		if limit := max(outlier*width, atLeast*middle); s.Seconds > middle+limit {
			out.refuse(fmt.Sprintf("slower than the rest by more than %.0f %%: a stall, a throttled GPU or a straggling node", 100*limit/middle), s.Iteration)
			continue
		}
		out.Steps = append(out.Steps, *s)
	}
	out.summarise()
	return out
}

// backwards reports whether every report is of an earlier step than the one before it.
func (l *Log) backwards() bool {
	for i := 1; i < len(l.Steps); i++ {
		if l.Steps[i].Iteration >= l.Steps[i-1].Iteration {
			return false
		}
	}
	return len(l.Steps) > 2
}

// place is a step of a launch.
type place struct{ launch, iteration int }

// saves are the steps after which the log tells of a checkpoint.
func (l *Log) saves() map[place]bool {
	at := map[place]bool{}
	for i := range l.Phases {
		if q := &l.Phases[i]; q.Kind == Save {
			at[place{q.Launch, q.Iteration}] = true
		}
	}
	return at
}

// disturbed says what else than training is in a report of a launch that began
// after a step; "" for nothing.
func (l *Log) disturbed(i, began int, saves map[place]bool, c Conditions) string {
	s := &l.Steps[i]
	before := s.Iteration - s.Over
	first := i == 0 || l.Steps[i-1].Launch != s.Launch
	switch {
	case s.Seconds <= 0:
		return "no time printed"
	case first || before-began < warmUp:
		return "warm-up: the first steps of a launch make caches and communicators"
	case c.Batch.other(s) || s.Over > 1 && c.Batch.other(&l.Steps[i-1]): // the batch may have grown meanwhile
		return fmt.Sprintf("a batch of other than %d sequences: it grows, or the log is of another run", c.Batch.Sequences)
	case float64(s.Skipped) > skipped*float64(s.Over):
		return "steps that the optimizer skipped, as loss scaling does where gradients overflow"
	case l.Framework == Megatron:
		return "" // its timer stands still meanwhile
	case saves[place{s.Launch, before}]:
		return saving
	}
	if n := c.SaveInterval; n > 0 && (max(before, 1)+n-1)/n*n < s.Iteration {
		return saving
	}
	return ""
}

const saving = "a checkpoint was saved meanwhile"

func (y *Steady) refuse(reason string, iteration int) {
	if i, known := y.at[reason]; known {
		y.Refused[i].Reports++
		return
	}
	if y.at == nil {
		y.at = map[string]int{}
	}
	y.at[reason] = len(y.Refused)
	y.Refused = append(y.Refused, Refusal{reason, 1, iteration})
}

// summarise fills in mean, spread and drift.
func (y *Steady) summarise() {
	var sum, weight float64
	for i := range y.Steps {
		n := float64(max(1, y.Steps[i].Over))
		sum += n * y.Steps[i].Seconds
		weight += n
	}
	if weight == 0 {
		return
	}
	y.Mean = sum / weight
	var square float64
	for i := range y.Steps {
		d := y.Steps[i].Seconds/y.Mean - 1
		square += d * d
	}
	if n := len(y.Steps); n > 1 {
		y.Spread = math.Sqrt(square / float64(n-1))
	}
	if n := len(y.Steps); n >= 12 {
		first, _ := medianOf(y.Steps[:n/3])
		last, _ := medianOf(y.Steps[n-n/3:])
		y.Drift = last/first - 1
	}
}

// Throttling says that a run slows down as it goes on, as hot or shared machines
// do; "" when it does not.
func (y *Steady) Throttling() string {
	if y.Drift < throttled {
		return ""
	}
	return fmt.Sprintf("the last third of the steps takes %.0f %% longer than the first: GPUs that throttle, storage or a network that others use", 100*y.Drift)
}

// medianOf is the middle of the times and the robust standard deviation around
// it (1.4826 times the median distance).
func medianOf(steps []Step) (middle, width float64) {
	if len(steps) == 0 {
		return 0, 0
	}
	times := make([]float64, len(steps))
	for i := range steps {
		times[i] = steps[i].Seconds
	}
	middle = median(times)
	for i := range times {
		times[i] = math.Abs(times[i] - middle)
	}
	return middle, 1.4826 * median(times)
}

func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	if n%2 == 1 {
		return values[n/2]
	}
	return (values[n/2-1] + values[n/2]) / 2
}
