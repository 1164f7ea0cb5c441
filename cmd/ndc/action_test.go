package main

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	yaml "github.com/zclconf/go-cty-yaml"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/ndc-dev/ndc/lang/schema"
)

// action is what the test reads of action.yml.
type action struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Steps []struct {
			Name, If, Uses, Shell, Run string
			Env                        map[string]string
		}
	}
}

// readYAML reads a YAML file of the repository.
func readYAML(t *testing.T, name string, to any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	kind, err := yaml.Standard.ImpliedType(text)
	if err != nil {
		t.Fatal(err)
	}
	value, err := yaml.Standard.Unmarshal(text, kind)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := ctyjson.Marshal(value, kind)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(asJSON, to); err != nil {
		t.Fatal(err)
	}
}

// change is a pull request in a repository: a clone of a bare remote, empty at
// first.
type change struct {
	dir, temp string
	context   map[string]string // what expressions of the action stand for
	action    action
	said      map[string]string // by its steps, when they last ran
}

func newChange(t *testing.T) *change {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	root := t.TempDir()
	c := &change{dir: filepath.Join(root, "clone"), temp: filepath.Join(root, "runner"), said: map[string]string{}, context: map[string]string{
		"github.base_ref": "main", "github.event.pull_request.number": "7", "github.token": "secret", "github.action_path": "unused",
	}}
	readYAML(t, "action.yml", &c.action)
	for name, input := range c.action.Inputs {
		c.context["inputs."+name] = c.value(t, input.Default)
	}
	for _, dir := range []string{c.dir, filepath.Join(c.temp, "ndc")} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(c.temp, "ndc", "ndc")); err != nil { // TestMain runs it as the command
		t.Fatal(err)
	}
	c.write(t, "../runner/ndc/gh", "#!/bin/sh\necho \"$GH_TOKEN $*\" >>\"$RUNNER_TEMP/gh\"\n[ \"$2\" != view ] || cat \"$RUNNER_TEMP/url\"\n")
	c.write(t, "../runner/url", "")
	if err := os.Chmod(filepath.Join(c.temp, "ndc", "gh"), 0o777); err != nil {
		t.Fatal(err)
	}
	c.sh(t, nil, "git init -q --bare -b main ../remote.git && git init -q -b main . && git remote add origin ../remote.git")
	return c
}

// newTinyChange is a change of the smallest example.
func newTinyChange(t *testing.T) *change {
	t.Helper()
	c := newChange(t)
	example, err := os.ReadFile("../../examples/tiny/job.hcl")
	if err != nil {
		t.Fatal(err)
	}
	c.write(t, "jobs/job.hcl", string(example))
	c.sh(t, nil, "ndc build jobs >/dev/null && git add -A && git commit -q -m jobs && git push -q origin main && git checkout -q -b change")
	return c
}

func (c *change) write(t *testing.T, name, content string) {
	t.Helper()
	name = filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

func (c *change) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(c.temp, name))
	return string(text)
}

