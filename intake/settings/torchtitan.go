package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/backends/torchtitan"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/tree"
	"github.com/ndc-dev/ndc/lang/catalog"
)

// TorchTitanKind is the kind of TorchTitan's backend.
const TorchTitanKind = "torchtitan"

// lastTOML is the last release that reads TOML, and firstPython the first that is
// configured by Python and prints it as JSON.
const (
	lastTOML    = "0.2.2"
	firstPython = "0.3.0"
)

// IsTorchTitan reports a configuration of TorchTitan by its sections, and by the keys of its
// training, most of which are TorchTitan's: other programs have sections of these names.
func IsTorchTitan(o tree.Object) bool {
	training, ok := o.Find("training")
	if !ok || training.Object() == nil || !isTraining(training.Object()) {
		return false
	}
	for _, section := range []string{"parallelism", "model", "metrics", "lr_scheduler", "activation_checkpoint"} {
		if n, ok := o.Find(section); ok && n.Object() != nil {
			return true
		}
	}
	return false
}

// isTraining reports keys of which half or more are of a release's training, or were.
func isTraining(o tree.Object) bool {
	known := 0
	for _, m := range o {
		name := "training." + m.Key
		is := rulesOf("torchtitan.jsonl").of(name) != nil || rulesOf("torchtitan_printed.jsonl").of(name) != nil
		for _, version := range []string{lastTOML, firstPython} {
			table, _ := torchtitan.Tables(version)
			_, has := table.Lookup(name)
			is = is || has
		}
		if is {
			known++
		}
	}
	return 2*known >= len(o)
}

// TOML reads a file of TOML as a tree. Its decoder forgets lines, which are
// found by the names of sections and keys.
func TOML(src []byte) (tree.Object, error) {
	if len(src) > tree.MaxBytes {
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(src), tree.MaxBytes)
	}
	if err := bounded(src); err != nil {
		return nil, err
	}
	var values map[string]any
	meta, err := toml.Decode(string(src), &values)
	if err != nil {
		return nil, err
	}
	lines := tomlLines(src)
	order := map[string]int{}
	for i, k := range meta.Keys() {
		if _, ok := order[k.String()]; !ok {
			order[k.String()] = i + 1
		}
	}
	return tomlObject("", values, lines, order)
}

func tomlLines(src []byte) map[string]int {
	lines := map[string]int{}
	section := ""
	for i, line := range bytes.Split(src, []byte("\n")) {
		text := strings.TrimSpace(string(line))
		if strings.HasPrefix(text, "[") {
			section = strings.Trim(strings.SplitN(text, "]", 2)[0], "[ ")
			continue
		}
		if name, _, ok := strings.Cut(text, "="); ok && !strings.HasPrefix(text, "#") {
			path := strings.TrimSpace(name)
			if section != "" {
				path = section + "." + path
			}
			if lines[path] == 0 {
				lines[path] = i + 1
			}
		}
	}
	return lines
}

// infinite stands for a number that JSON has no word for.
const infinite = json.Number("1e999")

func tomlObject(prefix string, values map[string]any, lines, order map[string]int) (tree.Object, error) {
	type member struct {
		name, path string
		order      int
	}
	members := make([]member, 0, len(values))
	for name := range values {
		path := name
		if prefix != "" {
			path = prefix + "." + name
		}
		members = append(members, member{name, path, order[path]})
	}
	slices.SortFunc(members, func(a, b member) int {
		return cmp.Or(a.order-b.order, strings.Compare(a.name, b.name))
	})
	var o tree.Object
	for _, m := range members {
		name, n := m.name, tree.Node{Line: max(lines[m.path], 1)}
		if in, ok := values[name].(map[string]any); ok {
			inner, err := tomlObject(m.path, in, lines, order)
			if err != nil {
				return nil, err
			}
			n.Value = inner
		} else if f, ok := values[name].(float64); ok && math.IsInf(f, 1) {
			n.Value = infinite
		} else if ok && (math.IsInf(f, -1) || math.IsNaN(f)) {
			n.Value = "-" + infinite // which no argument is
		} else {
			b, err := json.Marshal(values[name])
			if err != nil {
				return nil, err
			}
			value, err := tree.JSON(b)
			if err != nil {
				return nil, err
			}
			n.Value = value.Value
		}
		o = append(o, tree.Member{Key: name, Node: n})
	}
	return o, nil
}

