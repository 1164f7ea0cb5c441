package lsp

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestHere: behind here stand the values of the job's site, or of all that jobs may be at,
// in a module those of its callers; and each leads to where it is said.
func TestHere(t *testing.T) {
	files := fstest.MapFS{
		"w/jobs/m.hcl": {Data: []byte("module \"sites\" {\n  source = \"../sites\"\n}\n\nmodule \"recipe\" {\n  source = \"../recipe\"\n}\n")},
		"w/sites/s.hcl": {Data: []byte(`site "alps" {
  values = {
    data   = "/capstor" # of all
    "logs" = join("/", [for k in ["a"] : { no = k }.no])
  }
}

site "fuji" {
  values = { data = "/scratch", nested : { no = 1 } }
}
`)},
	}
	for _, c := range []struct {
		file, text string
		want       []string
		places     int
	}{
		{"/w/jobs/job.hcl", "job \"x\" {\n  site = module.sites.site.alps\n  training {\n    checkpoint {\n      path = \"${here.da‸ta}/x\"\n    }\n  }\n}\n", []string{"data", "logs"}, 1},
		{"/w/jobs/job.hcl", "job \"x\" {\n  training {\n    checkpoint {\n      path = \"${here.da‸ta}/x\"\n    }\n  }\n}\n", []string{"data", "logs", "nested"}, 2},
		{"/w/recipe/job.hcl", "job \"x\" {\n  training {\n    checkpoint {\n      path = \"${here.da‸ta}/x\"\n    }\n  }\n}\n", []string{"data", "logs", "nested"}, 2},
		{"/w/other/job.hcl", "job \"x\" {\n  training {\n    seed = here.da‸ta\n  }\n}\n", []string{}, 0},
	} {
		content, p := cursor(t, c.text)
		own := maps.Clone(files) // an editor looks at its files while it is open
		own[c.file[1:]] = &fstest.MapFile{Data: []byte(content)}
		e := edit(t, own, Options{})
		e.open(c.file, content)
		var list completionList
		e.ask("textDocument/completion", at(c.file, p), &list)
		if got := labels(list.Items); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q is offered, want %q", c.file, got, c.want)
		}
		var found []location
		e.ask("textDocument/definition", at(c.file, p), &found)
		if len(found) != c.places || c.places > 0 && (found[0].URI != "file:///w/sites/s.hcl" || found[0].Range.Start != position{2, 4}) {
			t.Errorf("%s: defined at %+v", c.file, found)
		}
		var told *hover
		e.ask("textDocument/hover", at(c.file, p), &told)
		if c.places > 0 && (told == nil || !strings.Contains(told.Contents.Value, `site alps: data   = "/capstor"`)) {
			t.Errorf("%s: told %+v", c.file, told)
		}
	}
}
