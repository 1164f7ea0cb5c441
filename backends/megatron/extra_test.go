package megatron

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestEveryOptionHasAClass: the options of a new release must be looked at
// before an extra argument may set them.
func TestEveryOptionHasAClass(t *testing.T) {
	known := map[string]bool{}
	for i := range versions {
		for _, name := range versions[i].options.Names() {
			o, _ := versions[i].options.Lookup(name)
			if _, ok := extra.Of(o); !ok {
				t.Errorf("%s: no class for %s in options.jsonl", versions[i].name, name)
			}
			known[name] = true
		}
	}
	for _, c := range extra.All() {
		for _, name := range c.Options {
			prefix, pattern := strings.CutSuffix(name, "*")
			used := known[name]
			if pattern {
				used = slices.ContainsFunc(slices.Collect(maps.Keys(known)), func(n string) bool { return strings.HasPrefix(n, prefix) })
			}
			if !used {
				t.Errorf("%s: no release has it", name)
			}
		}
	}
}

// TestNoDeadEnds: every option that this package names is set by an argument of
// the job, or may be given in extra_args.
func TestNoDeadEnds(t *testing.T) {
	names := namedOptions(t)
	for _, name := range names {
		if strings.HasSuffix(name, "-") { // completed by iters or samples
			name += "iters"
		}
		class, ok := extra.Of(schema.Option{Names: []string{name}})
		if !ok || class.Kind != schema.Job && !class.Replaces() {
			t.Errorf("%s is %q: neither an argument of the job nor extra_args can set it", name, class.Kind)
		}
	}
	if len(names) < 150 {
		t.Errorf("found only %d options", len(names))
	}
}

