package diag

import "testing"

func TestSuggest(t *testing.T) {
	known := []string{"tensor_parallel", "sequence_parallel", "pipeline_parallel", "tokens", "steps", "core_v0.18.9", "core_v0.16.2", "core_v0.18.2", "core_v0.18.0"}
	for _, c := range []struct{ given, want string }{
		{"tensor_paralel", "tensor_parallel"},
		{"tensor-parallel", "tensor_parallel"},
		{"Tokens", "tokens"},
		{"step", "steps"},
		{"tensor", "tensor_parallel"},
		{"core_v0.18.1", "core_v0.18.9"}, // the first of equals that begin alike
		{"core_v0.16.9", "core_v0.16.2"}, // not core_v0.18.9
		{"parallel", ""},                 // three names end so
		{"zebra", ""},
		{"", ""},
	} {
		if got := Suggest(c.given, known); got != c.want {
			t.Errorf("Suggest(%q) = %q, want %q", c.given, got, c.want)
		}
	}
}

func TestOneOf(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{
		{nil, ""},
		{[]string{"a"}, `"a"`},
		{[]string{"a", "b"}, `"a" or "b"`},
		{[]string{"a", "b", "c"}, `"a", "b" or "c"`},
	} {
		if got := OneOf(c.names); got != c.want {
			t.Errorf("OneOf(%q) = %s, want %s", c.names, got, c.want)
		}
	}
}
