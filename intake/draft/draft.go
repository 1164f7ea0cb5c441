// Package draft is the job that an import fills in: values by their path in the
// language, each with the place that it was read from, and what became of every
// setting that was read. It writes the job in the language by walking the tables
// of package lang/schema, so it knows no argument by name. It reads no format:
// the packages beside it (huggingface, megatron, torchtitan, deepspeed) do, and
// package intake puts them together.
package draft

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/ndc-dev/ndc/lang"
)

// Place is a line of a file that was read; the zero Place is nowhere.
type Place struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"` // from 1
}

// Verdict is what became of a setting.
type Verdict string

// The verdicts.
const (
	Mapped  Verdict = "mapped"         // an argument of the job says it
	Passed  Verdict = "passed on"      // the framework gets it as it was, through extra_args
	Left    Verdict = "left out"       // it is understood, and a job has nothing to say of it
	Unknown Verdict = "not understood" // the job is without it, which may be another run
)

// Finding is one setting of one file and what became of it.
type Finding struct {
	Place
	Name    string  `json:"name"`
	Value   string  `json:"value,omitempty"`
	Verdict Verdict `json:"verdict"`
	To      string  `json:"to,omitempty"`  // the argument of the job, for Mapped
	Why     string  `json:"why,omitempty"` // half a sentence
}

// Value is one argument of the job.
type Value struct {
	Place
	// Value is an int64, float64, bool, string, []int64, []string,
	// map[string]string or Expression; the label of a labelled block is a string.
	Value any
	Note  string // a comment, where the value needs one
}

// Expression is a value that is written as it stands, such as
// catalog.model.llama3_8b.
type Expression string

// Draft is a job that is being filled in.
type Draft struct {
	values   map[string]Value
	Findings []Finding
	notes    map[string][]string
	derived  map[string]bool
	asked    []string
}

// New makes an empty draft.
func New() *Draft {
	return &Draft{values: map[string]Value{}, notes: map[string][]string{}, derived: map[string]bool{}}
}

// Derive says a value that no file says as it stands, and that another one may
// be as good as: the class of a model from its features, a vocabulary from its
// padded size.
func (d *Draft) Derive(path string, value any) {
	d.Set(path, value, Place{})
	d.derived[path] = true
}

// Derived reports whether a value came from Derive.
func (d *Draft) Derived(path string) bool { return d.derived[path] }

// Set says the value of an argument, or the label of a block. What was said
// before is replaced.
func (d *Draft) Set(path string, value any, at Place) {
	d.values[path] = Value{Place: at, Value: value}
}

// Put says a value as Get returned it, with its place and comment.
func (d *Draft) Put(path string, v Value) { d.values[path] = v }

// SetNote is Set with a comment.
func (d *Draft) SetNote(path string, value any, note string) {
	d.values[path] = Value{Value: value, Note: note}
}

// Add says one entry of a map of text.
func (d *Draft) Add(path, key, value string, at Place) {
	m, _ := d.values[path].Value.(map[string]string)
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	d.Set(path, m, at)
}

// Default says a value unless one was said before.
func (d *Draft) Default(path string, value any, at Place) {
	if !d.Has(path) {
		d.Set(path, value, at)
	}
}

// Label stands where the label of a block has to be said, which no variable can: the word of
// the files, which the language does not have, so that the job is refused at its line;
// "unread" where there is none that a label can be.
func Label(word string) string {
	if word == "" || strings.ContainsFunc(word, func(c rune) bool {
		return c != '_' && c != '-' && (c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c))
	}) {
		return "unread"
	}
	return word
}

// Ask says that files say an argument without its value, which is asked for
// unless one is said.
func (d *Draft) Ask(path string) {
	if !slices.Contains(d.asked, path) {
		d.asked = append(d.asked, path)
		slices.Sort(d.asked)
	}
}

// Asked are the arguments that are asked for.
func (d *Draft) Asked() []string { return d.asked }

// Remove takes a value back.
func (d *Draft) Remove(path string) { delete(d.values, path) }

// Withdraw forgets a value that settings contradict one another about, and says so of
// each that was taken for it.
func (d *Draft) Withdraw(path, why string) {
	d.Remove(path)
	for i := range d.Findings {
		if f := &d.Findings[i]; f.Verdict == Mapped && f.To == path {
			f.Verdict, f.To, f.Why = Unknown, "", why
		}
	}
}

// Leave forgets a value that another setting makes void, and says so of each that
// was taken for it.
func (d *Draft) Leave(path, why string) {
	d.Remove(path)
	for i := range d.Findings {
		if f := &d.Findings[i]; f.Verdict == Mapped && f.To == path {
			f.Verdict, f.To, f.Why = Left, "", why
		}
	}
}

