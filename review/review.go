// Package review says what a change does to a run: two builds of jobs go in,
// every value that differs comes out, labelled with what it touches
// (lang/schema's effects), with the predictions of both and what becomes of
// existing checkpoints. Effective values count, so that a changed default or
// entry of the catalogue is a change, wherever nobody touched the job. It plans
// nothing and reads no files: builds come from package record and the plans
// beside it, read or made by the command, which also finds them in revisions.
package review

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/schema"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/review/record"
)

// FormatVersion is the version of a report's JSON. It changes when a member is
// renamed, removed or changes its meaning.
const FormatVersion = "1.0"

// Build is one job as it was built: its values and its plans, both by backend.
type Build struct {
	Job string // as it is told of: its name, or SITE/NAME
	// Block is the label of its block where that makes several jobs, each of which saves
	// below its own Name; "" otherwise.
	Block, Name string
	Site        string // where it runs; "" where none is named
	Folder      string // of the job's files, which places begin with
	Version     string // of the ndc that predicted
	Values      map[string][]record.Value
	Plans       map[string]*plan.Plan
}

// saves is the folder that the job's runs save to, each backend below it; nil when
// nothing is saved.
func (b *Build) saves(values map[string]*record.Value) any {
	v := values["training.checkpoint.path"]
	if v == nil {
		return nil
	}
	if folder, ok := v.Value.(string); ok && b.Block != "" {
		return strings.TrimRight(folder, "/") + "/" + b.Name
	}
	return v.Value
}

// Sharing are jobs of several folders that save to one, each beside the first that does,
// with that folder. Those of one folder of jobs are refused before they are built.
func Sharing(builds []Build) (list [][3]string) {
	type place struct{ site, backend, folder string } // sites have file systems of their own
	first := map[place]*Build{}
	for i := range builds {
		b := &builds[i]
		for _, backend := range slices.Sorted(maps.Keys(b.Values)) {
			folder, ok := b.saves(byPath(b.Values[backend])).(string)
			if !ok {
				continue
			}
			at := place{b.Site, backend, folder}
			other := cmp.Or(first[at], b)
			if first[at] = other; path.Dir(other.Job) != path.Dir(b.Job) {
				list = append(list, [3]string{other.Job, b.Job, folder})
				break
			}
		}
	}
	return list
}

// Report is what changed between two builds.
type Report struct {
	FormatVersion string `json:"format_version"`
	Jobs          []Job  `json:"jobs"`
}

// State says on which side something is.
type State string

// The states.
const (
	Same    State = "same"
	Changed State = "changed"
	Added   State = "added"
	Removed State = "removed"
)

// Job is what changed in one job. Changes stand in the order of their effects,
// the gravest first, and of their paths.
type Job struct {
	Name     string    `json:"job"`
	Was      string    `json:"was,omitempty"` // the job's other name on the old side
	State    State     `json:"state"`
	Changes  []Change  `json:"changes"`
	Backends []Backend `json:"backends"`

	folder string // that places begin with
	at     string // the origin of a value of the job, for what has no place of its own
}

// Change is one value that differs.
type Change struct {
	Path   string `json:"path"`
	Effect string `json:"effect"`
	// Old and New are the values, nil where there is none; their origins as
	// package record has them.
	Old       any    `json:"old"`
	New       any    `json:"new"`
	OldOrigin string `json:"old_origin,omitempty"`
	NewOrigin string `json:"new_origin,omitempty"`
	// Backends are those that the change is about, in the order of their names.
	Backends []string `json:"backends"`
	// Why says what makes the effect graver than the argument alone would be.
	Why string `json:"why,omitempty"`
}

// Backend is what the changes do to the plan of one backend.
type Backend struct {
	Name   string      `json:"backend"`
	State  State       `json:"state"`
	Before *Prediction `json:"before"` // nil: the backend was not there
	After  *Prediction `json:"after"`
	// Checkpoints says what becomes of those of the old build; nil when the backend
	// is on one side only, or when nothing is saved.
	Checkpoints *Fate `json:"checkpoints"`
	// Policies are those that say something else than before.
	Policies []Policy `json:"policies"`
	// Because is what else than values the predictions follow from, and is another: the
	// version of ndc, the content of a calibration. Where no prediction is another it is empty.
	Because []string `json:"because"`

	old, new *plan.Plan
}

// Prediction is what reviewers ask of a plan.
type Prediction struct {
	Feasible    bool          `json:"feasible"`
	StepSeconds units.Seconds `json:"step_seconds"`
	DeviceBytes units.Bytes   `json:"device_bytes"` // of the busiest rank
	MFU         units.Share   `json:"mfu"`
	GPUHours    float64       `json:"gpu_hours"` // of the run
	Seconds     units.Seconds `json:"seconds"`   // of the run
	Steps       int           `json:"steps"`
	GPUs        int           `json:"gpus"`
	// ExpectedSeconds is the run with its failures, zero where the cluster does not
	// say how often there are any; Cost is zero without a price.
	ExpectedSeconds units.Seconds `json:"expected_seconds"`
	Cost            float64       `json:"cost"`
	// Risk is the probability that the run ends out of memory.
	Risk float64 `json:"risk"`
}

