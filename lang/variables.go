package lang

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/budget"
	"github.com/ndc-dev/ndc/lang/schema"
)

// variable is one variable block with its value.
type variable struct {
	name        string
	description string
	block       *hclsyntax.Block
	wanted      cty.Type
	defaults    *typeexpr.Defaults // of optional attributes
	nullable    bool
	fallback    *cty.Value // the default
	validations []*hclsyntax.Block

	value cty.Value // unknown when it was reported
	at    diag.Range
	set   bool
}

// collectVariable reads a variable block.
func (m *module) collectVariable(b *hclsyntax.Block) {
	name := b.Labels[0]
	if first := m.variables[name]; first != nil {
		m.duplicateNamed(b, first.block)
		return
	}
	v := &variable{name: name, block: b, wanted: cty.DynamicPseudoType, nullable: true, value: cty.DynamicVal, at: rangeOf(b.DefRange())}
	if m.caller != nil && schema.File.Block("module").Argument(name) != nil {
		m.fail(InvalidLabel, rangeOf(b.LabelRanges[0]), "A module block has an argument %q of its own, so that nobody could set this variable. Choose another name.", name)
	}
	m.variables[name] = v
	m.variableOrder = append(m.variableOrder, name)
	m.variableBody(v)
}

func (m *module) variableBody(v *variable) {
	spec := schema.File.Block("variable")
	var fallback *hclsyntax.Attribute
	misspelt := false // the default
	for _, a := range ordered(v.block.Body.Attributes) {
		switch a.Name {
		case "type":
			m.variableType(v, a)
		case "default":
			fallback = a // after the type
		case "nullable":
			if n, ok := m.constant(a); ok {
				v.nullable = n.(bool)
			}
		case "description":
			if text, ok := m.constant(a); ok {
				v.description = text.(string)
			}
		case "sensitive":
			m.sensitive(a)
		default:
			misspelt = misspelt || meant(a.Name, spec) == "default"
			m.unknownArgument(a, spec)
		}
	}
	for _, n := range v.block.Body.Blocks {
		if n.Type != "validation" {
			m.unknownBlock(n, spec)
			continue
		}
		v.validations = append(v.validations, n)
	}
	switch {
	case fallback != nil:
		m.variableDefault(v, fallback)
	case misspelt:
		v.fallback = &cty.DynamicVal
	}
}

// sensitive refuses to keep a secret that everything would be written with.
func (l *loader) sensitive(a *hclsyntax.Attribute) {
	l.fail(UnknownArgument, rangeOf(a.NameRange), "ndc keeps no value secret: what a variable or output holds is written into the generated files. Put a secret into a file on the cluster, and name that with env_file in the slurm block.")
}

// constant evaluates an argument of a variable block, which sees no others.
func (l *loader) constant(a *hclsyntax.Attribute) (any, bool) {
	c := converter{spec: schema.File.Block("variable").Argument(a.Name), expr: a.Expr}
	value, ok := l.constantValue(a.Expr)
	if !ok {
		return nil, false
	}
	arg := c.convert(value)
	l.report(c.diags)
	if arg == nil || arg.bad {
		return nil, false
	}
	return arg.parsed, true
}

func (l *loader) constantValue(expr hclsyntax.Expression) (cty.Value, bool) {
	if vars := expr.Variables(); len(vars) > 0 {
		l.fail(InvalidVariable, rangeOf(vars[0].SourceRange()),
			"A variable is read before everything else, so its block and the files that set it cannot refer to anything. Use a local for what is computed.")
		return cty.DynamicVal, false
	}
	return l.compute(expr, nil)
}

