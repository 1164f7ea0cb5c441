package outline

import (
	"fmt"
	_ "github.com/ndc-dev/ndc/tools/seldom"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shown is the outline of a file, a line for each block and argument.
func shown(f *File) string {
	var b strings.Builder
	var blocks func([]*Block, string)
	arguments := func(list []*Argument, indent string) {
		for _, a := range list {
			fmt.Fprintf(&b, "%s%s = %s\n", indent, a.Name.Text, f.Source[a.Value.Start:a.Value.End])
		}
	}
	blocks = func(list []*Block, indent string) {
		for _, n := range list {
			fmt.Fprintf(&b, "%s%s", indent, n.Type.Text)
			for _, l := range n.Labels {
				fmt.Fprintf(&b, " %q", l.Text)
			}
			if n.Spec == nil {
				b.WriteString(" (unknown)")
			}
			b.WriteByte('\n')
			arguments(n.Arguments, indent+"  ")
			blocks(n.Blocks, indent+"  ")
		}
	}
	arguments(f.Arguments, "")
	blocks(f.Blocks, "")
	return b.String()
}

// TestRead: blocks and arguments are found in texts that parse and in those that do not yet.
func TestRead(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"job.hcl", "job \"a\" {\n  training {\n    seed = 1 # of it\n  }\n}\n", "job \"a\"\n  training\n    seed = 1\n"},
		{"job.hcl", "locals { a = 1 }\nlocals {\n  b = {\n    c = 1\n  }\n  d = [\n    1,\n  ]\n}", "locals\n  a = 1\nlocals\n  b = {\n    c = 1\n  }\n  d = [\n    1,\n  ]\n"},
		{"job.hcl", "job \"a\" {\n  nonsense {\n    seed = 1\n  }\n}\n", "job \"a\"\n  nonsense (unknown)\n    seed = 1\n"},
		{"job.hcl", "locals {\n  a = <<END\n} {\nEND\n  b = \"${1}{\"\n}\n", "locals\n  a = <<END\n} {\nEND\n  b = \"${1}{\"\n"},
		// What is not finished ends where the next thing begins.
		{"job.hcl", "job \"a\" {\n  model = [1,\n  cluster = 2\n", "job \"a\"\n  model = [1,\n  cluster = 2\n"},
		{"job.hcl", "job \"a\" {\n  model = max(1, # so\n  training {\n    seed = 1\n", "job \"a\"\n  model = max(1,\n  training\n    seed = 1\n"},
		{"job.hcl", "job \"a\" {\n  training {\n    seed =\nmodel \"b\" {\n  layers = \"4\n  hidden_size = 8\n}", "job \"a\"\n  training\n    seed = \nmodel \"b\"\n  layers = \"4\n  hidden_size = 8\n"},
		{"job.hcl", "job \"a\nmodel \"b\" {\n}", "model \"b\"\n"},
		{"a.ndctest.hcl", "run \"a\" {\n  variables {\n    x = 1\n  }\n  assert {\n", "run \"a\"\n  variables\n    x = 1\n  assert\n"},
		{"a.auto.ndcvars", "x = 1\ny = 2", "x = 1\ny = 2\n"},
	} {
		if got := shown(Read(c.name, []byte(c.src))); got != c.want {
			t.Errorf("%s\ngot\n%s\nwant\n%s", c.src, got, c.want)
		}
	}
}

const mark = "‸"

// TestAt: what stands at a place is told whatever is unfinished around it.
func TestAt(t *testing.T) {
	for _, c := range []struct {
		src  string
		kind Kind
		word string
		path string // of a reference, the step in brackets
	}{
		{"‸job", Body, "job", ""},
		{"job‸ \"a\" {", BlockType, "job", ""},
		{"job ‸", Label, "", ""},
		{"job \"‸\" {}", Label, "", ""},
		{"job \"a‸\" {}", Label, "a", ""},
		{"job \"a\" {‸}", Body, "", ""},
		{"job \"a\" {\n}‸", Nowhere, "", ""},
		{"job \"a\" {\n}\n‸", Body, "", ""},
		{"job \"a\" {\n  mo‸del = 1", ArgumentName, "model", ""},
		{"job \"a\" {\n  model ‸= 1", Nowhere, "", ""},
		{"job \"a\" {\n  model =‸", Value, "", ""},
		{"job \"a\" {\n  model = a.b‸.c", Value, "b", "a [b] c"},
		{"job \"a\" {\n  model = a.‸", Value, "", "a []"},
		{"job \"a\" {\n  model = a[\"k\"].‸", Value, "", "a k []"},
		{"job \"a\" {\n  model = a[\"‸k\"].c", Value, "k", "a [k] c"},
		{"job \"a\" {\n  model = a[b.c].d‸", Value, "d", "a  [d]"},
		{"job \"a\" {\n  model = a[0].d‸", Value, "d", "a  [d]"},
		{"job \"a\" {\n  model = f‸(1)", Function, "f", "[f]"},
		{"job \"a\" {\n  model = \"x‸y\"", Quoted, "xy", ""},
		{"job \"a\" {\n  model = \"${x‸}\"", Value, "x", "[x]"},
		{"job \"a\" {\n  model = [\n    ‸\n  ]", Value, "", ""},
		{"job \"a\" {\n  model = 1‸2", Nowhere, "", ""},
		{"# ‸", Nowhere, "", ""},
		{"# a\n‸", Body, "", ""},
		{"job \"a\" { # b‸\n", Nowhere, "", ""},
	} {
		before, after, _ := strings.Cut(c.src, mark)
		p := Read("job.hcl", []byte(before+after)).At(len(before))
		var steps []string
		for i, s := range p.Steps {
			if i == p.Step {
				s = "[" + s + "]"
			}
			steps = append(steps, s)
		}
		if path := strings.Join(steps, " "); p.Kind != c.kind || p.Word.Text != c.word || path != c.path {
			t.Errorf("%q: kind %d, word %q, path %q", c.src, p.Kind, p.Word.Text, path)
		}
	}
}

