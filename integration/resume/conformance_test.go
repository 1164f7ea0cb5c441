//go:build conformance

package resume

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/integration/environment"
	"github.com/ndc-dev/ndc/integration/summary"
	"github.com/ndc-dev/ndc/review"
)

// TestResume goes on from checkpoints in other layouts. What it sees must be
// what is recorded; with NDC_RECORD naming a file, results are appended to that
// instead. NDC_CONFORMANCE_CHEAP leaves one pair of a release, NDC_RESUME
// chooses pairs by a regular expression over "FROM to TO".
func TestResume(t *testing.T) {
	results := Recorded()
	known := map[string]Result{}
	for _, r := range results {
		known[r.Name()] = r
	}
	program := filepath.Join(t.TempDir(), "ndc")
	if err := command("go", "build", "-o", program, "../../cmd/ndc"); err != nil {
		t.Fatal(err)
	}
	for _, f := range Frameworks {
		for _, version := range f.Versions {
			t.Run(f.Name+"/"+version, func(t *testing.T) {
				line := summary.Line{Framework: f.Name, Version: version, What: "checkpoints in other layouts"}
				line.AddAfter(t)
				s := &stage{framework: f, version: version, program: program, scratch: t.TempDir()}
				var err error
				if s.python, err = python(t, f.Name, version); err != nil {
					line.Skipped = err.Error()
					t.Skip("skipped: ", err)
				}
				for _, r := range s.results(t, s.chosen(known)) {
					t.Run(r.From+" to "+r.To, func(t *testing.T) {
						line.Count(t)
						judge(t, r, known)
					})
				}
			})
		}
	}
}

// chosen are the pairs that are asked: those that are recorded, or where results
// are to be recorded, all.
func (s *stage) chosen(known map[string]Result) [][2]string {
	f := s.framework
	pairs := f.Pairs
	if os.Getenv("NDC_CONFORMANCE_CHEAP") != "" {
		pairs = f.Cheap
	}
	some := regexp.MustCompile(os.Getenv("NDC_RESUME"))
	return slices.DeleteFunc(slices.Clone(pairs), func(p [2]string) bool {
		_, ok := known[Result{Framework: f.Name, Version: s.version, From: p[0], To: p[1]}.Name()]
		return !ok && os.Getenv("NDC_RECORD") == "" || !some.MatchString(p[0]+" to "+p[1])
	})
}

func python(t *testing.T, framework, version string) (string, error) {
	t.Helper()
	switch framework {
	case "megatron":
		return environment.Megatron(strings.TrimPrefix(version, "core_v")).Python()
	case "torchtitan":
		return environment.TorchTitan(version).Python()
	}
	python, err := environment.DeepSpeed(version).Python()
	if err == nil {
		var variables []string
		variables, err = environment.Kernels(python, t.TempDir())
		environment.Set(t, variables)
	}
	return python, err
}

