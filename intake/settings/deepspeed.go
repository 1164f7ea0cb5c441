package settings

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/backends/deepspeed"
	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/launcher"
	"github.com/ndc-dev/ndc/intake/tree"
)

// DeepSpeedKind is the kind of DeepSpeed's backend.
const DeepSpeedKind = "deepspeed"

// IsDeepSpeed reports a configuration of DeepSpeed by its keys.
func IsDeepSpeed(o tree.Object) bool {
	for _, key := range []string{"zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size"} {
		if _, ok := o.Find(key); ok {
			return true
		}
	}
	return false
}

// ReadDeepSpeed reads a configuration of DeepSpeed; version is a release, ""
// the newest.
func ReadDeepSpeed(d *draft.Draft, file, version string, root tree.Object) {
	x := deepSpeedDialect(version)
	r := x.read(d, file, x.unquoted(root))
	r.unsaidOfBatch()
	r.unsaidOfZeRO()
	r.unsaidOfOptimizer()
	r.unsaidOfSchedule()
	if k, ok := r.given["zero_optimization.stage3_prefetch_bucket_size"]; ok && d.Int("constraints.layout.zero_stage") == 3 {
		if n, ok := k.Int(); ok && n == 0 {
			d.Set("execution.overlap_parameter_gather", false, r.at(k)) // the key is what ndc emits of it
		}
	}
	fp16, _ := find(root, "fp16.enabled")
	if bf16, _ := find(root, "bf16.enabled"); fp16.Value == true && bf16.Value == true {
		d.Withdraw("training.precision", "DeepSpeed refuses to start with both bf16 and fp16")
		return
	}
	if !d.Has("training.precision") {
		for _, path := range []string{"fp16.enabled", "bf16.enabled"} {
			if k, ok := find(root, path); ok && k.Text() == "auto" {
				return // the launcher's to say
			}
		}
		d.Set("training.precision", "fp32", draft.Place{})
	}
}

// unquoted is a configuration whose ZeRO has the numbers and truth values that its text
// spells: DeepSpeed's other sections take text for text (runtime/zero/config.py:
// DeepSpeedZeroConfig, of pydantic).
func (x *dialect) unquoted(root tree.Object) tree.Object {
	var under func(string, tree.Object) tree.Object
	under = func(prefix string, o tree.Object) tree.Object {
		o = slices.Clone(o)
		for i, m := range o {
			entry, _ := x.table.Lookup(prefix + m.Key)
			switch text := strings.TrimSpace(m.Text()); {
			case m.Object() != nil:
				o[i].Value = under(prefix+m.Key+".", m.Object())
			case entry.Type == "bool" && slices.Contains([]string{"true", "t", "yes", "y", "on", "1"}, strings.ToLower(text)):
				o[i].Value = true
			case entry.Type == "bool" && slices.Contains([]string{"false", "f", "no", "n", "off", "0"}, strings.ToLower(text)):
				o[i].Value = false
			case entry.Type == "float" || entry.Type == "int" && !strings.ContainsAny(text, "eE"):
				if schema.IsNumber(text) {
					o[i].Value = numeral(text, m.Text())
				}
			}
		}
		return o
	}
	root = slices.Clone(root)
	for i, m := range root {
		if m.Key == "zero_optimization" && m.Object() != nil {
			root[i].Value = under(m.Key+".", m.Object())
		}
	}
	return root
}

// unsaidOfBatch gives the micro-batches of a step where a configuration does not say two of
// them, a batch and a micro-batch (runtime/config.py: _set_batch_related_parameters).
func (r *reading) unsaidOfBatch() {
	if !r.has("gradient_accumulation_steps") && r.has("train_batch_size") != r.has("train_micro_batch_size_per_gpu") {
		r.d.Default("constraints.layout.micro_batches", int64(1), draft.Place{})
	}
}

