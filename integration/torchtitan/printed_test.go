//go:build conformance

package torchtitan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/integration/artifacts"
	"github.com/ndc-dev/ndc/tools/golden"
)

// printedCase is a configuration, and what TorchTitan prints of it.
type printedCase struct {
	name   string
	folder string
	rows   []string // of the import
}

// TestPrinted: what TorchTitan prints of an emitted configuration, imported and
// built, is a configuration of which it prints the same. Left aside are the
// model's name, the tokenizer, which goes with the data that stand in the
// program, where the run is watched, and low precisions, for which torchao would
// be needed.
func TestPrinted(t *testing.T) {
	r := releases[slices.IndexFunc(releases, func(r release) bool { return r.version == "0.3.0" })]
	python, program := r.python(t), ndc(t)
	line := r.line("printed configurations, imported and built again")
	line.AddAfter(t)
	cases := append(goldenCases(t), exampleCases(t)...)
	first := printed(t, python, cases)
	again := make([]printedCase, 0, len(cases))
	for _, c := range cases {
		dir := t.TempDir()
		job := filepath.Join(dir, "job.hcl")
		if err := os.WriteFile(filepath.Join(dir, "printed.json"), first[c.name], 0o644); err != nil {
			t.Fatal(err)
		}
		run(t, time.Minute, nil, dir, append([]string{program, "import", "printed.json", "--name", "again", "-o", job}, c.rows...)...)
		run(t, 5*time.Minute, nil, dir, program, "build", job, "-o", filepath.Join(dir, "out"))
		again = append(again, printedCase{name: c.name, folder: filepath.Join(dir, "out", "again", "torchtitan")})
	}
	second := printed(t, python, again)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			line.Count(t)
			if d := cmp.Diff(leaves(t, first[c.name]), leaves(t, second[c.name])); d != "" {
				t.Errorf("(-emitted +imported and built)\n%s", d)
			}
			recorded(t, c.name, first[c.name])
		})
	}
}

// goldenCases are the backend's golden files; with NDC_CONFORMANCE_CHEAP those
// of which the import has a record.
func goldenCases(t *testing.T) []printedCase {
	t.Helper()
	launches, err := artifacts.Golden("../..", "torchtitan")
	if err != nil {
		t.Fatal(err)
	}
	var cases []printedCase
	for _, l := range launches {
		name := strings.TrimSuffix(strings.TrimPrefix(l.Name, "golden-"), "-0.3.0")
		_, err := os.Stat(record(name))
		switch {
		case l.Version != "0.3.0", bytes.Contains(l.Files["ndc_job.py"], []byte("components.quantization")):
			continue
		case bytes.Contains(l.Files["ndc_job.py"], []byte("pipeline_order.csv")): // an order that no name says is not imported
			continue
		case err != nil && os.Getenv("NDC_CONFORMANCE_CHEAP") != "":
			continue
		}
		c := printedCase{name: name, folder: t.TempDir(), rows: []string{"--cluster", "dgx_h100", "--nodes", "1", "--gpus", fmt.Sprint(l.World())}}
		for name, content := range l.Files {
			if err := os.WriteFile(filepath.Join(c.folder, name), content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		cases = append(cases, c)
	}
	return cases
}

var usedCluster = regexp.MustCompile(`catalog\.cluster\.(\w+)`)

func exampleCases(t *testing.T) []printedCase {
	t.Helper()
	if os.Getenv("NDC_CONFORMANCE_CHEAP") != "" {
		return nil
	}
	folders, err := filepath.Glob("../../examples/*/out/*/torchtitan")
	if err != nil {
		t.Fatal(err)
	}
	var cases []printedCase
	for _, folder := range folders {
		r, world := identify(t, folder)
		name := filepath.Base(filepath.Dir(folder))
		source, err := os.ReadFile(filepath.Join("../../examples", name, "job.hcl"))
		if err != nil {
			t.Fatal(err)
		}
		full, err := filepath.Abs(folder)
		if err != nil {
			t.Fatal(err)
		}
		if r.version == "0.3.0" {
			cases = append(cases, printedCase{name, full, []string{"--cluster", string(usedCluster.FindSubmatch(source)[1]), "--nodes", fmt.Sprint(max(world/8, 1))}})
		}
	}
	return cases
}

// printed asks TorchTitan to print the configurations, all in one process.
func printed(t *testing.T, python string, cases []printedCase) map[string][]byte {
	t.Helper()
	var lines bytes.Buffer
	into := t.TempDir()
	for _, c := range cases {
		if err := json.NewEncoder(&lines).Encode(map[string]string{
			"folder": c.folder, "module": "ndc_job", "config": "run", "into": filepath.Join(into, c.name),
		}); err != nil {
			t.Fatal(err)
		}
	}
	list := filepath.Join(into, "cases.jsonl")
	if err := os.WriteFile(list, lines.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	out := run(t, 20*time.Minute, append(environment(t, into), "NDC_LOG_DIR=logs"), here(t), "sh", "-c", `exec "$1" dump.py <"$2"`, "sh", python, list)
	all := map[string][]byte{}
	for _, c := range cases {
		b, err := os.ReadFile(filepath.Join(into, c.name))
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		all[c.name] = b
	}
	return all
}

var functionAddress = regexp.MustCompile(` at 0x[0-9a-f]+`)

// leaves are the values of a printed configuration by their paths.
func leaves(t *testing.T, src []byte) map[string]string {
	t.Helper()
	var root any
	if err := json.Unmarshal(functionAddress.ReplaceAll(src, nil), &root); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, in := range v {
				walk(path+"."+k, in)
			}
		case []any:
			for i, in := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), in)
			}
		}
		switch v.(type) {
		case map[string]any, []any:
		default:
			all[path] = fmt.Sprint(v)
		}
	}
	walk("", root)
	for _, path := range []string{".model_spec.flavor", ".hf_assets_path", ".metrics.enable_wandb", ".metrics.enable_tensorboard", ".metrics.save_tb_folder"} {
		delete(all, path)
	}
	return all
}

// record is where the import's tests have what TorchTitan prints of a golden
// file.
func record(name string) string { return filepath.Join("../../testdata/intake/printed", name+".json") }

// recorded compares the record, where there is one, with what was printed.
func recorded(t *testing.T, name string, src []byte) {
	t.Helper()
	if _, err := os.Stat(record(name)); err == nil {
		golden.Compare(t, record(name), functionAddress.ReplaceAll(src, nil))
	}
}
