package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/lock"
	"github.com/ndc-dev/ndc/output"
	"github.com/ndc-dev/ndc/view"
)

// decision is what a lock had to do with a plan.
type decision struct {
	note   string    // what is to be told of it; "" when the plan is as it was or the first
	misfit diag.List // a warning when the locked choice does not fit any more
}

// keep lets a locked choice decide the plan, which is what would be chosen
// without it, unless the job has changed or the choice does not fit any more.
func (c *compiled) keep(locked *lock.Plan) {
	if locked == nil {
		return
	}
	if locked.Inputs != lock.Inputs(c.job) {
		c.lock.note = told("the job has changed", c.plan, &locked.Choice)
		return
	}
	var kept *plan.Plan
	why := c.refused(&locked.Choice)
	if why == "" {
		var err error
		if kept, why, err = compiler.Keep(signals.context(), c.job, c.target, c.plan, &locked.Choice, locked.SinceVersion); err != nil {
			signals.wait()
		}
	}
	if kept != nil {
		c.plan = kept
		return
	}
	c.lock.note = told("the locked choice does not fit", c.plan, &locked.Choice)
	c.lock.misfit.Warn(IDLockMisfit, c.job.Sources.Range("backend"), "The locked choice does not fit any more",
		fmt.Sprintf("%s has a layout for %s on %s, chosen by ndc %s: %s. It is chosen anew. A checkpoint of the run may need another layout than it was saved with; with the old version of ndc the old files are built.",
			lock.Name, c.job.Folder, c.job.Backend.Kind, locked.SinceVersion, why))
}

// refused says why the backend does not take an option of a locked choice, as if
// the job asked for it; "" where it takes all. What would be chosen now it takes.
func (c *compiled) refused(locked *plan.Choice) string {
	asked := *c.job
	for i := range option.Options {
		o := &option.Options[i]
		if slices.Contains(locked.Open, o.Name) || o.IsSet(&asked.Execution) || o.Same(&locked.Execution, &c.plan.Execution) {
			continue
		}
		if s, err := o.Setting(o.Text(&locked.Execution)); err == nil && s.Used() {
			s.Pin(&asked.Execution)
		}
	}
	_, diags := find(&asked).Target(&asked)
	for _, d := range diags {
		if d.Severity == diag.Error {
			return strings.TrimSuffix(d.Detail, ".")
		}
	}
	return ""
}

// isKept reports whether the plan is the locked choice, for the job that it was
// locked for.
func (c *compiled) isKept(locked *lock.Plan) bool {
	return locked.Inputs == lock.Inputs(c.job) && lock.SameChoice(&locked.Choice, &plan.Choice{Layout: c.plan.Layout, Execution: c.plan.Execution})
}

// told says that a plan was chosen anew, and what was chosen before. Where
// nothing is feasible, nothing was chosen.
func told(why string, p *plan.Plan, c *plan.Choice) string {
	note := "chosen anew, since " + why
	was := view.Layout(&c.Layout)
	switch {
	case !p.Feasible:
		return ""
	case lock.SameChoice(c, &plan.Choice{Layout: p.Layout, Execution: p.Execution}):
		return note + "; it is the same choice"
	case was == view.Layout(&p.Layout):
		known := slices.DeleteFunc(view.Changes(&p.Layout, &p.Execution, &c.Layout, &c.Execution), func(set string) bool {
			name, _, _ := strings.Cut(set, " = ")
			return slices.Contains(c.Open, name)
		})
		return note + ". Before, " + strings.Join(known, ", ")
	}
	return note + ". Before:\n" + was
}

// readLock reads the lock in a folder of jobs; it is empty when there is none.
func readLock(fsys fs.FS, folder string) (*lock.File, diag.List) {
	return lock.Read(fsys, path.Join(folder, lock.Name))
}

// lockPath is where the lock of some plans lies.
func (p *planned) lockPath() string { return filepath.Join(filepath.FromSlash(p.from), lock.Name) }

// lockWritten is that place if the lock was written, else "".
func (p *planned) lockWritten() string {
	if !p.locked {
		return ""
	}
	return p.lockPath()
}

// inputFiles are the files that say something of a job.
func (p *planned) inputFiles(j *job.Job) []plan.InputFile {
	list := []plan.InputFile{}
	for _, name := range p.workspace.Inputs(j) {
		list = append(list, plan.InputFile{Path: p.place(name), SHA256: output.Hash(unixLines(p.workspace.Files[name]))})
	}
	slices.SortFunc(list, func(a, b plan.InputFile) int { return cmp.Compare(a.Path, b.Path) })
	return list
}

