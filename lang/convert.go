package lang

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/budget"
	"github.com/ndc-dev/ndc/lang/catalog"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
	"github.com/ndc-dev/ndc/lang/units"
)

// converter turns the value of one argument into what its schema asks for,
// and reports at the smallest part of the expression that is wrong.
type converter struct {
	spec  *schema.Argument
	expr  hclsyntax.Expression
	diags diag.List
	parts map[string]job.Source

	entries map[string]hclsyntax.ObjectConsItem // of a map, by literal keys
}

// interval is the value of an argument of type Interval; the zero value is auto.
type interval struct {
	steps int64
	time  units.Seconds
}

// convert returns nil for null. References (ModelRef and its like, Any) pass
// as they are.
func (c *converter) convert(v cty.Value) *argument {
	a := &argument{value: v, source: job.Source{Range: rangeOf(c.expr.Range())}}
	if v.IsNull() {
		return nil
	}
	if !v.IsWhollyKnown() {
		a.bad = true // what made it unknown has been reported
		return a
	}
	ok := c.fill(a)
	a.bad = !ok
	a.parts = c.parts
	if t := argumentType(c.spec); ok {
		a.value = convertOr(a.value, t)
	} else {
		a.value = cty.UnknownVal(t)
	}
	return a
}

// fill sets the converted value.
func (c *converter) fill(a *argument) (ok bool) {
	if c.spec.Several && isSequence(a.value.Type()) {
		a.parsed, ok = c.several(a.value)
		return ok
	}
	if c.spec.Letters != nil && isSequence(a.value.Type()) {
		text, ok := c.spelled(a.value)
		a.parsed, a.value = text, cty.StringVal(text)
		return ok
	}
	switch c.spec.Type {
	case schema.Count:
		return store(a, c.count)
	case schema.Number:
		return store(a, c.number)
	case schema.Bool:
		return store(a, c.truth)
	case schema.String:
		return store(a, c.text)
	case schema.Bytes, schema.Bandwidth, schema.FLOPS, schema.Duration, schema.Share, schema.Power:
		return c.quantity(a)
	case schema.StringList:
		a.parsed, ok = elements(c, a.value, c.text)
	case schema.CountList:
		a.parsed, ok = c.counts(a.value)
	case schema.StringMap, schema.Environment:
		a.parsed, ok = c.variables(a.value)
	case schema.CountChoice:
		a.parsed, ok = c.countChoice(a.value)
	case schema.BoolChoice:
		a.parsed, ok = c.boolChoice(a.value)
	case schema.StringChoice:
		a.parsed, ok = c.stringChoice(a.value)
	case schema.Interval:
		a.parsed, ok = c.interval(a.value)
	case schema.Timeout:
		return c.timeout(a)
	case schema.Chain:
		a.parsed, ok = c.chain(a.value)
	case schema.ModelRef, schema.ClusterRef, schema.GPURef, schema.JobRef, schema.SiteRef:
		a.parsed, ok = a.value, c.reference(a.value)
	default:
		a.parsed, ok = a.value, true
	}
	return ok
}

// reference checks that a value is a block of the kind that the argument's
// type is named after.
func (c *converter) reference(v cty.Value) bool {
	kind := c.spec.Type.String()
	if kindOf(v.Type()) == kind {
		return true
	}
	c.fail(WrongType, rangeOf(c.expr.Range()), "%s", otherKind(v, kind))
	return false
}

// otherKind says that a value is no block of a kind, and how to write one.
func otherKind(v cty.Value, kind string) string {
	if slices.Contains(opaqueKinds, kind) {
		return fmt.Sprintf("A %s is needed here, not %s. Write %s.NAME, or %s[\"NAME\"].", kind, describe(v), kind, kind)
	}
	hint := fmt.Sprintf("Write %s.NAME for one of these files, or catalog.%s.NAME for a built-in one.", kind, kind)
	if v.Type() == cty.String && !v.IsNull() && slices.Contains(catalog.Names(kind), v.AsString()) {
		hint = fmt.Sprintf("Write catalog.%s.%s, without quotes.", kind, v.AsString())
	}
	return fmt.Sprintf("A %s is needed here, not %s. %s", kind, describe(v), hint)
}

