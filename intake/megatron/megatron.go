// Package megatron reads a launch of Megatron-LM into a job, by the tables that
// package backends/megatron writes launches by: the options of a release, with
// their defaults, and the class of each, which names the argument of the job that
// it is. Most options say their argument as it stands; the rest have a function
// here. Layout and execution become pins, so that the job plans the run as it is.
// Scripts themselves are read by package intake/shell.
package megatron

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/shell"
)

// Kind is the backend's kind.
const Kind = "megatron"

// reading is one launch being read.
type reading struct {
	d        *draft.Draft
	file     string
	version  string
	table    *schema.Table
	classes  *schema.Classes
	given    map[string]*option // by the attribute that they set, as far as it is read
	words    map[string]bool    // the options of the command line, as written
	own      bool               // the program has options that the release has not
	pretrain bool               // the program is one of Megatron-LM's own, or named as these
	quiet    bool               // defaults are being read, of which nobody wants to hear
	passed   []string           // extra_args
	fewer    *draft.Value       // the precision of fewer than 16 bits that is asked for; nil
	unread   map[string]bool    // the arguments of options that are there and could not be read
	off      map[string]bool    // the arguments of switches that are given the value false
	// unreadWords are their words, where the option has one whatever a run knows.
	unreadWords map[string]string
	trains      string  // the architecture that the program trains, where it is none of the language's; ""
	foreign     bool    // layers are those of a fork's own module
	paired      bool    // each layer of the launch is two of the language's, a mixer and what follows it
	rampTokens  float64 // after which the batch has grown, where the launch says tokens
}

// Read reads a launch into the draft. version names the release, "" takes the
// newest of those that know the most of its options.
func Read(d *draft.Draft, file, version string, c shell.Command) error {
	return read(d, file, version, c, false)
}

// ReadPart is Read of options to which a script adds some that nobody knows: what they
// leave open of layout and execution, and the precision, have no defaults.
func ReadPart(d *draft.Draft, file, version string, c shell.Command) error {
	return read(d, file, version, c, true)
}

func read(d *draft.Draft, file, version string, c shell.Command, part bool) error {
	program, options := cut(file, c.Words)
	if underscored(c.Words) {
		for i := range options {
			options[i].name = dashed(options[i].name)
			options[i].long = options[i].name
		}
		d.Note(draft.Labelled("backend", Kind), "options that the launch spells with underscores are read as Megatron-LM's, which have dashes")
	}
	for i, o := range options {
		name := strings.ReplaceAll(o.name, "_", "-")
		w := former()[name]
		if w.Other != "" { // spelled either way
			options[i].name, options[i].long = name, name
		}
		if w.Other != "" && !o.open && !o.maybe && !slices.Contains(w.Only, o.first()) {
			return fmt.Errorf("line %d: %s: %s", o.line.Line, strings.TrimSpace(o.name+" "+o.first()), w.Other)
		}
	}
	if version == "" {
		version = fit(options)
	}
	table, classes := megatron.Tables(version)
	if table == nil {
		return fmt.Errorf("ndc does not emit for Megatron-LM %s", version)
	}
	r := &reading{d: d, file: file, version: version, table: table, classes: classes, given: map[string]*option{}, words: map[string]bool{}, unread: map[string]bool{}, off: map[string]bool{}, unreadWords: map[string]string{}}
	for i := range options {
		r.words[options[i].name] = true
		_, known := lookup(table, options[i].name)
		_, fork := former()[options[i].name]
		r.own = r.own || !known && !fork
	}
	before := len(d.Findings)
	r.pretrain = slices.ContainsFunc(program, func(w shell.Word) bool { return strings.HasPrefix(path.Base(w.Text), "pretrain_") })
	for i, w := range program {
		if i == 0 && w.Open && behind(c) == 0 { // it may be the program with options of its own
			r.unknownWords([]shell.Word{w})
		}
		if i > 0 && i == behind(c)-1 && w.Open && !strings.HasSuffix(w.Text, ".py") {
			d.Find(draft.Finding{Place: Place(file, w), Name: draft.Guarded("", w.Text), Verdict: draft.Unknown, Why: "only a run knows which program it is"})
		} else if i > 0 && w.Open && manyWords.MatchString(w.Text) && !strings.HasSuffix(w.Text, ".py") && !strings.HasPrefix(program[i-1].Text, "-") {
			d.Find(draft.Finding{Place: Place(file, w), Name: draft.Guarded("", w.Text), Verdict: draft.Unknown, Why: "only a run knows which options of what starts the program it stands for"})
		}
	}
	var loose []shell.Word
	for _, w := range c.Words[len(program):] {
		if strings.HasPrefix(w.Text, "-") {
			break
		}
		if r.isLoose(w) {
			loose = append(loose, w)
		}
	}
	r.unknownWords(loose)
	for _, late := range []bool{false, true} {
		for i := range options {
			if slices.Contains(lateOptions, options[i].name) == late {
				r.option(&options[i])
			}
		}
	}
	r.program(program)
	r.programmed(program)
	if part {
		r.leaveOpen()
	}
	r.defaults()
	r.complete()
	r.ask()
	r.void(before)
	block := draft.Labelled("backend", Kind)
	d.Set(block+".version", version, draft.Place{})
	if len(r.passed) > 0 {
		d.Set(block+".extra_args", r.passed, draft.Place{})
	}
	return nil
}

