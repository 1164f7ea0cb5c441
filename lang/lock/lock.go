// Package lock is ndc.lock.hcl: what was chosen for each plan, and which modules
// were fetched, so that the same job gives the same files until somebody asks
// for others. It reads and writes the text; when a choice is kept is the
// compiler's business (compiler.Keep), fetching that of package fetch, and the
// disk the command's.
package lock

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
)

// Name is the name of the file, which lies in the folder of the job.
const Name = lang.LockFile

// File is what a lock says. Entries are sorted by what identifies them.
type File struct {
	Modules []Module
	Plans   []Plan
}

// Plan is the choice for one job on one backend.
type Plan struct {
	Job, Backend, Site string // Site is "" without one

	SinceVersion string // of ndc, which made the choice
	Inputs       string // of the job then, see Inputs
	Choice       plan.Choice
}

// Read reads the lock at a path. One that is not there is empty.
func Read(fsys fs.FS, name string) (*File, diag.List) {
	src, diags := lang.ReadFile(fsys, name)
	if diags.HasErrors() {
		if _, err := fs.Stat(fsys, name); errors.Is(err, fs.ErrNotExist) {
			return &File{}, nil
		}
		return nil, diags
	}
	return Parse(src, name)
}

// Find returns the choice for a job on a backend; nil when there is none.
func (f *File) Find(job, backend, site string) *Plan {
	if f == nil {
		return nil
	}
	i := slices.IndexFunc(f.Plans, func(p Plan) bool { return p.Job == job && p.Backend == backend && p.Site == site })
	if i < 0 {
		return nil
	}
	return &f.Plans[i]
}

// Put adds a choice, in place of an earlier one for the same job on the same
// backend. One that says the same keeps the version that it has.
func (f *File) Put(p Plan) {
	there := f.Find(p.Job, p.Backend, p.Site)
	switch {
	case there == nil:
		f.Plans = append(f.Plans, p)
		slices.SortFunc(f.Plans, func(a, b Plan) int {
			return slices.Compare([]string{a.Job, a.Backend, a.Site}, []string{b.Job, b.Backend, b.Site})
		})
	case there.Inputs == p.Inputs && SameChoice(&there.Choice, &p.Choice):
		there.Choice = p.Choice // which may know more
	default:
		*there = p
	}
}

// Remove drops the choices of which gone is true.
func (f *File) Remove(gone func(p *Plan) bool) {
	f.Plans = slices.DeleteFunc(f.Plans, func(p Plan) bool { return gone(&p) })
}

// SameChoice reports whether a choice is another one, as far as it is known.
func SameChoice(a, b *plan.Choice) bool {
	for i := range option.Axes {
		if !slices.Contains(a.Open, option.Axes[i].Name) && !option.Axes[i].Same(&a.Layout, &b.Layout) {
			return false
		}
	}
	for i := range option.Options {
		if !slices.Contains(a.Open, option.Options[i].Name) && !option.Options[i].Same(&a.Execution, &b.Execution) {
			return false
		}
	}
	return true
}

// Inputs is a hash of what the files of a user say of a job, as far as a choice
// could depend on it: values, wherever and however they are written. Defaults,
// the content of the catalogue, names, what was measured on the cluster and what
// only starts the job have no part in it, so that it is the same for every
// version of ndc, and before and after a calibration.
func Inputs(j *job.Job) string {
	var lines []string
	for path, s := range j.Sources {
		if s.Origin == job.FromDefault || s.Origin == job.FromCatalog || s.Value == nil || path == "cluster.calibration" || schema.EffectOf(path) == schema.Launch {
			continue
		}
		lines = append(lines, line(path, s.Value))
	}
	for path, entry := range map[string]string{"model": j.Model.Catalog, "cluster": j.Cluster.Catalog, "cluster.gpu": j.Cluster.GPU.Catalog} {
		lines = append(lines, line(path+".catalog", entry))
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(sum[:])
}

func line(path string, value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic("lock: a value of a job that JSON cannot hold: " + err.Error())
	}
	return fmt.Sprintf("%s = %s\n", path, text)
}
