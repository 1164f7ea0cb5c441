package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/backends/slurm"
	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/goodput"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/output"
	"github.com/ndc-dev/ndc/tune"
	"github.com/ndc-dev/ndc/view"
)

func newTune(stdout, stderr io.Writer) *cobra.Command {
	var flags inputFlags
	var out string
	var hours float64
	var next, collect, force bool
	c := &cobra.Command{
		Use: "tune FILE|DIR|FOLDER", Short: "Try the layouts that may be faster, on the job's own machine", Args: takes(1, 1, "one FILE, DIR or FOLDER"),
		Long: `Write a trial of one job on one backend: its plan and the layouts that may turn out
faster, each with its own files and the job's own data, for a few steps, and a
script that runs them back to back in one allocation, the plan's own first and
last. A layout takes part as long as it is expected to save more GPU-hours of the
training than its run takes, and the trial at most 0.5 % of the training, or
--gpu-hours. What runs out of memory ends its own run only.

--next reads what the trial in FOLDER has logged, keeps the better half of its
candidates, adds those in reserve that this makes worth a run, and writes the next
round, as long as that may save more than it takes. --collect tells how the candidates compare, writes a calibration of the
machine (JOB.ndccal.json, see ndc calibrate), and prints the blocks that pin the
fastest.`,
		RunE: func(c *cobra.Command, args []string) error {
			t := newTerminal(stdout, stderr, flags.json)
			reads := next || collect
			if c.Flags().Changed("gpu-hours") && !(hours > 0 && hours < math.MaxFloat64) {
				return wrongUsage(c, "--gpu-hours is %v, and a trial takes a positive number of GPU-hours.", hours)
			}
			for _, name := range []string{"output", "gpu-hours", "job", "backend", "site", "var", "var-file", "replan"} {
				if reads && c.Flags().Changed(name) {
					return wrongUsage(c, "--%s is for a new trial, and --next and --collect read one that is there.", name)
				}
			}
			switch {
			case next:
				return nextRound(t, args[0], force)
			case collect:
				return collectTrial(t, args[0], force)
			}
			if out == "" {
				out = filepath.Join(filepath.Dir(beside(args[0])), "trial")
			}
			return newTrial(t, args[0], out, &flags, hours, force)
		},
	}
	flags.register(c)
	flags.registerReplan(c)
	c.Flags().StringVarP(&out, "output", "o", "", "folder of the trial (default: trial beside the job file)")
	c.Flags().Float64Var(&hours, "gpu-hours", 0, "the most that the trial may take (default: 0.5 % of the training)")
	c.Flags().BoolVar(&next, "next", false, "write the next round of the trial in FOLDER")
	c.Flags().BoolVar(&collect, "collect", false, "tell what the trial in FOLDER has shown")
	c.Flags().BoolVar(&force, "force", false, "replace foreign and edited files")
	c.MarkFlagsMutuallyExclusive("next", "collect")
	return c
}

// newTrial writes the first round of a trial of the one job that is asked for.
func newTrial(t *terminal, argument, out string, flags *inputFlags, hours float64, force bool) error {
	plans, err := planAll(t, argument, flags)
	if err != nil {
		return err
	}
	if len(plans.list) != 1 {
		return usageError(fmt.Sprintf("A trial is of one plan, and there are %d. Choose with --job, --backend and --site.", len(plans.list)))
	}
	if logged, _ := filepath.Glob(filepath.Join(escapeGlob(out), tune.LogFolder, "*.log*")); len(logged) > 0 {
		return usageError(out + " holds a trial that has run. Go on with --next or --collect, or choose another folder with -o.")
	}
	x := &trial{compiled: plans.list[0]}
	if diags := x.make(hours); diags.HasErrors() {
		t.diagnostics(diags, t.files)
		return exitError(exitInput)
	}
	if !x.round.Worth(x.budget) {
		return t.say(view.NoTrial(&x.file, len(x.rivals)-1), &x.file)
	}
	folders := func(o *output.Output) []output.Folder {
		list := append(x.stale(readTrial(o.Read)), output.Folder{Path: ".", Files: trialFiles(&x.file, nil)})
		for i, m := range x.members {
			list = append(list, output.Folder{Path: x.file.Candidates[i].Name, Files: files(m.artifacts)})
		}
		return list
	}
	_, diags := write(out, folders, nil, force, nil)
	orElsewhere(diags)
	return toldTrial(t, out, &x.file, diags)
}

