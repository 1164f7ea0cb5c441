package budget

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/ndc-dev/ndc/lang/functions"
)

func parse(t testing.TB, text string) hclsyntax.Expression {
	t.Helper()
	e, diags := hclsyntax.ParseExpression([]byte(text), "test", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%.200s: %v", text, diags)
	}
	return e
}

// The variables are as large as values may be.
var (
	long = func() cty.Value {
		list := make([]cty.Value, MaxValue-1)
		for i := range list {
			list[i] = cty.True
		}
		return cty.ListVal(list)
	}()
	numbers = func() cty.Value {
		list := make([]cty.Value, maxWidth)
		for i := range list {
			list[i] = cty.NumberIntVal(int64(i))
		}
		return cty.ListVal(list)
	}()
	variables = map[string]cty.Value{
		"n": numbers, "long": long, "text": cty.StringVal(strings.Repeat("a\n", 1<<18)), "one": cty.NumberIntVal(1),
		"huge": cty.StringVal("1e600000000"), "digits": cty.StringVal(strings.Repeat("9", 1<<19)),
		"small": cty.ListVal([]cty.Value{cty.NumberIntVal(1), cty.NumberIntVal(2)}),
	}
)

// bombs are expressions that without limits take all memory or never end.
var bombs = []string{
	`format("%999999999s", "x")`, `format("%.999999999f", 1)`, `format("%999999999d", 1)`, `formatlist("%99999999s", n)`,
	`format("%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s", text)`, `format("%d", huge)`, `format("%d", "1e600000000")`, `format("%f", digits)`,
	`[for a in n : [for b in n : [for c in n : c]]]`, `[for a in n : [for b in n : b if false]]`, `[for a in n : [for b in n : 1 if b == a]]`,
	`{ for a in n : a => n }`, `{ for a in n : "x" => text... }`, `[for a in n : n]`, `[for a in n : length(n)]`, `[for a in n : n == n]`,
	`[for a in long : [for b in long : [for c in long : c]]]`, `[for a in long : [for b in long : b if false]]`, `[for a in long : length(long)]`, `[for a in n : long == long]`, `setproduct(long, long)`, `distinct(long)`,
	`[for a in n : contains(n, a)]`, `[for a in n : index(n, a)]`, `[for a in n : n[*]]`, `[for a in n : "${text}"]`, `[for a in n : one == 1 ? n : []]`,
	`setproduct(n, n, n)`, `setproduct([for x in n : toset(n)]...)`, `join(text, n)`, `join(text, n, n, n)`, `replace(text, "", text)`, `replace(text, "/a/", text)`,
	`replace(text, "/(.*)/", "$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1")`, `indent(999999999, text)`, `indent(-1, text)`, `regexall("(((((((((((((((((((((((((((((((a)))))))))))))))))))))))))))))))", text)`,
	`regex("^(((a{30}){30})*)*$", text)`, `regexall(".*b|a", substr(text, 0, 60000))`, `regexall("(?s).*b|a", substr(text, 0, 60000))`, `replace(substr(text, 0, 60000), "/(?s)(.|.)*b|/", "")`,
	`regexall("(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}(a?){1000}", substr(text, 0, 1000))`, `regex(text, text)`, `distinct(n)`, `matchkeys(n, n, n)`, `trim(text, "${text}b")`, `split("", text)`, `chunklist(n, 0)`, `range(1e9)`,
	`"${text}${text}${text}${text}${text}${text}${text}${text}"`, `"%{ for a in n }${text}%{ endfor }"`,
	`yamldecode("a: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]\ng: &g [*f, *f, *f, *f, *f, *f, *f, *f, *f, *f]\nh: [*g, *g, *g, *g, *g, *g, *g, *g, *g, *g]")`,
	`jsondecode(join("", [for a in range(1000) : "["]))`, `yamldecode(join("", [for a in range(1000) : "["]))`, `yamldecode(join("", [for a in range(1000) : "- "]))`, `yamldecode(join("", [for a in range(1000) : "{a: "]))`,
	`jsondecode("[${join(",", [for a in n : "0,0,0,0,0,0"])}]")`, `csvdecode("a\n${text}")`, `jsondecode(digits)`, `yamldecode(huge)`, `jsondecode(huge)`,
	`huge * 1`, `-huge`, `huge % 3`, `"1e600000000" % 3`, `digits + 1`, `[for a in n : digits + 1]`, `[for a in n : small[digits]]`, `floor(huge)`, `parseint(digits, 10)`, `tonumber(digits)`,
	`sum([huge])`, `tostring(1e999 * 1e999 * 1e999 * 1e999 * 1e999)`, `"${1e999 * 1e999 * 1e999 * 1e999 * 1e999}"`, `[for a in n : "${1e-999}"]`, `pow(1e308, 1e308)`,
	nested("try(", "1", ")", 60), nested("can(", "1", ")", 60), nested("[for a in n : ", "a", "]", 40), nested("[", "n", ", n]", 60),
	doubled("[%s, %s]", 18), "[for x in " + doubled("[%s, %s]", 12) + " : [x, x, n]]", `[for a in n : try([for b in n : [for c in n : c]], 1)]`, `[for a in n : can(setproduct(n, n))]`,
	`merge([for a in n : { for b in small : "k${a}${b}" => n }]...)`, `zipmap([for a in n : tostring(a)], [for a in n : n])`, `concat([for a in n : n]...)`,
	`flatten([for a in n : [n]])`, `jsonencode([for a in small : [for b in small : [n, n]]])`, `title(upper(join(" ", [for a in n : "${text}"])))`,
	"coalesce(" + strings.Repeat(`one, "a", `, 8000) + "one)", `coalesce(long...)`, "concat(" + strings.Repeat(`small, tolist(["a"]), `, 5000) + "small)",
	`cidrsubnets("10.0.0.0/8", [for a in n : 20]...)`, `timeadd("2017-11-22T00:00:00Z", digits)`, `formatdate(text, "2018-01-02T23:12:01Z")`, `substr(text, 0, 1e300)`,
}

