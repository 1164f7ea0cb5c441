package budget

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// metered is an expression inside of another, whose value is paid for before
// the other one sees it. The loops of HCL are thereby bounded from inside.
type metered struct {
	hclsyntax.Expression
	budget *Budget
	number bool // the value will be converted to a number
	key    bool // the value may be converted to a number
	loop   bool // the value's elements are gone through
	alike  bool // the value's elements will be given one type
	text   bool // the value becomes text
}

// Value implements hcl.Expression.
func (m *metered) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	m.budget.spend(1)
	v, diags := m.Expression.Value(ctx)
	size, units := cost(v)
	m.budget.spend(units)
	if m.loop {
		m.budget.spend(4 * length(v))
	}
	if m.key {
		m.budget.spend(keyCost(v))
	}
	if m.alike {
		_, work := unified(elementTypes(v))
		m.budget.spend(work)
	}
	if m.text && v.Type() == cty.Number {
		m.budget.spend(writtenOut)
	}
	switch {
	case diags.HasErrors():
		return v, diags
	case size > MaxValue:
		return cty.DynamicVal, m.fail("This value is too large: " + tooLarge + ".")
	case m.number && beyondNumbers(v):
		return cty.DynamicVal, m.fail("This text is a number beyond everything that can be counted.")
	}
	return v, diags
}

// writtenOut is what the text of any number takes: its 512 bits are gone through for the
// fewest digits that tell it.
const writtenOut = 16

// tooLarge says what MaxValue means.
var tooLarge = fmt.Sprintf("a value holds at most %d elements (%d in a tuple, object or set) or %d MiB of text, in at most %d levels",
	MaxValue, maxWidth, MaxValue*bytesPerUnit>>20, maxDepth)

func (m *metered) fail(detail string) hcl.Diagnostics {
	return hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Value too large", Detail: detail, Subject: m.Range().Ptr(), Extra: tooLargeExtra{}}}
}

type tooLargeExtra struct{}

// TooLarge reports whether a diagnostic says that a value is too large.
func TooLarge(d *hcl.Diagnostic) bool {
	_, ok := hcl.DiagnosticExtra[tooLargeExtra](d)
	return ok
}

// maxDigits is the longest text that is taken for a number.
const maxDigits = 1000

// beyondNumbers reports text of which converting it to a number, or working
// with that, would take long: thousands of digits, written out or by an exponent.
func beyondNumbers(v cty.Value) bool {
	v, _ = v.Unmark()
	return v.Type() == cty.String && v.IsKnown() && !v.IsNull() && BeyondNumbers(v.AsString())
}

// BeyondNumbers reports whether a text has too many digits to be read as a
// number, or an exponent of more than three: writing such a number out takes
// long.
func BeyondNumbers(text string) bool {
	exponent := ""
	if i := strings.LastIndexAny(text, "eEpP"); i >= 0 {
		exponent = strings.TrimLeft(text[i+1:], "+-0")
	}
	return len(text) > maxDigits || len(exponent) > 3 && strings.Trim(exponent, "0123456789") == ""
}

// meter returns an expression that pays for its value. What is written out
// costs nothing.
func (b *Budget) meter(e hclsyntax.Expression) hclsyntax.Expression {
	switch e := e.(type) {
	case nil:
		return nil
	case *metered, *hclsyntax.LiteralValueExpr, *hclsyntax.AnonSymbolExpr:
		return e
	case *hclsyntax.ObjectConsKeyExpr:
		b.inside(e)
		return e
	case *hclsyntax.TemplateExpr:
		if e.IsStringLiteral() {
			return e
		}
	case *hclsyntax.ScopeTraversalExpr:
		// HCL finds what an expression refers to among the children.
		return &metered{Expression: &hclsyntax.ParenthesesExpr{Expression: e, SrcRange: e.SrcRange}, budget: b}
	}
	b.inside(e)
	return &metered{Expression: e, budget: b}
}

// meterNumber is meter for what will be converted to a number.
func (b *Budget) meterNumber(e hclsyntax.Expression) hclsyntax.Expression {
	if t, text := e.(*hclsyntax.TemplateExpr); text { // meter lets plain text pass
		b.inside(t)
		e = &metered{Expression: t, budget: b}
	}
	e = b.meter(e)
	if m, ok := e.(*metered); ok {
		m.number = true
	}
	return e
}

