package intake

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	emittedOption = regexp.MustCompile(`(?m)^ +(--.*)$`)
	oneValue      = regexp.MustCompile(`^(--\S+) ([^-\s'"#]\S*|'[^']*')( #.*)?$`)
	extraArgs     = regexp.MustCompile(`(?m)^ *extra_args = \[(.*)\]$`)
)

// TestOrder: options in another order, and values behind = instead of a blank, are the same
// launch.
func TestOrder(t *testing.T) {
	found, err := filepath.Glob("../examples/*/out/*/megatron/launch.sh")
	if err != nil || len(found) < 8 {
		t.Fatal(found, err)
	}
	read := func(options []string) string {
		script := "A=(\n" + strings.Join(options, "\n") + "\n)\ntorchrun --nproc-per-node 8 pretrain_gpt.py \"${A[@]}\"\n"
		r, diags := Import([]File{{Name: "run.sh", Content: []byte(script)}}, Options{})
		if diags.HasErrors() {
			t.Fatalf("%v\n%s", diags, script)
		}
		// The framework is handed them in the order of the launch.
		return extraArgs.ReplaceAllStringFunc(string(r.Job), func(line string) string {
			words := strings.Split(extraArgs.FindStringSubmatch(line)[1], ", ")
			slices.Sort(words)
			return strings.Join(words, ", ")
		})
	}
	for n, file := range found {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, list, _ := strings.Cut(string(text), "\narguments=(\n")
		list, _, _ = strings.Cut(list, "\n)\n")
		var options []string
		for _, m := range emittedOption.FindAllStringSubmatch(list, -1) {
			options = append(options, m[1])
		}
		want := read(options)
		draws := rand.New(rand.NewPCG(1, uint64(n)))
		for range 3 {
			other := slices.Clone(options)
			draws.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
			for i, o := range other {
				if draws.IntN(2) == 0 {
					other[i] = oneValue.ReplaceAllString(o, "$1=$2")
				}
			}
			if got := read(other); got != want {
				t.Errorf("%s in another order:\n%s\ngives\n%s\nwant\n%s", file, strings.Join(other, "\n"), got, want)
				break
			}
		}
	}
}

// TestUnsaidPrediction: a launch without multi-token prediction does not train an entry of the
// catalogue that has it.
func TestUnsaidPrediction(t *testing.T) {
	src, err := os.ReadFile("../examples/deepseek-v3/out/deepseek-v3/megatron/launch.sh")
	if err != nil {
		t.Fatal(err)
	}
	for unsaid, want := range map[string]string{"": "catalog.model.deepseek_v3", "--mtp-": `architecture = "deepseek_v3"`} {
		var lines []string
		for line := range strings.Lines(string(src)) {
			if unsaid == "" || !strings.Contains(line, unsaid) {
				lines = append(lines, line)
			}
		}
		r, diags := Import([]File{{Name: "launch.sh", Content: []byte(strings.Join(lines, ""))}}, Options{Cluster: "dgx_h100"})
		if job := spaces.ReplaceAllString(string(r.Job), " "); diags.HasErrors() || !strings.Contains(job, want) {
			t.Errorf("without %q: %v, no %s in\n%s", unsaid, diags, want, job)
		}
	}
}