func nested(open, inner, end string, depth int) string {
	return strings.Repeat(open, depth) + inner + strings.Repeat(end, depth)
}

// doubled writes an expression whose every level holds the one below twice,
// from a list of large values.
func doubled(format string, depth int) string {
	s := "n"
	for range depth {
		if len(s) > 1<<16 {
			break
		}
		s = fmt.Sprintf(format, s, s)
	}
	return s
}

// TestBeyondNumbers: a word with an e in it is no number, however long.
func TestBeyondNumbers(t *testing.T) {
	for text, want := range map[string]bool{"1e999": false, "1e-0009": false, "1e1000": true, "1e+01000": true, "2p-1000": true, "eight": false, "2e12 batches": false, `lookup({}, "x")`: false} {
		if BeyondNumbers(text) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

// TestOneType: finding one type for many values costs what comparing all of them does.
func TestOneType(t *testing.T) {
	object := "{ a = 1"
	for i := range 30 {
		object += fmt.Sprintf(", b%d = 1", i)
	}
	cost := func(call string) int {
		b := New()
		if _, diags := b.Value(parse(t, strings.Replace(call, "objects", "["+strings.Repeat(object+" }, ", 600)+"]", 1)), nil); diags.HasErrors() {
			t.Fatal(diags)
		}
		return MaxTotal - b.left
	}
	less := cost("length(objects)")
	for _, call := range []string{"tolist(objects)", "chunklist(objects, 10)", "setproduct(objects, [1])"} {
		if more := cost(call); more < less+600*600*31/64 {
			t.Errorf("%d, and %d for %s", less, more, call)
		}
	}
}

// TestBombs: no expression makes more than its budget pays for, and a second
// run has the same outcome. One that does not end at all meets the limit of go test.
func TestBombs(t *testing.T) {
	for i, text := range bombs {
		name := text[:min(len(text), 60)]
		before, start := allocated(), time.Now()
		first := outcome(t, text)
		made := allocated() - before
		if made > 256<<20 && !testing.Short() { // the race detector makes package regexp forget its buffers
			t.Errorf("%s made %d MiB", name, made>>20)
		}
		t.Logf("%6d ms %5d MiB %s: %.150s", time.Since(start).Milliseconds(), made>>20, name, first)
		if i%5 != 0 {
			continue
		}
		if second := outcome(t, text); second != first {
			t.Errorf("%s: %.200s, then %.200s", name, first, second)
		}
	}
}

// TestWrittenOut: numbers that become text are paid for, those near zero for their digits.
func TestWrittenOut(t *testing.T) {
	for _, text := range []string{strings.Repeat("${one}", 20_000), strings.Repeat("${one / 1e900}", 400)} {
		if got := outcome(t, `"`+text+`"`); got != "spent" {
			t.Errorf("%.20s: %s", text, got)
		}
	}
}

// allocated counts bytes ever made, which bounds what was held at once.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func outcome(t *testing.T, text string) string {
	b := newBudget(MaxTotal / 16)
	v, diags := b.Value(parse(t, text), variables)
	switch {
	case b.Spent():
		return "spent"
	case diags.HasErrors():
		for _, d := range diags {
			if strings.Contains(d.Detail, "goroutine") {
				t.Errorf("%.60s: %s", text, d.Detail)
			}
		}
		return diags[0].Detail
	case Size(v) > MaxValue:
		t.Errorf("%.60s: the value is larger than allowed", text)
	}
	return fmt.Sprintf("a value of %d, %d left", Size(v), b.left)
}

// odd are values of every type that functions rarely see.
func odd() map[string]cty.Value {
	number := func(text string) cty.Value { v, _ := cty.ParseNumberVal(text); return v }
	strs := cty.ListVal([]cty.Value{cty.StringVal("a"), cty.StringVal("b")})
	return map[string]cty.Value{
		"null": cty.NullVal(cty.DynamicPseudoType), "null text": cty.NullVal(cty.String), "null number": cty.NullVal(cty.Number), "null list": cty.NullVal(cty.List(cty.String)),
		"null map": cty.NullVal(cty.Map(cty.String)), "unknown": cty.DynamicVal, "unknown text": cty.UnknownVal(cty.String), "unknown number": cty.UnknownVal(cty.Number),
		"unknown list": cty.UnknownVal(cty.List(cty.Number)), "unknown set": cty.UnknownVal(cty.Set(cty.String)), "unknown map": cty.UnknownVal(cty.Map(cty.List(cty.String))),
		"0": cty.Zero, "1": cty.NumberIntVal(1), "-1": cty.NumberIntVal(-1), "half": number("0.5"), "-half": number("-0.5"), "huge": number("1e999"), "-huge": number("-1e999"), "tiny": number("1e-999"),
		"+inf": cty.PositiveInfinity, "-inf": cty.NegativeInfinity, "2^53": number("9007199254740993"), "2^64": number("18446744073709551616"),
		"empty text": cty.StringVal(""), "text": cty.StringVal("a,b\nc"), "percent": cty.StringVal("%s%d%[9]v%*d"), "bracket": cty.StringVal("(["), "slash": cty.StringVal("/(/"), "json": cty.StringVal("{\"a\":[1,null]}"),
		"date": cty.StringVal("2018-01-02T23:12:01Z"), "prefix": cty.StringVal("10.0.0.0/8"), "digits": cty.StringVal("12"), "exponent": cty.StringVal("1e600000000"), "nbsp": cty.StringVal("\u00a0\ufeff\u202e"),
		"true": cty.True, "empty list": cty.ListValEmpty(cty.String), "empty tuple": cty.EmptyTupleVal, "empty object": cty.EmptyObjectVal, "empty map": cty.MapValEmpty(cty.String), "empty set": cty.SetValEmpty(cty.String),
		"list": strs, "list of null": cty.ListVal([]cty.Value{cty.NullVal(cty.String)}), "list with unknown": cty.ListVal([]cty.Value{cty.UnknownVal(cty.String), cty.StringVal("a")}),
		"list of lists": cty.ListVal([]cty.Value{strs, cty.NullVal(cty.List(cty.String))}), "tuple": cty.TupleVal([]cty.Value{cty.Zero, cty.StringVal("a"), cty.NullVal(cty.DynamicPseudoType), cty.EmptyObjectVal}),
		"set": cty.SetVal([]cty.Value{cty.StringVal("a")}), "set of null": cty.SetVal([]cty.Value{cty.NullVal(cty.String)}), "set of dynamic": cty.SetValEmpty(cty.DynamicPseudoType), "set with unknown": cty.SetVal([]cty.Value{cty.UnknownVal(cty.String)}),
		"map": cty.MapVal(map[string]cty.Value{"a": cty.StringVal("b")}), "map of null": cty.MapVal(map[string]cty.Value{"a": cty.NullVal(cty.String)}), "map of lists": cty.MapVal(map[string]cty.Value{"a": strs, "b": cty.NullVal(cty.List(cty.String))}),
		"map with unknown": cty.MapVal(map[string]cty.Value{"a": cty.UnknownVal(cty.List(cty.String)), "b": strs}), "object": cty.ObjectVal(map[string]cty.Value{"a": cty.Zero, "b": cty.NullVal(cty.DynamicPseudoType), "c": cty.DynamicVal}),
		"marked": cty.StringVal("a").Mark("m"), "marked list": cty.ListVal([]cty.Value{cty.StringVal("a").Mark("m")}).Mark("n"), "marked number": cty.NumberIntVal(2).Mark("m"),
	}
}

// TestOddArguments calls every function with every odd value, most pairs of
// them and a sample of triples: the outcome is a value or an error of the
// function, never a panic or a stack of Go.
func TestOddArguments(t *testing.T) {
	values := odd()
	names := slices.Sorted(maps.Keys(values))
	calls := 0
	call := func(f string, b *Budget, args ...string) {
		calls++
		oddCall(t, f, b, args, values)
	}
	for n, f := range functions.Names() {
		b := New()
		most := parameters(b.table[f])
		call(f, b)
		for i, x := range names {
			call(f, b, x)
			for j, y := range names {
				if most > 1 && (i+j+n)%3 != 0 {
					call(f, b, x, y)
				}
				if most > 2 && (i+j+n)%8 == 0 {
					call(f, b, x, y, names[(i*7+j*3)%len(names)])
				}
			}
		}
	}
	if calls < 60_000 {
		t.Errorf("only %d calls", calls)
	}
}

// parameters is how many arguments a function takes, three for any number.
func parameters(f function.Function) int {
	if f.VarParam() != nil {
		return 3
	}
	return len(f.Params())
}

func oddCall(t *testing.T, f string, b *Budget, names []string, values map[string]cty.Value) {
	expr := &hclsyntax.FunctionCallExpr{Name: f}
	for _, n := range names {
		expr.Args = append(expr.Args, &hclsyntax.LiteralValueExpr{Val: values[n]})
	}
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s(%s): panic: %v", f, strings.Join(names, ", "), r)
		}
	}()
	b.left, b.spent = MaxTotal, false
	v, diags := b.Value(expr, nil)
	for _, d := range diags {
		if strings.Contains(d.Detail, "goroutine") || strings.Contains(d.Detail, "panic") {
			t.Errorf("%s(%s): %.300s", f, strings.Join(names, ", "), d.Detail)
		}
	}
	if b.spent || !diags.HasErrors() && v == cty.NilVal {
		t.Errorf("%s(%s) used up the budget or has no value", f, strings.Join(names, ", "))
	}
}

