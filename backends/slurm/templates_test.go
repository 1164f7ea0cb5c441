package slurm

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/lang/job"
)

// templated is the example with templates of its site.
func templated(parts map[string]string) *job.Templates {
	t := &job.Templates{Values: map[string]any{
		"job":  map[string]any{"name": "llama3-70b", "account": "llm", "note": "two words; $(touch pwned)"},
		"site": map[string]any{"name": "alps", "values": map[string]any{"data": "/data"}},
	}}
	for _, part := range []string{job.SBatchHeader, job.BeforeLaunch, job.AfterLaunch} {
		if text, ok := parts[part]; ok {
			t.Parts = append(t.Parts, job.Template{Part: part, Name: part + ".tmpl", File: "site/" + part + ".tmpl", Text: text})
		}
	}
	return t
}

// TestTemplates: the parts stand in the batch script, marked, and change nothing
// else of it.
func TestTemplates(t *testing.T) {
	j, p, l := example()
	before := string(files(t, j, p, l).Files[0].Data)
	j.Templates = templated(map[string]string{
		"sbatch_header": "#SBATCH --licenses=scratch\n#SBATCH --mail-type=END --mail-user=\"of {{.job.name}}\"\n# Tensor parallel: {{.plan.layout.tensor_parallel}}",
		"before_launch": "export DATA={{.site.values.data}}\nreport --note={{.job.note | quote}} --gpus={{.plan.input.gpus}}",
		"after_launch":  "report --status=\"$status\"",
	})
	got := string(files(t, j, p, l).Files[0].Data)
	checkShell(t, "llama3-70b.sbatch", []byte(got))
	for _, want := range []string{
		"# Begin of sbatch_header, from a template of the site (sbatch_header.tmpl).\n#SBATCH --licenses=scratch\n#SBATCH --mail-type=END --mail-user=\"of llama3-70b\"\n# Tensor parallel: 4\n# End of sbatch_header.\n",
		"export DATA=/data\nreport --note='two words; $(touch pwned)' --gpus=0\n# End of before_launch.\ntrap - ERR EXIT\nown_rules\n\nlaunch=(bash",
		"# Begin of after_launch, from a template of the site (after_launch.tmpl).\nreport --status=\"$status\"\n# End of after_launch.\n) || printf",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	rest := map[string]int{}
	for line := range strings.Lines(got) {
		rest[line]++
	}
	for line := range strings.Lines(before) {
		if rest[line]--; rest[line] < 0 {
			t.Errorf("the line %q is gone", line)
		}
	}
	if strings.Index(got, "#SBATCH --licenses") > strings.Index(got, "own_rules()") || strings.Index(got, "chain_end\n") > strings.Index(got, "Begin of after_launch") {
		t.Errorf("parts stand in the wrong order:\n%s", got)
	}
}

// TestSizeOfTemplates: templates see the number of nodes that was planned, where the
// files leave it open.
func TestSizeOfTemplates(t *testing.T) {
	j, p, l := example()
	j.Templates = templated(map[string]string{"sbatch_header": "# On {{.job.nodes}} nodes{{if gt .job.nodes 8}}, which are many{{end}}"})
	listed := []any{8, 16}
	j.Templates.Values["job"].(map[string]any)["nodes"] = listed
	p.Input.Nodes = 16
	if got := string(files(t, j, p, l).Files[0].Data); !strings.Contains(got, "\n# On 16 nodes, which are many\n") {
		t.Errorf("no number of nodes in\n%s", got)
	}
	if len(j.Templates.Values["job"].(map[string]any)["nodes"].([]any)) != len(listed) {
		t.Error("the job is another one")
	}
}

// TestAfterLaunch: what a site does after the launch decides nothing.
func TestAfterLaunch(t *testing.T) {
	j, p, l := example()
	j.Templates = templated(map[string]string{"after_launch": "status=0\nfalse\nexit 9"})
	got := string(files(t, j, p, l).Files[0].Data)
	end := got[strings.Index(got, "# In a shell of its own"):]
	out, err := exec.Command("bash", "-c", "set -euo pipefail\nuser_rules() { set +euo pipefail; }\nstatus=3\n"+end).CombinedOutput()
	var exit *exec.ExitError
	if e, ok := err.(*exec.ExitError); ok {
		exit = e
	}
	if exit == nil || exit.ExitCode() != 3 || !strings.Contains(string(out), "after_launch ended with status 9") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestTemplateDiagnostics: what a template must not say is refused at its line.
func TestTemplateDiagnostics(t *testing.T) {
	for name, c := range map[string]struct {
		part, text, id, want string
		line                 int // 0: the place of the argument
	}{
		"a missing key":         {"before_launch", "a\nreport {{.job.nam}}", "invalid-template", `there is no "nam" in the values; did you mean "name"?`, 2},
		"the environment":       {"before_launch", "report {{env \"HOME\"}}", "invalid-template", `there is no function "env"`, 1},
		"a live variable":       {"before_launch", "x=$(log=1; echo)\nlog=/var/log/site.log", "invalid-template", "sets log, which the script uses for itself", 0},
		"what follows later":    {"before_launch", "report {{.plan.artifacts}}", "invalid-template", `there is no "artifacts"`, 1},
		"half a script":         {"after_launch", "if true; then", "invalid-template", "no complete shell script", 0},
		"a directive too late":  {"before_launch", "#SBATCH --licenses=a", "invalid-template", "sbatch does not read behind commands", 0},
		"a command in front":    {"sbatch_header", "#SBATCH --licenses=a\nmodule purge", "invalid-template", "Commands belong into before_launch", 0},
		"nodes":                 {"sbatch_header", "#SBATCH --nodes=1", "reserved-directive", `"nodes" follows from cluster.nodes`, 0},
		"nodes, abbreviated":    {"sbatch_header", "#SBATCH --nod=1", "reserved-directive", "follows from slurm.nodelist", 0},
		"nodes, short":          {"sbatch_header", "#SBATCH -N1", "reserved-directive", "follows from cluster.nodes", 0},
		"nodes, short and wide": {"sbatch_header", "#SBATCH -N 1", "reserved-directive", "follows from cluster.nodes", 0},
		"nodes, bundled":        {"sbatch_header", "#SBATCH -kN1", "directive-value", "several options at once", 0},
		"nodes, behind another": {"sbatch_header", "#SBATCH --licenses=a --nodes=1", "reserved-directive", "follows from cluster.nodes", 0},
		"nodes, behind quotes":  {"sbatch_header", "#SBATCH --mail-user=\"a b\" --nodes=1", "reserved-directive", "follows from cluster.nodes", 0},
		"nodes, in quotes":      {"sbatch_header", "#SBATCH \"--nodes=1\"", "directive-value", "a quote", 0},
		"nodes, half in quotes": {"sbatch_header", "#SBATCH --no\"des=1\"", "directive-value", "a quote", 0},
		"nodes, behind a value": {"sbatch_header", "#SBATCH --mail-user=\"a\"b\" --nodes=1\"", "directive-value", "a quote", 0},
		"nodes, escaped":        {"sbatch_header", `#SBATCH --no\des=1`, "directive-value", "a backslash", 0},
		"nodes, in a comment":   {"sbatch_header", "#SBATCH --licenses=a # --nodes=1", "reserved-directive", "follows from cluster.nodes", 0},
		"time":                  {"sbatch_header", "#SBATCH --time=1", "reserved-directive", "follows from slurm.time", 0},
		"a value":               {"sbatch_header", "#SBATCH --licenses=a --mail-type=FINISHED", "directive-value", `"mail-type" is "FINISHED"`, 0},
		"of srun":               {"sbatch_header", "#SBATCH --label", "directive-value", "an option of srun", 0},
		"a letter of srun":      {"sbatch_header", "#SBATCH -u", "directive-value", `"-u" is no option of sbatch`, 0},
		"of the job":            {"sbatch_header", "#SBATCH --comment=a", "reserved-directive", "slurm.directives of the job says", 0},
		"a tab":                 {"sbatch_header", "#SBATCH\t--nodes=1", "directive-value", "no space behind #SBATCH", 0},
		"another scheduler":     {"sbatch_header", "#PBS -l nodes=1", "invalid-template", "another scheduler", 0},
		"by a value":            {"sbatch_header", "#SBATCH --licenses={{.job.evil}}", "reserved-directive", "follows from cluster.nodes", 0},
		"a line by a value":     {"sbatch_header", "# {{.job.lines}}", "invalid-template", "cannot stand in an #SBATCH line or a comment", 1},
	} {
		t.Run(name, func(t *testing.T) {
			j, p, l := example()
			j.Templates = templated(map[string]string{c.part: c.text})
			j.Templates.Values["job"].(map[string]any)["evil"] = "a --nodes=1"
			j.Templates.Values["job"].(map[string]any)["lines"] = "a\n#SBATCH --nodes=1"
			_, diags := Files(j, p, l)
			if len(diags) != 1 || string(diags[0].ID) != c.id || !strings.Contains(diags[0].Detail, c.want) || diags[0].Range.Start.Line != c.line {
				t.Errorf("got %v\nwant %s at line %d: %s", diags, c.id, c.line, c.want)
			}
		})
	}
}
