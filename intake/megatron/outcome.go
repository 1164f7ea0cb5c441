package megatron

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/intake/draft"
	language "github.com/ndc-dev/ndc/lang/schema"
)

// usual reports whether a value is the default of a table.
func usual(standard any, text string) bool {
	switch v := standard.(type) {
	case float64:
		f, err := strconv.ParseFloat(text, 64)
		return err == nil && f == v
	case string:
		return v != "" && v == text
	}
	return false
}

// outcome is what became of an option; the zero outcome is that it was mapped.
type outcome struct {
	verdict draft.Verdict
	why     string
	to      string // other arguments than the class's
	noted   bool   // the job says it where it is, and asks for no argument
}

func unknown(why string) outcome { return outcome{verdict: draft.Unknown, why: why} }
func left(why string) outcome    { return outcome{verdict: draft.Left, why: why} }

func (r *reading) report(o *option, to string, result outcome) {
	if result.to != "" {
		to = result.to
	}
	if result.verdict == "" {
		result.verdict = draft.Mapped
	}
	if result.verdict != draft.Mapped {
		to = ""
	}
	r.find(o, result.verdict, to, result.why)
}

// value sets the argument that an option is.
func (r *reading) value(o *option, argument string) outcome {
	if o.own && o.long != "--load" { // not even a path may name it
		return unknown(draft.OnlyRunKnows)
	}
	if read := readers()[o.long]; read != nil {
		return read(r, o)
	}
	if o.open && pathLike(argument) {
		return r.path(o, argument)
	}
	if o.open {
		return unknown(draft.OnlyRunKnows)
	}
	if argument == "" {
		return unknown("no argument of the job says it")
	}
	return r.plain(o, argument)
}

// pathLike reports the arguments that may name variables of the cluster.
func pathLike(argument string) bool { return strings.HasSuffix(argument, "path") }

// plain converts a value to the type of the argument.
func (r *reading) plain(o *option, argument string) outcome {
	a, _ := language.At(argument)
	if a == nil {
		return unknown("it says a part of " + argument + " that the language does not have")
	}
	text, at := o.first(), r.at(o.line)
	switch a.Type {
	case language.Count, language.CountChoice, language.Interval:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || !a.Limits.Allows(float64(n)) {
			return unknown("not a value of " + argument)
		}
		r.d.Set(argument, n, at)
	case language.Number:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || a.Limits != (language.Limits{}) && !a.Limits.Allows(f) {
			return unknown("not a value of " + argument)
		}
		r.d.Set(argument, f, at)
	case language.Bool, language.BoolChoice:
		r.d.Set(argument, true, at)
	default:
		if a.Enum != nil && !slices.Contains(a.Enum, text) {
			return unknown("no value of " + argument)
		}
		r.d.Set(argument, text, at)
	}
	return outcome{}
}
