package lang

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
	"github.com/ndc-dev/ndc/lang/units"
)

// policy is one policy block.
type policy struct {
	block *hclsyntax.Block
	scope scope
}

// Outcome is a plan with what it emits, to be held against policies.
type Outcome struct {
	Plan      *file.Plan
	Artifacts map[string]string // the text of the files by their paths
}

func (o *Outcome) given(job cty.Value) map[string]cty.Value {
	return map[string]cty.Value{"plan": planValue(o.Plan), "job": tuples(sized(job, o.Plan)), "artifacts": artifactsValue(o.Artifacts)}
}

// Verdict is what one policy says of a plan.
type Verdict struct {
	plan.Policy
	// Reports say what is wrong: that the policy is not met, with its severity, or
	// as an error that its condition cannot be evaluated.
	Reports diag.List
}

// Judge holds the plan of w.Jobs[i] against the policies that apply to the job,
// the root's first, each module's in the order of their writing. Calls for one workspace must follow one another.
func (w *Workspace) Judge(i int, o Outcome) []Verdict {
	policies := w.loader.policies[i]
	if len(policies) == 0 {
		return nil
	}
	given := o.given(w.loader.planned[i])
	var list []Verdict
	for _, p := range policies {
		var v Verdict
		v.Reports = on(&w.Jobs[i], FailedPolicy, w.loader.reported(func() { v.Policy = w.loader.judge(p, given, &w.Jobs[i]) }))
		list = append(list, v)
	}
	return list
}

// on has reports say of which plan they are, but for those of a condition that does not hold,
// which say so themselves.
func on(j *job.Job, broken diag.ID, reports diag.List) diag.List {
	for i := range reports {
		if d := &reports[i]; d.ID != broken {
			d.Detail += fmt.Sprintf(" It is so on %s with %s.", j.Folder, j.Backend.Kind)
		}
	}
	return reports
}

// reported runs something after loading and returns what it reported.
func (l *loader) reported(work func()) diag.List {
	l.diags = nil
	func() {
		defer l.stopped()
		work()
	}()
	return l.finish()
}

// withPolicy adds a policy to those of a module or a site.
func (m *module) withPolicy(list []*policy, b *hclsyntax.Block) []*policy {
	for _, other := range list {
		if other.block.Labels[0] == b.Labels[0] {
			m.duplicateNamed(b, other.block)
			return list
		}
	}
	return append(list, &policy{block: b, scope: m.scope()})
}

// applying are the policies that a job must meet: those of the root, those of
// the modules that it takes anything from, and those of its site.
func (l *loader) applying(job, site *node) []*policy {
	list := slices.Clone(l.root.policies)
	for _, m := range usedBy(job, site) {
		list = append(list, m.policies...)
	}
	if site != nil {
		list = append(list, site.policies...)
	}
	return list
}

// idlePolicies warns of the modules with policies that no job takes anything of: who calls
// one for its policies takes them for held.
func (m *module) idlePolicies() {
	u := &uses{nodes: map[*node]bool{}}
	for _, n := range m.order {
		if n.block != nil && n.block.Type == "job" {
			u.node(n)
		}
	}
	for _, site := range m.askedSites() {
		u.site(site)
	}
	for _, n := range m.order {
		var names []string
		for _, c := range n.calls {
			if names = c.module.allPolicies(nil); slices.Contains(u.modules, c.module) {
				names = nil
				break
			}
		}
		if len(names) > 0 {
			m.diags.Warn(IdlePolicy, rangeOf(n.block.DefRange()), summaries[IdlePolicy], fmt.Sprintf(
				"No job takes anything of module %q, so that its policies (%s) hold for none: they are for jobs that take a model, a cluster, a site, a job or an output of it. A policy for all jobs stands beside them.",
				n.block.Labels[0], listed(names)))
		}
	}
}

// allPolicies adds the names of the policies of a module and of those inside of it.
func (m *module) allPolicies(names []string) []string {
	for _, p := range m.policies {
		names = append(names, p.block.Labels[0])
	}
	for _, n := range m.order {
		for _, c := range n.calls {
			names = c.module.allPolicies(names)
		}
	}
	return names
}

