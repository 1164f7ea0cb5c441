package lang

import (
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/lang/schema"
)

// TestLetters: a list of words is the text of their letters, and has all of them.
func TestLetters(t *testing.T) {
	spec := schema.File.Block("model").Argument("layer_pattern")
	if len(spec.Letters) != len(patternLetters) {
		t.Errorf("%d words for %d letters", len(spec.Letters), len(patternLetters))
	}
	for _, l := range patternLetters {
		if !strings.Contains(letters(spec), string(l.letter)) {
			t.Errorf("no word for %c", l.letter)
		}
	}
	src := strings.Replace(minimal(`model "hybrid" {
  base          = catalog.model.nemotron_h_8b
  layers        = 4
  layer_pattern = concat(["mamba"], ["mlp", "attention", "mlp"])
}
locals {
  same = "${model.hybrid.layer_pattern}"
}`, "", "steps = local.same == \"M-*-\" ? 1 : 2"), "catalog.model.debug", "model.hybrid", 1)
	j := mustLoad(t, files("job.hcl", src), "job.hcl", Options{})[0]
	if j.Model.LayerPattern != "M-*-" || j.Training.Steps != 1 || j.Sources["model.layer_pattern"].Value != "M-*-" {
		t.Errorf("%q, %d steps, %v", j.Model.LayerPattern, j.Training.Steps, j.Sources["model.layer_pattern"].Value)
	}
}

func letters(spec *schema.Argument) string {
	var text string
	for _, l := range spec.Letters {
		text += l.Letter
	}
	return text
}
