package ndc_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/backends/deepspeed"
	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/backends/torchtitan"
	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
)

// TestEveryArgumentChangesSomething: for each argument of the language there are
// two jobs that differ in it alone, both legal, whose files or plans differ.
// Most values follow from the argument's type; the others, and what an argument
// needs beside it, stand in trials. An argument for readers changes nothing
// wherever it is tried. One that only decides what is accepted, or is warned of,
// is in answers: what ndc reports changes with it. The rest is in elsewhere.
func TestEveryArgumentChangesSomething(t *testing.T) {
	builds := &builds{}
	names := map[string]bool{}
	everyArgument(&schema.File, nil, func(a argument) {
		names[a.name()] = true
		if elsewhere[a.name()] != "" {
			return
		}
		t.Run(a.name(), func(t *testing.T) {
			t.Parallel()
			legal, changed, why := builds.tryAll(t, a)
			switch {
			case legal == 0:
				t.Errorf("no two jobs that differ in it are legal: add a trial; %s", strings.Join(why[max(0, len(why)-3):], "\n"))
			case a.Informs && changed != "":
				t.Errorf("it is said to be for readers, and changes what is built: %s", changed)
			case !a.Informs && changed == "":
				t.Errorf("nothing changes with it in %d pairs of jobs: read it, remove it, or add a trial", legal)
			}
		})
	})
	for name := range elsewhere {
		if !names[name] {
			t.Errorf("the language has no %s", name)
		}
	}
	for _, r := range slices.Concat(trials, answers) {
		if !names[labels.ReplaceAllString(r.argument, "")] {
			t.Errorf("the language has no %s", r.argument)
		}
	}
}

// argument is one of the schema, with the blocks around it from the outermost on.
type argument struct {
	*schema.Argument
	blocks []*schema.Block
}

// name is the path in the language, such as job.training.seed.
func (a argument) name() string {
	var b strings.Builder
	for _, in := range a.blocks {
		b.WriteString(in.Name + ".")
	}
	return b.String() + a.Name
}

// word is the name without the place where a backend block, a site or another has
// the same words again.
func (a argument) word() string {
	name := inJob.Replace(a.name())
	for _, b := range []string{"constraints", "execution", "training", "slurm"} {
		name = strings.Replace(name, "job.backend."+b+".", "job."+b+".", 1)
	}
	return strings.Replace(name, "job.backend.container.", "job.slurm.container.", 1)
}

// inJob says where a job has what a site says, and inSite where the site "s" has
// what stands around an argument of a job.
var (
	inJob = strings.NewReplacer("site.slurm.", "job.slurm.", "site.container.", "job.slurm.container.", "site.backend.container.", "job.slurm.container.",
		"site.node_check.", "job.slurm.node_check.", "site.environment", "job.slurm.environment", "site.backend.", "job.backend.")
	inSite = strings.NewReplacer("job.slurm.container.", "site:s.container.", "job.slurm.node_check.", "site:s.node_check.", "job.slurm.", "site:s.slurm.")
)

// ofSite reports whether it is an argument of a site, whose jobs say nothing of
// Slurm themselves.
func (a argument) ofSite() bool { return a.blocks[0].Name == "site" }

func everyArgument(b *schema.Block, above []*schema.Block, visit func(argument)) {
	for i := range b.Arguments {
		visit(argument{&b.Arguments[i], above})
	}
	for i := range b.Blocks {
		everyArgument(&b.Blocks[i], append(slices.Clip(above), &b.Blocks[i]), visit)
	}
}

// trial is a pair of jobs: an argument as it is (left out where the base has none,
// or From), and To.
type trial struct {
	argument string
	base     string // one of bases; all where it is empty
	around   string // merged over the base on both sides
	from, to string // expressions; no from: what the base says
	answers  bool   // what is reported differs
}

