package lang

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"
)

// seeds adds every job file of the project to a fuzz target.
func seeds(f *testing.F) {
	for _, pattern := range []string{"../examples/*/*.hcl", "../testdata/diags/*.hcl", "testdata/*.hcl", "catalog/*/*.hcl"} {
		paths, _ := filepath.Glob(pattern)
		for _, p := range paths {
			src, err := os.ReadFile(p)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(src)
		}
	}
}

// FuzzLoad: no file makes Load panic; every diagnostic lies in a file that was
// read and is fit to print; jobs come only without errors in a consistent form.
func FuzzLoad(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		w, diags := Load(files("job.hcl", string(src)), "job.hcl", Options{})
		for _, d := range diags {
			if d.Summary == "" || d.Detail == "" || d.ID == "" {
				t.Errorf("incomplete diagnostic: %+v", d)
			}
			if !utf8.ValidString(d.Detail) {
				t.Errorf("diagnostic is not UTF-8: %q", d.Detail)
			}
			if r := d.Range; r.Filename == "job.hcl" && (r.Start.Byte > r.End.Byte || r.End.Byte > len(src)) {
				t.Errorf("range outside the file: %+v", r)
			}
		}
		if diags.HasErrors() {
			return
		}
		for _, j := range w.Jobs {
			if j.Training.Steps < 1 || j.Model.Attention.HeadDim < 1 || j.Cluster.GPUs() < 1 || j.Backend.Version == "" {
				t.Errorf("accepted an incomplete job: %+v", j)
			}
		}
	})
}

// FuzzFormat: formatting is idempotent and changes nothing but blanks.
func FuzzFormat(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		once, diags := Format(src, "job.hcl")
		if diags.HasErrors() {
			if !bytes.Equal(once, src) {
				t.Error("a broken file was changed")
			}
			return
		}
		twice, diags := Format(once, "job.hcl")
		if diags.HasErrors() {
			t.Errorf("formatting broke the file: %v\n%q\n%q", diags, src, once)
		}
		if !bytes.Equal(once, twice) {
			t.Errorf("not idempotent:\n%q\n%q", once, twice)
		}
		if !bytes.Equal(blankless(src), blankless(once)) {
			t.Errorf("more than blanks changed:\n%q\n%q", src, once)
		}
	})
}

func blankless(src []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r == ' ' || r == '\t' || r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, src)
}

// FuzzVariables: no variable file and no text of --var makes Load panic.
func FuzzVariables(f *testing.F) {
	f.Add([]byte("n = 3\nlist = [1, 2]\n"), "3", "[1, 2]")
	f.Add([]byte("n = \"3\"\n"), "null", "{}")
	f.Add([]byte("n = 1 / 0\nx {\n}\n"), "1e999", "[\"a\", [")
	src := minimal("variable \"n\" {\n  type = number\n}\nvariable \"list\" {\n  type = list(number)\n  default = []\n}\n", "", "steps = var.n + length(var.list)")
	f.Fuzz(func(t *testing.T, file []byte, n, list string) {
		for _, args := range [][]VariableArg{nil, {{Name: "n", Value: n}, {Name: "list", Value: list}}} {
			w, diags := Load(files("d/job.hcl", src, "d/a.auto.ndcvars", string(file)), "d", Options{Variables: args})
			if !diags.HasErrors() && w.Jobs[0].Training.Steps < 1 {
				t.Errorf("accepted %d steps", w.Jobs[0].Training.Steps)
			}
		}
	})
}
