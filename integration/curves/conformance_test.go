//go:build conformance

package curves

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/integration/artifacts"
	"github.com/ndc-dev/ndc/integration/environment"
	"github.com/ndc-dev/ndc/integration/summary"
)

// Bands that the curves must keep; docs/curves.md says why they are not zero.
const (
	startBand = 0.15 // of the first loss around ln(vocabulary)
	leastFall = 2    // from the first to the last loss
	gapBand   = 0.5  // between two frameworks at the same step
	sameBand  = 1e-3 // the same with equal weights and data: rounding, where a loss that jumps magnifies it
)

// TestCurves trains the spec in the three frameworks. NDC_CURVES names a folder
// whose curves.md gets the table and which gets curves.svg.
func TestCurves(t *testing.T) {
	curves := trainAll(t, Corpus(1, Vocabulary, 200_000))
	for _, c := range curves {
		check(t, c)
	}
	if gap := widest(curves); gap > gapBand {
		t.Errorf("the curves are up to %.3f apart", gap)
	}
	if folder := os.Getenv("NDC_CURVES"); folder != "" && len(curves) == len(Frameworks) {
		document(t, folder, curves)
	}
}

// TestSameStart takes away what must differ, random weights and the order of
// the data: all begin with the same weights, and every sequence of the data is
// the same. What is left is what the spec says, and the curves are one.
func TestSameStart(t *testing.T) {
	python, err := filepath.Abs("python")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SAME_WEIGHTS", "1")
	t.Setenv("TORCHDYNAMO_DISABLE", "1") // the weights are written before Megatron-LM's driver could say so
	t.Setenv("PYTHONPATH", python)
	period := Corpus(1, Vocabulary, Sequence)[0][:Sequence]
	curves := trainAll(t, [][]uint16{slices.Repeat(period, 500)})
	if gap := widest(curves); gap > sameBand {
		t.Errorf("the same weights and data, and losses up to %.6f apart", gap)
	}
}

// trainAll trains the spec on documents in every framework that is here.
func trainAll(t *testing.T, documents [][]uint16) []Curve {
	t.Helper()
	example, err := os.ReadFile("../../examples/tiny/job.hcl")
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "text")
	if err := WriteIndexed(data, documents); err != nil {
		t.Fatal(err)
	}
	spec, err := Spec(example, data)
	if err != nil {
		t.Fatal(err)
	}
	built, diags := artifacts.Build(spec)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var curves []Curve
	for i, f := range Frameworks {
		t.Run(f.Kind, func(t *testing.T) {
			line := &summary.Line{Framework: f.Kind, Version: f.Version, What: "one spec in three frameworks, " + path.Dir(t.Name())}
			line.AddAfter(t)
			line.Count(t)
			python, err := environment.Of(f.Kind, f.Version).Python()
			if err != nil {
				line.Skipped = err.Error()
				t.Skip("skipped: ", err)
			}
			if built[i].Launch == nil {
				t.Fatal(built[i].Refused)
			}
			c := Curve{f, train(t, built[i].Launch, python)}
			if len(c.Losses) != Steps {
				t.Fatalf("%d steps: %v", len(c.Losses), c.Losses)
			}
			t.Log(c.Losses)
			curves = append(curves, c)
		})
	}
	if len(curves) > 0 {
		t.Log("\n" + Table(curves))
	}
	return curves
}

// widest is the largest gap of any step.
func widest(curves []Curve) (gap float64) {
	for step := range Steps {
		if len(curves) > 1 {
			low, high := bounds(curves, step)
			gap = max(gap, high-low)
		}
	}
	return gap
}

func check(t *testing.T, c Curve) {
	t.Helper()
	if first := c.Losses[0]; math.Abs(first-math.Log(Vocabulary)) > startBand {
		t.Errorf("starts at %.3f, ln(%d) is %.3f", first, Vocabulary, math.Log(Vocabulary))
	}
	// The rate of the first update is zero: the second loss is that of the same weights.
	if d := math.Abs(c.Losses[1] - c.Losses[0]); d > startBand {
		t.Errorf("an update with a rate of zero moves the loss by %.3f", d)
	}
	if fall := c.Losses[0] - c.Losses[Steps-1]; fall < leastFall {
		t.Errorf("falls by %.3f only", fall)
	}
}

