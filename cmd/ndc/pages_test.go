package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/tools/golden"
)

// fence is a block of a page that shows a file, or commands with what they print.
var fence = regexp.MustCompile("(?ms)^```(hcl|console)\n(.*?)^```$")

// TestModulesPage: the files on the page of modules are those of its folder, and
// its commands print what it says; a line … stands for any others.
func TestModulesPage(t *testing.T) {
	const source, page = "../../testdata/modules", "../../docs/modules.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	shown := map[string]bool{}
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		if m[1] == "console" {
			continue
		}
		first, content, _ := strings.Cut(m[2], "\n")
		name := strings.TrimPrefix(first, "# ")
		if shown[name] = true; readText(t, name) != content {
			t.Errorf("%s is not as the page shows it", name)
		}
	}
	_ = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if !d.IsDir() && !shown[filepath.ToSlash(path)] {
			t.Errorf("the page does not show %s", path)
		}
		return err
	})
	golden.Compare(t, filepath.Join(pageFolder, "modules.md"), []byte(rerunBlocks(t, string(text))))
}

// pageFolder is where the pages are, wherever a test works.
var pageFolder, _ = filepath.Abs("../../docs")

func readText(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// rerun runs the commands of a block and returns it with what they print. What
// was left out stays left out as long as the rest is true.
func rerun(t *testing.T, block string) string {
	t.Helper()
	var out strings.Builder
	for _, part := range strings.Split("\n"+block, "\n$ ")[1:] {
		line, said, _ := strings.Cut(part, "\n")
		said = strings.TrimSuffix(said, "\n")
		out.WriteString("$ " + line + "\n")
		printed := printedBy(t, strings.Fields(line))
		if !agrees(strings.Split(printed, "\n"), strings.Split(said, "\n")) {
			said = printed
		}
		if said != "" {
			out.WriteString(said + "\n")
		}
	}
	return out.String()
}

// printedBy runs ndc, or a tool of the system, and returns what it prints.
func printedBy(t *testing.T, words []string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if words[0] == "ndc" {
		run(words[1:], &stdout, &stderr)
	} else {
		c := exec.Command(words[0], words[1:]...)
		c.Stdout, c.Stderr = &stdout, &stderr
		if err := c.Run(); c.ProcessState == nil {
			t.Fatal(err)
		}
	}
	return strings.TrimSuffix(stdout.String()+stderr.String(), "\n")
}

// agrees reports whether lines are those said, of which … stands for any.
func agrees(lines, said []string) bool {
	i := slices.Index(said, "…")
	if i < 0 {
		return slices.Equal(lines, said)
	}
	if len(lines) < i || !slices.Equal(lines[:i], said[:i]) {
		return false
	}
	for n := i; n <= len(lines); n++ {
		if agrees(lines[n:], said[i+1:]) {
			return true
		}
	}
	return false
}

// TestPoliciesPage: the policies and the tests on the page of policies work with the example
// that it names, and what it says of the example is the plan's.
func TestPoliciesPage(t *testing.T) {
	page := readText(t, "../../docs/policies.md")
	job := readText(t, "../../examples/llama3-70b/job.hcl")
	_, from, _ := strings.Cut(page, "```hcl\n")
	policies, from, _ := strings.Cut(from, "```")
	_, from, _ = strings.Cut(from, "```hcl\n")
	tests, from, _ := strings.Cut(from, "```")
	_, from, _ = strings.Cut(from, "```\n")
	printed, _, _ := strings.Cut(from, "```")
	t.Chdir(t.TempDir())
	for name, content := range map[string]string{
		"job.hcl":         job,
		"policies.hcl":    "variable \"gpu_hours\" {\n  type    = number\n  default = 1000000\n}\n\n" + policies,
		"job.ndctest.hcl": regexp.MustCompile(`(?m)^ *site .*\n`).ReplaceAllString(tests, ""),
	} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := printedBy(t, []string{"ndc", "test"}) + "\n"; got != printed {
		t.Errorf("ndc test prints\n%s, and the page says\n%s", got, printed)
	}
	run := printedBy(t, []string{"ndc", "plan", "job.hcl", "--backend", "megatron"})
	m := regexp.MustCompile(`steps in (\d+)\.\d days, (\d+)(\d{3}) GPU-hours`).FindStringSubmatch(run)
	if m == nil {
		t.Fatalf("no days and GPU-hours in\n%s", run)
	}
	if want := fmt.Sprintf("It takes %s days and %s,%s GPU-hours on 32 nodes", m[1], m[2], m[3]); !strings.Contains(page, want) {
		t.Errorf("the page does not say: %s", want)
	}
}

// guides are the pages whose commands work on an example, and that example.
var guides = map[string]string{
	"commands": "llama3-8b-continued", "layout": "llama3-8b",
	"first-job": "tiny", "reading-a-plan": "llama3-8b", "why-not-fit": "does-not-fit", "reviewing-a-change": "tiny",
}

// TestGuides: the commands of the guides print what the pages say.
func TestGuides(t *testing.T) {
	for name, example := range guides {
		t.Run(name, func(t *testing.T) {
			job := readText(t, filepath.Join("../../examples", example, "job.hcl"))
			text := readText(t, filepath.Join("../../docs", name+".md"))
			t.Chdir(t.TempDir())
			if err := os.WriteFile("job.hcl", []byte(job), 0o644); err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, filepath.Join(pageFolder, name+".md"), []byte(rerunBlocks(t, text)))
		})
	}
}

// rerunBlocks runs the commands of a page.
func rerunBlocks(t *testing.T, text string) string {
	t.Helper()
	return fence.ReplaceAllStringFunc(text, func(block string) string {
		m := fence.FindStringSubmatch(block)
		if m[1] != "console" {
			return block
		}
		return "```console\n" + rerun(t, m[2]) + "```"
	})
}