// trial is a trial in the making.
type trial struct {
	*compiled
	rivals []compiler.Rival
	known  *uncertainty.Joint // of the rivals' times
	steps  int                // of a run
	budget tune.Budget

	round   tune.Round
	members []*compiled // the candidates of the round, in its order
	file    tune.File
}

// make finds the candidates and makes their files. A candidate that cannot be run
// on its own, or that a policy forbids, is left out, and the others chosen anew.
func (x *trial) make(hours float64) (diags diag.List) {
	if x.job.Constraints.Objective == "memory" {
		diags.Error(IDTrialObjective, x.job.Sources.Range("constraints.objective"), "A trial cannot serve the objective",
			"A trial measures the time of steps, and the job asks for the least memory. Set objective = \"throughput\" for it.")
		return diags
	}
	var err error
	if x.rivals, x.known, err = compiler.Rivals(signals.context(), x.job, x.target, x.plan); err != nil {
		signals.wait()
	}
	x.steps = min(tune.Steps(x.plan.Time.StepSeconds, x.job.Training.Precision), x.job.Training.Steps)
	x.budget = tune.Budget{Run: x.plan.Run.GPUHours, Trial: tune.Share * x.plan.Run.GPUHours}
	if hours > 0 {
		x.budget.Trial = min(hours, x.budget.Run) // what takes more than the training saves nothing
	}
	for {
		x.round = tune.Choose(x.known, x.candidates(), x.budget)
		x.members = nil
		wrong := -1
		for _, i := range x.taken() {
			if i > 0 && x.breaksPolicy(&x.rivals[i].Choice) {
				wrong = i
				break
			}
			m, diags := x.member(len(x.members), &x.rivals[i].Choice)
			if diags.HasErrors() {
				return diags
			}
			if m == nil && i == 0 {
				panic("ndc: a plan that cannot be made again")
			}
			if m == nil {
				wrong = i
				break
			}
			x.members = append(x.members, m)
		}
		if wrong < 0 {
			return x.fill()
		}
		x.leaveOut(wrong)
	}
}

// breaksPolicy reports whether the whole job could not be built with a choice: a trial
// that finds it the fastest would tell to pin what a policy forbids.
func (x *trial) breaksPolicy(choice *plan.Choice) bool {
	if x.policies == nil {
		return false
	}
	p, _, err := compiler.Fixed(signals.context(), x.job, x.target, choice)
	if err != nil {
		signals.wait()
	}
	if p == nil {
		return false
	}
	artifacts, diags := find(x.job).Emit(x.job, p)
	if diags.HasErrors() {
		return false // that is told of its files
	}
	c := &compiled{job: x.job, target: x.target, plan: p}
	c.record(artifacts)
	c.hold(x.policies)
	return c.forbidden()
}

// taken are the rivals whose files are made: those of the round, and those that may
// join a later one.
func (x *trial) taken() []int { return slices.Concat(x.round.Candidates, x.round.Reserve) }

// leaveOut takes a rival away.
func (x *trial) leaveOut(rival int) {
	var others []int
	for i := range x.rivals {
		if i != rival {
			others = append(others, i)
		}
	}
	x.rivals, x.known = slices.Delete(x.rivals, rival, rival+1), x.known.Only(others)
}

// candidates are the rivals by what their runs take.
func (x *trial) candidates() []tune.Candidate {
	list := make([]tune.Candidate, len(x.rivals))
	for i := range x.rivals {
		seconds := goodput.StartSeconds(x.job) + units.Seconds(x.steps)*x.rivals[i].StepSeconds
		list[i] = tune.Candidate{GPUHours: seconds.Hours() * float64(x.job.Cluster.GPUs()), Features: x.rivals[i].Features}
	}
	return list
}

// member makes the files of a candidate; nil when the job cannot be run with it
// for a few steps.
func (x *trial) member(number int, choice *plan.Choice) (*compiled, diag.List) {
	short := tune.Short(x.job, x.steps, tune.FolderOf(number))
	backend := find(short)
	target, diags := backend.Target(short)
	if diags.HasErrors() {
		return nil, diags
	}
	p, _, err := compiler.Fixed(signals.context(), short, target, choice)
	if err != nil {
		signals.wait()
	}
	if p == nil {
		return nil, nil
	}
	p.Input.Files, p.Input.SHA256 = x.plan.Input.Files, compiler.Digest(short)
	artifacts, diags := backend.Emit(short, p)
	if diags.HasErrors() {
		return nil, diags
	}
	m := &compiled{job: short, target: target, plan: p}
	m.record(artifacts)
	m.seal()
	return m, nil
}

