package tune

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/logs"
)

// fewestReports is how many steady reports a run must have to be believed.
const fewestReports = 3

// likely is the probability of the ranges of differences.
const likely = 0.9

// Attempt is a run that a round's script began.
type Attempt struct {
	Job       string // of Slurm
	Number    int    // in the round, from 1
	Of        int    // runs of the round
	Candidate string
	Status    int // -1: not said, as where the allocation ended first
}

var (
	attemptBegan = regexp.MustCompile(`^ndc: run (\d{1,9}) of (\d{1,9}) in job (\d{1,18}): (\S+)$`)
	attemptEnded = regexp.MustCompile(`^ndc: run (\d{1,9}) ended with status (\d{1,9}) after \d+ s$`)
)

// Attempts reads what the script of a round has logged. The error is the reader's.
func Attempts(r io.Reader) (list []Attempt, err error) {
	err = logs.Lines(r, func(line string) {
		line = logs.Unstamped(strings.TrimRight(line, "\r\n"))
		if m := attemptBegan.FindStringSubmatch(line); m != nil {
			list = append(list, Attempt{Job: strings.Clone(m[3]), Number: number(m[1]), Of: number(m[2]), Candidate: strings.Clone(m[4]), Status: -1})
		}
		if m := attemptEnded.FindStringSubmatch(line); m != nil && len(list) > 0 && list[len(list)-1].Number == number(m[1]) {
			list[len(list)-1].Status = number(m[2])
		}
	})
	return list, err
}

// number is the number of some digits.
func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		panic("tune: " + err.Error()) // the patterns allow none such
	}
	return n
}

// Result is what a trial has shown.
type Result struct {
	FormatVersion string     `json:"format_version"`
	Job           string     `json:"job"`
	Backend       string     `json:"backend"`
	Allocations   int        `json:"allocations"`
	Unended       int        `json:"runs_not_ended,omitempty"` // of the newest allocation, which goes on or was cut off
	Standings     []Standing `json:"candidates"`               // in the trial's order
	Pick          string     `json:"pick"`                     // the candidate to take
	SavedGPUHours [2]float64 `json:"saved_gpu_hours_range"`
	Calibration   string     `json:"calibration,omitempty"` // the file that was written
	Why           string     `json:"why_not_calibrated,omitempty"`

	known   *uncertainty.Joint
	left    []int // that a run tells of, and none ran out of memory
	reserve []int // that no run tells of, and that may yet run
	ends    int   // the candidate that runs first and last
}

// Standing is how a candidate stands.
type Standing struct {
	Name      string        `json:"name"`
	Layout    string        `json:"layout"`
	Predicted units.Seconds `json:"predicted_seconds"`
	Measured  units.Seconds `json:"measured_seconds"`  // 0: no run told
	Runs      int           `json:"runs"`              // that told
	Range     [2]float64    `json:"difference_range"`  // 90 %, to the first candidate's time, as a share; of itself zero
	Fastest   float64       `json:"fastest"`           // probability of being the fastest of all that run
	Reserve   bool          `json:"reserve,omitempty"` // no round has had it
	Failures  []string      `json:"failures"`          // of runs that told nothing: out_of_memory, time_limit, implausible_step_time, … or a status; of others, too, that ended with an error
	Pin       string        `json:"-"`
}

// Read holds the logs of a trial against its file: what the scripts of rounds have
// logged, and the log of each candidate. The error says why there is no result.
func Read(f *File, attempts []Attempt, of map[string]*logs.Log) (*Result, error) {
	r := &Result{FormatVersion: FormatVersion, Job: f.Job, Backend: f.Backend}
	for _, l := range of {
		l.Fill(logs.Batch{Sequences: f.GlobalBatch, GPUs: f.GPUs})
	}
	places := map[string]int{}
	for i := range f.Candidates {
		m := &f.Candidates[i]
		places[m.Name] = i
		r.Standings = append(r.Standings, Standing{Name: m.Name, Layout: m.Layout, Predicted: m.StepSeconds, Failures: []string{}, Pin: m.Pin})
	}
	allocations, earlier := map[string]int{}, map[string]int{}
	var runs []Run
	var failures []string
	for i := range attempts {
		a := &attempts[i]
		place, ok := places[a.Candidate]
		if !ok {
			return nil, fmt.Errorf("a log tells of %s, which the trial does not have", a.Candidate)
		}
		if !slices.ContainsFunc(f.Rounds, func(h Held) bool { return slices.Contains(h.Runs, a.Candidate) }) {
			return nil, fmt.Errorf("a log tells of a run of %s, which no round of the trial holds", a.Candidate)
		}
		if _, ok := allocations[a.Job]; !ok {
			allocations[a.Job] = len(allocations)
		}
		key := a.Job + " " + a.Candidate
		earlier[key]++
		run, why := f.readRun(of[a.Candidate], a, earlier[key], &f.Candidates[place])
		if s := &r.Standings[place]; why != "" {
			s.Failures, failures = append(s.Failures, why), append(failures, why)
		}
		if run.Seconds == 0 {
			continue
		}
		run.Allocation, run.Candidate = allocations[a.Job], place
		runs = append(runs, run)
	}
	r.Allocations, r.Unended = len(allocations), unended(attempts)
	if !slices.ContainsFunc(runs, func(x Run) bool { return !r.Standings[x.Candidate].full() }) {
		what := fmt.Sprintf("none without an error that has %d reports of steady steps that are at most %g times as long as predicted, or as short", fewestReports, uncertainty.MostOff)
		if len(runs) > 0 {
			what = "those that told something are of candidates that ran out of memory"
		}
		return nil, fmt.Errorf("%s, and %s: %s%s", units.Count(len(attempts), "run"), what, Reasons(failures), r.roomier(f))
	}
	r.conclude(f, runs)
	return r, nil
}