// try runs a script in the clone as a runner would.
func (c *change) try(env map[string]string, script string) (string, error) {
	run := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	run.Dir = c.dir
	run.Env = []string{"GOGC=" + childGOGC, "PATH=" + filepath.Join(c.temp, "ndc") + ":" + os.Getenv("PATH"), "HOME=" + c.temp, "RUNNER_TEMP=" + c.temp,
		"GITHUB_PATH=" + c.temp + "/path", "GITHUB_OUTPUT=" + c.temp + "/output", "GITHUB_STEP_SUMMARY=" + c.temp + "/summary",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z"}
	for name, value := range env {
		run.Env = append(run.Env, name+"="+value)
	}
	out, err := run.CombinedOutput()
	return string(out), err
}

func (c *change) sh(t *testing.T, env map[string]string, script string) {
	t.Helper()
	if out, err := c.try(env, script); err != nil {
		t.Fatalf("%s\n%s%v", script, out, err)
	}
}

var expression = regexp.MustCompile(`\$\{\{ (.*?) \}\}`)

// value puts what they stand for into the place of expressions; of `a || b` the
// first that is not empty.
func (c *change) value(t *testing.T, text string) string {
	return expression.ReplaceAllStringFunc(text, func(e string) string {
		for name := range strings.SplitSeq(expression.FindStringSubmatch(e)[1], " || ") {
			v, ok := c.context[name]
			if !ok {
				t.Fatalf("the test does not know %s", name)
			}
			if v != "" {
				return v
			}
		}
		return ""
	})
}

// steps runs the action's own steps, all of them, and returns the names of those
// that fail.
func (c *change) steps(t *testing.T) (failed []string) {
	t.Helper()
	_ = os.Remove(filepath.Join(c.temp, "output"))
	for _, s := range c.action.Runs.Steps {
		if s.Uses != "" || s.Name == "Install" || s.Name == "Comment" && c.context["inputs.comment"] != "true" {
			continue
		}
		if s.Shell != "bash" || strings.Contains(s.Run, "${{") {
			t.Errorf("%s: a value of an expression becomes code, or runs in %q", s.Name, s.Shell)
		}
		env := map[string]string{}
		for name, text := range s.Env {
			env[name] = c.value(t, text)
		}
		out, err := c.try(env, s.Run)
		c.said[s.Name] = out
		t.Logf("%s: %v\n%s", s.Name, err, out)
		if err != nil {
			failed = append(failed, s.Name)
		}
		for line := range strings.Lines(c.read("output")) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			c.context["steps.compare.outputs."+name] = value
		}
	}
	return failed
}

// TestAction runs the steps of the GitHub Action, as the runner does, on changes
// of a repository with a bare remote.
func TestAction(t *testing.T) {
	c := newTinyChange(t)
	c.context["inputs.jobs"] = "jobs"
	if failed := c.steps(t); failed != nil {
		t.Errorf("nothing changed, and %q fail", failed)
	}
	if got := c.read("ndc.md"); !strings.Contains(got, "nothing changed") {
		t.Errorf("the comment is %q", got)
	}

	c.sh(t, nil, `sed -i 's/learning_rate     = 1e-3/learning_rate     = 2e-3/' jobs/job.hcl && git commit -qam hotter`)
	c.context["inputs.fail-on"] = "convergence"
	if failed := strings.Join(c.steps(t), " "); failed != "Check Decide" {
		t.Errorf("outputs are stale and the rate is another, and these fail: %s", failed)
	}
	c.sh(t, nil, `ndc build jobs >/dev/null && git add -A && git commit -qm built`)
	c.write(t, "jobs/rate.ndctest.hcl", "run \"fits\" {\n  job = \"tiny\"\n\n  assert {\n    condition     = plan.feasible\n    error_message = \"It must fit.\"\n  }\n}\n")
	if failed := strings.Join(c.steps(t), " "); failed != "Decide" {
		t.Errorf("the rate is another, and these fail: %s", failed)
	}
	for name, want := range map[string]string{
		"ndc.md": "| **convergence** | `training.optimizer.learning_rate` | `0.001` | `0.002` |", "summary": "learning_rate",
		"gh":         "secret pr comment 7 --body-file " + c.temp + "/comment.md\n",
		"comment.md": "<!-- ndc diff of jobs -->\n### `tiny`: 1 of convergence\n",
	} {
		if got := c.read(name); !strings.Contains(got, want) {
			t.Errorf("%s has no %q:\n%s", name, want, got)
		}
	}
	c.context["inputs.fail-on"] = ""
	c.write(t, "../runner/url", "https://example.org/team/jobs/pull/7#issuecomment-42\n") // that of an earlier run
	if failed := c.steps(t); failed != nil {
		t.Errorf("nothing is to fail, and %q do", failed)
	}
	if got, want := c.read("gh"), "/issues/comments/42 --field body=@"+c.temp+"/comment.md\n"; !strings.HasSuffix(got, want) {
		t.Errorf("the comment of the earlier run is to be edited: %s", got)
	}

	// A folder that the base has under another name, and one that it does not have; names that look like options.
	c.sh(t, nil, `mkdir ./--new && sed s/tiny/other/ jobs/job.hcl >./--new/job.hcl && ndc build ./--new >/dev/null && git mv jobs -- --moved && git add -A && git commit -qm moved`)
	for name, want := range map[string]string{"--moved": "`tiny`: 1 of convergence", "./--new": "`other`: a new job"} {
		c.context["inputs.jobs"] = name
		if failed := c.steps(t); failed != nil {
			t.Errorf("%s: %q fail", name, failed)
		}
		if got := c.read("ndc.md"); !strings.Contains(got, want) {
			t.Errorf("%s: the comment is %q, want %q", name, got, want)
		}
	}
}

