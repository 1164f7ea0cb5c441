package diag

import "testing"

// TestSuggest: a misspelt name leads to the nearest known one, and a far one to none.
func TestSuggest(t *testing.T) {
	known := []string{"tensor_parallel", "sequence_parallel", "pipeline_parallel", "tokens", "steps", "core_v0.18.9", "core_v0.16.2", "core_v0.18.2", "core_v0.18.0",
		"max_training_time", "h100_96gb_500w", "h100_sxm", "h200", "h800", "gb200_nvl72", "head_dim"}
	for _, c := range []struct{ given, want string }{
		{"tensor_paralel", "tensor_parallel"},
		{"tensor-parallel", "tensor_parallel"},
		{"Tokens", "tokens"},
		{"step", "steps"},
		{"stpes", "steps"}, // two letters changed places
		{"h020", "h200"},
		{"stpse", ""}, // twice
		{"tensor", "tensor_parallel"},
		{"core_v0.18.1", "core_v0.18.9"}, // the first of equals that begin alike
		{"core_v0.16.9", "core_v0.16.2"}, // not core_v0.18.9
		{"parallel", ""},                 // three names end so
		{"max_time", "max_training_time"},
		{"h100", "h100_sxm"}, // not h200, which differs by one letter
		{"gb200", "gb200_nvl72"},
		{"head_dimension", "head_dim"},
		{"zebra", ""},
		{"", ""},
	} {
		if got := Suggest(c.given, known); got != c.want {
			t.Errorf("Suggest(%q) = %q, want %q", c.given, got, c.want)
		}
	}
}

// TestDidYouMean: where a name is begun, all that go on are offered, the shortest
// first.
func TestDidYouMean(t *testing.T) {
	known := []string{"b200", "h100_96gb_500w", "h100_sxm", "h200", "micro_batches", "micro_batch_size", "v1_a", "v1_b", "v1_c", "v1_d", "v1_e", "v1_f"}
	for _, c := range []struct{ given, want string }{
		{"h100", ` Did you mean "h100_sxm" or "h100_96gb_500w"?`},
		{"H100", ` Did you mean "h100_sxm" or "h100_96gb_500w"?`},
		{"h20", ` Did you mean "h200"?`},
		{"micro_batch", ` Did you mean "micro_batch_size"?`},
		{"v1", ""},   // too many to tell
		{"h200", ""}, // it is that already
	} {
		if got := DidYouMean(c.given, known); got != c.want {
			t.Errorf("DidYouMean(%q) = %s, want %s", c.given, got, c.want)
		}
	}
}

// TestOneOf: names of a choice are quoted, with "or" before the last.
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
