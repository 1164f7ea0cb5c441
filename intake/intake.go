// Package intake makes a job from the files that people launch training with
// today: the configuration of a model, launch scripts, configurations of
// frameworks. Each format has a package beside it that fills a draft (package
// intake/draft); this one tells formats apart, recognises models of the
// catalogue, asks for what no file says and writes the job. It is the inverse of
// the backends, and reads by their tables. Nothing that it reads is executed.
package intake

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/huggingface"
	"github.com/ndc-dev/ndc/intake/megatron"
	"github.com/ndc-dev/ndc/intake/settings"
	"github.com/ndc-dev/ndc/intake/shell"
	"github.com/ndc-dev/ndc/intake/tree"
	"github.com/ndc-dev/ndc/lang"
)

// MaxBytes is the size of the largest file that is read.
const MaxBytes = tree.MaxBytes

// File is one file to import.
type File struct {
	Name    string // as the user names it, with slashes
	Content []byte
}

// Options say what no file does.
type Options struct {
	Job     string // the job's name; "" takes it from the files
	Backend string // the framework, when no file is for one; "" is megatron
	Version string // the framework's version; "" is the newest that knows every option
	Cluster string // a cluster of the catalogue; "" makes it a variable
	Nodes   int    // 0: as the files say, or a variable
	GPUs    int    // of a node; 0: as the files or the cluster say

	Arguments []string // that the first script is called with; nil: nobody knows
}

// Result is an imported job.
type Result struct {
	Job      []byte // the file, formatted
	Findings []draft.Finding
	Model    string   // the model of the catalogue that was recognised; ""
	Open     []string // variables that have to be set

	unbuilt bool // by its release of Megatron-LM
}

// reader reads files of one format into the draft.
type reader struct {
	name string
	is   func(File) bool
	read func(*intake, File) error
}

// readers are the formats, in the order in which files are read: a launch says
// more of a run than the configuration of its model, and stands last.
var readers = []reader{
	{name: "the config.json of a Hugging Face model", is: isModel, read: readModel},
	{name: "a configuration of TorchTitan, as TOML or as the framework prints it", is: isTorchTitan, read: readTorchTitan},
	{name: "a configuration of DeepSpeed", is: isDeepSpeed, read: readDeepSpeed},
	{name: "a configuration of accelerate for DeepSpeed", is: isAccelerate, read: readAccelerate},
	{name: "options of transformers' Trainer, YAML of LLaMA-Factory or TRL, beside a configuration of DeepSpeed", is: isTrainer, read: readTrainer},
	{name: "run.json of ndc's training program for DeepSpeed", is: isRun, read: readRun},
	{name: "a configuration of Megatron-Bridge, as its dry run or a log prints it", is: isBridge, read: readBridge},
	{name: "a recipe of Megatron-LM, YAML with ARGS or MODEL_ARGS, or of FlagScale", is: isRecipe, read: readRecipe},
	{name: "a script for bash or sbatch", is: isScript, read: readScript},
	{name: "a hostfile of DeepSpeed's launcher or Open MPI", is: isHostfile, read: readHostfile},
}

// intake is one import.
type intake struct {
	o       Options
	files   []File
	d       *draft.Draft
	launch  string               // the backend that a file is for; ""
	trained bool                 // a file has the options of the Trainer
	heard   bool                 // what accelerate says is read
	config  string               // the file of DeepSpeed's configuration that is read, without its folder; ""
	own     string               // the framework's version, in files that ndc wrote; ""
	read    map[string]evaluated // the scripts, by the names of their files
	asked   map[string]asked     // by directives of sbatch
	unsure  bool                 // which of the nodes of a hostfile are taken
}

