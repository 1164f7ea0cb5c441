package lock

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
	_ "github.com/ndc-dev/ndc/tools/seldom"
)

// TestRoundTrip: what is written is what was meant, in the canonical format,
// whatever the values.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &File{}
		for range rapid.IntRange(0, 4).Draw(t, "plans") {
			f.Put(drawPlan(t))
		}
		text := f.Bytes()
		read, diags := Parse(text, Name)
		if len(diags) > 0 {
			t.Fatalf("%v\n%s", diags, text)
		}
		if diff := cmp.Diff(f, read); diff != "" {
			t.Fatal(diff)
		}
		if formatted, _ := lang.Format(text, Name); string(formatted) != string(text) {
			t.Fatalf("not in the canonical format:\n%s", cmp.Diff(string(text), string(formatted)))
		}
	})
}

func drawPlan(t *rapid.T) Plan {
	p := Plan{
		Job: rapid.StringMatching(`[a-z][a-z0-9.-]{0,8}`).Draw(t, "job"), Backend: rapid.SampledFrom([]string{"megatron", "torchtitan"}).Draw(t, "backend"),
		Site: rapid.SampledFrom([]string{"", "alps"}).Draw(t, "site"), SinceVersion: rapid.StringMatching(`[0-9a-z.+-]{1,8}`).Draw(t, "version"), Inputs: rapid.StringMatching(`[0-9a-f]{8}`).Draw(t, "inputs"),
	}
	for i := range option.Axes {
		draw(t, &option.Axes[i].Row, option.Axes[i].Value(&p.Choice.Layout))
	}
	for i := range option.Options {
		draw(t, &option.Options[i].Row, option.Options[i].Value(&p.Choice.Execution))
	}
	return p
}

func draw(t *rapid.T, r *option.Row, pointer any) {
	switch p := pointer.(type) {
	case *int:
		most := 1 << 20
		if r.Max > 0 {
			most = r.Max
		}
		*p = rapid.IntRange(r.Min, most).Draw(t, r.Name)
	case *bool:
		*p = rapid.Bool().Draw(t, r.Name)
	case *string:
		words := slices.Clone(r.Values)
		if r.Idle {
			words = append(words, "")
		}
		if len(r.Parts) > 0 {
			words = append(words, option.Join(r.Parts, r.Parts[1:3]))
		}
		*p = rapid.SampledFrom(words).Draw(t, r.Name)
	case *[]int:
		*p = rapid.SliceOfN(rapid.IntRange(0, 100), 0, 9).Draw(t, r.Name)
	case *plan.Modules:
		*p = plan.ModulesOf(rapid.SliceOfN(rapid.SampledFrom(plan.ModuleNames()), 0, 3).Draw(t, r.Name))
	case *plan.Schedule:
		*p = rapid.SampledFrom([]plan.Schedule{plan.ScheduleNone, plan.Schedule1F1B, plan.ScheduleZBV}).Draw(t, r.Name)
	case *plan.Recompute:
		*p = rapid.SampledFrom([]plan.Recompute{plan.RecomputeNone, plan.RecomputeFull}).Draw(t, r.Name)
	default:
		t.Fatalf("%s is a %s", r.Name, reflect.TypeOf(pointer))
	}
}

const entry = `
plan "a" "megatron" {
  since_version = "0.1.0"
  inputs        = "00"

  layout {
    tensor_parallel = 8
  }
}
`

