package settings

import (
	"errors"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/intake/tree"
)

// TestDepthOfTOML: what stands too deep is refused with its line, in whatever way
// it is written, and brackets and dots of text are none.
func TestDepthOfTOML(t *testing.T) {
	dotted := func(n int) string { return strings.TrimSuffix(strings.Repeat("a.", n), ".") }
	const far = 50_000
	for _, c := range []struct {
		name, src string
		line      string // where it is refused; "" where it is read
	}{
		{"section", "x = 1\n[" + dotted(far) + "]\nx = 1\n", "line 2"},
		{"section with spaces", "[ " + strings.ReplaceAll(dotted(far), ".", " . ") + " ]\n", "line 1"},
		{"quoted section", "[" + strings.ReplaceAll(dotted(far), "a", `"a]"`) + "]\n", "line 1"},
		{"sections", "[[" + dotted(far) + "]]\nx = 1\n", "line 1"},
		{"key", "\n\n" + dotted(far) + " = 1\n", "line 3"},
		{"key of a section", "[" + dotted(40) + "]\n" + dotted(40) + " = 1\n", "line 2"},
		{"key of a table", "x = {" + dotted(40) + " = 1, y = {" + dotted(far) + " = 1}}\n", "line 1"},
		{"tables", strings.Repeat("a = {", far) + strings.Repeat("}", far), "line 1"},
		{"tables of keys", "x = " + strings.Repeat("{a.b.c.d = ", 20) + "1" + strings.Repeat("}", 20), "line 1"},
		{"lists", "x = [\n" + strings.Repeat("[", far) + strings.Repeat("]", far) + "]\n", "line 2"},
		{"behind a long string", "x = [\"\"\"a\\\\\"\"\"\"\", " + strings.Repeat("[", far) + "\"\n", "line 1"},
		{"behind a raw string", "x = [''''a''''', " + strings.Repeat("[", far) + "'\n", "line 1"},
		{"behind a comment", "x = 1 # \"\"\"\n" + dotted(far) + " = 1\n", "line 2"},
		{"many deep", strings.Repeat("["+dotted(tree.MaxDepth-1)+"]\n", tree.MaxNodes/tree.MaxDepth), "line 33"},
		{"many keys that nobody writes", "[job]\n" + strings.Repeat("k = 1\n", 300_000), "line 32769"},
		{"too many", "x = [" + strings.Repeat("1,", tree.MaxNodes) + "]\n", "line 1"},

		{"deep", "[" + dotted(tree.MaxDepth-1) + "]\nx = 1\n[b]\nx = [1.5, [2, 3]]\n", ""},
		{"many keys", "a.b = 1\na.c = {d = 1, e = 2}\n" + "x = [\n" + strings.Repeat("[1, 2], # [[[\n", 100) + "]\n", ""},
		{"texts", "a = \"" + strings.Repeat("[{.", 100) + "\\\"[\"\nb = '" + strings.Repeat("[.", 100) + "'\nc = \"\"\"\n" + strings.Repeat("[{=.\n", 100) + "\\\"\"\"\"\nd = '''\n" + strings.Repeat("[.", 100) + "'''\n# " + strings.Repeat("[.", 100) + "\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := TOML([]byte(c.src))
			if c.line == "" && err != nil || c.line != "" && (!errors.Is(err, tree.ErrBounds) || !strings.HasPrefix(err.Error(), c.line+": ")) {
				t.Errorf("%v, want %q", err, c.line)
			}
		})
	}
}
