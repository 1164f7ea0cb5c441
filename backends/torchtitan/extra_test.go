package torchtitan

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// TestEveryOptionHasAClass: the options of a new release must be looked at
// before an extra argument may set them.
func TestEveryOptionHasAClass(t *testing.T) {
	known := map[string]bool{}
	for _, v := range versions {
		for _, name := range v.options.Names() {
			if _, ok := extra.Of(schema.Option{Names: []string{name}}); !ok {
				t.Errorf("%s: no class for %s in options.jsonl", v.name, name)
			}
			known[name] = true
		}
	}
	for _, c := range extra.All() {
		for _, name := range c.Options {
			if !known[name] && !strings.HasSuffix(name, "*") {
				t.Errorf("%s: no release has it", name)
			}
		}
	}
}

// TestNoDeadEnds: every option that this package names is set by an argument of
// the job, may be given in extra_args, or holds ndc's own files together.
func TestNoDeadEnds(t *testing.T) {
	literal := regexp.MustCompile(`\{"([a-z_0-9]+\.[a-z_0-9.]+)", `)
	names := map[string]bool{}
	for _, file := range []string{"version_0_2_2.go", "version_0_3_0.go", "settings.go"} {
		source, err := os.ReadFile(filepath.Join(".", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range literal.FindAllSubmatch(source, -1) {
			names[string(m[1])] = true
		}
	}
	found := 0
	for name := range names {
		class, ok := extra.Of(schema.Option{Names: []string{name}})
		if !ok {
			continue // an argument of a model
		}
		found++
		if class.Kind != schema.Job && class.Kind != schema.Fixed && !class.Replaces() {
			t.Errorf("%s is %q: neither an argument of the job nor extra_args can set it", name, class.Kind)
		}
	}
	if found < 70 {
		t.Errorf("found only %d options", found)
	}
}

// TestExtraArgsReplace gives every setting that ndc chooses in the command
// line: it is nowhere else, and says what it stands in place of.
func TestExtraArgsReplace(t *testing.T) {
	replaced := map[string]bool{}
	for _, c := range goldenCases() {
		v, _ := findVersion(c.job)
		b := &build{v: v, j: c.job, p: testPlan(c.job, c.layout), family: v.find(&c.job.Model)}
		all := b.settings022
		if c.version == "0.3.0" {
			all = b.settings030
		}
		for _, s := range all() {
			class, _ := extra.Of(schema.Option{Names: []string{s.path}})
			if !class.Replaces() || replaced[s.path+c.version] {
				continue
			}
			changed := c
			j := *c.job
			j.Backend.ExtraArgs = []string{"--" + s.path + "=" + strings.Join(values(s.value), ",")}
			changed.job = &j
			for _, f := range emitCase(t, changed).Files {
				if f.Name == "launch.sh" && !strings.Contains(string(f.Data), "spec: extra_args, in place of ") {
					t.Errorf("%s: %s does not say what it stands in place of", c.name, s.path)
				}
				section, key := s.path[:strings.LastIndexByte(s.path, '.')], s.path[strings.LastIndexByte(s.path, '.')+1:]
				if f.Name == "train.toml" && slices.Contains(strings.Split(tomlSection(string(f.Data), section), "\n"), key) {
					t.Errorf("%s: %s is still in train.toml", c.name, s.path)
				}
			}
			replaced[s.path], replaced[s.path+c.version] = true, true
		}
	}
	if len(replaced) < 30 {
		t.Errorf("only %v", replaced)
	}
}

// tomlSection is the names of the keys of a section, one a line.
func tomlSection(text, section string) string {
	_, rest, _ := strings.Cut(text, "["+section+"]\n")
	body, _, _ := strings.Cut(rest, "\n[")
	var keys []string
	for _, line := range strings.Split(body, "\n") {
		key, _, _ := strings.Cut(line, " = ")
		keys = append(keys, key)
	}
	return strings.Join(keys, "\n")
}

// TestExtraArgClasses: what an extra argument does to the plan is said.
func TestExtraArgClasses(t *testing.T) {
	for _, c := range []struct {
		word     string
		id       diag.ID
		severity diag.Severity
		want     string
	}{
		{"--parallelism.tensor_parallel_degree=2", RepeatedOption, diag.Error, "Set constraints.layout.tensor_parallel"},
		{"--comm.train-timeout-seconds=60", RepeatedOption, diag.Error, "Set training.timeout.collective"},
		{"--checkpoint.load_step=5", UnplannedOption, diag.Error, "every submission of a chain"},
		{"--compile.backend=eager", UncountedOption, diag.Warning, "inductor"},
		{"--debug.moe_force_load_balance=true", UncountedOption, diag.Warning, "by force"},
		{"--training.gc_freq=10", "", 0, ""},
		{"--checkpoint.export_dtype=bfloat16", "", 0, ""},
	} {
		for _, version := range (Backend{}).Versions() {
			j := testJob(version, denseModel(), 2)
			j.Backend.ExtraArgs = []string{c.word}
			_, diags := Backend{}.Target(j)
			if c.id == "" && len(diags) > 0 || c.id != "" && (len(diags) != 1 || diags[0].ID != c.id || diags[0].Severity != c.severity || !strings.Contains(diags[0].Detail, c.want)) {
				t.Errorf("%s on %s: %v, want %s with %q", c.word, version, diags, c.id, c.want)
			}
		}
	}
}

// TestExtraSwitches: TorchTitan's command line takes no value behind a switch, and another
// name turns it off.
func TestExtraSwitches(t *testing.T) {
	for _, version := range (Backend{}).Versions() {
		j := testJob(version, denseModel(), 2)
		j.Backend.ExtraArgs = []string{"--debug.deterministic=true", "--metrics.save-for-all-ranks=false", "--comm.trace-buf-size=5"}
		v, _ := findVersion(j)
		b := &build{v: v, j: j}
		var words []string
		for _, a := range b.extra(nil) {
			for _, w := range a.Words {
				words = append(words, w.String())
			}
		}
		if got, want := strings.Join(words, " "), "--debug.deterministic --metrics.no_save_for_all_ranks '--comm.trace-buf-size=5'"; got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}

// TestExport: Hugging Face's files as the last checkpoint come without an optimizer, of models
// that the adapter writes, and count as the last step.
func TestExport(t *testing.T) {
	for _, c := range []struct {
		version string
		model   job.Model
		want    diag.ID
	}{
		{"0.2.2", denseModel(), NeedsPackage}, {"0.3.0", denseModel(), ""}, {"0.2.2", sinkModel(), UnsupportedCheckpoint}, {"0.3.0", sinkModel(), UnsupportedCheckpoint},
	} {
		j := testJob(c.version, c.model, 4)
		j.Training.Checkpoint.Path, j.Training.Checkpoint.SaveOptimizer = "/checkpoints", true
		j.Backend.ExtraArgs = []string{"--checkpoint.last_save_in_hf=true"}
		_, diags := Backend{}.Target(j)
		if !slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.ID == c.want }) && (c.want != "" || len(diags) > 0) {
			t.Errorf("%s on %s: %v, want %s", c.model.Name, c.version, diags, c.want)
		}
		b := &build{j: j, p: &plan.Plan{}}
		if all := b.checkpoint(); !slices.ContainsFunc(all, func(s setting) bool { return s.path == "checkpoint.last_save_model_only" && s.value == true }) {
			t.Errorf("%s on %s: %v", c.model.Name, c.version, all)
		}
	}
	folder := t.TempDir()
	for _, name := range []string{"step-2/.metadata", "step-10/.metadata", "step-12/__0_0.distcp", "step-13/model.safetensors.index.json"} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	bash := exec.Command("bash", "-c", "number() { printf '%s\\n' \"$1\"; }; latest() {\n"+latestStep+"\n}; latest")
	bash.Env = append(os.Environ(), "CHECKPOINT_PATH="+folder)
	if out, err := bash.CombinedOutput(); err != nil || string(out) != "13\n" {
		t.Errorf("the newest step is %q (%v)", out, err)
	}
}

// TestTimeouts: the job's timeouts are the run's.
func TestTimeouts(t *testing.T) {
	j := testJob("0.3.0", denseModel(), 2)
	b := &build{j: j, p: &plan.Plan{}}
	for _, c := range []struct{ collective, first, wantFirst, wantLater int }{{0, 0, 1801, 901}, {600, 0, 1801, 600}, {3600, 0, 3600, 3600}, {600, 7200, 7200, 600}, {0, 7200, 7200, 901}} {
		j.Training.Timeout.Collective, j.Training.Timeout.FirstStep = units.Seconds(c.collective), units.Seconds(c.first)
		if all := b.timeouts(); all[0].value != c.wantFirst || all[1].value != c.wantLater {
			t.Errorf("%+v: %v", c, all)
		}
	}
}
