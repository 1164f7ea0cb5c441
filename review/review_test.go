package review

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/schema"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/review/record"
	"github.com/ndc-dev/ndc/tools/golden"
)

// build is a job on one backend; more values are laid over the usual ones.
func build(job string, step units.Seconds, more ...record.Value) Build {
	values := map[string]record.Value{}
	for _, v := range append([]record.Value{
		{Path: "layout.micro_batch_size", Value: 1.0, Origin: "plan:search"},
		{Path: "model.layers", Value: 32.0, Origin: "catalog:m"},
		{Path: "slurm.account", Value: "llm", Origin: "spec:job.hcl:9"},
		{Path: "training.checkpoint.path", Value: "/c", Origin: "spec:job.hcl:7"},
		{Path: "training.optimizer.learning_rate", Value: 1e-4, Origin: "spec:job.hcl:3"},
		{Path: "training.seed", Value: 1.0, Origin: "default:"},
	}, more...) {
		values[v.Path] = v
	}
	b := Build{Job: job, Name: path.Base(job), Folder: "jobs", Values: map[string][]record.Value{}, Plans: map[string]*plan.Plan{}}
	for _, path := range slices.Sorted(maps.Keys(values)) { // as a record lists them
		if v := values[path]; v.Value != nil {
			b.Values["megatron"] = append(b.Values["megatron"], v)
		}
	}
	p := &plan.Plan{Backend: "megatron", BackendVersion: "core_v0.18.2", Feasible: true, Layout: plan.Layout{TensorParallel: 1, MicroBatchSize: 1}}
	if v := values["layout.micro_batch_size"].Value; v != nil {
		p.Layout.MicroBatchSize = int(v.(float64))
	}
	p.Time.StepSeconds, p.Memory.Peak.DeviceBytes, p.Run.GPUHours = step, 64*units.GiB, 100
	b.Plans["megatron"] = p
	return b
}

