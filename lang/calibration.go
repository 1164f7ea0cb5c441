package lang

import (
	"path"

	"github.com/zclconf/go-cty/cty"

	"github.com/ndc-dev/ndc/compiler/calibration"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// calibration reads what was measured on the job's cluster: the file that the
// cluster names or, below it, the site.
func (c *checker) calibration(p parts) {
	const argument = "cluster.calibration"
	name := p.cluster.text("calibration")
	if name == "" && p.site != nil && p.site.tree != nil {
		if a := p.site.tree.args["calibration"]; a != nil && !a.bad && a.value.Type() == cty.String && !a.value.IsNull() {
			name = a.value.AsString()
			c.job.Sources[argument] = job.Source{Origin: job.FromSite, Range: a.source.Range, Value: name}
		}
	}
	if name == "" {
		return
	}
	s := c.job.Sources[argument]
	file := path.Join(path.Dir(s.Range.Filename), name)
	if path.IsAbs(name) || !within(file, path.Dir(s.Range.Filename)) {
		c.fail(OutsideModule, s.Range, "%q lies outside of the folder of the file that names it. Put the calibration beside it.", name)
		return
	}
	text, ok := c.calibrationFile(file, s.Range)
	if !ok {
		return
	}
	if mergeMark.Match(text) {
		c.fail(InvalidCalibration, s.Range, "%s has the marks of a merge that was not settled. Take either side of it (git checkout --ours, or --theirs), or write it with ndc calibrate from the runs of both.", name)
		return
	}
	gpu := &c.job.Cluster.GPU
	model := &c.job.Model
	if c.diags.HasErrors() {
		model = &job.Model{Name: model.Name}
	}
	read, err := calibration.Read(name, text, model, gpu.Name, gpu.Catalog)
	if err != nil {
		help := "Write it with ndc calibrate, from runs on this machine."
		if s.Origin == job.FromSite {
			help += " A site's is for the clusters of all its jobs; where they are of several kinds, each cluster names its own, and the site none."
		}
		c.fail(InvalidCalibration, s.Range, "%s cannot be used: %v. %s", name, err, help)
		return
	}
	c.job.Cluster.Calibration = read
}

// calibrationFile reads a file that a place names, and keeps it. One of a module is
// read below the folder that names it, wherever links there lead.
func (l *loader) calibrationFile(file string, at diag.Range) ([]byte, bool) {
	if text, read := l.files[file]; read {
		return text, true
	}
	fsys, folder := l.fsys, path.Dir(at.Filename)
	if folder != l.root.folder { // a module's, or a site's in one
		var err error
		if fsys, err = confined(l.fsys, folder); err != nil {
			l.reportAt(unreadable(folder, err), at)
			return nil, false
		}
	}
	text, diags := ReadFile(fsys, file)
	if l.size += len(text); !diags.HasErrors() && l.size > maxFolder {
		diags = fileTooLarge(file)
	}
	if l.reportAt(diags, at); diags.HasErrors() {
		return nil, false
	}
	l.files[file] = text
	return text, true
}
