package huggingface

import (
	"testing"

	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/tree"
)

func read(t testing.TB, src string) (*draft.Draft, error) {
	n, err := tree.JSON([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	d := draft.New()
	return d, Read(d, "config.json", n.Object())
}

// TestEveryFamilyReadsItsDefaults: the defaults of every class become a model,
// and every rule that the data files name exists.
func TestEveryFamilyReadsItsDefaults(t *testing.T) {
	for _, name := range Families() {
		d, err := read(t, `{"model_type": "`+name+`", "num_hidden_layers": 4, "hidden_size": 256, "num_attention_heads": 4, "vocab_size": 1000}`)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d.Text("model.architecture") == "" || d.Int("model.hidden_size") == 0 {
			t.Errorf("%s: no architecture or size", name)
		}
	}
	for key, rules := range tables().rules {
		for _, r := range rules {
			if r.Call != "" && readers[r.Call] == nil {
				t.Errorf("%s: no reader %q", key, r.Call)
			}
			if r.Argument != "" && r.Call == "" && Argument(r.Argument) == nil {
				t.Errorf("%s: no argument %q", key, r.Argument)
			}
			if (r.Left != "") == (r.Argument != "" || r.Call != "") {
				t.Errorf("%s is either left out or read", key)
			}
		}
	}
}

// TestFamiliesHaveSources: each row says whose code computes what it says.
func TestFamiliesHaveSources(t *testing.T) {
	eachLine(familiesFile, func(line []byte) {
		var row struct{ Type, Source string }
		decode(line, &row)
		if row.Source == "" {
			t.Errorf("%s has no source", row.Type)
		}
	})
}
