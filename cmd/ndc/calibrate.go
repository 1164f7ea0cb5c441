package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/compiler/calibration"
	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/logs"
	"github.com/ndc-dev/ndc/view"
)

// calibrationSuffix ends the names of calibrations.
const calibrationSuffix = ".ndccal.json"

func newCalibrate(stdout, stderr io.Writer) *cobra.Command {
	var planPath, out string
	var asJSON, force bool
	c := &cobra.Command{
		Use: "calibrate LOG|FOLDER…", Short: "Learn from logs how fast a cluster is", Args: takes(1, 1<<16, "logs or folders"),
		Long: `Read logs of runs and what was planned for them, and write what they say of the
machine: how far each part of a step (dense GEMMs, attention, launches, each
link …) is off the prediction, memory, and what runs spend beside training. A
cluster that names the file (calibration = "NAME.ndccal.json") is predicted by it.

FOLDER is what ndc build wrote, or any folder above; below it every folder with a
plan.json and logs is a run. LOG finds its plan beside it or above, or takes that
of --plan. Steps that are not steady are left out, with the reason. Runs of
different layouts tell parts of the step apart; what they cannot tell keeps what
was known before, and is named.`,
		RunE: func(_ *cobra.Command, args []string) error {
			t := newTerminal(stdout, stderr, asJSON)
			if !strings.HasSuffix(out, calibrationSuffix) {
				return usageError(fmt.Sprintf("A calibration is called NAME%s, not %s.", calibrationSuffix, out))
			}
			if _, err := os.Lstat(out); err == nil && !force {
				return usageError(out + " is there; --force replaces it.")
			}
			if err := hasFolder(out); err != nil {
				return err
			}
			f, err := calibrate(args, planPath)
			if err != nil {
				return err
			}
			if err := saveCalibration(out, f); err != nil {
				return err
			}
			if t.json {
				return t.printJSON(f)
			}
			return t.print(view.Calibration(f) + "\nWritten: " + out + "\n")
		},
	}
	c.Flags().StringVar(&planPath, "plan", "", "plan.json of the logs (default: beside them or above)")
	c.Flags().StringVarP(&out, "output", "o", "cluster"+calibrationSuffix, "the file to write")
	c.Flags().BoolVar(&asJSON, "json", false, "print the calibration as JSON")
	c.Flags().BoolVar(&force, "force", false, "replace the file")
	return c
}

// saveCalibration writes a calibration, all of it or nothing.
func saveCalibration(name string, f *calibration.File) error {
	text, err := render.JSON(f)
	if err != nil {
		return err
	}
	if err := saveFile(name, text); err != nil {
		return fmt.Errorf("the calibration cannot be written: %w", cause(err))
	}
	return nil
}

// calibrate reads logs and plans, and says what they tell.
func calibrate(args []string, planPath string) (*calibration.File, error) {
	runs, err := runsOf(args, planPath)
	if err != nil {
		return nil, err
	}
	var inputs []calibration.Input
	var sources []calibration.Source
	plans := map[string]*file.File{}
	for _, plan := range runs.plans {
		if plans[plan], err = readPlan(plan); err != nil {
			return nil, err
		}
	}
	hashed, err := runs.hashed()
	if err != nil {
		return nil, err
	}
	for _, plan := range runs.plans {
		f := plans[plan]
		var parser logs.Parser
		read := []calibration.Source{{Path: filepath.ToSlash(plan), SHA256: hashed.plans[plan]}}
		for _, l := range hashed.logs[plan] {
			if l.copied { // it tells nothing more
				continue
			}
			// A log that grows is read as far as its hash goes.
			if err := readLog(l.name, func(r io.Reader) error { return parser.Read(io.LimitReader(r, l.size)) }); err != nil {
				return nil, err
			}
			read = append(read, calibration.Source{Path: filepath.ToSlash(l.name), SHA256: l.hash})
		}
		if len(read) < 2 {
			continue
		}
		sources = append(sources, read...)
		p := f.Decision()
		markEdited(parser.Log(), plan)
		inputs = append(inputs, calibration.Input{Job: f.Job, Site: f.Site, Engine: engineOf(p.Backend), Plan: p, Log: parser.Log()})
	}
	f, err := calibration.Calibrate(inputs)
	if err != nil {
		return nil, usageError("There is no calibration: " + err.Error() + ".")
	}
	f.NDCVersion, f.Sources = version, sources
	return f, nil
}