// program takes the path of the framework and the size of the job from what
// starts it.
func (r *reading) program(before []shell.Word) {
	Started(r.d, r.file, before)
	if len(before) == 0 {
		return
	}
	script := before[len(before)-1]
	if dir := path.Dir(script.Text); !script.Open && path.IsAbs(dir) && strings.HasPrefix(path.Base(script.Text), "pretrain_") {
		r.d.Set(draft.Labelled("backend", Kind)+".path", dir, r.at(Place(r.file, script)))
	}
}

// at is a place of what is read, and none of defaults.
func (r *reading) at(p draft.Place) draft.Place {
	if p.Line == 0 || r.quiet {
		return draft.Place{}
	}
	return p
}

func (r *reading) find(o *option, v draft.Verdict, to, why string) {
	if r.quiet {
		return
	}
	value := strings.Join(o.texts(), " ")
	if len(value) > 100 {
		value = value[:97] + "…"
	}
	if _, known := lookup(r.table, o.name); !known {
		value = draft.Guarded(o.name, value)
	}
	r.d.Find(draft.Finding{Place: o.line, Name: o.name, Value: value, Verdict: v, To: to, Why: why})
}

// conditional is why an option says nothing that may be there or not.
const conditional = "it stands under a condition whose outcome is known only when the script runs"

// option reads one option that stands on the command line.
func (r *reading) option(o *option) {
	entry, ok := lookup(r.table, o.name)
	most := 1 // of an option that nobody knows
	if ok {
		most = entry.Count.Max
	}
	r.loose(o, most, ok)
	if o.unnamed && !ok {
		r.unknownWords([]shell.Word{{Text: o.name, File: o.line.File, Line: o.line.Line}})
		return
	}
	if len(o.values) > 1 && strings.EqualFold(o.first(), "your") { // what templates say where a path belongs
		o.values = []shell.Word{{Text: "<" + strings.Join(o.texts(), "_") + ">", File: o.values[0].File, Line: o.values[0].Line}}
	}
	if r.ofOthers(o, ok) {
		return
	}
	if !r.table.Has(o.name) {
		o.long = entry.Names[0]
	}
	class, _ := r.classes.Of(entry)
	argument := class.Argument
	if row := rows()[o.long]; row.Argument != "" {
		argument = row.Argument
	}
	if why, words := r.refused(o, entry.Count.Max); why != "" {
		r.unread[argument] = true
		if words != "" {
			r.unreadWords[argument] = words
		}
		r.find(o, draft.Unknown, "", why)
		return
	}
	if entry.Count.Max == 0 && len(o.values) == 1 && strings.EqualFold(o.first(), "false") { // as programs take it that declare a switch as a truth value
		r.off[argument] = true
		r.find(o, draft.Left, "", "the launch switches it off")
		return
	}
	r.trim(o, &entry)
	_, former := rows()[o.long].Former[o.first()]
	if p := r.table.Check(o.long, o.texts()...); p != nil && !o.open && !former {
		r.unread[argument], r.unreadWords[argument] = true, o.first()
		r.find(o, draft.Unknown, "", p.Error())
		return
	}
	r.take(o, &entry, argument)
}

