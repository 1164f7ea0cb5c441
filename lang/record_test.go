package lang

import (
	"os"
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
)

// TestEveryArgumentIsRecorded: of a file that has every argument of the
// language, every one that can change a job has its value in the record.
func TestEveryArgumentIsRecorded(t *testing.T) {
	src, err := os.ReadFile("testdata/everything.hcl")
	if err != nil {
		t.Fatal(err)
	}
	recorded := map[string]bool{}
	for _, j := range mustLoad(t, measured(string(src)), "job.hcl", Options{}) {
		for path, s := range j.Sources {
			if s.Value != nil {
				recorded[bare(path)] = true
			}
		}
	}
	for _, root := range []struct{ path, kind string }{{"", "job"}, {"model", "model"}, {"cluster", "cluster"}, {"cluster.gpu", "gpu"}} {
		everyRecorded(schema.File.Block(root.kind), root.path, func(path string) {
			if !recorded[path] {
				t.Errorf("%s is not recorded", path)
			}
		})
	}
}

// everyRecorded walks the arguments that a job is made of: those that a backend
// lays over its job stand at the job's paths.
func everyRecorded(b *schema.Block, path string, visit func(path string)) {
	for i := range b.Arguments {
		a := &b.Arguments[i]
		if !a.Informs && !slices.Contains([]string{"base", "without", "for_each", "count", "site"}, a.Name) {
			visit(join(path, a.Name))
		}
	}
	for i := range b.Blocks {
		if c := &b.Blocks[i]; b.Name != "backend" {
			everyRecorded(c, join(path, c.Name), visit)
		}
	}
}

// bare is a path without the labels of repeated blocks.
func bare(path string) string {
	out, depth := []byte{}, 0
	for i := range len(path) {
		switch path[i] {
		case '[':
			depth++
		case ']':
			depth--
		default:
			if depth == 0 {
				out = append(out, path[i])
			}
		}
	}
	return string(out)
}

// TestRecordedWarmup: a warm-up in tokens is recorded alone, not beside the default
// in steps, which does not hold.
func TestRecordedWarmup(t *testing.T) {
	j := mustLoad(t, files("job.hcl", minimal("", "", "steps = 10\nschedule \"cosine\" {\nwarmup_tokens = 8192\n}")), "job.hcl", Options{})[0]
	if steps, tokens := j.Sources["training.schedule.warmup_steps"], j.Sources["training.schedule.warmup_tokens"].Value; steps.Value != nil || tokens != int64(8192) {
		t.Errorf("%v steps beside %v tokens", steps.Value, tokens)
	}
}

// TestRecordedValues: values are those of the job, in their shortest form,
// whoever chose them.
func TestRecordedValues(t *testing.T) {
	j := mustLoad(t, files("job.hcl", minimal("", "", "steps = 10\n checkpoint {\n path = \"/c\"\n interval = \"1800s\"\n }")), "job.hcl", Options{})[0]
	for path, want := range map[string]any{
		"training.steps": int64(10), "training.checkpoint.interval": "30m", "training.seed": int64(1234), "training.schedule": "constant",
		"model.normalization": "rmsnorm", "model.position_embedding": "rope", "cluster.gpu": "h100_sxm", "cluster.nodes": int64(1),
		"constraints.layout.tensor_parallel": nil, "training.tokens": nil, "backend": "megatron",
	} {
		if got := j.Sources[path].Value; got != want {
			t.Errorf("%s: %#v, want %#v", path, got, want)
		}
	}
}

// TestSilence: a time for which a run may report nothing is a duration as any other: one
// value is recorded however it is spelt, and what is none is answered as a duration is.
func TestSilence(t *testing.T) {
	load := func(value string) (*Workspace, diag.List) {
		return Load(files("job.hcl", minimal("", "slurm {\n hang_timeout = "+value+"\n}", "steps = 10")), "job.hcl", Options{})
	}
	for value, want := range map[string]job.Silence{`"20m"`: {Time: 1200}, `"1200s"`: {Time: 1200}, `"00:20:00"`: {Time: 1200}, `"auto"`: {Learned: true}, "null": {}} {
		w, diags := load(value)
		if len(diags) > 0 || w.Jobs[0].Slurm.HangTimeout != want {
			t.Errorf("%s: %v, want %+v", value, diags, want)
			continue
		}
		written := map[job.Silence]any{{Time: 1200}: "20m", {Learned: true}: "auto", {}: nil}[want]
		if got := w.Jobs[0].Sources["slurm.hang_timeout"].Value; got != written {
			t.Errorf("%s is recorded as %v, want %v", value, got, written)
		}
	}
	for value, want := range map[string]diag.ID{`"soon"`: InvalidQuantity, "30": InvalidQuantity, `"20 minutes"`: InvalidQuantity, `"Auto"`: InvalidQuantity,
		`"10; touch pwned"`: InvalidQuantity, `"5s"`: OutOfRange, `"0s"`: OutOfRange, `"31d"`: OutOfRange, `["20m"]`: WrongType} {
		if _, diags := load(value); len(diags) != 1 || diags[0].ID != want {
			t.Errorf("%s: %v, want %s", value, diags, want)
		}
	}
}
