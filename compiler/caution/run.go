package caution

import (
	"fmt"
	"math"
	"strings"

	"github.com/ndc-dev/ndc/compiler/goodput"
	"github.com/ndc-dev/ndc/lang/units"
)

// Runs of some length deserve more care than trials.
const (
	longRun    = 1 * units.Hour  // worth saving
	longMock   = 6 * units.Hour  // more than a trial
	unlimited  = 1 * units.Day   // longer than the limit of many partitions
	endless    = 365 * units.Day // a number is wrong
	shortLimit = 1 * units.Hour
	fewSteps   = 20 // of one submission
	manySaves  = 100
	leastKept  = 0.1 // of the time of a run with failures: far below what published runs keep
)

// limit compares the run with what its submissions allow.
func (w *warner) limit() {
	s, r := &w.job.Slurm, &w.plan.Run
	window := goodput.Window(w.job)
	if window <= 0 {
		if s.Time == 0 && r.Seconds > unlimited {
			w.warn(NoTimeLimit, "slurm", "The run takes %s, and slurm.time is not set: the partition's default limit ends it, without the last checkpoint that is saved before a known limit. Set slurm.time to what the partition allows, with chain = \"until_done\".", span(r.Seconds))
		}
		return
	}
	if r.Jobs <= 1 {
		return
	}
	lost := "The last checkpoint is saved, and nothing goes on from it."
	if w.job.Training.Checkpoint.Path == "" {
		lost = "Nothing is saved."
	}
	switch count := s.Chain.Count; {
	case !w.job.Slurm.Chain.IsSet():
		w.warn(RunOutlastsLimit, "slurm.time", "The run takes %s, and one submission trains %s of its limit of %s. %s Set slurm.chain = \"until_done\" with a checkpoint block, or a longer time.", span(r.Seconds), span(window), span(s.Time), lost)
	case !s.Chain.UntilDone && count < r.Jobs:
		fail := ""
		if w.links() > r.Jobs {
			fail = fmt.Sprintf(" Failures, of which %s are expected, end one more each.", units.Significant(r.Failures, 2))
		}
		w.warn(ChainTooShort, "slurm.chain", "%s of %s train %s of the run's %s.%s Set chain = %d or more, or \"until_done\".", units.Count(count, "submission"), span(window), span(window*units.Seconds(count)), span(r.Seconds), fail, w.links())
	}
	if steps := units.Rounded(window / w.plan.Time.StepSeconds); s.Time < shortLimit || steps < fewSteps {
		w.warn(ShortTimeLimit, "slurm.time", "A limit of %s leaves %s to train, %.0f steps of %s, and the run needs %s: most of their time is the queue and the start. Ask for hours, such as time = \"24:00:00\".", span(s.Time), span(window), steps, span(w.plan.Time.StepSeconds), units.Count(r.Jobs, "submission"))
	}
}

// links is how many submissions a run takes with its failures, each of which ends one
// unless spare nodes let it start again.
func (w *warner) links() int {
	r := &w.plan.Run
	if w.job.Slurm.SpareNodes > 0 {
		return r.Jobs
	}
	return r.Jobs + int(math.Round(r.Failures))
}

// broken warns of submissions that would do for the run, but not for its failures. One that
// Slurm requeues starts again.
func (w *warner) broken() {
	s, r := &w.job.Slurm, &w.plan.Run
	count := max(1, s.Chain.Count)
	if s.Chain.UntilDone || s.Requeue.Value || count < r.Jobs || count >= w.links() {
		return // or told by limit
	}
	w.warn(ChainTooShort, "slurm.chain", "%s would do for the run's %s without failures, of which %s are expected. Each ends a submission. Set chain = %d or more, or \"until_done\".",
		units.Count(count, "submission"), span(r.Seconds), units.Significant(r.Failures, 2), w.links())
}

// length warns of a run that nobody means.
func (w *warner) length() {
	r, t := &w.plan.Run, &w.job.Training
	if r.Seconds > endless {
		path := "training.tokens"
		if !w.job.Sources.IsSet(path) {
			path = "training.steps"
		}
		w.warn(LongRun, path, "%s of %s take %s. Train fewer tokens, or use more GPUs.", units.Count(r.Steps, "step"), span(w.plan.Time.StepSeconds), span(r.Seconds))
	}
	if t.Data.Mock && r.Seconds > longMock {
		w.warn(LongMockRun, "training.data.mock", "The run takes %s on %s, and its tokens are made up. Remove mock and name the sources, or train for fewer steps.", span(r.Seconds), units.Count(w.plan.Layout.GPUs(), "GPU"))
	}
}

