package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/lock"
	"github.com/ndc-dev/ndc/lang/schema"
	"github.com/ndc-dev/ndc/output"
	"github.com/ndc-dev/ndc/review"
	"github.com/ndc-dev/ndc/review/record"
)

// formats are the forms of a report, the first being the default.
var formats = []string{"text", "json", "markdown", "sarif"}

func newDiff(stdout, stderr io.Writer) *cobra.Command {
	var flags inputFlags
	var base, format, failOn string
	c := &cobra.Command{
		Use: "diff OLD NEW", Short: "Say what a change does to the runs", Args: takes(1, 2, "OLD and NEW, NEW with --base, or REV...REV:PATH"),
		Long: `Compare two builds of jobs, value by value, and say what each change touches:
convergence (what is learned), execution (how it is computed) or launch (how it
is started); what step, memory and GPU-hours were and are; and what becomes of
the checkpoints there are. OLD and NEW are an output folder, the folder of one
job in it, or a FILE or DIR of jobs, which is planned; REV:PATH is one of these
in a revision of the git repository, from its top (REV:./PATH from here).
--base REV takes OLD from that revision at NEW's place, or where git knows it to
have been moved from; REV...REV:PATH is what the second has changed since it
left the first. A value counts, wherever it was written: a default that changed
is a change.`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := jsonFormat(c, flags.json, &format); err != nil {
				return err
			}
			t := newTerminal(stdout, stderr, format == "json" || format == "sarif")
			limit, err := diffOptions(&format, failOn)
			if err != nil {
				return err
			}
			old, new, err := sides(args, base)
			if err != nil {
				return err
			}
			defer old.close()
			defer new.close()
			if len(flags.variables) > 0 && old.isOutput() && new.isOutput() {
				return usageError("OLD and NEW are what builds wrote, in which variables have their values. --var and --var-file are for jobs that are planned.")
			}
			before, err := builds(t, old, known(&flags, &old, &new))
			if err != nil {
				return err
			}
			new.base = old.base && len(before) > 0 // all of OLD is gone
			after, err := builds(t, new, known(&flags, &new, &old))
			if err != nil {
				return err
			}
			if b := flags.backend; b != "" && !hasPlan(before, b) && !hasPlan(after, b) {
				return usageError(fmt.Sprintf("Neither OLD nor NEW has a plan for a backend %q.%s", b, diag.DidYouMean(b, schema.BackendKinds())))
			}
			if old.isOutput() && new.isOutput() {
				if err := haveSites(flags.sites, append(slices.Clone(before), after...)); err != nil {
					return err
				}
			}
			t.diagnostics(sharing(after), nil)
			r := review.Compare(before, after)
			if err := printReport(t, r, format); err != nil {
				return err
			}
			if gravest := r.Gravest(); limit != 0 && gravest != 0 && gravest <= limit {
				return exitError(exitInput)
			}
			return nil
		},
	}
	flags.register(c)
	c.Flags().StringVar(&base, "base", "", "the revision that OLD is taken from")
	c.Flags().StringVar(&format, "format", "", "text, json, markdown (for a comment) or sarif (default: text)")
	c.Flags().StringVar(&failOn, "fail-on", "", "exit with 1 on changes of this effect or a graver one: convergence, execution or launch")
	return c
}

// diffOptions checks the words of the flags; the limit is zero without --fail-on.
func diffOptions(format *string, failOn string) (schema.Effect, error) {
	*format = cmp.Or(*format, formats[0])
	if err := knownFormat(*format, formats); err != nil {
		return 0, err
	}
	limit, ok := schema.ParseEffect(failOn)
	if failOn != "" && !ok {
		names := schema.EffectNames()
		return 0, usageError(fmt.Sprintf("There is no effect %q; they are %s.%s", failOn, diag.OneOf(names), diag.DidYouMean(failOn, names)))
	}
	return limit, nil
}

