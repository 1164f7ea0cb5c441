package intake

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/megatron"
	"github.com/ndc-dev/ndc/intake/settings"
	"github.com/ndc-dev/ndc/intake/shell"
)

// engine is where a script starts a fork of Megatron-LM that DeepSpeed runs, and that has a
// configuration of it beside its own options.
func (in *intake) engine() (draft.Place, bool) {
	for f, s := range in.whole() {
		if generated.Match(f.Content) {
			continue
		}
		c, ok := launched(s)
		if ok && slices.ContainsFunc(c.Words, func(w shell.Word) bool { return w.Text == "--num-layers" }) {
			return megatron.Place(f.Name, c.Words[0]), true
		}
	}
	return draft.Place{}, false
}

// another names a launch of a script from which another one is read.
func (in *intake) another(file string, o megatron.Other) {
	read := megatron.Place(file, o.Read)
	in.d.Find(draft.Finding{Place: megatron.Place(file, o.Word), Name: o.Program.Text, Value: draft.Guarded("", o.Word.Text), Verdict: draft.Unknown,
		Why: fmt.Sprintf("another launch than the one with %s on line %d, which was read, and a job has one", draft.Guarded("", o.Read.Text), read.Line)})
}

// titanOptions are the options of TorchTitan on the command line of the scripts that
// come with its configuration as TOML. What it prints has them already.
func (in *intake) titanOptions(f File) (all []settings.Option) {
	if path.Ext(f.Name) != ".toml" {
		return nil
	}
	var read []shell.Word // the options of the launch that is read
	for f, s := range in.whole() {
		launches := func(c shell.Command) bool {
			return slices.ContainsFunc(c.Words, isConfigured) || settings.TitanOptions(commandLine(f.Name, c)) != nil
		}
		for i, c := range s.Commands {
			if !launches(c) {
				continue
			}
			options := c.Words[max(slices.IndexFunc(c.Words, isSection), 0):]
			switch word, other, differ := megatron.Differ(options, read); {
			case slices.ContainsFunc(s.Commands[i+1:i+1+c.Inner], launches): // a script that starts it
			case read == nil:
				read = options
				words := commandLine(f.Name, c)
				in.loose(settings.Loose(words))
				all = append(all, settings.TitanOptions(words)...)
			case differ:
				in.another(f.Name, megatron.Other{Program: c.Words[0], Word: word, Read: other})
				continue
			}
			megatron.Started(in.d, f.Name, c.Words)
			in.processes(f.Name, s, c)
		}
	}
	return all
}

// loose names the words of a launch of TorchTitan that may be any options, here and at the job's head.
func (in *intake) loose(words []settings.Word) {
	for _, w := range words {
		text := draft.Guarded("", w.Text)
		in.d.Find(draft.Finding{Place: w.At, Name: text, Verdict: draft.Unknown, Why: "only a run knows which options it stands for, and these count before the file"})
		in.d.Note("", fmt.Sprintf("%s:%d: %s may be any options of the launch, which count before the file", w.At.File, w.At.Line, text))
	}
}

// missing names the configuration that a script starts a framework with, and that is
// not among the files, or else what it starts; "" where it starts nothing.
func (in *intake) missing() string {
	scripts := in.scripts()
	other := "" // than training
	for _, f := range in.files {
		e := scripts[f.Name]
		if e.script == nil {
			continue
		}
		for _, c := range e.script.Commands {
			if what := idle(c); what != "" {
				other = fmt.Sprintf(" On line %d it starts %s: a job is for training a model of language.", c.Words[0].Line, what)
				continue
			}
			if p := stranger(c); p != nil {
				return fmt.Sprintf(" On line %d it starts %s, whose configuration ndc does not read. %s", c.Words[0].Line, p.Program, p.Give)
			}
			if place, name := pythonConfig(c); name != "" {
				return fmt.Sprintf(" On line %d TorchTitan is started with the configuration %s in Python: give what it prints of that with --debug.print_config, too.", place, name)
			}
			if _, why := unconfigured(f.Name, e.script, c); why != "" {
				return why
			}
		}
		if len(e.script.Problems) > 0 {
			return fmt.Sprintf(" %s is not read to its end: %s.", path.Base(f.Name), e.script.Problems[0])
		}
		if len(e.script.Cut) > 0 {
			c := e.script.Cut[0]
			return fmt.Sprintf(" On line %d bash runs %s as a command: the line before does not go on, and its command is without this option and all that follow.", c.Words[0].Line, c.Words[0].Text)
		}
	}
	return cmp.Or(in.starts(), other)
}