// TestParse: what an earlier version did not know is open, what a later one
// added is left out, and what none can have written is an error.
func TestParse(t *testing.T) {
	f, diags := Parse([]byte(strings.Replace(entry, "  layout {", "  weather = \"fine\"\n  layout {\n    folding = 3", 1)), Name)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	p := f.Find("a", "megatron", "")
	if p == nil || p.Choice.Layout.TensorParallel != 8 || len(p.Choice.Open) != len(option.Axes)+len(option.Options)-1 {
		t.Errorf("%+v", p)
	}
	for _, text := range []string{
		`plan "a" {}`,
		`plan "a" "b" "c" "d" {}`,
		strings.Replace(entry, "= 8", "= 4 + 4", 1),
		strings.Replace(entry, "= 8", `= "eight"`, 1),
		strings.Replace(entry, "= 8", "= [for x in [1] : x]", 1),
		strings.Replace(entry, "= 8", "= null", 1),
		strings.Replace(entry, "= 8", "= 1.5", 1),
		strings.Replace(entry, "tensor_parallel = 8", `pipeline_schedule = "roundabout"`, 1),
		strings.Replace(entry, "tensor_parallel = 8", `recompute_modules = ["roof"]`, 1),
		strings.Replace(entry, "tensor_parallel = 8", "", 1),
		strings.Replace(entry, "tensor_parallel = 8", "tensor_parallel = 8\n    context_paralel = 2", 1),
		strings.Replace(entry, `  inputs        = "00"`, "", 1),
		strings.Replace(entry, `"0.1.0"`, `"${a}"`, 1),
		entry + entry,
		entry + `foo "x" {}`,
		entry + "weather = 3",
		strings.Replace(entry, "  layout {", "  forecast {}\n  layout {", 1),
		strings.Replace(entry, "  layout {", "  layout {\n    tensor_parallel = 4\n  }\n  layout {", 1),
		"module \"m\" {\n  source = \"x\"\n  hash = \"h1:x\"\n  forecast {}\n}",
		"plan {",
		"\xff",
	} {
		if _, diags := Parse([]byte(text), Name); !diags.HasErrors() || diags[0].Range.Filename != Name {
			t.Errorf("%q is read: %v", text, diags)
		}
	}
}

// TestValues: a word or number that no plan has for its axis or option is an
// error at its place, with the word that was meant.
func TestValues(t *testing.T) {
	whole := func() string {
		f := &File{}
		p := leastPlan("a")
		f.Put(p)
		return string(f.Bytes())
	}()
	if _, diags := Parse([]byte(whole), Name); len(diags) > 0 {
		t.Fatal(diags)
	}
	for name, c := range map[string]struct{ value, want string }{
		"tensor_parallel":       {`0`, "0 is no value of tensor_parallel."},
		"zero_stage":            {`4`, "4 is no value of zero_stage."},
		"stage_layers":          {`[1, -1]`, "This is no value of stage_layers."},
		"pipeline_schedule":     {`"dualpipe"`, `"dualpipe" is no value of pipeline_schedule. Did you mean "dualpipev"?`},
		"recompute":             {`""`, `"" is no value of recompute.`},
		"recompute_modules":     {`["mpl"]`, `"mpl" is no value of recompute_modules. Did you mean "mlp"?`},
		"recompute_method":      {`"blok"`, `"blok" is no value of recompute_method. Did you mean "block"?`},
		"recompute_layers":      {`-1`, "This is no value of recompute_layers."},
		"attention":             {`"flassh"`, `"flassh" is no value of attention. Did you mean "flash"?`},
		"gradient_dtype":        {`"fp16"`, `"fp16" is no value of gradient_dtype.`},
		"optimizer_state_dtype": {`"foo"`, `"foo" is no value of optimizer_state_dtype.`},
		"cross_entropy":         {`"te"`, `"te" is no value of cross_entropy.`},
		"cuda_graphs":           {`"moe_router+attention"`, `"moe_router+attention" is no value of cuda_graphs.`},
		"moe_dispatcher":        {`"all_to_all"`, `"all_to_all" is no value of moe_dispatcher. Did you mean "alltoall"?`},
		"context_parallel_type": {`"zzz"`, `"zzz" is no value of context_parallel_type.`},
		"shard_buffers":         {`"duoble"`, `"duoble" is no value of shard_buffers. Did you mean "double"?`},
		"sharp":                 {`"zzz"`, `"zzz" is no value of sharp.`},
		"zero_hpz_partition":    {`-1`, "This is no value of zero_hpz_partition."},
	} {
		line := regexp.MustCompile(`(?m)^( +` + name + ` +)= .*$`)
		text := line.ReplaceAllString(whole, "${1}= "+c.value)
		_, diags := Parse([]byte(text), Name)
		if len(diags) != 1 || !strings.HasPrefix(diags[0].Detail, c.want+" ndc writes") {
			t.Errorf("%s = %s: %v", name, c.value, diags)
			continue
		}
		if at := strings.Split(text, "\n")[diags[0].Range.Start.Line-1]; !line.MatchString(at) {
			t.Errorf("%s = %s is reported at %q", name, c.value, at)
		}
	}
}