// ofOthers reads an option that is no release's under its name: one of a fork or of an earlier
// release, one of a program that says a number of the cluster, or one that nobody knows. It
// reports false for those of the release.
func (r *reading) ofOthers(o *option, ok bool) bool {
	if w, known := former()[o.name]; known { // it may also begin one of the release's
		result := unknown(conditional)
		if !o.maybe || w.Left != "" {
			result = w.read(r, o)
		} else if w.Opens != "" {
			r.unread[w.Opens] = true
		}
		r.unread[w.Argument] = r.unread[w.Argument] || result.verdict == draft.Unknown
		r.report(o, w.Argument, result)
		return true
	}
	if argument := counting(o.name); argument != "" && !ok {
		result := outcome{to: argument}
		if n, err := strconv.ParseInt(o.first(), 10, 64); o.open || o.maybe || err != nil || n < 1 {
			result = unknown(draft.OnlyRunKnows)
		} else {
			r.d.Set(argument, n, r.at(o.line))
		}
		r.report(o, argument, result)
		return true
	}
	if !ok {
		for _, p := range programs() {
			if slices.Contains(p.Later, o.name) && r.words[p.Option] && !o.maybe {
				r.given[o.name] = o
			}
		}
		r.find(o, draft.Unknown, "", r.version+" has no such option")
		return true
	}
	return false
}

// refused says why nothing of an option of the release is read, and which words it has where
// these are too many; "" where it is. The option takes at most so many values.
func (r *reading) refused(o *option, most int) (why, words string) {
	if why := r.apart(o.long); why != "" {
		return why, ""
	}
	switch short := !r.table.Has(o.name); {
	case o.maybe:
		return conditional, ""
	case short && r.own:
		return "the program has options of its own: this may be one, or " + o.long + " cut short", ""
	case numbers(o, most):
		return fmt.Sprintf("it has %d values, of which %s takes %d", len(o.values), r.version, most), strings.Join(o.texts(), " ")
	}
	return "", ""
}

// take reads the values of an option of the release, which says an argument, is passed on, or is
// for nobody to read.
func (r *reading) take(o *option, entry *schema.Option, argument string) {
	class, _ := r.classes.Of(*entry)
	earlier := r.given[entry.Dest]
	r.given[entry.Dest] = o
	if earlier != nil && o.open && argument != "" {
		r.d.Leave(argument, fmt.Sprintf("it stands again on line %d, and the last counts", o.line.Line))
	}
	if read := readers()[o.long]; read != nil || class.Kind == schema.Job {
		result := r.value(o, class.Argument)
		if result.verdict == draft.Unknown && !result.noted {
			r.unread[argument], r.unreadWords[argument] = true, o.first()
		}
		r.report(o, class.Argument, result)
		return
	}
	switch class.Kind {
	case schema.Fixed, schema.Planned:
		r.find(o, draft.Unknown, "", class.Why)
	case schema.Unread:
		r.find(o, draft.Left, "", "the program does not read it; it is for "+class.Why)
	default:
		r.pass(o, class, earlier)
	}
}

// numbers reports values that are numbers, or batches by tokens, like those before them and
// more than a release takes: those of a fork's option that has one for every layer, unless they
// are all the same, or of a text that bash splits.
func numbers(o *option, most int) bool {
	texts := o.texts()
	if most < 1 || len(texts) <= most || !slices.ContainsFunc(texts, func(text string) bool { return text != texts[0] }) {
		return false
	}
	return !slices.ContainsFunc(o.values, func(w shell.Word) bool {
		return slices.ContainsFunc(strings.Split(w.Text, ":"), func(part string) bool {
			_, ok := magnitude(strings.TrimPrefix(part, "-"))
			return !ok
		})
	})
}

// trim drops words that argparse would not take as values of an option, such as
// those of a comment or a redirection.
func (r *reading) trim(o *option, entry *schema.Option) {
	if most := entry.Count.Max; most >= 0 && len(o.values) > most {
		o.values = o.values[:most]
		o.open = slices.ContainsFunc(o.values, func(w shell.Word) bool { return w.Open })
	}
	for i := range o.values { // Python takes 1_000 for a number
		if !o.open && (entry.Type == "int" || entry.Type == "float" || strings.Contains(o.long, "rampup")) {
			o.values[i].Text = strings.ReplaceAll(o.values[i].Text, "_", "")
		}
	}
}

