package calibration

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/logs"
)

// Input is a plan with what its runs printed.
type Input struct {
	Job    string
	Site   string // at which the job was planned; "" without one
	Engine string // key of the calibration of time that the plan's runtime has
	Plan   *plan.Plan
	Log    *logs.Log // of all its submissions, one after another
}

// name is what a run is called among others.
func (in *Input) name() string {
	s := in.Job + " on " + in.Plan.Backend
	if in.Site != "" {
		s += " at " + in.Site
	}
	return s
}

// fewestReports is how many steady reports a run must have to be believed.
const fewestReports = 3

// Calibrate says what runs tell of the machine that they ran on. The error
// tells why there is no calibration.
func Calibrate(runs []Input) (*File, error) {
	f := &File{FormatVersion: FormatVersion, Sources: []Source{}, Unidentified: []string{}, Links: links(runs), Speeds: speeds(runs)}
	var steps []uncertainty.Observation // of the runs that are used, in their order
	var layouts []string                // theirs
	var priors []*uncertainty.Prior
	var planned []Input // what logs hold against the plans that they were of
	models := map[string]int{}
	for i := range runs {
		in := &runs[i]
		if f.GPU = cmp.Or(f.GPU, in.Plan.Input.GPU); f.GPU != in.Plan.Input.GPU {
			return nil, fmt.Errorf("%s ran on %s and %s on %s, and a calibration is for one machine: name the folders of one of them", runs[0].name(), f.GPU, in.name(), in.Plan.Input.GPU)
		}
		r, step := read(in)
		if r.Used {
			key := modelOf(in.Plan)
			if _, ok := models[key]; !ok {
				models[key] = len(models)
				f.Models = append(f.Models, Trained{Model: r.Model, ParametersTotal: in.Plan.Input.ParametersTotal, ParametersActive: in.Plan.Input.ParametersActive})
			}
			f.Models[models[key]].Runs++
			steps = append(steps, uncertainty.Observation{Step: step, Ratio: float64(r.Measured / r.Predicted), Model: models[key]})
			layouts = append(layouts, in.Plan.Likeness())
			priors = append(priors, priorOf(in.Plan, in.Engine))
		}
		if !foreign(&r) && (r.Memory == nil || r.Memory.Why == "") {
			planned = append(planned, *in)
		}
		f.Runs = append(f.Runs, r)
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("none of the runs can be used: %s", reasons(f.Runs))
	}
	prior := Widest(priors)
	observed := append(together(steps, layouts), benchmarks(f.Speeds)...)
	if times, odds := prior.Mistaken(observed, uncertainty.Network); times != 1 {
		f.Network = &Network{units.Rounded(times), units.Rounded(odds)}
		prior = prior.Times(uncertainty.Network, times)
	}
	f.Others = errorsOf(prior, prior.Others(observed))
	before := prior.OfModel()
	var known []*uncertainty.Prior // of each model, in the order of its first run
	for i := range f.Models {
		known = append(known, prior.Trained(observed, i))
		f.Models[i].Errors = errorsOf(before, known[i])
	}
	for i, k := 0, 0; i < len(f.Runs); i++ {
		if f.Runs[i].Used {
			f.Runs[i].After = units.Rounded(moved(&steps[k].Step.Terms, known[steps[k].Model]))
			k++
		}
	}
	slices.SortStableFunc(f.Models, func(a, b Trained) int {
		return cmp.Or(b.Runs-a.Runs, cmp.Compare(a.Model, b.Model), cmp.Compare(a.ParametersTotal, b.ParametersTotal), cmp.Compare(a.ParametersActive, b.ParametersActive))
	})
	f.terms()
	f.Allocator = allocator(planned)
	f.Chain = chain(runs)
	return f, nil
}

// together makes one of the steps of each layout, in the order of their first, by the mean
// of what they took: what a layout has for itself all its runs have.
func together(steps []uncertainty.Observation, layouts []string) (all []uncertainty.Observation) {
	place, runs := map[string]int{}, []float64{}
	for i, o := range steps {
		k, ok := place[layouts[i]]
		if !ok {
			k = len(all)
			place[layouts[i]], all, runs = k, append(all, o), append(runs, 0)
		}
		all[k].Ratio *= math.Pow(o.Ratio/all[k].Ratio, 1/(runs[k]+1)) // a running geometric mean
		runs[k]++
	}
	return all
}

