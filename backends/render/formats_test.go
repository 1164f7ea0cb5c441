package render

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
)

// TestJSONKeepsOrderAndBytes: members stand in the order that they were given, and no sign is
// escaped that needs none.
func TestJSONKeepsOrderAndBytes(t *testing.T) {
	got, err := JSON(Object{{"b", 1}, {"a", Object{{"path", "<&>"}}}, {"rate", 1.5e-4}})
	if err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"b\": 1,\n  \"a\": {\n    \"path\": \"<&>\"\n  },\n  \"rate\": 0.00015\n}\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

// TestVisible: what turns text around, or does not show, is escaped wherever it can be, so
// that a review reads what the framework does.
func TestVisible(t *testing.T) {
	const hidden, escaped = "/data/\u202ecod\u202c/a\u2028b\x7f", `"/data/\u202ecod\u202c/a\u2028b\u007f"`
	line, err := LineJSON([]string{hidden})
	if err != nil || string(line) != "["+escaped+"]\n" {
		t.Errorf("%q, %v", line, err)
	}
	table, err := TOML(nil, []Table{{Entries: []Entry{{"path", hidden, hidden}}}})
	if err != nil || !strings.HasSuffix(string(table), "\npath = "+escaped+"  # /data/ cod /a b \n") {
		t.Errorf("%q, %v", table, err)
	}
	if got := Python(hidden); got != strings.ReplaceAll(escaped, `\u007f`, `\x7f`) {
		t.Errorf("%q", got)
	}
}

// TestTemplateRefusesMissingKeysAndForeignFunctions: a template of ours that names what is not
// there is a defect of ours, which panics.
func TestTemplateRefusesMissingKeysAndForeignFunctions(t *testing.T) {
	for text, want := range map[string]string{"{{.nothing}}": `map has no entry for key "nothing"`, "{{randInt 1 5}}": `function "randInt" not defined`} {
		func() {
			defer func() {
				if problem := fmt.Sprint(recover()); !strings.Contains(problem, want) {
					t.Errorf("%s: %s, want %s", text, problem, want)
				}
			}()
			Embedded(fstest.MapFS{"a.tmpl": {Data: []byte(text)}}, "*.tmpl").Execute("a.tmpl", map[string]string{})
		}()
	}
}

// FuzzTOML: what is written as TOML is read back as it was.
func FuzzTOML(f *testing.F) {
	f.Add("plain", "va\"l\\ue", 1.5, int64(7))
	f.Add("k", "\n# x = 1\n[y]", 1e300, int64(-1))
	f.Fuzz(func(t *testing.T, key, text string, number float64, count int64) {
		if number != number || key == "" || !valid(key) || !valid(text) {
			t.Skip()
		}
		b, err := TOML([]string{text}, []Table{{Name: "t", Comment: text, Entries: []Entry{{key, text, text}, {key + "n", number, ""}, {key + "c", count, ""}}}})
		if err != nil {
			t.Skip() // the library refuses what TOML cannot hold
		}
		var got map[string]map[string]any
		if err := toml.Unmarshal(b, &got); err != nil {
			t.Fatalf("%v in\n%s", err, b)
		}
		want := map[string]map[string]any{"t": {key: text, key + "n": number, key + "c": count}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func valid(s string) bool { return strings.ToValidUTF8(s, "") == s && !strings.ContainsRune(s, 0) }

// TestPythonReadsBack: what is written as Python means there what it means as JSON.
func TestPythonReadsBack(t *testing.T) {
	value := Object{
		{"text", "quote \" back\\slash\nline\ttab \u2028 ✓ {x}"}, {"none", nil}, {"flag", true},
		{"whole", 3.0}, {"tiny", 1e-8}, {"list", []int{1, 2}}, {"names", []string{"a", "b'"}}, {"nested", Object{{"k", -1}}},
	}
	want, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("python3", "-c", "import json\nprint(json.dumps("+Python(value)+"))").Output()
	if err != nil {
		t.Skipf("no python3 to read the literal back: %v", err)
	}
	var a, b any
	if err := json.Unmarshal(want, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
	if got := Python(2.0); got != "2.0" {
		t.Errorf("Python(2.0) = %s: a float must stay one", got)
	}
}