// unconfigured is the framework that a command of a script starts with a configuration, and
// what to give; "" where it starts none.
func unconfigured(file string, s *shell.Script, c shell.Command) (framework, give string) {
	for i, w := range c.Words {
		name, value, joined := strings.Cut(w.Text, "=")
		if !joined && i+1 < len(c.Words) {
			value = c.Words[i+1].Text
		}
		switch {
		case isConfigured(w):
			framework = "TorchTitan"
		case (name == "--deepspeed" || name == "--deepspeed_config") && strings.HasSuffix(value, ".json") || settings.Underscored(name) == "--deepspeed_config_file":
			framework = "DeepSpeed"
		case settings.Underscored(name) == "--config_file" && settings.AccelerateLaunch(commandLine(file, c)[:i]) >= 0:
			framework = "accelerate"
		}
		if framework != "" && slices.ContainsFunc(s.Documents, func(d shell.Document) bool { return d.Path.Text == value }) {
			return framework, fmt.Sprintf(" On line %d %s is started with the configuration %s, which the script writes with values that only a run knows: give that file as a run wrote it, too.", w.Line, framework, value)
		}
		if strings.Contains(value, "$(") { // of a folder that only a run knows
			value = path.Base(value)
		}
		if framework != "" {
			return framework, fmt.Sprintf(" On line %d %s is started with the configuration %s: give that file, too.", w.Line, framework, value)
		}
	}
	return "", ""
}

// withoutEngine names a script that starts a framework with a configuration which nobody gave,
// and what to give, so that no job for another framework is made of the rest.
func (in *intake) withoutEngine() (File, string) {
	for f, s := range in.whole() {
		for _, c := range s.Commands {
			if framework, give := unconfigured(f.Name, s, c); framework != "" && framework != "accelerate" && idle(c) == "" && stranger(c) == nil {
				return f, give
			}
		}
	}
	return File{}, ""
}

// startsDeepSpeed reports a script that starts DeepSpeed, whose configuration its program makes.
func (in *intake) startsDeepSpeed() bool {
	for _, s := range in.whole() {
		for _, c := range s.Commands {
			by := func(w shell.Word) bool { return path.Base(w.Text) == "deepspeed" || w.Text == "--deepspeed" }
			program := func(w shell.Word) bool { return strings.HasSuffix(w.Text, ".py") }
			if slices.ContainsFunc(c.Words, by) && slices.ContainsFunc(c.Words, program) && idle(c) == "" && stranger(c) == nil {
				return true
			}
		}
	}
	return false
}

// pythonConfig is where a command names a configuration of TorchTitan 0.3 or later,
// and its name; "" where it names none.
func pythonConfig(c shell.Command) (line int, config string) {
	module := false
	for i, w := range c.Words {
		name, value, joined := strings.Cut(w.Text, "=")
		if !joined && i+1 < len(c.Words) {
			value = c.Words[i+1].Text
		}
		switch name {
		case "--module":
			module = true
		case "--config":
			line, config = w.Line, value
		}
	}
	if !module {
		return 0, ""
	}
	return line, config
}

// isSection reports an option of a section of TorchTitan's configuration.
func isSection(w shell.Word) bool {
	name, _, _ := strings.Cut(w.Text, "=")
	return strings.HasPrefix(name, "--") && strings.Contains(name, ".")
}

// isConfigured reports the option of TorchTitan that names its configuration.
func isConfigured(w shell.Word) bool {
	name, _, _ := strings.Cut(w.Text, "=")
	return strings.ReplaceAll(name, "-", "_") == "__job.config_file"
}