func printReport(t *terminal, r *review.Report, format string) error {
	switch format {
	case "json":
		return t.printJSON(r)
	case "sarif":
		return t.printJSON(r.SARIF(version))
	case "markdown":
		return t.print(r.Markdown())
	}
	return t.print(r.Text())
}

// side is one side of a comparison: a place on disk or in a revision; the zero
// side has no jobs.
type side struct {
	fsys  fs.FS
	name  string // slash path in fsys
	shown string // as the user wrote it
	rev   string // the revision; "" for a place on disk
	base  bool   // of one place at two times: where it has no jobs, those of the other side are new, or gone
}

// sides finds what the arguments name.
func sides(args []string, base string) (old, new side, err error) {
	if from, to, ok := strings.Cut(args[0], "..."); ok && base == "" && len(args) == 1 {
		return sinceLeft(from, to)
	}
	if base != "" && len(args) != 1 || base == "" && len(args) != 2 {
		return old, new, usageError("Name OLD and NEW, or NEW alone with --base REV, or REV...REV:PATH. Run: ndc diff --help")
	}
	if new, err = sideOf(args[len(args)-1]); err != nil {
		return old, new, err
	}
	if base == "" {
		old, err = sideOf(args[0])
		return old, new, err
	}
	if _, ok := new.fsys.(disk); !ok {
		return old, new, usageError("With --base, NEW is a place on disk, which OLD is looked for in the revision.")
	}
	dir, name := args[0], "."
	if isFile(dir) {
		dir, name = filepath.Dir(dir), filepath.Base(dir)
	}
	old, err = earlier(&new, dir, base, name, base+":"+args[0], "")
	return old, new, err
}

// sinceLeft is what a revision has changed since it left another one, as git
// diff understands A...B; to is the revision, which may have a path behind a
// colon.
func sinceLeft(from, to string) (old, new side, err error) {
	rev, name, ok := strings.Cut(to, ":")
	if !ok {
		name = "./"
	}
	rev, from = cmp.Or(rev, "HEAD"), cmp.Or(from, "HEAD")
	left, err := mergeBase(signals.context(), from, rev)
	if err != nil {
		return old, new, fmt.Errorf("%s and %s cannot be compared: %w", from, rev, err)
	}
	if new, err = sideOf(rev + ":" + name); err != nil {
		return old, new, err
	}
	old, err = earlier(&new, ".", left, fromTop(name), left+":"+name, rev)
	return old, new, err
}

// sideOf is a place on disk, or else REV:PATH.
func sideOf(argument string) (side, error) {
	if _, err := os.Stat(argument); err == nil {
		return side{fsys: disk{}, name: path.Clean(filepath.ToSlash(argument)), shown: argument}, nil
	}
	rev, name, ok := strings.Cut(argument, ":")
	if !ok || rev == "" {
		return side{}, usageError(fmt.Sprintf("There is no %s. A place in a revision of the repository is written REV:PATH.", argument))
	}
	return inRevision(".", rev, fromTop(name), argument)
}

// fromTop marks the PATH of REV:PATH as one from the top of the repository, unless it is
// written as one from here.
func fromTop(name string) string {
	if strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") {
		return name
	}
	return "/" + name
}

// earlier is what a place, which is now, held in a revision before to, or before the
// working tree where that is "": what was moved there, if the revision has no such place, or
// no jobs there that now has, else nothing.
func earlier(now *side, dir, rev, name, shown, to string) (side, error) {
	s, err := inRevision(dir, rev, name, shown)
	var missing usageError
	absent := errors.As(err, &missing)
	if absent || err == nil && now.holdsJobs() && !s.holdsJobs() {
		from, found := movedFrom(signals.context(), dir, rev, to, s.name)
		switch {
		case found:
			is := s.name
			s.close()
			if s, err = inRevision(dir, rev, "/"+from, rev+":"+from); err != nil {
				return s, err
			}
			if s.folder() != s.name {
				is = path.Dir(is)
			}
			s.fsys.(*revision).moved(s.folder(), is)
		case absent:
			return side{}, nil // all of the place is new
		}
	}
	s.base = true
	return s, err
}