// TestActionMistakes: what is wrong with jobs is said where they are compared, also where the
// base has no such folder, and so is what a comparison warns of.
func TestActionMistakes(t *testing.T) {
	c := newTinyChange(t)
	c.context["inputs.jobs"] = "new"
	c.sh(t, nil, `mkdir new && sed 's/seed /sed /; s/tiny/other/' jobs/job.hcl >new/job.hcl && git add -A && git commit -q -m new`)
	if failed := strings.Join(c.steps(t), " "); failed != "Check Compare" || !strings.Contains(c.said["Compare"], "[unknown-argument]\n  on new/job.hcl line ") || strings.Contains(c.said["Compare"], "no such file") {
		t.Errorf("a job that cannot be read: %q fail, and is told as %q", failed, c.said["Compare"])
	}
	c.context["inputs.fail-on"] = "convergance"
	if failed := strings.Join(c.steps(t), " "); failed != "Check Compare" || !strings.Contains(c.said["Compare"], "fail-on is convergance, and may be "+strings.Join(schema.EffectNames()[:2], ", ")+" or "+schema.EffectNames()[2]+".") {
		t.Errorf("an effect that there is not: %q fail, and is told as %q", failed, c.said["Compare"])
	}
	c.context["inputs.fail-on"] = ""
	c.sh(t, nil, `sed -i 's/sed /seed /; s/other/tiny/' new/job.hcl && mkdir all && mv jobs new all && rm -r all/*/out && ndc build all/jobs >/dev/null && ndc build all/new >/dev/null && git add -A && git commit -q -m all`)
	c.context["inputs.jobs"] = "all"
	c.steps(t)
	if !strings.Contains(c.said["Compare"], "[shared-checkpoint]") {
		t.Errorf("two jobs that save to one folder are told as %q", c.said["Compare"])
	}
	// What was said of another folder is not said of one that cannot be compared.
	c.context["inputs.base"] = "nowhere"
	before := c.read("gh")
	if failed := strings.Join(c.steps(t), " "); failed != "Check Compare" || c.read("gh") != before {
		t.Errorf("without a base %q fail, and the comment is\n%s", failed, c.read("comment.md"))
	}
	c.context["inputs.base"] = ""
	// A change from a fork has a token that may not comment.
	c.write(t, "../runner/ndc/gh", "#!/bin/sh\necho 'GraphQL: Resource not accessible by integration' >&2\nexit 1\n")
	if failed := strings.Join(c.steps(t), " "); failed != "Check" || !strings.Contains(c.said["Comment"], "::warning::") {
		t.Errorf("where nothing may comment %q fail, and is told as %q", failed, c.said["Comment"])
	}
}

// TestActionHistory: a clone with all of its history has it after the action, too, which
// later steps of a workflow describe versions by; a clone of one commit gets no more than
// another one.
func TestActionHistory(t *testing.T) {
	c := newTinyChange(t)
	c.context["inputs.jobs"] = "jobs"
	c.sh(t, nil, `git commit -q --allow-empty -m second && git push -q origin HEAD:main && git commit -q --allow-empty -m third`)
	if failed := c.steps(t); failed != nil {
		t.Errorf("nothing changed, and %q fail", failed)
	}
	c.sh(t, nil, `[[ $(git rev-list --count HEAD) == 3 ]]`)
	c.sh(t, nil, `git push -q origin HEAD:change && git clone -q --depth 1 -b change "file://$(cd ../remote.git && pwd)" ../shallow`)
	c.dir = filepath.Join(filepath.Dir(c.dir), "shallow")
	if failed := c.steps(t); failed != nil {
		t.Errorf("nothing changed, and %q fail", failed)
	}
	c.sh(t, nil, `[[ $(git rev-list --count FETCH_HEAD) == 1 ]]`)
}