// modelOf names the model of a plan, also where another has its name.
func modelOf(p *plan.Plan) string {
	return fmt.Sprintf("%s %d %d", p.Input.Model, p.Input.ParametersTotal, p.Input.ParametersActive)
}

// reasons lists why runs are not used.
func reasons(runs []Run) string {
	s := ""
	for i := range runs {
		if i > 0 {
			s += "; "
		}
		s += runs[i].Job + " on " + runs[i].Backend + ": " + runs[i].Why
	}
	return s
}

// read takes the steady steps of a run, and its step as it is predicted without
// a calibration.
func read(in *Input) (Run, uncertainty.Step) {
	p := in.Plan
	var others []logs.Refusal
	in.Log, others = own(p, in.Log)
	in.Log.Fill(batchOf(p))
	y := in.Log.Steady(conditions(p))
	r := Run{Job: in.Job, Site: in.Site, Backend: p.Backend, Model: p.Input.Model, GPUs: p.Input.GPUs, Likeness: p.Likeness(), Measured: units.Rounded(units.Seconds(y.Mean)),
		Spread: units.Rounded(y.Spread), Reports: len(y.Steps), Refused: []Refusal{}, Timers: timers(in.Log)}
	for _, x := range slices.Concat(others, y.Refused) {
		r.Refused = append(r.Refused, Refusal(x))
	}
	step := plainStep(p)
	r.Predicted = units.Rounded(step.Terms.Sum())
	var w Progress
	if w.memory(p, in.Log); w.Memory.Kind != "" {
		if r.Memory = &w.Memory; w.Memory.Why == "" && !batchOf(p).In(in.Log) { // of other micro-batches, maybe
			w.Memory.Why = fmt.Sprintf("no report is of a batch of %s", units.Count(p.Input.GlobalBatchSize, "sequence"))
		}
		if first, reserved := in.Log.FirstPeak(); w.Memory.Why == "" {
			r.FirstPeak = units.Bytes(max(first, reserved))
		}
	}
	switch throttled := y.Throttling(); {
	case len(in.Log.Steps) == 0 && len(others) > 0:
		r.Why = others[0].Reason
	case len(in.Log.Steps) == 0:
		r.Why = "the log reports no steps"
	case r.Reports < fewestReports:
		r.Why = fmt.Sprintf("%s of steady steps, and %d are needed", units.Count(r.Reports, "report"), fewestReports)
		if len(r.Refused) > 0 {
			most := slices.MaxFunc(r.Refused, func(a, b Refusal) int { return cmp.Compare(a.Reports, b.Reports) })
			r.Why += fmt.Sprintf("; left out, %s: %s", units.Count(most.Reports, "report"), most.Reason)
		}
	case throttled != "":
		r.Why = throttled
	case foreign(&r):
		r.Why = "its " + implausible(float64(r.Measured/r.Predicted))
	default:
		r.Used = true
	}
	return r, step
}

// plainStep is the step of a plan as it is predicted without a calibration: with terms
// that one moved moved back, and in all what the plan says that it would be. The latter
// is not the sum of the former where terms hide behind one another.
func plainStep(p *plan.Plan) uncertainty.Step {
	step, c := stepOf(p), p.Calibration
	if c == nil {
		return step
	}
	for k := range step.Terms {
		for _, t := range c.Terms {
			if t.Term == uncertainty.Term(k).String() {
				step.Terms[k] /= units.Seconds(t.Factor)
			}
		}
	}
	if sum := step.Terms.Sum(); c.StepSeconds > 0 && sum > 0 {
		for k := range step.Terms {
			step.Terms[k] *= c.StepSeconds / sum
		}
	}
	return step
}

// plainReserved is what the allocator of a plan's busiest rank holds as it is predicted
// without a calibration, whose factor leaves it at least what tensors take. What a GPU
// shows beside it is the same either way.
func plainReserved(p *plan.Plan) float64 {
	peak, c := &p.Memory.Peak, p.Calibration
	if c == nil || c.Reserved == 0 || c.DeviceBytes == 0 {
		return float64(peak.ReservedBytes)
	}
	return float64(c.DeviceBytes - (peak.DeviceBytes - peak.ReservedBytes))
}