// store converts with f and sets the converted value.
func store[T any](a *argument, f func(cty.Value, diag.Range) (T, bool)) bool {
	v, ok := f(a.value, a.source.Range)
	a.parsed = v
	return ok
}

func convertOr(v cty.Value, t cty.Type) cty.Value {
	converted, err := convert.Convert(v, t)
	if err != nil {
		return cty.UnknownVal(t)
	}
	return converted
}

func (c *converter) fail(id diag.ID, at diag.Range, format string, args ...any) {
	c.diags.Error(id, at, summaries[id], fmt.Sprintf(format, args...))
}

// wrongType reports a value of another type.
func (c *converter) wrongType(v cty.Value, at diag.Range, want string) {
	c.fail(WrongType, at, "%q must be %s, not %s.%s", c.spec.Name, want, describe(v), plainNumber(v))
}

// magnitudes are the exponents that people write as letters behind a number.
var magnitudes = map[string]int{"k": 3, "m": 6, "b": 9, "g": 9, "bn": 9, "t": 12}

var abbreviated = regexp.MustCompile(`^\s*([0-9][0-9_,]*(?:\.[0-9]+)?)\s*([A-Za-z]{1,2})?\s*$`)

// plainNumber says how a text such as "100B" is written as a number, with a
// leading space; "" where it is none.
func plainNumber(v cty.Value) string {
	if v.Type() != cty.String || !v.IsKnown() || v.IsNull() {
		return ""
	}
	m := abbreviated.FindStringSubmatch(v.AsString())
	if m == nil {
		return ""
	}
	number := strings.NewReplacer("_", "", ",", "").Replace(m[1])
	if m[2] == "" {
		return fmt.Sprintf(" Numbers are written without separators: %s.", number)
	}
	exponent, known := magnitudes[strings.ToLower(m[2])]
	if !known {
		return ""
	}
	said := fmt.Sprintf(" Counts are plain numbers, without a unit: write %se%d", number, exponent)
	if k, err := strconv.ParseFloat(number, 64); err == nil && exponent == 3 {
		said += fmt.Sprintf(", or %s where k means 1024", formatNumber(k*1024))
	}
	return said + "."
}

// asNumber converts numbers and text that is one, as Terraform does.
func asNumber(v cty.Value) (*big.Float, bool) {
	if v.Type() == cty.String && v.IsKnown() && !v.IsNull() && budget.BeyondNumbers(v.AsString()) {
		return nil, false
	}
	n, err := convert.Convert(v, cty.Number)
	if err != nil || n.IsNull() || !n.IsKnown() {
		return nil, false
	}
	return n.AsBigFloat(), true
}

func (c *converter) count(v cty.Value, at diag.Range) (int64, bool) {
	f, ok := asNumber(v)
	if !ok {
		c.wrongType(v, at, "a whole number")
		return 0, false
	}
	n, accuracy := nearInteger(f).Int64()
	if accuracy != big.Exact {
		why := "is not a whole number"
		if f.IsInt() || f.IsInf() {
			why = "is too large"
		}
		c.fail(OutOfRange, at, "%q must be a whole number; %s %s.", c.spec.Name, f.Text('g', 17), why)
		return 0, false
	}
	return n, c.within(float64(n), at)
}

// nearInteger forgives the rounding of arithmetic with decimal fractions, such
// as 0.1 * 30: a number within 10⁻¹⁵ of a whole one is that.
func nearInteger(f *big.Float) *big.Float {
	if f.IsInf() || f.MantExp(nil) > 63 {
		return f
	}
	half := big.NewFloat(0.5)
	if f.Sign() < 0 {
		half.Neg(half)
	}
	whole, _ := new(big.Float).SetPrec(512).Add(f, half).Int(nil)
	rounded := new(big.Float).SetPrec(512).SetInt(whole)
	gap := new(big.Float).SetPrec(512).Sub(f, rounded)
	if limit := new(big.Float).Mul(rounded, big.NewFloat(1e-15)); gap.Abs(gap).Cmp(limit.Abs(limit)) <= 0 {
		return rounded
	}
	return f
}

