package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/backends/torchtitan"
	"github.com/ndc-dev/ndc/compiler/calibration"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/logs"
	"github.com/ndc-dev/ndc/view"
)

// pause is how long a log is left alone before it is looked at again.
const pause = 2 * time.Second

func newWatch(stdout, stderr io.Writer) *cobra.Command {
	var planPath string
	var once, asJSON, prometheus bool
	c := &cobra.Command{
		Use: "watch LOG…|FOLDER", Short: "Hold the log of a run against its plan", Args: takes(1, 1<<10, "logs or a folder"),
		Long: `Read the logs of a running or finished job and hold them against its plan: step
time, memory, time left, and where the step is off, which term it most likely is
and what usually causes it. The plan is the plan.json beside the logs or in a
folder above them; FOLDER is what ndc build wrote for one backend, JOB/BACKEND,
whose logs lie in logs/. A log that grows is followed until the run ends, with a
line for every report.

Exit codes: 0 the steady steps and the memory are inside the predicted range; 1
they are not, or there are no steady steps.`,
		RunE: func(_ *cobra.Command, args []string) error {
			t := newTerminal(stdout, stderr, asJSON)
			w := watcher{t: t, prometheus: prometheus, once: once || prometheus}
			if err := w.open(args, planPath); err != nil {
				return err
			}
			return w.run()
		},
	}
	c.Flags().StringVar(&planPath, "plan", "", "plan.json of the run (default: beside the logs or above them)")
	c.Flags().BoolVar(&once, "once", false, "look once, also at a log that grows")
	c.Flags().BoolVar(&asJSON, "json", false, "print results as JSON, one object for every report")
	c.Flags().BoolVar(&prometheus, "prometheus", false, "look once and print metrics in Prometheus' text format")
	c.MarkFlagsMutuallyExclusive("json", "prometheus")
	return c
}

// watcher reads logs as they grow.
type watcher struct {
	t                *terminal
	once, prometheus bool

	folder string // whose logs come one after another; "" for named files
	files  []string
	plan   *plan.Plan
	job    string
	notes  []string // which plan it is, where that is not the one that lies there, and which logs are not read

	parser logs.Parser
	told   int // steps that were reported
}

// open finds logs and plan.
func (w *watcher) open(args []string, planPath string) error {
	for _, arg := range args {
		if _, err := os.Stat(arg); errors.Is(err, fs.ErrNotExist) {
			return noSuch(arg)
		}
	}
	w.files = otherFiles(args)
	if len(args) == 1 && !isFile(args[0]) {
		w.folder = args[0]
		packed := packedLogs(w.folder)
		for _, p := range packed {
			w.notes = append(w.notes, p.Error())
		}
		if w.files = logsOf(w.folder); len(w.files) == 0 {
			if len(packed) > 0 {
				return packed[0]
			}
			return noLogsIn(w.folder)
		}
	}
	if planPath == "" {
		if planPath = planAbove(w.files[0]); planPath == "" {
			return noPlanOf(w.files[0])
		}
		if kept := ranBy(planPath, w.files[len(w.files)-1]); kept != planPath {
			planPath = kept
			w.notes = append(w.notes, "held against "+shortest(kept)+", which the run began with; the folder was built anew since")
		}
	}
	f, err := readPlan(planPath)
	if err != nil {
		return err
	}
	w.plan, w.job = f.Decision(), f.Job
	return nil
}

// noLogsIn tells that a folder is none of a run, and of one that is, where it is that of a
// job or of all jobs.
func noLogsIn(folder string) error {
	for _, below := range []string{"*", "*/*"} {
		plans, _ := filepath.Glob(filepath.Join(escapeGlob(folder), filepath.FromSlash(below), planName))
		for _, plan := range plans {
			if run := filepath.Dir(plan); len(logsOf(run)) > 0 {
				return usageError(fmt.Sprintf("%s holds no logs (logs/*.log). Name the folder of a run, such as %s.", folder, run))
			}
		}
	}
	return usageError(fmt.Sprintf("%s holds no logs (logs/*.log).", folder))
}