// ReadTorchTitan reads a configuration of TorchTitan, with the options of the
// command that reads it; version is a release, "" the last that wrote such files.
func ReadTorchTitan(d *draft.Draft, file, version string, root tree.Object, options ...Option) {
	root, layers := layered(root)
	if version == "" && layers != nil {
		version = firstPython
	}
	r := titanDialect(version, layers != nil).read(d, file, root, options...)
	r.completeTitan()
	if layers != nil {
		r.completePrinted(layers)
	}
	r.pipeline()
	r.rounds()
}

func titanDialect(version string, printed bool) *dialect {
	x := &dialect{kind: TorchTitanKind, version: version, rules: rulesOf("torchtitan.jsonl"), spell: titanArgument}
	if printed {
		x.rules = maps.Clone(x.rules)
		maps.Copy(x.rules, rulesOf("torchtitan_printed.jsonl"))
	}
	if x.table, x.classes = torchtitan.Tables(version); x.table == nil {
		x.version = lastTOML
		if printed {
			x.version = firstPython
		}
		x.table, x.classes = torchtitan.Tables(x.version)
	}
	return x
}

// titanArgument spells a key as TorchTitan's command line does.
func titanArgument(k key) string {
	value := k.written()
	if list, ok := k.Value.([]tree.Node); ok {
		var words []string
		for _, n := range list {
			words = append(words, n.Text())
		}
		value = strings.Join(words, ",")
	}
	return "--" + k.path + "=" + value
}

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

// expertsToo names experts that stay in 16 bits beside linear layers in mxfp8, which is of
// both here.
func (r *reading) expertsToo() {
	has := func(key, name string) bool {
		list, _ := r.given[key].Value.([]tree.Node)
		return slices.ContainsFunc(list, func(n tree.Node) bool { return n.Text() == name })
	}
	if r.d.Text("training.precision") != "mxfp8" || r.d.Int("model.moe.experts") == 0 || has("model.converters", groupedMX) && has(groupedMX+".fqns", "experts") {
		return
	}
	k := r.given["model.converters"]
	r.d.Find(draft.Finding{Place: r.at(k), Name: k.path, Value: shortened(k.written()), Verdict: draft.Unknown, Why: "experts stay in bf16 without " + groupedMX + " and its fqns, and mxfp8 is of them, too, here"})
}

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

