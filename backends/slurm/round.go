package slurm

import (
	"strings"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// Round is one allocation in which several builds of one job, which lie in folders
// beside the script, run one after the other.
type Round struct {
	Name       string        // of the script, without its ending
	Job        string        // whose scripts lie in the folders
	Title      string        // what the script is for, in a line
	Directives []string      // of sbatch, but for name and time limit
	Header     string        // of the site's template, whole lines
	Time       units.Seconds // limit of the allocation
	Limit      units.Seconds // of each run
	Runs       []string      // folders, in their order
}

// Allocation is what sbatch is told for an allocation of a job, but for its name
// and time limit: directives, and what the site's template says of them.
func Allocation(j *job.Job, p *plan.Plan) (lines []string, header string, diags diag.List) {
	shared := *j
	shared.Slurm.Signal = "" // it is for the limit of one run, and the allocation has several
	all := directives(&shared, p, Launch{}, &diags)
	if o := overridden(j, p, all, &diags)[job.SBatchHeader]; o != nil {
		header = o.Text
	}
	for _, line := range all {
		if !strings.HasPrefix(line, "--job-name=") && !strings.HasPrefix(line, "--time=") {
			lines = append(lines, line)
		}
	}
	return lines, header, diags
}

type roundView struct {
	Header, Title, ScriptName string
	ScriptPattern, Name       render.Word
	Directives                []string
	SiteLines                 string
	Limit                     int
	JobScript                 render.Word
	Runs                      []render.Word
}

// Artifact is the batch script of the round.
func (r *Round) Artifact() backends.Artifact {
	name := r.Name + ".sbatch"
	v := roundView{
		Header: render.Header, Title: r.Title, ScriptName: name, ScriptPattern: render.Literal(name), Name: render.Literal(r.Name),
		Directives: append([]string{"--job-name=" + r.Job + "-" + r.Name, "--time=" + clock(r.Time)}, r.Directives...), SiteLines: r.Header,
		Limit: int(r.Limit), JobScript: render.Literal(r.Job + ".sbatch"),
	}
	for _, folder := range r.Runs {
		v.Runs = append(v.Runs, render.Literal(folder))
	}
	return backends.Artifact{Path: name, Content: templates.Execute("round.sbatch.tmpl", v)}
}
