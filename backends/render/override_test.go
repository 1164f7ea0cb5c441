package render

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/ndc-dev/ndc/tools/draws"
)

// values are what templates of the tests see.
func values() map[string]any {
	long := make([]any, 1000)
	for i := range long {
		long[i] = "x"
	}
	return map[string]any{
		"job": map[string]any{"name": "llama", "account": nil, "note": "it's $(touch pwned)", "names": []any{"a", "b c"}, "long": long, "big": strings.Repeat("x", 1<<15)},
		"plan": map[string]any{"nodes": 4.0, "mfu": 0.415, "hours": 231000.5, "feasible": true, "bytes": 85899345920.0,
			"stages": []any{map[string]any{"stage": 0.0}, map[string]any{"stage": 1.0}}},
	}
}

// TestOverride: a template fills in values as one plain word, or quoted where it says so.
func TestOverride(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain text", "echo \"$HOME\"", "echo \"$HOME\"\n"},
		{"empty", "", ""},
		{"a value", "report --job={{.job.name}}\n", "report --job=llama\n"},
		{"numbers", "report {{.plan.nodes}} {{.plan.mfu}} {{.plan.hours}} {{.plan.bytes}} {{.plan.feasible}}\n", "report 4 0.415 231000.5 85899345920 true\n"},
		{"quoted", "report {{.job.note | quote}} {{quote .job.name}}\n", "report \"it's \\$(touch pwned)\" llama\n"},
		{"quoted twice", "{{$n := .job.note | quote}}a {{$n}}; b {{$n}}\n", "a \"it's \\$(touch pwned)\"; b \"it's \\$(touch pwned)\"\n"},
		{"in a comparison of texts", "[[ a == {{.job.note | quote}} ]] || report\n", "[[ a == \"it's \\$(touch pwned)\" ]] || report\n"},
		{"of a file", "source {{.job.note | quote}}\n", "source \"it's \\$(touch pwned)\"\n"},
		{"a variable of the shell", "note={{.job.note | quote}}\necho \"$note\"\n", "note=\"it's \\$(touch pwned)\"\necho \"$note\"\n"},
		{"in a substitution", "x=$(report {{quote .job.note}})\n", "x=$(report \"it's \\$(touch pwned)\")\n"},
		{"a condition", "{{if gt .plan.nodes 2}}big{{else}}small{{end}}\n", "big\n"},
		{"null is asked for", "{{if .job.account}}report {{.job.account}}{{end}}\n", "\n"},
		{"a loop", "{{range .plan.stages}}stage {{.stage}}\n{{end}}", "stage 0\nstage 1\n"},
		{"a loop with words", "{{range .job.names}}report {{quote .}}\n{{end}}", "report a\nreport 'b c'\n"},
		{"functions", "report {{upper .job.name}} {{index .job.names 0}} {{len .job.names}} {{join \",\" .job.names | quote}}\n", "report LLAMA a 2 'a,b c'\n"},
		{"a here-document of one's own", "cat <<END\n{{.job.name}} $HOME\nEND\n", "cat <<END\nllama $HOME\nEND\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Override(c.text, values(), true)
			if err != nil {
				t.Fatal(err)
			}
			if strings.ReplaceAll(got, `'it'"'"'s $(touch pwned)'`, `"it's \$(touch pwned)"`) != c.want && got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestOverrideErrors: what is wrong is said with its line, and the rest of what
// templates can do elsewhere is not there.
func TestOverrideErrors(t *testing.T) {
	for _, c := range []struct {
		name, text string
		line       int
		want       string
	}{
		{"a missing key", "a\n{{.job.nam}}", 2, `there is no "nam" in the values; did you mean "name"?`},
		{"a missing root", "{{.env}}", 1, `there is no "env" in the values`},
		{"syntax", "a\n{{if}}", 2, "missing value for if"},
		{"an unknown function", "\n{{env \"HOME\"}}", 2, `there is no function "env"; there are and, comment`},
		{"printf", `{{printf "%d" 1}}`, 1, `there is no function "printf"`},
		{"call", `{{call .job}}`, 1, `there is no function "call"`},
		{"inside of another", `{{if (html .job.name)}}{{end}}`, 1, `there is no function "html"`},
		{"ndc's own", `{{ndc_step -5}}`, 1, `there is no function "ndc_step"`},
		{"null", "report {{.job.account}}", 1, "null: nobody wrote this value"},
		{"a list", "report {{.job.names}}", 1, "a list or an object is no text"},
		{"code", "report {{.job.note}}", 1, "would not read the value \"it's $(touch pwned)\" as one plain word"},
		{"inside of quotes", "report \"{{.job.note | quote}}\"", 0, "stands inside of quotes"},
		{"inside of single quotes", "report '{{.job.note | quote}}'", 0, "stands inside of quotes"},
		{"in a here-document", "cat <<END\n{{.job.note | quote}}\nEND\n", 0, "a here-document"},
		{"in a comment", "# {{.job.note | quote}}\n", 0, "a comment"},
		{"in arithmetic", "echo $(( {{.job.note | quote}} ))\n", 0, "arithmetic"},
		{"in a comparison of numbers", "[[ {{.job.note | quote}} -gt 3 ]] && report high\n", 0, "arithmetic"},
		{"in a test of a variable", "[[ -v {{.job.note | quote}} ]] && report set\n", 0, "arithmetic"},
		{"in an integer", "declare -i n={{.job.note | quote}}\n", 0, "arithmetic"},
		{"as code", "eval report {{.job.note | quote}}\n", 0, "takes words for code"},
		{"as the code of a shell", "srun --mpi=none /bin/bash -c {{.job.note | quote}}\n", 0, "takes words for code"},
		{"as the code of a trap", "trap {{.job.note | quote}} EXIT\n", 0, "takes words for code"},
		{"as a variable", "printf -v {{.job.note | quote}} x\n", 0, "takes words for code"},
		{"in backquotes", "echo `report {{.job.note | quote}}`\n", 0, "inside of quotes"},
		{"half a script", "if true; then\n", 0, "no complete shell script"},
		{"closes what it did not open", "}\n", 0, "no complete shell script"},
		{"an open quote", "echo 'a\n", 0, "no complete shell script"},
		{"an open here-document", "cat <<END\na\n", 0, "no complete shell script"},
		{"takes in the next line", "echo a \\\n", 0, "ends with a backslash"},
		{"defines another", "{{define \"a\"}}{{end}}", 0, "defines another template"},
		{"calls another", "{{template \"t\"}}", 1, "calls another template"},
		{"a block", "{{block \"a\" .}}{{end}}", 0, "another template"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Override(c.text, values(), true)
			var e *OverrideError
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want an OverrideError", err)
			}
			if e.Line != c.line || !strings.Contains(e.Problem, c.want) {
				t.Errorf("line %d: %s\nwant line %d: %s", e.Line, e.Problem, c.line, c.want)
			}
		})
	}
}