// tryAll builds pairs until one differs, and says which; how many were legal, and
// why others were not.
func (b *builds) tryAll(t *testing.T, a argument) (legal int, changed string, why []string) {
	for _, r := range trialsOf(a) {
		for _, base := range bases {
			if r.base != "" && r.base != base.name {
				continue
			}
			from, to := b.side(t, base, a, &r, r.from), b.side(t, base, a, &r, r.to)
			what := fmt.Sprintf("%s, %s → %s", base.name, r.from, r.to)
			switch {
			case r.answers && from.reports != to.reports:
				return 1, what, nil
			case r.answers || !from.feasible || to.says == "":
				why = append(why, fmt.Sprintf("%s: %q, %q", what, from.reports, to.reports))
				continue
			}
			if legal++; from.says != to.says {
				return legal, what, nil
			}
		}
	}
	return legal, "", why
}

// trialsOf are those written down, else what follows from the type.
func trialsOf(a argument) (list []trial) {
	for i, r := range slices.Concat(trials, answers) {
		r.answers = i >= len(trials)
		if labels.ReplaceAllString(r.argument, "") == a.word() {
			list = append(list, r)
		}
	}
	if len(list) > 0 {
		return list
	}
	for _, v := range valuesOf(a) {
		list = append(list, trial{argument: a.name(), to: v})
	}
	return list
}

// labels are those of a path.
var labels = regexp.MustCompile(`:[^.]*`)

// path is the argument's path, with the labels that a trial has.
func (a argument) path(r *trial) []string {
	path, labelled := strings.Split(a.name(), "."), strings.Split(r.argument, ".")
	for i, k := len(path)-1, len(labelled)-1; i >= 0 && k >= 0; i, k = i-1, k-1 {
		if strings.HasPrefix(labelled[k], path[i]+":") {
			path[i] = labelled[k]
		}
	}
	return path
}

// valuesOf are expressions of an argument's type.
func valuesOf(a argument) []string {
	if len(a.Enum) > 0 {
		var list []string
		for _, e := range a.Enum {
			if a.Type == schema.StringList {
				list = append(list, fmt.Sprintf("[%q]", e))
			} else {
				list = append(list, fmt.Sprintf("%q", e))
			}
		}
		return list
	}
	return map[schema.Type][]string{
		schema.Count: {"1", "2", "4", "100"}, schema.CountChoice: {"1", "2", "4"}, schema.Number: {"0.5", "3"},
		schema.Bool: {"true", "false"}, schema.BoolChoice: {"true", "false"},
		schema.String: {`"/some/where"`}, schema.StringList: {`["word"]`},
		schema.Bytes: {`"40GiB"`}, schema.Bandwidth: {`"20GB/s"`}, schema.FLOPS: {`"300TFLOPS"`},
		schema.Duration: {`"9m"`}, schema.Share: {`"30%"`}, schema.Power: {`"400W"`},
		schema.StringMap: {`{ word = "other" }`}, schema.Environment: {`{ WORD = "other" }`},
		schema.Interval: {"7"}, schema.Timeout: {`"20m"`}, schema.Chain: {"3"},
	}[a.Type]
}

// outcome is what ndc makes of a job.
type outcome struct {
	says     string // plan and files
	feasible bool
	reports  string // errors and warnings, or why it does not fit
}

// builds remembers outcomes by source.
type builds struct{ done sync.Map }