// unsaidOfZeRO gives what DeepSpeed does where a configuration says nothing of sharding
// and offloading: nothing of either.
func (r *reading) unsaidOfZeRO() {
	for _, o := range []struct {
		key, path string
		value     any
	}{
		{"zero_optimization.stage", "constraints.layout.zero_stage", int64(0)},
		{"zero_optimization.offload_optimizer.device", "execution.offload.optimizer", false},
		{"zero_optimization.offload_param.device", "execution.offload.parameters", false},
	} {
		if r.given[o.key].Value != "auto" && !r.unread(o.key) {
			r.d.Default(o.path, o.value, draft.Place{})
		}
	}
	kept(r.d)
}

// kept leaves out that parameters are offloaded below stage 3, whose optimizers pass over it
// (runtime/engine.py: _configure_zero_optimizer).
func kept(d *draft.Draft) {
	const to = "execution.offload.parameters"
	v, _ := d.Get("constraints.layout.zero_stage")
	if stage, ok := v.Value.(int64); ok && stage < 3 && d.Bool(to) {
		d.Leave(to, "stages below 3 keep the parameters on the GPUs")
		d.Set(to, false, draft.Place{})
	}
}

// unread reports a key that says something that is not understood.
func (r *reading) unread(path string) bool {
	return slices.ContainsFunc(r.d.Findings, func(f draft.Finding) bool { return f.Name == path && f.Verdict == draft.Unknown })
}

// unsaidOfOptimizer gives the release's defaults where a configuration says nothing of
// clipping, or of the optimizer that it has.
func (r *reading) unsaidOfOptimizer() {
	const o = "training.optimizer"
	said := map[string]string{"gradient_clipping": ".gradient_clipping"}
	if adam := r.d.Text(o); adam == "adamw" || adam == "adam" {
		said["optimizer.params.weight_decay"], said["optimizer.params.eps"] = ".weight_decay", ".epsilon"
		if _, given := r.given["optimizer.params.betas"]; !given {
			r.d.Default(o+".beta1", 0.9, draft.Place{}) // ops/adam/fused_adam.py: FusedAdam
			r.d.Default(o+".beta2", 0.999, draft.Place{})
		}
	}
	for name, path := range said {
		entry, _ := r.table.Lookup(name)
		if v, ok := entry.Default.(float64); ok && !r.has(name) {
			r.d.Default(o+path, v, draft.Place{})
		}
	}
}

func (r *reading) has(path string) bool { _, given := r.given[path]; return given }

// unsaidOfSchedule gives what the schedules of DeepSpeed do where a configuration says
// nothing (runtime/lr_schedules.py).
func (r *reading) unsaidOfSchedule() {
	const params, s = "scheduler.params.", "training.schedule"
	kind, given := r.given["scheduler.type"]
	if !given || !strings.HasPrefix(kind.Text(), "Warmup") {
		return
	}
	if !r.has(params + "warmup_num_steps") {
		r.d.Default(s+".warmup_steps", int64(1000), draft.Place{})
	}
	if n, ok := r.given[params+"warmup_num_steps"].Int(); !r.has(params+"warmup_type") && (!ok || n > 2) {
		r.d.Find(draft.Finding{Place: r.at(kind), Name: params + "warmup_type", Verdict: draft.Unknown, Why: "nothing says it, and DeepSpeed's rate rises as the logarithm of the steps then; warm-up is linear in the language"})
	}
	if kind.Text() == "WarmupCosineLR" && !r.has(params+"cos_min_ratio") {
		r.floor(1e-4, draft.Place{})
	}
}

// floor sets the rate to which a cosine falls, as a part of the highest; false where that
// is not known.
func (r *reading) floor(ratio float64, at draft.Place) bool {
	rate, known := r.given["optimizer.params.lr"].Float()
	if !known {
		rate, known = r.given["learning_rate"].Float() // of the Trainer
	}
	if low := math.Round(rate*ratio*1e15) / 1e15; known && low > 0 {
		r.d.Set("training.schedule.minimum_learning_rate", low, at)
	}
	return known
}