// TestOverrideBounds: templates that would never end, or take all memory, are
// stopped by what they cost, which no clock decides.
func TestOverrideBounds(t *testing.T) {
	loop := func(n int, body string) string {
		return strings.Repeat("{{range $.job.long}}", n) + body + strings.Repeat("{{end}}", n)
	}
	for name, text := range map[string]string{
		"empty loops":           loop(4, ""),
		"loops with work":       loop(3, "{{if .}}{{end}}"),
		"a number to loop over": "{{range 1000000000}}{{end}}",
		"output":                loop(2, "xxxxxxxxxxxxxxxx"),
		"output of values":      loop(2, "{{$.job.big}}"),
		"repeat":                `{{repeat 1000000000 "x"}}`,
		"repeat of repeat":      `{{repeat 60000 "x" | repeat 60000}}`,
		"less than nothing":     `{{repeat -1 "x"}}`,
		"indent":                `{{indent 1000000000 "x"}}`,
		"nindent":               `{{nindent 1000000000 "x"}}`,
		"replace":               `{{replace "x" .job.big .job.big}}`,
		"join":                  `{{join .job.big .job.long}}`,
		"doubling":              `{{$x := "xx"}}{{range .job.long}}{{$x = replace "x" "xx" $x}}{{end}}`,
		"work of functions":     `{{range .job.long}}{{range $.job.long}}{{if eq (upper $.job.big) "x"}}{{end}}{{end}}{{end}}`,
		"itself":                `{{define "t"}}{{template "t"}}{{end}}{{template "t"}}`,
		"size":                  strings.Repeat("x", maxTemplate+1),
		"brackets":              "{{if " + strings.Repeat("(", 30000) + "}}{{end}}",
		"substitutions":         strings.Repeat("$(", 30000),
		"blocks":                strings.Repeat("{ ", 30000),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Override(text, values(), true)
			if err == nil {
				t.Errorf("made %d bytes", len(got))
			}
		})
	}
}

