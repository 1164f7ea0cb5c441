// Package capability is the one table of what each framework version can do:
// features by versions, as data with sources. A backend that refuses an
// argument names the feature, and who else has it is computed here; so no
// backend describes another. The package knows neither jobs nor layouts: which
// feature a job asks for, and how a version carries it out, is for the packages
// megatron, torchtitan and deepspeed; which options a version has stands in
// package schema.
package capability

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/facts"
)

//go:embed backends.jsonl
var backendLines string

//go:embed features.jsonl
var featureLines string

// Feature is what a framework version can or cannot do, named by the argument
// of the language that asks for it: the argument alone, with "=value" where the
// value decides, and with further words for a combination, such as
// "execution.cuda_graphs=layer" or "model.mtp_layers with learned positions".
type Feature string

// Of is the feature that one value of an argument asks for: of its own where
// the table tells the values apart, or else the argument's.
func Of(argument string, value any) Feature {
	if f := Feature(fmt.Sprintf("%s=%v", argument, value)); byFeature[f] != nil {
		return f
	}
	return Feature(argument)
}

// Argument is the argument that asks for the feature, as job.Sources knows it.
func (f Feature) Argument() string {
	if i := strings.IndexAny(string(f), "= "); i >= 0 {
		return string(f[:i])
	}
	return string(f)
}

// Beside is the feature together with another part of the model, where the table tells
// that apart: who has both may be none of those who have each.
func (f Feature) Beside(part string) Feature {
	if both := Feature(string(f) + " with " + part); byFeature[both] != nil {
		return both
	}
	return f
}

// Backend is a framework and its supported versions, oldest first.
type Backend struct {
	Kind     string   `json:"kind"` // label of the backend block
	Name     string   `json:"name"` // as its makers write it
	Versions []string `json:"versions"`
}

// Span is a run of versions that have a feature.
type Span struct {
	From  string `json:"from"`  // the first; "": the oldest
	Until string `json:"until"` // the last; "": the newest
	// Scope says for which jobs, as "for architecture …"; "": for all.
	Scope string `json:"scope"`
}

// Row is one feature.
type Row struct {
	Feature    Feature `json:"feature"`
	What       string  `json:"what"` // noun phrase
	Megatron   []Span  `json:"megatron"`
	TorchTitan []Span  `json:"torchtitan"`
	DeepSpeed  []Span  `json:"deepspeed"`
	Source     string  `json:"source"` // options, files and changes of the frameworks
}

// Spans are the versions of a backend that have the feature; none is nil.
func (r *Row) Spans(kind string) []Span {
	switch kind {
	case "megatron":
		return r.Megatron
	case "torchtitan":
		return r.TorchTitan
	case "deepspeed":
		return r.DeepSpeed
	}
	panic("capability: no backend " + kind)
}

var (
	frameworks = facts.Lines[Backend]("capability: backends.jsonl", backendLines)
	rows       = facts.Lines[Row]("capability: features.jsonl", featureLines)
	byFeature  = index(rows)
)

// Backends lists the frameworks. The caller must not write it.
func Backends() []Backend { return frameworks }

// Rows lists the features in the order of the file. The caller must not write it.
func Rows() []Row { return rows }

func index(all []Row) map[Feature]*Row {
	m := make(map[Feature]*Row, len(all))
	for i := range all {
		if m[all[i].Feature] != nil {
			panic("capability: two rows of " + string(all[i].Feature))
		}
		m[all[i].Feature] = &all[i]
	}
	return m
}

// rowOf finds a feature; a backend that asks for one without a row is a defect.
func rowOf(f Feature) *Row {
	r := byFeature[f]
	if r == nil {
		panic("capability: no feature " + string(f))
	}
	return r
}

// Known reports whether the table has the feature.
func Known(f Feature) bool { return byFeature[f] != nil }

// What names the feature by a noun phrase.
func (f Feature) What() string { return rowOf(f).What }

// Has reports whether a version has the feature, whatever the job.
func Has(kind, version string, f Feature) bool {
	s, ok := scope(backend(kind), version, rowOf(f))
	return ok && s == ""
}

// HasFor reports whether a version has the feature for some jobs at least.
func HasFor(kind, version string, f Feature) bool {
	_, ok := scope(backend(kind), version, rowOf(f))
	return ok
}

// Since is the oldest version that has the feature for some jobs, and last the
// newest; both are empty where none has.
func Since(kind string, f Feature) (first, last string) {
	b := backend(kind)
	for _, v := range b.Versions {
		if _, ok := scope(b, v, rowOf(f)); ok {
			if first == "" {
				first = v
			}
			last = v
		}
	}
	return first, last
}

func backend(kind string) *Backend {
	for i := range frameworks {
		if frameworks[i].Kind == kind {
			return &frameworks[i]
		}
	}
	panic("capability: no backend " + kind)
}

// scope says for which jobs a version has a feature; the widest of its spans
// counts.
func scope(b *Backend, version string, r *Row) (string, bool) {
	at, found, narrow := slices.Index(b.Versions, version), false, ""
	if at < 0 {
		panic("capability: " + b.Name + " has no version " + version)
	}
	for _, s := range r.Spans(b.Kind) {
		first, last := b.bounds(s)
		if at < first || at > last {
			continue
		}
		if s.Scope == "" {
			return "", true
		}
		found, narrow = true, s.Scope
	}
	return narrow, found
}

// bounds are the places of a span among the versions.
func (b *Backend) bounds(s Span) (first, last int) {
	last = len(b.Versions) - 1
	if s.From != "" {
		first = slices.Index(b.Versions, s.From)
	}
	if s.Until != "" {
		last = slices.Index(b.Versions, s.Until)
	}
	if first < 0 || last < first {
		panic(fmt.Sprintf("capability: %s has no versions %q to %q", b.Name, s.From, s.Until))
	}
	return first, last
}
