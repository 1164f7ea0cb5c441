package review

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/review/record"
)

// Answer is what becomes of a checkpoint when its job changes.
type Answer string

// The answers, from the best to the worst.
const (
	Keeps        Answer = "same"          // every rank reads what it wrote
	Reshards     Answer = "reshard"       // loading spreads it over the new ranks
	Converts     Answer = "convert"       // a tool of the framework has to rewrite it first
	NotResumable Answer = "not_resumable" // the new run does not go on from it
	Unproven     Answer = "unproven"      // nobody has tried it
)

// Words are the answer in words.
func (a Answer) Words() string {
	switch a {
	case Keeps:
		return "read as they are"
	case Reshards:
		return "resharded on load"
	case Converts:
		return "have to be converted"
	case NotResumable:
		return "not resumable"
	}
	return "not proven to load"
}

// Fate is an answer with its reason and what proves it.
type Fate struct {
	Answer Answer `json:"answer"`
	Why    string `json:"why,omitempty"`
	Source string `json:"source,omitempty"`
}

// Row answers for pairs of layouts of one framework: those that differ in none
// but its axes. The first row that fits a pair answers for it.
type Row struct {
	Framework string   `json:"framework"`
	Versions  []string `json:"versions"`
	// Axes are those of a layout, and options of execution as "execution.NAME",
	// that may differ; each may also be the same.
	Axes []string `json:"axes"`
	// Old and New narrow the row to layouts with these values of axes, as the
	// language spells them.
	Old map[string][]string `json:"old,omitempty"`
	New map[string][]string `json:"new,omitempty"`

	Answer Answer `json:"answer"`
	Why    string `json:"why,omitempty"`
	Source string `json:"source"` // what proves it
}

//go:embed checkpoints.jsonl
var checkpoints string

// Rows returns the table of checkpoints.
var Rows = sync.OnceValue(func() []Row { return facts.Lines[Row]("review: checkpoints.jsonl", checkpoints) })

// stored are the options of execution that a checkpoint's content depends on.
var stored = []string{"fully_sharded", "gradient_dtype", "optimizer_state_dtype", "offload.optimizer", "offload.parameters"}

// Resume answers what becomes of checkpoints of old when new goes on from them.
// Both are plans of one framework for jobs that learn the same.
func Resume(old, new *plan.Plan) Fate {
	if old.Backend != new.Backend {
		return Fate{NotResumable, "frameworks do not read one another's checkpoints", ""}
	}
	if old.BackendVersion != new.BackendVersion {
		return Fate{Unproven, fmt.Sprintf("nobody has tried checkpoints of %q with %q", old.BackendVersion, new.BackendVersion), ""}
	}
	differ := differing(old, new)
	if len(differ) == 0 {
		return Fate{Answer: Keeps}
	}
	for _, r := range Rows() {
		if r.fits(old, new, differ) {
			return Fate{r.Answer, r.Why, r.Source}
		}
	}
	return Fate{Unproven, "nobody has tried another " + strings.Join(differ, ", "), ""}
}

// differing lists the axes and stored options in which two plans differ.
func differing(old, new *plan.Plan) []string {
	var names []string
	for i := range option.Axes {
		if a := &option.Axes[i]; a.Text(&old.Layout) != a.Text(&new.Layout) {
			names = append(names, a.Name)
		}
	}
	for i := range option.Options {
		o := &option.Options[i]
		if slices.Contains(stored, o.Name) && plainText(o.Value(&old.Execution)) != plainText(o.Value(&new.Execution)) {
			names = append(names, "execution."+o.Name)
		}
	}
	// Of graphs only those over experts in buffers of fixed size change what is stored.
	if old.Execution.StaticExperts() != new.Execution.StaticExperts() {
		names = append(names, "execution.cuda_graphs")
	}
	return names
}

