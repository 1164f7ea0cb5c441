package ndc

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/ndc-dev/ndc/compiler/compute"
	"github.com/ndc-dev/ndc/lang"
)

// The job whose numbers docs/memory.md and docs/time.md work out.
const workedCase, workedJob, workedPlan = "testdata/build/worked.txtar", "job.hcl", "megatron/plan.json"

var (
	workedBlock = regexp.MustCompile("(?ms)^```worked ([a-z]+)(?: stage (\\d+))?\n(.*?)^```")
	workedLine  = regexp.MustCompile(`^(\S+)\s+(.*?)\s+= (.+)$`)
)

// TestWorkedExamples computes every line of the documentation's worked
// examples, and compares those that the plan prints with the plan.
func TestWorkedExamples(t *testing.T) {
	lines := 0
	for _, page := range []string{"docs/memory.md", "docs/time.md", "docs/case-studies.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range workedBlock.FindAllStringSubmatch(string(text), -1) {
			printed := printedNumbers(t, block[1], block[2])
			for line := range strings.Lines(block[3]) {
				m := workedLine.FindStringSubmatch(strings.TrimSpace(line))
				if m == nil {
					t.Errorf("%s: no line of a worked example: %s", page, line)
					continue
				}
				lines++
				if err := checkWorked(block[1], m[1], m[2], m[3], printed); err != nil {
					t.Errorf("%s: %s: %v", page, m[1], err)
				}
			}
		}
	}
	if lines < 30 {
		t.Errorf("%d worked lines; were the blocks renamed?", lines)
	}
}

// checkWorked computes one line: an amount of bytes exactly, seconds to the
// digits that are printed, and the passes of a matrix multiplication by its
// shape.
func checkWorked(kind, name, expression, result string, printed map[string]float64) error {
	if kind == "gemm" {
		return checkGEMM(expression, result)
	}
	got, err := evaluate(expression)
	if err != nil {
		return err
	}
	want, err := number(result)
	if err != nil {
		return err
	}
	digits := math.Pow(10, math.Floor(math.Log10(want))-3)
	if kind == "memory" {
		digits = 1
	}
	if math.Abs(got-want) > digits {
		return fmt.Errorf("%s is %v, not %s", expression, got, result)
	}
	if plan, ok := printed[name]; ok && math.Abs(plan-want) > digits {
		return fmt.Errorf("the plan prints %v, not %s", plan, result)
	} else if !ok && printed != nil {
		return fmt.Errorf("the plan has no such line")
	}
	return nil
}

// printedNumbers are those that the plan prints for a stage's memory or the
// step's time; nil where a block works out what no plan prints.
func printedNumbers(t *testing.T, kind, stage string) map[string]float64 {
	t.Helper()
	var p struct {
		Memory struct {
			Stages []struct {
				Allocated float64 `json:"allocated_bytes"`
				Reserved  float64 `json:"reserved_bytes"`
				Device    float64 `json:"device_bytes"`
				Ledger    []struct {
					ID    string
					Bytes float64
				}
			}
		}
		Time struct {
			Breakdown []struct {
				ID      string
				Seconds float64
			}
		}
	}
	if err := json.Unmarshal(worked(workedPlan), &p); err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	switch {
	case kind == "time":
		for _, l := range p.Time.Breakdown {
			out[l.ID] = l.Seconds
		}
	case kind == "memory" && stage != "":
		n, err := strconv.Atoi(stage)
		if err != nil || n >= len(p.Memory.Stages) {
			t.Fatalf("no stage %s", stage)
		}
		s := p.Memory.Stages[n]
		out["allocated"], out["reserved"], out["device"] = s.Allocated, s.Reserved, s.Device
		for _, l := range s.Ledger {
			out[l.ID] = l.Bytes
		}
	default:
		return nil
	}
	return out
}

// worked is a file of the worked case.
func worked(name string) []byte {
	archive, err := txtar.ParseFile(workedCase)
	if err != nil {
		panic(err)
	}
	for _, f := range archive.Files {
		if f.Name == name {
			return f.Data
		}
	}
	panic(workedCase + " has no " + name)
}

// checkGEMM compares microseconds of the three passes of tokens × outputs ×
// inputs with those of the job's GPU.
func checkGEMM(shape, passes string) error {
	var n, want [3]float64
	for i, s := range strings.Split(shape, "×") {
		n[i], _ = number(s)
	}
	for i, s := range strings.Split(passes, "+") {
		want[i], _ = number(s)
	}
	w, diags := lang.Load(fstest.MapFS{"job.hcl": {Data: worked(workedJob)}}, "job.hcl", lang.Options{})
	if len(w.Jobs) == 0 {
		return fmt.Errorf("%v", diags)
	}
	p := compute.NewDevice(&w.Jobs[0].Cluster.GPU).Linear(compute.BF16, int(n[0]), int(n[1]), int(n[2]))
	for i, got := range []float64{float64(p.Forward), float64(p.InputGradient), float64(p.WeightGradient)} {
		if math.Abs(got*1e6-want[i]) > 0.051 {
			return fmt.Errorf("pass %d takes %.1f µs", i+1, got*1e6)
		}
	}
	return nil
}

func number(s string) (float64, error) {
	return strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(s), ",", ""), 64)
}

// evaluate computes sums, differences, products and quotients, written with ·
// and with commas between thousands.
func evaluate(s string) (float64, error) {
	e, err := parser.ParseExpr(strings.NewReplacer("·", "*", ",", "").Replace(s))
	if err != nil {
		return 0, err
	}
	return value(e)
}

func value(e ast.Expr) (float64, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return strconv.ParseFloat(e.Value, 64)
	case *ast.ParenExpr:
		return value(e.X)
	case *ast.BinaryExpr:
		x, err := value(e.X)
		if err != nil {
			return 0, err
		}
		y, err := value(e.Y)
		switch e.Op {
		case token.ADD:
			return x + y, err
		case token.SUB:
			return x - y, err
		case token.MUL:
			return x * y, err
		case token.QUO:
			return x / y, err
		}
	}
	return 0, fmt.Errorf("%T is no arithmetic", e)
}