func predictionOf(p *plan.Plan) *Prediction {
	if p == nil {
		return nil
	}
	return &Prediction{p.Feasible, p.Time.StepSeconds, p.Memory.Peak.DeviceBytes, p.Throughput.MFU, p.Run.GPUHours, p.Run.Seconds, p.Run.Steps, p.Input.GPUs,
		p.Run.ExpectedSeconds, p.Run.Cost, p.Memory.OOM.Any}
}

// Compare reports what changed from old to new. Jobs are matched by their names;
// of those without a match on either side, what is most alike was renamed or moved.
func Compare(old, new []Build) *Report {
	r := &Report{FormatVersion: FormatVersion, Jobs: []Job{}}
	before, after := byName(old), byName(new)
	was := renamed(before, after)
	for name, b := range after {
		old := cmp.Or(was[name], name)
		j := compare(cmp.Or(before[old], &Build{}), b)
		j.Was = was[name]
		r.Jobs = append(r.Jobs, j)
		delete(before, old)
	}
	for _, b := range before {
		r.Jobs = append(r.Jobs, compare(b, &Build{}))
	}
	slices.SortFunc(r.Jobs, func(a, b Job) int { return cmp.Compare(a.Name, b.Name) })
	return r
}

func byName(builds []Build) map[string]*Build {
	m := map[string]*Build{}
	for i := range builds {
		m[builds[i].Job] = &builds[i]
	}
	return m
}

// without lists the names of builds that others lack, in order.
func without(builds, others map[string]*Build) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(builds)) {
		if others[name] == nil {
			names = append(names, name)
		}
	}
	return names
}

// compare reports on one job; a side without a name has no such job.
func compare(old, new *Build) Job {
	j := Job{Name: cmp.Or(new.Job, old.Job), State: Changed, Changes: []Change{}, Backends: []Backend{}}
	j.folder = cmp.Or(new.Folder, old.Folder)
	j.at = cmp.Or(firstPlace(new.Values), firstPlace(old.Values))
	names := slices.Compact(slices.Sorted(func(yield func(string) bool) {
		for _, plans := range []map[string]*plan.Plan{old.Plans, new.Plans} {
			for name := range plans {
				if !yield(name) {
					return
				}
			}
		}
	}))
	for _, name := range names {
		b := Backend{Name: name, State: Changed, Because: []string{}, Policies: policies(old.Plans[name], new.Plans[name]), old: old.Plans[name], new: new.Plans[name]}
		b.Before, b.After = predictionOf(b.old), predictionOf(b.new)
		switch {
		case b.old == nil:
			b.State = Added
		case b.new == nil:
			b.State = Removed
		default:
			changes := append(differences(b.comparable(old.Values[name], new.Values[name])), moved(old, new)...)
			if len(changes) == 0 && len(b.Policies) == 0 && reflect.DeepEqual(b.Before, b.After) {
				b.State = Same
			}
			b.Checkpoints = fateOf(&b, old, new, changes)
			if b.State == Same && b.Checkpoints != nil && b.Checkpoints.Answer != Keeps {
				b.State = Changed // of another name is another folder
			}
			j.add(name, changes)
			if !reflect.DeepEqual(b.Before, b.After) {
				b.Because = b.causes(old, new)
			}
		}
		j.Backends = append(j.Backends, b)
	}
	j.State = stateOf(old, new, &j)
	slices.SortStableFunc(j.Changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(gravity(a.Effect), gravity(b.Effect)), cmp.Compare(a.Path, b.Path))
	})
	return j
}

// moved is the change of the site at which a job runs, which no value of it says.
func moved(old, new *Build) []Change {
	if old.Site == new.Site {
		return nil
	}
	c := Change{Path: "site", Effect: schema.EffectOf("site").String()}
	if old.Site != "" {
		c.Old = old.Site
	}
	if new.Site != "" {
		c.New = new.Site
	}
	return []Change{c}
}

// causes are the reasons of other predictions that no value tells of.
func (b *Backend) causes(old, new *Build) []string {
	list := []string{}
	if old.Version != new.Version {
		list = append(list, fmt.Sprintf("ndc %s -> %s", printable(old.Version), printable(new.Version)))
	}
	measured := byPath(new.Values[b.Name])["cluster.calibration"]
	if measured == nil {
		return list
	}
	was := map[string]string{}
	for _, f := range b.old.Input.Files {
		was[f.Path] = f.SHA256
	}
	for _, f := range b.new.Input.Files {
		if sum, ok := was[f.Path]; ok && sum != f.SHA256 && path.Base(f.Path) == path.Base(fmt.Sprint(measured.Value)) {
			list = append(list, printable(f.Path)+" is another")
		}
	}
	return list
}