// TestOneVersion: whatever builds this program, files that it writes have one version;
// others were stale to the Action and the hooks, which build it with Go alone.
func TestOneVersion(t *testing.T) {
	for _, name := range []string{"Makefile", "action.yml", ".ci/run", ".pre-commit-hooks.yaml"} {
		if text, err := os.ReadFile(filepath.Join("../..", name)); err != nil || strings.Contains(string(text), "main.version") {
			t.Errorf("%s stamps a version of its own: %v", name, err)
		}
	}
}

// TestHooks runs the commands of the pre-commit hooks.
func TestHooks(t *testing.T) {
	var hooks []struct {
		ID, Entry, Language, Files, Exclude string
		Args                                []string
		PassFilenames                       *bool `json:"pass_filenames"`
	}
	readYAML(t, ".pre-commit-hooks.yaml", &hooks)
	c := newTinyChange(t)
	c.sh(t, nil, "mv jobs/* . && rmdir jobs")
	c.write(t, "tiny.ndctest.hcl", "run \"fits\" {\n  job = \"tiny\"\n}\n")
	c.write(t, "run.sbatch", "#!/bin/bash\n#SBATCH --nodes=1\ntorchrun --nproc-per-node 8 train.py\n")
	files := map[string]string{"ndc-lint": "run.sbatch"} // others are for job.hcl
	run := func(id string) error {
		for _, h := range hooks {
			if h.ID == id {
				words := append(strings.Fields(h.Entry), h.Args...)
				file := cmp.Or(files[id], "job.hcl")
				if h.PassFilenames == nil {
					words = append(words, file)
				}
				if h.Language != "golang" || !regexp.MustCompile(h.Files).MatchString(file) {
					t.Errorf("%s is not for %s, or no program of Go", id, file)
				}
				out, err := c.try(nil, strings.Join(words, " "))
				t.Logf("%s: %v\n%s", id, err, out)
				return err
			}
		}
		t.Fatalf("there is no hook %s", id)
		return nil
	}
	// What was fetched has a hash, and is nobody's to format.
	if h := hooks[0]; h.ID != "ndc-fmt" || !regexp.MustCompile(h.Exclude).MatchString("jobs/.ndc/modules/base/base.hcl") || regexp.MustCompile(h.Exclude).MatchString("jobs/job.hcl") {
		t.Errorf("%+v formats what was fetched", h)
	}
	for _, h := range hooks {
		if err := run(h.ID); err != nil {
			t.Errorf("%s fails: %v", h.ID, err)
		}
		// What else a build reads has other names.
		for _, file := range []string{"jobs/x.auto.ndcvars", "sites/alps.ndccal.json", "sites/templates/header", "sites/header.tmpl"} {
			read := h.ID == "ndc-check" || h.ID == "ndc-test" || h.ID == "ndc-fmt" && strings.HasSuffix(file, "vars")
			if regexp.MustCompile(h.Files).MatchString(file) != read {
				t.Errorf("%s for %s: want %t", h.ID, file, read)
			}
		}
	}
	c.sh(t, nil, `sed -i 's/learning_rate     = 1e-3/learning_rate     = 2e-3/' job.hcl`)
	if run("ndc-check") == nil {
		t.Error("stale outputs pass")
	}
	c.sh(t, nil, `sed -i 's/^torchrun/#SBATCH --gres=gpu:4\ntorchrun/' run.sbatch`)
	if run("ndc-lint") == nil {
		t.Error("more processes than GPUs pass")
	}
}

