package draft

import (
	"testing"

	"github.com/ndc-dev/ndc/lang/schema"
)

// TestCommentsAreOneLine: a note stays in its comment, wherever it is written.
func TestCommentsAreOneLine(t *testing.T) {
	for _, c := range []struct{ note, want string }{
		{"not said: é = 1 …", "not said: é = 1 …"},
		{`"quoted" \n`, `"quoted" \n`},
		{"a\n}\njob \"evil\" {", `"a\n}\njob \"evil\" {"`},
		{"a\rb", `"a\rb"`},
		{"nul\x00 escape\x1b", `"nul\x00 escape\x1b"`},
		{"over\u202eride\u2028", `"over\u202eride\u2028"`},
		{"\xff", "�"},
	} {
		d := New()
		d.Note("model", c.note)
		d.Note("model.mla", c.note)
		d.SetNote("model.layers", int64(4), c.note)
		want := "model \"m\" {\n  # " + c.want + "\n  layers = 4 # " + c.want + "\n\n  mla {\n    # " + c.want + "\n  }\n}\n"
		if got := d.Block(schema.File.Block("model"), "model", `model "m"`); got != want {
			t.Errorf("%q is written as\n%s\nwant\n%s", c.note, got, want)
		}
	}
}
