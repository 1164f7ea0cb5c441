package intake

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/backends/deepspeed"
	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/backends/torchtitan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/lang/catalog"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
)

// placeholders are variables without a default for what no file says, so that
// the job asks for it and nothing is guessed.
type placeholders struct {
	d    *draft.Draft
	list []placeholder
}

type placeholder struct{ name, kind, why string }

// add makes a variable and returns the reference to it.
func (p *placeholders) add(name, kind, why string) draft.Expression {
	if !slices.ContainsFunc(p.list, func(v placeholder) bool { return v.name == name }) {
		p.list = append(p.list, placeholder{name, kind, why})
	}
	return draft.Expression("var." + name)
}

func (p *placeholders) names() []string {
	var names []string
	for _, v := range p.list {
		names = append(names, v.name)
	}
	return names
}

func (p *placeholders) text() string {
	var b strings.Builder
	for _, v := range p.list {
		fmt.Fprintf(&b, "variable %q {\ntype = %s\ndescription = %s\n}\n\n", v.name, v.kind, draft.Literal(v.why))
	}
	return b.String()
}

// emitter finds a backend by its kind.
func emitter(kind string) backends.Backend {
	for _, b := range []backends.Backend{deepspeed.Backend{}, megatron.Backend{}, torchtitan.Backend{}} {
		if b.Kind() == kind {
			return b
		}
	}
	return nil
}

func (in *intake) checkOptions(diags *diag.List) {
	wrong := func(detail string) {
		diags.Error(InvalidImportOption, diag.Range{}, "Wrong option of the import", detail)
	}
	if c := in.o.Cluster; c != "" && !slices.Contains(catalog.Names("cluster"), c) {
		wrong(fmt.Sprintf("The catalogue has no cluster %q.%s `ndc catalog cluster` lists them.", c, diag.DidYouMean(c, catalog.Names("cluster"))))
	}
	if k := in.o.Backend; k != "" && emitter(k) == nil {
		wrong(fmt.Sprintf("There is no backend %q. The backends are %s.%s", k, diag.OneOf(schema.BackendKinds()), diag.DidYouMean(k, schema.BackendKinds())))
	} else if v := in.o.Version; v != "" && k != "" && !slices.Contains(emitter(k).Versions(), v) {
		wrong(fmt.Sprintf("ndc does not emit for %s %q.%s", k, v, diag.DidYouMean(v, emitter(k).Versions())))
	}
	if in.o.Nodes < 0 || in.o.GPUs < 0 {
		wrong("Nodes and GPUs are counted from 1.")
	}
}

// cluster says where the job runs: what was asked for, and variables for the
// rest. A cluster is never recognised by a number of GPUs.
func (in *intake) cluster(open *placeholders) {
	d := in.d
	if in.o.Nodes > 0 {
		d.Set("cluster.nodes", int64(in.o.Nodes), draft.Place{})
	}
	if in.o.GPUs > 0 {
		d.Set("cluster.gpus_per_node", int64(in.o.GPUs), draft.Place{})
	}
	if tp := d.Int("constraints.layout.tensor_parallel"); tp > in.near() && in.near() > 0 {
		d.SetNote("constraints.nvlink_only", []string{}, "the launch has more tensor-parallel ranks than GPUs that share fast links")
	}
	base := draft.Expression("catalog.cluster." + in.o.Cluster)
	if in.o.Cluster == "" {
		base = draft.Expression("catalog.cluster[" + string(open.add("cluster", "string", "The cluster: a name that `ndc catalog cluster` lists")) + "]")
	} else if d.Int("cluster.gpus_per_node") == int64(clusterOf(in.o.Cluster).GPUsPerNode) {
		d.Remove("cluster.gpus_per_node")
	}
	d.Set("cluster.base", base, draft.Place{})
	if !d.Has("cluster.nodes") {
		d.Set("cluster.nodes", open.add("nodes", "number", "Nodes of this run"), draft.Place{})
	}
	d.Set("cluster", draft.Expression("cluster.cluster"), draft.Place{})
}

// backend names the framework and its version.
func (in *intake) backend() {
	kind := cmp.Or(in.launch, in.o.Backend, "megatron")
	block := draft.Labelled("backend", kind)
	versions := emitter(kind).Versions()
	in.d.Default(block+".version", cmp.Or(in.o.Version, versions[len(versions)-1]), draft.Place{})
}