// LeaveBlock is Leave of everything in a block.
func (d *Draft) LeaveBlock(path, why string) {
	for _, p := range d.Paths() {
		if strings.HasPrefix(p, path+".") {
			d.Leave(p, why)
		}
	}
	d.RemoveBlock(path)
}

// Correct says of a setting that was found something else, since other settings count, too.
func (d *Draft) Correct(at Place, name string, v Verdict, to, why string) {
	for i := range d.Findings {
		if f := &d.Findings[i]; f.Place == at && f.Name == name {
			f.Verdict, f.To, f.Why = v, to, why
		}
	}
}

// RemoveBlock takes back everything in a block, and its label.
func (d *Draft) RemoveBlock(path string) {
	for p := range d.values {
		if p == path || strings.HasPrefix(p, path+".") || strings.HasPrefix(p, path+"[") {
			delete(d.values, p)
		}
	}
	delete(d.notes, path)
}

// Has reports whether a value was said.
func (d *Draft) Has(path string) bool { _, ok := d.values[path]; return ok }

// HasBlock reports whether anything in a block was said.
func (d *Draft) HasBlock(path string) bool {
	for p := range d.values {
		if p == path || strings.HasPrefix(p, path+".") || strings.HasPrefix(p, path+"[") {
			return true
		}
	}
	return false
}

// Get returns a value and whether it was said.
func (d *Draft) Get(path string) (Value, bool) { v, ok := d.values[path]; return v, ok }

// Int returns a whole number, 0 when it was not said.
func (d *Draft) Int(path string) int64 {
	n, _ := d.values[path].Value.(int64)
	return n
}

// Float returns a number, 0 when it was not said.
func (d *Draft) Float(path string) float64 {
	switch v := d.values[path].Value.(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	}
	return 0
}

// Text returns a string or label, "" when it was not said.
func (d *Draft) Text(path string) string {
	s, _ := d.values[path].Value.(string)
	return s
}

// Bool returns a truth value, false when it was not said.
func (d *Draft) Bool(path string) bool {
	b, _ := d.values[path].Value.(bool)
	return b
}

// Paths lists the paths that were said, in order.
func (d *Draft) Paths() []string {
	paths := make([]string, 0, len(d.values))
	for p := range d.values {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return paths
}

// Find records what became of a setting. What it takes from a file is made plain,
// so that no file writes lines of its own into the report.
func (d *Draft) Find(f Finding) {
	for _, text := range []*string{&f.File, &f.Name, &f.Value, &f.To, &f.Why} {
		*text = Plain(*text)
	}
	d.Findings = append(d.Findings, f)
}

// words make the name of an option or key one of a variable. Keys of attention are not
// those of doors.
var words = strings.NewReplacer("-", "_", ".", "_", "key-value", "kv", "key_value", "kv", "query-key", "qk", "query_key", "qk")

// IsSecret reports whether a setting, by its name, is what the language would take
// for a secret in a variable, and no name of a field.
func IsSecret(name, value string) bool {
	return lang.IsSecret(words.Replace(name), value) && !namesField(name, value)
}

var (
	key    = regexp.MustCompile(`[-_.]keys?$`)
	opens  = regexp.MustCompile(`(api|access|account|auth|license|private|ssh|wandb)[-_.]?keys?$`)
	aField = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
)

// longestField is of the name of one; a secret of letters alone would have more.
const longestField = 20

// namesField reports whether an option or a key of a file names a field of the data, as slime's
// --label-key does.
func namesField(name, value string) bool {
	return key.MatchString(name) && !opens.MatchString(name) && len(value) <= longestField && aField.MatchString(value)
}

// NoSecrets is why a secret is not taken over.
const NoSecrets = "a secret, which no job holds; slurm.env_file names a file on the cluster that has it"

// OnlyRunKnows is why a value that a script makes, of a variable or of what a command prints,
// is not taken over: scripts are read, and never run.
const OnlyRunKnows = "its value is known only when the script runs"

// Guarded is the value of a setting without a secret: reports are kept and shown to
// others. It is for names that ndc does not know; those that it knows may have the
// word token in them, too.
func Guarded(name, value string) string {
	if IsSecret(name, value) {
		return "(hidden)"
	}
	return value
}

// NotSaid begins the note of what a file says and the language has no word for.
const NotSaid = "not said: "

// Unsaid reports whether there is such a note at the head of a block.
func (d *Draft) Unsaid(block string) bool {
	return slices.ContainsFunc(d.notes[block], func(n string) bool { return strings.HasPrefix(n, NotSaid) })
}

// Note puts a comment at the head of a block; it may hold any text of a file.
func (d *Draft) Note(block, text string) {
	if !slices.Contains(d.notes[block], text) {
		d.notes[block] = append(d.notes[block], text)
	}
}