func (c *converter) number(v cty.Value, at diag.Range) (float64, bool) {
	f, ok := asNumber(v)
	if !ok {
		want := "a number"
		switch l := c.spec.Limits; {
		case l.Max > 0 && l.Open:
			want += " " + limitText(l)
		case l.Max > 0:
			want += " of " + limitText(l)
		}
		c.wrongType(v, at, want)
		return 0, false
	}
	n, _ := f.Float64()
	if math.IsInf(n, 0) {
		c.fail(OutOfRange, at, "%q is too large: %s.", c.spec.Name, f.Text('g', 6))
		return 0, false
	}
	if n == 0 {
		n = 0 // not -0
	}
	return n, c.within(n, at)
}

// within checks the limits of the schema.
func (c *converter) within(n float64, at diag.Range) bool {
	l := c.spec.Limits
	if l.Allows(n) {
		return true
	}
	if n > l.Most() {
		l.Max = l.Most()
	}
	c.fail(OutOfRange, at, "%q must be %s, not %s.", c.spec.Name, limitText(l), formatNumber(n))
	return false
}

// limitText says in words what the limits allow.
func limitText(l schema.Limits) string {
	low := "at least " + formatNumber(l.Min)
	if l.Open {
		low = "greater than " + formatNumber(l.Min)
	}
	if l.Max == 0 {
		return low
	}
	return low + " and at most " + formatNumber(l.Max)
}

func formatNumber(n float64) string {
	if n == math.Trunc(n) && math.Abs(n) < 1e15 {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}

func (c *converter) truth(v cty.Value, at diag.Range) (bool, bool) {
	b, err := convert.Convert(v, cty.Bool)
	if err != nil || b.IsNull() {
		c.wrongType(v, at, "true or false")
		return false, false
	}
	return b.True(), true
}

func (c *converter) text(v cty.Value, at diag.Range) (string, bool) {
	t, err := convert.Convert(v, cty.String)
	if err != nil || t.IsNull() {
		c.wrongType(v, at, "text in quotes")
		return "", false
	}
	s := t.AsString()
	if strings.ContainsRune(s, 0) {
		c.fail(InvalidValue, at, "%q contains a NUL character, which no path, name or variable may have.", c.spec.Name)
		return "", false
	}
	if s == "" && c.spec.Required {
		c.fail(MissingArgument, at, "%q must not be empty. %s", c.spec.Name, c.spec.Doc)
		return "", false
	}
	return s, c.member(s, at) && (!c.spec.Path || c.path(s, at))
}

// unexpanded is what a shell would expand in a path and ndc does not: a home
// folder at its beginning, and a variable without braces, or with one brace.
var unexpanded = regexp.MustCompile(`(?:^|:)(~[^/:]*)|\$(\{?)([A-Za-z_][A-Za-z0-9_]*)(\}?)`)

// path checks that a path of the cluster is written as it will be read: what is
// quoted would be a folder of that name.
func (c *converter) path(s string, at diag.Range) bool {
	return c.expanded(s, at, "is quoted where it is used, and %s would be a folder of that name", "Write the path in full.")
}

// expanded checks that a text holds nothing that a shell would expand and the scripts do
// not. What becomes of it is said of its word.
func (c *converter) expanded(s string, at diag.Range, becomes, full string) bool {
	fail := func(word, advice string) bool {
		c.fail(InvalidValue, at, "%q "+becomes+". %s", s, word, advice)
		return false
	}
	for _, m := range unexpanded.FindAllStringSubmatchIndex(s, -1) {
		group := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return s[m[2*i]:m[2*i+1]]
		}
		from, word, better := m[0], s[m[0]:m[1]], "${"+group(3)+"}"
		if home := group(1); home != "" {
			if word, better = home, "${HOME}"; home != "~" {
				return fail(home, full)
			}
			from = m[2]
		} else if group(2) != "" && group(4) != "" {
			continue
		} else if operator, _, ends := strings.Cut(s[m[1]:], "}"); group(2) != "" && ends && operator != "" && strings.Contains(":-=+?#%/^,@[", operator[:1]) {
			return fail(word+operator+"}", fmt.Sprintf("A name in braces is expanded, $%s, without an operator: give the variable its value in a file that env_file names.", better))
		}
		return fail(word, fmt.Sprintf("Write %s.", Quote(s[:from]+better+s[m[1]:])))
	}
	return true
}