// unended is how many runs of the newest allocation have not ended, or not begun.
func unended(attempts []Attempt) int {
	if len(attempts) == 0 {
		return 0
	}
	newest := attempts[len(attempts)-1]
	left := newest.Of
	for _, a := range attempts {
		if a.Job == newest.Job && a.Status >= 0 {
			left--
		}
	}
	return max(0, left)
}

// full reports whether a run ran out of memory, however far it came: the training would.
func (s *Standing) full() bool { return slices.Contains(s.Failures, outOfMemory) }

// Package logs' names of failures, and that of a run which the log of its round does not end.
const (
	outOfMemory = "out_of_memory"
	notANumber  = "not_a_number"
	notEnded    = "not_ended"
	timeLimit   = "time_limit"
)

// Why a run is none of the candidate's: somebody changed its files, or wrote others there.
const (
	editedFiles  = "edited_files"
	anotherBuild = "another_build"
)

// readRun is what the run of an attempt showed, that its candidate's log tells of
// as one of the launches of its job; and why it showed nothing, or ended with an error
// after it did. A run of other files than the trial's is none of the candidate's, and neither
// is a step that is further from its prediction than predictions are. One whose loss is no
// number at its end learns nothing, however fast it is, and the training would not get past
// what ends one before its last step, but for reasons that are none of the candidate's.
func (f *File) readRun(l *logs.Log, a *Attempt, nth int, m *Member) (Run, string) {
	launch := -1
	if l != nil {
		for i := range l.Launches {
			if l.Launches[i].Job == a.Job {
				if nth--; nth == 0 {
					launch = i
				}
			}
		}
	}
	if launch < 0 {
		return Run{}, "no_log"
	}
	switch x := &l.Launches[launch]; {
	case x.Edited != "":
		return Run{}, editedFiles
	case x.Configuration != "" && m.Configuration != "" && x.Configuration != m.Configuration:
		return Run{}, anotherBuild
	}
	// What stalls does so beside the steps of its own run: another allocation, or the end
	// of this one, may be slower as a whole, which is told apart later.
	alone := *l
	alone.Steps = slices.DeleteFunc(slices.Clone(l.Steps), func(s logs.Step) bool { return s.Launch != launch })
	var times []float64
	sum := 0.0
	for _, s := range alone.Steady(logs.Conditions{}).Steps {
		times, sum = append(times, s.Seconds), sum+s.Seconds
	}
	if len(times) < fewestReports {
		return Run{}, failure(l, launch, a.Status)
	}
	if alone.NoNumber() > 0 {
		return Run{}, notANumber
	}
	n := float64(len(times))
	mean, square := sum/n, 0.0
	if uncertainty.Beyond(mean/float64(m.StepSeconds), uncertainty.MostOff) {
		return Run{}, "implausible_step_time"
	}
	for _, t := range times {
		square += (t/mean - 1) * (t/mean - 1)
	}
	why := failure(l, launch, a.Status)
	switch {
	case why == outOfMemory: // whatever its status is
	case a.Status == 0 || why == notEnded:
		why = ""
	case why == timeLimit: // a slow start may have left too little of it
	case alone.Last().Iteration < f.Steps && !passing([]string{why}):
		return Run{}, why
	}
	return Run{Seconds: mean, Spread: math.Sqrt(square / (n - 1) / n), At: float64(a.Number-1) / float64(max(1, a.Of-1))}, why
}

// failure is why a launch told nothing.
func failure(l *logs.Log, launch, status int) string {
	for i := range l.Failures {
		if l.Failures[i].Launch == launch {
			return l.Failures[i].Kind
		}
	}
	switch status {
	case -1:
		return notEnded
	case 0:
		return "too_few_steps"
	case 124, 137: // of timeout(1): it ran past its limit, or was killed after it
		return timeLimit
	}
	return "status " + strconv.Itoa(status)
}

