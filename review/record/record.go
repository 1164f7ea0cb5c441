// Package record is the JSON form of a resolved job, out/JOB/job.json: every
// value that the launch files of the job were made of, with who chose it and
// where. It is part of ndc's contract: within a FormatVersion members may be
// added, never renamed. Package lang says what the values are, package review
// compares two records; plans have a form of their own, compiler/plan/file. It
// reads and writes no files.
package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// FormatVersion is the version of job.json. It changes when a member is
// renamed, removed or changes its meaning.
const FormatVersion = "1.0"

// File is job.json. Values are what all backends of the job have in common,
// Backends what each has beside that, both in the order of their paths. The
// last artifact is the file itself, hashed with that hash empty.
type File struct {
	FormatVersion string             `json:"format_version"`  // of this format; members are added within one and never renamed
	NDCVersion    string             `json:"ndc_version"`     // of the ndc that built the job
	Job           string             `json:"job"`             // the job's name: its label, with for_each LABEL-KEY
	Block         string             `json:"block,omitempty"` // the label of the job's block where for_each or count makes several jobs of it, each of which saves below its own name; absent otherwise
	Site          string             `json:"site,omitempty"`  // the label of the job's site; absent without one
	Values        []Value            `json:"values"`          // what all backends have in common
	Backends      map[string][]Value `json:"backends"`        // what each backend has beside that, by its kind
	Artifacts     []Artifact         `json:"artifacts"`       // the files of the job's folder that are no backend's
}

// Value is one value of a job at its path in the language; below "layout" and
// "execution" stands what the plan settled. Quantities are texts in their
// shortest form; numbers have nine significant digits.
type Value struct {
	Path  string `json:"path"`  // by the words of the language
	Value any    `json:"value"` // text, a number, a truth value, or a list or map of them
	// Origin says who chose the value: "spec:FILE:LINE" the user's files,
	// "module:FILE:LINE" a module, "site:FILE:LINE" a site, "catalog:ENTRY" an entry of the catalogue, "default:" the language,
	// "plan:search" the search, "plan:recommended" the backend. Files are relative
	// to the folder of the job.
	Origin string `json:"origin"`
	// Learned says of an axis of the layout why its value changes what is learned.
	Learned string `json:"learned,omitempty"` // absent where it does not
}

// Artifact is a file of the job's folder with its hash.
type Artifact struct {
	Path   string `json:"path"`   // from the job's folder
	SHA256 string `json:"sha256"` // of its bytes
}

// Of lists the values of a job and of the plan for it, in the order of their
// paths; of a plan without a layout the job's alone. Place tells a file's name as
// the record shall have it.
func Of(j *job.Job, p *plan.Plan, place func(file string) string) []Value {
	origin := func(path string) string { return originOf(j, path, place) }
	var list []Value
	for path, s := range j.Sources {
		switch {
		case s.Value == nil || p.HasLayout() && strings.HasPrefix(path, "execution."):
		case mixed(j, path):
			for key, v := range s.Value.(map[string]any) {
				entry := EntryPath(path, key)
				list = append(list, Value{Path: entry, Value: plain(v), Origin: origin(entry)})
			}
		default:
			list = append(list, Value{Path: path, Value: plain(s.Value), Origin: origin(path)})
		}
	}
	if p.HasLayout() {
		list = append(list, chosen(j, p, origin)...)
	}
	slices.SortFunc(list, func(a, b Value) int { return cmp.Compare(a.Path, b.Path) })
	return list
}

// chosen are the values of the layout and of execution that a plan settled.
func chosen(j *job.Job, p *plan.Plan, origin func(path string) string) (list []Value) {
	for i := range option.Axes {
		a := &option.Axes[i]
		list = append(list, Value{Path: "layout." + a.Name, Value: plain(a.Value(&p.Layout)),
			Origin: settled(j, "constraints.layout."+a.Name, "plan:search", origin), Learned: p.Learns(a.Name)})
	}
	for i := range option.Options {
		o := &option.Options[i]
		list = append(list, Value{Path: "execution." + o.Name, Value: plain(o.Value(&p.Execution)), Origin: settled(j, "execution."+o.Name, "plan:recommended", origin)})
	}
	return list
}

// mixed reports whether a map has entries of several origins, so that each is
// told alone.
func mixed(j *job.Job, path string) bool {
	entries, ok := j.Sources[path].Value.(map[string]any)
	if !ok {
		return false
	}
	for key := range entries {
		if s, ok := j.Sources[EntryPath(path, key)]; ok && s.Origin != j.Sources[path].Origin {
			return true
		}
	}
	return false
}