// fill makes the trial's own file, of what was chosen.
func (x *trial) fill() diag.List {
	f := &x.file
	*f = tune.File{FormatVersion: tune.FormatVersion, NDCVersion: version, Job: x.job.Name, Backend: x.plan.Backend, GPUs: x.plan.Input.GPUs, GPUBytes: x.plan.Memory.GPUBytes, GlobalBatch: x.plan.Input.GlobalBatchSize,
		Steps: x.steps, RunGPUHours: x.plan.Run.GPUHours, BudgetGPUHours: units.Rounded(x.budget.Trial), Rounds: []tune.Held{}, Artifacts: []tune.Artifact{}}
	var diags diag.List
	if f.Directives, f.Header, diags = slurm.Allocation(x.members[0].job, x.members[0].plan); diags.HasErrors() {
		return diags
	}
	all, places := x.candidates(), []int{}
	longest := units.Seconds(0)
	for n, i := range x.taken() {
		r := &x.rivals[i]
		pin, diags := pinBlocks(x.compiled, &r.Choice.Layout, &r.Choice.Execution)
		if diags.HasErrors() {
			return diags
		}
		longest = max(longest, r.StepSeconds)
		_, own := x.members[n].planFile()
		f.Candidates = append(f.Candidates, tune.Member{Name: tune.FolderOf(n), Layout: x.told(i), StepSeconds: r.StepSeconds,
			GPUHours: units.Rounded(all[i].GPUHours), Features: r.Features, DeviceBytes: x.members[n].plan.Memory.Peak.DeviceBytes, Pin: pin, Configuration: own})
		if n < len(x.round.Candidates) {
			places = append(places, n)
		}
	}
	f.Known = x.known.Only(x.taken())
	f.LimitSeconds = tune.Limit(goodput.StartSeconds(x.job), longest, x.steps)
	f.Hold(&tune.Round{Candidates: places, GPUHours: x.round.GPUHours, Gain: x.round.Gain})
	return nil
}

// told is the layout of the plan, and of a rival what it has otherwise.
func (x *trial) told(i int) string {
	of := &x.rivals[i].Choice
	if i == 0 {
		return view.Layout(&of.Layout)
	}
	own := &x.rivals[0].Choice
	return strings.Join(view.Changes(&own.Layout, &own.Execution, &of.Layout, &of.Execution), ", ")
}

// stale are the folders of candidates that an earlier trial has and this one does
// not, without files.
func (x *trial) stale(old *tune.File) (list []output.Folder) {
	if old == nil {
		return nil
	}
	for i := len(x.members); i < len(old.Candidates); i++ {
		list = append(list, output.Folder{Path: tune.FolderOf(i)})
	}
	return list
}

// notRun tells that a round of the trial in a folder has to be submitted first.
func notRun(folder, script string) error {
	return usageError(fmt.Sprintf("%s of the trial has not run. Submit it: sbatch %s", script, render.Quote(filepath.Join(folder, script))))
}

// nextRound writes the next round of a trial, if that may save more than it takes.
func nextRound(t *terminal, out string, force bool) error {
	f, result, err := trialIn(out)
	if err != nil {
		return err
	}
	if last := f.Rounds[len(f.Rounds)-1].Script; !hasRun(out, last) {
		return notRun(out, last)
	}
	t.unended(result)
	round := result.Next(f)
	if !round.Worth(f.Left()) {
		return t.say(view.TrialOver(f, &round, render.Quote(out)), &round)
	}
	f.NDCVersion = version
	f.Hold(&round)
	for _, name := range f.Rounds[len(f.Rounds)-1].Runs {
		if script := filepath.Join(out, name, f.Job+".sbatch"); !isFile(script) {
			return usageError(fmt.Sprintf("The next round runs %s, and there is no %s. Put the folder back; a new trial of the same job, in another folder, has the same.", name, script))
		}
	}
	_, diags := write(out, func(o *output.Output) []output.Folder {
		return []output.Folder{{Path: ".", Files: trialFiles(f, ownCalibration(f, o.Read))}}
	}, nil, force, nil)
	return toldTrial(t, out, f, diags)
}

// toldTrial says what came of writing a trial, and tells of its last round.
func toldTrial(t *terminal, out string, f *tune.File, diags diag.List) error {
	t.diagnostics(diags, nil)
	if diags.HasErrors() {
		return exitError(exitInput)
	}
	return t.say(view.Trial(f, render.Quote(out)), f)
}

// say prints a result, as text or as JSON.
func (t *terminal) say(text string, v any) error {
	if t.json {
		return t.printJSON(v)
	}
	return t.print(text)
}
