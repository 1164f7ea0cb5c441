//go:build conformance

package resume

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/integration/summary"
)

// TestArguments goes on from a checkpoint with each argument changed. Where the losses
// are those of the run that nothing was changed in, digit by digit, the checkpoint's
// value was kept. What it sees must be what is recorded; with NDC_RECORD naming a file,
// results are appended to that instead. NDC_CONFORMANCE_CHEAP leaves one argument.
func TestArguments(t *testing.T) {
	known := RecordedArguments()
	program := filepath.Join(t.TempDir(), "ndc")
	must(t, command("go", "build", "-o", program, "../../cmd/ndc"))
	asked := Arguments
	if os.Getenv("NDC_CONFORMANCE_CHEAP") != "" {
		asked = Arguments[:1]
	}
	for _, f := range Frameworks {
		for _, version := range f.Versions {
			t.Run(f.Name+"/"+version, func(t *testing.T) {
				line := summary.Line{Framework: f.Name, Version: version, What: "checkpoints under other arguments"}
				line.AddAfter(t)
				s := &stage{framework: f, version: version, program: program, scratch: t.TempDir()}
				var err error
				if s.python, err = python(t, f.Name, version); err != nil {
					line.Skipped = err.Error()
					t.Skip("skipped: ", err)
				}
				for _, r := range s.arguments(t, asked) {
					t.Run(r.Argument, func(t *testing.T) {
						line.Count(t)
						t.Logf("%+v", r)
						if path := os.Getenv("NDC_RECORD"); path != "" {
							record(t, path, r)
						} else if !slices.ContainsFunc(known, func(k Taken) bool { k.Error = r.Error; return k == r }) {
							t.Errorf("recorded otherwise: %+v", r)
						}
					})
				}
			})
		}
	}
}

func record(t *testing.T, path string, r any) {
	text, err := json.Marshal(r)
	must(t, err)
	out, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	must(t, err)
	_, err = fmt.Fprintf(out, "%s\n", text)
	must(t, cmp.Or(err, out.Close()))
}

// arguments trains the first layout, and goes on from its checkpoint with each argument
// changed.
func (s *stage) arguments(t *testing.T, asked []Argument) (results []Taken) {
	t.Helper()
	must(t, command(s.python, "../torchtitan/make_data.py", filepath.Join(s.scratch, "data"), "512"))
	layout := s.framework.Layouts[0].Name
	first, err := s.build("first", layout)
	must(t, err)
	whole, err := s.train([]launch{first})
	must(t, err)
	if w := whole[first.id]; w.Error != "" || len(w.Steps) == 0 {
		t.Fatalf("nothing to go on from: %s", w.Error)
	}
	var later []launch
	for _, a := range asked {
		l, err := s.build(a.Path, layout, a.Edits...)
		must(t, err)
		must(t, s.hand(first, l))
		later = append(later, l)
	}
	rest, err := s.train(later)
	must(t, err)
	for _, l := range later {
		r := Taken{Framework: s.framework.Name, Version: s.version, Argument: l.id, Answer: "taken"}
		switch got := rest[l.id]; {
		case got.Error != "" || len(got.Steps) == 0:
			r.Answer, r.Error = "refused", reason(got.Error)
		case reflect.DeepEqual(got.Steps, whole[first.id].Steps[saved:]):
			r.Answer = "kept"
		}
		results = append(results, r)
	}
	return results
}