// TestOverrideQuotes: no value becomes code, whatever it holds and wherever a
// template puts it: it is refused, or bash prints its bytes.
func TestOverrideQuotes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		value := rapid.OneOf(rapid.StringMatching(`[ -~]{0,12}`), rapid.SampledFrom([]string{"$(echo pwned)", "`echo pwned`", "'; echo pwned; '", "\"; echo pwned; \"", "a\nb", "${IFS}", "\\", "é 💥", "~", "*", "NDCQUOTED0X"})).Draw(r, "value")
		before := rapid.SampledFrom([]string{"printf '<%s>' ", "x=", "printf '<%s>' \"", "printf '<%s>' '", "cat <<END\n", "echo $((", "# ", "printf '<%s>' a"}).Draw(r, "before")
		after := rapid.SampledFrom([]string{"\n", "\"\n", "'\n", "\nEND\n", "))\n", "b\n", "; printf '<%s>' \"$x\"\n"}).Draw(r, "after")
		pipe := rapid.SampledFrom([]string{"", " | quote"}).Draw(r, "pipe")
		text, err := Override(before+"{{.v"+pipe+"}}"+after, map[string]any{"v": value}, true)
		if err != nil || plainText.MatchString(value) {
			return
		}
		command := exec.Command("bash", "-c", text)
		command.Dir = t.TempDir()
		out, _ := command.CombinedOutput()
		if printed := string(out); before != "x=" && !strings.Contains(printed, value) || strings.Contains(strings.ReplaceAll(printed, value, ""), "pwned") {
			r.Errorf("%q in %q: %s", value, text, out)
		}
	})
}

// FuzzOverride: no template makes Override panic or run on, and what it makes is
// a script.
func FuzzOverride(f *testing.F) {
	for _, seed := range []string{"{{range .job.names}}{{quote .}}{{end}}", "{{if gt .plan.nodes 2}}a{{else}}b{{end}}", "{{$x := index .job.names 0}}{{upper $x}}", "{{with .job}}{{.name}}{{end}}", "{{break}}", "{{/* a */}}", "{{- 1 -}}", "{{\"a\\n\" | quote}}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, shell := range []bool{true, false} {
			made, err := Override(text, values(), shell)
			if err != nil {
				var e *OverrideError
				if !errors.As(err, &e) || e.Problem == "" || e.Line < 0 {
					t.Errorf("%T: %v", err, err)
				}
				continue
			}
			if len(made) > maxOverride+1 {
				t.Errorf("%d bytes", len(made))
			}
			if _, err := ParseShell([]byte(made)); shell && err != nil && len(made) < maxOverride {
				t.Errorf("%q: %v", made, err)
			}
		}
	})
}