// conclude fills in what follows from runs.
func (r *Result) conclude(f *File, runs []Run) {
	r.known = Learn(f.Known, runs)
	for i := range r.Standings {
		s := &r.Standings[i]
		logarithm := 0.0
		for k := range runs {
			if runs[k].Candidate == i {
				s.Runs++
				logarithm += math.Log(runs[k].Seconds)
			}
		}
		if s.Runs == 0 {
			continue
		}
		if !s.full() {
			r.left = append(r.left, i)
		}
		s.Measured = units.Rounded(units.Seconds(math.Exp(logarithm / float64(s.Runs))))
		if i > 0 {
			s.Range = shares(r.known.Difference(i, 0).Range(likely))
		}
	}
	r.spare(f)
	for _, draw := range r.known.Draws(samples) {
		best := slices.MinFunc(r.left, func(a, b int) int { return cmp.Compare(draw[a], draw[b]) })
		r.Standings[best].Fastest += 1.0 / samples
	}
	for i := range r.Standings {
		r.Standings[i].Fastest = math.Round(100*r.Standings[i].Fastest) / 100 // finer than its draws
	}
	best := Best(r.known, r.left)
	if s := &r.Standings[0]; s.full() || s.Runs == 0 && !passing(s.Failures) {
		r.ends = best
	}
	r.Pick = f.Candidates[best].Name
	if best > 0 && r.Standings[0].Runs > 0 {
		x := r.known.Difference(best, 0).Range(likely)
		r.SavedGPUHours = [2]float64{units.Rounded(f.RunGPUHours * (1 - x[1])), units.Rounded(f.RunGPUHours * (1 - x[0]))}
	}
}

// Reasons counts failures by their kinds, in the order of their first.
func Reasons(failures []string) string {
	count := map[string]int{}
	var kinds []string
	for _, kind := range failures {
		if count[kind]++; count[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", count[kind], strings.ReplaceAll(kind, "_", " "))
	}
	return strings.Join(kinds, ", ")
}

// passing reports whether runs told nothing for reasons that are none of the candidate's,
// so that another one may tell something.
func passing(failures []string) bool {
	return !slices.ContainsFunc(failures, func(kind string) bool {
		return !slices.Contains([]string{"node", "network", "storage", "preempted", notEnded}, kind)
	})
}

// least is the least memory that a candidate that ran out of it was predicted to need.
func (r *Result) least(f *File) units.Bytes {
	least := units.Bytes(math.MaxInt64)
	for i := range r.Standings {
		if r.Standings[i].full() {
			least = min(least, f.Candidates[i].DeviceBytes)
		}
	}
	return least
}

// roomier says what needs less memory, of a trial in which nothing ran and something
// ran out of it; "" where nothing did.
func (r *Result) roomier(f *File) string {
	least := r.least(f)
	if least == math.MaxInt64 {
		return ""
	}
	text := fmt.Sprintf(". What ran out of memory was predicted to need %s of a GPU and more", least.Human())
	best := -1
	for i := range r.Standings {
		if s, m := &r.Standings[i], &f.Candidates[i]; passing(s.Failures) && m.DeviceBytes < least && (best < 0 || m.DeviceBytes < f.Candidates[best].DeviceBytes) {
			best = i
		}
	}
	if best >= 0 {
		m := &f.Candidates[best]
		text += fmt.Sprintf("; %s, which has not run, is predicted to need %s: submit its own script, %[1]s/%[3]s.sbatch, to see whether it runs", m.Name, m.DeviceBytes.Human(), f.Job)
	}
	if f.GPUBytes > least {
		text += fmt.Sprintf(". With constraints { memory_headroom = \"%.0f%%\" } in the job a new trial, in another folder, has only layouts that need less, such as with smaller micro-batches, more recompute or more sharding",
			1+math.Floor(100*(1-float64(least)/float64(f.GPUBytes))))
	}
	return text
}

// spare finds the candidates that may yet join: those in reserve, and those whose runs did
// not come to tell anything, that are predicted to need less memory than any that ran out
// of it.
func (r *Result) spare(f *File) {
	least := r.least(f)
	for i := range r.Standings {
		s := &r.Standings[i]
		s.Reserve = !f.Held(s.Name) && s.Runs == 0 && len(s.Failures) == 0
		if i > 0 && s.Runs == 0 && passing(s.Failures) && f.Candidates[i].DeviceBytes < least {
			r.reserve = append(r.reserve, i)
		}
	}
}

func shares(ratios [2]float64) [2]float64 {
	return [2]float64{units.RoundedTo(ratios[0]-1, 1), units.RoundedTo(ratios[1]-1, 1)}
}

// Picked is the standing of the candidate to take.
func (r *Result) Picked() *Standing {
	i := slices.IndexFunc(r.Standings, func(s Standing) bool { return s.Name == r.Pick })
	return &r.Standings[i]
}

// Next is the round that would follow, of a trial that has shown something.
func (r *Result) Next(f *File) Round {
	return Next(r.known, f.List(), r.left, r.reserve, r.ends, f.Left())
}