// Included are the nodes that HOST:0,1@HOST:0,1 names and the GPUs of each; no GPUs where
// it does not say them, or not as many of each (launcher/runner.py: parse_resource_filter).
func Included(filter string) (nodes, gpus int64) {
	for node := range strings.SplitSeq(filter, "@") {
		_, slots, said := strings.Cut(node, ":")
		n := int64(strings.Count(slots, ",") + 1)
		if !said || slots == "" || nodes > 0 && n != gpus {
			return 0, 0
		}
		nodes, gpus = nodes+1, n
	}
	return nodes, gpus
}

// zero reads from where the rate rises.
func zero(_ *reading, k key, _ *rule) outcome {
	if f, ok := k.Float(); ok && f == 0 {
		return left("nothing to say")
	}
	return unknown("warm-up starts at zero in the language")
}

// cosineFloor reads the part of the highest rate to which a cosine falls.
func cosineFloor(r *reading, k key, _ *rule) outcome {
	ratio, ok := k.Float()
	if !ok || ratio < 0 || ratio >= 1 {
		return unknown("a part of the highest rate is expected")
	}
	if ratio == 0 {
		return left("the rate falls to zero, as a job's does")
	}
	if !r.floor(ratio, r.at(k)) {
		return unknown("it is a part of a rate that is not known: training.schedule.minimum_learning_rate is a rate")
	}
	return outcome{to: "training.schedule.minimum_learning_rate"}
}

func deepSpeedDialect(version string) *dialect {
	versions := deepspeed.Backend{}.Versions()
	x := &dialect{kind: DeepSpeedKind, version: version, rules: rulesOf("deepspeed.jsonl"), spell: func(k key) string {
		if n, ok := k.Int(); ok { // DeepSpeed takes 2e8 for a whole number
			return fmt.Sprintf("%s=%d", k.path, n)
		}
		return k.path + "=" + strings.ReplaceAll(k.Node.String(), "\n", " ")
	}}
	if x.table, x.classes = deepspeed.Tables(version); x.table == nil {
		x.version = versions[len(versions)-1]
		x.table, x.classes = deepspeed.Tables(x.version)
	}
	x.strange = "ndc knows no such key of " + x.version // which has sections that are in no table: autotuning, comms_logger, data_efficiency
	return x
}

func find(o tree.Object, path string) (tree.Node, bool) {
	name, rest, nested := strings.Cut(path, ".")
	n, ok := o.Find(name)
	if !nested || !ok {
		return n, ok
	}
	return find(n.Object(), rest)
}

// betas reads the two decays of Adam.
func betas(r *reading, k key, _ *rule) outcome {
	list, _ := k.Value.([]tree.Node)
	if len(list) != 2 {
		return unknown("two numbers are expected")
	}
	for i, name := range []string{"beta1", "beta2"} {
		v, ok := convert("training.optimizer."+name, list[i])
		if !ok {
			return unknown("not a value of training.optimizer." + name)
		}
		r.d.Set("training.optimizer."+name, v, r.at(k))
	}
	return outcome{to: "training.optimizer.beta1, beta2"}
}

// cased reads an optimizer, whose name counts in any case where it is one of DeepSpeed's own,
// and as it stands where torch has it.
func cased(r *reading, k key, u *rule) outcome {
	v, ok := u.Values[strings.ToLower(k.Text())]
	if !ok {
		v, ok = u.Values[k.Text()]
	}
	if !ok {
		r.label(k, u.Argument, k.Text())
		return unknown("no value of " + u.Argument)
	}
	r.d.Set(u.Argument, v, r.at(k))
	return outcome{to: u.Argument}
}

// adamMode reads whether weight decay is apart from the gradient.
func adamMode(r *reading, k key, _ *rule) outcome {
	if on, ok := k.Truth(); ok && !on {
		r.d.Set("training.optimizer", "adam", r.at(k))
	}
	return outcome{to: "training.optimizer"}
}

