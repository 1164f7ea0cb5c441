package facts

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// record is a fact with its source.
type record struct {
	Value  float64 `json:"value"`
	Source string  `json:"source"`
}

// TestLines: records are read line by line, by a key of theirs, and one alone.
func TestLines(t *testing.T) {
	got := Lines[record]("two.jsonl", `{"value": 1, "source": "a"}`+"\n"+`{"value": 2, "source": "b"}`+"\n")
	if d := cmp.Diff([]record{{1, "a"}, {2, "b"}}, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]record{"a": {1, "a"}, "b": {2, "b"}}, By(got, func(r record) string { return r.Source })); d != "" {
		t.Error(d)
	}
	if got := One[record]("one.json", "{\n  \"value\": 1,\n  \"source\": \"a\"\n}\n"); got != (record{1, "a"}) {
		t.Errorf("%+v", got)
	}
}

// TestMistakes: what a file says that nobody asks for stops the program, and so does
// what is no record.
func TestMistakes(t *testing.T) {
	for _, text := range []string{`{"valeu": 1}`, `{"value": "1"}`, `{"value": 1`, "", `{"value": 1}{"value": 2}`} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is read", text)
				}
			}()
			One[record]("x.json", text)
		}()
	}
}