// completeTitan settles what several keys say together.
func (r *reading) completeTitan() {
	d := r.d
	const layout = "constraints.layout."
	local := int64(r.number("training.local_batch_size", 8))
	micro := local
	if r.number("parallelism.pipeline_parallel_degree", 1) > 1 {
		micro = int64(r.number("parallelism.pipeline_parallel_microbatch_size", 1))
	}
	if micro > 0 && !r.opened("training.local_batch_size", "parallelism.pipeline_parallel_degree", "parallelism.pipeline_parallel_microbatch_size") {
		r.set(layout+"micro_batch_size", micro)
	}
	passes := r.number("training.gradient_accumulation_steps", 1)
	switch n, shards := int64(r.number("training.global_batch_size", -1)), r.number("parallelism.data_parallel_shard_degree", -1); {
	case r.opened("training.global_batch_size", "training.local_batch_size", "training.gradient_accumulation_steps", "parallelism.data_parallel_shard_degree", "parallelism.data_parallel_replicate_degree"):
		d.Remove("training.global_batch_size")
		d.Ask("training.global_batch_size")
	case n > 0:
		r.set("training.global_batch_size", n)
	case shards > 0:
		r.set("training.global_batch_size", int64(r.number("training.local_batch_size", 8)*shards*r.number("parallelism.data_parallel_replicate_degree", 1)*passes))
	case micro != local && d.Int(layout+"micro_batch_size") > 0 && local%micro == 0:
		r.set(layout+"micro_batches", local/micro*int64(passes))
	}
	d.Default("training.precision", "bf16", draft.Place{})
	if p := d.Text("training.precision"); p != "fp8" && p != "mxfp8" {
		for _, path := range d.Paths() {
			if strings.HasPrefix(path, "training.fp8.") {
				d.Leave(path, "it acts with a converter to fewer bits alone")
			}
		}
	}
	r.expertsToo()
	r.validated()
	r.untold()
	if !d.Has(layout+"zero_stage") && !r.opened("parallelism.fsdp_reshard_after_forward") {
		r.set(layout+"zero_stage", int64(3))
	}
	if d.Int(layout+"data_parallel_shard") == 1 {
		r.set(layout+"zero_stage", int64(0))
	}
	r.rate()
	if k, ok := r.given["checkpoint.enable"]; ok && k.Value == true {
		if _, ok := r.given["checkpoint.folder"]; ok {
			if path, ok := r.dumped("checkpoint.folder"); ok {
				r.set("training.checkpoint.path", path)
			}
		}
		interval := int64(r.number("checkpoint.interval", 500))
		if r.set("training.checkpoint.interval", interval); r.given["checkpoint.interval_type"].Text() == "seconds" {
			r.set("training.checkpoint.interval", fmt.Sprintf("%ds", interval))
		}
		r.set("training.checkpoint.keep_last", int64(r.number("checkpoint.keep_latest_k", 10)))
		if k, ok := r.given["checkpoint.async_mode"]; ok && k.Text() != "disabled" {
			r.set("training.checkpoint.async", true)
		}
	}
	if d.Text(layout+"recompute") == "selective" && !d.Has(layout+"recompute_modules") {
		r.set(layout+"recompute_modules", []string{"op"})
	}
	if !r.opened("activation_checkpoint.mode") {
		d.Default(layout+"recompute", "selective", draft.Place{})
	}
	if d.Bool("execution.offload.parameters") { // and with them what is kept of each
		r.set("execution.offload.optimizer", true)
	}
	r.everySecond(layout)
	r.logging()
	r.unsaid()
}

// text is a key's value, of the file or by default.
func (r *reading) text(path string) string {
	if k, ok := r.given[path]; ok {
		return k.Text()
	}
	entry, _ := r.table.Lookup(path)
	s, _ := entry.Default.(string)
	return s
}