// foreign reports whether a log is so far off its plan that it seems to be of another
// run.
func foreign(r *Run) bool {
	return r.Measured > 0 && r.Predicted > 0 && uncertainty.Beyond(float64(r.Measured/r.Predicted), uncertainty.MostOff)
}

// Widest is a prior with the greatest variances of several, whatever their order:
// that of them with the greatest sum of variances, widened where another's is
// greater. So what terms have in common stays a covariance.
func Widest(priors []*uncertainty.Prior) *uncertainty.Prior {
	w := *slices.MaxFunc(priors, func(a, b *uncertainty.Prior) int {
		var x, y float64
		for k := range a.Covariance {
			x, y = x+a.Covariance[k][k], y+b.Covariance[k][k]
		}
		if n := cmp.Compare(x, y); n != 0 {
			return n
		}
		for k := range a.Covariance {
			if n := slices.Compare(a.Covariance[k][:], b.Covariance[k][:]); n != 0 {
				return n
			}
		}
		return 0
	})
	for _, p := range priors {
		for k := range w.Covariance {
			w.Covariance[k][k] = max(w.Covariance[k][k], p.Covariance[k][k])
		}
		w.Model, w.Own, w.Degrees = max(w.Model, p.Model), max(w.Own, p.Own), max(w.Degrees, p.Degrees)
	}
	return &w
}

// knownShare is the share of its spread that a term may keep to count as identified.
const knownShare = 0.8

// terms fills in what is known of the first model, before and after.
func (f *File) terms() {
	e := &f.Models[0].Errors
	for k := range uncertainty.Count {
		name := k.String()
		t := Term{Term: name, Name: k.Words(), Before: Normal{Spread: e.Before[k]}, After: normal(e.Means[k], e.Covariance[k][k])}
		t.Factor = units.Rounded(math.Exp(t.After.Mean))
		t.Identified = t.After.Spread < knownShare*t.Before.Spread || k == uncertainty.Network && f.Network != nil
		if !t.Identified {
			f.Unidentified = append(f.Unidentified, name)
		}
		f.Terms = append(f.Terms, t)
	}
	f.Covariance = e.Covariance
}

// errorsOf rounds what is known of the terms' errors, before and after.
func errorsOf(before, p *uncertainty.Prior) (e Errors) {
	for k := range uncertainty.Count {
		row := make([]float64, uncertainty.Count)
		for m := range row {
			row[m] = units.RoundedTo(p.Covariance[k][m], p.Covariance[k][k])
		}
		e.Before = append(e.Before, normal(0, before.Covariance[k][k]).Spread)
		e.Means, e.Covariance = append(e.Means, units.RoundedTo(p.Mean[k], 1)), append(e.Covariance, row)
	}
	return e
}

func normal(mean, variance float64) Normal {
	return Normal{units.RoundedTo(mean, 1), units.Rounded(math.Sqrt(max(0, variance)))}
}

// moved is a step with its terms multiplied by what is known of their errors.
func moved(t *uncertainty.Terms, by *uncertainty.Prior) (sum units.Seconds) {
	for k, s := range t {
		sum += s * units.Seconds(math.Exp(by.Mean[k]))
	}
	return sum
}

// allocator compares the peaks of reserved memory. Half of the variance of the
// prediction is taken to be the machine's and its software's, which all runs
// share, and half each layout's own; so runs of one layout count as one, by their mean.
func allocator(runs []Input) *Allocator {
	var variance float64
	var layouts []string
	off := map[string][]float64{} // of the runs of a layout, in logarithms
	n := 0
	for i := range runs {
		p := runs[i].Plan
		_, reserved := runs[i].Log.Peak()
		predicted := plainReserved(p)
		if reserved <= 0 || predicted <= 0 {
			continue
		}
		low, high := float64(p.Memory.Peak.DeviceRangeBytes[0]), float64(p.Memory.Peak.DeviceRangeBytes[1])
		if low <= 0 || high <= low {
			continue
		}
		spread := math.Log(high/low) / (2 * uncertainty.Deviations(0.95)) // of a 90 % range
		variance = max(variance, spread*spread)
		layout := p.Likeness()
		if len(off[layout]) == 0 {
			layouts = append(layouts, layout)
		}
		off[layout] = append(off[layout], math.Log(reserved/predicted))
		n++
	}
	if n == 0 {
		return nil
	}
	mean, count := 0.0, float64(len(layouts))
	for _, layout := range layouts {
		sum := 0.0
		for _, x := range off[layout] {
			sum += x
		}
		mean += sum / float64(len(off[layout])) / count
	}
	shared, own := variance/2, variance/2
	weight := shared / (shared + own/count)
	a := &Allocator{Before: normal(0, shared), After: normal(weight*mean, shared*(1-weight)), Runs: n}
	a.Factor = units.Rounded(math.Exp(a.After.Mean))
	return a
}