// TestGolden: a report tells the same changes to a terminal, to a comment and to a program.
func TestGolden(t *testing.T) {
	old := build("train", 10)
	new := build("train", 12, record.Value{Path: "training.optimizer.learning_rate", Value: 3e-4, Origin: "spec:job.hcl:4"},
		record.Value{Path: "training.seed", Value: 2.0, Origin: "site:alps"}, record.Value{Path: "slurm.account"},
		record.Value{Path: "layout.micro_batch_size", Value: 2.0, Origin: "plan:search"},
		record.Value{Path: "slurm.partition", Value: "a|b`c", Origin: "spec:site.hcl:2"},
		record.Value{Path: "training.colour", Value: "red", Origin: "default:"})
	new.Plans["torchtitan"], new.Values["torchtitan"] = new.Plans["megatron"], new.Values["megatron"]
	gone := build("gone", 1)
	gone.Values["megatron"] = []record.Value{{Path: "model.layers", Value: 3.0, Origin: "spec:job.hcl:3"}} // nothing like the new ones
	r := Compare([]Build{old, gone}, []Build{new, build("new1", 1), build("new2", 1)})
	sarif, err := json.MarshalIndent(r.SARIF("1.0"), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{"report.txt": r.Text(), "report.md": r.Markdown(), "report.sarif": string(sarif) + "\n", "report.json": string(text) + "\n"} {
		golden.Compare(t, "testdata/"+name, []byte(got))
	}
}

// TestNothingChanged: where a value was written is no change, and neither is
// the order of jobs.
func TestNothingChanged(t *testing.T) {
	a, b := build("a", 1), build("b", 1)
	moved := build("a", 1, record.Value{Path: "training.seed", Value: 1.0, Origin: "spec:other.hcl:1"})
	r := Compare([]Build{a, b}, []Build{b, moved})
	if got := r.Gravest(); got != 0 {
		t.Errorf("%v changed: %s", got, r.Text())
	}
	if want := "a: nothing changed\n\nb: nothing changed\n"; r.Text() != want {
		t.Errorf("%q", r.Text())
	}
}

// TestCauses: where no value changed and a prediction did, the version of ndc or the
// calibration that it follows from is named.
func TestCauses(t *testing.T) {
	measured := func(step units.Seconds, version, sum string) []Build {
		b := build("a", step, record.Value{Path: "cluster.calibration", Value: "c.ndccal.json", Origin: "spec:job.hcl:1"})
		b.Version = version
		b.Plans["megatron"].Input.Files = []plan.InputFile{{Path: "../c.ndccal.json", SHA256: sum}, {Path: "job.hcl", SHA256: version}}
		return []Build{b}
	}
	for _, c := range []struct {
		old, new []Build
		want     string
	}{
		{measured(1, "1", "a"), measured(2, "1", "b"), "[../c.ndccal.json is another]"},
		{measured(1, "1", "a"), measured(2, "2", "a"), "[ndc 1 -> 2]"},
		{measured(1, "1", "a"), measured(2, "2", "b"), "[ndc 1 -> 2 ../c.ndccal.json is another]"},
		{measured(1, "1", "a"), measured(1, "2", "b"), "[]"},
		{measured(1, "1", "a"), measured(2, "1", "a"), "[]"},
	} {
		r := Compare(c.old, c.new)
		if got := fmt.Sprint(r.Jobs[0].Backends[0].Because); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
		if told := strings.Contains(r.Text(), "\n  because      "); told != (c.want != "[]") {
			t.Error(r.Text())
		}
	}
}

// TestGravest: what a review is stopped for.
func TestGravest(t *testing.T) {
	v := func(path string, value any) record.Value {
		return record.Value{Path: path, Value: value, Origin: "spec:job.hcl:1"}
	}
	learned := func(axis string, value any) record.Value {
		changed := v("layout."+axis, value)
		changed.Learned = "the balancing loss is taken over each micro-batch"
		return changed
	}
	for name, c := range map[string]struct {
		old, new []record.Value
		want     schema.Effect
	}{
		"seed":                                   {nil, []record.Value{v("training.seed", 3.0)}, schema.Convergence},
		"account":                                {nil, []record.Value{v("slurm.account", "x")}, schema.Launch},
		"micro-batch of a dense model":           {nil, []record.Value{v("layout.micro_batch_size", 2.0)}, schema.Execution},
		"an axis that changes the model":         {[]record.Value{learned("micro_batch_size", 1.0)}, []record.Value{learned("micro_batch_size", 2.0)}, schema.Convergence},
		"an axis that changed the model before":  {[]record.Value{learned("tensor_parallel", 1.0)}, []record.Value{v("layout.tensor_parallel", 2.0)}, schema.Convergence},
		"an axis that changes the model, as was": {[]record.Value{learned("micro_batch_size", 2.0)}, []record.Value{learned("micro_batch_size", 2.0)}, 0},
		"an unknown argument":                    {nil, []record.Value{v("training.colour", "red")}, schema.Convergence},
		"a value that is gone":                   {nil, []record.Value{{Path: "training.seed"}}, schema.Convergence},
	} {
		if got := Compare([]Build{build("a", 1, c.old...)}, []Build{build("a", 1, c.new...)}).Gravest(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if got := Compare(nil, []Build{build("a", 1)}).Gravest(); got != schema.Launch {
		t.Errorf("a new job: %v", got)
	}
	if r := Compare([]Build{build("a", 1)}, []Build{build("b", 1)}); len(r.Jobs) != 1 || r.Jobs[0].Was != "a" || r.Gravest() != schema.Launch {
		t.Errorf("a renamed job: %+v", r.Jobs)
	} else if text := r.Text(); !strings.HasPrefix(text, "b: was a, nothing else changed\n") {
		t.Errorf("a renamed job: %s", text)
	}
	// Of several, the most alike are one job, whatever their names; what is left is new or gone.
	list := func(seed float64, more ...record.Value) []record.Value {
		return append([]record.Value{v("training.seed", seed), v("model.layers", 32.0), v("training.precision", "bf16"), v("training.steps", 10.0)}, more...)
	}
	faster := v("training.optimizer.learning_rate", 2.0)
	r := Compare([]Build{build("a", 1, list(1)...), build("b", 1, list(2)...), build("f", 1, v("model.layers", 3.0))},
		[]Build{build("c", 1, list(2, faster)...), build("d", 1, list(1)...), build("e", 1, list(3, faster)...)})
	var was []string
	for _, j := range r.Jobs {
		was = append(was, j.Name+" was "+j.Was)
	}
	if got := strings.Join(was, ", "); got != "c was b, d was a, e was , f was " || r.Gravest() != schema.Convergence {
		t.Errorf("renamed jobs: %s, %v", got, r.Gravest())
	}
}

// TestMoved: a job that goes on with its checkpoints from another folder is the same,
// whatever else changed with the move and whichever other job is more alike now.
func TestMoved(t *testing.T) {
	of := func(job, path string, seed float64) Build {
		return build(job, 1, record.Value{Path: "training.checkpoint.path", Value: path}, record.Value{Path: "training.seed", Value: seed})
	}
	grown := of("b/out/large", "/large", 1)
	for i := range 9 {
		grown.Values["megatron"] = append(grown.Values["megatron"], record.Value{Path: fmt.Sprintf("model.w%d", i), Value: 1.0})
	}
	r := Compare([]Build{of("a/out/x", "/x", 1), of("a/out/y", "/y", 2), of("a/out/large", "/large", 1), of("a/out/other", "/o", 9)},
		[]Build{of("b/out/x", "/x", 2), of("b/out/y", "/y", 1), grown, of("b/out/new", "/n", 9)})
	var was []string
	for _, j := range r.Jobs {
		was = append(was, j.Name+" was "+j.Was)
	}
	want := "b/out/large was a/out/large, b/out/new was a/out/other, b/out/x was a/out/x, b/out/y was a/out/y"
	if got := strings.Join(was, ", "); got != want {
		t.Errorf("moved jobs: %s, want %s", got, want)
	}
}

// TestSite: that a job runs at another site is a change, also where both say the same, and
// its checkpoints may lie elsewhere.
func TestSite(t *testing.T) {
	at := func(site string) []Build {
		b := build("x", 1, record.Value{Path: "training.checkpoint.path", Value: "/x"})
		b.Site = site
		return []Build{b}
	}
	for _, c := range []struct{ old, new, want, fate string }{
		{"lab", "alps", `"lab" -> "alps"`, `not proven to load: they lie at the site "lab", and the new run looks at "alps"`},
		{"", "alps", `(none) -> "alps"`, "read as they are"},
		{"lab", "", `"lab" -> (none)`, "read as they are"},
	} {
		r := Compare(at(c.old), at(c.new))
		if text := r.Text(); r.Gravest() != schema.Launch || !strings.Contains(text, "launch  site  "+c.want+"\n") || !strings.Contains(text, "checkpoints  "+c.fate+"\n") {
			t.Errorf("%v\n%s", r.Gravest(), text)
		}
	}
	if r := Compare(at("lab"), at("lab")); r.Gravest() != 0 {
		t.Error(r.Text())
	}
}

// TestSharing: jobs of two folders save into one another's checkpoints where site, backend
// and path are the same, and what an earlier name left in a folder is no second job.
func TestSharing(t *testing.T) {
	at := func(job, site, backend string) Build {
		b := build(job, 1)
		b.Site = site
		b.Values = map[string][]record.Value{backend: b.Values["megatron"]}
		return b
	}
	several := at("c/out/x", "", "megatron")
	several.Block = "x"
	unsaved := build("d/out/x", 1, record.Value{Path: "training.checkpoint.path"})
	list := []Build{at("a/out/x", "", "megatron"), at("a/out/old", "", "megatron"), at("b/out/y", "", "megatron"), at("b/out/z", "alps", "megatron"), at("c/out/z", "", "deepspeed"), several, unsaved}
	if d := cmp.Diff([][3]string{{"a/out/x", "b/out/y", "/c"}}, Sharing(list)); d != "" {
		t.Error(d)
	}
}

// TestInstances: of a block that makes several jobs each saves below its own name, so
// that one of another name does not find what there is, nor does what was the only one.
func TestInstances(t *testing.T) {
	named := func(name, block string) []Build {
		b := build(name, 1)
		b.Block, b.Name = block, name
		return []Build{b}
	}
	for name, c := range map[string]struct {
		old, new []Build
		state    State
		want     Fate
	}{
		"the only one":         {named("a", ""), named("b", ""), Same, Fate{Answer: Keeps}},
		"one of several":       {named("a-x", "a"), named("a-y", "a"), Changed, Fate{Answer: NotResumable, Why: `they lie in "/c/a-x", and the new run looks in "/c/a-y"`}},
		"of another block":     {named("a-x", "a"), named("b-x", "b"), Changed, Fate{Answer: NotResumable, Why: `they lie in "/c/a-x", and the new run looks in "/c/b-x"`}},
		"no longer of several": {named("a-x", "a"), named("a-x", ""), Changed, Fate{Answer: NotResumable, Why: `they lie in "/c/a-x", and the new run looks in "/c"`}},
		"of the same name":     {named("a-x", "a"), named("a-x", "a"), Same, Fate{Answer: Keeps}},
	} {
		b := Compare(c.old, c.new).Jobs[0].Backends[0]
		if b.State != c.state || *b.Checkpoints != c.want {
			t.Errorf("%s: %s, %+v, want %s, %+v", name, b.State, *b.Checkpoints, c.state, c.want)
		}
	}
}

// TestFate: what the job says decides before the table does.
func TestFate(t *testing.T) {
	v := func(path string, value any) record.Value { return record.Value{Path: path, Value: value} }
	for name, c := range map[string]struct {
		change record.Value
		want   Answer
		why    string
	}{
		"nothing":          {v("slurm.account", "x"), Keeps, ""},
		"learning rate":    {v("training.optimizer.learning_rate", 1.0), NotResumable, "training.optimizer.learning_rate is another, and the release refuses checkpoints of another schedule"},
		"warm-up":          {v("training.schedule.warmup_steps", 1.0), NotResumable, "training.schedule.warmup_steps is another"},
		"epsilon":          {v("training.optimizer.epsilon", 1.0), Keeps, "training.optimizer.epsilon stays as the checkpoint has it"},
		"clipping":         {v("training.optimizer.gradient_clipping", 1.0), Keeps, ""},
		"layers":           {v("model.layers", 33.0), NotResumable, "model.layers"},
		"dropout":          {v("model.dropout", 0.1), Keeps, ""},
		"rope":             {v("model.position_embedding.theta", 1e6), Keeps, ""},
		"experts' balance": {v("model.moe.router.aux_coefficient", 0.1), Keeps, ""},
		"a router's bias":  {v("model.moe.router.bias", true), NotResumable, "model.moe.router.bias"},
		"optimizer":        {v("training.optimizer", "muon"), NotResumable, "optimizer"},
		"precision":        {v("training.precision", "fp8"), Unproven, "precision"},
		"path":             {v("training.checkpoint.path", "/d"), NotResumable, `the new run looks in "/d"`},
		"no checkpoints":   {v("training.checkpoint.path", nil), NotResumable, "looks nowhere"},
	} {
		got := Compare([]Build{build("a", 1)}, []Build{build("a", 1, c.change)}).Jobs[0].Backends[0].Checkpoints
		if got == nil || got.Answer != c.want || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
	if got := Compare([]Build{build("a", 1, v("training.checkpoint.path", nil))}, []Build{build("a", 1)}).Jobs[0].Backends[0].Checkpoints; got != nil {
		t.Errorf("nothing was saved, and that is %+v", got)
	}
}

// TestRows: the table names frameworks' axes, options and answers that there
// are, and every row says what proves it.
func TestRows(t *testing.T) {
	for i, r := range Rows() {
		known := map[Answer]bool{Keeps: true, Reshards: true, Converts: true, NotResumable: true}
		if !known[r.Answer] || r.Source == "" || len(r.Versions) == 0 || len(r.Axes) == 0 {
			t.Errorf("row %d: %+v", i+1, r)
		}
		for _, name := range slices.Concat(r.Axes, slices.Collect(maps.Keys(r.Old)), slices.Collect(maps.Keys(r.New))) {
			if _, ok := strings.CutPrefix(name, "execution."); schema.EffectOf("layout."+name) == 0 && !(ok && schema.EffectOf(name) != 0) {
				t.Errorf("row %d: there is no axis %q", i+1, name)
			}
		}
	}
}

// TestArgumentRows: the table of arguments names arguments that there are, and says what
// proves each row.
func TestArgumentRows(t *testing.T) {
	for i, r := range argumentRows() {
		if r.Source == "" || len(r.Arguments) == 0 || r.Refused != (r.Why != "") || r.Refused && r.Note != "" {
			t.Errorf("row %d: %+v", i+1, r)
		}
		for _, name := range r.Arguments {
			if schema.EffectOf(strings.TrimRight(name, ".[")) == 0 {
				t.Errorf("row %d: there is no argument %q", i+1, name)
			}
		}
	}
}

// TestSteps: the number of steps counts, whichever argument it follows from; of several
// changed arguments all that keep the checkpoint's value are named.
func TestSteps(t *testing.T) {
	v := func(path string, value any) record.Value { return record.Value{Path: path, Value: value} }
	longer := build("a", 1, v("training.tokens", 2e12))
	longer.Plans["megatron"].Run.Steps = 10
	if got := Compare([]Build{build("a", 1, v("training.tokens", 1e12))}, []Build{longer}).Jobs[0].Backends[0].Checkpoints; got.Answer != NotResumable || !strings.HasPrefix(got.Why, "training.steps is another") {
		t.Errorf("%+v", got)
	}
	got := Compare([]Build{build("a", 1)}, []Build{build("a", 1, v("training.optimizer.beta1", 0.8), v("training.optimizer.beta2", 0.9))}).Jobs[0].Backends[0].Checkpoints
	if want := "training.optimizer.beta1, training.optimizer.beta2 stay as the checkpoint has it, whatever the job says"; got.Answer != Keeps || got.Why != want {
		t.Errorf("%+v", got)
	}
}

// TestJSONLines: with TorchTitan each data-parallel rank has a place of its own in JSON lines.
func TestJSONLines(t *testing.T) {
	run := func(format string, mock bool, replicate, shard int) Build {
		b := build("a", 1, record.Value{Path: "training.data.format", Value: format}, record.Value{Path: "training.data.mock", Value: mock})
		p := b.Plans["megatron"]
		p.Backend, p.BackendVersion, p.Layout.DataParallelReplicate, p.Layout.DataParallelShard = "torchtitan", "0.3.0", replicate, shard
		return Build{Job: b.Job, Name: b.Name, Folder: b.Folder, Values: map[string][]record.Value{"torchtitan": b.Values["megatron"]}, Plans: map[string]*plan.Plan{"torchtitan": p}}
	}
	old := run("jsonl", false, 1, 4)
	for name, c := range map[string]struct {
		old, new Build
		want     Answer
		why      string
	}{
		"fewer ranks":        {old, run("jsonl", false, 1, 2), NotResumable, "layout.data_parallel_shard is another, and each"},
		"more replicas":      {old, run("jsonl", false, 2, 4), NotResumable, "layout.data_parallel_replicate is another, and each"},
		"as many ranks":      {old, run("jsonl", false, 2, 2), Reshards, "spreads"},
		"another format":     {old, run("megatron", false, 1, 4), NotResumable, "training.data.format is another"},
		"from other formats": {run("tokens", false, 1, 4), old, NotResumable, "training.data.format is another"},
		"token files":        {run("megatron", false, 1, 4), run("megatron", false, 1, 2), Reshards, "so that the data go on"},
		"made-up data":       {run("jsonl", true, 1, 4), run("jsonl", true, 1, 2), Reshards, "spreads"},
	} {
		got := Compare([]Build{c.old}, []Build{c.new}).Jobs[0].Backends[0].Checkpoints
		if got == nil || got.Answer != c.want || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

// TestNotes: what else comes of a change is told beside what is kept, each once.
func TestNotes(t *testing.T) {
	p := &plan.Plan{Backend: "megatron", BackendVersion: "core_v0.19.2"}
	got := TakenBy(p, []string{"training.steps", "training.global_batch_size", "training.optimizer.beta2"})
	if got.Refused != nil || len(got.Kept) != 1 || len(got.Notes) != 2 || !strings.Contains(got.Notes[0], "shuffled anew") || !strings.Contains(got.Notes[1], "counts schedule and data in sequences") {
		t.Errorf("%+v", got)
	}
}

// TestRamp: another batch ramp counts sequences otherwise, as another batch does.
func TestRamp(t *testing.T) {
	paths := []string{"training.batch_ramp.start", "training.batch_ramp.sequences"}
	if got := TakenBy(&plan.Plan{Backend: "megatron", BackendVersion: "core_v0.18.2"}, paths); got.Refused == nil || got.Path != paths[0] {
		t.Errorf("%+v", got)
	}
	if got := TakenBy(&plan.Plan{Backend: "megatron", BackendVersion: "core_v0.19.2"}, paths); got.Refused != nil || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "the run fails there") {
		t.Errorf("%+v", got)
	}
}

// TestOrder: where other data, another seed or another length order the data anew, the
// report says that a run goes on somewhere else in them. TorchTitan reads on in each file of
// JSON lines.
func TestOrder(t *testing.T) {
	run := func(backend, format string, changed ...record.Value) Build {
		b := build("a", 1, append(changed, record.Value{Path: "training.data.format", Value: format}, record.Value{Path: "training.data.mock", Value: false})...)
		p := b.Plans["megatron"]
		p.Backend, p.BackendVersion = backend, map[string]string{"megatron": "core_v0.19.2", "torchtitan": "0.3.0", "deepspeed": "0.19.8"}[backend]
		return Build{Job: b.Job, Name: b.Name, Folder: b.Folder, Values: map[string][]record.Value{backend: b.Values["megatron"]}, Plans: map[string]*plan.Plan{backend: p}}
	}
	for _, path := range []string{"training.seed", `training.data.source["code"].weight`, "training.data.split", "model.sequence_length"} {
		for _, c := range []struct {
			backend, format string
			anew            bool
		}{
			{"megatron", "megatron", true},
			{"deepspeed", "tokens", true},
			{"deepspeed", "jsonl", true},
			{"torchtitan", "megatron", true},
			{"torchtitan", "tokens", true},
			{"torchtitan", "jsonl", false},
		} {
			got := Compare([]Build{run(c.backend, c.format)}, []Build{run(c.backend, c.format, record.Value{Path: path, Value: 2.0})}).Jobs[0].Backends[0].Checkpoints
			if got.Answer != Keeps || strings.Contains(got.Why, "new order of data") != c.anew {
				t.Errorf("%s of %s: %s: %+v", c.backend, c.format, path, got)
			}
		}
	}
}

// TestWordsInMarkdown: a code host shows the words of a job as they are.
func TestWordsInMarkdown(t *testing.T) {
	if got, want := escape("a ~~b~~ &lt; *c* @d"), `a \~\~b\~\~ &amp;lt; \*c\* &#64;d`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestManyValues: a record of as many values as a file may hold is compared in the time of
// a few, maps among them: no value is looked for among all others.
func TestManyValues(t *testing.T) {
	var more []record.Value
	for i := range 100_000 {
		more = append(more, record.Value{Path: fmt.Sprintf("x.y%d", i), Value: map[string]any{"a": float64(i)}, Origin: "spec:a:1"})
	}
	start := time.Now()
	if r := Compare([]Build{build("a", 1)}, []Build{build("a", 1, more...)}); len(r.Jobs[0].Changes) != len(more) {
		t.Errorf("%d changes", len(r.Jobs[0].Changes))
	}
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
}

// FuzzReport: whatever two records say, a report on them is made, and no text of
// theirs reaches a terminal as it is.
func FuzzReport(f *testing.F) {
	text, err := json.Marshal(record.File{FormatVersion: record.FormatVersion, Job: "a", Backends: map[string][]record.Value{"megatron": build("a", 1).Values["megatron"]}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text), strings.Replace(string(text), "0.0001", `{"a": ["\u001b"]}`, 1))
	f.Add(string(text), strings.Replace(string(text), `"/c"`, `"/\u202e\u007f\u0085"`, 1))
	f.Add(string(text), strings.ReplaceAll(string(text), `"/c"`, `["/c"]`))
	f.Fuzz(func(t *testing.T, old, new string) {
		var sides [2][]Build
		for i, text := range []string{old, new} {
			r, err := record.Read([]byte(text))
			if err != nil {
				return
			}
			b := Build{Job: r.Job, Values: map[string][]record.Value{}, Plans: map[string]*plan.Plan{}}
			for backend := range r.Backends {
				b.Values[backend], b.Plans[backend] = r.Of(backend), build("a", 1).Plans["megatron"]
			}
			sides[i] = []Build{b}
		}
		r := Compare(sides[0], sides[1])
		if text := r.Text() + r.Markdown(); strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) && c != '\n' }) {
			t.Errorf("%q has control characters", text)
		}
		if len(r.SARIF("1").Runs) != 1 {
			t.Error("a log has one run")
		}
	})
}

// TestFits: the first row whose axes hold all differences answers.
func TestFits(t *testing.T) {
	old := build("a", 1).Plans["megatron"]
	new := *old
	new.Layout.TensorParallel, new.Layout.ZeroStage = 2, 1
	differ := differing(old, &new)
	if d := cmp.Diff([]string{"tensor_parallel", "zero_stage"}, differ); d != "" {
		t.Fatal(d)
	}
	for name, c := range map[string]struct {
		row  Row
		want bool
	}{
		"all":             {Row{Axes: []string{"tensor_parallel", "zero_stage", "micro_batches"}}, true},
		"too few":         {Row{Axes: []string{"tensor_parallel"}}, false},
		"the new value":   {Row{Axes: differ, New: map[string][]string{"zero_stage": {"1", "2"}}}, true},
		"another value":   {Row{Axes: differ, Old: map[string][]string{"zero_stage": {"1"}}}, false},
		"another version": {Row{Axes: differ, Versions: []string{"core_v0.19.2"}}, false},
	} {
		c.row.Framework = "megatron"
		if c.row.Versions == nil {
			c.row.Versions = []string{"core_v0.18.2"}
		}
		if got := c.row.fits(old, &new, differ); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	graphs := *old
	graphs.Execution.MoEDispatcher, graphs.Execution.CUDAGraphs = "hybridep", "full"
	if got := Resume(old, &graphs); got.Answer != NotResumable || !strings.Contains(got.Why, "blocks of 32") {
		t.Errorf("experts in buffers of fixed size: %+v", got)
	}
	graphs.Execution.CUDAGraphs = "layer"
	if got := Resume(old, &graphs); got.Answer != Keeps {
		t.Errorf("graphs of layers: %+v", got)
	}
	new.BackendVersion = "core_v0.19.2"
	if got := Resume(old, &new); got.Answer != Unproven {
		t.Errorf("another version: %+v", got)
	}
}

// TestSARIFPlaces: code hosts refuse a log with a result that has no place, or
// whose place is no URI from the top of the repository.
func TestSARIFPlaces(t *testing.T) {
	old := build("train", 10, record.Value{Path: "slurm.qos", Value: "high", Origin: "site:../sites/über all.hcl:5"})
	new := build("train", 10, record.Value{Path: "model.layers", Value: 48.0, Origin: "catalog:m"}, record.Value{Path: "training.seed", Value: 2.0, Origin: "module:../modules/a#b.hcl:7"})
	new.Plans["megatron"].Feasible = false
	want := []string{"jobs/job.hcl:3", "modules/a%23b.hcl:7", "sites/%C3%BCber%20all.hcl:5", "jobs/job.hcl:3"}
	var got []string
	for _, r := range Compare([]Build{old}, []Build{new}).SARIF("1.0").Runs[0].Results {
		if len(r.Locations) != 1 {
			t.Fatalf("%s has no place", r.Message.Text)
		}
		at := r.Locations[0].PhysicalLocation
		got = append(got, fmt.Sprintf("%s:%d", at.ArtifactLocation.URI, at.Region.StartLine))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestPolicies: a policy that is met no more, that is gone, or that only warns
// from now on is a change, even where no value and no prediction is another.
func TestPolicies(t *testing.T) {
	with := func(list ...plan.Policy) []Build {
		b := build("train", 10)
		b.Plans["megatron"].Policies = list
		return []Build{b}
	}
	budget, flash := plan.Policy{Name: "budget", OK: true, Severity: "error"}, plan.Policy{Name: "flash", OK: true, Severity: "error"}
	tooMuch := plan.Policy{Name: "budget", Severity: "error", Message: "Too much."}
	mild := plan.Policy{Name: "flash", OK: true, Severity: "warning"}
	strict, weak := budget, budget
	strict.Condition, weak.Condition = "plan.run.gpu_hours <= var.most (var.most is 10)", "plan.run.gpu_hours <= var.most (var.most is 20)"
	for _, c := range []struct {
		name     string
		old, new []Build
		want     []string
	}{
		{"weaker", with(strict), with(weak), []string{"budget met (error) -> met (error), which asked plan.run.gpu_hours <= var.most (var.most is 10) and asks plan.run.gpu_hours <= var.most (var.most is 20)"}},
		{"of a plan that says no condition", with(budget), with(weak), nil},
		{"same", with(budget, flash), with(budget, flash), nil},
		{"broken", with(budget, flash), with(tooMuch, flash), []string{"budget met (error) -> not met (error): Too much."}},
		{"mended", with(tooMuch), with(budget), []string{"budget not met (error) -> met (error)"}},
		{"gone", with(budget, flash), with(flash), []string{"budget met (error) -> (none)"}},
		{"another of the name is gone", with(budget, budget), with(budget), []string{"budget met (error) -> (none)"}},
		{"new", with(budget), with(budget, flash), []string{"flash (none) -> met (error)"}},
		{"milder", with(flash), with(mild), []string{"flash met (error) -> met (warning)"}},
		{"of a new job", nil, with(tooMuch, flash), []string{"budget (none) -> not met (error): Too much."}},
	} {
		r := Compare(c.old, c.new)
		var got []string
		for i := range r.Jobs[0].Backends[0].Policies {
			got = append(got, r.Jobs[0].Backends[0].Policies[i].told())
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
		if changed := r.Gravest() == schema.Launch; changed != (c.want != nil) {
			t.Errorf("%s: the gravest effect is %v", c.name, r.Gravest())
		}
		for _, line := range c.want {
			if !strings.Contains(r.Text(), "  policy       "+line+"\n") {
				t.Errorf("%s: the text does not say it:\n%s", c.name, r.Text())
			}
		}
	}
}

// TestPredictions: what a run costs, with its failures, and how likely it ends out
// of memory are told of where there is any, and a change of one alone is a change.
func TestPredictions(t *testing.T) {
	with := func(change func(p *plan.Plan)) []Build {
		b := build("train", 10)
		change(b.Plans["megatron"])
		return []Build{b}
	}
	plain := with(func(*plan.Plan) {})
	for want, new := range map[string][]Build{
		"cost         (none) -> 5000":    with(func(p *plan.Plan) { p.Run.Cost = 5000 }),
		"expected     (none) -> 3.3 min": with(func(p *plan.Plan) { p.Run.ExpectedSeconds = 200 }),
		"risk         <0.01 % -> 2.5 %":  with(func(p *plan.Plan) { p.Memory.OOM.Any = 0.025 }),
	} {
		r := Compare(plain, new)
		if r.Gravest() != schema.Launch || !strings.Contains(r.Text(), want) {
			t.Errorf("%q is not in\n%s", want, r.Text())
		}
	}
	for _, name := range []string{"cost", "expected", "risk"} {
		if text := Compare(nil, plain).Text(); strings.Contains(text, name) {
			t.Errorf("%s is told of where there is none:\n%s", name, text)
		}
	}
}

// TestShellLines: what lines of the shell set counts as what an environment has.
func TestShellLines(t *testing.T) {
	list := func(lines ...any) any { return lines }
	for _, c := range []struct {
		path     string
		old, new any
		effect   string
		why      string
	}{
		{"slurm.setup", nil, list("module load cuda", "export NVIDIA_TF32_OVERRIDE=0 HF_HOME=/a"), "convergence", "NVIDIA_TF32_OVERRIDE decides "},
		{"slurm.setup", list("export NVIDIA_TF32_OVERRIDE=1"), list("export NVIDIA_TF32_OVERRIDE=0"), "convergence", "NVIDIA_TF32_OVERRIDE decides "},
		{"slurm.setup", list("export NVIDIA_TF32_OVERRIDE=1"), list("export NVIDIA_TF32_OVERRIDE=1", "module load cuda"), "launch", ""},
		{"slurm.setup", list("a"), list("a", "unset NCCL_ALGO"), "execution", "NCCL_ALGO decides "},
		{"templates.before_launch", "ulimit -l unlimited\n", "ulimit -l unlimited\nNCCL_ALGO=Ring; export NCCL_ALGO\n", "execution", "NCCL_ALGO decides "},
		{"templates.before_launch", "export NCCL_ALGO=Ring", nil, "execution", "NCCL_ALGO decides "},
		{"templates.after_launch", nil, "NVIDIA_TF32_OVERRIDE=0", "launch", ""},
	} {
		changes := Compare([]Build{build("train", 10, record.Value{Path: c.path, Value: c.old, Origin: "spec:job.hcl:4"})},
			[]Build{build("train", 10, record.Value{Path: c.path, Value: c.new, Origin: "spec:job.hcl:4"})}).Jobs[0].Changes
		if len(changes) != 1 || changes[0].Effect != c.effect || !strings.HasPrefix(changes[0].Why, c.why) || c.why == "" && changes[0].Why != "" {
			t.Errorf("%s = %v: %+v, want %s, %q", c.path, c.new, changes, c.effect, c.why)
		}
	}
}

// TestInfeasible: a plan that is not feasible any more says why, and nothing of the
// layout that comes nearest as though it would run.
func TestInfeasible(t *testing.T) {
	new := build("train", 12, record.Value{Path: "layout.micro_batch_size", Value: 2.0, Origin: "plan:search"})
	new.Plans["megatron"].Feasible = false
	new.Plans["megatron"].Infeasible = &plan.Infeasible{Reasons: []plan.Reason{{ID: "memory", Summary: "stage 0 needs 91.3 GiB"}}}
	r := Compare([]Build{build("train", 10)}, []Build{new})
	if text := r.Text(); !strings.Contains(text, "\n  infeasible   stage 0 needs 91.3 GiB\n") || strings.Contains(text, "\n  layout ") || len(r.Jobs[0].Changes) > 0 {
		t.Error(text)
	}
	results := r.SARIF("1.0").Runs[0].Results
	if last := results[len(results)-1]; last.Level != "error" || !strings.Contains(last.Message.Text, "any more: stage 0 needs 91.3 GiB") {
		t.Error(last)
	}
}

// TestInfeasibleNumbers: without a feasible plan there is no prediction, but there are the
// GPUs that the job asks for.
func TestInfeasibleNumbers(t *testing.T) {
	of := func(gpus int, feasible bool) []Build {
		b := build("train", 10)
		b.Plans["megatron"].Feasible, b.Plans["megatron"].Input.GPUs = feasible, gpus
		return []Build{b}
	}
	for _, c := range []struct {
		old, new []Build
		want     string
	}{
		{of(64, true), of(8, false), "  feasible     yes -> no\n  step         10.00 s -> (none)\n"},
		{of(64, true), of(8, false), "  GPUs         64 -> 8 (-87.5 %)\n"},
		{of(8, false), of(64, true), "  feasible     no -> yes\n  step         (none) -> 10.00 s\n"},
		{of(8, false), of(16, false), "megatron: changed\n  feasible     no\n  GPUs         8 -> 16 (+100.0 %)\n"},
	} {
		if text := Compare(c.old, c.new).Text(); !strings.Contains(text, c.want) || strings.Contains(text, "not feasible") {
			t.Errorf("%s\nwant\n%s", text, c.want)
		}
	}
}

// TestEnvironment: a variable that decides how a job is computed is no matter of its
// launch, wherever it stands; the gravest of those that differ counts.
func TestEnvironment(t *testing.T) {
	was := map[string]any{"NVTE_FLASH_ATTN": "1", "HF_HOME": "/a", "NCCL_DEBUG": "WARN"}
	for _, c := range []struct {
		path        string
		value       any
		effect, why string
	}{
		{"slurm.environment", map[string]any{"NVTE_FLASH_ATTN": "1", "HF_HOME": "/b", "NCCL_DEBUG": "INFO"}, "launch", ""},
		{"slurm.environment", map[string]any{"NVTE_FLASH_ATTN": "1", "NCCL_DEBUG": "WARN"}, "launch", ""},
		{"slurm.environment", map[string]any{"NVTE_FLASH_ATTN": "0", "HF_HOME": "/b", "NCCL_DEBUG": "WARN"}, "execution", "NVTE_FLASH_ATTN decides which kernels Transformer Engine runs"},
		{"slurm.environment", map[string]any{"NVTE_DPA_FP8_RECIPE": "F16"}, "convergence", "NVTE_DPA_FP8_RECIPE decides the precision of attention's products"},
		{`slurm.environment["NCCL_ALGO"]`, "Ring", "execution", "NCCL_ALGO decides how NCCL moves data"},
		{`backend.environment["NVIDIA_TF32_OVERRIDE"]`, "0", "convergence", "NVIDIA_TF32_OVERRIDE decides whether fp32 products are computed in TF32"},
		{"cluster.network.environment", map[string]any{"HF_HOME": "/b"}, "execution", ""},
	} {
		old := []Build{build("train", 10)}
		if c.path == "slurm.environment" {
			old = []Build{build("train", 10, record.Value{Path: c.path, Value: was, Origin: "spec:job.hcl:4"})}
		}
		changes := Compare(old, []Build{build("train", 10, record.Value{Path: c.path, Value: c.value, Origin: "spec:job.hcl:4"})}).Jobs[0].Changes
		if len(changes) != 1 || changes[0].Path != c.path || changes[0].Effect != c.effect || changes[0].Why != c.why {
			t.Errorf("%s = %v: %+v, want %s, %q", c.path, c.value, changes, c.effect, c.why)
		}
	}
}

// TestEntries: a map that a site says a part of is told entry by entry, and an entry that
// stays is no change.
func TestEntries(t *testing.T) {
	old := []Build{build("train", 10, record.Value{Path: "slurm.environment", Value: map[string]any{"A": "1", "B": "1"}, Origin: "spec:job.hcl:4"})}
	new := []Build{build("train", 10,
		record.Value{Path: `slurm.environment["A"]`, Value: "1", Origin: "spec:job.hcl:4"},
		record.Value{Path: `slurm.environment["B"]`, Value: "2", Origin: "spec:job.hcl:4"},
		record.Value{Path: `slurm.environment["C"]`, Value: "3", Origin: "site:site.hcl:2"})}
	for _, c := range []struct {
		old, new []Build
		want     []string
	}{
		{old, new, []string{`slurm.environment["B"] 1 -> 2`, `slurm.environment["C"] <nil> -> 3`}},
		{new, old, []string{`slurm.environment["B"] 2 -> 1`, `slurm.environment["C"] 3 -> <nil>`}},
	} {
		var got []string
		for _, change := range Compare(c.old, c.new).Jobs[0].Changes {
			got = append(got, fmt.Sprintf("%s %v -> %v", change.Path, change.Old, change.New))
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Error(d)
		}
	}
}
