// Package option lists every axis of a layout and every option of execution
// once, a row each: its name, what may be written for it, where a plan and a
// job keep it, and how people are told of it. The language (lang, lang/schema),
// the checks of pinned values and the changes that may make a job fit (package
// compiler), the plan's JSON (compiler/plan/file) and the summary (view) walk
// these rows and name no axis that is like the others. What a framework does
// with a value is its backend's to say, what the value costs the formulas' of
// memory and estimate.
package option

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// Kind is what the value of a row is.
type Kind uint8

// The kinds of values, with the types that plans and jobs keep them in.
const (
	// Count is a whole number: int in a plan.
	Count Kind = iota
	// Switch is true or false.
	Switch
	// Name is one of Row.Values: a string, or a type that is written as one.
	Name
	// Counts is a list of whole numbers.
	Counts
	// Names is a set of Row.Values.
	Names
)

// Row is what axes and options have in common.
type Row struct {
	Name   string // in the language, with the block in which it stands there, if any: offload.optimizer
	Kind   Kind
	Values []string // of Name and Names: what the language takes
	// Parts are words of a Name that the language takes in a list: together they are
	// one value, which plans spell with a plus between them, in this order.
	Parts []string
	// Absent are words of the field that the language does not take, and why.
	Absent   map[string]string
	Min, Max int    // of Count and Counts; Max 0: no upper bound
	Idle     bool   // a plan in which it does not apply has "", "none" or 0 for it
	Doc      string // for the language reference
	Numerics bool   // another value rounds otherwise, so that another model is learned

	// Words tell of the value in a plan's summary, as a format of the value; ""
	// when the summary tells of it in its own way or not at all.
	Words string
	Place int    // among the words of its kind; rows of one place stand in order
	Quiet string // a value of a Name that goes without saying

	// Plain is the value of a Name that counts as nothing used where jobs prefer and
	// avoid; "none" does in any case. Always says that there is no such value: every
	// plan has one of Values, so that jobs cannot prefer or avoid the row.
	Plain  string
	Always bool

	// Relief is the place of the row among the changes that are tried when
	// nothing fits, cheapest first; 0: it is not tried alone.
	Relief int
}

// partSeparator stands between the parts of a value: attention+moe_router.
const partSeparator = "+"

// Join is the value that some of the parts of a row make together, in the row's order.
func Join(all, some []string) string {
	var words []string
	for _, p := range all {
		if slices.Contains(some, p) {
			words = append(words, p)
		}
	}
	return strings.Join(words, partSeparator)
}

// Split lists the parts of a value; nil for one of Values.
func (r *Row) Split(value string) []string {
	if r.Parts == nil || slices.Contains(r.Values, value) {
		return nil
	}
	return strings.Split(value, partSeparator)
}

// Takes reports whether a word is one of Values, or parts of one as plans spell them.
func (r *Row) Takes(word string) bool {
	return slices.Contains(r.Values, word) || word != "" && Join(r.Parts, r.Split(word)) == word
}

// Allows reports whether a number is within the row's bounds.
func (r *Row) Allows(n int64) bool { return n >= int64(r.Min) && (r.Max == 0 || n <= int64(r.Max)) }

// JSON is the row's name in a plan's JSON.
func (r *Row) JSON() string { return strings.ReplaceAll(r.Name, ".", "_") }

// Axis is one axis of a layout.
type Axis struct {
	Row
	Mesh  bool // it is an axis of the device mesh, which GPUs are shared out to
	Batch bool // it cuts the global batch

	// FreedWith names the axis that has no meaning without this one, and is set
	// free with it.
	FreedWith string
	// FreesAlone says that a constraint on it alone is reason enough to try that.
	FreesAlone bool

	// Cuts lists what the axis cuts into equal parts on any framework; nil for
	// nothing.
	Cuts func(j *job.Job) []Whole

	// Value points at the axis in a layout, Choice at its constraint in a job.
	Value  func(l *plan.Layout) any
	Choice func(c *job.LayoutConstraints) any
}

// Whole is something that an axis cuts into equal parts.
type Whole struct {
	Size int
	Noun string // of one
}

// Option is one option of execution.
type Option struct {
	Row
	// Saves is the value that takes less memory, for Relief.
	Saves string
	// Hides says that the values of the row, in order, take more and more out of a
	// step: no step takes longer with one than with those before it, but for the
	// contention of what runs at once.
	Hides bool

	// Value points at the option in a plan, Choice at what a job says of it.
	Value  func(x *plan.Execution) any
	Choice func(x *job.Execution) any
}

// IsFree reports whether constraints say nothing about the axis.
func (a *Axis) IsFree(c *job.LayoutConstraints) bool {
	return reflect.ValueOf(a.Choice(c)).Elem().IsZero()
}

// Free removes what constraints say about the axis.
func (a *Axis) Free(c *job.LayoutConstraints) { reflect.ValueOf(a.Choice(c)).Elem().SetZero() }

// Counted is the choice of an axis of the kind Count.
func (a *Axis) Counted(c *job.LayoutConstraints) *job.IntChoice {
	return a.Choice(c).(*job.IntChoice)
}

// Text is the axis of a layout as the language spells it.
func (a *Axis) Text(l *plan.Layout) string { return text(a.Value(l)) }

// Spelled is the option of a plan as the language spells it.
func (o *Option) Spelled(x *plan.Execution) string {
	if parts := o.Split(o.Text(x)); parts != nil {
		return text(parts)
	}
	return text(o.Value(x))
}

// Told is the axis of a layout in words, "" when it goes without saying.
func (a *Axis) Told(l *plan.Layout) string { return a.told(a.Value(l)) }

// Told is the option of a plan in words, "" when it goes without saying.
func (o *Option) Told(x *plan.Execution) string { return o.told(o.Value(x)) }

// IsOffload reports whether the option keeps something in host memory.
func (o *Option) IsOffload() bool { return IsOffload(o.Name) }

// IsOffload reports whether the option of a name keeps something in host memory.
func IsOffload(name string) bool { return strings.HasPrefix(name, Offload+".") }

// Save sets the option of a job to the value that takes less memory, and
// returns the assignment as the language spells it.
func (o *Option) Save(x *job.Execution) string {
	var value any
	switch p := o.Choice(x).(type) {
	case *job.Optional[bool]:
		*p, value = job.Some(o.Saves == "true"), o.Saves == "true"
	case *job.Optional[string]:
		*p, value = job.Some(o.Saves), o.Saves
	default:
		panic("option: " + o.Name + " saves no memory")
	}
	return "execution." + o.Name + " = " + text(value)
}

// FindAxis finds an axis by its name; a name that no axis has is a mistake of
// the caller.
func FindAxis(name string) *Axis {
	for i := range Axes {
		if Axes[i].Name == name {
			return &Axes[i]
		}
	}
	panic("option: no axis " + name)
}

// told fills a value, which a pointer leads to, into the words of the row.
func (r *Row) told(pointer any) string {
	v := reflect.ValueOf(pointer).Elem()
	switch {
	case r.Words == "":
		return ""
	case r.Kind == Switch && !v.Bool(), r.Kind == Count && v.Int() <= 1, r.Kind == Name && (v.IsZero() || fmt.Sprint(v) == r.Quiet):
		return ""
	case r.Kind == Switch:
		return r.Words
	}
	return fmt.Sprintf(r.Words, v)
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("option: a value that JSON cannot hold: " + err.Error())
	}
	return string(b)
}