// hang warns of a watch that takes the steps between two reports, or an evaluation, for a
// hang, and ends every submission there. Saves and validations are told of, too.
func (w *warner) hang() {
	t, allowed := &w.job.Training, w.job.Slurm.HangTimeout.Time
	quiet := max(1, t.Logging.Interval)
	if v := t.Data.Validation; v != nil {
		quiet = min(quiet, v.Interval)
	}
	if c := w.plan.Run.Checkpoints; c != nil {
		quiet = min(quiet, c.IntervalSteps)
	}
	if pause := units.Seconds(quiet) * w.plan.Time.StepSeconds; allowed > 0 && pause > allowed {
		w.warn(HastyHangTimeout, "slurm.hang_timeout", "The ranks report every %s, %s, and after %s of silence the run is taken for hanging and ended. Set a longer time, \"auto\", or a smaller training.logging.interval.", units.Count(quiet, "step"), span(pause), span(allowed))
	}
	if pause := goodput.Evaluation(w.job, w.plan.Time.StepSeconds); allowed > 0 && pause > allowed {
		w.warn(HastyHangTimeout, "slurm.hang_timeout", "The ranks are silent while they evaluate %s, about %s, and after %s of silence the run is taken for hanging and ended. Set a longer time, \"auto\", or a smaller training.data.validation.steps.", units.Count(t.Data.Validation.Steps, "batch"), span(pause), span(allowed))
	}
}

// failures warns of a run that fails so often that little or nothing of it is kept.
func (w *warner) failures() {
	r := &w.plan.Run
	ends := goodput.Ends(w.job, r)
	if ends && (r.ExpectedSeconds == 0 || r.Goodput >= leastKept) {
		return
	}
	becomes := "the run never ends"
	if ends {
		becomes = fmt.Sprintf("the run of %s is expected to take %s", span(r.Seconds), span(r.ExpectedSeconds))
	}
	w.warn(FailuresOutrun, "cluster.reliability", "On %s a failure comes every %s; the next step is %s later, and %s lie between two checkpoints. So %s. Save more often, train on fewer GPUs, or correct the numbers of reliability.",
		units.Count(w.job.Cluster.GPUs(), "GPU"), span(goodput.BetweenFailures(w.job)), span(goodput.StartSeconds(w.job)), span(r.Checkpoints.IntervalSeconds), becomes)
}

// doubtfulLimits compares the limits on the run with what it is expected to take. They
// were held against its prediction, as the order of layouts is; a layout that was
// chosen is expected to take longer, one on a cluster where nothing was measured, too, and
// so is a run with its failures, which only the limit on its time has counted already.
func (w *warner) doubtfulLimits() {
	c, t, r := &w.job.Constraints, &w.plan.Time, &w.plan.Run
	longer := float64(units.Rounded(t.ExpectedSeconds) / units.Rounded(t.StepSeconds))
	var reasons []string
	if t.ChosenAmong > 1 {
		reasons = append(reasons, fmt.Sprintf("the layout was chosen as the best of %d predictions, and such a one errs in its favour on average", t.ChosenAmong))
	}
	if t.UnmeasuredShare > 0 {
		reasons = append(reasons, "steps take longer on average on a cluster where nothing was measured")
	}
	chosen := strings.Join(reasons, "; ") + ". Calibrate, or leave"
	tell := func(name string, set bool, allowed, expected float64, why string, write func(float64) string) {
		if set && expected > allowed {
			w.warn(LimitInDoubt, "constraints."+name, "As it is predicted the run keeps %s = %s. Expected are %s: %s the limit %.1f %% more room.",
				name, write(allowed), write(expected), why, 100*(expected/allowed-1))
		}
	}
	number := func(n float64) string { return units.Significant(n, 5) }
	whole, why := longer, chosen
	if r.ExpectedSeconds > 0 {
		whole, why = float64(r.ExpectedSeconds/r.Seconds), "a run with its failures, saves and starts takes longer. Leave"
	}
	if whole > 1 {
		tell("max_gpu_hours", c.MaxGPUHours.Set, c.MaxGPUHours.Value, r.GPUHours*whole, why, number)
		tell("max_cost", c.MaxCost.Set, c.MaxCost.Value, r.Cost*whole, why, number)
	}
	if longer <= 1 {
		return
	}
	tell("max_training_time", c.MaxTrainingTime.Set, float64(c.MaxTrainingTime.Value), float64(goodput.Longest(w.job, t.ExpectedSeconds)), chosen, clock)
	if mfu := float64(w.plan.Throughput.MFU); mfu > 0 {
		tell("min_mfu", c.MinMFU.Set, 1/c.MinMFU.Value, longer/mfu, chosen, func(n float64) string { return number(1 / n) })
	}
}

// clock writes seconds, which are infinite where failures keep a run from its end.
func clock(seconds float64) string {
	if math.IsInf(seconds, 1) {
		return "more than any number of hours"
	}
	return units.Seconds(seconds).Clock()
}

// unsaved warns of work that nobody will see.
func (w *warner) unsaved() {
	t, r := &w.job.Training, &w.plan.Run
	if t.Checkpoint.Path == "" && !t.Data.Mock && r.Seconds > longRun {
		w.warn(NothingSaved, "training", "The run takes %s, and without a checkpoint block its weights are gone when it ends. Add checkpoint { path = … } to training.", span(r.Seconds))
	}
}