// TestReferences: references are found in expressions, in templates and in what does not parse;
// bound names are none.
func TestReferences(t *testing.T) {
	for src, want := range map[string]string{
		"model = a.b.c":                             "a.b.c",
		"model = a[\"k\"].b + f(x.y, 2.5)":          "a.k.b x.y",
		"model = a[b.c].d[0].e[*].f":                "a..d..e..f b.c",
		"x = \"${a.b}-$${c.d}\"":                    "a.b",
		"x = [for v in a.b : v.c + v if c.d]":       "a.b c.d",
		"x = { for k, v in a.b : k => v.c }\ny=v.d": "a.b v.d",
		"x = a[": "",
		"x = a.": "",
		"# a.b":  "",
	} {
		var got []string
		for _, r := range Read("job.hcl", []byte("job \"a\" {\n  "+src+"\n}")).References() {
			var steps []string
			for _, s := range r.Steps {
				steps = append(steps, s.Text)
			}
			got = append(got, strings.Join(steps, "."))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %q", src, got, want)
		}
	}
}

// TestEntries: the entries of an object are found where it is written out.
func TestEntries(t *testing.T) {
	for src, want := range map[string]string{
		"{ a = 1, \"b\" : c.d }":                              "a=1 b=c.d",
		"{\n    a = { x = 1 } # of it\n    b = [1,\n 2]\n  }": "a={ x = 1 } b=[1,\n 2]",
		"merge({ a = 1 }, x)":                                 "",
		"{ (k) = 1, b =":                                      "b=",
		"1":                                                   "",
	} {
		f := Read("job.hcl", []byte("site \"a\" {\n  values = "+src+"\n}"))
		var got []string
		for _, e := range f.Entries(f.Blocks[0].Argument("values")) {
			got = append(got, e.Name.Text+"="+strings.TrimLeft(string(f.Source[e.Value.Start:e.Value.End]), " "))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %q", src, got, want)
		}
	}
}

// seeds are the files of the examples and of tests.
func seeds(tb testing.TB) []string {
	tb.Helper()
	var list []string
	for _, folder := range []string{"../../examples", "../../testdata/diags", "../../testdata/team"} {
		err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.HasSuffix(name, ".hcl") {
				b, err := os.ReadFile(name)
				list = append(list, string(b))
				return err
			}
			return err
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	return list
}

// hold asks what must be true of the outline of anything.
func hold(t *testing.T, src string) {
	f := Read("job.hcl", []byte(src))
	last := 0
	inside := func(s Span) {
		if s.Start < 0 || s.Start > s.End || s.End > len(f.Source) {
			t.Fatalf("a span %v in %d bytes", s, len(f.Source))
		}
	}
	for _, token := range f.tokens {
		inside(token.span)
		if token.span.Start < last {
			t.Fatalf("tokens overlap at %d", token.span.Start)
		}
		last = token.span.End
	}
	f.All(func(b *Block) {
		inside(b.Span)
		for _, l := range b.Labels {
			inside(l.Span)
		}
		for _, a := range b.Arguments {
			inside(a.Name.Span)
			inside(a.Value)
			f.ValueText(a)
		}
	})
	for _, r := range f.References() {
		for _, step := range r.Steps {
			inside(step.Span)
		}
	}
	step := 1 + len(src)/500
	for i := -1; i <= len(src)+1; i += step {
		inside(f.At(i).Word.Span)
	}
}

// TestCut: whatever a file ends with has an outline.
func TestCut(t *testing.T) {
	for _, src := range seeds(t) {
		for i := 0; i < len(src); i += 1 + len(src)/12 {
			hold(t, src[:i])
			hold(t, src[i:])
			hold(t, src[:i]+"\""+src[i:])
		}
	}
}

// FuzzRead: reading ends on any text, and every place in it has an answer.
func FuzzRead(f *testing.F) {
	for _, src := range seeds(f) {
		if len(src) < 2000 {
			f.Add(src)
		}
	}
	f.Add("a = [\"${\"\n b \"x\" {\n<<A")
	f.Fuzz(func(t *testing.T, src string) { hold(t, src) })
}

// TestLong: files that repeat one thing many times take no longer
// than others.
func TestLong(t *testing.T) {
	for _, part := range []string{"\"\n", "a{", "a = [\n", "a = {\n", "a \"b\" ", "${", "\"${", "a.", "a[0].", "a[", "<<A\n", "a = \"", "}", "#\n", "/*"} {
		src := strings.Repeat(part, 60_000/len(part))
		start := time.Now()
		f := Read("job.hcl", []byte(src))
		for i := 0; i < len(src); i += len(src) / 20 {
			f.At(i)
		}
		f.All(func(*Block) {})
		f.References()
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%q takes %v", part, took)
		} else {
			t.Logf("%q takes %v", part, took)
		}
	}
}
