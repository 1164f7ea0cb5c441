package intake

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/catalog"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
)

// model settles what the job trains: a model of the catalogue when every value
// that the files say is the entry's and all of the model is understood, the same at another length of sequences, or
// a block of its own.
func (in *intake) model(r *Result, name string) {
	d := in.d
	if !d.HasBlock("model") {
		d.Set("model", draft.Expression("var.model"), draft.Place{})
		return
	}
	named, _ := d.Get("model.base") // as ndc's own files do
	sized := d.Has("model.layers") || d.Has("model.hidden_size")
	if d.Remove("model.base"); !sized && named.Value == nil {
		d.Set("model.base", draft.Expression("var.model"), draft.Place{})
	}
	own := identifier(name)
	reference := draft.Expression("model." + own)
	for _, entry := range catalogue() {
		var apart map[string]draft.Value
		same := named.Value == draft.Expression("catalog.model."+entry.Name)
		if same {
			apart = longer(d, &entry)
		} else if sized && !d.Unsaid("model") && in.sizes(&entry) {
			apart, same = compare(in.without(&entry), &entry)
		}
		if !same {
			continue
		}
		r.Model = entry.Name
		if named.Value == nil && !d.Has("model.vocab_size") {
			d.Note("", fmt.Sprintf("no file says how many tokens the tokenizer knows: %d, as %s has them", entry.VocabSize, entry.Name))
		}
		d.RemoveBlock("model")
		if len(apart) == 0 {
			reference = draft.Expression("catalog.model." + entry.Name)
		} else {
			d.Set("model.base", draft.Expression("catalog.model."+entry.Name), draft.Place{})
			for path, v := range apart {
				d.Set(path, v.Value, v.Place)
			}
		}
		break
	}
	d.Set("model", reference, draft.Place{})
}

// catalogue resolves every model of the catalogue, once.
var catalogue = sync.OnceValue(func() []job.Model {
	var b strings.Builder
	for _, name := range catalog.Names("model") {
		fmt.Fprintf(&b, trial, name, "catalog.model."+name)
	}
	return load(b.String())
})

// trial is the smallest job with a model.
const trial = `job %q {
  model   = %s
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 1
    steps             = 1
    precision         = "bf16"

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
    start {
      from = "huggingface"
      path = "none"
    }
  }
  backend "deepspeed" {
    version = "0.19.8"
  }
}
`

// load resolves the models of a file's jobs; nil when the language refuses one.
func load(text string) []job.Model {
	jobs := loadJobs(text)
	models := make([]job.Model, len(jobs))
	for i := range jobs {
		models[i] = jobs[i].Model
		models[i].Name = jobs[i].Name
	}
	return models
}

func loadJobs(text string) []job.Job {
	w, diags := lang.Load(fstest.MapFS{"job.hcl": {Data: []byte(text)}}, "job.hcl", lang.Options{})
	if diags.HasErrors() {
		return nil
	}
	return w.Jobs
}

// sizes reports whether the files' model has the first sizes of an entry, so
// that comparing the rest is worth the while.
func (in *intake) sizes(m *job.Model) bool {
	d := in.d
	return d.Int("model.layers") == int64(m.Layers) && d.Int("model.hidden_size") == int64(m.HiddenSize) &&
		d.Int("model.attention_heads") == int64(m.Attention.Heads)
}

// hub reports a place in the config.json of a model, which has numbers that nobody trains
// with. A launch trains with what it says.
func (in *intake) hub(p draft.Place) bool {
	return slices.ContainsFunc(in.files, func(f File) bool { return f.Name == p.File && isModel(f) })
}

// without is what the files say of the model, less the numbers of its config.json that the
// entry knows as published and not trained with.
func (in *intake) without(m *job.Model) *draft.Draft {
	stated := draft.New()
	for _, p := range in.d.Paths() {
		v, _ := in.d.Get(p)
		if p == "model.vocab_size" && in.d.Derived(p) && padded(m.VocabSize, in.d.Int("constraints.layout.tensor_parallel")) == v.Value {
			continue
		}
		if strings.HasPrefix(p, "model.") && p != "model.architecture" || p == "model.architecture" && !in.d.Derived(p) {
			if !in.hub(v.Place) || !published(m, strings.TrimPrefix(p, "model."), v.Value) {
				stated.Set(p, v.Value, v.Place)
			}
		}
	}
	return stated
}

// padded is a vocabulary as Megatron-LM rounds it up for a tensor group.
func padded(size int, tensor int64) int64 {
	unit := 128 * max(tensor, 1)
	return (int64(size) + unit - 1) / unit * unit
}

// hasMore reports whether an entry has a block, or layers of multi-token prediction, that the
// files do not say.
func hasMore(stated *draft.Draft, m *job.Model) bool {
	for block, has := range map[string]bool{
		"position_embedding.scaling": m.PositionEmbedding.Scaling != nil, "sliding_window": m.Attention.SlidingWindow.Size > 0,
		"mla": m.Attention.MLA != nil, "mamba": m.Mamba != nil, "delta_net": m.DeltaNet != nil, "moe": m.MoE != nil,
	} {
		if has && !stated.HasBlock("model."+block) {
			return true
		}
	}
	return m.MTP.Layers > 0 && !stated.Has("model.mtp_layers")
}

func published(m *job.Model, path string, value any) bool {
	f, ok := value.(float64)
	return ok && slices.ContainsFunc(m.Published, func(p job.Variable) bool {
		stated, err := strconv.ParseFloat(p.Value, 64)
		return p.Name == path && err == nil && stated == f
	})
}

// lengths are the arguments in which a run may differ from its model's entry.
var lengths = []string{"model.sequence_length", "model.max_positions"}

// longer is the length of sequences, where it is not the entry's.
func longer(d *draft.Draft, entry *job.Model) map[string]draft.Value {
	if v, ok := d.Get(lengths[0]); ok && v.Value != int64(entry.SequenceLength) {
		return map[string]draft.Value{lengths[0]: v}
	}
	return nil
}

// compare lays what was stated over an entry of the catalogue. When that
// changes nothing, or lengths alone, they are the same model; the lengths that
// it changes are returned.
func compare(stated *draft.Draft, entry *job.Model) (map[string]draft.Value, bool) {
	if hasMore(stated, entry) {
		return nil, false
	}
	stated.Set("model.base", draft.Expression("catalog.model."+entry.Name), draft.Place{})
	text := stated.Block(schema.File.Block("model"), "model", `model "stated"`) + fmt.Sprintf(trial, entry.Name, "model.stated")
	over := load(text)
	if len(over) == 0 {
		return nil, false
	}
	apart := map[string]draft.Value{}
	for i, pair := range [][2]int{{over[0].SequenceLength, entry.SequenceLength}, {over[0].MaxPositions, entry.MaxPositions}} {
		if v, ok := stated.Get(lengths[i]); ok && pair[0] != pair[1] {
			apart[lengths[i]] = v
		}
	}
	a, b := over[0], *entry
	for _, m := range []*job.Model{&a, &b} {
		m.Name, m.SequenceLength, m.MaxPositions = "", 0, 0
		m.BuiltBy, m.Published = nil, nil
	}
	return apart, reflect.DeepEqual(a, b)
}
