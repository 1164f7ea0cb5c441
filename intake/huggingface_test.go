package intake

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPublishedModelsAreRecognised: the published configuration of every model
// of the catalogue becomes that entry.
func TestPublishedModelsAreRecognised(t *testing.T) {
	paths, err := filepath.Glob("../testdata/models/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatal("no published configurations: ", err)
	}
	n := 0
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var p struct {
			Name   string
			Format string `json:"config_format"`
			Config json.RawMessage
		}
		if err := json.Unmarshal(b, &p); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(p.Format, "Hugging Face") || !bytes.Contains(p.Config, []byte("model_type")) {
			continue
		}
		n++
		r, diags := Import([]File{{Name: p.Name + "/config.json", Content: p.Config}}, Options{})
		if diags.HasErrors() {
			t.Errorf("%s: %v", p.Name, diags)
			continue
		}
		if r.Model != p.Name {
			t.Errorf("%s is recognised as %q", p.Name, r.Model)
		}
	}
	if n < 20 {
		t.Errorf("%d published configurations were tried", n)
	}
}