// namedOptions are the options that the source of the emitter names.
func namedOptions(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("emit*.go")
	if err != nil {
		t.Fatal(err)
	}
	literal := regexp.MustCompile(`"(--[a-z0-9-]+)"`)
	var names []string
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range literal.FindAllSubmatch(source, -1) {
			if name := string(m[1]); !strings.HasSuffix(file, "_test.go") && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// TestExtraArgumentsReplace gives every option that ndc chooses, in every golden
// case that has it, another value: it is the only one, and says so.
func TestExtraArgumentsReplace(t *testing.T) {
	replaced, named := map[string]bool{}, namedOptions(t)
	rare, plain := baseJob("core_v0.19.2"), base()
	rare.Model = deepseek()
	rare.Model.PositionEmbedding.Scaling = nil
	rare.Training.Data.Tokenizer = job.Tokenizer{Kind: "tiktoken", Path: "/t"}
	for _, c := range append(launches(), launch{"rare", rare, finish(rare, plain)}) {
		v, _ := find(c.job.Backend.Version)
		for _, line := range commandLine(v, c.job, c.plan).list {
			if len(line.Words) == 0 {
				continue
			}
			name := line.Words[0].String()
			option, ok := v.options.Lookup(name)
			class, _ := extra.Of(option)
			if !ok || !class.Replaces() || replaced[name+v.table] || c.plan.Execution.FullySharded && name == "--ckpt-format" ||
				v.atLeast(18, 2) && name == "--cross-entropy-fusion-impl" { // TestFusedCrossEntropy
				continue
			}
			extra := append([]string{name}, another(option, line.Words[1:])...)
			changed := *c.job
			changed.Backend.ExtraArgs = extra
			artifacts, diags := Backend{}.Emit(&changed, c.plan)
			if diags.HasErrors() {
				t.Errorf("%s: %v: %v", c.name, extra, diags)
				continue
			}
			script := script(t, artifacts)
			if n := strings.Count(script, "\n  "+name+" "); n != 1 {
				t.Errorf("%s: %s stands %d times", c.name, name, n)
			}
			if !strings.Contains(script, "spec: backend.extra_args, ") {
				t.Errorf("%s: %v does not say what it stands in place of", c.name, extra)
			}
			replaced[name], replaced[name+v.table] = true, true
		}
	}
	for _, c := range extra.All() {
		for _, name := range c.Options {
			if c.Replaces() && !replaced[name] && slices.Contains(named, name) {
				t.Errorf("no golden case emits %s", name)
			}
		}
	}
}

func script(t *testing.T, artifacts []backends.Artifact) string {
	t.Helper()
	i := slices.IndexFunc(artifacts, func(a backends.Artifact) bool { return a.Path == "launch.sh" })
	if i < 0 {
		t.Fatal("no launch.sh")
	}
	return string(artifacts[i].Content)
}

// another is a legal value of an option that is not the given one, if it has any.
func another(o schema.Option, words []render.Word) []string {
	values := make([]string, len(words))
	for i, w := range words {
		values[i] = strings.Trim(w.String(), "'\"")
	}
	if len(values) == 0 {
		return nil
	}
	for _, choice := range o.Choices {
		if _, member, dotted := strings.Cut(choice, "."); dotted {
			choice = member
		}
		if choice != values[0] {
			return append([]string{choice}, values[1:]...)
		}
	}
	if len(o.Choices) > 0 {
		return values
	}
	if n, err := strconv.Atoi(values[0]); err == nil {
		return append([]string{strconv.Itoa(n + 1)}, values[1:]...)
	}
	if _, err := strconv.ParseFloat(values[0], 64); err == nil {
		return append([]string{"0.5"}, values[1:]...)
	}
	return append([]string{"another"}, values[1:]...)
}

// TestExtraArgumentClasses: what an extra argument does to the plan is said.
func TestExtraArgumentClasses(t *testing.T) {
	for _, c := range []struct {
		words    string
		id       diag.ID
		severity diag.Severity
		want     string
	}{
		{"--no-save-optim", RepeatedExtraArgument, diag.Error, "Set training.checkpoint.save_optimizer"},
		{"--accumulate-allreduce-grads-in-fp32", RepeatedExtraArgument, diag.Error, "Set execution.gradient_dtype"},
		{"--distributed-timeout-minutes 20", RepeatedExtraArgument, diag.Error, "Set training.timeout"},
		{"--decoder-first-pipeline-num-layers 3", RepeatedExtraArgument, diag.Error, "constraints.layout.stage_layers"},
		{"--microbatch-group-size-per-virtual-pipeline-stage 8", UnplannedExtraArgument, diag.Error, "in flight"},
		{"--ckpt-step 100", UnplannedExtraArgument, diag.Error, "every submission of a chain"},
		{"--fp32-residual-connection", UnplannedExtraArgument, diag.Error, "changes the model"},
		{"--moe-shared-expert-overlap", UncountedExtraArgument, diag.Warning, "time of expert layers"},
		{"--transformer-impl local", UncountedExtraArgument, diag.Warning, "Transformer Engine"},
		{"--inference-max-seq-length 10", UncountedExtraArgument, diag.Warning, "inference"},
		{"--manual-gc-interval 50", "", 0, ""},
		{"--async-strategy nvrx", "", 0, ""},
		{"--ckpt-format torch", "", 0, ""},
		{"--log-params-norm", "", 0, ""},
	} {
		j := baseJob("core_v0.19.2")
		j.Backend.ExtraArgs = strings.Fields(c.words)
		_, diags := Backend{}.Target(j)
		if c.id == "" && len(diags) > 0 || c.id != "" && (len(diags) != 1 || diags[0].ID != c.id || diags[0].Severity != c.severity || !strings.Contains(diags[0].Detail, c.want)) {
			t.Errorf("%s: %v, want %s with %q", c.words, diags, c.id, c.want)
		}
	}
	fsdp, l := baseJob("core_v0.19.2"), base()
	fsdp.Backend.ExtraArgs, l.ZeroStage = []string{"--ckpt-format", "torch_dist"}, 3
	_, diags := Backend{}.Emit(fsdp, finish(fsdp, l))
	expect(t, diags, UnplannedExtraArgument, "fsdp_dtensor only")
}

// TestKept: keep_last = 1 is emitted as a multiple of the interval of 300 that none of
// 1,000 steps but the last may be, in every release; and what an extra argument keeps is
// a multiple of the interval, too, which arguments.py asserts.
func TestKept(t *testing.T) {
	for _, v := range versions {
		for _, c := range []struct {
			last  int
			extra string
			want  string // of the emitted arguments, or of the diagnostic
		}{
			{1, "", "--save-retain-interval 1200"},
			{0, "600", "--save-retain-interval 600"},
			{0, "500", "Set --save-retain-interval to 600"},
			{0, "100", "Set --save-retain-interval to 300"},
			{0, "0", "Set --save-retain-interval to 300"},
			{1, "600", "Leave one of the two out"},
		} {
			j := baseJob(v.name)
			j.Training.Checkpoint.IntervalSteps, j.Training.Checkpoint.KeepLast = 300, c.last
			if c.extra != "" {
				j.Backend.ExtraArgs = []string{opRetain, c.extra}
			}
			artifacts, diags := Backend{}.Emit(j, finish(j, base()))
			if !strings.HasPrefix(c.want, "--") {
				expect(t, diags, UnplannedExtraArgument, c.want)
				continue
			}
			found := false
			for _, a := range artifacts {
				found = found || strings.Contains(strings.ReplaceAll(string(a.Content), "'", ""), c.want)
			}
			if diags.HasErrors() || !found {
				t.Errorf("%s, %+v: %v, emitted %t", v.name, c, diags, found)
			}
		}
	}
	if got := beyond(500, 1000); got != 1000 {
		t.Errorf("a multiple that is the last step: %d", got)
	}
}

// TestFusedCrossEntropy: Transformer Engine's is refused where the release
// refuses it.
func TestFusedCrossEntropy(t *testing.T) {
	for _, c := range []struct {
		version, kind string
		refused       bool
	}{{"core_v0.17.1", "fused", false}, {"core_v0.18.2", "fused", true}, {"core_v0.19.2", "fused", true}, {"core_v0.19.2", "unfused", false}} {
		j := baseJob(c.version)
		j.Backend.ExtraArgs, j.Execution.CrossEntropy = []string{"--cross-entropy-fusion-impl", "te"}, job.Some(c.kind)
		_, diags := Backend{}.Emit(j, finish(j, base()))
		if c.refused {
			expect(t, diags, UnplannedExtraArgument, "as unstable")
		} else if diags.HasErrors() {
			t.Errorf("%s, %s: %v", c.version, c.kind, diags)
		}
	}
}

// TestTimeouts: the job's timeouts are the run's, in minutes until the first
// step is done and in seconds after it.
func TestTimeouts(t *testing.T) {
	for _, c := range []struct {
		timeout      job.Timeout
		want, absent string
	}{
		{job.Timeout{}, "--distributed-timeout-minutes 10 # ndc", "--distributed-timeout-seconds-after-init"},
		{job.Timeout{Collective: 1200}, "--distributed-timeout-minutes 20 # default: training.timeout.collective", "--distributed-timeout-seconds-after-init"},
		{job.Timeout{Collective: 90}, "--distributed-timeout-seconds-after-init 90 #", "--distributed-timeout-minutes 1 "},
		{job.Timeout{Collective: 1200, FirstStep: 3600}, "--distributed-timeout-minutes 60 # default: training.timeout.first_step", "--distributed-timeout-minutes 20"},
		{job.Timeout{FirstStep: 3600}, "--distributed-timeout-seconds-after-init 600 # ndc", "--distributed-timeout-minutes 10"},
	} {
		for i := range versions {
			j := baseJob(versions[i].name)
			j.Training.Timeout = c.timeout
			artifacts, diags := Backend{}.Emit(j, finish(j, base()))
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			if s := script(t, artifacts); !strings.Contains(s, c.want) || strings.Contains(s, c.absent) {
				t.Errorf("%s, %+v: want %q, not %q", versions[i].name, c.timeout, c.want, c.absent)
			}
		}
	}
	j := baseJob("core_v0.19.2")
	j.Training.Timeout.FirstStep = 90
	_, diags := Backend{}.Target(j)
	expect(t, diags, UnsupportedTimeout, `first_step = "2m"`)
}
