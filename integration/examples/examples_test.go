//go:build conformance

package examples

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/integration/artifacts"
	"github.com/ndc-dev/ndc/integration/environment"
	"github.com/ndc-dev/ndc/integration/summary"
)

const root = "../.."

// TestExamples hands what `ndc build` writes for every example to the
// framework and version that it is for.
func TestExamples(t *testing.T) {
	depth, what := artifacts.Deep, "examples, first and last rank of every stage built"
	if os.Getenv("NDC_CONFORMANCE_CHEAP") != "" {
		depth, what = artifacts.Cheap, "examples, up to the mesh"
	}
	for _, group := range byVersion(built(t)) {
		t.Run(group[0].Framework+"/"+group[0].Version, func(t *testing.T) { artifacts.Ask(t, group, depth, root, what) })
	}
}

// TestGolden hands the golden files of TorchTitan and DeepSpeed to them; those
// of Megatron-LM are judged in backends/megatron, with their layouts.
func TestGolden(t *testing.T) {
	for _, framework := range []string{"torchtitan", "deepspeed"} {
		launches, err := artifacts.Golden(root, framework)
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range byVersion(launches) {
			t.Run(framework+"/"+group[0].Version, func(t *testing.T) { artifacts.Ask(t, group, artifacts.Cheap, root, "golden files, read") })
		}
	}
}

// TestScripts runs shellcheck over every script of every example.
func TestScripts(t *testing.T) {
	if _, err := exec.LookPath("shellcheck"); err != nil {
		if err := environment.Debian("shellcheck"); err != nil {
			t.Skip("skipped: no shellcheck: ", err)
		}
	}
	checked := 0
	for _, l := range built(t) {
		folder := t.TempDir()
		for name, content := range l.Files {
			if !strings.HasSuffix(name, ".sh") && !strings.HasSuffix(name, ".sbatch") {
				continue
			}
			checked++
			if err := os.WriteFile(filepath.Join(folder, filepath.Base(name)), content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		scripts, _ := filepath.Glob(filepath.Join(folder, "*"))
		args := append([]string{"--severity=warning", "--shell=bash", "--external-sources", "--source-path=SCRIPTDIR"}, scripts...)
		if out, err := exec.Command("shellcheck", args...).CombinedOutput(); err != nil {
			t.Errorf("%s %s: %v\n%s", l.Name, l.Framework, err, out)
		}
	}
	if checked == 0 {
		t.Fatal("no scripts")
	}
	if err := summary.Add(summary.Line{Framework: "shellcheck", What: "scripts of the examples", Accepted: checked}); err != nil {
		t.Error(err)
	}
	t.Logf("%d scripts", checked)
}

// built runs `ndc build` over the examples, and reads what it wrote. Those
// that ndc finds infeasible (exit code 2) have nothing to judge.
func built(t *testing.T) []*artifacts.Launch {
	t.Helper()
	program := filepath.Join(t.TempDir(), "ndc")
	if out, err := exec.Command("go", "build", "-o", program, root+"/cmd/ndc").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	jobs, err := filepath.Glob(filepath.Join(root, "examples", "*", "job.hcl"))
	if err != nil || len(jobs) == 0 {
		t.Fatal("no examples: ", err)
	}
	var list []*artifacts.Launch
	for _, path := range jobs {
		out := t.TempDir()
		if text, err := exec.Command(program, "build", path, "-o", out).CombinedOutput(); err != nil {
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 2 {
				t.Errorf("%s: %v\n%s", path, err, text)
			}
			continue
		}
		list = append(list, read(t, path, out)...)
	}
	return list
}

// read pairs the files that were written with the facts of their job.
func read(t *testing.T, path, out string) []*artifacts.Launch {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	jobs, diags := artifacts.Build(src)
	if diags.HasErrors() {
		t.Fatal(path, diags)
	}
	var list []*artifacts.Launch
	for _, b := range jobs {
		if b.Launch == nil {
			t.Fatal(path, b.Refused)
		}
		if err := b.Launch.Read(filepath.Join(out, b.Launch.Name, b.Launch.Framework)); err != nil {
			t.Fatal(err)
		}
		list = append(list, b.Launch)
	}
	return list
}

// byVersion groups launches that one installation judges.
func byVersion(launches []*artifacts.Launch) [][]*artifacts.Launch {
	key := func(l *artifacts.Launch) string { return l.Framework + " " + l.Version }
	slices.SortStableFunc(launches, func(a, b *artifacts.Launch) int { return strings.Compare(key(a), key(b)) })
	var groups [][]*artifacts.Launch
	for _, l := range launches {
		if n := len(groups); n == 0 || key(groups[n-1][0]) != key(l) {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], l)
	}
	return groups
}
