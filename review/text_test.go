package review

import "testing"

// TestSpelled: values are written as the language does, with nothing that a terminal
// would obey.
func TestSpelled(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, "(none)"},
		{3e4, "30000"},
		{0.5, "0.5"},
		{"/tmp/a&b<c>", `"/tmp/a&b<c>"`},
		{"a\nb\u202e", `"a\nb\u202e"`},
		{[]any{"x", 2.0}, `["x",2]`},
	} {
		if got := spelled(c.value); got != c.want {
			t.Errorf("%v is spelled %s, want %s", c.value, got, c.want)
		}
	}
}
