package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/backends/torchtitan"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/tree"
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