func (m *module) variableType(v *variable, a *hclsyntax.Attribute) {
	if text, diags := a.Expr.Value(nil); !diags.HasErrors() && text.Type() == cty.String {
		m.fail(InvalidVariable, rangeOf(a.Expr.Range()), "A type is written without quotes: %s.", text.AsString())
		return
	}
	t, defaults, diags := typeexpr.TypeConstraintWithDefaults(a.Expr)
	for _, d := range diags {
		m.fail(InvalidVariable, subject(d), "%s Types are string, number, bool, any, list(…), set(…), map(…), object({…}) and tuple([…]).", sentence(d.Detail))
	}
	if !diags.HasErrors() {
		v.wanted, v.defaults = t, defaults
	}
}

func (m *module) variableDefault(v *variable, a *hclsyntax.Attribute) {
	value, ok := m.constantValue(a.Expr)
	if !ok {
		value = cty.DynamicVal
	} else if value, ok = m.convertVariable(v, value, rangeOf(a.Expr.Range()), "The default"); !ok {
		value = cty.DynamicVal
	}
	v.fallback, v.at = &value, rangeOf(a.Expr.Range())
}

// convertVariable converts a value to the variable's type.
func (l *loader) convertVariable(v *variable, value cty.Value, at diag.Range, what string) (cty.Value, bool) {
	if value.Type() == cty.String && !value.IsNull() && value.IsKnown() && v.wanted == cty.Number && budget.BeyondNumbers(value.AsString()) {
		l.fail(InvalidVariable, at, "%s of %q is a number beyond everything that can be counted.", what, v.name)
		return cty.DynamicVal, false
	}
	if path, unused := unusedAttribute(value, v.wanted, v.name); path != "" {
		l.diags.Warn(UndeclaredVariable, at, summaries[UndeclaredVariable],
			fmt.Sprintf("The type of %q has no attribute %q, so %s is not used.%s", v.name, unused.name, path, diag.DidYouMean(unused.name, unused.known)))
	}
	if v.defaults != nil && !value.IsNull() {
		value = v.defaults.Apply(value)
	}
	converted, err := convert.Convert(value, v.wanted)
	if err != nil {
		l.fail(InvalidVariable, at, "%s of %q must be of type %s: %s%s.", what, v.name, typeText(v.wanted), insideOf(v.name, err), strings.TrimSuffix(err.Error(), "."))
		return cty.DynamicVal, false
	}
	if budget.Size(converted) > budget.MaxValue {
		l.fail(InvalidVariable, at, "%s of %q is larger than any job needs.", what, v.name)
		return cty.DynamicVal, false
	}
	return converted, true
}

// typeText is a type as a variable block has it, with what may be left out of its objects.
func typeText(t cty.Type) string {
	switch {
	case t.IsListType():
		return "list(" + typeText(t.ElementType()) + ")"
	case t.IsSetType():
		return "set(" + typeText(t.ElementType()) + ")"
	case t.IsMapType():
		return "map(" + typeText(t.ElementType()) + ")"
	case t.IsTupleType():
		var elements []string
		for _, e := range t.TupleElementTypes() {
			elements = append(elements, typeText(e))
		}
		return "tuple([" + strings.Join(elements, ",") + "])"
	case t.IsObjectType():
		var attributes []string
		for _, name := range slices.Sorted(maps.Keys(t.AttributeTypes())) {
			text := typeText(t.AttributeType(name))
			if t.AttributeOptional(name) {
				text = "optional(" + text + ")"
			}
			attributes = append(attributes, name+"="+text)
		}
		return "object({" + strings.Join(attributes, ",") + "})"
	}
	return typeexpr.TypeString(t)
}

// insideOf says where in a value something is of another type, with a blank behind it; ""
// of the whole.
func insideOf(name string, err error) string {
	var wrong cty.PathError
	if !errors.As(err, &wrong) || len(wrong.Path) == 0 {
		return ""
	}
	for _, step := range wrong.Path {
		switch step := step.(type) {
		case cty.GetAttrStep:
			name += "." + step.Name
		case cty.IndexStep:
			name += "[" + indexText(step.Key) + "]"
		}
	}
	return "at " + name + ", "
}

