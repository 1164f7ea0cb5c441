package lint

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/backends/slurm"
	"github.com/ndc-dev/ndc/intake/shell"
	"github.com/ndc-dev/ndc/lang/units"
)

// enough options of Megatron-LM make a launch of it, whatever the program is called;
// one does of its own programs.
const enough = 5

// arguments are the options of a launch of Megatron-LM.
type arguments struct {
	all     []option
	byName  map[string][]int // all of one name, in order
	unsure  bool             // there may be others
	release string           // "" for an unknown one
	table   *schema.Table    // of the release; nil without one
}

// megatron checks the options of a launch of Megatron-LM.
func (s *script) megatron(l *launch) {
	a := s.arguments(l)
	if a == nil {
		return
	}
	s.unknownOptions(l, a)
	s.packed(l, a)
	s.repeated(a)
	s.ignored(a)
	for _, r := range relations() {
		s.relation(a, &r)
	}
	s.world(l, a)
	s.connections(a)
	s.lateExit(a)
	s.expertGradients(a)
	s.expertBiases(a)
	s.biasedExperts(a)
	s.tiedPredictions(a)
}

// arguments reads the program's options; nil for another program's.
func (s *script) arguments(l *launch) *arguments {
	a := &arguments{byName: map[string][]int{}}
	newest := newestTable()
	known := 0
	for _, w := range l.words {
		name, value, joined := strings.Cut(w.Text, "=")
		switch {
		case optionWord.MatchString(w.Text) && !schema.IsNumber(w.Text):
			o := option{name: name, line: w.Line, maybe: w.Maybe, joined: joined, packed: w.Packed}
			if joined {
				o.values, o.open = []shell.Word{{Text: value, Line: w.Line, Open: w.Open, Maybe: w.Maybe}}, w.Open
			}
			if newest.Has(name) {
				known++
			}
			a.byName[name] = append(a.byName[name], len(a.all))
			a.all = append(a.all, o)
		case len(a.all) == 0:
			a.unsure = a.unsure || w.Open
		default:
			last := &a.all[len(a.all)-1]
			last.values = append(last.values, w)
			last.open = last.open || w.Open || w.Maybe
		}
		a.unsure = a.unsure || w.Maybe
	}
	needed := enough
	if ownPrograms.MatchString(l.program) {
		needed = 1
	}
	if known < needed || 2*len(strangers(a)) > len(a.byName) {
		return nil // another program's
	}
	a.settle()
	a.release = s.megatronRelease()
	if a.release != "" {
		a.table, _ = megatron.Tables(a.release)
	}
	return a
}

// settle takes open words that follow the values of an option for more options.
func (a *arguments) settle() {
	for i := range a.all {
		o := &a.all[i]
		most := mostValues(o.name)
		for n := len(o.values); n > 0 && o.values[n-1].Open && (most >= 0 && n > most); n-- {
			o.values = o.values[:n-1]
			a.unsure = true
		}
		o.open = slices.ContainsFunc(o.values, func(w shell.Word) bool { return w.Open || w.Maybe })
		a.unsure = a.unsure || most < 0 && o.open
	}
}

// mostValues is how many values an option takes in any release; -1 for an
// unknown option or any number.
func mostValues(name string) int {
	most := -1
	for _, t := range tables() {
		if o, ok := t.Lookup(name); ok {
			if o.Count.Max < 0 {
				return -1
			}
			most = max(most, o.Count.Max)
		}
	}
	return most
}

// tables are the options of all releases.
func tables() []*schema.Table {
	var all []*schema.Table
	for _, v := range (megatron.Backend{}).Versions() {
		t, _ := megatron.Tables(v)
		all = append(all, t)
	}
	return all
}

func newestTable() *schema.Table {
	all := tables()
	return all[len(all)-1]
}

var releaseName = regexp.MustCompile(`\bcore_[rv](\d+\.\d+\.\d+)\b`)

// megatronRelease is the release that the launch is for; "" when nobody says.
func (s *script) megatronRelease() string {
	if s.release != "" {
		return s.release
	}
	found := ""
	for _, m := range releaseName.FindAllSubmatch(s.src, -1) {
		name := "core_v" + string(m[1])
		if found != "" && found != name {
			return ""
		}
		found = name
	}
	if t, _ := megatron.Tables(found); t == nil {
		return ""
	}
	return found
}

