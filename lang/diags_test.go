package lang

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/tools/golden"
)

const diagsFolder = "../testdata/diags"

// marker is an expected diagnostic at the end of the line that it points at:
//
//	layers = 2.5 # ERROR: out-of-range at 2.5: "layers" must be a whole number; …
//
// One that points nowhere stands on a line of its own at the top.
var marker = regexp.MustCompile(` ?# (ERROR|WARNING): .*$`)

// arguments are options of a case: # ARGS: --var nodes=3 --job x.
var arguments = regexp.MustCompile(`(?m)^# ARGS: (.*)$`)

// TestDiagnostics: each case is refused at the lines and with the ids and words that it says, and
// at no others.
func TestDiagnostics(t *testing.T) {
	files, err := filepath.Glob(diagsFolder + "/*.hcl")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases in ", diagsFolder)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".hcl"), func(t *testing.T) { runDiagnostics(t, file) })
	}
}

func runDiagnostics(t *testing.T, file string) {
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	plain := strip(string(written))
	fsys := fstest.MapFS{"job.hcl": {Data: []byte(plain)}}
	_, diags := Load(fsys, "job.hcl", caseOptions(t, plain))
	if len(diags) == 0 {
		t.Error("a case must have at least one diagnostic")
	}
	golden.Compare(t, file, []byte(mark(plain, diags)))
}

// strip removes the markers.
func strip(src string) string {
	var kept []string
	for line := range strings.SplitSeq(src, "\n") {
		bare := marker.ReplaceAllString(line, "")
		if bare != "" || line == "" {
			kept = append(kept, bare)
		}
	}
	return strings.Join(kept, "\n")
}

// mark writes the diagnostics into the source.
func mark(src string, diags diag.List) string {
	lines := strings.Split(src, "\n")
	var top []string
	for _, d := range diags {
		m := "# " + strings.ToUpper(d.Severity.String()) + ": " + string(d.ID)
		if d.Range.Filename != "job.hcl" {
			top = append(top, m+": "+d.Detail)
			continue
		}
		at := src[d.Range.Start.Byte:d.Range.End.Byte]
		at, _, more := strings.Cut(at, "\n")
		if more {
			at += "…"
		}
		lines[d.Range.Start.Line-1] += " " + m + " at " + at + ": " + d.Detail
	}
	return strings.Join(slices.Concat(top, lines), "\n")
}

func caseOptions(t *testing.T, src string) Options {
	o := Options{NDCVersion: "0.5.0"}
	m := arguments.FindStringSubmatch(src)
	if m == nil {
		return o
	}
	words := strings.Fields(m[1])
	for i := 0; i+1 < len(words); i += 2 {
		switch words[i] {
		case "--var":
			name, value, _ := strings.Cut(words[i+1], "=")
			o.Variables = append(o.Variables, VariableArg{Name: name, Value: value})
		case "--job":
			o.Job = words[i+1]
		case "--backend":
			o.Backend = words[i+1]
		case "--site":
			o.Sites = append(o.Sites, words[i+1])
		default:
			t.Fatal("unknown argument ", words[i])
		}
	}
	return o
}

// TestDiagnosticIDs demands a case for each id that one file can provoke.
func TestDiagnosticIDs(t *testing.T) {
	source, err := os.ReadFile("ids.go")
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(diagsFolder + "/*.hcl")
	var all strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	for id, summary := range summaries {
		if summary == "" || strings.HasSuffix(summary, ".") || !strings.Contains(string(source), `= "`+string(id)+`"`) {
			t.Errorf("bad summary of %s: %q", id, summary)
		}
	}
	elsewhere := []diag.ID{UnreadableFile, NoFiles, FileTooLarge, InvalidText, TooManyErrors, FailedPolicy, IdlePolicy, FailedAssert, NoTests, InvalidCalibration} // TestUnreadable, TestIdlePolicies; testdata/script/policies.txtar, tests.txtar, calibrate.txtar
	for _, m := range regexp.MustCompile(`diag\.ID = "([a-z-]+)"`).FindAllStringSubmatch(string(source), -1) {
		if summaries[diag.ID(m[1])] == "" {
			t.Errorf("%s has no summary", m[1])
		}
		if !slices.Contains(elsewhere, diag.ID(m[1])) && !strings.Contains(all.String(), ": "+m[1]) {
			t.Errorf("no case in testdata/diags for %s", m[1])
		}
	}
}