// plainText is a value as JSON, with the signs that mean something in HTML as they are:
// people read it.
func plainText(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("review: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (r *Row) fits(old, new *plan.Plan, differ []string) bool {
	return r.Framework == old.Backend && slices.Contains(r.Versions, old.BackendVersion) &&
		!slices.ContainsFunc(differ, func(name string) bool { return !slices.Contains(r.Axes, name) }) &&
		has(&old.Layout, r.Old) && has(&new.Layout, r.New)
}

// has reports whether a layout has one of the values of each axis.
func has(l *plan.Layout, values map[string][]string) bool {
	for name, any := range values {
		if !slices.Contains(any, strings.Trim(option.FindAxis(name).Text(l), `"`)) {
			return false
		}
	}
	return true
}

// ArgumentRow says of arguments that were changed what a framework makes of them where a
// run goes on: what no row has, it takes as the job says it.
type ArgumentRow struct {
	Framework string   `json:"framework"`
	Versions  []string `json:"versions,omitempty"` // all of the framework when empty
	// Arguments are paths; one that ends in a dot or a bracket stands for all below it. "training.steps"
	// is the number of steps, whichever argument it follows from.
	Arguments []string `json:"arguments"`
	// When narrows the row to runs of which one, the old or the new, has one of the values
	// of each argument.
	When map[string][]any `json:"when,omitempty"`
	// Refused says that the framework does not load the checkpoint. Otherwise it goes on:
	// with what Note says of it, or, where that is empty, with the value that the
	// checkpoint has, without a word.
	Refused bool   `json:"refused,omitempty"`
	Why     string `json:"why,omitempty"` // it refuses
	Note    string `json:"note,omitempty"`
	Source  string `json:"source"` // what proves it
}

//go:embed arguments.jsonl
var arguments string

// argumentRows returns the table of arguments.
var argumentRows = sync.OnceValue(func() []ArgumentRow {
	return facts.Lines[ArgumentRow]("review: arguments.jsonl", arguments)
})

func (r *ArgumentRow) about(p *plan.Plan, path string, runs []map[string]*record.Value) bool {
	holds := func(values map[string]*record.Value) bool {
		for name, of := range r.When {
			if v := values[name]; v == nil || !slices.Contains(of, v.Value) {
				return false
			}
		}
		return true
	}
	return r.Framework == p.Backend && (len(r.When) == 0 || slices.ContainsFunc(runs, holds)) && (len(r.Versions) == 0 || slices.Contains(r.Versions, p.BackendVersion)) &&
		slices.ContainsFunc(r.Arguments, func(a string) bool { return within(path, a) })
}

// Taken is what a framework makes of changed arguments when a run goes on from its
// checkpoint. What it does not tell of is taken as the job says it.
type Taken struct {
	Refused *ArgumentRow // that the framework stops at; nil where it goes on
	Path    string       // the argument that Refused is about
	Kept    []string     // arguments of which the checkpoint's value stays
	Notes   []string     // what else comes of the changes, each once
}

// TakenBy says what the framework of a plan makes of changed arguments, by their paths, in
// runs of these values.
func TakenBy(p *plan.Plan, paths []string, runs ...map[string]*record.Value) (t Taken) {
	for _, path := range paths {
		for i := range argumentRows() {
			switch r := &argumentRows()[i]; {
			case !r.about(p, path, runs):
			case r.Note != "":
				if !slices.Contains(t.Notes, r.Note) {
					t.Notes = append(t.Notes, r.Note)
				}
			case !r.Refused:
				t.Kept = append(t.Kept, path)
			case t.Refused == nil:
				t.Refused, t.Path = r, path
			}
		}
	}
	return t
}

// shapeless are the arguments of a model that no parameter's shape depends on.
var shapeless = []string{
	"model.sequence_length", "model.dropout", "model.init_std", "model.norm_epsilon", "model.attention_scale", "model.embedding_scale",
	"model.activation_alpha", "model.activation_clamp", "model.activation_offset", "model.attention_logit_softcap", "model.final_logit_softcap",
	"model.mtp_loss_scale", "model.zero_centered_norm", "model.moe.load_imbalance", "model.moe.token_drop", "model.moe.capacity_factor", "model.moe.top_k",
	"model.position_embedding.", "model.sliding_window.", "model.built_by[",
	"model.moe.router.aux_coefficient", "model.moe.router.z_loss_coefficient", "model.moe.router.bias_update_rate", "model.moe.router.scaling_factor",
	"model.moe.router.normalize", "model.moe.router.pre_softmax", "model.moe.router.dtype", "model.moe.router.score",
	"model.moe.router.groups", "model.moe.router.group_top_k",
}

// reshapes reports whether a change makes other parameters of a model. Only
// learned positions are as many as there may be.
func reshapes(path string, values map[string]*record.Value) bool {
	if !strings.HasPrefix(path, "model.") {
		return false
	}
	if kind := values["model.position_embedding"]; path == "model.max_positions" && kind != nil && kind.Value != "learned" {
		return false
	}
	return !slices.ContainsFunc(shapeless, func(p string) bool { return within(path, p) })
}

// within reports whether a path is a row's, or lies below one that ends in a dot or a bracket.
func within(path, row string) bool {
	return path == row || strings.HasPrefix(path, row) && strings.ContainsAny(row[len(row)-1:], ".[")
}

// fateOf answers for a backend that both sides have: what is learned decides
// first, then the table.
func fateOf(b *Backend, old, new *Build, changes []Change) *Fate {
	before, after := byPath(old.Values[b.Name]), byPath(new.Values[b.Name])
	from, to := old.saves(before), new.saves(after)
	if from == nil || b.old == nil || b.new == nil || !b.old.Feasible || !b.new.Feasible {
		return nil
	}
	for _, c := range changes {
		switch {
		case c.Path == "model.padded_vocab_size":
			return &Fate{Unproven, "nobody has tried another padded_vocab_size: the embedding may have as many rows or others", ""}
		case reshapes(c.Path, after):
			return &Fate{NotResumable, "the model is another one: " + c.Path, ""}
		case c.Path == "training.optimizer":
			return &Fate{NotResumable, "the optimizer's state is another one", ""}
		case c.Path == "training.precision":
			return &Fate{Unproven, "nobody has tried another training.precision", ""}
		}
	}
	if !reflect.DeepEqual(from, to) {
		where := "nowhere"
		if to != nil {
			where = "in " + spelled(to)
		}
		return &Fate{NotResumable, fmt.Sprintf("they lie in %s, and the new run looks %s", spelled(from), where), ""}
	}
	if old.Site != new.Site && old.Site != "" && new.Site != "" {
		return &Fate{Unproven, fmt.Sprintf("they lie at the site %q, and the new run looks at %q", old.Site, new.Site), ""}
	}
	f := Resume(b.old, b.new)
	if f.Answer == NotResumable || f.Answer == Unproven {
		return &f
	}
	taken := TakenBy(b.new, learnt(b, changes), before, after)
	if r := taken.Refused; r != nil {
		return &Fate{NotResumable, taken.Path + " is another, and " + r.Why, r.Source}
	}
	notes := taken.Notes
	if len(taken.Kept) > 0 {
		says := " stays"
		if len(taken.Kept) > 1 {
			says = " stay"
		}
		notes = append([]string{strings.Join(taken.Kept, ", ") + says + " as the checkpoint has it, whatever the job says"}, notes...)
	}
	for _, n := range notes {
		f.Why = strings.TrimPrefix(f.Why+"; "+n, "; ")
	}
	return &f
}

// learnt are the arguments of training that changed, the number of steps and the length
// that data are cut to among them, and the axis by which there are more or fewer
// data-parallel ranks.
func learnt(b *Backend, changes []Change) (paths []string) {
	for _, c := range changes {
		if strings.HasPrefix(c.Path, "training.") || c.Path == "model.sequence_length" {
			paths = append(paths, c.Path)
		}
	}
	if b.old.Run.Steps != b.new.Run.Steps && !slices.Contains(paths, "training.steps") {
		paths = append(paths, "training.steps")
	}
	if from, to := &b.old.Layout, &b.new.Layout; from.DataParallel() != to.DataParallel() {
		axis := "layout.data_parallel_shard"
		if from.DataParallelShard == to.DataParallelShard {
			axis = "layout.data_parallel_replicate"
		}
		paths = append(paths, axis)
	}
	return paths
}