// has reports an option that is certainly there.
func (a *arguments) has(name string) bool {
	return slices.ContainsFunc(a.byName[name], func(i int) bool { return !a.all[i].maybe })
}

// mayHave reports an option that may be there.
func (a *arguments) mayHave(name string) bool { return a.unsure || len(a.byName[name]) > 0 }

// last is the last option of a name: the one that counts.
func (a *arguments) last(name string) *option {
	list := a.byName[name]
	if len(list) == 0 {
		return nil
	}
	return &a.all[list[len(list)-1]]
}

// value is the number that an option certainly has; otherwise is what it is when
// it is certainly not there.
func (a *arguments) value(name string, otherwise int) (int, bool) {
	o := a.last(name)
	if o == nil {
		return otherwise, !a.unsure
	}
	n, ok := o.number()
	return n, ok
}

// certain is the number of an option that is there.
func (a *arguments) certain(name string) (float64, *option, bool) {
	o := a.last(name)
	if o == nil || o.open || o.maybe || len(o.values) != 1 {
		return 0, o, false
	}
	x, err := strconv.ParseFloat(strings.ReplaceAll(o.first(), "_", ""), 64)
	return x, o, err == nil
}

// unknownOptions checks names and values by the tables of the releases.
func (s *script) unknownOptions(l *launch, a *arguments) {
	strangers := strangers(a)
	for i := range a.all {
		o := &a.all[i]
		switch {
		case o.maybe || !strings.HasPrefix(o.name, "--"):
		case a.table != nil:
			s.checkOption(a, o)
		case len(strangers) == 0:
			s.checkAnyRelease(o)
		case len(strangers) == 1 && strangers[0] == o.name && ownPrograms.MatchString(l.program):
			s.misspelled(o)
		}
	}
}

// packed finds options that torchrun hands over in one word with others or with their value:
// argparse takes a word with a blank for no option.
func (s *script) packed(l *launch, a *arguments) {
	passed := slices.ContainsFunc(l.command.Words, func(w shell.Word) bool { return strings.HasSuffix(w.Text, ".sh") }) // by a script in between
	for i := range a.all {
		o := &a.all[i]
		if o.packed && !o.joined && l.launcher == "torchrun" && !passed && (i == 0 || !a.all[i-1].packed || a.all[i-1].line != o.line) {
			s.report(UnknownOption, s.place(o), fmt.Sprintf("%s stands in one word with what is behind it, since quotes are around both: Megatron-LM's argument parser takes a word with a blank for no option, and the run ends with its error. Write a word for each.", o.name))
		}
	}
}

// ownPrograms are the programs of Megatron-LM itself.
var ownPrograms = regexp.MustCompile(`(^|/)pretrain_(gpt|bert|t5|vlm|mamba|hybrid)\.py$`)

// strangers are the options that no release has. With several, the program is
// not one of Megatron-LM's own, and takes more.
func strangers(a *arguments) []string {
	var names []string
	for _, o := range a.all {
		if !slices.ContainsFunc(tables(), func(t *schema.Table) bool { return t.Has(o.name) }) && !slices.Contains(names, o.name) {
			names = append(names, o.name)
		}
	}
	return names
}

// checkOption checks an option of a known release.
func (s *script) checkOption(a *arguments, o *option) {
	t := a.table
	if !t.Has(o.name) { // a beginning of it neither: arguments.py makes its parser with allow_abbrev=False
		detail := t.Check(o.name).Error()
		for _, v := range slices.Backward((megatron.Backend{}).Versions()) {
			if other, _ := megatron.Tables(v); other.Has(o.name) {
				detail += fmt.Sprintf(" %s has it.", v)
				break
			}
		}
		s.report(UnknownOption, s.place(o), detail+" The run ends with an error of its argument parser. Remove it, or spell it as the release does.")
		return
	}
	for _, r := range refusedOptions() {
		if r.Option == o.name {
			s.report(UnknownOption, s.place(o), fmt.Sprintf("Megatron-LM %s ends at %s, which is no longer valid. Give %s.", a.release, o.name, r.Instead))
			return
		}
	}
	if p := t.Check(o.name, o.texts()...); p != nil && !o.open {
		s.report(OptionValue, s.place(o), p.Error())
	}
}