// ask makes variables of the arguments that a job must have and no file says.
func (in *intake) ask(open *placeholders, ownModel bool) {
	d := in.d
	need := func(path, kind, why string) {
		if !d.Has(path) {
			d.Set(path, open.add(path[strings.LastIndexByte(path, '.')+1:], kind, why), draft.Place{})
		}
	}
	for _, path := range []string{"model", "model.base"} {
		if v, ok := d.Get(path); ok && v.Value == draft.Expression("var.model") {
			d.Set(path, draft.Expression("catalog.model["+string(open.add("model", "string", "The model: a name that `ndc catalog model` lists"))+"]"), draft.Place{})
			ownModel = false
		}
	}
	if ownModel {
		b := schema.File.Block("model")
		for i := range b.Arguments {
			a, kind := &b.Arguments[i], "number"
			if a.Type == schema.String {
				kind = "string"
			}
			if a.Required {
				need("model."+a.Name, kind, a.Doc)
			}
		}
		if !d.HasBlock("model.moe") && !d.Has("model.layer_pattern") { // whose layers may all be of another kind
			need("model.ffn_hidden_size", "number", b.Argument("ffn_hidden_size").Doc)
		} else if d.HasBlock("model.moe") {
			need("model.moe.expert_ffn_hidden_size", "number", b.Block("moe").Argument("expert_ffn_hidden_size").Doc)
		}
	}
	for _, path := range d.Asked() {
		a, _ := schema.At(path)
		if strings.HasPrefix(path, "model.") && !ownModel || a == nil {
			continue
		}
		kind := "number"
		switch a.Type {
		case schema.Bool, schema.BoolChoice:
			kind = "bool"
		case schema.String:
			kind = "string"
		}
		need(path, kind, a.Doc)
	}
	need("training.global_batch_size", "number", "Sequences per optimizer step")
	if !d.Has("training.tokens") {
		need("training.steps", "number", "Optimizer steps of the whole run")
	}
	need("training.precision", "string", "Compute precision, such as bf16")
	if !d.Has("training.optimizer") {
		d.Set("training.optimizer", "adamw", draft.Place{})
	}
	need("training.optimizer.learning_rate", "number", "Peak learning rate")
	if !d.HasBlock("training.data.source") && !d.Bool("training.data.mock") {
		for _, name := range []string{"format", "split", "cache_path", "tokenizer"} {
			block := "training.data." + name
			for _, path := range d.Paths() {
				if path == block || strings.HasPrefix(path, block+".") {
					d.Leave(path, "what to train on is not known, and the job is a trial on made-up tokens")
				}
			}
			d.RemoveBlock(block)
		}
		d.SetNote("training.data.mock", true, "what to train on is not known")
	}
	if d.HasBlock("training.checkpoint") {
		need("training.checkpoint.path", "string", "Folder for checkpoints on the cluster")
	}
}

// blocks writes model, cluster and job.
func (in *intake) blocks(name string) string {
	d := in.d
	top := func(kind string) *schema.Block { return schema.File.Block(kind) }
	text := ""
	if v, _ := d.Get("model"); strings.HasPrefix(fmt.Sprint(v.Value), "model.") {
		text += d.Block(top("model"), "model", fmt.Sprintf("model %q", identifier(name))) + "\n"
	}
	text += d.Block(top("cluster"), "cluster", `cluster "cluster"`) + "\n"
	return text + d.Block(top("job"), "", fmt.Sprintf("job %q", name))
}

// near is how many GPUs share fast links: those of a node, or more where the cluster is one
// that has more; 0 where nobody knows.
func (in *intake) near() int64 {
	gpus := in.d.Int("cluster.gpus_per_node")
	if in.o.Cluster == "" {
		return gpus
	}
	c := clusterOf(in.o.Cluster)
	if c.NVLink.Domain > c.GPUsPerNode {
		return int64(c.NVLink.Domain)
	}
	return cmp.Or(gpus, int64(c.GPUsPerNode))
}

// clusterOf is a cluster of the catalogue.
func clusterOf(name string) *job.Cluster {
	text := strings.Replace(fmt.Sprintf(trial, name, "catalog.model.debug"), "catalog.cluster.single_gpu", "cluster.one", 1) +
		fmt.Sprintf("cluster \"one\" {\nbase = catalog.cluster.%s\nnodes = 1\n}\n", name)
	return &loadJobs(text)[0].Cluster
}