// TestLeftOpen: the zeros that earlier builds wrote for options which an entry did not
// know say nothing of them.
func TestLeftOpen(t *testing.T) {
	f := &File{}
	p := leastPlan("a")
	p.Choice.Execution.SHARP, p.Choice.Execution.ZeroHPZPartition, p.Choice.Execution.CrossEntropy = "", 0, ""
	f.Put(p)
	got, diags := Parse(f.Bytes(), Name)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	if open := got.Plans[0].Choice.Open; len(open) != 3 {
		t.Errorf("open are %q", open)
	}
}

// leastPlan is an entry of which every axis and option has its least value.
func leastPlan(job string) Plan {
	p := Plan{Job: job, Backend: "megatron", SinceVersion: "0.1.0", Inputs: "00"}
	for i := range option.Axes {
		least(&option.Axes[i].Row, option.Axes[i].Value(&p.Choice.Layout))
	}
	for i := range option.Options {
		least(&option.Options[i].Row, option.Options[i].Value(&p.Choice.Execution))
	}
	return p
}

// least is a value that plans have for a row: the first word or the least number.
func least(r *option.Row, pointer any) {
	switch p := pointer.(type) {
	case *int:
		*p = r.Min
	case *string:
		*p = r.Values[0]
	}
}

// TestInputs: values count, and the catalogue's entries by their names; where
// and how they are written, defaults and what starts the job do not.
func TestInputs(t *testing.T) {
	base := func() *job.Job {
		return &job.Job{
			Model: job.Model{Catalog: "llama3_8b"},
			Sources: job.Sources{
				"training.global_batch_size":    {Origin: job.FromSpec, Value: 8},
				"model.hidden_size":             {Origin: job.FromCatalog, Value: 4096},
				"slurm.account":                 {Origin: job.FromSpec, Value: "llm"},
				"training.optimizer.beta1":      {Origin: job.FromDefault, Value: 0.9},
				"constraints.layout.zero_stage": {Origin: job.FromSpec, Value: []any{1, 3}},
			},
		}
	}
	want := Inputs(base())
	for name, c := range map[string]struct {
		change func(*job.Job)
		same   bool
	}{
		"place": {func(j *job.Job) {
			set(j, "training.global_batch_size", func(s *job.Source) { s.Range = diag.Range{Filename: "b.hcl"} })
		}, true},
		"calibration": {func(j *job.Job) {
			j.Sources["cluster.calibration"] = job.Source{Origin: job.FromSpec, Value: "a.ndccal.json"}
		}, true},
		"launch": {func(j *job.Job) { set(j, "slurm.account", func(s *job.Source) { s.Value = "other" }) }, true},
		"script": {func(j *job.Job) {
			j.Sources["templates.after_launch"] = job.Source{Origin: job.FromSpec, Value: "true"}
		}, true},
		"default": {func(j *job.Job) { set(j, "training.optimizer.beta1", func(s *job.Source) { s.Value = 0.95 }) }, true},
		"content": {func(j *job.Job) { set(j, "model.hidden_size", func(s *job.Source) { s.Value = 1 }) }, true},
		"value":   {func(j *job.Job) { set(j, "training.global_batch_size", func(s *job.Source) { s.Value = 16 }) }, false},
		"list":    {func(j *job.Job) { set(j, "constraints.layout.zero_stage", func(s *job.Source) { s.Value = []any{1} }) }, false},
		"written": {func(j *job.Job) { set(j, "training.optimizer.beta1", func(s *job.Source) { s.Origin = job.FromSpec }) }, false},
		"entry":   {func(j *job.Job) { j.Model.Catalog = "llama3_1_8b" }, false},
		"removed": {func(j *job.Job) { delete(j.Sources, "training.global_batch_size") }, false},
	} {
		j := base()
		c.change(j)
		if got := Inputs(j); (got == want) != c.same {
			t.Errorf("%s: same is %v, want %v", name, got == want, c.same)
		}
	}
}