// FuzzExpressions: no expression panics or goes beyond its limits.
func FuzzExpressions(f *testing.F) {
	for _, text := range bombs {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Count(text, "(")+strings.Count(text, "[")+strings.Count(text, "{") > 100 || len(text) > 4096 {
			return // package lang refuses it
		}
		for _, n := range digits.FindAllString(text, -1) {
			if len(n) > 3 {
				return // an exponent that package lang refuses
			}
		}
		e, diags := hclsyntax.ParseExpression([]byte(text), "test", hcl.InitialPos)
		if diags.HasErrors() {
			return
		}
		b := newBudget(MaxTotal / 64) // a fuzzer takes ten seconds for a hang
		if v, diags := b.Value(e, variables); !diags.HasErrors() && !b.Spent() && Size(v) > MaxValue {
			t.Errorf("a value of more than %d", MaxValue)
		}
	})
}

// TestUnknown: what is not known yet, such as the plan in a policy, is gone
// through like everything else.
func TestUnknown(t *testing.T) {
	for _, text := range []string{`[for a in x : a.b]`, `{ for k, a in x : k => a.b }`, `x[*].b`, `x[0].b`, `length(x) > 1`, `alltrue([for a in x : a.b == "c"])`} {
		v, diags := New().Value(parse(t, text), map[string]cty.Value{"x": cty.UnknownVal(cty.List(cty.Object(map[string]cty.Type{"b": cty.String})))})
		if diags.HasErrors() || v.IsKnown() {
			t.Errorf("%s is %#v, %v", text, v, diags)
		}
	}
}
