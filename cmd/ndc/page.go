package main

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/output"
	"github.com/ndc-dev/ndc/view/explain"
	"github.com/ndc-dev/ndc/view/page"
)

func newReport(stdout, stderr io.Writer) *cobra.Command {
	var flags inputFlags
	var out string
	var force bool
	c := &cobra.Command{
		Use: "report FILE|DIR", Short: "Write a page of each job's plans: pictures, tables, sources", Args: takes(1, 1, "one FILE or DIR"),
		Long: `Plan as ndc plan does and write JOB-report.html for each job into the folder
given with -o (default: the working directory), or, for one job, into the file
that -o names. A report is one file that loads nothing: warnings first, then of
each plan its pictures, alternatives and explanations, sources last.`,
		RunE: func(c *cobra.Command, args []string) error {
			t := newTerminal(stdout, stderr, flags.json)
			plans, err := planAll(t, args[0], &flags)
			if err != nil {
				return err
			}
			if !t.json {
				t.diagnostics(jobWarnings(plans.list), t.files)
			}
			f, folder := output.Folder{Path: "."}, out
			for _, job := range perJob(plans.list) {
				f.Files = append(f.Files, output.File{Path: strings.ReplaceAll(job[0].job.Folder, "/", "-") + "-report.html", Content: pageOf(job)})
			}
			ext := strings.ToLower(filepath.Ext(out))
			if foreignFormat.MatchString(ext) && ext != ".html" && !isFolder(out) {
				return wrongUsage(c, "-o %s names a file, and reports end in .html. A folder of that name is written %s/.", out, out)
			}
			if ext == ".html" {
				if len(f.Files) != 1 {
					return wrongUsage(c, "-o %s is one file, and there are %d jobs. Choose one with --job and --site, or give a folder.", out, len(f.Files))
				}
				f.Files[0].Path, folder = filepath.Base(out), filepath.Dir(out)
			}
			return putFiles(t, folder, f, force)
		},
	}
	flags.register(c)
	c.Flags().StringVarP(&out, "output", "o", ".", "folder for the reports, or one file .html")
	c.Flags().BoolVar(&force, "force", false, "replace reports that are there")
	return c
}

// perJob puts the plans of one job together, in their order.
func perJob(list []*compiled) (jobs [][]*compiled) {
	for _, c := range list {
		if n := len(jobs); n > 0 && jobs[n-1][0].job.Folder == c.job.Folder {
			jobs[n-1] = append(jobs[n-1], c)
		} else {
			jobs = append(jobs, []*compiled{c})
		}
	}
	return jobs
}

// pageOf is the report of one job.
func pageOf(list []*compiled) []byte {
	var parts []page.Part
	for _, c := range list {
		part := page.Part{Plan: c.plan}
		if c.plan.Feasible {
			part.Subject = c.subject()
			part.Sections = c.explanations()
		}
		parts = append(parts, part)
	}
	return page.Write(list[0].job.Folder, version, parts)
}

// explanations are those of a report: what is told without a topic, and what the
// layout's neighbours are.
func (c *compiled) explanations() []explain.Section {
	p, d := c.plan, compiler.NewDetail(c.job, c.target, c.plan)
	neighbours, err := d.Neighbours(signals.context())
	if err != nil {
		signals.wait()
	}
	return []explain.Section{
		explain.Layout(p, neighbours), explain.Memory(p, p.Memory.Peak.Stage, d.MemoryTerms(p.Memory.Peak.Stage)), explain.Time(p, d.TimeTerms()),
		explain.Communication(p, d.Routes(), d.Kinds(), d.Averaging()), explain.Sensitivity(p, d.Sensitivity()),
	}
}