// checkAnyRelease checks an option where the release is not known: it must be
// wrong in all of them, and no option of somebody's own.
func (s *script) checkAnyRelease(o *option) {
	var problem *schema.Problem
	for _, t := range tables() {
		if !t.Has(o.name) {
			continue
		}
		p := t.Check(o.name, o.texts()...)
		if p == nil || o.open {
			return
		}
		if option, _ := t.Lookup(o.name); option.Choices != nil {
			return // others have more
		}
		problem = p
	}
	if problem != nil {
		s.report(OptionValue, s.place(o), problem.Error()+" No release from "+span()+" takes it otherwise.")
	}
}

// misspelled reports an option that no release has and that is nearly one.
func (s *script) misspelled(o *option) {
	if near := closest(o.name, newestTable().Names()); near != "" {
		s.report(UnknownOption, s.place(o), fmt.Sprintf("No release of Megatron-LM from %s has an option %s. Did you mean %s?", span(), o.name, near))
	}
}

func span() string {
	all := (megatron.Backend{}).Versions()
	return all[0] + " to " + all[len(all)-1]
}

func (o *option) texts() []string {
	var all []string
	for _, v := range o.values {
		text := v.Text
		if schema.IsNumber(strings.ReplaceAll(text, "_", "")) { // Python takes 1_000 for a number
			text = strings.ReplaceAll(text, "_", "")
		}
		all = append(all, text)
	}
	return all
}

// repeated finds options of which only the last counts.
func (s *script) repeated(a *arguments) {
	for _, name := range sorted(a.byName) {
		list := a.byName[name]
		if len(list) < 2 || a.unsure && mostValues(name) < 0 {
			continue
		}
		first, last := &a.all[list[0]], &a.all[list[len(list)-1]]
		if first.maybe || last.maybe || first.open || last.open || slices.Equal(first.texts(), last.texts()) {
			continue
		}
		if o, ok := newestTable().Lookup(name); !ok || o.Action != "Store" {
			continue
		}
		s.report(RepeatedOption, s.place(last), fmt.Sprintf("%s is %s on line %d and %s here. The last one counts. Remove one.", name, strings.Join(first.texts(), " "), first.line, strings.Join(last.texts(), " ")))
	}
}

// ignored finds options that the release reads and does not follow.
func (s *script) ignored(a *arguments) {
	for _, r := range ignoredOptions() {
		if a.table == nil || !a.table.Has(r.Instead) || !a.has(r.Option) {
			continue
		}
		s.report(IgnoredOption, s.place(a.last(r.Option)), fmt.Sprintf("Megatron-LM %s reads %s and does not follow it: %s. %s is followed.", a.release, r.Option, r.Why, r.Instead))
	}
}

// ranks is how many processes a launch starts in all.
func (s *script) ranks(l *launch) (int, string, bool) {
	if l.launcher == "torchrun" {
		n, _, ok := s.nodesOf(l)
		o := of(l.given, "nproc-per-node")
		p, ok2 := o.number()
		return n * p, units.Count(n, "node") + " × " + units.Count(p, "process"), ok && ok2 && n > 0 && p > 0
	}
	if l.srun == nil || l.launcher != "" || of(l.step, "ntasks", "nodes", "ntasks-per-node") != nil {
		return 0, "", false
	}
	nodes, _, ok := s.number("nodes")
	tasks, _, ok2 := s.number("ntasks-per-node")
	if _, all := s.asked("ntasks"); all {
		return 0, "", false
	}
	return nodes * tasks, units.Count(nodes, "node") + " × " + units.Count(tasks, "task"), ok && ok2
}

// world compares the ranks with the layout, and the batch with the replicas.
func (s *script) world(l *launch, a *arguments) {
	ranks, what, ok := s.ranks(l)
	if !ok {
		return
	}
	size := 1
	var parts []string
	var at *option // the first of them
	for _, p := range []struct{ name, short string }{{"--tensor-model-parallel-size", "tensor"}, {"--pipeline-model-parallel-size", "pipeline"}, {"--context-parallel-size", "context"}} {
		n, ok := a.value(p.name, 1)
		if p.short == "pipeline" && len(a.byName["--no-pipeline-parallel"]) > 0 {
			n, ok = 1, true
		}
		if !ok || n < 1 {
			return
		}
		size *= n
		if n > 1 {
			parts = append(parts, fmt.Sprintf("%s %d", p.short, n))
			at = cmp.Or(at, a.last(p.name))
		}
	}
	if ranks%size != 0 {
		s.report(WorldSize, s.place(at), fmt.Sprintf("The launch starts %s (%s), and one replica takes %d (%s), which does not divide them. Megatron-LM ends with an error.", units.Count(ranks, "rank"), what, size, strings.Join(parts, " × ")))
		return
	}
	global, g, ok := a.certain("--global-batch-size")
	micro, _, ok2 := a.certain("--micro-batch-size")
	if !ok || !ok2 || micro < 1 || slices.ContainsFunc([]string{"--rampup-batch-size", "--step-batch-size-schedule", "--decrease-batch-size-if-needed"}, func(n string) bool { return len(a.byName[n]) > 0 }) {
		return
	}
	replicas := ranks / size
	if int(global)%(int(micro)*replicas) != 0 {
		s.report(BatchSize, s.place(g), fmt.Sprintf("%s cannot be split evenly over %s (%s: %s), each of which takes %d at a time, %d together. Megatron-LM ends with an error.", units.Count(int(global), "sequence"), units.Count(replicas, "replica"), units.Count(ranks, "rank"), what, int(micro), int(micro)*replicas))
	}
}