func set(j *job.Job, path string, change func(*job.Source)) {
	s := j.Sources[path]
	change(&s)
	j.Sources[path] = s
}

// TestPut: an entry that says the same keeps its version, and learns what it did
// not know.
func TestPut(t *testing.T) {
	f, diags := Parse([]byte(entry), Name)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	p := Plan{Job: "a", Backend: "megatron", SinceVersion: "0.2.0", Inputs: "00", Choice: plan.Choice{Layout: plan.Layout{TensorParallel: 8, MicroBatches: 3}}}
	f.Put(p)
	if got := f.Plans[0]; got.SinceVersion != "0.1.0" || got.Choice.Open != nil || got.Choice.Layout.MicroBatches != 3 {
		t.Errorf("%+v", got)
	}
	p.Choice.Layout.TensorParallel = 4
	f.Put(p)
	if got := f.Plans[0]; got.SinceVersion != "0.2.0" || len(f.Plans) != 1 {
		t.Errorf("%+v", got)
	}
	p.Site = "alps"
	f.Put(p)
	f.Put(Plan{Job: "Z", Backend: "megatron"})
	if len(f.Plans) != 3 || f.Plans[0].Job != "Z" || f.Plans[2].Site != "alps" {
		t.Errorf("%+v", f.Plans)
	}
	f.Remove(func(p *Plan) bool { return p.Site == "" })
	if len(f.Plans) != 1 {
		t.Errorf("%+v", f.Plans)
	}
}

// FuzzParse: a lock that is read is written so that it reads the same.
func FuzzParse(f *testing.F) {
	f.Add(entry)
	f.Add(entry + strings.ReplaceAll(entry, `"a"`, `"b" "c"`))
	f.Fuzz(func(t *testing.T, text string) {
		file, diags := Parse([]byte(text), Name)
		if diags.HasErrors() {
			return
		}
		again, diags := Parse(file.Bytes(), Name)
		if diff := cmp.Diff(file, again); diags.HasErrors() || diff != "" {
			t.Errorf("%q is read and written as %q: %v", text, file.Bytes(), diags)
		}
	})
}

// TestManyPlans: a folder of many jobs has a lock larger than any file that people
// write, and it is read as it was written, in a moment.
func TestManyPlans(t *testing.T) {
	f := &File{}
	for i := range 800 {
		p := leastPlan(fmt.Sprintf("sweep-%04d", i))
		p.Choice.Layout.StageLayers = slices.Repeat([]int{2}, 32)
		f.Plans = append(f.Plans, p)
	}
	text := f.Bytes()
	if len(text) < 1<<20 {
		t.Fatalf("%d bytes are no large lock", len(text))
	}
	read, diags := Read(fstest.MapFS{"jobs/" + Name: {Data: text}}, "jobs/"+Name)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	if diff := cmp.Diff(f.Plans[799], read.Plans[799]); diff != "" {
		t.Error(diff)
	}
	if _, diags := Read(fstest.MapFS{Name: {Data: make([]byte, 65<<20)}}, Name); !diags.HasErrors() {
		t.Error("a lock of 65 MiB is read")
	}
}