// member checks a closed set.
func (c *converter) member(s string, at diag.Range) bool {
	if c.spec.Enum == nil || slices.Contains(c.spec.Enum, s) {
		return true
	}
	takes, advice := diag.OneOf(c.spec.Enum), didYouMean(s, slices.Concat(c.spec.Enum, c.spec.Parts))
	if len(c.spec.Parts) > 0 {
		takes += ", or a list of its parts " + diag.OneOf(c.spec.Parts)
	}
	if slices.Contains(c.spec.Parts, s) {
		advice = fmt.Sprintf(" It is a part of a value: write parts in a list of their own, [%q].", s)
	}
	if why := c.spec.Absent[s]; why != "" {
		advice = " " + why
	}
	c.fail(UnknownValue, at, "%q is not a value of %q, which takes %s.%s", s, c.spec.Name, takes, advice)
	return false
}

// quantity converts text with a unit.
func (c *converter) quantity(a *argument) bool {
	s, err := convert.Convert(a.value, cty.String)
	if err != nil {
		c.wrongType(a.value, a.source.Range, "a quantity in quotes")
		return false
	}
	a.parsed, err = parseQuantity(c.spec.Type, s.AsString())
	if err == nil && c.spec.Positive && isZero(a.parsed) {
		c.fail(OutOfRange, a.source.Range, "%q must be greater than zero.", c.spec.Name)
		return false
	}
	if err != nil {
		c.badQuantity(err, a.source.Range)
		return false
	}
	return c.plausible(c.spec.Type, a.parsed, s.AsString(), a.source.Range)
}

// plausible checks that a quantity is within what its type extends to.
func (c *converter) plausible(t schema.Type, v any, written string, at diag.Range) bool {
	least, most := t.Extent()
	if n := baseUnits(v); most == "" || n == 0 || n >= baseUnits(mustParse(t, least)) && n <= baseUnits(mustParse(t, most)) {
		return true
	}
	c.fail(OutOfRange, at, "%q must be at least %s and at most %s, not %s.", c.spec.Name, least, most, quoteShort(written))
	return false
}

func mustParse(t schema.Type, s string) any {
	v, err := parseQuantity(t, s)
	if err != nil {
		panic("lang: extent of a quantity: " + err.Error())
	}
	return v
}

func (c *converter) badQuantity(err error, at diag.Range) {
	other := ""
	if c.spec.Type == schema.Timeout {
		other = " Or write \"auto\"."
	}
	c.fail(InvalidQuantity, at, "%v%s", err, other)
}

func parseQuantity(t schema.Type, s string) (any, error) {
	switch t {
	case schema.Bytes:
		return units.ParseBytes(s)
	case schema.Bandwidth:
		return units.ParseBandwidth(s)
	case schema.FLOPS:
		return units.ParseFLOPS(s)
	case schema.Duration, schema.Timeout:
		return units.ParseSeconds(s)
	case schema.Share:
		return units.ParseShare(s)
	case schema.Power:
		return units.ParseWatts(s)
	}
	panic("lang: no quantity: " + t.String())
}

func isZero(v any) bool { return baseUnits(v) == 0 }

