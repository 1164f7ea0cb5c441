package schema

import (
	"strings"
	"testing"
	"testing/fstest"
)

const table = `{"flags": ["--lr"], "dest": "lr", "type": "float", "action": "Store", "nargs": null, "default": null, "choices": null}
{"flags": ["--bf16"], "dest": "bf16", "type": null, "action": "StoreTrue", "nargs": 0, "default": false, "choices": null}
{"flags": ["--num-layers", "-n"], "dest": "num_layers", "type": "int", "action": "Store", "nargs": null, "default": null, "choices": null}
{"flags": ["--sizes"], "dest": "sizes", "type": "int", "action": "Store", "nargs": "+", "default": null, "choices": null}
{"flags": ["--three"], "dest": "three", "type": "int", "action": "Store", "nargs": 3, "default": null, "choices": null}
{"flags": ["--maybe"], "dest": "maybe", "type": "str", "action": "Store", "nargs": "?", "default": null, "choices": null}
{"flags": ["--backend"], "dest": "backend", "type": "enum", "action": "Store", "nargs": null, "default": "AttnBackend.auto", "choices": ["AttnBackend.flash", "AttnBackend.fused"]}
{"flags": ["training.compile"], "dest": "compile", "type": "bool"}
`

// TestCheck: an option and its values are held to the type, the number and the choices of the
// table.
func TestCheck(t *testing.T) {
	tab := Embedded("X 1.0", fstest.MapFS{"x.jsonl": {Data: []byte(table)}}, "x.jsonl")
	for _, c := range []struct {
		words string // name and values
		want  string // part of the problem; "" when it can stand
	}{
		{"--lr 3e-4", ""},
		{"--lr fast", `takes a number, not "fast"`},
		{"--lr", "takes 1 value, not 0"},
		{"--bf16", ""},
		{"--bf16 true", "takes no value, not 1"},
		{"-n 32", ""},
		{"--num-layers 3.5", "takes a whole number"},
		{"--num-layer 32", `X 1.0 has no option --num-layer. Did you mean "--num-layers"?`},
		{"--sizes 1 2 3", ""},
		{"--sizes", "takes at least 1 value, not 0"},
		{"--three 1 2", "takes 3 values, not 2"},
		{"--maybe a b", "takes 0 to 1 values, not 2"},
		{"--backend flash", ""},
		{"--backend fuse", `takes one of flash, fused, not "fuse". Did you mean "fused"?`},
		{"training.compile maybe", "takes true or false"},
		{"training.compile true", ""},
	} {
		words := strings.Fields(c.words)
		p := tab.Check(words[0], words[1:]...)
		switch {
		case p == nil && c.want != "":
			t.Errorf("%s: stands, want %q", c.words, c.want)
		case p != nil && (c.want == "" || !strings.Contains(p.Error(), c.want)):
			t.Errorf("%s: %q, want %q", c.words, p.Error(), c.want)
		}
	}
}

// TestLookup: an option is found by each of its names.
func TestLookup(t *testing.T) {
	tab := Embedded("X 1.0", fstest.MapFS{"x.jsonl": {Data: []byte(table)}}, "x.jsonl")
	if o, ok := tab.Lookup("-n"); !ok || o.Dest != "num_layers" || o.Count != One {
		t.Errorf("-n: %+v, %t", o, ok)
	}
	if tab.Len() != 9 {
		t.Errorf("%d names, want 9", tab.Len())
	}
	if !tab.Offers("--backend", "fused") || tab.Offers("--backend", "local") || tab.Offers("--none", "x") || !tab.Offers("--lr", "anything") {
		t.Error("Offers does not follow the choices")
	}
}

// TestParseReportsTheLine: an error in a table names its line.
func TestParseReportsTheLine(t *testing.T) {
	_, err := parse("X", []byte("{\"flags\": [\"--a\"]}\n{\"flags\": 3}\n"))
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("error %v, want one about line 2", err)
	}
}
