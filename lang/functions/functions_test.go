package functions

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

func evaluate(t *testing.T, expr string) (cty.Value, error) {
	t.Helper()
	e, diags := hclsyntax.ParseExpression([]byte(expr), "test", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%s: %v", expr, diags)
	}
	v, diags := e.Value(&hcl.EvalContext{Functions: Table()})
	if diags.HasErrors() {
		return v, diags
	}
	return v, nil
}

// TestFunctions compares with the results in Terraform's documentation of each
// function. An empty result is an error.
func TestFunctions(t *testing.T) {
	covered := map[string]bool{}
	for _, c := range []struct{ expr, want string }{
		{`abs(-12.4)`, `12.4`},
		{`ceil(5.1)`, `6`}, {`floor(4.9)`, `4`}, {`log(16, 2)`, `4`},
		{`max([12, 54, 3]...)`, `54`}, {`min(12, 54, 3)`, `3`},
		{`parseint("FF", 16)`, `255`}, {`pow(3, 2)`, `9`}, {`signum(-13)`, `-1`},
		{`sum([10, 13, 6, 4.5])`, `33.5`}, {`sum([])`, ``}, {`sum(["a"])`, ``}, {`sum({ a = 1 })`, ``},

		{`basename("foo/bar/baz.txt")`, `"baz.txt"`}, {`dirname("foo/bar/baz.txt")`, `"foo/bar"`},
		{`chomp("hello\n")`, `"hello"`}, {`endswith("hello world", "world")`, `true`}, {`startswith("hello world", "world")`, `false`},
		{`format("Hello, %s!", "Ander")`, `"Hello, Ander!"`}, {`formatlist("Hello, %s!", ["a", "b"])`, `["Hello, a!", "Hello, b!"]`},
		{`indent(2, "a\nb")`, `"a\n  b"`}, {`join("-", ["foo", "bar"])`, `"foo-bar"`}, {`lower("HELLO")`, `"hello"`}, {`upper("hello")`, `"HELLO"`},
		{`regex("[a-z]+", "53453453.345345aaabbbccc23454")`, `"aaabbbccc"`}, {`regexall("[a-z]+", "1234abcd5678efgh9")`, `["abcd", "efgh"]`},
		{`replace("1 + 2 + 3", "+", "-")`, `"1 - 2 - 3"`}, {`replace("hello world", "/w.*d/", "everybody")`, `"hello everybody"`}, {`replace("a", "/(/", "b")`, ``},
		{`split(",", "foo,bar")`, `["foo", "bar"]`}, {`strcontains("hello world", "wor")`, `true`}, {`strrev("hello")`, `"olleh"`},
		{`substr("hello world", 1, 4)`, `"ello"`}, {`title("hello world")`, `"Hello World"`}, {`trim("?!hello?!", "!?")`, `"hello"`},
		{`trimprefix("helloworld", "hello")`, `"world"`}, {`trimspace("  hello\n\n")`, `"hello"`}, {`trimsuffix("helloworld", "world")`, `"hello"`},

		{`alltrue(["true", true])`, `true`}, {`alltrue([true, false])`, `false`}, {`alltrue([])`, `true`}, {`alltrue([null])`, `false`},
		{`anytrue([false, true])`, `true`}, {`anytrue([])`, `false`},
		{`chunklist(["a", "b", "c"], 2)`, `[["a", "b"], ["c"]]`},
		{`coalesce("", "b")`, `"b"`}, {`coalesce(null, 1, 2)`, `1`}, {`coalesce("", null)`, ``}, {`coalesce(1, "hello")`, `"1"`},
		{`coalescelist([], ["c"])`, `["c"]`}, {`compact(["a", "", null, "b"])`, `["a", "b"]`}, {`concat(["a"], ["b"])`, `["a", "b"]`},
		{`contains(["a", "b"], "a")`, `true`}, {`distinct(["a", "b", "a"])`, `["a", "b"]`}, {`element(["a", "b", "c"], 4)`, `"b"`},
		{`flatten([["a", "b"], [], ["c"]])`, `["a", "b", "c"]`},
		{`index(["a", "b", "c"], "b")`, `1`}, {`index(["a"], "z")`, ``}, {`index("a", "a")`, ``},
		{`keys({ a = 1, c = 2, b = 3 })`, `["a", "b", "c"]`}, {`values({ a = 3, c = 2, d = 1 })`, `[3, 2, 1]`},
		{`length([])`, `0`}, {`length(["a", "b"])`, `2`}, {`length({ a = "b" })`, `1`}, {`length("hello")`, `5`}, {`length("👾🕹️")`, `2`}, {`length(4)`, ``},
		{`lookup({ a = "ay", b = "bee" }, "a", "what?")`, `"ay"`}, {`lookup({ a = "ay" }, "c", "what?")`, `"what?"`}, {`lookup({ a = "ay" }, "c")`, ``}, {`lookup(tomap({ a = "x" }), "b", "y")`, `"y"`},
		{`matchkeys(["i-1", "i-2", "i-3"], ["west", "east", "east"], ["east"])`, `["i-2", "i-3"]`}, {`matchkeys(["a"], ["b", "c"], ["b"])`, ``}, {`matchkeys(["a"], ["b"], ["c"])`, `[]`},
		{`merge({ a = "b", c = "d" }, { c = "z" })`, `{a: "b", c: "z"}`},
		{`one([])`, `null`}, {`one(["hello"])`, `"hello"`}, {`one(["a", "b"])`, ``}, {`one(toset(["x"]))`, `"x"`},
		{`range(1, 8, 2)`, `[1, 3, 5, 7]`}, {`reverse([1, 2, 3])`, `[3, 2, 1]`},
		{`setintersection(["a", "b"], ["b", "c"])`, `["b"]`}, {`setproduct(["a", "b"], ["c"])`, `[["a", "c"], ["b", "c"]]`},
		{`setsubtract(["a", "b", "c"], ["a", "c"])`, `["b"]`}, {`setunion(["a", "b"], ["b", "c"])`, `["a", "b", "c"]`},
		{`slice(["a", "b", "c", "d"], 1, 3)`, `["b", "c"]`}, {`sort(["e", "d", "a"])`, `["a", "d", "e"]`},
		{`transpose({ a = ["1", "2"], b = ["2", "3"] })`, `{1: ["a"], 2: ["a", "b"], 3: ["b"]}`}, {`transpose({})`, `{}`},
		{`zipmap(["a", "b"], [1, 2])`, `{a: 1, b: 2}`},

		{`base64decode("SGVsbG8gV29ybGQ=")`, `"Hello World"`}, {`base64decode("!")`, ``}, {`base64decode("/w==")`, ``}, {`base64encode("Hello World")`, `"SGVsbG8gV29ybGQ="`},
		{`base64gzip("test")`, `"H4sIAAAAAAAA/ypJLS4BAAAA//8BAAD//wx+f9gEAAAA"`},
		{`textencodebase64("Hello World", "UTF-16LE")`, `"SABlAGwAbABvACAAVwBvAHIAbABkAA=="`}, {`textencodebase64("ö", "latin1")`, `"9g=="`}, {`textencodebase64("€", "latin1")`, ``}, {`textencodebase64("a", "klingon")`, ``},
		{`textdecodebase64("SABlAGwAbABvACAAVwBvAHIAbABkAA==", "UTF-16LE")`, `"Hello World"`}, {`textdecodebase64("!", "UTF-8")`, ``}, {`textdecodebase64("/w==", "UTF-8")`, ``},
		{`base64sha256("hello world")`, `"uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek="`},
		{`base64sha512("hello world")`, `"MJ7MSJwS1utMxA9QyQLytNDtd+5RGnx6m808qG1M2G+YndNbxf9JlnDaNCVbRbDP2DDoH2Bdz33FVC6TrpzXbw=="`},
		{`csvdecode("a,b\n1,2\n")`, `[{a: "1", b: "2"}]`}, {`jsondecode("{\"hello\": \"world\"}")`, `{hello: "world"}`}, {`jsonencode({ hello = "world" })`, `"{\"hello\":\"world\"}"`},
		{`md5("hello world")`, `"5eb63bbbe01eeed093cb22bb8f5acdc3"`}, {`sha1("hello world")`, `"2aae6c35c94fcfb415dbe95f408b9ce91ee846ed"`},
		{`sha256("hello world")`, `"b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"`}, {`substr(sha512("hello world"), 0, 8)`, `"309ecc48"`},
		{`urldecode("Hello+World%21")`, `"Hello World!"`}, {`urlencode("Hello World!")`, `"Hello+World%21"`},
		{`yamldecode("hello: world")`, `{hello: "world"}`}, {`yamlencode({ a = "b" })`, `"\"a\": \"b\"\n"`},

		{`formatdate("DD MMM YYYY", "2018-01-02T23:12:01Z")`, `"02 Jan 2018"`}, {`timeadd("2017-11-22T00:00:00Z", "10m")`, `"2017-11-22T00:10:00Z"`},
		{`timecmp("2017-11-22T00:00:00Z", "2017-11-22T01:00:00Z")`, `-1`}, {`timecmp("x", "y")`, ``},
		{`cidrhost("10.12.112.0/20", 16)`, `"10.12.112.16"`}, {`cidrhost("10.12.112.0/20", 268)`, `"10.12.113.12"`}, {`cidrhost("fd00:fd12:3456:7890:00a2::/72", 34)`, `"fd00:fd12:3456:7890::22"`},
		{`cidrhost("10.0.0.0/24", -1)`, `"10.0.0.255"`}, {`cidrhost("10.0.0.0/24", 256)`, ``}, {`cidrhost("10.0.0.0/24", 1e400)`, ``},
		{`cidrnetmask("172.16.0.0/12")`, `"255.240.0.0"`}, {`cidrnetmask("fd00::/8")`, ``},
		{`cidrsubnet("172.16.0.0/12", 4, 2)`, `"172.18.0.0/16"`}, {`cidrsubnet("10.1.2.0/24", 4, 15)`, `"10.1.2.240/28"`}, {`cidrsubnet("fd00:fd12:3456:7890::/56", 16, 162)`, `"fd00:fd12:3456:7800:a200::/72"`}, {`cidrsubnet("10.1.2.0/24", 4, 16)`, ``}, {`cidrsubnet("10.1.2.0/24", 9, 0)`, ``},

		{`cidrsubnets("10.1.0.0/16", 4, 4, 8, 4)`, `["10.1.0.0/20", "10.1.16.0/20", "10.1.32.0/24", "10.1.48.0/20"]`}, {`cidrsubnets("10.0.0.0/8", 1, 1, 1)`, ``}, {`cidrsubnets("10.0.0.0/8")`, `[]`},
		{`cidrsubnets("255.255.255.0/24", 1, 1)`, `["255.255.255.0/25", "255.255.255.128/25"]`}, {`cidrsubnets("255.255.255.0/24", 1, 1, 1)`, ``},

		{`can(1 + 1)`, `true`}, {`can({}.a)`, `false`}, {`try({}.a, "fallback")`, `"fallback"`},
		{`tobool("true")`, `true`}, {`tobool(1)`, ``}, {`tolist(["a", 3])`, `["a", "3"]`}, {`tomap({ a = "foo", b = true })`, `{a: "foo", b: "true"}`},
		{`tonumber("1.5")`, `1.5`}, {`tonumber("no")`, ``}, {`toset(["c", "b", "b"])`, `["b", "c"]`}, {`tostring(1)`, `"1"`}, {`tostring([])`, ``},
	} {
		covered[c.expr[:strings.IndexByte(c.expr, '(')]] = true
		v, err := evaluate(t, c.expr)
		if c.want == "" {
			if err == nil {
				t.Errorf("%s = %s, want an error", c.expr, show(v))
			}
			continue
		}
		if err != nil || show(v) != c.want {
			t.Errorf("%s = %s, %v; want %s", c.expr, show(v), err, c.want)
		}
	}
	for _, name := range Names() {
		if !covered[name] && name != "sha512" {
			t.Errorf("%s is not tested", name)
		}
		if Impure(name) != "" {
			t.Errorf("%s is both there and impure", name)
		}
	}
}

// show writes a value compactly, maps in the order of their keys.
func show(v cty.Value) string {
	switch {
	case v == cty.NilVal || !v.IsKnown():
		return "unknown"
	case v.IsNull():
		return "null"
	case v.Type() == cty.String:
		return string(hclString(v.AsString()))
	case v.Type() == cty.Number:
		return v.AsBigFloat().Text('g', 10)
	case v.Type() == cty.Bool:
		if v.True() {
			return "true"
		}
		return "false"
	}
	named := v.Type().IsMapType() || v.Type().IsObjectType()
	var parts []string
	for it := v.ElementIterator(); it.Next(); {
		key, e := it.Element()
		if named {
			parts = append(parts, key.AsString()+": "+show(e))
		} else {
			parts = append(parts, show(e))
		}
	}
	if named {
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func hclString(s string) string {
	return `"` + strings.NewReplacer("\\", `\\`, "\"", `\"`, "\n", `\n`).Replace(s) + `"`
}
