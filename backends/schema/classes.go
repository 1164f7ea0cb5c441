package schema

import (
	"fmt"
	"strings"
	"sync"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/facts"
)

// Kind says whose an option is, and so what an extra argument that sets it does
// to the plan.
type Kind string

const (
	// Job: an argument of the job sets it. An extra argument is an error.
	Job Kind = "job"
	// Fixed: ndc's own files depend on it. An extra argument is an error.
	Fixed Kind = "fixed"
	// Planned: the run would not be the one that was planned, and no argument
	// of the job says so. ndc never emits it; an extra argument is an error.
	Planned Kind = "plan"
	// Chosen: ndc's own choice, in whose place an extra argument stands.
	Chosen Kind = "ndc"
	// Counted: as Chosen, but the plan counts ndc's choice: a warning.
	Counted Kind = "counted"
	// Uncounted: ndc never emits it and the plan does not count it: a warning.
	Uncounted Kind = "uncounted"
	// Unread: the program that ndc starts does not read it: a warning.
	Unread Kind = "other"
	// Free: the plan says nothing that it could change.
	Free Kind = "free"
)

// Class is what is known about an option.
type Class struct {
	Kind     Kind   `json:"class"`
	Argument string `json:"argument"` // of the job, for Job
	Why      string `json:"why"`      // half a sentence

	// Options are the names in this class; one that ends in "*" stands for
	// all that begin alike and are named nowhere else.
	Options []string `json:"options"`

	// Refused are values that releases stop at, with the first of these.
	Refused map[string]string `json:"refused,omitempty"`
}

// Classes say for every option of every release of a framework whose it is.
type Classes struct{ content func() *classes }

// classes are what the text says.
type classes struct {
	list     []Class
	exact    map[string]int
	prefixes map[string]int
}

// EmbeddedClasses are classes of one JSON object per line, whose defects are
// the program's own. They are read when they are first asked.
func EmbeddedClasses(jsonl string) *Classes {
	return &Classes{sync.OnceValue(func() *classes {
		c := &classes{exact: map[string]int{}, prefixes: map[string]int{}}
		for _, class := range facts.Lines[Class]("schema: options.jsonl", jsonl) {
			c.add(class)
		}
		return c
	})}
}

func (c *classes) add(class Class) {
	for _, name := range class.Options {
		index := c.exact
		if prefix, ok := strings.CutSuffix(name, "*"); ok {
			name, index = prefix, c.prefixes
		}
		if _, twice := index[name]; twice {
			panic("schema: two classes of " + name)
		}
		index[name] = len(c.list)
	}
	c.list = append(c.list, class)
}

// All returns the classes in the order of the file. The caller must not write them.
func (c *Classes) All() []Class { return c.content().list }

// Of returns the class of an option by any of its names, or by the longest
// beginning that one of them has.
func (c *Classes) Of(o Option) (Class, bool) {
	known := c.content()
	for _, name := range o.Names {
		if i, ok := known.exact[name]; ok {
			return known.list[i], true
		}
	}
	best, found := -1, 0
	for _, name := range o.Names {
		for n := len(name); n > best; n-- {
			if i, ok := known.prefixes[name[:n]]; ok {
				best, found = n, i
				break
			}
		}
	}
	if best < 0 {
		return Class{}, false
	}
	return known.list[found], true
}

// Extra says what extra arguments do to a backend's plan: whose its options
// are, and what it calls the ways in which an argument can meddle with them.
type Extra struct {
	*Classes
	Repeated  diag.ID // error: an argument of the job sets it
	Unplanned diag.ID // error: it would be another run
	Uncounted diag.ID // warning: the plan is without it
}

// Report says what an extra argument that sets an option by one of its names
// does to the plan, if anything.
func (e *Extra) Report(o Option, name string, at diag.Range, diags *diag.List) {
	class, _ := e.Of(o)
	because := ""
	if class.Why != "" {
		because = ": " + class.Why
	}
	switch class.Kind {
	case Job:
		diags.Error(e.Repeated, at, "Extra argument sets a planned option",
			fmt.Sprintf("%s follows from the job and the plan%s. Set %s in place of the extra argument.", name, because, class.Argument))
	case Fixed, Planned:
		diags.Error(e.Unplanned, at, "Extra argument makes another run",
			fmt.Sprintf("With %s the run would not be the one that was planned%s. No argument of the job has it; leave it out.", name, because))
	case Counted:
		diags.Warn(e.Uncounted, at, "Extra argument that the plan does not count",
			fmt.Sprintf("%s stands in place of ndc's choice, which the plan counts%s.", name, because))
	case Uncounted:
		diags.Warn(e.Uncounted, at, "Extra argument that the plan does not count",
			fmt.Sprintf("The plan is without %s%s.", name, because))
	case Unread:
		diags.Warn(e.Uncounted, at, "Extra argument that the plan does not count",
			fmt.Sprintf("The program that ndc starts does not read %s. It is for %s.", name, class.Why))
	}
}

// Replaces reports whether an extra argument stands in place of what ndc emits
// for an option of this class.
func (c Class) Replaces() bool { return c.Kind == Chosen || c.Kind == Counted }