// inRevision is a place in a revision of the repository that dir lies in: from
// dir, or from its top when the name begins with a slash. A usage error says that there is
// none, beside the name from the top.
func inRevision(dir, rev, name, shown string) (side, error) {
	r, prefix, err := openRevision(signals.context(), dir, rev)
	if err != nil {
		return side{}, fmt.Errorf("the revision of %s cannot be read: %w", shown, err)
	}
	full := path.Join(prefix, name)
	if strings.HasPrefix(name, "/") {
		full = path.Clean("." + name)
	}
	if _, err := fs.Stat(r, full); err != nil {
		r.blobs.close()
		if what := notFollowed(""); errors.As(err, &what) {
			return side{}, fmt.Errorf("%s cannot be read: %w", shown, what)
		}
		return side{name: full}, usageError(fmt.Sprintf("There is no %s: the revision has no %s.", shown, full))
	}
	return side{fsys: r, name: full, shown: shown, rev: rev}, nil
}

// close lets go of a side whose files are no longer read.
func (s *side) close() {
	if r, ok := s.fsys.(*revision); ok {
		r.blobs.close()
	}
}

// folder is that of the files of the side's jobs.
func (s *side) folder() string {
	if info, err := fs.Stat(s.fsys, s.name); err == nil && info.IsDir() {
		return s.name
	}
	return path.Dir(s.name)
}

// holdsJobs reports whether a folder has files of jobs, or the side is one.
func (s *side) holdsJobs() bool {
	if strings.HasSuffix(s.name, ".hcl") {
		return true
	}
	entries, _ := fs.ReadDir(s.fsys, s.name)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.HasSuffix(e.Name(), ".hcl") })
}

// isOutput reports whether a side is what builds wrote.
func (s *side) isOutput() bool { return s.fsys != nil && !s.holdsJobs() }

func hasPlan(builds []review.Build, backend string) bool {
	return slices.ContainsFunc(builds, func(b review.Build) bool { return b.Plans[backend] != nil })
}

// known is the flags without variables and sites that the other side alone declares:
// what came or went with the change has no value before or after it, and no jobs.
func known(flags *inputFlags, s, other *side) *inputFlags {
	mine := *flags
	mine.variables = slices.DeleteFunc(slices.Clone(flags.variables), func(a lang.VariableArg) bool {
		return a.File == "" && !s.declares(a.Name) && other.declares(a.Name)
	})
	if mine.asked = len(flags.sites); mine.asked > 0 && !s.isOutput() {
		here, there := s.workspace(&mine), other.workspace(&mine)
		mine.sites = slices.DeleteFunc(slices.Clone(flags.sites), func(name string) bool { return !here.HasSite(name) && there.HasSite(name) })
	}
	return &mine
}

// workspace is what the files of a side say, of whichever sites; nothing where it holds
// no jobs.
func (s *side) workspace(flags *inputFlags) *lang.Workspace {
	if s.fsys == nil || !s.holdsJobs() {
		return &lang.Workspace{}
	}
	own := *flags
	own.sites = nil
	w, _ := loadFrom(s.fsys, s.name, &own)
	return w
}

func (s *side) declares(variable string) bool {
	return s.fsys != nil && s.holdsJobs() && lang.Declares(s.fsys, s.name, variable)
}