// train runs the emitted launch.sh with a torchrun that records, and hands
// what it was given to the framework's driver for machines without a GPU.
func train(t *testing.T, l *artifacts.Launch, python string) []float64 {
	t.Helper()
	folder := t.TempDir()
	if err := l.Write(folder); err != nil {
		t.Fatal(err)
	}
	words := record(t, folder)
	drivers, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1", "NDC_LOG_DIR=" + folder, "DS_ACCELERATOR=cpu", "HF_HUB_OFFLINE=1"}
	switch l.Framework {
	case "megatron":
		wheel := filepath.Join(drivers, "megatron", "wheel")
		input, _ := json.Marshal(map[string]any{"id": "tiny", "world": 1, "arguments": words, "environment": map[string]string{}, "folder": folder})
		out := run(t, python, env, input, filepath.Join(drivers, "megatron", "train.py"), "--checkout", wheel)
		return megatronLosses(t, out)
	case "torchtitan":
		env = append(env, "PYTHONPATH="+folder+":"+filepath.Join(drivers, "torchtitan")+":"+os.Getenv("PYTHONPATH"))
		command := append([]string{"-m", "torch.distributed.run", "--nproc-per-node=1", "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0",
			filepath.Join(drivers, "torchtitan", "train.py")}, words...)
		return losses(run(t, python, env, nil, command...), `step: +(\d+) +loss: +(\S+)`)
	default:
		kernels, err := environment.Kernels(python, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, kernels...)
		command := []string{"-m", "torch.distributed.run", "--nproc-per-node=1", "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", filepath.Join(folder, "train.py")}
		return losses(run(t, python, env, nil, command...), `(?m)^step (\d+)/\d+ loss (\S+)`)
	}
}

// record is what launch.sh gives to the program that torchrun starts.
func record(t *testing.T, folder string) []string {
	t.Helper()
	bin := t.TempDir()
	recorder := []byte("#!/bin/bash\nprintf '%s\\0' \"$@\" >\"$RECORD\"\n")
	if err := os.WriteFile(filepath.Join(bin, "torchrun"), recorder, 0o755); err != nil {
		t.Fatal(err)
	}
	arguments := filepath.Join(bin, "arguments")
	cmd := exec.Command("bash", filepath.Join(folder, "launch.sh"))
	wheel, _ := filepath.Abs("../megatron/wheel")
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + folder, "NDC_GPUS_PER_NODE=1", "RECORD=" + arguments, "MEGATRON_PATH=" + wheel}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("launch.sh: %v\n%s", err, out)
	}
	content, err := os.ReadFile(arguments)
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Split(strings.TrimSuffix(string(content), "\x00"), "\x00")
	for i, w := range words {
		if w == "-m" {
			return words[i+2:]
		}
		if strings.HasSuffix(w, ".py") {
			return words[i+1:]
		}
	}
	t.Fatalf("no program in %q", words)
	return nil
}

func run(t *testing.T, program string, env []string, input []byte, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Stdin = append(os.Environ(), env...), bytes.NewReader(input)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s\n%s", args, err, environment.Tail(out.String(), 10), environment.Tail(complaints.String(), 60))
	}
	return append(out.Bytes(), complaints.Bytes()...)
}

// losses reads (step, loss) pairs from a log.
func losses(log []byte, line string) []float64 {
	var list []float64
	for _, m := range regexp.MustCompile(line).FindAllSubmatch(log, -1) {
		step, _ := strconv.Atoi(string(m[1]))
		loss, err := strconv.ParseFloat(string(m[2]), 64)
		if err == nil && step == len(list)+1 {
			list = append(list, loss)
		}
	}
	return list
}

func megatronLosses(t *testing.T, out []byte) []float64 {
	t.Helper()
	var answer struct {
		Steps []struct{ Loss float64 }
		Error string
	}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if json.Unmarshal(lines.Bytes(), &answer) == nil && (answer.Steps != nil || answer.Error != "") {
			break
		}
	}
	if answer.Error != "" {
		t.Fatal(answer.Error)
	}
	var list []float64
	for _, s := range answer.Steps {
		list = append(list, s.Loss)
	}
	return list
}

const begin, end = "<!-- table: NDC_CURVES=docs go test -tags conformance ./integration/curves -->\n", "<!-- end of table -->"

// document puts the table between its marks.
func document(t *testing.T, folder string, curves []Curve) {
	t.Helper()
	path := filepath.Join(folder, "curves.md")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(content), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no marks", path)
	}
	for name, text := range map[string]string{path: before + begin + Table(curves) + end + after, filepath.Join(folder, "curves.svg"): string(Picture(curves, math.Log(Vocabulary)))} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
