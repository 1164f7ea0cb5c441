package settings

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends/torchtitan"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/tree"
	"github.com/ndc-dev/ndc/lang/catalog"
)

func off(r *reading, k key, _ *rule) outcome {
	if on, ok := k.Truth(); ok && !on {
		return left("off")
	}
	return unknown("validation needs data of the job's own: training.data.validation")
}

func norm(r *reading, k key, _ *rule) outcome {
	if strings.Contains(k.Text(), "rmsnorm") {
		return left("as in the models")
	}
	return unknown("another norm than the models have")
}

func shard(r *reading, k key, _ *rule) outcome {
	if n, ok := k.Int(); ok && n < 0 {
		return left("all GPUs that are left")
	}
	return r.plain(k, "constraints.layout.data_parallel_shard")
}

func schedule(r *reading, k key, _ *rule) outcome {
	name, ok := torchtitan.Schedule(r.version, k.Text())
	if order := r.given["parallelism.pipeline_parallel_schedule_csv"]; !ok || order.Text() != "" {
		return unknown("no schedule that ndc has for " + r.version)
	}
	if r.number("parallelism.pipeline_parallel_degree", 1) > 1 {
		r.d.Set("constraints.layout.pipeline_schedule", name, r.at(k))
	}
	return outcome{to: "constraints.layout.pipeline_schedule"}
}

// stages counts the layers of every part of the pipeline.
func stages(r *reading, k key, _ *rule) outcome {
	parts, _ := k.Value.([]tree.Node)
	var layers []int64
	for _, part := range parts {
		names, _ := part.Value.([]tree.Node)
		n := int64(0)
		for _, name := range names {
			if strings.HasPrefix(name.Text(), "layers.") {
				n++
			}
		}
		layers = append(layers, n)
	}
	if len(layers) == 0 {
		return left("none")
	}
	r.d.Set("constraints.layout.stage_layers", layers, r.at(k))
	return outcome{}
}

func selective(r *reading, k key, _ *rule) outcome {
	if mode, ok := r.given["activation_checkpoint.mode"]; ok && mode.Text() != "selective" {
		return left("no selective recompute")
	}
	if k.Text() == "op" {
		r.d.Set("constraints.layout.recompute_modules", []string{"op"}, r.at(k))
		return outcome{}
	}
	return unknown("ndc has recompute by operation, not of every n-th layer")
}

// mixed reads the type of what no converter quantises.
func mixed(r *reading, k key, u *rule) outcome {
	v, ok := u.Values[word(k.Node)]
	if !ok {
		return unknown("no value of " + u.Argument)
	}
	r.d.Default(u.Argument, v, r.at(k))
	return outcome{to: u.Argument}
}

func converters(r *reading, k key, _ *rule) outcome {
	list, _ := k.Value.([]tree.Node)
	experts := false
	linear := func(n tree.Node) bool { return n.Text() != groupedMX && strings.Contains(n.Text(), "mx") }
	for _, n := range list {
		switch {
		case n.Text() == "quantize.grouped_mm.float8":
			experts = true
		case n.Text() == groupedMX && !slices.ContainsFunc(list, linear):
			return unknown(groupedMX + " multiplies experts alone in mxfp8, which is of linear layers, too, here")
		case strings.Contains(n.Text(), "mx"):
			r.d.Set("training.precision", "mxfp8", r.at(k))
		case strings.Contains(n.Text(), "float8"):
			r.d.Set("training.precision", "fp8", r.at(k))
		default:
			return unknown("a converter that ndc does not have")
		}
	}
	switch {
	case len(list) == 0:
		return left("none")
	case experts:
		return unknown("quantize.grouped_mm.float8 multiplies experts in fp8, which stay in bf16 here")
	}
	return outcome{}
}

// groupedMX is the converter of experts to mxfp8, of those that its fqns name.
const groupedMX = "quantize.grouped_mm.mx"

// grouped reads which experts a converter is for; without the converter nothing reads it.
func grouped(r *reading, k key, _ *rule) outcome {
	converter := strings.TrimSuffix(k.path, ".fqns")
	on, _ := r.given["model.converters"].Value.([]tree.Node)
	names, _ := k.Value.([]tree.Node)
	switch {
	case !slices.ContainsFunc(on, func(n tree.Node) bool { return n.Text() == converter }):
		return left("it acts with " + converter + " among model.converters alone, which is not there")
	case converter == groupedMX && len(names) == 1 && names[0].Text() == "experts":
		return outcome{to: "training.precision"}
	case converter == groupedMX:
		return unknown("mxfp8 is for all experts")
	}
	return unknown("experts stay in bf16 here")
}

