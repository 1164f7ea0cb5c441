package option

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// Setting is one value of one option of execution.
type Setting struct {
	Option *Option

	on     bool
	number int
	name   string
}

// FindOption finds an option by its name; a name that no option has is a mistake
// of the caller.
func FindOption(name string) *Option {
	for i := range Options {
		if Options[i].Name == name {
			return &Options[i]
		}
	}
	panic("option: no option " + name)
}

// Setting is the value that the language spells so; an error when the option has
// none such.
func (o *Option) Setting(text string) (Setting, error) {
	s := Setting{Option: o}
	var err error
	switch o.Kind {
	case Switch:
		s.on, err = strconv.ParseBool(text)
	case Count:
		s.number, err = strconv.Atoi(text)
	default:
		if s.name = text; !o.Takes(text) {
			err = fmt.Errorf("%s has no value %q", o.Name, text)
		}
	}
	return s, err
}

// Chosen is what a job says of the option; false when it says nothing.
func (o *Option) Chosen(x *job.Execution) (s Setting, ok bool) {
	s.Option = o
	switch p := o.Choice(x).(type) {
	case *job.Optional[bool]:
		s.on, ok = p.Value, p.Set
	case *job.Optional[int]:
		s.number, ok = p.Value, p.Set
	case *job.Optional[string]:
		s.name, ok = p.Value, p.Set
	default:
		panic("option: " + o.Name + " cannot be read")
	}
	return s, ok
}

// Settings are the values of the option that have a place; of a count the
// smallest alone.
func (o *Option) Settings() (all []Setting) {
	switch o.Kind {
	case Switch:
		return []Setting{{Option: o}, {Option: o, on: true}}
	case Count:
		return []Setting{{Option: o, number: o.Min}}
	}
	for _, name := range o.Values {
		all = append(all, Setting{Option: o, name: name})
	}
	return all
}

// Off is the value of the option that does nothing: "" for a name that has no
// such word.
func (o *Option) Off() Setting {
	s := Setting{Option: o, number: o.Min}
	if o.Kind == Name && slices.Contains(o.Values, none) {
		s.name = none
	}
	return s
}

// Used reports whether the value does something.
func (s *Setting) Used() bool {
	switch s.Option.Kind {
	case Switch:
		return used(&s.on)
	case Count:
		return used(&s.number)
	}
	return used(&s.name)
}

// Fill puts what a job says of the option into a plan, if it says anything. It
// does not allocate.
func (o *Option) Fill(j *job.Job, _ *plan.Layout, x *plan.Execution) {
	switch p := o.Choice(&j.Execution).(type) { // not Chosen and Set, because searches do this for every floor
	case *job.Optional[bool]:
		if p.Set {
			*o.Value(x).(*bool) = p.Value
		}
	case *job.Optional[int]:
		if p.Set {
			*o.Value(x).(*int) = p.Value
		}
	case *job.Optional[string]:
		if p.Set {
			*o.Value(x).(*string) = p.Value
		}
	default:
		panic("option: " + o.Name + " cannot be read")
	}
}

// Pin makes the value that of a job. It does not allocate.
func (s *Setting) Pin(x *job.Execution) {
	switch p := s.Option.Choice(x).(type) {
	case *job.Optional[bool]:
		*p = job.Some(s.on)
	case *job.Optional[int]:
		*p = job.Some(s.number)
	case *job.Optional[string]:
		*p = job.Some(s.name)
	default:
		panic("option: " + s.Option.Name + " cannot be set")
	}
}

// Set makes the value that of a plan. It does not allocate.
func (s *Setting) Set(x *plan.Execution) {
	switch p := s.Option.Value(x).(type) {
	case *bool:
		*p = s.on
	case *int:
		*p = s.number
	case *string:
		*p = s.name
	default:
		panic("option: " + s.Option.Name + " cannot be set")
	}
}

// Is reports whether the value is that of a plan. It does not allocate.
func (s *Setting) Is(x *plan.Execution) bool {
	switch p := s.Option.Value(x).(type) {
	case *bool:
		return *p == s.on
	case *int:
		return *p == s.number
	case *string:
		return *p == s.name
	}
	panic("option: " + s.Option.Name + " cannot be compared")
}

// Placed reports whether the value has a place among those of its option: what is
// made of parts has none, because one may do what another does not.
func (s *Setting) Placed() bool { return s.Option.Split(s.name) == nil }

// Place is the place of a placed value among those of its option.
func (s *Setting) Place() int {
	switch {
	case s.Option.Kind == Count:
		return s.number
	case s.on:
		return 1
	}
	return slices.Index(s.Option.Values, s.name)
}

// String spells the value as the language does.
func (s *Setting) String() string {
	switch s.Option.Kind {
	case Switch:
		return strconv.FormatBool(s.on)
	case Count:
		return strconv.Itoa(s.number)
	}
	return s.name
}

// Quoted is String with the quotation marks that the language puts around names.
func (s *Setting) Quoted() string {
	if parts := s.Option.Split(s.name); parts != nil {
		return text(parts)
	}
	if s.Option.Kind == Name {
		return strconv.Quote(s.name)
	}
	return s.String()
}