// interval compares the interval of checkpoints that the job gives with the
// run and with one submission.
func (w *warner) interval() {
	c, r := w.plan.Run.Checkpoints, &w.plan.Run
	if c == nil || c.Given == "auto" {
		return
	}
	const path = "training.checkpoint.interval"
	every := fmt.Sprintf("Checkpoints are %s apart", span(c.IntervalSeconds))
	if c.Given == "steps" {
		every = fmt.Sprintf("Checkpoints are %s apart, %s", units.Count(c.IntervalSteps, "step"), span(c.IntervalSeconds))
	}
	window := goodput.Window(w.job)
	switch {
	case c.IntervalSeconds > r.Seconds:
		w.warn(SparseCheckpoints, path, "%s, and the run is %s, %s: only its end is saved, and a failure loses all of it. Use a shorter interval, or \"auto\".", every, units.Count(r.Steps, "step"), span(r.Seconds))
	case window > 0 && c.IntervalSeconds > window && r.Jobs > 1:
		w.warn(SparseCheckpoints, path, "%s, and one submission trains %s: nothing but its end is saved, and a failure loses all of it. Use a shorter interval, or \"auto\".", every, span(window))
	case c.IntervalSeconds < c.SaveSeconds && r.Steps/c.IntervalSteps > manySaves:
		save := "A save of a large model takes about a minute"
		if w.job.Cluster.Storage.Bandwidth > 0 {
			save = fmt.Sprintf("By cluster.storage a save takes %s", span(c.SaveSeconds))
		}
		w.warn(FrequentCheckpoints, path, "%s, and the run saves %d times. %s. Use a longer interval, or \"auto\".", every, r.Steps/c.IntervalSteps, save)
	}
}

// piled warns of checkpoints of which nothing deletes one until the storage is full, at
// which a save, and the run with it, fails.
func (w *warner) piled() {
	c := w.plan.Run.Checkpoints
	if c == nil || w.job.Training.Checkpoint.KeepLast > 0 {
		return
	}
	if float64(c.AllBytes()) > recipes.Checkpoints.Most { // how many there are is told with the run, and changes with every step time
		w.warn(PiledCheckpoints, "training.checkpoint", "Every checkpoint is kept, more than %g PB in all: nothing deletes one. A save fails when the storage is full, and the run ends. Set keep_last, or a longer interval, or delete older ones while the run goes on.", recipes.Checkpoints.Most/1e15)
	}
}

// memory warns where the range of the prediction ends at the GPU.
func (w *warner) memory() {
	m := &w.plan.Memory
	if high := m.Peak.DeviceRangeBytes[1]; m.GPUBytes > 0 && high >= m.GPUBytes {
		w.warn(MemoryReachesGPU, "constraints.memory_headroom", "Rank %d is predicted to need %.1f GiB, with a 90 %% range of %.1f to %.1f GiB, and the GPU has %.1f. At the upper end the allocator has to give back what it caches, which stalls steps, or the run ends out of memory, perhaps after hours. Set constraints.memory_headroom = \"%d%%\", or more.",
			m.Peak.Rank, m.Peak.DeviceBytes.GiB(), m.Peak.DeviceRangeBytes[0].GiB(), high.GiB(), m.GPUBytes.GiB(), w.headroom())
	}
}

// experts warns of buffers of experts that overflow while the router is uneven.
func (w *warner) experts() {
	if r := w.plan.Memory.ExpertRows; r != nil && r.Busiest > r.Buffer {
		w.warn(ExpertsOverflow, "execution.cuda_graphs", "The graph of a whole step has buffers for %.2f times the rows of balanced routing, and while the router is at its most uneven the busiest rank is expected to get %.2f times as many in some layer. Such a step runs again without graph and buffers, and takes more than twice as long as predicted; no token is lost. Give the buffers more room, as the page of the backend says, use fewer ranks for experts, or set cuda_graphs otherwise. model.moe.load_imbalance says what is known of the router.",
			r.Buffer, r.Busiest)
	}
}

// headroom is a share in percent to leave free: 7 keeps the upper end of most
// ranges off the GPU, and where some is left already that is not enough.
func (w *warner) headroom() int {
	if h := w.job.Constraints.MemoryHeadroom; h.Set {
		return int(100*h.Value) + 3
	}
	return 7
}

// span writes a duration for reading.
func span(s units.Seconds) string {
	switch {
	case s >= 2*365*units.Day:
		return fmt.Sprintf("%.1f years", float64(s/units.Day)/365)
	case s >= 4*units.Day:
		return fmt.Sprintf("%.1f days", float64(s/units.Day))
	case s >= 2*units.Hour:
		return fmt.Sprintf("%.1f hours", float64(s/units.Hour))
	case s >= 120:
		return fmt.Sprintf("%.0f minutes", float64(s)/60)
	case s >= 1:
		return fmt.Sprintf("%.1f seconds", float64(s))
	}
	return fmt.Sprintf("%.1f ms", float64(s)*1e3)
}