// filtered reads which linear layers a converter leaves as they are; without the converter
// nothing reads it. It had a shorter name, and before that a switch of its own.
func filtered(r *reading, k key, _ *rule) outcome {
	converter := strings.TrimSuffix(k.path, ".filter_fqns")
	short := converter[strings.LastIndexByte(converter, '.')+1:]
	on, _ := r.given["model.converters"].Value.([]tree.Node)
	acts := func(n tree.Node) bool { return n.Text() == converter || n.Text() == short }
	if !slices.ContainsFunc(on, acts) && r.given["float8.enable_float8_linear"].Value != true && !r.opened("model.converters") {
		return left("it acts with " + converter + " among model.converters alone, which is not there")
	}
	entry, _ := r.table.Lookup(k.path)
	class, _ := r.classes.Of(entry)
	if same(entry.Default, k.Node) {
		return left("the default")
	}
	r.passed = append(r.passed, r.spell(k))
	return outcome{verdict: draft.Passed, why: class.Why}
}

// ownModel and ownModule are what ndc's own configurations of TorchTitan call the
// model, which the module registers.
const (
	ownModel  = "ndc"
	ownModule = "ndc_job"
)

// noDecoders are the models of TorchTitan that make or see images (torchtitan 0.2.2,
// torchtitan/models/flux and experiments/vlm).
var noDecoders = []string{"flux", "vlm"}

// flavor reads the model: of TorchTitan's code, as far as it stands in a table, or of the
// catalogue where ndc registered it.
func flavor(r *reading, k key, _ *rule) outcome {
	name, flavor := r.given["model.name"], r.given["model.flavor"]
	if found := r.flavored(name.Text(), flavor.Text()); found != nil && !name.open && !flavor.open {
		switch {
		case k.path == "model.name":
			return left("model.flavor says the model")
		case sized(r.d):
			return left("another file says the model")
		}
		return r.build(k, found)
	}
	switch {
	case slices.Contains(noDecoders, name.Text()):
		if k.path == "model.name" {
			r.d.Set("model.architecture", name.Text(), r.at(k))
		}
		return unknown("it is no decoder of language alone, which ndc does not plan; the job has the other settings and is refused at its architecture")
	case name.Text() != ownModel || !slices.Contains(catalog.Names("model"), flavor.Text()):
		return unknown("a model of TorchTitan's code: name it with the variable, or give its config.json too")
	case k.path == "model.flavor":
		r.d.Set("model.base", draft.Expression("catalog.model."+flavor.Text()), r.at(k))
		return outcome{to: "model"}
	}
	return left("the module of the job registers it")
}

// imported reads the module that a run imports.
func imported(_ *reading, k key, _ *rule) outcome {
	if k.Text() == ownModule {
		return left("ndc's own")
	}
	return unknown("Python of the user's own")
}

// clipping reads the bound of the gradient's norm, of which infinity is none.
func clipping(r *reading, k key, u *rule) outcome {
	if n, ok := k.Value.(json.Number); ok && n == infinite {
		k.Value = json.Number("0")
	}
	return r.plain(k, u.Argument)
}

// started reads what a run starts from.
func started(r *reading, k key, _ *rule) outcome {
	if k.Text() == "" {
		return left("none")
	}
	from := "checkpoint"
	if hf := r.given[inHuggingFace]; hf.Value == true {
		from = "huggingface"
	}
	r.d.Set("training.start.from", from, r.at(k))
	r.d.Set("training.start.path", k.Text(), r.at(k))
	// Without the key the model alone is loaded.
	if only, ok := r.given["checkpoint.initial_load_model_only"]; from == "checkpoint" && (!ok || only.Value == true) {
		for _, what := range []string{"optimizer", "schedule", "data"} {
			r.set("training.start.reset_"+what, true)
		}
	}
	return outcome{to: "training.start"}
}

const inHuggingFace = "checkpoint.initial_load_in_hf"

// published reads whether what a run starts from is in Hugging Face's format.
func published(r *reading, k key, u *rule) outcome {
	if on, _ := k.Truth(); on && r.given["checkpoint.initial_load_path"].Text() == "" {
		return unknown("the weights lie in model.hf_assets_path; training.start names them")
	}
	return later(r, k, u)
}

// tensorboard reads whether and where TensorBoard's files are written.
func tensorboard(r *reading, _ key, u *rule) outcome {
	if r.given["metrics.enable_tensorboard"].Value != true {
		return left("off")
	}
	if _, ok := r.dumped("metrics.save_tb_folder"); !ok {
		return unknown("its folder is known only when the script runs")
	}
	return outcome{to: u.Argument, why: "ndc appends /" + TorchTitanKind}
}

// traced reads which steps are traced; what has no trace says nothing of it.
func traced(r *reading, k key, u *rule) outcome {
	section, _, _ := strings.Cut(k.path, ".")
	if r.given[section+".enable_profiling"].Value != true {
		return left("off")
	}
	return outcome{to: u.Argument, why: "the first trace; the framework makes more"}
}
