package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/output"
)

// written is what became of an output folder.
type written struct {
	results   []output.Result
	unclaimed []string // job folders that ndc wrote and no job claims
}

// withOutput opens the output folder, lets work do something with it, and
// closes it. No signal ends the program meanwhile.
func withOutput(path string, work func(*output.Output) diag.List) diag.List {
	signals.hold()
	defer signals.release()
	var diags diag.List
	o, err := output.Open(signals.context(), path)
	if err != nil {
		cannotWrite(&diags, err)
		return diags
	}
	if o.Repaired {
		diags.Warn(IDInterrupted, diag.Range{}, "An interrupted build was found",
			fmt.Sprintf("A build into %s was ended while it replaced files. It is finished now, or undone where somebody changed a file since.", path))
	}
	if o.Unlocked != nil {
		diags.Warn(IDUnlocked, diag.Range{}, "Output folder cannot be locked",
			fmt.Sprintf("The file system of %s has no locks (%v), so that two builds into it at once could mix their files. Build one after the other.", path, o.Unlocked))
	}
	diags.Append(work(o))
	o.Close()
	return diags
}

// write makes folders below out hold their files, all together or none, and
// looks which jobs' folders no job of names claims. Folders are asked for when
// the output folder is locked. While nobody else writes there, more is done when
// all went well.
func write(out string, folders func(*output.Output) []output.Folder, names []string, force bool, more func() diag.List) (written, diag.List) {
	var w written
	diags := withOutput(out, func(o *output.Output) (diags diag.List) {
		results, problems, err := o.Replace(signals.context(), folders(o), force)
		if err != nil {
			cannotWrite(&diags, err)
		}
		for _, p := range problems {
			explained(&diags, p)
		}
		w = written{results: results, unclaimed: unclaimed(o, names)}
		if !diags.HasErrors() && more != nil {
			diags.Append(more())
		}
		return diags
	})
	return w, diags
}

// filesIn reads files of an output folder that is not locked; nil for none, and for what
// is no plain file.
func filesIn(out string) func(name string) []byte {
	return func(name string) []byte {
		content, err := readPlain(filepath.Join(out, filepath.FromSlash(name)), largestFile)
		if err != nil {
			return nil
		}
		return content
	}
}

// files are artifacts as the output folder takes them.
func files(artifacts []backends.Artifact) []output.File {
	list := make([]output.File, len(artifacts))
	for i, a := range artifacts {
		list[i] = output.File(a)
	}
	return list
}

// orElsewhere adds to what keeps files from being written that they may go into another
// folder, of a command whose -o says which.
func orElsewhere(diags diag.List) {
	for i := range diags {
		if slices.Contains([]diag.ID{IDBusy, IDCannotWrite, IDForeignFile}, diags[i].ID) {
			diags[i].Detail += " With -o the files go into another folder."
		}
	}
}

func cannotWrite(diags *diag.List, err error) {
	const summary = "Output cannot be written"
	var busy *output.BusyError
	var unfinished *output.UnfinishedError
	switch {
	case errors.As(err, &busy):
		diags.Error(IDBusy, diag.Range{}, "Another build writes into the output folder", fmt.Sprintf("%v. All files are as they were; wait for it.", err))
	case errors.As(err, &unfinished):
		diags.Error(IDCannotWrite, diag.Range{}, summary, fmt.Sprintf("%v. Some files may be new and others old; the scripts beside them do not start. Mend the cause and build again, which finishes or undoes it.", err))
	default:
		diags.Error(IDCannotWrite, diag.Range{}, summary, fmt.Sprintf("%v. All files are as they were.", err))
	}
}

// explained tells why a file is not replaced.
func explained(diags *diag.List, p output.Problem) {
	switch p.Kind {
	case output.Edited:
		diags.Error(IDEditedFile, diag.Range{}, "A generated file was edited",
			fmt.Sprintf("%s %s. Move your change into the job, or replace the file with --force.", p.Path, p.Why))
	case output.Foreign:
		diags.Error(IDForeignFile, diag.Range{}, "An output would replace a foreign file",
			fmt.Sprintf("%s %s. Move it away, or replace it with --force.", p.Path, p.Why))
	case output.Merged:
		diags.Error(IDForeignFile, diag.Range{}, "A merge is not resolved",
			fmt.Sprintf("%s %s. Take either side of its whole folder (git checkout --ours, or --theirs), and build again.", p.Path, p.Why))
	case output.Windows:
		diags.Error(IDEditedFile, diag.Range{}, "A generated file has other ends of lines",
			fmt.Sprintf("%s %s, as git writes files where core.autocrlf is set, and bash does not run such scripts. A .gitattributes at the top of the repository with the line * -text keeps git from it; check the files out again (git checkout -- .), or replace those that ndc wrote with --force.", p.Path, p.Why))
	case output.Blocked:
		diags.Error(IDCannotWrite, diag.Range{}, "Output cannot be written",
			fmt.Sprintf("%s %s. All files are as they were; move it away.", p.Path, p.Why))
	}
}

// unclaimed lists the jobs' folders that no job claims.
func unclaimed(o *output.Output, names []string) []string {
	var list []string
	for _, b := range o.Builds(func(job, _ string) bool { return slices.Contains(names, job) }) {
		if !slices.Contains(list, b.Job) {
			list = append(list, b.Job)
		}
	}
	return list
}

// describe says in a line what became of the files of a folder: what changed
// by name, as long as that is short.
func describe(r *output.Result) string {
	var parts []string
	add := func(names []string, what string, named bool) {
		switch {
		case len(names) == 0:
		case named && len(names) <= 4:
			parts = append(parts, fmt.Sprintf("%d %s (%s)", len(names), what, strings.Join(names, ", ")))
		default:
			parts = append(parts, fmt.Sprintf("%d %s", len(names), what))
		}
	}
	add(r.Written, "written", len(r.Changed)+len(r.Kept) > 0)
	add(r.Changed, "changed", true)
	add(r.Kept, "kept", false)
	add(r.Removed, "removed", len(r.Changed)+len(r.Kept)+len(r.Written) > 0)
	add(r.Edited, "stale, but edited and so left", true)
	return strings.Join(parts, ", ")
}

// shownPath is a folder of the output folder as a user writes it to a command, none of
// which takes it for an option.
func shownPath(out, path string) string {
	shown := filepath.Join(out, filepath.FromSlash(path))
	if strings.HasPrefix(shown, "-") {
		return "." + string(filepath.Separator) + shown
	}
	return shown
}