// side builds one side of a trial.
func (b *builds) side(t *testing.T, base base, a argument, r *trial, value string) outcome {
	f, diags := hclwrite.ParseConfig([]byte(common), "common", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	around, path := r.around, a.path(r)
	if a.ofSite() {
		around = "site:s; job.site = site.s; job.slurm = null; " + strings.TrimSuffix(inSite.Replace(around), "; ")
		if path[1] == "slurm" {
			around = strings.NewReplacer("site:s.container.", "site:s.slurm.container.", "site:s.node_check.", "site:s.slurm.node_check.").Replace(around)
		}
		path[0] = "site:s"
		if path[1] == "backend" {
			path[1] += ":" + base.name
		}
	}
	for _, settings := range []string{base.settings, around} {
		for setting := range strings.SplitSeq(settings, "; ") {
			path, value, _ := strings.Cut(setting, " = ")
			set(t, f.Body(), strings.Split(path, "."), value)
		}
	}
	if value != "" {
		set(t, f.Body(), path, value)
	}
	source := string(f.Bytes())
	once, _ := b.done.LoadOrStore(source, sync.OnceValue(func() outcome { return built(source) }))
	return once.(func() outcome)()
}

// built takes a source through the stages of a build. The places of arguments are
// left out, which comments of files name, and so is what the plan repeats: what
// it is for, and the options of execution.
func built(source string) (o outcome) {
	note := func(diags diag.List) bool {
		for _, d := range diags {
			o.reports += d.Summary + ": " + d.Detail + "\n"
		}
		return diags.HasErrors()
	}
	w, diags := lang.Load(fstest.MapFS{"job.hcl": {Data: []byte(source)}}, "job.hcl", lang.Options{NDCVersion: "1.0.0"})
	if note(diags) {
		return o
	}
	j := &w.Jobs[0]
	j.Sources = nil
	backend := emitterOf(j)
	target, diags := backend.Target(j)
	if note(diags) {
		return o
	}
	p, diags, _ := compiler.Compile(context.Background(), j, target) // a context that does not end
	if note(diags) {
		return o
	}
	var says strings.Builder
	if o.feasible = p.Feasible; p.Feasible {
		files, diags := backend.Emit(j, p)
		if note(diags) {
			return o
		}
		for _, f := range files {
			fmt.Fprintf(&says, "%s\n%s\n", f.Path, f.Content)
		}
	} else {
		o.reports += fmt.Sprint(p.Infeasible.Reasons)
	}
	bare := *p
	bare.Input, bare.Execution, bare.Warnings = plan.Input{}, plan.Execution{}, nil
	text, err := render.JSON(bare)
	if err != nil {
		panic(err)
	}
	says.Write(text)
	o.says = says.String()
	return o
}

func emitterOf(j *job.Job) backends.Backend {
	for _, b := range []backends.Backend{megatron.Backend{}, torchtitan.Backend{}, deepspeed.Backend{}} {
		if b.Kind() == j.Backend.Kind {
			return b
		}
	}
	panic("no backend " + j.Backend.Kind)
}

// set gives an argument a value, in new blocks where there are none; null takes
// the argument or the block away. The last word without a value is a block, which is emptied. Blocks have
// labels behind a colon: another one takes the place of exclusive blocks.
func set(t *testing.T, body *hclwrite.Body, path []string, value string) {
	t.Helper()
	name := path[0]
	switch {
	case name == "":
	case len(path) == 1 && value == "null" && body.GetAttribute(name) == nil:
		body.RemoveBlock(blockIn(body, name))
	case len(path) == 1 && value == "null":
		body.RemoveAttribute(name)
	case len(path) == 1 && value != "":
		f, diags := hclwrite.ParseConfig([]byte("x = "+value), "value", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(value, diags)
		}
		body.SetAttributeRaw(name, f.Body().GetAttribute("x").Expr().BuildTokens(nil))
	case len(path) == 1:
		b := blockIn(body, name).Body()
		for name := range b.Attributes() {
			b.RemoveAttribute(name)
		}
		for _, inner := range b.Blocks() {
			b.RemoveBlock(inner)
		}
	default:
		set(t, blockIn(body, name).Body(), path[1:], value)
	}
}

// blockIn finds or makes a block.
func blockIn(body *hclwrite.Body, name string) *hclwrite.Block {
	kind, label, labelled := strings.Cut(name, ":")
	for _, b := range body.Blocks() {
		switch {
		case b.Type() != kind:
		case !labelled || slices.Contains(b.Labels(), label):
			return b
		case slices.Contains(exclusive, kind):
			b.SetLabels([]string{label})
			return b
		}
	}
	if !labelled {
		return body.AppendNewBlock(kind, nil)
	}
	return body.AppendNewBlock(kind, []string{label})
}

// exclusive are the blocks of which a job has one, whatever its label.
var exclusive = []string{"optimizer", "schedule", "position_embedding", "tokenizer"}
