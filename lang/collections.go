package lang

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
)

// isSequence reports whether values of a type are written in brackets.
func isSequence(t cty.Type) bool { return t.IsListType() || t.IsTupleType() || t.IsSetType() }

// elements converts a list element by element.
func elements[T any](c *converter, v cty.Value, each func(cty.Value, diag.Range) (T, bool)) ([]T, bool) {
	if !isSequence(v.Type()) {
		c.wrongType(v, rangeOf(c.expr.Range()), "a list in brackets")
		return nil, false
	}
	list, ok := make([]T, 0, v.LengthInt()), true
	for i, e := range v.AsValueSlice() {
		at := c.elementAt(i)
		if e.IsNull() {
			c.wrongType(e, at, "a list without null")
			ok = false
			continue
		}
		x, fine := each(e, at)
		ok = ok && fine
		list = append(list, x)
	}
	return list, ok
}

// elementAt is where element i was written, when the list was written out.
func (c *converter) elementAt(i int) diag.Range {
	tuple, ok := c.expr.(*hclsyntax.TupleConsExpr)
	if !ok || i >= len(tuple.Exprs) {
		return rangeOf(c.expr.Range())
	}
	at := rangeOf(tuple.Exprs[i].Range())
	c.place(strconv.Itoa(i), at)
	return at
}

// entryAt is where the value of a key was written, when the map was written
// out, and where the key was.
func (c *converter) entryAt(key string) (value, name diag.Range) {
	if c.entries == nil {
		c.entries = entries(c.expr)
	}
	if e, ok := c.entries[key]; ok {
		return rangeOf(e.ValueExpr.Range()), rangeOf(e.KeyExpr.Range())
	}
	whole := rangeOf(c.expr.Range())
	return whole, whole
}

// entries finds the places of a map that was written out, by literal keys.
func entries(expr hclsyntax.Expression) map[string]hclsyntax.ObjectConsItem {
	found := map[string]hclsyntax.ObjectConsItem{}
	object, ok := expr.(*hclsyntax.ObjectConsExpr)
	if !ok {
		return found
	}
	for _, item := range object.Items {
		key := literalKey(item.KeyExpr)
		if _, twice := found[key]; !twice && key != "" {
			found[key] = item
		}
	}
	return found
}

// literalKey is a key written as a word or as plain text, else "".
func literalKey(expr hclsyntax.Expression) string {
	if word := hcl.ExprAsKeyword(expr); word != "" {
		return word
	}
	key, ok := expr.(*hclsyntax.ObjectConsKeyExpr)
	if !ok {
		return ""
	}
	if t, ok := key.Wrapped.(*hclsyntax.TemplateExpr); ok && t.IsStringLiteral() {
		v, _ := t.Value(nil)
		return v.AsString()
	}
	return ""
}

func (c *converter) place(key string, at diag.Range) {
	if c.parts == nil {
		c.parts = map[string]job.Source{}
	}
	c.parts[key] = job.Source{Range: at}
}

func (c *converter) counts(v cty.Value) (any, bool) {
	list, ok := elements(c, v, c.count)
	ints := make([]int, len(list))
	for i, n := range list {
		ints[i] = int(n)
	}
	return ints, ok
}

// variables converts a map of text, in the order of its keys; null entries
// are left out.
func (c *converter) variables(v cty.Value) (any, bool) {
	t := v.Type()
	if !t.IsMapType() && !t.IsObjectType() {
		c.wrongType(v, rangeOf(c.expr.Range()), "a map in braces")
		return nil, false
	}
	list, ok := []job.Variable(nil), true
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if value.IsNull() {
			continue
		}
		at, nameAt := c.entryAt(key.AsString())
		c.place(strconv.Quote(key.AsString()), at)
		s, fine := c.text(value, at)
		if c.spec.Type == schema.Environment {
			fine = fine && c.environmentVariable(job.Variable{Name: key.AsString(), Value: s}, at, nameAt)
		}
		ok = ok && fine
		list = append(list, job.Variable{Name: key.AsString(), Value: s})
	}
	slices.SortFunc(list, func(a, b job.Variable) int { return strings.Compare(a.Name, b.Name) })
	return list, ok
}