// judge compares a result with the recorded one, or records it.
func judge(t *testing.T, r Result, known map[string]Result) {
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", text)
	if r.Answer == Wrong {
		t.Errorf("goes on with other numbers: %s", text)
	}
	if path := os.Getenv("NDC_RECORD"); path != "" {
		out, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err == nil {
			_, err = fmt.Fprintf(out, "%s\n", text)
			err = cmp.Or(err, out.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	want, ok := known[r.Name()]
	if !ok || want.Answer != r.Answer || want.Weights != r.Weights || want.Optimizer != r.Optimizer {
		t.Errorf("recorded is %+v", want)
	}
}

// results trains the layouts that pairs go on from, and then the pairs.
func (s *stage) results(t *testing.T, pairs [][2]string) []Result {
	t.Helper()
	must(t, command(s.python, "../torchtitan/make_data.py", filepath.Join(s.scratch, "data"), "512"))
	first := map[string]launch{}
	for _, p := range pairs {
		if _, ok := first[p[0]]; ok {
			continue
		}
		l, err := s.build(p[0], p[0])
		if err != nil {
			t.Errorf("%s is left out: %v", p[0], err)
			continue
		}
		first[p[0]] = l
	}
	whole, err := s.train(slices.Collect(maps.Values(first)))
	must(t, err)
	var results []Result
	var later []launch
	for _, p := range pairs {
		from, ok := first[p[0]]
		if !ok {
			continue
		}
		if w := whole[p[0]]; w.Error != "" || len(w.Steps) == 0 {
			t.Errorf("%s is left out: %s", p[0], w.Error)
			continue
		}
		r, to, err := s.pair(p, from)
		if err != nil {
			t.Errorf("%v is left out: %v", p, err)
			continue
		}
		results, later = append(results, r), append(later, to)
	}
	rest, err := s.train(later)
	must(t, err)
	s.again(t, results, later, first, rest)
	had, loaded := map[string]string{}, map[string]string{}
	name, _ := s.names()
	for i, l := range later {
		r, got := &results[i], rest[l.id]
		if r.Answer == review.NotResumable {
			continue
		}
		if got.Error != "" || len(got.Steps) == 0 {
			r.Answer, r.Error = review.NotResumable, reason(got.Error)
			continue
		}
		t.Logf("%s: %v, %v", r.Name(), whole[r.From].Steps, got.Steps)
		r.Losses = difference(whole[r.From].Steps, got.Steps)
		had[l.id], loaded[l.id] = filepath.Join(first[r.From].checkpoints, name), filepath.Join(l.resaved, name)
		if s.framework.Name == "torchtitan" {
			loaded[l.id] = l.resaved
		}
	}
	compared, err := s.compare(had, loaded)
	must(t, err)
	for i, l := range later {
		if c, ok := compared[l.id]; ok {
			results[i].settle(t, c)
		}
	}
	return results
}

// again lets DeepSpeed's tool convert what its engine did not load, and starts
// those launches once more.
func (s *stage) again(t *testing.T, results []Result, later []launch, first map[string]launch, rest map[string]trained) {
	t.Helper()
	if s.framework.Name != "deepspeed" {
		return
	}
	from, index := map[string]launch{}, map[string]int{}
	var to []launch
	for i, l := range later {
		if got := rest[l.id]; got.Error != "" || len(got.Steps) == 0 {
			results[i].Answer, results[i].Error = review.Converts, reason(got.Error)
			from[l.id], index[l.id] = first[results[i].From], i
			to = append(to, l)
		}
	}
	failed, err := s.convert(from, to)
	must(t, err)
	converted := slices.DeleteFunc(slices.Clone(to), func(l launch) bool { _, bad := failed[l.id]; return bad })
	for id, c := range failed {
		results[index[id]].Answer = review.NotResumable
		results[index[id]].Error += "; converted: " + reason(c.Error)
	}
	now, err := s.train(converted)
	must(t, err)
	for _, l := range converted {
		if rest[l.id] = now[l.id]; now[l.id].Error != "" || len(now[l.id].Steps) == 0 {
			results[index[l.id]].Answer = review.NotResumable
			results[index[l.id]].Error += "; converted: " + reason(now[l.id].Error)
		}
	}
}

// pair builds the launch that goes on, and gives it the checkpoint.
func (s *stage) pair(p [2]string, from launch) (Result, launch, error) {
	to, err := s.build(p[0]+"-"+p[1], p[1])
	if err != nil {
		return Result{}, to, err
	}
	to.resaved = filepath.Join(s.scratch, "resaved", to.id)
	old, err := from.plan()
	if err != nil {
		return Result{}, to, err
	}
	next, err := to.plan()
	if err != nil {
		return Result{}, to, err
	}
	return Result{Framework: s.framework.Name, Version: s.version, Model: cmp.Or(to.layout.Model, "dense"), Precision: next.Input.Precision,
		From: p[0], To: p[1], Old: old.Layout, New: next.Layout}, to, s.hand(from, to)
}

// enough is how far apart losses of the same step may be when the layout
// changes: sums of other orders, which ten steps enlarge.
var enough = map[string]float64{"fp32": 2e-3, "bf16": 2e-2}

// settle says what a comparison means.
func (r *Result) settle(t *testing.T, c Compared) {
	if c.Error != "" {
		t.Errorf("%s: %s", r.Name(), c.Error)
	}
	r.Weights, r.Optimizer, r.Rest = c.Weights, c.Optimizer, c.Rest
	switch {
	case r.Answer == review.Converts && !(r.Losses <= enough[r.Precision]):
		r.Answer = review.NotResumable
		r.Error += fmt.Sprintf("; converted: goes on, with losses that differ by %.2g", r.Losses)
	case !c.Weights || !c.Optimizer || !c.Rest["data"] || !(r.Losses <= enough[r.Precision]):
		r.Answer = Wrong
		t.Logf("%s: losses differ by %g; %v", r.Name(), r.Losses, c.Differences)
	case r.Answer == review.Converts:
	case c.Sharding && alike(r.Old, r.New):
		r.Answer = review.Keeps
	default:
		r.Answer = review.Reshards
	}
}

// alike reports whether every rank holds the same part in both layouts.
func alike(old, next file.Layout) bool {
	ranks := func(l file.Layout) [8]int {
		return [...]int{l.TensorParallel, l.ContextParallel, l.PipelineParallel, l.VirtualPipeline, l.ExpertParallel, l.ExpertTensorParallel, l.DataParallelReplicate, l.DataParallelShard}
	}
	return ranks(old) == ranks(next) && slices.Equal(old.StageLayers, next.StageLayers)
}

// difference is the largest of losses of the same step; infinite where the ten
// steps after the checkpoint are not there.
func difference(whole, rest []step) float64 {
	loss := map[int]float64{}
	for _, s := range whole {
		loss[s.Step] = s.Loss
	}
	if len(rest) != 10 || rest[0].Step != saved+1 {
		return math.MaxFloat64
	}
	var largest float64
	for _, s := range rest {
		largest = max(largest, math.Abs(s.Loss-loss[s.Step]))
	}
	return largest
}

var (
	failure = regexp.MustCompile(`^\s*[\w.]*(Error|Exception|Exit|Mismatch)\b.*|^ndc.*`)
	folders = regexp.MustCompile(`(/[\w.+-]+){3,}/`)
)

// reason is the line of a log that names the failure, without folders.
func reason(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	line := lines[len(lines)-1]
	for _, l := range slices.Backward(lines) {
		if failure.MatchString(l) {
			line = l
			break
		}
	}
	line = folders.ReplaceAllString(strings.TrimSpace(line), "")
	return line[:min(len(line), 300)]
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