// unused is the name of an attribute that a value has and its type has not, and those that
// the type has.
type unused struct {
	name  string
	known []string
}

// unusedAttribute finds an attribute in a value that its type has no place for, which
// converting the value drops, and its path; "" for none.
func unusedAttribute(value cty.Value, wanted cty.Type, path string) (string, unused) {
	if !value.IsKnown() || value.IsNull() || !value.CanIterateElements() {
		return "", unused{}
	}
	for key, element := range value.Elements() {
		inside, at := cty.DynamicPseudoType, path+"["+indexText(key)+"]"
		switch {
		case wanted.IsObjectType() && key.Type() == cty.String:
			name := key.AsString()
			if at = path + "." + name; !wanted.HasAttribute(name) {
				return at, unused{name, slices.Sorted(maps.Keys(wanted.AttributeTypes()))}
			}
			inside = wanted.AttributeType(name)
		case wanted.IsCollectionType():
			inside = wanted.ElementType()
		case wanted.IsTupleType() && key.Type() == cty.Number:
			if i, _ := key.AsBigFloat().Int64(); i < int64(wanted.Length()) {
				inside = wanted.TupleElementType(int(i))
			}
		}
		if path, found := unusedAttribute(element, inside, at); path != "" {
			return path, found
		}
	}
	return "", unused{}
}

// indexText is the key of an element as a reference to it has it.
func indexText(key cty.Value) string {
	switch {
	case key == cty.NilVal || !key.IsKnown():
	case key.Type() == cty.String:
		return strconv.Quote(key.AsString())
	case key.Type() == cty.Number:
		return key.AsBigFloat().Text('f', 0)
	}
	return "…" // of a set
}

// setVariables gives every variable its value: the command line's last word,
// else the last of the *.auto.ndcvars files, else the default.
func (m *module) setVariables() {
	for _, file := range m.autoVariables {
		m.readVariables(file)
	}
	for _, file := range m.options.VariableFiles {
		m.readVariables(file)
	}
	for _, a := range m.options.Variables {
		if a.File != "" {
			m.readVariables(a.File)
			continue
		}
		m.setFromArgument(a)
	}
	if m.options.run != nil {
		m.setFromRun(m.options.run)
	}
	for _, name := range m.variableOrder {
		m.fallBack(m.variables[name])
	}
}

// readVariables reads one variable file: NAME = VALUE lines.
func (m *module) readVariables(file string) {
	body := m.parse(m.fsys, file)
	if body == nil {
		m.unread = true
		return
	}
	for _, b := range body.Blocks {
		m.fail(UnknownBlock, rangeOf(b.TypeRange), "A file of variables has lines NAME = VALUE and no blocks.")
	}
	for _, a := range ordered(body.Attributes) {
		v := m.variables[a.Name]
		if v == nil {
			m.diags.Warn(UndeclaredVariable, rangeOf(a.NameRange), summaries[UndeclaredVariable],
				"No file declares a variable \""+a.Name+"\", so this value is not used."+diag.DidYouMean(a.Name, m.variableOrder))
			continue
		}
		if value, ok := m.constantValue(a.Expr); ok {
			m.assign(v, value, rangeOf(a.Expr.Range()))
		} else {
			v.set = true
		}
	}
}

// setFromArgument reads --var NAME=VALUE. As in Terraform, the text is the
// value of a variable of a simple type, and an expression otherwise.
func (m *module) setFromArgument(a VariableArg) {
	source := "--var " + a.Name
	m.files[source] = []byte(a.Value)
	at := diag.Range{Filename: source, Start: diag.Position{Line: 1, Column: 1},
		End: diag.Position{Line: 1, Column: 1 + len(a.Value), Byte: len(a.Value)}}
	v := m.variables[a.Name]
	if v == nil {
		hint := diag.DidYouMean(a.Name, m.variableOrder)
		if hint == "" && len(m.variableOrder) > 0 {
			hint = " There are " + listed(m.variableOrder) + "."
		}
		m.fail(UndeclaredVariable, at, "--var sets %q, but no file declares a variable of that name.%s", a.Name, hint)
		return
	}
	if v.wanted.IsPrimitiveType() || v.wanted == cty.DynamicPseudoType {
		m.assign(v, cty.StringVal(a.Value), at)
		return
	}
	v.set = true
	expr, diags := parseExpression(a.Value, source)
	m.report(diags)
	if diags.HasErrors() {
		return
	}
	if value, ok := m.constantValue(expr); ok {
		m.assign(v, value, at)
	}
}