// pass hands an option on to the framework, which takes the last of several.
func (r *reading) pass(o *option, class schema.Class, earlier *option) {
	if earlier != nil {
		r.takeBack(earlier, draft.Left, fmt.Sprintf("it stands again on line %d, and the last counts", o.line.Line))
	}
	if o.open && strings.Contains(o.first(), "BASH_SOURCE") && class.Kind == schema.Chosen {
		r.find(o, draft.Left, "", "beside the script, where ndc has a place of its own")
		return
	}
	if o.open {
		r.find(o, draft.Unknown, "", draft.OnlyRunKnows+", and extra_args are taken as they stand")
		return
	}
	if strings.HasPrefix(o.first(), "<") && strings.HasSuffix(o.first(), ">") {
		r.find(o, draft.Unknown, "", "its value is still to be filled in")
		return
	}
	if p := r.table.Check(o.long, o.texts()...); p != nil {
		r.find(o, draft.Unknown, "", p.Error())
		return
	}
	if entry, ok := r.table.Lookup(o.long); ok && !class.Replaces() && len(o.values) == 1 && usual(entry.Default, o.first()) {
		r.find(o, draft.Left, "", "the release's default")
		return
	}
	if megatron.Refuses(r.version, o.long, o.first()) {
		r.find(o, draft.Left, "", r.version+" refuses it: "+class.Why)
		return
	}
	r.passed = append(append(r.passed, o.long), o.texts()...)
	r.find(o, draft.Passed, "", class.Why)
}

// takeBack passes an option no longer on, and says what it is instead.
func (r *reading) takeBack(o *option, v draft.Verdict, why string) {
	start := slices.Index(r.passed, o.long)
	if start < 0 {
		return
	}
	end := start + 1
	for end < len(r.passed) && !strings.HasPrefix(r.passed[end], "--") {
		end++
	}
	r.passed = slices.Delete(r.passed, start, end)
	r.d.Correct(o.line, o.name, v, "", why)
}

// leaveOpen takes what no option says of layout, execution and precision for unread.
func (r *reading) leaveOpen() {
	said := map[string]bool{}
	for _, name := range r.table.Names() {
		entry, _ := r.table.Lookup(name)
		class, _ := r.classes.Of(entry)
		said[class.Argument] = said[class.Argument] || r.given[entry.Dest] != nil
	}
	for argument, is := range said {
		if !is && (strings.HasPrefix(argument, "constraints.") || strings.HasPrefix(argument, "execution.") || argument == "training.precision") {
			r.unread[argument] = true
		}
	}
}

// defaults reads what Megatron-LM does where the launch says nothing, by the
// defaults of the release's table: ndc's own would be another run.
func (r *reading) defaults() {
	r.quiet = true
	for _, name := range r.table.Names() {
		entry, _ := r.table.Lookup(name)
		class, _ := r.classes.Of(entry)
		if r.given[entry.Dest] != nil || class.Kind != schema.Job || name != entry.Names[0] || rows()[name].Silent != "" || entry.Action != "Store" {
			continue
		}
		if !strings.HasPrefix(class.Argument, "model.") && !strings.HasPrefix(class.Argument, "training.") && !strings.HasPrefix(class.Argument, "constraints.") {
			continue
		}
		var text string
		switch v := entry.Default.(type) {
		case float64:
			text = strconv.FormatFloat(v, 'g', -1, 64)
		case string:
			if v == "" {
				continue // none
			}
			text = v
		default:
			continue
		}
		if r.d.Has(class.Argument) {
			continue
		}
		r.value(&option{name: name, long: name, values: []shell.Word{{Text: text}}}, class.Argument)
	}
	r.quiet = false
}

// Drop takes back what would be passed on and what the launch that ndc emits for
// the draft says too, or excludes: data to test with beside one source for everything
// (arguments.py: validate_args, data blend checks).
func Drop(d *draft.Draft, emitted shell.Command) {
	_, options := cut("", emitted.Words)
	said := map[string]string{}
	for _, o := range options {
		said[o.name] = strings.Join(o.texts(), " ")
	}
	path := draft.Labelled("backend", Kind) + ".extra_args"
	v, _ := d.Get(path)
	passed, _ := v.Value.([]string)
	given := make([]shell.Word, len(passed))
	for i, w := range passed {
		given[i].Text = w
	}
	var kept []string
	dropped := map[string]string{} // why
	_, options = cut("", given)
	for _, o := range options {
		values := strings.Join(o.texts(), " ")
		if emitted, ok := said[o.name]; ok && emitted == values {
			dropped[o.name] = "ndc emits it too"
			continue
		}
		_, mock := said["--mock-data"]
		if _, one := said["--data-path"]; o.name == "--test-data-path" && (mock || one) {
			dropped[o.name] = "the release takes no such data beside " + map[bool]string{true: "--mock-data", false: "--data-path"}[mock]
			continue
		}
		kept = append(append(kept, o.name), o.texts()...)
	}
	for i := range d.Findings {
		if f := &d.Findings[i]; f.Verdict == draft.Passed && dropped[f.Name] != "" {
			f.Verdict, f.Why = draft.Left, dropped[f.Name]
		}
	}
	if d.Remove(path); len(kept) > 0 {
		d.Set(path, kept, draft.Place{})
	}
}
