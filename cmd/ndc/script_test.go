package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ndc-dev/ndc/output"
	"github.com/ndc-dev/ndc/tools/golden"
	_ "github.com/ndc-dev/ndc/tools/seldom"
)

// TestMain lets scripts run this test binary as the command.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		os.Setenv("GOGC", childGOGC)
	}
	testscript.Main(m, map[string]func(){"ndc": main})
}

// childGOGC is how seldom commands that tests start collect garbage. Most only start,
// and do not collect at all then, which is a third of their time.
const childGOGC = "1600"

// TestScripts runs the command as a user does.
func TestScripts(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                "../../testdata/script",
		UpdateScripts:      *golden.Update,
		RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("EXAMPLES", examples)
			e.Setenv("GOGC", childGOGC)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ndcexit":       scriptExit,
			"samefiles":     scriptSameFiles,
			"replace":       scriptReplace,
			"append":        scriptAppend,
			"generate":      scriptGenerate,
			"later":         scriptLater,
			"checkplans":    scriptCheckPlans,
			"checkdocument": scriptCheckDocument,
			"sameplans":     scriptSamePlans,
			"shown":         scriptShown,
		},
	})
}

// scriptShown asks that a page shows lines of the last command's output: shown PAGE
// BEGINNING, of the block whose first line begins so.
func scriptShown(ts *testscript.TestScript, _ bool, args []string) {
	path := filepath.Join(pageFolder, args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	page, stdout := string(b), ts.ReadFile("stdout")
	from := strings.Index(page, "\n```\n"+args[1])
	at := strings.Index("\n"+stdout, "\n"+args[1])
	if from < 0 || at < 0 {
		ts.Fatalf("no line of %s, or of the output, begins with %q", args[0], args[1])
	}
	from += len("\n```\n")
	block := page[from : from+strings.Index(page[from:], "```\n")]
	lines := strings.SplitAfter(stdout[at:], "\n")
	got := strings.Join(lines[:min(len(lines), strings.Count(block, "\n"))], "")
	if got == block {
		return
	}
	if !*golden.Update {
		ts.Fatalf("%s does not show what is printed; -update rewrites it:\n%s", args[0], got)
	}
	ts.Check(os.WriteFile(path, []byte(page[:from]+got+page[from+len(block):]), 0o644))
}

// scriptExit runs ndc and asks for an exit code: ndcexit CODE ARGUMENT...
func scriptExit(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec("ndc", args[1:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// scriptSameFiles compares two folders byte for byte: samefiles DIR DIR.
func scriptSameFiles(ts *testscript.TestScript, _ bool, args []string) {
	a, err := readTree(ts.MkAbs(args[0]))
	ts.Check(err)
	b, err := readTree(ts.MkAbs(args[1]))
	ts.Check(err)
	if len(a) == 0 {
		ts.Fatalf("%s is empty", args[0])
	}
	if diff := cmp.Diff(a, b); diff != "" {
		ts.Fatalf("%s and %s differ:\n%s", args[0], args[1], diff)
	}
}

// readTree reads all files below a folder, by slash path.
func readTree(root string) (map[string]string, error) {
	tree := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		tree[filepath.ToSlash(name)] = string(content)
		return err
	})
	return tree, err
}

// scriptReplace changes text that must be there: replace FILE OLD NEW, where
// the sign ⏎ is the end of a line.
func scriptReplace(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	was, is := strings.ReplaceAll(args[1], "⏎", "\n"), strings.ReplaceAll(args[2], "⏎", "\n")
	if !strings.Contains(text, was) {
		ts.Fatalf("%s does not hold %q", args[0], was)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, was, is, 1)), 0o644))
}

// scriptAppend adds a line: append FILE LINE.
func scriptAppend(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(ts.ReadFile(args[0])+args[1]+"\n"), 0o644))
}

// scriptGenerate writes text with Go's escapes and the same again and again:
// generate FILE START COUNT TEXT.
func scriptGenerate(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	text, err := strconv.Unquote("`" + args[3] + "`")
	if strings.Contains(args[3], `\`) {
		text, err = strconv.Unquote(`"` + args[3] + `"`)
	}
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(args[1]+strings.Repeat(text, n)), 0o644))
}

// scriptLater makes a plan.json look as a later version of ndc with one more
// field would have written it: later PLAN.
func scriptLater(ts *testscript.TestScript, _ bool, args []string) {
	text := []byte(strings.Replace(ts.ReadFile(args[0]), "{\n", "{\n  \"later_field\": 1,\n", 1))
	i := bytes.LastIndex(text, []byte(`"sha256": "`)) + len(`"sha256": "`)
	end := i + bytes.IndexByte(text[i:], '"')
	empty := append(bytes.Clone(text[:i]), text[end:]...)
	text = fmt.Appendf(nil, "%s%s%s", text[:i], output.Hash(empty), text[end:])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), text, 0o644))
}

// scriptCheckPlans holds every plan.json below a folder to the schema and to
// its own sums: checkplans DIR.
func scriptCheckPlans(ts *testscript.TestScript, _ bool, args []string) {
	tree, err := readTree(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(checkFiles(tree))
}

// scriptCheckDocument does the same for documents: checkdocument stdout|FILE.
func scriptCheckDocument(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(checkDocuments([]byte(ts.ReadFile(args[0]))))
}

// scriptSamePlans compares documents but for what a build says of its files:
// sameplans stdout|FILE FILE.
func scriptSamePlans(ts *testscript.TestScript, _ bool, args []string) {
	var documents [2]map[string]any
	for i, name := range args {
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(name)), &documents[i]))
		delete(documents[i], "output")
	}
	if diff := cmp.Diff(documents[0], documents[1]); diff != "" {
		ts.Fatalf("%s and %s differ:\n%s", args[0], args[1], diff)
	}
}
