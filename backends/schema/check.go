package schema

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/units"
)

// Problem is why an option cannot stand. It is an error whose text is a full
// sentence for a user.
type Problem struct {
	Suggestion string // the closest existing name or choice; "" when none is close
	Unknown    bool   // the option does not exist in this version
	text       string
}

// Error returns the sentence, with the suggestion.
func (p *Problem) Error() string {
	if p.Suggestion == "" {
		return p.text
	}
	return fmt.Sprintf("%s Did you mean %q?", p.text, p.Suggestion)
}

// choices returns the values that a user can write. Enumerations are dumped
// as "Class.member" where the parser takes the member's name.
func (o *Option) choices() []string {
	out := make([]string, len(o.Choices))
	for i, c := range o.Choices {
		_, member, dotted := strings.Cut(c, ".")
		if dotted && !IsNumber(c) {
			c = member
		}
		out[i] = c
	}
	return out
}

// Check tests one occurrence of an option with its values, as words of a
// command line. It returns nil when the option can stand.
func (t *Table) Check(name string, values ...string) *Problem {
	o, ok := t.Lookup(name)
	if !ok {
		return &Problem{
			Unknown: true, Suggestion: diag.Suggest(name, t.Names()),
			text: fmt.Sprintf("%s has no option %s.", t.version, name),
		}
	}
	if p := o.checkCount(name, len(values)); p != nil {
		return p
	}
	for _, v := range values {
		if p := o.checkValue(name, v); p != nil {
			return p
		}
	}
	return nil
}

func (o *Option) checkCount(name string, n int) *Problem {
	if n >= o.Count.Min && (o.Count.Max < 0 || n <= o.Count.Max) {
		return nil
	}
	return &Problem{text: fmt.Sprintf("Option %s takes %s, not %d.", name, o.Count, n)}
}

// String describes the count in words: "no value", "1 value", "at least 1 value".
func (c Count) String() string {
	switch {
	case c.Max == 0:
		return "no value"
	case c.Min == c.Max:
		return units.Count(c.Min, "value")
	case c.Max < 0:
		return "at least " + units.Count(c.Min, "value")
	}
	return fmt.Sprintf("%d to %d values", c.Min, c.Max)
}

func (o *Option) checkValue(name, v string) *Problem {
	if want := o.wrongType(v); want != "" {
		return &Problem{text: fmt.Sprintf("Option %s takes %s, not %q.", name, want, v)}
	}
	choices := o.choices()
	for _, c := range choices {
		if c == v {
			return nil
		}
	}
	if len(choices) == 0 {
		return nil
	}
	return &Problem{
		Suggestion: diag.Suggest(v, choices),
		text:       fmt.Sprintf("Option %s takes one of %s, not %q.", name, strings.Join(choices, ", "), v),
	}
}

// wrongType names the wanted type when v is not of it. Types that are parsing
// functions accept any word here; the framework has the last word on them.
func (o *Option) wrongType(v string) string {
	switch o.Type {
	case "int":
		if _, err := strconv.ParseInt(v, 10, 64); err != nil {
			return "a whole number"
		}
	case "float":
		if !IsNumber(v) {
			return "a number"
		}
	case "bool":
		if v != "true" && v != "false" {
			return "true or false"
		}
	}
	return ""
}

// IsNumber reports text that spells a number.
func IsNumber(v string) bool {
	_, err := strconv.ParseFloat(v, 64)
	return err == nil
}
