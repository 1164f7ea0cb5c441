package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/backends/slurm"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/logs"
	"github.com/ndc-dev/ndc/output"
	"github.com/ndc-dev/ndc/tune"
	"github.com/ndc-dev/ndc/view"
)

// readTrial reads the file of a trial; nil without one.
func readTrial(read func(name string) []byte) *tune.File {
	var f tune.File
	if json.Unmarshal(read(output.TrialManifest), &f) != nil || !f.Sound() {
		return nil
	}
	return &f
}

// trialIn reads the trial in a folder and what its logs say.
func trialIn(folder string) (*tune.File, *tune.Result, error) {
	read := filesIn(folder)
	f := readTrial(read)
	if f == nil && read(output.TrialManifest) != nil {
		return nil, nil, usageError(filepath.Join(folder, output.TrialManifest) + " is not as this ndc writes it: cut off, changed since, or of another version.")
	} else if f == nil {
		return nil, nil, usageError(fmt.Sprintf("%s holds no trial: no %s that ndc tune wrote.", folder, output.TrialManifest))
	}
	if packed := packedLogs(folder); len(packed) > 0 {
		return nil, nil, packed[0]
	}
	names, _ := filepath.Glob(filepath.Join(escapeGlob(folder), tune.LogFolder, "round-*.log"))
	byAge(names)
	var attempts []tune.Attempt
	for _, name := range names {
		err := readLog(name, func(r io.Reader) error {
			list, err := tune.Attempts(r)
			attempts = append(attempts, list...)
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	if len(attempts) == 0 && len(names) > 0 {
		return nil, nil, usageError(names[0] + " tells of no run yet.")
	} else if len(attempts) == 0 {
		return nil, nil, notRun(folder, f.Rounds[0].Script)
	}
	of := map[string]*logs.Log{}
	for i := range f.Candidates {
		var parser logs.Parser
		own := filepath.Join(folder, f.Candidates[i].Name)
		if packed := packedLogs(own); len(packed) > 0 {
			return nil, nil, packed[0]
		}
		for _, name := range logsOf(own) {
			if err := readLog(name, parser.Read); err != nil {
				return nil, nil, err
			}
		}
		of[f.Candidates[i].Name] = parser.Log()
		markEdited(parser.Log(), filepath.Join(own, planName))
	}
	r, err := tune.Read(f, attempts, of)
	if err != nil {
		return nil, nil, usageError(fmt.Sprintf("The trial in %s tells nothing: %v.", folder, err))
	}
	return f, r, nil
}

// hasRun reports whether the script of a round has logged anything.
func hasRun(folder, script string) bool {
	names, _ := filepath.Glob(filepath.Join(escapeGlob(folder), tune.LogFolder, strings.TrimSuffix(script, ".sbatch")+"-*.log"))
	return len(names) > 0
}

// calibrationName is what the calibration of a trial is called.
func calibrationName(f *tune.File) string { return f.Job + calibrationSuffix }

// trialFiles are the files of a trial beside its candidates: the scripts of its
// rounds, its calibration if it has one, and its own.
func trialFiles(f *tune.File, calibration []byte) []output.File {
	var list []output.File
	for i := range f.Rounds {
		r := slurm.Round{Name: tune.RoundName(i + 1), Job: f.Job, Directives: f.Directives, Header: f.Header,
			Title: fmt.Sprintf("%s on %s: round %d of a trial, %d runs", f.Job, f.Backend, i+1, len(f.Rounds[i].Runs)),
			Time:  f.Allocation(i), Limit: f.LimitSeconds, Runs: f.Rounds[i].Runs}
		list = append(list, output.File(r.Artifact()))
	}
	if calibration != nil {
		list = append(list, output.File{Path: calibrationName(f), Content: calibration})
	}
	f.Artifacts = []tune.Artifact{{Path: output.TrialManifest}}
	for _, file := range list {
		f.Artifacts = append(f.Artifacts, tune.Artifact{Path: file.Path, SHA256: output.Hash(file.Content)})
	}
	f.Artifacts[0].SHA256 = output.Hash(mustJSON(f))
	return append(list, output.File{Path: output.TrialManifest, Content: mustJSON(f)})
}

// collectTrial tells what a trial has shown, and writes the calibration that its
// runs make.
func collectTrial(t *terminal, folder string, force bool) error {
	f, r, err := trialIn(folder)
	if err != nil {
		return err
	}
	t.unended(r)
	made, err := calibrate([]string{folder}, "")
	if err != nil {
		r.Why = err.Error()
		return t.say(view.TrialResult(r), r)
	}
	text, err := render.JSON(made)
	if err != nil {
		return err
	}
	_, diags := write(folder, func(*output.Output) []output.Folder {
		return []output.Folder{{Path: ".", Files: trialFiles(f, text)}}
	}, nil, force, nil)
	t.diagnostics(diags, nil)
	if diags.HasErrors() { // what the trial has shown needs no file
		r.Why = "its file cannot be put into " + folder
		if err := t.say(view.TrialResult(r), r); err != nil {
			return err
		}
		return exitError(exitInput)
	}
	r.Calibration = filepath.Join(folder, calibrationName(f))
	return t.say(view.TrialResult(r), r)
}

// unended warns where the newest round is read before its end.
func (t *terminal) unended(r *tune.Result) {
	if r.Unended == 0 {
		return
	}
	var diags diag.List
	diags.Warn(IDTrialNotOver, diag.Range{}, "A round has not come to its end",
		fmt.Sprintf("The log of the newest allocation has no end of %s: it goes on, or was cut off. Where it goes on, ask again when it is over; what follows is of the runs so far.", units.Count(r.Unended, "run")))
	t.diagnostics(diags, nil)
}

// ownCalibration is the calibration that an earlier collection wrote; nil without
// one.
func ownCalibration(f *tune.File, read func(name string) []byte) []byte {
	name := calibrationName(f)
	if !slices.ContainsFunc(f.Artifacts, func(a tune.Artifact) bool { return a.Path == name }) {
		return nil
	}
	return read(name)
}