// meterKey is meter for an index, which is a number where what it looks into
// is a list.
func (b *Budget) meterKey(e hclsyntax.Expression) hclsyntax.Expression {
	e = b.meter(e)
	if m, ok := e.(*metered); ok {
		m.key = true
	}
	return e
}

// keyCost is what reading a key as a number takes: the square of its digits.
func keyCost(v cty.Value) float64 {
	v, _ = v.Unmark()
	if v.Type() != cty.String || !v.IsKnown() || v.IsNull() {
		return 0
	}
	n := float64(len(v.AsString()))
	return n * n / (1 << 16)
}

// inside replaces the parts of an expression, once, by metered ones. What is
// only looked into, the source of an index or attribute, costs nothing by
// itself.
func (b *Budget) inside(e hclsyntax.Expression) {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		b.inside(e.Expression)
	case *hclsyntax.RelativeTraversalExpr:
		b.inside(e.Source)
	case *hclsyntax.IndexExpr:
		b.inside(e.Collection)
		e.Key = b.meterKey(e.Key)
	case *hclsyntax.SplatExpr:
		e.Source, e.Each = b.meter(e.Source), b.meter(e.Each)
	case *hclsyntax.FunctionCallExpr:
		b.arguments(e)
	case *hclsyntax.ConditionalExpr:
		e.Condition, e.TrueResult, e.FalseResult = b.meter(e.Condition), b.meter(e.TrueResult), b.meter(e.FalseResult)
	case *hclsyntax.BinaryOpExpr:
		b.operands(e)
	case *hclsyntax.UnaryOpExpr:
		e.Val = b.meterNumber(e.Val)
	case *hclsyntax.ForExpr:
		b.loop(e)
	default:
		b.collection(e)
	}
}

// collection is inside for what puts values together.
func (b *Budget) collection(e hclsyntax.Expression) {
	switch e := e.(type) {
	case *hclsyntax.TupleConsExpr:
		for i := range e.Exprs {
			e.Exprs[i] = b.meter(e.Exprs[i])
		}
	case *hclsyntax.ObjectConsExpr:
		for i := range e.Items {
			e.Items[i].KeyExpr, e.Items[i].ValueExpr = b.meter(e.Items[i].KeyExpr), b.meter(e.Items[i].ValueExpr)
		}
	case *hclsyntax.ObjectConsKeyExpr:
		if _, name := e.Wrapped.(*hclsyntax.ScopeTraversalExpr); !name || e.ForceNonLiteral {
			e.Wrapped = b.meter(e.Wrapped)
		}
	case *hclsyntax.TemplateExpr:
		for i := range e.Parts {
			e.Parts[i] = b.meter(e.Parts[i])
			if m, ok := e.Parts[i].(*metered); ok {
				m.text = true
			}
		}
	case *hclsyntax.TemplateWrapExpr:
		e.Wrapped = b.meter(e.Wrapped)
	case *hclsyntax.TemplateJoinExpr:
		e.Tuple = b.meter(e.Tuple)
	}
}

func (b *Budget) operands(e *hclsyntax.BinaryOpExpr) {
	if own, ok := divisions[e.Op]; ok {
		e.Op = own
	}
	if e.Op.Type == cty.Number || e.Op.Impl.Params()[0].Type == cty.Number {
		e.LHS, e.RHS = b.meterNumber(e.LHS), b.meterNumber(e.RHS)
		return
	}
	e.LHS, e.RHS = b.meter(e.LHS), b.meter(e.RHS)
}

func (b *Budget) loop(e *hclsyntax.ForExpr) {
	e.CollExpr, e.ValExpr = b.meter(e.CollExpr), b.meter(e.ValExpr)
	if m, ok := e.CollExpr.(*metered); ok {
		m.loop = true
	}
	if e.KeyExpr != nil {
		e.KeyExpr = b.meter(e.KeyExpr)
	}
	if e.CondExpr != nil {
		e.CondExpr = b.meter(e.CondExpr)
	}
}

// arguments meters those of a call; HCL converts them to the types of the
// parameters before the function sees them.
func (b *Budget) arguments(e *hclsyntax.FunctionCallExpr) {
	f, known := b.table[e.Name]
	for i := range e.Args {
		if known && parameterType(f, i) == cty.Number {
			e.Args[i] = b.meterNumber(e.Args[i])
			continue
		}
		e.Args[i] = b.meter(e.Args[i])
		if m, ok := e.Args[i].(*metered); ok && known {
			t := parameterType(f, i)
			m.alike = t.IsCollectionType() && t.ElementType() == cty.DynamicPseudoType
		}
	}
}