// oldGPU finds a GPU before Blackwell in what a job asks Slurm for, where names are of
// the site's making ("h100"), of the driver's ("nvidia_a100-sxm4-80gb") or of more words
// ("rtx_4090").
var oldGPU = regexp.MustCompile(`(?i)(?:^|[^a-z0-9])(v100|a100|a800|a10g?|a40|l4|l40s?|rtx_?4090|h100|g?h200|h800|h20)(?:[^a-z0-9]|$)`)

// connections checks CUDA_DEVICE_MAX_CONNECTIONS, which the releases assert:
// not 1 under FSDP, and 1 for tensor and context parallelism before Blackwell.
func (s *script) connections(a *arguments) {
	const name = "CUDA_DEVICE_MAX_CONNECTIONS"
	var set *shell.Export
	for i := range s.shell.Exports {
		if s.shell.Exports[i].Name == name {
			set = &s.shell.Exports[i]
		}
	}
	fsdp := a.has("--use-megatron-fsdp") || a.has("--use-torch-fsdp2")
	if set != nil && fsdp && set.Value.Text == "1" && !set.Value.Open && !set.Value.Maybe && !a.unsure {
		s.report(Connections, s.find(set.Value.Line, name), "The launch uses FSDP, and Megatron-LM from "+span()+" refuses it with the value 1, under which its communication waits for computation. Remove the variable or set 8.")
		return
	}
	t, ok := a.value("--tensor-model-parallel-size", 1)
	c, ok2 := a.value("--context-parallel-size", 1)
	if !ok || !ok2 || t < 2 && c < 2 || fsdp || a.unsure || a.mayHave("--overlap-moe-expert-parallel-comm") || a.mayHave("--use-megatron-fsdp") || !s.upstream(a) {
		return
	}
	gpu, known := s.gpuName()
	if !known || s.mentions(name) && (set == nil || set.Value.Open || set.Value.Maybe || set.Value.Text == "1") || s.takes() {
		return
	}
	at, what := s.place(&a.all[0]), "The script does not set it."
	if set != nil {
		at, what = s.find(set.Value.Line, name), fmt.Sprintf("It is %s here.", set.Value.Text)
	}
	s.report(Connections, at, fmt.Sprintf("%s Megatron-LM from %s asks for the value 1 before Blackwell, as on %s, where tensor or context parallelism is above 1 (tensor %d, context %d), and ends with an error otherwise. Write export %s=1.", what, span(), gpu, t, c, name))
}

// upstream reports that every option is one of a release: the program is no fork
// of another age.
func (s *script) upstream(a *arguments) bool {
	for _, t := range tables() {
		if !slices.ContainsFunc(a.all, func(o option) bool { return !t.Has(o.name) }) {
			return true
		}
	}
	return false
}

// gpuName is the GPU that the job asks for, if it is one before Blackwell.
func (s *script) gpuName() (string, bool) {
	for _, name := range []string{"gres", "gpus-per-node", "gpus", "constraint"} {
		if d, ok := s.asked(name); ok {
			if m := oldGPU.FindStringSubmatch(d.value); m != nil {
				return m[1], true
			}
		}
	}
	return "", false
}