func stateOf(old, new *Build, j *Job) State {
	switch {
	case old.Job == "":
		return Added
	case new.Job == "":
		return Removed
	case old.Job == new.Job && !slices.ContainsFunc(j.Backends, func(b Backend) bool { return b.State != Same }):
		return Same
	}
	return Changed
}

// add puts the changes of a backend beside those of the others; what is the
// same on several stands once.
func (j *Job) add(backend string, changes []Change) {
	told := map[string][]int{} // by path
	for i := range j.Changes {
		told[j.Changes[i].Path] = append(told[j.Changes[i].Path], i)
	}
	for _, c := range changes {
		at := len(j.Changes)
		for _, i := range told[c.Path] {
			if k := &j.Changes[i]; k.Why == c.Why && reflect.DeepEqual([]any{k.Old, k.New, k.OldOrigin, k.NewOrigin}, []any{c.Old, c.New, c.OldOrigin, c.NewOrigin}) {
				at = i
			}
		}
		if at == len(j.Changes) {
			j.Changes = append(j.Changes, c)
		}
		j.Changes[at].Backends = append(j.Changes[at].Backends, backend)
	}
}

// differences lists the values that differ, both lists being in the order of
// their paths.
func differences(old, new []record.Value) []Change {
	old, new = entryByEntry(old, new), entryByEntry(new, old)
	before, after := byPath(old), byPath(new)
	var changes []Change
	add := func(path string, a, b *record.Value) {
		c := Change{Path: path}
		if a != nil {
			c.Old, c.OldOrigin = a.Value, a.Origin
		}
		if b != nil {
			c.New, c.NewOrigin = b.Value, b.Origin
		}
		c.Effect, c.Why = effectOf(path, before, after)
		changes = append(changes, c)
	}
	for i := range old {
		if a, b := &old[i], after[old[i].Path]; b == nil || !reflect.DeepEqual(a.Value, b.Value) {
			add(a.Path, a, b)
		}
	}
	for i := range new {
		if before[new[i].Path] == nil {
			add(new[i].Path, nil, &new[i])
		}
	}
	return changes
}

// entryByEntry is a list with each map in entries that the other list has in entries,
// as record tells a map that several files say together.
func entryByEntry(list, other []record.Value) []record.Value {
	paths := make([]string, len(other))
	for i := range other {
		paths[i] = other[i].Path
	}
	slices.Sort(paths)
	inEntries := func(path string) bool {
		i, _ := slices.BinarySearch(paths, path+"[")
		return i < len(paths) && strings.HasPrefix(paths[i], path+"[")
	}
	var told []record.Value
	for _, v := range list {
		m, _ := v.Value.(map[string]any)
		if m == nil || !inEntries(v.Path) {
			told = append(told, v)
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(m)) {
			told = append(told, record.Value{Path: record.EntryPath(v.Path, key), Value: m[key], Origin: v.Origin})
		}
	}
	return told
}

// comparable leaves out what the plan of one side settled where that of the other is
// not feasible, or has no layout at all: that nothing was chosen is no other choice,
// and the layout that comes nearest none that would run.
func (b *Backend) comparable(old, new []record.Value) (before, after []record.Value) {
	if b.old.HasLayout() == b.new.HasLayout() && b.old.Feasible == b.new.Feasible {
		return old, new
	}
	said := func(list []record.Value) []record.Value {
		return slices.DeleteFunc(slices.Clone(list), func(v record.Value) bool {
			return strings.HasPrefix(v.Path, "layout.") || strings.HasPrefix(v.Path, "execution.") && kindOf(v.Origin) == "plan"
		})
	}
	return said(old), said(new)
}

func byPath(list []record.Value) map[string]*record.Value {
	m := make(map[string]*record.Value, len(list))
	for i := range list {
		m[list[i].Path] = &list[i]
	}
	return m
}

// Gravest returns the effect of the gravest change, zero when nothing changed.
// Jobs and backends that came or went are changes of the launch.
func (r *Report) Gravest() schema.Effect {
	var gravest schema.Effect
	note := func(e schema.Effect) {
		if gravest == 0 || e < gravest {
			gravest = e
		}
	}
	for _, j := range r.Jobs {
		if j.State != Same {
			note(schema.Launch)
		}
		for _, c := range j.Changes {
			note(gravity(c.Effect))
		}
	}
	return gravest
}

func gravity(name string) schema.Effect {
	e, _ := schema.ParseEffect(name)
	return e
}