// checkPolicies reports what is wrong with policies for every plan.
func (m *module) checkPolicies() {
	list := slices.Clone(m.policies)
	for _, n := range m.order {
		list = append(list, n.policies...)
	}
	for _, p := range list {
		m.checkCondition(p.block, schema.File.Block("policy"), p.scope)
	}
}

// checkCondition reports what is wrong with a block of a condition and its
// message, whatever the plan: arguments, references and types.
func (l *loader) checkCondition(b *hclsyntax.Block, spec *schema.Block, s scope) {
	s.given = anyPlan()
	t := l.evaluate(b, spec, s)
	if l.missing(t, spec) {
		return
	}
	if c := t.args["condition"]; c != nil && c.value.Type() != cty.Bool && c.value.Type() != cty.DynamicPseudoType {
		l.fail(WrongType, c.source.Range, "A condition must be true or false, not %s.", typeName(c.value))
	}
	if m := t.args["error_message"]; m != nil && !m.value.Type().IsPrimitiveType() && m.value.Type() != cty.DynamicPseudoType {
		l.fail(WrongType, m.source.Range, "\"error_message\" must be text in quotes, not %s.", typeName(m.value))
	}
	if a := b.Body.Attributes["severity"]; a != nil && slices.ContainsFunc(a.Expr.Variables(), func(v hcl.Traversal) bool { return s.given[v.RootName()] != cty.NilVal }) {
		l.fail(InvalidExpression, rangeOf(a.Expr.Range()), "The severity of a policy is the same for every plan. Write \"error\" or \"warning\", and say in the condition when it is met.")
	}
}

// typeName is describe for values that may be unknown.
func typeName(v cty.Value) string {
	if v.IsKnown() {
		return describe(v)
	}
	switch t := v.Type(); {
	case t == cty.Number:
		return "a number"
	case t == cty.String:
		return "a text"
	case t.IsListType() || t.IsTupleType() || t.IsSetType():
		return "a list"
	}
	return "an object"
}

func (l *loader) judge(p *policy, given map[string]cty.Value, j *job.Job) plan.Policy {
	s := p.scope
	s.given = given
	verdict := plan.Policy{Name: p.block.Labels[0], Severity: "error"}
	t := l.evaluate(p.block, schema.File.Block("policy"), s)
	if v := t.args["severity"]; v != nil && !v.bad {
		verdict.Severity = v.parsed.(string)
	}
	verdict.Condition = legible(l.asked(p.block.Body.Attributes["condition"].Expr, s))
	ok, message := l.holds(t)
	if verdict.OK = ok; ok || message == "" {
		return verdict
	}
	verdict.Message = message
	condition := t.args["condition"].source.Range
	detail := legible(fmt.Sprintf("%s Policy %q on %s with %s: %s.", sentence(message), verdict.Name, j.Folder, j.Backend.Kind, l.readings(p.block.Body.Attributes["condition"].Expr, s)))
	if verdict.Severity == "warning" {
		l.diags.Warn(FailedPolicy, condition, summaries[FailedPolicy], detail)
	} else {
		l.fail(FailedPolicy, condition, "%s", detail)
	}
	return verdict
}

// holds reports whether the condition of an evaluated block holds, and its
// message where it does not. After a report there is no message.
func (l *loader) holds(t *block) (ok bool, message string) {
	c := t.args["condition"]
	switch {
	case t.broken:
		return false, ""
	case c == nil || c.value.Type() != cty.Bool:
		value := cty.NullVal(cty.Bool)
		at := t.header
		if c != nil {
			value, at = c.value, c.source.Range
		}
		l.fail(WrongType, at, "A condition must be true or false, not %s.", describe(value))
		return false, ""
	case c.value.True():
		return true, ""
	}
	if m := t.args["error_message"]; m != nil {
		return false, legible(m.parsed.(string))
	}
	return false, "The condition does not hold" // its message is null
}

// legible is a message as plan.md and terminals may have it. No file holds characters
// that steer a terminal or turn the order of text around, but \u makes them.
func legible(message string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, message)
}

