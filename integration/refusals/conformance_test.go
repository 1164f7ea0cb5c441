//go:build conformance

package refusals

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/integration/artifacts"
	"github.com/ndc-dev/ndc/integration/environment"
	"github.com/ndc-dev/ndc/integration/summary"
)

const root = "../.."

// TestRefusals asks the frameworks about every case: what they say is what the
// table says that they say.
func TestRefusals(t *testing.T) {
	for _, framework := range []string{"megatron", "torchtitan", "deepspeed"} {
		versions, groups := byVersion(framework)
		for _, version := range versions {
			t.Run(framework+"/"+version, func(t *testing.T) {
				line := summary.Line{Framework: framework, Version: version, What: asked}
				answers, err := answers(t, framework, groups[version])
				if errors.Is(err, artifacts.ErrUnavailable) {
					line.Skipped = err.Error()
				} else if err != nil {
					t.Error(err)
				}
				for _, c := range groups[version] {
					answer, asked := answers[c]
					switch {
					case !asked:
						continue
					case c.Says == "" && c.Why == "":
						t.Logf("not recorded: %s (%s): %q", c.Rule, c.What, answer)
						continue
					case agrees(c, answer):
						line.Accepted++
						continue
					}
					line.Rejected++
					t.Errorf("%s (%s): the framework says %q, the table %q", c.Rule, c.What, answer, c.Says)
				}
				line.AddAfter(t)
				if line.Skipped != "" {
					t.Skip("skipped: ", line.Skipped)
				}
			})
		}
	}
}

func agrees(c *Case, answer string) bool {
	if c.Says == "" {
		return answer == ""
	}
	return strings.Contains(answer, c.Says)
}

// answers are the complaints about the cases of one version, "" for those that
// pass all that can be asked: the arguments and meshes, then the ranks, which
// DeepSpeed trains.
func answers(t *testing.T, framework string, cases []*Case) (map[*Case]string, error) {
	t.Helper()
	said := map[*Case]string{}
	var launches []*artifacts.Launch
	var of []*Case
	for _, c := range cases {
		if c.Unasked {
			continue
		}
		l, _, err := Launch(framework, *c)
		if err != nil {
			return nil, err
		}
		launches, of = append(launches, l), append(of, c)
	}
	for _, depth := range []artifacts.Depth{artifacts.Cheap, artifacts.Deep} {
		if len(launches) == 0 {
			break
		}
		verdicts, err := judge(t, launches, depth)
		if err != nil && len(verdicts) == 0 {
			return nil, err
		}
		var left []*artifacts.Launch
		var leftOf []*Case
		for i, v := range verdicts {
			if v.Skipped { // what is not here is no refusal
				said[of[i]] = ""
				continue
			}
			if said[of[i]] = v.Error; v.Error == "" {
				left, leftOf = append(left, launches[i]), append(leftOf, of[i])
			}
		}
		launches, of = left, leftOf
	}
	return said, nil
}

func judge(t *testing.T, launches []*artifacts.Launch, depth artifacts.Depth) ([]artifacts.Verdict, error) {
	t.Helper()
	if depth == artifacts.Deep && launches[0].Framework == "deepspeed" {
		return train(t, launches)
	}
	return artifacts.Judge(launches, depth, root, t.TempDir())
}

// train runs DeepSpeed's jobs on the CPU.
func train(t *testing.T, launches []*artifacts.Launch) ([]artifacts.Verdict, error) {
	t.Helper()
	python, err := environment.DeepSpeed(launches[0].Version).Python()
	if err != nil {
		return nil, err
	}
	kernels, err := environment.Kernels(python, t.TempDir())
	if err != nil {
		return nil, err
	}
	folder := t.TempDir()
	for i, l := range launches {
		about, _ := json.Marshal(map[string]int{"ranks": l.World()})
		l.Files["case.json"] = about
		if err := l.Write(filepath.Join(folder, fmt.Sprint(i))); err != nil {
			return nil, err
		}
	}
	driver, err := filepath.Abs(filepath.Join(root, "integration", "deepspeed", "run_cases.py"))
	if err != nil {
		return nil, err
	}
	out, err := environment.Ask(len(launches), nil, append(kernels, "NDC_CASE_SECONDS=900"), python, driver, folder)
	list := make([]artifacts.Verdict, len(launches))
	for i, l := range launches {
		list[i] = artifacts.Verdict{Launch: l, Error: "no answer"}
	}
	for line := range strings.Lines(out) {
		var r struct {
			Name, Error string
			Code        int
			Steps       []any
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, err
		}
		var i int
		if _, err := fmt.Sscan(r.Name, &i); err != nil {
			return nil, err
		}
		list[i].Error = ""
		if r.Code != 0 || len(r.Steps) == 0 {
			list[i].Error = fmt.Sprintf("ended with %d: %s", r.Code, errorsOf(filepath.Join(folder, r.Name, "log.txt")))
		}
	}
	return list, err
}

// errorsOf are the lines of a log that name an error, whichever rank met it, or
// the end of a log without any.
func errorsOf(log string) string {
	content, err := os.ReadFile(log)
	if err != nil {
		return err.Error()
	}
	var list []string
	for line := range strings.Lines(string(content)) {
		if strings.Contains(line, "Error: ") && !slices.Contains(list, line) {
			list = append(list, line)
		}
	}
	if len(list) == 0 {
		return string(content[max(0, len(content)-500):])
	}
	return strings.Join(list, "")
}