// TestActionModules: a change that takes another version of a module is compared
// with what the base has, although what was fetched is not committed.
func TestActionModules(t *testing.T) {
	c := newChange(t)
	example, err := os.ReadFile("../../examples/tiny/job.hcl")
	if err != nil {
		t.Fatal(err)
	}
	source := "git::file://" + filepath.Join(filepath.Dir(c.dir), "team")
	c.write(t, "../team/m.hcl", "output \"rate\" {\n  value = 1e-3\n}\n")
	c.sh(t, nil, "cd ../team && git init -q -b main . && git add -A && git commit -q -m one && git tag v1.0.0")
	c.write(t, "../team/m.hcl", "output \"rate\" {\n  value = 2e-3\n}\n")
	c.sh(t, nil, "cd ../team && git commit -q -a -m two && git tag v1.1.0")
	job := func(version string) {
		c.write(t, "jobs/job.hcl", strings.Replace(string(example), "learning_rate     = 1e-3", "learning_rate     = module.team.rate", 1)+
			"\nmodule \"team\" {\n  source  = \""+source+"\"\n  version = \""+version+"\"\n}\n")
		c.sh(t, nil, "ndc init jobs >/dev/null && ndc build jobs >/dev/null && git add -A && git commit -q -m jobs")
	}
	c.write(t, ".gitignore", ".ndc\n")
	job("1.0.0")
	c.sh(t, nil, "git push -q origin main && git checkout -q -b change")
	job("1.1.0")
	c.context["inputs.jobs"], c.context["inputs.fail-on"] = "jobs", "convergence"
	for range 2 { // as for another folder of jobs
		if failed := c.steps(t); len(failed) != 1 || failed[0] != "Decide" {
			t.Errorf("the rate is another one, and %q fail", failed)
		}
	}
	if got := c.read("ndc.md"); !strings.Contains(got, "| `0.001` | `0.002` |") {
		t.Error(got)
	}
	c.sh(t, nil, "git checkout -q -b moved && git mv jobs 'the runs' && rm -r 'the runs/.ndc' && git commit -q -m moved")
	c.context["inputs.jobs"] = "the runs"
	if failed := c.steps(t); len(failed) != 1 || failed[0] != "Decide" || !strings.Contains(c.read("ndc.md"), "| `0.001` | `0.002` |") {
		t.Errorf("the folder has moved, too: %q fail, and the comment is %q", failed, c.read("ndc.md"))
	}
	c.sh(t, nil, "git checkout -q change && ndc init jobs >/dev/null")
	if out, err := c.try(nil, "ndc diff --base main jobs"); err == nil || !strings.Contains(out, "Where main locks another version of it") || !strings.Contains(out, "on main:jobs/job.hcl line") {
		t.Error(out)
	}
}

// TestActionSubmodules: modules that are a submodule are those of the base for the base's
// jobs, and need no outputs that were committed.
func TestActionSubmodules(t *testing.T) {
	c := newChange(t)
	example, err := os.ReadFile("../../examples/tiny/job.hcl")
	if err != nil {
		t.Fatal(err)
	}
	c.write(t, "../team/m.hcl", "output \"rate\" {\n  value = 1e-3\n}\n")
	c.sh(t, nil, "cd ../team && git init -q -b main . && git add -A && git commit -q -m one")
	c.write(t, "jobs/job.hcl", strings.Replace(string(example), "learning_rate     = 1e-3", "learning_rate     = module.team.rate", 1)+
		"\nmodule \"team\" {\n  source = \"../shared\"\n}\n")
	c.sh(t, nil, "git -c protocol.file.allow=always submodule --quiet add ../team shared && git add -A && git commit -q -m jobs && git push -q origin main && git checkout -q -b change")
	c.write(t, "../team/m.hcl", "output \"rate\" {\n  value = 2e-3\n}\n")
	c.sh(t, nil, "(cd ../team && git commit -q -a -m two) && git -C shared pull -q && git commit -q -a -m two")
	// As a runner has it: no more than one commit of either.
	c.sh(t, nil, "git push -q origin change && rm -rf * .git* && git clone -q --depth=1 -b change file://$PWD/../remote.git . && git remote set-url origin ../remote.git && git -c protocol.file.allow=always submodule --quiet update --init --depth=1")
	c.context["inputs.jobs"], c.context["inputs.check"], c.context["inputs.fail-on"] = "jobs", "false", "convergence"
	if failed := strings.Join(c.steps(t), " "); failed != "Check Decide" || strings.Contains(c.said["Compare"], "::warning::") {
		t.Errorf("the rate is another: %q fail, and it is told as %q", failed, c.said["Compare"])
	}
	if got := c.read("ndc.md"); !strings.Contains(got, "| `0.001` | `0.002` |") {
		t.Error(got)
	}
}

