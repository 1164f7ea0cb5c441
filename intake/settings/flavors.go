package settings

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ndc-dev/ndc/backends/torchtitan"
	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/intake/draft"
)

// flavored is a model of TorchTitan's own, which its code builds by the names of a
// configuration: one line of flavors.jsonl.
type flavored struct {
	Release   string         `json:"release"`
	Names     []string       `json:"names"`
	Flavors   []string       `json:"flavors"`
	Model     map[string]any `json:"model"`     // arguments of the model
	Above     int64          `json:"above"`     // positions are scaled for longer sequences alone; 0: for all
	Documents bool           `json:"documents"` // tokens attend within their document
	Source    string         `json:"source"`
}

// flavors are all of them.
var flavors = sync.OnceValue(func() []flavored {
	src, err := files.ReadFile("flavors.jsonl")
	if err != nil {
		panic("settings: " + err.Error())
	}
	return facts.Lines[flavored]("settings: flavors.jsonl", string(src))
})

// flavored finds the model of a name: of the release that the configuration is for, or
// of an earlier state of the code where it has keys of one. Llama 3 has scaled positions
// since commit 5bbda42c, of October 2025, and 0.2.0.
func (r *reading) flavored(name, flavor string) *flavored {
	var found *flavored
	for i, f := range flavors() {
		if !slices.Contains(f.Names, name) || !slices.Contains(f.Flavors, flavor) {
			continue
		}
		if f.Release == lastTOML && found == nil || f.Release != lastTOML && r.earlier {
			found = &flavors()[i]
		}
	}
	return found
}

// build says the model of TorchTitan's code.
func (r *reading) build(k key, f *flavored) outcome {
	const scaling = "position_embedding.scaling."
	short := f.Above > 0 && int64(r.number("training.seq_len", 2048)) <= f.Above
	for _, name := range slices.Sorted(maps.Keys(f.Model)) {
		if short && strings.HasPrefix(name, scaling) {
			continue
		}
		path := "model." + name
		r.d.Set(path, typed(path, f.Model[name]), r.at(k))
	}
	kind := "llama"
	if all := torchtitan.Architectures(lastTOML, f.Names[0]); len(all) > 0 {
		if kind = all[0]; f.Model["moe.experts"] != nil {
			kind = all[len(all)-1]
		}
	}
	r.d.Derive("model.architecture", kind)
	if f.Documents {
		r.d.Default("training.data.document_mask", true, r.at(k))
	}
	return outcome{to: "model", why: "as TorchTitan " + f.Release + " builds it, apart from the weights that it starts from"}
}

// sized reports a model that another file says, such as its config.json.
func sized(d *draft.Draft) bool { return d.Has("model.layers") || d.Has("model.hidden_size") }
