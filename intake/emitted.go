package intake

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"

	"github.com/ndc-dev/ndc/backends"
	emits "github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/megatron"
	"github.com/ndc-dev/ndc/intake/settings"
	"github.com/ndc-dev/ndc/intake/shell"
	"github.com/ndc-dev/ndc/intake/tree"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
)

// loaded is the job of a text, with values that stand for what the user will set, a
// cluster among them; nil where the language takes it for none.
func (in *intake) loaded(text string, open []placeholder, cluster string) *job.Job {
	var variables []lang.VariableArg
	for _, v := range open {
		variables = append(variables, lang.VariableArg{Name: v.name, Value: in.stand(v.name, cluster)})
	}
	w, diags := lang.Load(fstest.MapFS{"job.hcl": {Data: []byte(text)}}, "job.hcl", lang.Options{Variables: variables})
	if diags.HasErrors() || len(w.Jobs) != 1 {
		return nil
	}
	return &w.Jobs[0]
}

// refused reports a job whose release of Megatron-LM cannot build its model.
func (in *intake) refused(text string, open []placeholder) bool {
	j := in.loaded(text, open, clusters[0])
	if j == nil || slices.ContainsFunc(open, func(p placeholder) bool { return p.name == "model" }) {
		return false
	}
	_, diags := emitter(j.Backend.Kind).Target(j)
	return slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.ID == emits.UnsupportedModel })
}

// clusters of the catalogue stand for one that the user will set: the usual one, and that
// with the most memory of those with eight GPUs a node, for runs that no other holds.
var clusters = []string{"dgx_h200", "dgx_b300"}

// emitted are the files that ndc would write for a job, on the first cluster that
// holds it where the job leaves that open, and for the layout that comes nearest where
// none does; nil where no layout is legal.
func (in *intake) emitted(text string, open []placeholder) (files []backends.Artifact) {
	for _, cluster := range clusters {
		found, fits := in.emittedOn(text, open, cluster)
		if files == nil || fits {
			files = found
		}
		if fits || !slices.ContainsFunc(open, func(p placeholder) bool { return p.name == "cluster" }) {
			break
		}
	}
	return files
}

func (in *intake) emittedOn(text string, open []placeholder, cluster string) (files []backends.Artifact, fits bool) {
	j := in.loaded(text, open, cluster)
	if j == nil {
		return nil, false
	}
	b := emitter(j.Backend.Kind)
	t, diags := b.Target(j)
	if diags.HasErrors() {
		return nil, false
	}
	p, err := compiler.Sketch(context.Background(), j, t)
	if err != nil || !p.HasLayout() {
		return nil, false
	}
	files, _ = b.Emit(j, p)
	return files, p.Feasible
}

// stand is a value for a variable that the user will set, good enough to see
// what ndc would emit.
func (in *intake) stand(name, cluster string) string {
	switch name {
	case "cluster":
		return cluster
	case "nodes":
		return strconv.FormatInt((in.ranks()+7)/8, 10)
	case "precision":
		return "bf16"
	case "learning_rate":
		return "1e-4"
	case "vocab_size":
		return "128000"
	case "model":
		return "llama3_8b"
	case "global_batch_size":
		return "4096"
	}
	return "4096"
}

// largest bounds the nodes of a job that is built to be compared: a layout that
// is open takes the longer the more there are.
const largest = 4096

// with is a text of the job with other values, nil for none.
func (in *intake) with(values map[string]any, text func() string) string {
	for path, value := range values {
		said, ok := in.d.Get(path)
		in.d.Remove(path)
		if value != nil {
			in.d.Set(path, value, draft.Place{})
		}
		defer func() {
			in.d.Remove(path)
			if ok {
				in.d.Put(path, said)
			}
		}()
	}
	return text()
}

// plainly is a text of the job without what it passes on: what ndc emits for that
// is what it emits by itself.
func (in *intake) plainly(text func() string) string {
	return in.with(map[string]any{draft.Labelled("backend", in.launch) + ".extra_args": nil}, text)
}

// sized is a text of the job on as many GPUs as its layout takes, of a usual cluster.
func (in *intake) sized(text func() string) string {
	gpus, node := in.ranks(), int64(8)
	for gpus%node != 0 {
		node /= 2
	}
	return in.with(map[string]any{
		"cluster.base": draft.Expression("catalog.cluster." + clusters[0]), "cluster.nodes": gpus / node, "cluster.gpus_per_node": node,
	}, text)
}

// ranks are the GPUs that the layout takes, as far as it is known.
func (in *intake) ranks() int64 {
	size := func(path string) int64 { return max(in.d.Int(path), 1) }
	axis := func(name string) int64 { return size("constraints.layout." + name) }
	data := axis("data_parallel_replicate") * axis("data_parallel_shard")
	if in.d.Int("constraints.layout.data_parallel_shard") == 0 && in.d.Int("constraints.layout.micro_batches") > 0 {
		data = max(data, in.d.Int("training.global_batch_size")/(axis("micro_batch_size")*axis("micro_batches")))
	}
	return max(axis("tensor_parallel")*axis("context_parallel")*data, axis("expert_parallel")*axis("expert_tensor_parallel")) * axis("pipeline_parallel")
}

// configured takes back what the configuration that ndc emits says too.
func (in *intake) configured(emitted backends.Artifact) bool {
	f := File{Name: emitted.Path, Content: emitted.Content}
	o, ok := titan(f)
	if !ok && isDeepSpeed(f) {
		n, err := tree.JSON(f.Content)
		o, ok = n.Object(), err == nil
	}
	if ok {
		settings.Drop(in.d, in.launch, in.d.Text(draft.Labelled("backend", in.launch)+".version"), o)
	}
	return ok
}

// usual takes back the options that would be passed on and that ndc emits by
// itself, for the job of a text.
func (in *intake) usual(text func() string, open []placeholder) {
	if in.launch != megatron.Kind && in.own == "" || in.d.Int("cluster.nodes") > largest {
		return
	}
	files := in.emitted(in.plainly(text), open)
	if files == nil { // it has no layout on the GPUs that were named
		files = in.emitted(in.plainly(func() string { return in.sized(text) }), open)
	}
	for _, f := range files {
		if in.configured(f) || !strings.HasSuffix(f.Path, "launch.sh") {
			continue
		}
		s, err := shell.Read(f.Content, shell.Call{})
		if err != nil {
			panic("intake: ndc's own launch does not parse: " + err.Error())
		}
		if c, ok := megatron.Command(s); ok {
			megatron.Drop(in.d, c)
		}
	}
}