// logsOf are the logs in the folder of a backend's files, in the order of their
// submissions.
func logsOf(folder string) []string {
	names := logsLike(folder, "*.log")
	byAge(names)
	return names
}

// logsLike are the files in the folder of a backend's logs whose names match a pattern.
func logsLike(folder, pattern string) []string {
	folder = escapeGlob(folder)
	names, _ := filepath.Glob(filepath.Join(folder, "logs", pattern))
	if len(names) == 0 {
		names, _ = filepath.Glob(filepath.Join(folder, pattern))
	}
	return names
}

// packedLogs are the logs of a folder that a program compressed and gave an ending of its
// own, each as the error that it is. Where the log lies beside it, it is that one's copy.
func packedLogs(folder string) (packed []error) {
	for _, name := range logsLike(folder, "*.log.*") {
		f, err := openLog(name)
		if err == nil {
			f.Close()
		}
		if errors.As(err, new(notText)) && !isFile(strings.TrimSuffix(name, filepath.Ext(name))) {
			packed = append(packed, fmt.Errorf("%s cannot be read: %w", name, err))
		}
	}
	return packed
}

// byAge sorts logs of one folder, whose names end in numbers of jobs.
func byAge(names []string) {
	slices.SortFunc(names, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
}

// planAbove is the plan.json in the folder of a file or one of the three above;
// "" without one.
func planAbove(name string) string {
	dir, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return ""
	}
	for range 4 {
		if p := filepath.Join(dir, planName); isFile(p) {
			return p
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// noPlanOf tells that a log has no plan where planAbove looks.
func noPlanOf(log string) error {
	return usageError(fmt.Sprintf("There is no %s beside %s or above it; name it with --plan.", planName, log))
}

// readPlan reads a plan.json.
func readPlan(name string) (*file.File, error) {
	text, err := readPlain(name, largestFile)
	if err != nil {
		return nil, fmt.Errorf("the plan %s cannot be read: %w", name, cause(err))
	}
	f, err := file.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s is no plan: %w", name, withLine(text, err))
	}
	if !f.Feasible {
		return nil, usageError(name + " holds no feasible plan.")
	}
	return f, nil
}

// run reads until the run has ended, or once.
func (w *watcher) run() error {
	f := follower{line: w.parser.Line}
	defer f.close()
	for {
		if err := f.advance(w.files); err != nil {
			return err
		}
		l := w.parser.Log()
		p := w.progress()
		over := w.once || l.Ended || done(l, p)
		if err := w.tell(p, over); err != nil {
			return err
		}
		if over {
			if !p.Inside {
				return exitError(exitInput)
			}
			return nil
		}
		select {
		case <-signals.context().Done():
			signals.wait()
		case <-time.After(pause):
		}
		if w.folder != "" {
			w.files = logsOf(w.folder)
		}
	}
}

// done reports whether a log has all steps that its run was to have, whoever's run it is.
func done(l *logs.Log, p *calibration.Progress) bool {
	last := l.Last()
	return last != nil && last.Iteration >= p.Steps.Total
}

// progress is how the run stands.
func (w *watcher) progress() *calibration.Progress {
	p := calibration.Watch(w.plan, w.parser.Log(), engineOf(w.plan.Backend))
	p.Job, p.Notes = w.job, append(p.Notes, w.notes...)
	return p
}

// engineOf is the key of a backend's runtime in the data of what was measured.
func engineOf(backend string) string {
	if backend == (torchtitan.Backend{}).Kind() {
		return torchtitan.Engine
	}
	return backend
}

// tell prints how the run stands: a line for new reports, a page at the end.
func (w *watcher) tell(p *calibration.Progress, over bool) error {
	steps := len(w.parser.Log().Steps)
	fresh := steps > w.told
	w.told = steps
	switch {
	case w.prometheus:
		_, err := io.WriteString(w.t.out, view.ProgressMetrics(p))
		return err
	case w.t.json && (fresh || over):
		return w.t.printJSON(p)
	case w.t.json:
		return nil
	case over:
		return w.t.print(view.Progress(p))
	case fresh:
		return w.t.print(view.ProgressLine(p))
	}
	return nil
}