// lateExit compares the run's own limit with that of the job.
func (s *script) lateExit(a *arguments) {
	d, ok := s.asked("time")
	x, o, ok2 := a.certain("--exit-duration-in-mins")
	limit, ok3 := slurm.Minutes(d.value)
	if ok && ok2 && ok3 && x >= limit {
		s.report(LateExit, s.place(o), fmt.Sprintf("The run saves and ends itself after %s minutes, and Slurm ends the job after %g (--time=%s on line %d): what was trained since the last checkpoint is lost. Leave time for a step and two saves.", o.first(), limit, d.value, d.at.Start.Line))
	}
}

// expertGradients reports experts whose gradients a release adds up over the ranks that
// share the dense layers, which are others than those that share the experts.
func (s *script) expertGradients(a *arguments) {
	if a.release == "" || megatron.ReducesExperts(a.release) || !a.has("--num-experts") {
		return
	}
	degree := func(name string) (int, *option, bool) {
		if !a.mayHave(name) {
			return 1, nil, true
		}
		x, o, ok := a.certain(name)
		return int(x), o, ok
	}
	expert, _, ok := degree("--expert-model-parallel-size")
	tensor, _, ok2 := degree("--tensor-model-parallel-size")
	split, o, ok3 := degree("--expert-tensor-parallel-size")
	if o != nil && ok && ok2 && ok3 && expert == 1 && split != tensor {
		s.report(ExpertGradients, s.place(o), fmt.Sprintf("Experts are spread over %d tensor ranks and other layers over %d, without --expert-model-parallel-size above 1: Megatron-LM before core_v0.19.0 then adds up gradients of experts over the data-parallel ranks of the other layers, and trains wrong without a word. Set --expert-tensor-parallel-size %d, or --expert-model-parallel-size above 1.", split, tensor, tensor))
	}
}

// expertBiases reports experts of Megatron-core's own layers whose biases the tensor ranks add
// up. RowParallelLinear marks its bias as one of sequence parallelism, also an expert's
// (core/tensor_parallel/layers.py), and finalize_model_grads.py sums what is marked over the
// tensor ranks, which then hold different experts. Transformer Engine marks none.
func (s *script) expertBiases(a *arguments) {
	experts, _, ok := a.certain("--num-experts")
	tensor, _, ok2 := a.certain("--tensor-model-parallel-size")
	parallel, o, ok3 := a.certain("--expert-model-parallel-size")
	split, _, ok4 := a.certain("--expert-tensor-parallel-size")
	if !ok || !ok2 || !ok3 || !ok4 || experts < 2 || tensor < 2 || parallel < 2 || split != 1 || !a.has("--sequence-parallel") || !a.is("--transformer-impl", "local") || !s.upstream(a) ||
		slices.ContainsFunc([]string{"--disable-bias-linear", "--moe-grouped-gemm", "--spec"}, a.mayHave) {
		return
	}
	s.report(ExpertBiases, s.place(o), fmt.Sprintf("Linear layers have biases where --disable-bias-linear is not set. With --transformer-impl local and --sequence-parallel, Megatron-LM from %s adds up the gradients of the biases of experts over the %g tensor ranks, which hold different experts (--expert-model-parallel-size %s, --expert-tensor-parallel-size 1), and trains wrong without a word. Set --disable-bias-linear, or --transformer-impl transformer_engine.", span(), tensor, o.first()))
}

// tiedPredictions reports pipelines that end where they save or load: with MTP layers and tied
// embeddings the last stage has an output layer that a sharded checkpoint must not name.
func (s *script) tiedPredictions(a *arguments) {
	mtp, o, ok := a.certain("--mtp-num-layers")
	stages, _, ok2 := a.certain("--pipeline-model-parallel-size")
	if !ok || !ok2 || mtp < 1 || stages < 2 || !a.has("--save") && !a.has("--load") || !s.upstream(a) ||
		a.mayHave("--untie-embeddings-and-output-weights") || a.mayHave("--ckpt-format") && !a.is("--ckpt-format", "torch_dist") {
		return
	}
	s.report(TiedPredictions, s.place(o), fmt.Sprintf("Embeddings are tied where --untie-embeddings-and-output-weights is not set. With --mtp-num-layers %s the last of %g pipeline stages then keeps an output layer of its own that nothing trains, and Megatron-LM ends with an AssertionError where it saves or loads. Set --untie-embeddings-and-output-weights, or --pipeline-model-parallel-size 1.", o.first(), stages))
}

// is reports whether an option certainly has a value.
func (a *arguments) is(name, value string) bool {
	o := a.last(name)
	return o != nil && !o.open && !o.maybe && o.first() == value
}