var (
	environmentName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// secretName and passwordName hold names with a word for a secret. PKEY (a
	// partition key of InfiniBand), TOKENS and TOKENIZERS are none.
	secretName   = regexp.MustCompile(`(?i)(^|_)([A-Z0-9]*(TOKEN|APIKEY)|KEYS?)(_|$)`)
	passwordName = regexp.MustCompile(`(?i)(^|_)[A-Z0-9]*(SECRET|PASSWORD|PASSWD|CREDENTIAL)S?(_|$)`)
	// harmless holds values that switch or count, as in HF_HUB_DISABLE_IMPLICIT_TOKEN=1.
	harmless = regexp.MustCompile(`(?i)^([0-9]{1,9}|true|false|yes|no|on|off)$`)
	// secretPlace holds names that say where a secret lies.
	secretPlace  = regexp.MustCompile(`(?i)_(PATH|FILE|DIR)$`)
	shellPattern = regexp.MustCompile(`^\$(\{[A-Za-z_][A-Za-z0-9_]*\}|[A-Za-z_][A-Za-z0-9_]*)$`)
)

// environmentVariable checks a name and that no secret is written down.
func (c *converter) environmentVariable(v job.Variable, at, nameAt diag.Range) bool {
	if !environmentName.MatchString(v.Name) {
		c.fail(InvalidValue, nameAt, "%q is not the name of an environment variable: letters, digits and underscores, not starting with a digit.", v.Name)
		return false
	}
	if !IsSecret(v.Name, v.Value) {
		return c.expanded(v.Value, at, "is quoted where it is exported, and programs would read %s as it stands here", "Write the value in full.")
	}
	c.fail(LiteralSecret, at,
		"%s looks like a secret, and everything in \"environment\" is written into the generated scripts for others to read. "+
			"Put the line %s=… into a file on the cluster that only you can read, and name it with env_file in the slurm block.", v.Name, v.Name)
	return false
}

// IsSecret reports whether a variable of the environment is a secret that is
// written out, which neither a job nor a report about one may hold.
func IsSecret(name, value string) bool {
	switch {
	case value == "", secretPlace.MatchString(name), shellPattern.MatchString(value):
		return false
	case passwordName.MatchString(name):
		return true
	}
	return secretName.MatchString(name) && !harmless.MatchString(value)
}

// countChoice converts a number, a list of numbers or { min, max, not }.
func (c *converter) countChoice(v cty.Value) (any, bool) {
	t := v.Type()
	switch {
	case isSequence(t):
		counts, ok := c.counts(v)
		values := counts.([]int)
		if ok && len(values) == 0 {
			c.emptyChoice()
			return nil, false
		}
		slices.Sort(values)
		return job.IntChoice{Values: slices.Compact(values)}, ok
	case t.IsObjectType() || t.IsMapType():
		return c.countRange(v)
	}
	if _, isNumber := asNumber(v); !isNumber {
		c.wrongType(v, rangeOf(c.expr.Range()), "a whole number, a list of them, or a range { min = …, max = …, step = …, not = … }")
		return nil, false
	}
	n, ok := c.count(v, rangeOf(c.expr.Range()))
	return job.IntChoice{Values: []int{int(n)}}, ok
}

func (c *converter) emptyChoice() {
	c.fail(OutOfRange, rangeOf(c.expr.Range()),
		"The list of %q is empty, so no layout can be legal. Leave the argument out to leave the choice to ndc.", c.spec.Name)
}

var rangeWords = []string{"min", "max", "step", "not"}

// countRange converts { min, max, step, not }, of which some may be left out.
func (c *converter) countRange(v cty.Value) (any, bool) {
	r := job.IntChoice{Ranged: true, Min: int(c.spec.Limits.Min), Max: int(c.spec.Limits.Max)}
	ok := true
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		at, nameAt := c.entryAt(key.AsString())
		fine := true
		switch name := key.AsString(); {
		case !slices.Contains(rangeWords, name):
			fine = c.unknownEntry("A range has "+diag.OneOf(rangeWords), name, nameAt, rangeWords...)
		case value.IsNull():
		case name == "min":
			r.Min, fine = c.whole(value, at)
		case name == "max":
			r.Max, fine = c.whole(value, at)
		case name == "step":
			if r.Step, fine = c.whole(value, at); fine && r.Step < 1 {
				c.fail(OutOfRange, at, "A step is at least 1, not %d.", r.Step)
				fine = false
			}
		default:
			r.Not, fine = excluded(c, value, at, c.whole)
			slices.Sort(r.Not)
			r.Not = slices.Compact(r.Not)
		}
		ok = ok && fine
	}
	if ok && !slices.ContainsFunc(append(slices.Clone(r.Not), r.Min-max(1, r.Step)), func(n int) bool { return r.Allows(n + max(1, r.Step)) }) {
		c.fail(OutOfRange, rangeOf(c.expr.Range()), "The range of %q is empty: it is to be at least %d%s.", c.spec.Name, r.Min, restText(&r))
		return nil, false
	}
	return r, ok
}