// TestActionRaised: a change that mends jobs for another version of ndc, which cannot
// plan what the base has, is compared by the outputs that were committed; without
// such, and where the change itself is at fault, it says what is wrong.
func TestActionRaised(t *testing.T) {
	c := newTinyChange(t)
	c.context["inputs.jobs"], c.context["inputs.fail-on"] = "jobs", "convergence"
	const later = `sed -i 's/seed /sed /' jobs/job.hcl && git commit -q -a -m later`
	c.sh(t, nil, `git checkout -q main && `+later+` && git push -q origin main && git checkout -q -B change && sed -i 's/sed /seed /; s/1e-3/2e-3/' jobs/job.hcl && ndc build jobs >/dev/null && git add -A && git commit -q -m raised`)
	// A submodule that nobody can check out is none of its business.
	c.sh(t, nil, "mkdir nothing && git update-index --add --cacheinfo 160000,1111111111111111111111111111111111111111,nothing && git commit -q -m nothing")
	if failed := strings.Join(c.steps(t), " "); failed != "Decide" || !strings.Contains(c.said["Compare"], "::warning::This ndc cannot plan the jobs of main,") {
		t.Errorf("the base cannot be planned and the rate is another: %q fail, and it is told as %q", failed, c.said["Compare"])
	}
	if got := c.read("ndc.md"); !strings.Contains(got, "| `0.001` | `0.002` |") {
		t.Error(got)
	}
	c.sh(t, nil, later)
	if failed := strings.Join(c.steps(t), " "); failed != "Check Compare" || !strings.Contains(c.said["Compare"], "[unknown-argument]") {
		t.Errorf("neither can be planned: %q fail, and it is told as %q", failed, c.said["Compare"])
	}
	c.sh(t, nil, `git checkout -q main && git rm -q -r jobs/out && git commit -q -m bare && git push -q origin main && git checkout -q change && git revert --no-edit HEAD >/dev/null`)
	if failed := strings.Join(c.steps(t), " "); failed != "Compare" || !strings.Contains(c.said["Compare"], "[unknown-argument]") {
		t.Errorf("the base has no outputs: %q fail, and it is told as %q", failed, c.said["Compare"])
	}
}

// TestLongComment: a comparison of many jobs is longer than a code host takes as a
// comment, of which the beginning becomes one.
func TestLongComment(t *testing.T) {
	c := newChange(t)
	for _, s := range c.action.Runs.Steps {
		if s.Name != "Comment" {
			continue
		}
		for report, want := range map[string]string{
			"### short\n": "### short\n",
			strings.Repeat("| größe | 1 |\n", 10000): strings.Repeat("| größe | 1 |\n", 64000/16-1) + "\nThis is the beginning. The summary of the run has all of it.\n",
		} {
			c.write(t, "../runner/ndc.md", report)
			c.sh(t, map[string]string{"PULL_REQUEST": "7", "GH_TOKEN": "secret", "JOBS": "jobs"}, s.Run)
			if got := strings.TrimPrefix(c.read("comment.md"), "<!-- ndc diff of jobs -->\n"); got != want {
				t.Errorf("the comment has %d bytes of %d and ends with %q", len(got), len(want), got[max(0, len(got)-80):])
			}
		}
	}
}