// chain sums up launches, failures and phases; nil where no log has time
// stamps.
func chain(runs []Input) *Chain {
	c := &Chain{Failures: map[string]int{}}
	by := map[logs.PhaseKind][]float64{}
	failed := 0
	for i := range runs {
		l := runs[i].Log
		trained := map[int]bool{}
		for k := range l.Steps {
			trained[l.Steps[k].Launch] = true
		}
		for k := range l.Launches {
			c.Launches++
			if x := &l.Launches[k]; x.Ended.After(x.Began) { // clocks may go back
				c.GPUHours += x.Ended.Sub(x.Began).Hours() * float64(runs[i].Plan.Input.GPUs)
			}
		}
		for k := range l.Failures {
			c.Failures[l.Failures[k].Kind]++
			// What ends before it trains is a mistake of who submits, and ends so again.
			if trained[l.Failures[k].Launch] && l.Failures[k].Kind != "time_limit" {
				failed++
			}
		}
		for k := range l.Phases {
			if q := &l.Phases[k]; q.Seconds > 0 {
				by[q.Kind] = append(by[q.Kind], q.Seconds)
			}
		}
	}
	if c.GPUHours == 0 {
		return nil
	}
	if c.GPUHours = units.Rounded(c.GPUHours); failed > 0 {
		c.GPUHoursBetweenFailures = units.Rounded(c.GPUHours / float64(failed))
	}
	c.Start, c.Load, c.Save, c.Queue = duration(by[logs.Start]), duration(by[logs.Load]), duration(by[logs.Save]), duration(by[logs.Queue])
	return c
}

func duration(seconds []float64) *Duration {
	if len(seconds) == 0 {
		return nil
	}
	slices.Sort(seconds)
	n := len(seconds)
	median := (seconds[(n-1)/2] + seconds[n/2]) / 2
	return &Duration{units.Rounded(units.Seconds(median)), units.Rounded(units.Seconds(seconds[n-1])), n}
}

// links are the largest messages of the tables, those with wrong results left
// out.
func links(runs []Input) []Link {
	out := []Link{}
	for i := range runs {
		for _, t := range runs[i].Log.Tables {
			rows := slices.DeleteFunc(slices.Clone(t.Rows), func(r logs.TableRow) bool { return r.Wrong })
			if len(rows) == 0 {
				continue
			}
			r := slices.MaxFunc(rows, func(a, b logs.TableRow) int { return cmp.Compare(a.Bytes, b.Bytes) })
			l := Link{t.Collective, t.Ranks, t.Nodes, bytesOf(r.Bytes), units.Rounded(units.BytesPerSecond(r.BusBandwidth)), 0}
			if b := benchmarkOf(&t, runs[i].Plan.Mesh.Benchmarks); b != nil && r.Bytes*near >= float64(b.Bytes) {
				l.Predicted = units.Rounded(units.BytesPerSecond(float64(b.Bytes) * busFactor(b.GPUs) / float64(b.Seconds)))
			}
			out = append(out, l)
		}
	}
	return out
}

// timers are the means of the framework's own; nil without any.
func timers(l *logs.Log) map[string]Timer {
	sum := map[string]Timer{}
	for i := range l.Timers {
		t := sum[l.Timers[i].Name]
		sum[l.Timers[i].Name] = Timer{t.Seconds + units.Seconds(l.Timers[i].Seconds), t.Reports + 1}
	}
	for _, name := range slices.Sorted(maps.Keys(sum)) {
		t := sum[name]
		t.Seconds = units.Rounded(t.Seconds / units.Seconds(t.Reports))
		sum[name] = t
	}
	if len(sum) == 0 {
		return nil
	}
	return sum
}