// restText says what bounds a range beside its min.
func restText(r *job.IntChoice) (text string) {
	if r.Max > 0 {
		text = fmt.Sprintf(" and at most %d", r.Max)
	}
	if len(r.Not) > 0 {
		text += ", but not " + strings.ReplaceAll(strings.Trim(fmt.Sprint(r.Not), "[]"), " ", ", ")
	}
	return text
}

func (c *converter) whole(v cty.Value, at diag.Range) (int, bool) {
	n, ok := c.count(v, at)
	return int(n), ok
}

func (c *converter) unknownEntry(has, name string, at diag.Range, known ...string) bool {
	c.fail(UnknownArgument, at, "%s, not %q.%s", has, name, diag.DidYouMean(name, known))
	return false
}

// excluded converts what stands behind "not": one value or a list of them.
func excluded[T any](c *converter, v cty.Value, at diag.Range, each func(cty.Value, diag.Range) (T, bool)) (list []T, ok bool) {
	values := []cty.Value{v}
	if isSequence(v.Type()) {
		values = v.AsValueSlice()
	}
	if e := c.entries["not"].ValueExpr; len(values) == 0 && e != nil && len(e.Variables()) == 0 { // what a variable says may well be empty
		c.fail(OutOfRange, at, "The list excludes nothing, so %q stays as free as without it. Name values that it must not have, or leave the argument out.", c.spec.Name)
		return nil, false
	}
	ok = true
	for _, e := range values {
		x, fine := each(e, at)
		ok = ok && fine
		list = append(list, x)
	}
	return list, ok
}

// boolChoice converts true, false, a list or { not }; both together leave it
// free.
func (c *converter) boolChoice(v cty.Value) (any, bool) {
	list, ok := chosen(c, v, c.truth, []bool{false, true})
	if !ok || slices.Contains(list, !list[0]) {
		return job.BoolChoice{}, ok
	}
	return job.BoolChoice{Set: true, Value: list[0], OrNone: isExclusion(v)}, true
}

// stringChoice converts text, a list of text or { not }.
func (c *converter) stringChoice(v cty.Value) (any, bool) {
	list, ok := chosen(c, v, c.text, c.spec.Enum)
	if ok && isExclusion(v) {
		list = append(list, job.NoValue)
	}
	return job.StringChoice(list), ok
}

// isExclusion reports { not }, among the forms of a choice of names or truth values.
func isExclusion(v cty.Value) bool { return v.Type().IsObjectType() || v.Type().IsMapType() }

// chosen converts a value, a list of values, or { not = [...] } of all that
// there are.
func chosen[T comparable](c *converter, v cty.Value, each func(cty.Value, diag.Range) (T, bool), all []T) ([]T, bool) {
	t, whole := v.Type(), rangeOf(c.expr.Range())
	switch {
	case isSequence(t):
		list, ok := elements(c, v, each)
		if ok && len(list) == 0 {
			c.emptyChoice()
		}
		return list, ok && len(list) > 0
	case isExclusion(v):
		list, ok := remaining(c, v, each, all)
		if ok && len(list) == 0 {
			c.fail(OutOfRange, whole, "Nothing is left of %q: \"not\" excludes every value that there is. Take one out of it, or leave the argument out.", c.spec.Name)
		}
		return list, ok && len(list) > 0
	}
	x, fine := each(v, whole)
	return []T{x}, fine
}

