// Package execution walks what a backend says of the options of execution, one
// row for each: what a plan gets where the job says nothing, what a search may
// choose beside that, why the framework refuses a value, what the option does
// not go together with, and what it becomes in the emitted files. Which versions
// have a value stands in package capability alone; an option that no version of
// a backend has needs no row.
// The package names no framework and no option.
package execution

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends/capability"
	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// Row is what one version of a framework does with one option. E is how its
// backend writes options.
type Row[E any] struct {
	Option string // its name in package option

	// Fill puts the value into a plan. Rows are filled in their order, and look at
	// those before them only. nil: what the job says, and else what does nothing.
	Fill func(j *job.Job, l *plan.Layout, x *plan.Execution)

	// Asks is the feature that a value which does something asks for in a job; nil:
	// that of the value.
	Asks func(j *job.Job) capability.Feature
	// Instead is what the framework has in place of the values that it lacks, for
	// the end of a refusal.
	Instead string
	// Check says why a value that the version has does not go with the rest of a
	// job, "" where it does; nil: it always does.
	Check func(j *job.Job) string

	// Conflicts are the rules of layouts that the option brings.
	Conflicts []target.Rule

	// Offers are the values that may make a step faster than what Fill gives; each
	// is about this option. nil: none.
	Offers func(j *job.Job) []target.Offer
	// Variants are changes that may make a layout fit.
	Variants []target.Variant

	Becomes E
}

// Table is what a version of a framework does with all options.
type Table[E any] struct {
	Kind, Name, Version string // of the backend, as package capability has them
	Rows                []Row[E]
}

// off is a plan that uses no option.
var off = func() (x plan.Execution) {
	for i := range option.Options {
		value := option.Options[i].Off()
		value.Set(&x)
	}
	return x
}()

// Resolver returns the function that fills in the options of a plan. It does not
// allocate.
func (t *Table[E]) Resolver() func(*job.Job, *plan.Layout, *plan.Execution) {
	fills := make([]func(*job.Job, *plan.Layout, *plan.Execution), len(t.Rows))
	for i := range t.Rows {
		if fills[i] = t.Rows[i].Fill; fills[i] == nil {
			fills[i] = option.FindOption(t.Rows[i].Option).Fill
		}
	}
	return func(j *job.Job, l *plan.Layout, x *plan.Execution) {
		*x = off
		for _, fill := range fills {
			fill(j, l, x)
		}
	}
}

// Conflicts are the rules that the options bring, in the order of the rows.
func (t *Table[E]) Conflicts() (rules []target.Rule) {
	for i := range t.Rows {
		rules = append(rules, t.Rows[i].Conflicts...)
	}
	return rules
}

// Offers are the values that a search may choose for speed, in the order of the
// rows.
func (t *Table[E]) Offers(j *job.Job) (all []target.Offer) {
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.Offers == nil {
			continue
		}
		for _, offer := range r.Offers(j) {
			offer.Option = r.Option
			all = append(all, offer)
		}
	}
	return all
}

// Variants are the changes that a search may try for fit, in the order of the
// rows.
func (t *Table[E]) Variants() (all []target.Variant) {
	for i := range t.Rows {
		all = append(all, t.Rows[i].Variants...)
	}
	return all
}

// Silent lists the options of which the version has a value that does something,
// and the table no row: what a job says of them would have no effect.
func (t *Table[E]) Silent() (names []string) {
	for i := range option.Options {
		o := &option.Options[i]
		for _, s := range o.Settings() {
			f, asks := feature(o, &s)
			if asks && t.has(f) && !t.lists(o.Name) && !slices.Contains(names, o.Name) {
				names = append(names, o.Name)
			}
		}
	}
	return names
}

// Check refuses what the job says of an option where the version lacks it, or
// cannot do it beside the rest of the job.
func (t *Table[E]) Check(j *job.Job, refuse func(argument, why string)) {
	for i := range option.Options {
		o := &option.Options[i]
		s, set := o.Chosen(&j.Execution)
		if !set {
			continue
		}
		row := t.row(o.Name)
		f, asks := feature(o, &s)
		others := capability.Alternatives
		if asks && row.Asks != nil { // a part of the value, which has to be named
			f, others = row.Asks(j), capability.Offers
		}
		switch {
		case asks && !t.has(f):
			refuse("execution."+o.Name, sentences(t.lacks(o, &s), row.Instead, others(f)))
		case row.Check != nil:
			if why := row.Check(j); why != "" {
				refuse("execution."+o.Name, why)
			}
		}
	}
}

func (t *Table[E]) lists(name string) bool {
	return slices.ContainsFunc(t.Rows, func(r Row[E]) bool { return r.Option == name })
}

// row is that of an option; an empty one where the backend has none.
func (t *Table[E]) row(name string) *Row[E] {
	if i := slices.IndexFunc(t.Rows, func(r Row[E]) bool { return r.Option == name }); i >= 0 {
		return &t.Rows[i]
	}
	return &Row[E]{Option: name}
}

func (t *Table[E]) has(f capability.Feature) bool { return capability.HasFor(t.Kind, t.Version, f) }

// lacks says which value the version lacks, and which it has.
func (t *Table[E]) lacks(o *option.Option, s *option.Setting) string {
	name := t.Name + " " + t.Version
	var has []string
	for _, offered := range o.Settings() {
		if f, asks := feature(o, &offered); !asks || t.has(f) {
			has = append(has, offered.Quoted())
		}
	}
	if has == nil {
		return fmt.Sprintf("%s has no %s.", name, o.Name)
	}
	return fmt.Sprintf("%s has no %s = %s; it offers %s.", name, o.Name, s.Quoted(), units.List(has, "and"))
}

// feature is what a value of an option asks a framework for; false where every
// framework has it.
func feature(o *option.Option, s *option.Setting) (capability.Feature, bool) {
	all := capability.Feature("execution." + o.Name)
	f := capability.Of(string(all), s)
	return f, (f != all || s.Used()) && capability.Known(f)
}

// sentences joins those that are not empty.
func sentences(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " ")
}
