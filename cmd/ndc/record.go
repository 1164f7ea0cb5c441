package main

import (
	"path"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/output"
	"github.com/ndc-dev/ndc/review/record"
	"github.com/ndc-dev/ndc/view"
)

// pageName is the file of a job's folder that people read.
const pageName = "plan.md"

// withJobs adds the folders of whole jobs to those of their plans: what each
// job says, and its plans on a page. A build of some backends only takes the
// rest from an earlier build, which read returns a file of, nil for none.
func (p *planned) withJobs(folders []output.Folder, all bool, read func(name string) []byte) []output.Folder {
	var jobs []*jobFiles
	for _, c := range p.list {
		dir := path.Dir(c.folder())
		i := slices.IndexFunc(jobs, func(j *jobFiles) bool { return j.dir == dir })
		if i < 0 {
			i = len(jobs)
			jobs = append(jobs, &jobFiles{dir: dir, name: c.job.Name, block: c.job.Block, site: c.job.Site, values: map[string][]record.Value{}})
		}
		jobs[i].add(c, p.place)
	}
	for _, j := range jobs {
		if !all {
			j.addEarlier(read)
		}
		folders = append(folders, output.Folder{Path: j.dir, Files: j.files(), Kind: output.JobManifest})
	}
	return folders
}

// place is a file as the record of a job names it: from the folder that was
// built, so that it does not depend on where ndc runs.
func (p *planned) place(name string) string { return lang.PathFrom(p.fsys, p.from, name) }

// jobFiles are the files of a job as a whole, while they are made.
type jobFiles struct {
	dir, name, block, site string
	values                 map[string][]record.Value // by backend
	plans                  []*plan.Plan
}

func (j *jobFiles) add(c *compiled, place func(string) string) {
	j.plans = append(j.plans, c.plan)
	if c.plan.Feasible {
		j.values[c.job.Backend.Kind] = record.Of(c.job, c.plan, place)
	}
}

// addEarlier adds the plans of backends that this build leaves alone.
func (j *jobFiles) addEarlier(read func(name string) []byte) {
	old, err := record.Read(read(path.Join(j.dir, output.JobManifest)))
	if err != nil {
		return
	}
	for _, backend := range keys(old.Backends) {
		if slices.ContainsFunc(j.plans, func(p *plan.Plan) bool { return p.Backend == backend }) {
			continue
		}
		f, err := file.Read(read(path.Join(j.dir, backend, planName)))
		if err != nil || f.Job != j.name || f.Backend != backend {
			continue
		}
		j.plans = append(j.plans, f.Decision())
		j.values[backend] = old.Of(backend)
	}
}

// files are the page and the record, which owns it by its hash, and itself by
// that which it has while its own is empty.
func (j *jobFiles) files() []output.File {
	slices.SortStableFunc(j.plans, func(a, b *plan.Plan) int { return strings.Compare(a.Backend, b.Backend) })
	page := []byte(view.Markdown(j.dir, j.plans))
	f := record.File{FormatVersion: record.FormatVersion, NDCVersion: version, Job: j.name, Block: j.block, Site: j.site,
		Artifacts: []record.Artifact{{Path: output.JobManifest}, {Path: pageName, SHA256: output.Hash(page)}}}
	f.Set(j.values)
	f.Artifacts[0].SHA256 = output.Hash(mustJSON(f))
	return []output.File{{Path: output.JobManifest, Content: mustJSON(f)}, {Path: pageName, Content: page}}
}