func parseExpression(text, source string) (hclsyntax.Expression, diag.List) {
	diags := checkText([]byte(text), source)
	if diags.HasErrors() {
		return nil, diags
	}
	expr, problems := hclsyntax.ParseExpression([]byte(text), source, hcl.InitialPos)
	for _, p := range problems {
		diags.Error(SyntaxError, subject(p), p.Summary, sentence(p.Detail))
	}
	if !diags.HasErrors() {
		checkKeys(expr.(hclsyntax.Node), &diags)
	}
	return expr, diags
}

func (m *module) assign(v *variable, value cty.Value, at diag.Range) {
	v.value, _ = m.convertVariable(v, value, at, "The value")
	v.set, v.at = true, at
}

// fallBack settles a variable that nothing set, or that is null.
func (m *module) fallBack(v *variable) {
	if v.set && !(v.value.IsNull() && !v.nullable) {
		return
	}
	switch {
	case v.fallback != nil:
		v.value = *v.fallback
	case v.set:
		m.fail(InvalidVariable, v.at, "%q may not be null, and it has no default.", v.name)
		v.value = cty.DynamicVal
	case m.caller != nil:
		m.fail(MissingVariable, m.place.at, "The module has a variable %q without a default. Add %s = … to this block. %s", v.name, v.name, sentence(v.description))
	case m.unread: // it may stand in the file that was reported
	default:
		m.fail(MissingVariable, rangeOf(v.block.DefRange()),
			"%q has no default and was not set. Set it with --var '%s=…', or in a file given by --var-file or named *.auto.ndcvars.", v.name, v.name)
	}
}

// validateVariables runs the validation blocks. A value that breaks one is no longer
// known, so that nothing is told of what comes of it.
func (m *module) validateVariables() {
	var broken []*variable
	for _, name := range m.variableOrder {
		v := m.variables[name]
		for _, b := range v.validations {
			if !m.validate(v, b) {
				broken = append(broken, v)
			}
		}
	}
	for _, v := range broken {
		v.value = cty.DynamicVal
	}
}

// validate reports whether a value breaks no rule, as far as that can be said.
func (m *module) validate(v *variable, b *hclsyntax.Block) bool {
	spec := schema.File.Block("variable").Block("validation")
	t := m.evaluate(b, spec, m.scope())
	if t.broken || !v.value.IsWhollyKnown() {
		return true
	}
	condition, message := t.args["condition"], t.args["error_message"]
	if m.missing(t, spec) {
		return true
	}
	holds, err := convert.Convert(condition.value, cty.Bool)
	if err != nil || holds.IsNull() {
		m.fail(WrongType, condition.source.Range, "A condition must be true or false, not %s.", describe(condition.value))
		return true
	}
	if holds.True() {
		return true
	}
	m.fail(FailedValidation, v.at, "%s The value of %q is %s; the rule is at %s:%d.",
		sentence(message.parsed.(string)), v.name, describe(v.value), condition.source.Range.Filename, condition.source.Range.Start.Line)
	return false
}

// missing reports required arguments that a block lacks.
func (l *loader) missing(t *block, spec *schema.Block) bool {
	missing := slices.ContainsFunc(spec.Arguments, func(a schema.Argument) bool { return a.Required && t.args[a.Name] == nil })
	if missing {
		l.required(t)
	}
	return missing
}
