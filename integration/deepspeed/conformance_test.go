//go:build conformance

package deepspeed

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	frameworks "github.com/ndc-dev/ndc/integration/environment"
)

// result is what run_cases.py says about a case.
type result struct {
	Name       string
	Code       int
	Seconds    float64
	Steps      [][4]any // step, loss, gradient norm, learning rate
	Validation [][2]any
	Error      string
}

// TestTrials trains what ndc emits. NDC_CONFORMANCE_CHEAP trains one trial in
// six; NDC_DEEPSPEED_TRIALS selects by a regular expression.
func TestTrials(t *testing.T) {
	each(t, func(t *testing.T, version, python string) {
		root := t.TempDir()
		if keep := os.Getenv("NDC_KEEP"); keep != "" {
			root = filepath.Join(keep, version)
		}
		all := legal(t, version, trials(version))
		if os.Getenv("NDC_CONFORMANCE_CHEAP") != "" {
			all = ninth(all)
		}
		if only := os.Getenv("NDC_DEEPSPEED_TRIALS"); only != "" {
			all = slices.DeleteFunc(all, func(c trial) bool { return !regexp.MustCompile(only).MatchString(c.name) })
		}
		for _, c := range all {
			write(t, root, version, c)
		}
		judge(t, version, all, run(t, python, root))
	})
}

// TestReplicas trains MiCS in the last release that has it, whose stage 3 goes by
// the groups that parameters name: ranks of the second replica must take part.
func TestReplicas(t *testing.T) {
	version := "0.19.6"
	python, root := environment(t, version), t.TempDir()
	all := slices.DeleteFunc(legal(t, version, slices.Concat(denseTrials(), stateTrials())), func(c trial) bool {
		return c.name != "ref" && c.name != "mics-w4"
	})
	for _, c := range all {
		write(t, root, version, c)
	}
	judge(t, version, all, run(t, python, root))
}

// trials are what a release is asked to train: everything that it has.
func trials(version string) []trial {
	all := slices.Concat(denseTrials(), halfTrials(), stateTrials(), expertTrials(), modelTrials(version), tensorTrials())
	switch version {
	case "0.19.8":
		all = append(all, autoEPTrials()...)
		fallthrough
	case "0.18.2":
		all = append(all, overlapTrials()...)
		all = append(all, contextTrials()...)
	}
	return all
}

// ninth is every ninth trial, with those that they are compared with.
func ninth(all []trial) []trial {
	asked := map[string]bool{}
	for i := 0; i < len(all); i += 9 {
		asked[all[i].name], asked[all[i].same] = true, true
	}
	return slices.DeleteFunc(all, func(c trial) bool { return !asked[c.name] })
}

// run starts the driver over all cases of a folder.
func run(t *testing.T, python, root string, names ...string) map[string]result {
	t.Helper()
	driver, err := filepath.Abs("run_cases.py")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, append([]string{driver, root}, names...)...)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), kernels(t, python, frameworks.HostAdam)...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	results := map[string]result{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var r result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v", lines.Bytes(), err)
		}
		results[r.Name] = r
	}
	return results
}

// noHalf is what DeepSpeed says on a processor without fp16.
const noHalf = "Type fp16 is not supported on your device"

// judge compares every trial with the one it must repeat.
func judge(t *testing.T, version string, all []trial, results map[string]result) {
	t.Helper()
	line := row(t, version)
	for _, c := range all {
		r := results[c.name]
		if strings.Contains(r.Error, noHalf) {
			line.Skipped = "fp16: this CPU has no such arithmetic"
			t.Logf("%-24s skipped: %s", c.name, r.Error)
			continue
		}
		if wrong := c.compare(t, r, results[c.same]); wrong != "" {
			line.Rejected++
			t.Errorf("%s: %s", c.name, wrong)
			continue
		}
		line.Accepted++
	}
}

// compare says what is wrong with a result, if anything is.
func (c trial) compare(t *testing.T, r, same result) string {
	t.Helper()
	losses, norms := column(r, 1), column(r, 2)
	if r.Code != 0 || len(r.Steps) != 4 {
		return fmt.Sprintf("exit code %d after %d steps: %s", r.Code, len(r.Steps), r.Error)
	}
	if slices.ContainsFunc(losses, math.IsNaN) {
		return fmt.Sprintf("a loss is no number: %v", losses)
	}
	if c.same == "" {
		t.Logf("%-24s %5.1f s  loss %v norm %v", c.name, r.Seconds, losses, norms)
		return ""
	}
	loss, norm := distance(losses, column(same, 1)), distance(norms, column(same, 2))
	t.Logf("%-24s %5.1f s  largest difference of loss %.1e, of gradient norm %.1e", c.name, r.Seconds, loss, norm)
	if !(loss <= c.tolerance) || !(norm <= 10*c.tolerance) {
		return fmt.Sprintf("differs from %s: loss %v norm %v", c.same, losses, norms)
	}
	return ""
}

// column reads a number of every step; NaN where it is none.
func column(r result, i int) []float64 {
	values := make([]float64, len(r.Steps))
	for n, s := range r.Steps {
		text, _ := s[i].(string)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			v = math.NaN()
		}
		values[n] = v
	}
	return values
}

// distance is the largest difference; steps where either side has no number
// (ZeRO stage 0 in fp32 does not report a norm) do not count.
func distance(a, b []float64) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	d := make([]float64, len(a))
	for i := range a {
		if !math.IsNaN(a[i]) && !math.IsNaN(b[i]) {
			d[i] = math.Abs(a[i] - b[i])
		}
	}
	return slices.Max(d)
}