// batch is what TorchTitan makes of a batch that nothing says: that of one GPU for
// every replica (train.py), which pipelines cut up. DeepSpeed multiplies its micro-batches
// with the replicas (runtime/config.py: _set_batch_related_parameters), and so does
// Megatron-LM (arguments.py: validate_args).
func (in *intake) batch() {
	const layout, global = "constraints.layout.", "training.global_batch_size"
	d := in.d
	titan, engine := in.launch == settings.TorchTitanKind, in.launch == settings.DeepSpeedKind
	if !titan && !engine && in.launch != megatron.Kind || d.Has(global) || slices.Contains(d.Asked(), global) {
		return
	}
	gpus := d.Int("cluster.gpus_per_node")
	if gpus == 0 && in.o.Cluster != "" {
		gpus = int64(clusterOf(in.o.Cluster).GPUsPerNode)
	}
	of := func(name string, unsaid int64) int64 {
		if n := d.Int(layout + name); n > 0 || d.Has(layout+name) {
			return n
		}
		return unsaid
	}
	ranks, batches := int64(0), int64(0) // where nothing is said
	switch {
	case engine && settings.Shared(d):
		return
	case engine:
		ranks = 1
	case titan:
		batches = 1
	}
	parts := of("tensor_parallel", ranks) * of("context_parallel", ranks) * of("pipeline_parallel", ranks)
	local := of("micro_batch_size", 0) * of("micro_batches", batches)
	if world := d.Int("cluster.nodes") * gpus; world > 0 && parts > 0 && world%parts == 0 && local > 0 {
		d.Set(global, local*(world/parts), draft.Place{})
		d.Remove(layout + "micro_batches")
	}
}

// commandLine is a command of a script as package settings reads it.
func commandLine(file string, c shell.Command) []settings.Word {
	words := make([]settings.Word, len(c.Words))
	for i, w := range c.Words {
		words[i] = settings.Word{Text: w.Text, At: megatron.Place(file, w), Open: w.Open || w.Maybe}
	}
	return words
}

// accelerate are the options of the command of the scripts that starts accelerate, and
// whether they say all that its file would.
func (in *intake) accelerate() ([]settings.Option, bool) {
	for f, s := range in.whole() {
		for _, c := range s.Commands {
			if options, whole := settings.AccelerateOptions(commandLine(f.Name, c)); whole || options != nil {
				return options, whole
			}
		}
	}
	return nil, false
}

// driven reports a program that one of its words, or of the variables that it is
// started with, tells where the configuration of DeepSpeed is that is read.
func (in *intake) driven(s *shell.Script, c shell.Command) bool {
	is := func(w shell.Word) bool {
		return path.Base(w.Text[strings.LastIndexByte(w.Text, '=')+1:]) == in.config
	}
	program := settings.Program(commandLine("", c))
	return in.config != "" && program >= 0 && (slices.ContainsFunc(c.Words[program:], is) ||
		slices.ContainsFunc(s.Exports, func(e shell.Export) bool { return is(e.Value) }))
}

// deepSpeed reads the line that starts DeepSpeed.
func (in *intake) deepSpeed(file string, s *shell.Script) error {
	options, whole := in.accelerate()
	if alone := in.launch == ""; !in.heard && (alone && whole || in.launch == settings.DeepSpeedKind && options != nil) {
		in.launch, in.heard = settings.DeepSpeedKind, true
		settings.ReadAccelerate(in.d, file, cmp.Or(in.o.Version, in.own), nil, alone, options...)
	}
	var read []shell.Word // the program of the launch that is read, with its options
	var other error       // than training, which is not all that the script starts
	for _, c := range s.Commands {
		if what := idle(c); what != "" {
			if settings.Launcher(draft.New(), file, commandLine(file, c), in.trained, in.driven(s, c)) {
				other = fmt.Errorf("line %d: it starts %s: a job is for training a model of language", c.Words[0].Line, what)
			}
			continue
		}
		words := commandLine(file, c)
		program := c.Words[max(settings.Program(words), 0):]
		if err := settings.TrainsOther(words); err != nil && read == nil && !in.trained {
			return err
		}
		trained := in.trained || in.heard && read == nil && settings.Accelerated(in.d, file, words)
		switch word, before, differ := megatron.Differ(program, read); {
		case read == nil && settings.Launcher(in.d, file, words, trained, in.driven(s, c)):
			read = program
			in.loose(settings.Loose(words))
			in.processes(file, s, c)
			settings.Batch(in.d, words, trained)
		case read != nil && differ && settings.Launcher(draft.New(), file, words, in.trained, in.driven(s, c)):
			in.another(file, megatron.Other{Program: c.Words[0], Word: word, Read: before})
		}
	}
	if read == nil && in.launch != "" && !in.trained && in.own == "" {
		in.unseen(file, s)
	}
	if read != nil || in.trained {
		return nil
	}
	return other
}