// baseUnits is a quantity as a number of bytes, seconds, watts and so on.
func baseUnits(v any) float64 {
	switch v := v.(type) {
	case units.Bytes:
		return float64(v)
	case units.BytesPerSecond:
		return float64(v)
	case units.FLOPsPerSecond:
		return float64(v)
	case units.Seconds:
		return float64(v)
	case units.Watts:
		return float64(v)
	case units.Share:
		return float64(v)
	}
	panic(fmt.Sprintf("lang: no quantity: %T", v))
}

// interval converts steps, a time or "auto".
func (c *converter) interval(v cty.Value) (any, bool) {
	at := rangeOf(c.expr.Range())
	if v.Type() == cty.String {
		if v.AsString() == "auto" {
			return interval{}, true
		}
		if _, isNumber := asNumber(v); !isNumber {
			t, err := units.ParseSeconds(v.AsString())
			if err != nil {
				c.fail(InvalidValue, at, "%q is a number of steps such as 500, a time such as \"30m\", or \"auto\"; %q is neither.", c.spec.Name, v.AsString())
				return nil, false
			}
			if t == 0 {
				c.fail(OutOfRange, at, "%q must be greater than zero.", c.spec.Name)
				return nil, false
			}
			return interval{time: t}, c.plausible(schema.Duration, t, v.AsString(), at)
		}
	}
	n, ok := c.count(v, at)
	if ok && n == 0 {
		c.fail(OutOfRange, at, "%q must be at least 1.", c.spec.Name)
		return nil, false
	}
	return interval{steps: n}, ok
}

// timeout converts a time or "auto".
func (c *converter) timeout(a *argument) bool {
	if a.value.Type() == cty.String && a.value.AsString() == "auto" {
		a.parsed = job.Silence{Learned: true}
		return true
	}
	ok := c.quantity(a)
	if t, isTime := a.parsed.(units.Seconds); isTime {
		a.parsed = job.Silence{Time: t}
	}
	return ok
}

// chain converts a number of submissions or "until_done".
func (c *converter) chain(v cty.Value) (any, bool) {
	at := rangeOf(c.expr.Range())
	if v.Type() == cty.String {
		if v.AsString() == "until_done" {
			return job.Chain{UntilDone: true}, true
		}
		if _, isNumber := asNumber(v); !isNumber {
			c.fail(UnknownValue, at, "%q is a number of submissions or \"until_done\", not %q.%s",
				c.spec.Name, v.AsString(), diag.DidYouMean(v.AsString(), []string{"until_done"}))
			return nil, false
		}
	}
	if v.Type() == cty.Bool {
		c.fail(WrongType, at, "%q is a number of submissions or \"until_done\", not %s.", c.spec.Name, describe(v))
		return nil, false
	}
	n, ok := c.count(v, at)
	return job.Chain{Count: int(n)}, ok
}

// describe names a value for a message.
func describe(v cty.Value) string {
	t := v.Type()
	switch {
	case v.IsNull():
		return "null"
	case t == cty.String:
		return fmt.Sprintf("the text %s", quoteShort(v.AsString()))
	case t == cty.Number:
		return v.AsBigFloat().Text('g', 10)
	case t == cty.Bool:
		return strconv.FormatBool(v.True())
	case t.IsSetType():
		return "a set" + ofWhat(t.ElementType())
	case t.IsListType() || t.IsTupleType():
		return "a list"
	case isKind(t):
		return "a " + kindOf(t)
	case t.IsMapType() || t.IsObjectType():
		return "a map"
	}
	return t.FriendlyName()
}

// ofWhat ends what describe says of a set; "" where there is no word for its elements.
func ofWhat(t cty.Type) string {
	switch t {
	case cty.String:
		return " of text"
	case cty.Number:
		return " of numbers"
	}
	return ""
}

func quoteShort(s string) string {
	if r := []rune(s); len(r) > 40 {
		s = string(r[:40]) + "…"
	}
	return strconv.Quote(s)
}
