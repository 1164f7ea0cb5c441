package markdown

import "testing"

// TestText: what could be a sign of Markdown or HTML is not read as one, and names of
// arguments stay as people write them.
func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"zero_stage 3":             "zero_stage 3",
		"_init_ and __init__":      `\_init\_ and \_\_init\_\_`,
		"two\nlines":               "two lines",
		"*a* ~b~ `c` <d> & [e](f)": "\\*a\\* \\~b\\~ \\`c\\` &lt;d> &amp; \\[e](f)",
		`\`:                        `\\`,
		"a|b":                      "a|b",
		"größe_n":                  "größe_n",
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
	if got, want := Cell("a|b"), `a\|b`; got != want {
		t.Errorf("Cell: %q, want %q", got, want)
	}
}

// TestCode: backquotes of the words do not end the code.
func TestCode(t *testing.T) {
	for in, want := range map[string]string{
		"a_b":   "`a_b`",
		"a`b":   "`` a`b ``",
		"a``|b": "``` a``\\|b ```",
	} {
		if got := Code(in); got != want {
			t.Errorf("Code(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestTable: a table with a column of numbers.
func TestTable(t *testing.T) {
	got := Head([]string{"part", "time"}, 1) + Row("step", "2 s")
	if want := "| part | time |\n|---|---:|\n| step | 2 s |\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