// EntryPath is the path of an entry of a map whose entries are told one by one.
func EntryPath(path, key string) string { return path + "[" + strconv.Quote(key) + "]" }

// settled is the origin of what a plan has: that of the job where it says one
// value, the plan's where the job leaves a choice.
func settled(j *job.Job, path, chosen string, origin func(string) string) string {
	s := j.Sources[path]
	if s.Value == nil {
		return chosen
	}
	switch v := s.Value.(type) {
	case map[string]any:
		return chosen
	case []any:
		if path != "constraints.layout.stage_layers" && path != "constraints.layout.recompute_modules" && len(v) != 1 {
			return chosen
		}
	}
	return origin(path)
}

func originOf(j *job.Job, path string, place func(file string) string) string {
	s := j.Sources[path]
	switch s.Origin {
	case job.FromSpec:
		return fmt.Sprintf("spec:%s:%d", place(s.Range.Filename), s.Range.Start.Line)
	case job.FromModule, job.FromSite:
		return fmt.Sprintf("%s:%s:%d", s.Origin, place(s.Range.Filename), s.Range.Start.Line)
	case job.FromCatalog:
		return "catalog:" + entryOf(j, path)
	}
	return "default:"
}

// entryOf names the entry of the catalogue that a value comes from.
func entryOf(j *job.Job, path string) string {
	switch root, _, _ := strings.Cut(path, "."); {
	case path == "cluster.gpu" || root == "cluster" && !strings.HasPrefix(path, "cluster.gpu."):
		return j.Cluster.Catalog
	case root == "cluster":
		return j.Cluster.GPU.Catalog
	}
	return j.Model.Catalog
}

// plain is a value as reading the JSON form of it gives it, so that two records
// can be compared whether they were read or made.
func plain(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		panic("record: " + err.Error())
	}
	var read any
	if err := json.Unmarshal(text, &read); err != nil {
		panic("record: " + err.Error())
	}
	return rounded(read)
}

func rounded(v any) any {
	switch v := v.(type) {
	case float64:
		return units.Rounded(v)
	case []any:
		for i := range v {
			v[i] = rounded(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = rounded(v[name])
		}
	case nil:
		return []any{}
	}
	return v
}

// Set gives the file the values of each backend.
func (f *File) Set(backends map[string][]Value) {
	f.Values, f.Backends = []Value{}, map[string][]Value{}
	names := slices.Sorted(maps.Keys(backends))
	shared := map[string]bool{}
	for _, v := range first(names, backends) {
		if !slices.ContainsFunc(names, func(name string) bool { return !has(backends[name], v) }) {
			shared[v.Path] = true
			f.Values = append(f.Values, v)
		}
	}
	for _, name := range names {
		own := []Value{}
		for _, v := range backends[name] {
			if !shared[v.Path] {
				own = append(own, v)
			}
		}
		f.Backends[name] = own
	}
}

// first is the list of the first name.
func first(names []string, lists map[string][]Value) []Value {
	if len(names) == 0 {
		return nil
	}
	return lists[names[0]]
}

func has(list []Value, v Value) bool {
	i, ok := slices.BinarySearchFunc(list, v.Path, func(x Value, path string) int { return cmp.Compare(x.Path, path) })
	return ok && list[i].Origin == v.Origin && reflect.DeepEqual(list[i].Value, v.Value)
}

// Of returns all values of a backend, in the order of their paths; nil when the
// job has no such backend.
func (f *File) Of(backend string) []Value {
	own, ok := f.Backends[backend]
	if !ok {
		return nil
	}
	list := slices.Concat(f.Values, own)
	slices.SortFunc(list, func(a, b Value) int { return cmp.Compare(a.Path, b.Path) })
	return list
}

// Read reads a job.json of this format. It may be anybody's: what ndc would not
// write is an error.
func Read(text []byte) (*File, error) {
	var f File
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	if err := file.Check(f.FormatVersion, FormatVersion, f.names()...); err != nil {
		return nil, err
	}
	for backend := range f.Backends {
		if strings.ContainsAny(backend, `/\`) || backend == "" || backend[0] == '.' {
			return nil, fmt.Errorf("%q is no name of a backend", backend)
		}
	}
	return &f, nil
}

// names are the texts of a file that people are told as they are.
func (f *File) names() []string {
	names := []string{f.Job, f.Block, f.Site}
	lists := append(slices.Collect(maps.Values(f.Backends)), f.Values)
	for _, list := range lists {
		for _, v := range list {
			names = append(names, v.Path, v.Origin)
		}
	}
	return append(names, slices.Collect(maps.Keys(f.Backends))...)
}
