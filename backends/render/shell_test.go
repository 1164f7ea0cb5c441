package render

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// readBack asks a real bash what words a script line holds.
func readBack(t *testing.T, words string, env ...string) string {
	t.Helper()
	cmd := exec.Command("bash", "-c", "printf '%s' "+words)
	cmd.Env = append(cmd.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("bash on %s: %v\n%s", words, err, out)
	}
	return string(out)
}

// FuzzLiteral: bash reads every text back as it was, whatever the locale.
func FuzzLiteral(f *testing.F) {
	for _, s := range []string{"", "plain", "two words", "a'b", `"x"`, "$(touch pwned)", "`id`", "a\nb", ";rm -rf /", "naïve ✓", `\`, "-n", "~", "*", "a\x01b", "\x04\x000", "\xff",
		"a\u00a0b", "\u00a0", "\ufeff", "\u202e'\\\t", "\u2028\n", "\U000e0001f", "é\u00ad1", "$'\\u00a0'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want := strings.ReplaceAll(s, "\x00", "")
		for _, locale := range []string{"C", "C.UTF-8"} {
			if got := readBack(t, Literal(s).String(), "LC_ALL="+locale); got != want {
				t.Errorf("in the locale %s bash reads %s as %q, want %q", locale, Literal(s), got, want)
			}
		}
	})
}

// TestExpanding: variables in braces are expanded, and nothing else of a text is.
func TestExpanding(t *testing.T) {
	for in, want := range map[string]string{
		"/data/${NDC_TEST_USER}/x y": "/data/ada $(id)/x y",
		"${NDC_TEST_USER}":           "ada $(id)",
		"${not a name}":              "${not a name}",
		"$(id)${NDC_TEST_USER}`id`":  "$(id)ada $(id)`id`",
		"${":                         "${",
		"$HOME":                      "$HOME",
		"":                           "",
	} {
		if got := readBack(t, Expanding(in).String(), "NDC_TEST_USER=ada $(id)"); got != want {
			t.Errorf("Expanding(%q) = %s, which bash reads as %q, want %q", in, Expanding(in), got, want)
		}
	}
}

// TestExpandingPath: what a name meant outside of a container holds inside, and
// what it means here where nobody said.
func TestExpandingPath(t *testing.T) {
	for want, env := range map[string][]string{
		"/outside/a b": {"NDC_TEST_HOME=/inside", "NDC_HOST_NDC_TEST_HOME=/outside"},
		"/a b":         {"NDC_TEST_HOME=/inside", "NDC_HOST_NDC_TEST_HOME="},
		"/inside/a b":  {"NDC_TEST_HOME=/inside"},
	} {
		if got := readBack(t, ExpandingPath("${NDC_TEST_HOME}/a b").String(), env...); got != want {
			t.Errorf("with %q: %q, want %q", env, got, want)
		}
	}
	if out, err := exec.Command("bash", "-uc", "printf %s "+ExpandingPath("${NDC_TEST_NOWHERE}/a").String()).CombinedOutput(); err == nil {
		t.Errorf("a name that is not set gives %q", out)
	}
}

// TestReferences: the variables of a text are those in braces.
func TestReferences(t *testing.T) {
	if got := References("${A}/b/${C_1}${no name}$D"); !slices.Equal(got, []string{"A", "C_1"}) {
		t.Error(got)
	}
}

// TestComment: a comment stays on its line.
func TestComment(t *testing.T) {
	if got := Comment("a\nb\r\u2028c"); got != "a b  c" {
		t.Errorf("Comment = %q", got)
	}
}