// Import makes a job of files that describe one run together. With errors the
// result is nil.
//
// A launch of Megatron-LM whose release nobody names is for the newest of those that
// know the most of its options and build its model.
func Import(files []File, o Options) (*Result, diag.List) {
	files = slices.Clone(files)
	for i := range files {
		files[i].Content = plain(files[i].Content)
	}
	best, diags := importAs(files, o)
	if best == nil || !best.unbuilt || o.Version != "" {
		return best, diags
	}
	for _, version := range slices.Backward(emitter(megatron.Kind).Versions()) {
		o.Version = version
		r, other := importAs(files, o)
		if r != nil && !r.unbuilt && !other.HasErrors() && (best.unbuilt || r.unread() < best.unread()) {
			best, diags = r, other
		}
	}
	return best, diags
}

// plain is a text as it was before an editor or git gave it a byte order mark or
// Windows' ends of lines.
func plain(text []byte) []byte {
	return bytes.ReplaceAll(bytes.TrimPrefix(text, []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
}

// unread counts the settings that are not understood.
func (r *Result) unread() int {
	n := 0
	for _, f := range r.Findings {
		if f.Verdict == draft.Unknown {
			n++
		}
	}
	return n
}

func importAs(files []File, o Options) (*Result, diag.List) {
	var diags diag.List
	in := &intake{o: o, files: files, d: draft.New()}
	if o.Arguments != nil && !slices.ContainsFunc(files, isScript) {
		diags.Error(InvalidImportOption, diag.Range{}, "Wrong option of the import", "Arguments behind -- are those of a script, and no file is one.")
	}
	if in.checkOptions(&diags); diags.HasErrors() {
		return nil, diags
	}
	all := in.rewritten(in.written())
	order := make([]int, len(all)) // the place of each file's format
	for i, f := range all {
		if neox(f) && strange(f) == "" {
			order[i] = -1
			unreadable(&diags, f, "It is a configuration of GPT-NeoX, which ndc neither reads nor writes. What ndc reads: "+known()+".")
			continue
		}
		if isExperiment(f, all) {
			order[i] = -1 // which is read with the options
			continue
		}
		order[i] = slices.IndexFunc(readers, func(r reader) bool { return r.is(f) })
		if m := generated.FindSubmatch(f.Content); m != nil {
			in.own = string(m[1])
		}
		if order[i] < 0 {
			unreadable(&diags, f, broken(f)+"It is none of: "+known()+".")
		}
	}
	for k, r := range readers {
		for i, f := range all {
			if order[i] != k {
				continue
			}
			if err := r.read(in, f); err != nil {
				unreadable(&diags, f, fmt.Sprintf("Read as %s it makes no job: %v.", r.name, err))
			}
		}
	}
	in.otherConfiguration()
	if in.launch == "" && !diags.HasErrors() {
		if !in.d.HasBlock("model") {
			unreadable(&diags, files[0], "It starts nothing that ndc knows: no model, no configuration of a framework, and no program with options of Megatron-LM."+in.missing())
		} else if f, give := in.withoutEngine(); give != "" {
			unreadable(&diags, f, "What it starts is configured by a file that is not among these."+give)
		} else if in.o.Backend == "" && in.startsDeepSpeed() {
			in.launch = settings.DeepSpeedKind
		}
	}
	if diags.HasErrors() {
		return nil, diags
	}
	r := in.result(files)
	if r == nil {
		unreadable(&diags, files[0], "What it says fills more than a file of the language may have.")
	}
	return r, diags
}

// broken says where a file is not what the end of its name says; "" where it is.
func broken(f File) string {
	var err error
	format := "JSON"
	switch path.Ext(f.Name) {
	case ".json":
		_, err = tree.JSON(f.Content)
	case ".toml":
		format = "TOML"
		_, err = settings.TOML(f.Content)
	case ".py":
		if bytes.Contains(f.Content, []byte("torchtitan")) {
			return "It is Python, which ndc does not run. Give what TorchTitan prints of it, with --debug.save_config_file or --debug.print_config. "
		}
	}
	if err == nil {
		return strange(f)
	}
	return fmt.Sprintf("It is no %s: %v. ", format, err)
}

var neoxKey = regexp.MustCompile(`(?m)^[\s{]*"?(pipe|model)[-_]parallel[-_]size"?\s*:`)

// neox reports a configuration of GPT-NeoX, which holds keys of DeepSpeed's. A section of
// another program may have its key.
func neox(f File) bool {
	switch path.Ext(f.Name) {
	case ".yml", ".yaml", ".json":
	default:
		return false
	}
	n, err := tree.YAML(f.Content)
	return neoxKey.Match(f.Content) && (err != nil || slices.ContainsFunc(n.Object(), func(m tree.Member) bool { return neoxKey.MatchString(m.Key + ":") }))
}

func known() string {
	var names []string
	for _, r := range readers {
		names = append(names, r.name)
	}
	return strings.Join(names, "; ")
}

func unreadable(diags *diag.List, f File, why string) {
	diags.Error(UnreadableImport, diag.Range{Filename: f.Name, Start: diag.Position{Line: 1, Column: 1}, End: diag.Position{Line: 1, Column: 1}},
		"File cannot be imported", draft.Plain(why))
}

func isModel(f File) bool {
	n, err := tree.JSON(f.Content)
	return err == nil && huggingface.Is(n.Object())
}

func readModel(in *intake, f File) error {
	n, err := tree.JSON(f.Content)
	if err != nil {
		return err
	}
	return huggingface.Read(in.d, f.Name, n.Object())
}

// titan is a file as a configuration of TorchTitan; false when it is none.
func titan(f File) (tree.Object, bool) {
	if path.Ext(f.Name) == ".toml" {
		o, err := settings.TOML(f.Content)
		return o, err == nil && settings.IsTorchTitan(o)
	}
	src := f.Content
	if logged := settings.Logged(src); logged != nil {
		src = logged
	}
	n, err := tree.JSON(src)
	o := n.Object()
	return o, err == nil && settings.IsTorchTitan(o) && !settings.IsRun(o)
}

func isTorchTitan(f File) bool { _, ok := titan(f); return ok }

func readTorchTitan(in *intake, f File) error {
	o, _ := titan(f)
	if in.launch != "" {
		return errTwice
	}
	in.launch = settings.TorchTitanKind
	settings.ReadTorchTitan(in.d, f.Name, cmp.Or(in.o.Version, in.own), o, in.titanOptions(f)...)
	return nil
}

var errTwice = errors.New("another launch was read before, and a job has one")

func isDeepSpeed(f File) bool {
	n, err := tree.JSON(f.Content)
	return err == nil && settings.IsDeepSpeed(n.Object())
}

func readDeepSpeed(in *intake, f File) error {
	n, err := tree.JSON(f.Content)
	if err != nil {
		return err
	}
	if in.launch != "" {
		return errTwice
	}
	if place, ok := in.engine(); ok {
		in.d.Find(draft.Finding{Place: draft.Place{File: f.Name, Line: 1}, Name: path.Base(f.Name), Verdict: draft.Unknown,
			Why: fmt.Sprintf("%s starts a fork of Megatron-LM on line %d, whose options say the run; what this file says of DeepSpeed's engine is not read", place.File, place.Line)})
		return nil
	}
	in.launch, in.config = settings.DeepSpeedKind, path.Base(f.Name)
	settings.ReadDeepSpeed(in.d, f.Name, cmp.Or(in.o.Version, in.own), n.Object())
	return nil
}

// configuring are the names by which a launch says where the configuration of DeepSpeed is.
var configuring = regexp.MustCompile(`(^|[-.])deepspeed(_config)?(_file)?$`)

// otherConfiguration names the files that a launch is configured by where another is read.
func (in *intake) otherConfiguration() {
	for i := range in.d.Findings {
		f := &in.d.Findings[i]
		if in.config != "" && f.Verdict == draft.Left && configuring.MatchString(f.Name) && path.Ext(f.Value) == ".json" && !strings.Contains(f.Value, "$") && path.Base(f.Value) != in.config {
			f.Verdict, f.Why = draft.Unknown, "the launch is configured by it, and "+in.config+" is read, which may say something else"
		}
	}
}

func isAccelerate(f File) bool {
	switch path.Ext(f.Name) {
	case ".yaml", ".yml", ".json":
	default:
		return false
	}
	n, err := tree.YAML(f.Content)
	return err == nil && settings.IsAccelerate(n.Object())
}

func readAccelerate(in *intake, f File) error {
	n, err := tree.YAML(f.Content)
	if err != nil {
		return err
	}
	alone := in.launch == ""
	if !alone && in.launch != settings.DeepSpeedKind {
		return errTwice
	}
	in.launch, in.heard = settings.DeepSpeedKind, true
	options, _ := in.accelerate()
	settings.ReadAccelerate(in.d, f.Name, cmp.Or(in.o.Version, in.own), n.Object(), alone, options...)
	return nil
}

// isTrainer reports options of the Trainer in YAML.
func isTrainer(f File) bool {
	switch path.Ext(f.Name) {
	case ".yaml", ".yml":
	default:
		return false
	}
	n, err := tree.YAML(f.Content)
	return err == nil && settings.IsTrainer(n.Object())
}

func readTrainer(in *intake, f File) error {
	n, err := tree.YAML(f.Content)
	if err != nil {
		return err
	}
	switch {
	case in.trained:
		return errTwice
	case in.launch != settings.DeepSpeedKind:
		if err := settings.ReadTrainer(draft.New(), f.Name, n.Object(), in.trainerOptions(f)...); err != nil {
			return err // which no other file would mend
		}
		for _, key := range []string{"tensor_model_parallel_size", "pipeline_model_parallel_size", "expert_model_parallel_size"} { // LLaMA-Factory ff6d4d12, examples/megatron
			if _, ok := n.Object().Find(key); ok {
				return errors.New(key + " says that LLaMA-Factory runs it by Megatron-LM, for which ndc does not read it: give the config.json of its model alone, and say batch and layout by hand")
			}
		}
		if engine, ok := n.Object().Find("fsdp"); ok && engine.Value != nil && engine.Value != false && engine.Value != "" {
			return errors.New("fsdp says that FSDP shards it, for which ndc does not read it: give the config.json of its model alone, and say batch, rate and steps by hand; TorchTitan is what shards as FSDP does")
		}
		if slices.ContainsFunc(in.files, func(o File) bool { return strings.HasPrefix(strange(o), "It is a configuration of accelerate") }) {
			return nil // which is the error
		}
		return errors.New("the configuration of DeepSpeed, or of accelerate for it, with which it is started has to be given, too")
	}
	in.trained = true
	return settings.ReadTrainer(in.d, f.Name, n.Object(), in.trainerOptions(f)...)
}

func isRun(f File) bool {
	n, err := tree.JSON(f.Content)
	return err == nil && settings.IsRun(n.Object())
}

func readRun(in *intake, f File) error {
	n, err := tree.JSON(f.Content)
	if err == nil {
		settings.ReadRun(in.d, f.Name, n.Object())
	}
	return err
}

func isBridge(f File) bool { return megatron.Bridge(f.Content) != nil }

func readBridge(in *intake, f File) error {
	if in.launch != "" {
		return errTwice
	}
	in.launch = megatron.Kind
	return megatron.ReadBridge(in.d, f.Name, in.o.Version, megatron.Bridge(f.Content), in.overrides()...)
}

func isRecipe(f File) bool {
	switch path.Ext(f.Name) {
	case ".yaml", ".yml":
		_, _, _, ok := megatron.Recipe(f.Content)
		return ok
	}
	return false
}

func readRecipe(in *intake, f File) error {
	if in.launch != "" {
		return errTwice
	}
	in.launch = megatron.Kind
	var program shell.Word
	content := f.Content
	if megatron.IsFlagScale(content) {
		var e tree.Object
		if program, e = in.started(f); e != nil {
			content = interpolated(content, e)
		}
	}
	c, environment, rest, _ := megatron.Recipe(content)
	if program.Text != "" {
		c.Words[0] = program
	}
	for _, m := range rest {
		in.d.Find(draft.Finding{Place: draft.Place{File: f.Name, Line: m.Line}, Name: m.Key, Verdict: draft.Left, Why: "no option of the framework"})
	}
	in.exports(f.Name, &shell.Script{Exports: environment})
	return megatron.Read(in.d, f.Name, in.o.Version, c)
}

// result completes the draft and writes it; nil where the job is too large to be one.
func (in *intake) result(files []File) *Result {
	name := in.jobName(files)
	r := &Result{}
	in.share()
	in.model(r, name)
	open := &placeholders{d: in.d}
	in.cluster(open)
	in.batch()
	in.lost()
	in.backend()
	in.ask(open, r.Model == "")
	in.succession()
	in.usual(func() string { return open.text() + in.blocks(name) }, open.list)
	text := open.text() + in.blocks(name)
	formatted, diags := lang.Format([]byte(text), "job.hcl")
	if diags.HasErrors() && diags[0].ID == lang.FileTooLarge {
		return nil
	}
	if diags.HasErrors() {
		panic("intake: a job that does not parse: " + diags[0].Detail + "\n" + text)
	}
	r.Job, r.Open = formatted, open.names()
	r.unbuilt = in.launch == megatron.Kind && in.own == "" && in.refused(text, open.list)
	told := map[draft.Finding]bool{}
	for _, f := range in.d.Findings { // a list of options may stand in another one, and be read with both
		if !told[f] {
			r.Findings = append(r.Findings, f)
		}
		told[f] = true
	}
	slices.SortStableFunc(r.Findings, func(a, b draft.Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return r
}

// usualNames are those of files that say nothing of a run.
var usualNames = []string{"config", "ds_config", "launch", "train"}

// stem is the name of a file without what it ends with.
func stem(name string) string { return strings.TrimSuffix(path.Base(name), path.Ext(name)) }

// jobName is a legal label of a job: the one that was asked for, that a file
// says, or the name of the folder or file.
func (in *intake) jobName(files []File) string {
	name := cmp.Or(in.o.Job, in.d.Text("job"))
	in.d.Remove("job")
	if name == "" && len(files) > 0 {
		says := func(f File) bool { // what the run is, which the engine's settings do not
			return !slices.Contains(usualNames, stem(f.Name)) && !isDeepSpeed(f) && !isAccelerate(f)
		}
		at := -1
		for i, o := range slices.Backward(files) { // what another script reads is not what the run is called
			named := !in.scripts()[o.Name].part && !isHostfile(o) && experiment(o) == nil
			if named && (at < 0 || says(o) && !says(files[at])) {
				at = i
			}
		}
		at = max(at, 0)
		f := files[at].Name
		name = stem(f)
		if slices.Contains(usualNames, name) {
			name = cmp.Or(strings.Trim(path.Base(path.Dir(f)), "./"), "imported")
		}
	}
	return label(name)
}

// label makes a legal job label of a text.
func label(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && (r == '.' || r == '_' || r == '-'):
			b.WriteRune(r)
		case b.Len() > 0:
			b.WriteByte('-')
		}
	}
	name := b.String()
	if len(name) > 64 {
		name = name[:64]
	}
	return cmp.Or(strings.TrimRight(name, ".-_"), "imported")
}

// identifier makes a legal HCL identifier of a label.
func identifier(label string) string {
	s := strings.Map(func(r rune) rune {
		if r == '.' || r == '-' {
			return '_'
		}
		return r
	}, strings.ToLower(label))
	if s[0] >= '0' && s[0] <= '9' {
		s = "model_" + s
	}
	return s
}