// mostReadings is how many values a message tells.
const mostReadings = 6

// asked is a condition as written, with the values of what it reads that is no plan's:
// "plan.run.gpu_hours <= var.most (var.most is 200000)". Conditions that ask the same of
// every plan are the same text.
func (l *loader) asked(expr hclsyntax.Expression, s scope) string {
	for {
		inner, ok := expr.(*hclsyntax.ParenthesesExpr)
		if !ok {
			break
		}
		expr = inner.Expression
	}
	text := l.withoutComments(expr.Range())
	if told := l.told(expr, s, func(root string) bool { return s.given[root] == cty.NilVal }, entire); len(told) > 0 {
		text += " (" + strings.Join(told, ", ") + ")"
	}
	return text
}

// readings tells what an expression read: "plan.run.gpu_hours is 231000".
func (l *loader) readings(expr hclsyntax.Expression, s scope) string {
	told := l.told(expr, s, func(string) bool { return true }, shown)
	if told == nil {
		return "its values cannot be told"
	}
	switch n := len(told); {
	case n == 0:
		return "it reads nothing"
	case n > mostReadings:
		return strings.Join(told[:mostReadings], ", ") + ", …"
	}
	return units.List(told, "and")
}

// told lists what an expression reads of some roots, as write puts the values; nil when
// that cannot be told.
func (l *loader) told(expr hclsyntax.Expression, s scope, of func(root string) bool, write func(cty.Value) string) []string {
	variables, ok := l.resolve(expr, s)
	if !ok {
		return nil
	}
	told := []string{}
	for _, t := range expr.Variables() {
		if !of(t.RootName()) {
			continue
		}
		v, diags := t.TraverseAbs(&hcl.EvalContext{Variables: variables})
		if diags.HasErrors() {
			continue // read by try() or can() alone
		}
		if text := l.source(t.SourceRange()) + " is " + write(v); !slices.Contains(told, text) {
			told = append(told, text)
		}
	}
	return told
}

// source is what stands at a place of a file.
func (l *loader) source(r hcl.Range) string {
	src := l.files[r.Filename]
	if r.Start.Byte > r.End.Byte || r.End.Byte > len(src) {
		return "it"
	}
	return strings.Join(strings.Fields(string(src[r.Start.Byte:r.End.Byte])), " ")
}

// entire is shown, with a hash of what is not written out.
func entire(v cty.Value) string {
	text := shown(v)
	if t := v.Type(); v.IsNull() || t == cty.Number || t == cty.Bool {
		return text
	}
	written, err := ctyjson.Marshal(v, v.Type())
	if err != nil || strings.Contains(text, string(written)) {
		return text
	}
	sum := sha256.Sum256(written)
	return fmt.Sprintf("%s, of hash %x", text, sum[:6])
}

// withoutComments is source without the comments in it.
func (l *loader) withoutComments(r hcl.Range) string {
	src := l.files[r.Filename]
	if r.Start.Byte > r.End.Byte || r.End.Byte > len(src) {
		return "it"
	}
	src = src[r.Start.Byte:r.End.Byte]
	tokens, _ := hclsyntax.LexExpression(src, r.Filename, hcl.InitialPos)
	var b strings.Builder
	end := 0
	for _, t := range tokens {
		from, to := t.Range.Start.Byte, t.Range.End.Byte
		b.Write(src[end:from]) // space
		if end = to; t.Type == hclsyntax.TokenComment {
			b.WriteByte(' ')
			continue
		}
		b.Write(src[from:to])
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// shown writes a value out when it is short, and describes it else.
func shown(v cty.Value) string {
	const short = 60
	if !v.IsWhollyKnown() || v.IsNull() || v.Type() == cty.Number {
		return describe(v)
	}
	if t := v.Type(); t == cty.String || v.CanIterateElements() && v.LengthInt() > short {
		return strings.TrimPrefix(describe(v), "the text ")
	}
	text, err := ctyjson.Marshal(v, v.Type())
	if err != nil || len(text) > short {
		return describe(v)
	}
	return string(text)
}