// builds reads the outputs of a side, or plans its jobs.
func builds(t *terminal, s side, flags *inputFlags) ([]review.Build, error) {
	if s.fsys == nil {
		return nil, nil
	}
	if s.holdsJobs() {
		return planSide(t, s, flags)
	}
	var list []review.Build
	err := fs.WalkDir(s.fsys, s.name, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != s.name && strings.HasPrefix(d.Name(), "."): // git's, and what ndc init fetched: jobs of others
			return fs.SkipDir
		case d.IsDir() || path.Base(name) != output.JobManifest:
			return nil
		}
		dir := path.Dir(name)
		b, err := readBuild(s.fsys, dir, flags)
		if err == nil && (flags.job == "" || flags.job == b.Job || flags.job == b.Block) {
			if below, err := filepath.Rel(s.name, dir); err == nil && below != "." && name != s.name {
				b.Job = filepath.ToSlash(below) // SITE/JOB where a job is built for several sites, FOLDER/out/JOB of several folders of jobs
			}
			list = append(list, b)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", s.shown, err)
	}
	if len(list) == 0 && s.base {
		return nil, nil
	}
	if len(list) == 0 && flags.job != "" {
		return nil, usageError(fmt.Sprintf("%s holds nothing that a build wrote of a job %q.", s.shown, flags.job))
	}
	if len(list) == 0 {
		return nil, usageError(fmt.Sprintf("%s holds neither jobs (*.hcl) nor what a build wrote of them (JOB/%s).", s.shown, output.JobManifest))
	}
	return atSites(list, flags.sites), nil
}

// atSite reports whether a build is for a site, by its label or its address.
func atSite(b *review.Build, site string) bool {
	return b.Site != "" && (site == b.Site || strings.HasSuffix(site, ".site."+b.Site) || strings.HasSuffix(site, fmt.Sprintf(".site[%q]", b.Site)))
}

// atSites leaves out the builds of a job at other sites where there is one at a site that
// is asked for.
func atSites(list []review.Build, sites []string) []review.Build {
	asked := func(b *review.Build) bool {
		return slices.ContainsFunc(sites, func(site string) bool { return atSite(b, site) })
	}
	type job struct{ folder, name string }
	there := map[job]bool{}
	for i := range list {
		if b := &list[i]; asked(b) {
			there[job{b.Folder, b.Name}] = true
		}
	}
	return slices.DeleteFunc(list, func(b review.Build) bool { return there[job{b.Folder, b.Name}] && !asked(&b) })
}

// haveSites finds the site of which no build is.
func haveSites(sites []string, list []review.Build) error {
	for _, site := range sites {
		if !slices.ContainsFunc(list, func(b review.Build) bool { return atSite(&b, site) }) {
			var known []string
			for i := range list {
				known = append(known, list[i].Site)
			}
			return usageError(fmt.Sprintf("Neither OLD nor NEW has a job at a site %q.%s", site, diag.DidYouMean(site, known)))
		}
	}
	return nil
}

// sharing warns of jobs that would save over one another's checkpoints, as where a folder
// of jobs is a copy of another.
func sharing(list []review.Build) (diags diag.List) {
	for _, s := range review.Sharing(list) {
		diags.Warn(lang.SharedCheckpoint, diag.Range{}, "Checkpoints of two jobs in one folder", lang.SharingCheckpoints(s[0], s[1], s[2]))
	}
	return diags
}

// readBuild reads the folder of a job in an output folder.
func readBuild(fsys fs.FS, dir string, flags *inputFlags) (review.Build, error) {
	name := path.Join(dir, output.JobManifest)
	text, err := readPlainFrom(fsys, name, largestFile)
	if err != nil {
		return review.Build{}, fmt.Errorf("%s: %w", name, cause(err))
	}
	f, err := record.Read(text)
	if err != nil {
		return review.Build{}, fmt.Errorf("%s: %w", name, withLine(text, err))
	}
	folder := path.Join(dir, "../..") // of out/JOB or out/SITE/JOB
	if f.Site != "" && path.Base(path.Dir(dir)) == f.Site {
		folder = path.Join(folder, "..")
	}
	b := review.Build{Job: f.Job, Block: f.Block, Name: f.Job, Site: f.Site, Folder: folder, Version: f.NDCVersion, Values: map[string][]record.Value{}, Plans: map[string]*plan.Plan{}}
	for _, backend := range keys(f.Backends) {
		if flags.backend != "" && flags.backend != backend {
			continue
		}
		name := path.Join(dir, backend, planName)
		text, err := readPlainFrom(fsys, name, largestFile)
		if err != nil {
			return b, fmt.Errorf("%s: %w", name, cause(err))
		}
		p, err := file.Read(text)
		if err != nil {
			return b, fmt.Errorf("%s: %w", name, withLine(text, err))
		}
		b.Plans[backend], b.Values[backend] = p.Decision(), f.Of(backend)
	}
	return b, nil
}