// remaining converts { not }: all values but some.
func remaining[T comparable](c *converter, v cty.Value, each func(cty.Value, diag.Range) (T, bool), all []T) ([]T, bool) {
	list, ok := slices.Clone(all), true
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		at, nameAt := c.entryAt(key.AsString())
		if key.AsString() != "not" {
			ok = c.unknownEntry("In braces stands what is not to be, \"not\"", key.AsString(), nameAt, "not")
			continue
		}
		not, fine := excluded(c, value, at, each)
		ok = ok && fine
		list = slices.DeleteFunc(list, func(x T) bool { return slices.Contains(not, x) })
	}
	return list, ok
}

// several converts a list of what stands alone otherwise: the value of a list of
// one, or that of a list of its parts, else the values as []any, each once.
func (c *converter) several(v cty.Value) (any, bool) {
	if c.areParts(v) {
		return c.joined(v, c.elementAt)
	}
	list, ok := elements(c, v, func(v cty.Value, at diag.Range) (x any, ok bool) {
		if c.spec.Parts != nil && isSequence(v.Type()) {
			return c.joined(v, func(int) diag.Range { return at })
		}
		switch c.spec.Type {
		case schema.Count:
			x, ok = c.count(v, at)
		case schema.Bool:
			x, ok = c.truth(v, at)
		default:
			x, ok = c.text(v, at)
		}
		return x, ok
	})
	if ok && len(list) == 0 {
		c.fail(OutOfRange, rangeOf(c.expr.Range()), "The list of %q is empty. Leave the argument out for what is recommended.", c.spec.Name)
		return nil, false
	}
	var once []any
	for _, x := range list {
		if !slices.Contains(once, x) {
			once = append(once, x)
		}
	}
	if len(once) == 1 {
		return once[0], ok
	}
	return once, ok
}

// areParts reports whether a list names parts of one value, and nothing that is a
// value by itself.
func (c *converter) areParts(v cty.Value) bool {
	parts := 0
	for _, e := range v.AsValueSlice() {
		switch {
		case e.IsNull() || !e.IsKnown() || e.Type() != cty.String:
			return false
		case slices.Contains(c.spec.Enum, e.AsString()):
			return false
		case slices.Contains(c.spec.Parts, e.AsString()):
			parts++
		}
	}
	return parts > 0
}

// joined is the value that a list of parts makes.
func (c *converter) joined(v cty.Value, place func(i int) diag.Range) (string, bool) {
	var parts []string
	ok := true
	for i, e := range v.AsValueSlice() {
		at := place(i)
		switch {
		case e.IsNull() || e.Type() != cty.String:
			c.wrongType(e, at, "text in quotes")
			ok = false
		case !slices.Contains(c.spec.Parts, e.AsString()):
			c.fail(UnknownValue, at, "%q is no part of a value of %q, whose parts are %s.%s", e.AsString(), c.spec.Name, diag.OneOf(c.spec.Parts), didYouMean(e.AsString(), c.spec.Parts))
			ok = false
		default:
			parts = append(parts, e.AsString())
		}
	}
	if ok && len(parts) == 0 {
		c.fail(OutOfRange, rangeOf(c.expr.Range()), "A list of parts in %q is empty. Parts are %s.", c.spec.Name, diag.OneOf(c.spec.Parts))
		return "", false
	}
	return option.Join(c.spec.Parts, parts), ok
}

// spelled is the text of letters that a list of their words says.
func (c *converter) spelled(v cty.Value) (string, bool) {
	words := c.spec.Words()
	list, ok := elements(c, v, func(e cty.Value, at diag.Range) (string, bool) {
		word, ok := c.text(e, at)
		i := slices.Index(words, word)
		if ok && i < 0 {
			c.fail(UnknownValue, at, "%q is no word of %q, whose words are %s.%s", word, c.spec.Name, diag.OneOf(words), didYouMean(word, words))
		}
		if !ok || i < 0 {
			return "", false
		}
		return c.spec.Letters[i].Letter, true
	})
	c.parts = nil // the text is one value
	return strings.Join(list, ""), ok
}

// rangeOf converts a range of HCL.
func rangeOf(r hcl.Range) diag.Range {
	at := func(p hcl.Pos) diag.Position { return diag.Position{Line: p.Line, Column: p.Column, Byte: p.Byte} }
	return diag.Range{Filename: r.Filename, Start: at(r.Start), End: at(r.End)}
}
