package slurm

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/ndc-dev/ndc/compiler/goodput"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// From sbatch(1), --signal: how much earlier than asked for Slurm may send a signal,
// how long before the limit where nothing is said, and the most that it takes.
const (
	slurmEarly   units.Seconds = 60
	signalBefore units.Seconds = 60
	signalMost   units.Seconds = 65535
)

var (
	signalSyntax = regexp.MustCompile(`^(?:([BR]{1,2}):)?(?:SIG)?([A-Z]+[0-9]*|[0-9]+)(?:@([0-9]{1,5}))?$`)
	signalHeard  = regexp.MustCompile(`^(?:R:)?(?:(?:SIG)?TERM|15)(?:@|$)`)
)

// signal asks Slurm to warn before the time limit. Without "B:" the processes of
// the step hear it, of which the ranks save.
func (d *directiveList) signal(p *plan.Plan, l Launch) {
	s := &d.j.Slurm
	text := s.Signal
	if text == "" && warnedBySlurm(d.j, l) {
		text = "auto"
	}
	if text == "" {
		return
	}
	at := d.j.Sources.Range("slurm.signal")
	switch {
	case text == "auto":
		lead := signalLead(d.j, p, l)
		text = fmt.Sprintf("TERM@%.0f", float64(lead))
		if s.Time > 0 && lead >= s.Time {
			d.diags.Error(IDTimeLimitTooShort, at, shortSummary,
				fmt.Sprintf("A step, an evaluation where one is due, a save and the %.0f s by which Slurm may be early take %.0f s, and the limit is %.0f s. Ask for more time, or leave signal out.", float64(slurmEarly), float64(lead), float64(s.Time)))
		}
	case !signalSyntax.MatchString(text) || signalSeconds(text) > signalMost:
		d.diags.Error(IDDirectiveValue, at, valueSummary,
			fmt.Sprintf("%q is no signal as Slurm reads it. Write \"auto\", or SIGNAL@SECONDS such as \"TERM@600\", of at most %.0f s.", text, float64(signalMost)))
		return
	case s.Time > 0 && signalSeconds(text)+slurmEarly >= s.Time:
		d.diags.Error(IDTimeLimitTooShort, at, shortSummary,
			fmt.Sprintf("Slurm sends %q up to %.0f s before it is due, and the limit is %.0f s: it may come when the ranks start. Write \"auto\", fewer seconds, or ask for more time.", text, float64(slurmEarly), float64(s.Time)))
		return
	case !signalHeard.MatchString(text):
		d.diags.Warn(IDSignalNotHeard, at, "No rank listens to this signal",
			fmt.Sprintf("Ranks save and end at SIGTERM. %q is another signal, or one for the batch script alone (B:). It ends them at once, and the job with them, unless a trap of setup or before_launch catches it: all since the last checkpoint is lost. Write \"auto\", or \"TERM@SECONDS\".", text))
	case p.Run.Checkpoints != nil && signalSeconds(text) < signalLead(d.j, p, l)-slurmEarly:
		d.diags.Warn(IDSignalNotHeard, at, "The signal comes too late",
			fmt.Sprintf("Until the ranks hear %q and have saved, %.0f s pass, and %.0f s are left before the limit: the last checkpoint may not be whole, and all since the one before is lost. Write \"auto\", or more seconds.", text, float64(signalLead(d.j, p, l)-slurmEarly), float64(signalSeconds(text))))
	}
	if l.CheckpointPath == "" {
		d.diags.Warn(IDSignalNotHeard, at, "No rank listens to this signal",
			"The job has no training.checkpoint block, so that there is nothing to save before the limit, and SIGTERM ends the ranks at once. Add one, or remove signal.")
	}
	d.always("signal", text)
}

// signalSeconds is how long before the limit Slurm sends a signal as it reads it.
func signalSeconds(text string) units.Seconds {
	if n, err := strconv.Atoi(signalSyntax.FindStringSubmatch(text)[3]); err == nil {
		return units.Seconds(n)
	}
	return signalBefore
}

// warnedBySlurm reports whether ranks can know the time limit from Slurm alone: with nodes
// to spare they count from their own start, which may be the second in an allocation, and
// with time-min Slurm may give less time than slurm.time, as much as fits before other jobs.
func warnedBySlurm(j *job.Job, l Launch) bool {
	shortened := slices.ContainsFunc(j.Slurm.Directives, func(v job.Variable) bool { return v.Name == "time-min" })
	return (j.Slurm.SpareNodes > 0 || shortened) && j.Slurm.Time > 0 && l.CheckpointPath != ""
}

// signalLead is how long before the limit the ranks have to be warned: until
// they look, which they do not while they evaluate, until a checkpoint is saved,
// and what Slurm may be early.
func signalLead(j *job.Job, p *plan.Plan, l Launch) units.Seconds {
	lead := l.Notice + goodput.Evaluation(j, p.Time.StepSeconds) + slurmEarly
	if c := p.Run.Checkpoints; c != nil {
		lead += c.SaveSeconds
	}
	return units.Seconds(math.Ceil(float64(units.Rounded(lead))))
}