// dumped is the folder that a key names, less the backend's name that ndc appends: the
// framework joins it to its dump folder, which a whole path replaces. False where only a
// run knows it.
func (r *reading) dumped(path string) (string, bool) {
	folder, dump := r.text(path), "job.dump_folder"
	if _, ok := r.table.Lookup("dump_folder"); ok { // as later releases call it
		dump = "dump_folder"
	}
	if !strings.HasPrefix(folder, "/") && !strings.Contains(folder, "://") {
		if r.opened(dump) {
			return "", false
		}
		if above := strings.TrimSuffix(strings.TrimPrefix(r.text(dump), "./"), "/"); above != "" {
			folder = above + "/" + strings.TrimPrefix(folder, "./")
		}
	}
	return strings.TrimSuffix(folder, "/"+TorchTitanKind), folder != "" && !r.opened(path)
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

// logging says the folder of TensorBoard and the steps that are traced.
func (r *reading) logging() {
	const block = "training.logging."
	if path, ok := r.dumped("metrics.save_tb_folder"); ok && r.given["metrics.enable_tensorboard"].Value == true {
		r.d.Set(block+"tensorboard_path", path, r.at(r.given["metrics.save_tb_folder"]))
	}
	for _, section := range []string{"profiling", "profiler"} {
		if on := r.given[section+".enable_profiling"]; on.Value == true && !r.opened(section+".profile_freq", section+".profiler_active") {
			end := int64(r.number(section+".profile_freq", 0))
			r.set(block+"profile.start_step", max(end-int64(r.number(section+".profiler_active", 1)), 0))
			r.set(block+"profile.end_step", end)
		}
	}
}

// unsaid gives layout and execution what the release does where a configuration says
// nothing: ndc's own choice would be another run.
func (r *reading) unsaid() {
	for _, name := range r.table.Names() {
		entry, _ := r.table.Lookup(name)
		class, _ := r.classes.Of(entry)
		_, given := r.given[name]
		if given || class.Kind != schema.Job || r.rules.of(name) != nil || r.d.Has(class.Argument) {
			continue
		}
		if !strings.HasPrefix(class.Argument, "constraints.layout.") && !strings.HasPrefix(class.Argument, "execution.") {
			continue
		}
		if b, err := json.Marshal(entry.Default); err == nil {
			if n, err := tree.JSON(b); err == nil {
				if v, ok := convert(class.Argument, n); ok {
					r.set(class.Argument, v)
				}
			}
		}
	}
}

// everySecond names what the release recomputes where nothing says it: every second layer,
// for which the language has no word.
func (r *reading) everySecond(layout string) {
	const name = "activation_checkpoint.selective_ac_option"
	entry, _ := r.table.Lookup(name)
	every, _ := entry.Default.(string)
	if _, err := strconv.Atoi(every); err == nil && !r.has(name) && r.d.Text(layout+"recompute") == "selective" {
		at := r.at(r.given["activation_checkpoint.mode"])
		at.Line = max(at.Line, 1)
		r.d.Find(draft.Finding{Place: at, Name: name, Value: every, Verdict: draft.Unknown, Why: "the release's default; ndc has recompute by operation, not of every n-th layer"})
	}
}

// untold gives the release's defaults of what a run is trained with, where ndc's own are
// others or it has none.
func (r *reading) untold() {
	for name, path := range map[string]string{
		"training.steps": "training.steps", "training.seq_len": "model.sequence_length",
		"optimizer.lr": "training.optimizer.learning_rate", "lr_scheduler.warmup_steps": "training.schedule.warmup_steps",
	} {
		entry, _ := r.table.Lookup(name)
		if v, ok := entry.Default.(float64); ok && !r.has(name) {
			r.d.Default(path, typed(path, v), draft.Place{})
		}
	}
}

// validated keeps what a run is validated with where it is, for a number of
// batches: the framework has words for it that say nothing, and -1 for all.
func (r *reading) validated() {
	const block = "training.data.validation."
	why := ""
	if k := r.given["validation.enable"]; k.Value == false {
		why = "off"
	} else if !r.d.Has(block + "steps") {
		why = "training.data.validation has a number of batches"
	}
	for _, path := range r.d.Paths() {
		if why != "" && strings.HasPrefix(path, block) {
			r.d.Leave(path, why)
		}
	}
}

// rate settles the schedule: the shape falls over the whole run, or, with a
// ratio, over its last part.
func (r *reading) rate() {
	d := r.d
	shape := "linear"
	if k, ok := r.given["lr_scheduler.decay_type"]; ok {
		shape = k.Text()
	}
	steps := d.Int("training.steps")
	ratio := r.number("lr_scheduler.decay_ratio", -1)
	warmup, total := d.Int("training.schedule.warmup_steps"), r.whole("lr_scheduler.total_steps")
	if warmup > steps && total <= steps && steps > 0 { // the framework shortens it (components/lr_scheduler.py)
		warmup = steps
		r.set("training.schedule.warmup_steps", warmup)
	}
	switch {
	case ratio == 0:
		r.set("training.schedule", "constant")
		return
	case ratio > 0 && steps > 0 && int64(math.Round(ratio*float64(steps)))+warmup < steps:
		r.set("training.schedule", "wsd")
		r.set("training.schedule.decay_steps", int64(math.Round(ratio*float64(steps))))
		r.set("training.schedule.decay_shape", map[string]string{"sqrt": "minus_sqrt", "cosine": "cosine", "linear": "linear"}[shape])
	case total > steps && steps > 0:
		r.set("training.schedule", shape)
		d.Withdraw("training.schedule.decay_steps", fmt.Sprintf("the rate falls until step %d, and the run ends at %d: the schedule of a job ends with its run", total, steps))
	case shape == "sqrt":
		r.set("training.schedule", "wsd")
		r.set("training.schedule.decay_shape", "minus_sqrt")
	default:
		r.set("training.schedule", shape)
	}
	if low := r.number("lr_scheduler.min_lr_factor", 0) * d.Float("training.optimizer.learning_rate"); low > 0 {
		r.set("training.schedule.minimum_learning_rate", math.Round(low*1e15)/1e15)
	}
}
