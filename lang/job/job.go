// Package job is the resolved job: what one backend is asked to run, after
// every reference, default and override of the language has been settled. It
// is plain data with units; it knows neither HCL (package lang makes it) nor
// layouts (package compiler/plan is the decision made from it).
//
// One Job stands for one (job block, backend block) pair: the blocks that a
// backend merges over its job are already merged.
package job

import "github.com/ndc-dev/ndc/diag"

// Job is one training run on one backend.
type Job struct {
	Name        string     // becomes paths and the Slurm name: the label, with for_each LABEL-KEY
	Site        string     `json:"-"` // label of the site block; "" without one. No plan depends on it, nor on the next three
	Block       string     `json:"-"` // label of the job block where for_each or count makes several jobs of it; "" otherwise
	At          diag.Range `json:"-"` // the job block, to its end
	Folder      string     `json:"-"` // of its files, as a slash path: the name, for several sites SITE/NAME
	Backend     Backend
	Model       Model
	Cluster     Cluster
	NodeCounts  []int `json:",omitempty"` // sizes that the run may have, ascending; nil: that of the cluster
	MostNodes   int   `json:"-"`          // of the cluster, where the job says its own number; 0 where it does not. No plan depends on it
	Training    Training
	Constraints Constraints
	Execution   Execution
	// OverlapConfig is execution.tensor_parallel_overlap_config, a file on the cluster
	// that says how each GEMM overlaps; "": the framework decides. No plan depends on it.
	OverlapConfig string `json:",omitempty"`
	Slurm         Slurm
	Templates     *Templates `json:",omitempty"` // nil: none
	Sources       Sources
}

// Sources maps the path of an argument, such as
// "training.global_batch_size", "model.layers" or
// "constraints.layout.tensor_parallel", to where it was written.
// Labels that tell repeated blocks apart are part of a path in brackets:
// `training.data.source["code"].path`; so are elements of lists and maps that
// were written out: "slurm.container.mounts[0]", `slurm.environment["NCCL_DEBUG"]`.
// A labelled block that stands once has its label's range: "training.optimizer".
//
// Arguments that the job was made of have their values too, defaults included,
// as JSON holds them: texts, numbers, truth values, []any and map[string]any.
// Quantities are texts in their shortest form, so that equal amounts are equal
// texts: "30m" for 1800 seconds. Of a labelled block the label is the value.
type Sources map[string]Source

// Source says where a value comes from.
type Source struct {
	Origin Origin
	Range  diag.Range // of the value; zero for defaults
	Value  any        // that the job has there, see Sources
}

// Origin tells who chose a value.
type Origin uint8

// The origins of a value.
const (
	FromDefault Origin = iota // nobody wrote it
	FromSpec                  // the user's files
	FromCatalog               // the built-in catalogue
	FromModule                // a module that they use
	FromSite                  // a site block
	FromTrial                 // ndc tune, which runs a job for a few steps
)

// String returns the word for an origin in comments of emitted files.
func (o Origin) String() string {
	return [...]string{"default", "spec", "catalogue", "module", "site", "trial"}[o]
}

// Range returns where the argument at path was written, or the closest
// enclosing block that was written, or the zero Range.
func (s Sources) Range(path string) diag.Range {
	for path != "" {
		if src, ok := s[path]; ok && !src.Range.IsZero() {
			return src.Range
		}
		path = parent(path)
	}
	return s[""].Range
}

// IsSet reports whether the argument at path was written by the user or by
// the catalogue.
func (s Sources) IsSet(path string) bool {
	src, ok := s[path]
	return ok && src.Origin != FromDefault
}

// parent drops the last element of a path: "a.b" of "a.b.c", "a.b" of `a.b["c"]`.
func parent(path string) string {
	if n := len(path); n > 0 && path[n-1] == ']' {
		for i := n - 1; i > 0; i-- {
			if path[i] == '[' {
				return path[:i]
			}
		}
	}
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '.' {
			return path[:i]
		}
	}
	return ""
}

// Optional is a value that the user may leave to ndc.
type Optional[T any] struct {
	Value T
	Set   bool
}

// Some returns a set Optional.
func Some[T any](v T) Optional[T] { return Optional[T]{Value: v, Set: true} }

// Or returns the value, or other when it was left out.
func (o Optional[T]) Or(other T) T {
	if o.Set {
		return o.Value
	}
	return other
}

// Backend says which framework runs the job.
type Backend struct {
	Kind        string // megatron, torchtitan, deepspeed
	Version     string // as written, such as core_v0.18.2
	Path        string // the framework's checkout at run time; "" when not given
	Required    bool   `json:"-"` // without a feasible plan nothing is built; no plan depends on it
	ExtraArgs   []string
	Environment []Variable
}