// withLine puts the line at which a text ceases to be JSON before the error of
// reading it; errors of what the JSON says stay as they are.
func withLine(text []byte, err error) error {
	var broken *json.SyntaxError
	if !errors.As(err, &broken) {
		return err
	}
	before := text[:max(broken.Offset-1, 0)]
	if bytes.HasPrefix(text[bytes.LastIndexByte(before, '\n')+1:], []byte("<<<<<<< ")) {
		err = errors.New("the marks of a merge that was not settled; take either side of the whole folder (git checkout --ours, or --theirs), and build again")
	}
	return fmt.Errorf("line %d: %w", 1+bytes.Count(before, []byte("\n")), err)
}

// planSide plans the jobs of a side. Plans that are not feasible are
// compared, too.
func planSide(t *terminal, s side, flags *inputFlags) ([]review.Build, error) {
	if flags.asked > 0 && len(flags.sites) == 0 {
		return nil, nil // the other side has all that were asked for
	}
	plans, w, diags := plansOf(s.fsys, s.name, flags)
	if s.base && slices.ContainsFunc(diags, saysNoJob) {
		return nil, nil
	}
	if diags.HasErrors() || t.json {
		t.diagnostics(s.placed(diags, w.Files))
	}
	if diags.HasErrors() {
		return nil, exitError(exitInput)
	}
	var list []review.Build
	for _, c := range plans.list {
		name := path.Dir(c.folder())
		if flags.asked > 1 {
			name = c.job.Site + "/" + c.job.Name // also where this side has but one of them
		}
		if n := len(list); n == 0 || list[n-1].Job != name {
			list = append(list, review.Build{Job: name, Block: c.job.Block, Name: c.job.Name, Site: c.job.Site, Folder: s.folder(), Version: version, Values: map[string][]record.Value{}, Plans: map[string]*plan.Plan{}})
		}
		b := &list[len(list)-1]
		b.Plans[c.job.Backend.Kind], b.Values[c.job.Backend.Kind] = c.plan, record.Of(c.job, c.plan, plans.place)
	}
	return list, nil
}

// saysNoJob reports whether a diagnostic says that there is no such job.
func saysNoJob(d diag.Diagnostic) bool {
	return d.ID == lang.NoJob || d.ID == lang.NoFiles || d.ID == lang.UnknownJob
}

// placed are diagnostics of a side and the files that they point into, by names
// that tell a revision's files from those on disk.
func (s *side) placed(list diag.List, files map[string][]byte) (diag.List, map[string][]byte) {
	if s.rev == "" {
		return list, files
	}
	list, named := slices.Clone(list), make(map[string][]byte, len(files))
	for i := range list {
		d := &list[i]
		d.Range.Filename = s.place(d.Range.Filename)
		if saysNoJob(*d) {
			d.Detail += fmt.Sprintf(" This is said of %s, whose links are not followed.", s.rev)
		}
		if d.ID == lock.IDChanged || d.ID == lock.IDNotFetched {
			d.Detail += fmt.Sprintf(" Where %s locks another version of it than the working tree does, check %[1]s out beside it (git worktree add), run ndc init there and compare the folders, or compare the outputs that are committed.", s.rev)
		}
	}
	for name, text := range files {
		named[s.place(name)] = text
	}
	return list, named
}

// place is the name of a file, with the revision before it when it is of one: what
// the command line says is not.
func (s *side) place(name string) string {
	if info, err := fs.Stat(s.fsys, name); err != nil || info.IsDir() {
		return name
	}
	return s.rev + ":" + name
}