// unixLines is a text with the ends of lines of Unix. A checkout with those of Windows
// says the same (lang, compiler/calibration), so that nothing is stale because of it.
func unixLines(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// locked is the lock as a build leaves it: with the choices of its plans, and
// without those of jobs, backends and sites that are gone. Of FILE alone, jobs of other
// files stay.
func locked(f *lock.File, plans *planned) *lock.File {
	next := &lock.File{Modules: f.Modules, Plans: slices.Clone(f.Plans)}
	w := plans.workspace
	next.Remove(func(p *lock.Plan) bool {
		built := func(c *compiled) bool { return c.job.Name == p.Job && c.job.Site == p.Site }
		has := func(c *compiled) bool { return built(c) && c.job.Backend.Kind == p.Backend && c.plan.Feasible }
		if slices.ContainsFunc(plans.list, built) {
			return plans.all && !slices.ContainsFunc(plans.list, has)
		}
		return !plans.alone && (!slices.Contains(w.Names, p.Job) || p.Site != "" && !slices.Contains(w.Sites, p.Site))
	})
	for _, c := range plans.list {
		if c.plan.Feasible {
			next.Put(lock.Plan{Job: c.job.Name, Backend: c.job.Backend.Kind, Site: c.job.Site, SinceVersion: since(c.plan), Inputs: lock.Inputs(c.job),
				Choice: plan.Choice{Layout: c.plan.Layout, Execution: c.plan.Execution}})
		}
	}
	return next
}

// since is the version of ndc that chose a plan.
func since(p *plan.Plan) string {
	if p.Locked != nil {
		return p.Locked.SinceVersion
	}
	return version
}

// writeLock brings the lock beside the jobs up to date, after the files of a
// build are in their places. It is read once more: another build, into this output
// folder or another, may have written it meanwhile, and none does now. The result
// says whether it was written.
func writeLock(plans *planned) (written bool, diags diag.List) {
	output.Alone(signals.context(), filepath.Dir(plans.lockPath()), func() { written, diags = updateLock(plans) })
	return written, diags
}

// saveModules writes a lock with other modules, and with the choices that stand in it by
// now: a build may have written it meanwhile.
func saveModules(folder, path string, next *lock.File) (err error) {
	output.Alone(signals.context(), filepath.Dir(path), func() {
		if now, diags := readLock(disk{}, folder); !diags.HasErrors() {
			next.Plans = now.Plans
		}
		err = saveFile(path, next.Bytes())
	})
	return err
}

func updateLock(plans *planned) (bool, diag.List) {
	f, diags := readLock(disk{}, plans.from)
	if diags.HasErrors() {
		return false, diags
	}
	next := locked(f, plans).Bytes()
	path := plans.lockPath()
	if now, err := os.ReadFile(path); err == nil && bytes.Equal(now, next) {
		return false, nil
	}
	if err := saveFile(path, next); err != nil {
		diags.Warn(IDNotLocked, diag.Range{}, "The choice is not locked",
			fmt.Sprintf("%s cannot be written: %v. Another version of ndc may choose other layouts for the same jobs.", path, cause(err)))
		return false, diags
	}
	return true, nil
}

// replaceFile gives a file a new content: a reader sees the old one or the new
// one, also when this program is killed. The mode of an old one stays.
func replaceFile(path string, content []byte) error {
	f, err := draftOf(path)
	if err != nil {
		return err
	}
	if old, missing := os.Stat(path); missing == nil {
		err = f.Chmod(old.Mode().Perm())
	}
	if err == nil {
		_, err = f.Write(content)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// draftOf makes a file beside another one that nobody else has: in two containers
// programs may have one number.
func draftOf(path string) (*os.File, error) {
	base := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.new-%d", filepath.Base(path), os.Getpid()))
	for n, name := 1, base; ; n++ {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) || n > 100 {
			return f, err
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
}

// saveFile writes what a user names, all of it or nothing, through links, and into
// what is no regular file, such as a pipe, as it comes.
func saveFile(path string, content []byte) error {
	path, err := behindLinks(path)
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, content, 0o666)
	}
	return replaceFile(path, content)
}

// behindLinks is the file that a path stands for, which need not be there.
func behindLinks(path string) (string, error) {
	for {
		behind, err := filepath.EvalSymlinks(path)
		if err == nil {
			return behind, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		target, err := os.Readlink(path)
		if err != nil {
			return path, nil // no link: it is to be made
		}
		if !filepath.IsAbs(target) {
			folder, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return "", err
			}
			target = filepath.Join(folder, target)
		}
		path = target
	}
}

// lockLine is what a screen says of the lock of one plan, "" for nothing.
func lockLine(d *decision) string {
	var b strings.Builder
	for i, text := range strings.Split(d.note, "\n") {
		title := "Lock"
		if i > 0 {
			title = ""
		}
		if text != "" {
			b.WriteString(line(title, text))
		}
	}
	return b.String()
}