// offload reads a switch of an earlier release.
func offload(r *reading, k key, u *rule) outcome {
	if on, ok := k.Truth(); ok && !on {
		return left("off")
	}
	r.d.Set(u.Argument, true, r.at(k))
	return outcome{to: u.Argument}
}

// device reads where something is offloaded to.
func device(r *reading, k key, u *rule) outcome {
	switch k.Text() {
	case "none", "":
		return left("off")
	case "cpu":
		r.d.Set(u.Argument, true, r.at(k))
		return outcome{to: u.Argument}
	}
	return unknown("ndc offloads to host memory alone")
}

// Launcher reads what starts DeepSpeed: nodes and GPUs of its launcher, of accelerate's
// or, before a program with --deepspeed or with another way to its configuration (configured),
// of torchrun; such a program may have none. It names what the training script
// alone understands, unless a file has its options (trained).
func Launcher(d *draft.Draft, file string, command []Word, trained, configured bool) bool {
	words := make([]string, len(command))
	for i, w := range command {
		words[i] = w.Text
	}
	trainer := trained || Trainer(d, file, command)
	engine := trainer || configured || slices.ContainsFunc(words, func(w string) bool {
		name, _, _ := strings.Cut(w, "=")
		return name == "--deepspeed" || name == "--deepspeed_config"
	})
	l := launching{d: d, command: command, program: Program(command), accelerate: AccelerateLaunch(command), trainer: trainer, hosts: -1}
	started := false
	for i, w := range words {
		switch {
		case started:
			l.word(i)
		case engine && launcher.Of(w) == launcher.Torch || launcher.Of(w) == launcher.DeepSpeed || i == l.accelerate:
			started = true
		case engine && i == l.program: // by srun or mpirun, a process for each GPU
			started, l.script = true, true
		}
	}
	if l.hosts >= 0 && !d.Has("cluster.nodes") {
		name, _, _ := strings.Cut(words[l.hosts], "=")
		d.Find(draft.Finding{Place: command[l.hosts].At, Name: name, Verdict: draft.Unknown, Why: "the nodes and their GPUs stand in that file, which is read where it is given; --nodes and --gpus say them, too"})
	}
	if l.ranks > 0 {
		l.machines = max(l.machines, 1)
	}
	processes(d, l.machines, l.ranks, l.at)
	for _, path := range l.unknown {
		d.Remove(path)
	}
	Batch(d, command, trained)
	return started && l.script
}

// launching reads the words of a command behind what starts the processes.
type launching struct {
	d       *draft.Draft
	command []Word
	trainer bool // a file has the options of the training script

	program    int  // its place, -1 without one
	accelerate int  // the place of accelerate's launcher, -1 without one
	script     bool // the words that follow are the training script's

	machines, ranks int64 // that accelerate is told of, from at
	at              draft.Place
	hosts           int      // the place of a hostfile, -1 without one
	unknown         []string // arguments that only a run knows
}

// launchOption is an option of a launcher or of the training script.
type launchOption struct {
	at          draft.Place
	name, value string
	count       int64 // the value where it is a number above zero
	open        bool
}

// word reads one word of the command.
func (l *launching) word(i int) {
	w := l.command[i].Text
	o := launchOption{at: l.command[i].At, open: l.command[i].Open}
	name, value, joined := strings.Cut(w, "=")
	if l.accelerate >= 0 && !l.script {
		name = Underscored(name)
	}
	if !joined && i+1 < len(l.command) && !strings.HasPrefix(l.command[i+1].Text, "--") {
		value, o.open = l.command[i+1].Text, o.open || l.command[i+1].Open
	}
	o.name, o.value = name, value
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && n > 0 {
		o.count = n
	}
	switch {
	case !l.script && (name == "--hostfile" || name == "-H"):
		l.hosts = i
	case !l.script && l.ofLauncher(o):
	case l.script && l.trainer:
	case i == l.program:
		l.script = true
	case !strings.HasPrefix(w, "-") || schema.IsNumber(w):
	case name == "--num_nodes" && o.count > 0:
		l.d.Set("cluster.nodes", o.count, o.at)
	case name == "--num_gpus" && o.count > 0:
		l.d.Set("cluster.gpus_per_node", o.count, o.at)
	case !l.script:
	case name == "--deepspeed" || name == "--deepspeed_config":
		l.d.Find(draft.Finding{Place: o.at, Name: name, Value: value, Verdict: draft.Left, Why: "the configuration, which is read where it is given"})
	default:
		l.d.Find(draft.Finding{Place: o.at, Name: name, Value: draft.Guarded(name, value), Verdict: draft.Unknown, Why: "an option of the training script, which ndc does not know"})
	}
}

// ofLauncher reads an option by which a launcher alone is told where to start processes, and
// reports whether it is one.
func (l *launching) ofLauncher(o launchOption) bool {
	named := func(why string) {
		l.d.Find(draft.Finding{Place: o.at, Name: o.name, Value: o.value, Verdict: draft.Unknown, Why: why})
	}
	switch torch := strings.ReplaceAll(o.name, "-", "_"); {
	case o.open && (o.name == "--num_machines" || o.name == "--num_processes"): // which counts before what a file says
		l.unknown = append(l.unknown, "cluster.gpus_per_node")
		if o.name == "--num_machines" {
			l.unknown = append(l.unknown, "cluster.nodes")
		}
		named(draft.OnlyRunKnows)
	case torch == "__nnodes" && o.count > 0:
		l.d.Set("cluster.nodes", o.count, o.at)
	case torch == "__nproc_per_node" && o.count > 0:
		l.d.Set("cluster.gpus_per_node", o.count, o.at)
	case o.name == "--include" || o.name == "-i":
		switch nodes, gpus := Included(o.value); {
		case o.open:
			l.unknown = append(l.unknown, "cluster.nodes", "cluster.gpus_per_node")
			named(draft.OnlyRunKnows)
		case gpus == 0:
			named("it says no one number of GPUs for all nodes: --nodes and --gpus do")
		default:
			l.d.Set("cluster.nodes", nodes, o.at)
			l.d.Set("cluster.gpus_per_node", gpus, o.at)
		}
	case o.name == "--exclude" || o.name == "-e":
		named("GPUs that are not used: --nodes and --gpus say those that are")
	case o.name == "--num_machines" && o.count > 0:
		l.machines, l.at = o.count, o.at
	case o.name == "--num_processes" && o.count > 0:
		l.ranks, l.at = o.count, o.at
	default:
		return false
	}
	return true
}

// shares are options of programs by which several ranks hold one replica.
var shares = regexp.MustCompile(`^(--?)?((model|tensor|pipe|pipeline|seq|sequence|ulysses_sequence|context)[-_](model[-_])?parallel|(tp|pp|sp|cp)([-_]|$))`)

// Shared reports such an option that is not read.
func Shared(d *draft.Draft) bool {
	return slices.ContainsFunc(d.Findings, func(f draft.Finding) bool {
		return f.Verdict == draft.Unknown && shares.MatchString(f.Name) && !slices.Contains([]string{"", "0", "1", "false", "False"}, f.Value)
	})
}

// Batch says the global batch of a command that starts the Trainer, or one with options in a
// file (trained), where it is known on how many GPUs: each is a replica, unless some share one.
func Batch(d *draft.Draft, command []Word, trained bool) {
	const layout = "constraints.layout."
	n := d.Int(layout+"micro_batch_size") * d.Int(layout+"micro_batches") * d.Int("cluster.nodes") * d.Int("cluster.gpus_per_node")
	if n > 0 && d.Int(layout+"tensor_parallel") <= 1 && !Shared(d) && (trained || startsTrainer(command) != nil) {
		d.Default("training.global_batch_size", n, draft.Place{})
	}
}
