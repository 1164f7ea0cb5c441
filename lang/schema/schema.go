// Package schema declares the words of the job language once: every block and
// argument with its type, unit, limits, default and meaning. Package lang
// decodes files by these tables and suggests names from them; tools/docs
// prints them as the language reference. The tables know nothing about HCL,
// files or how a value is used.
package schema

import (
	"math"
	"slices"
)

// Type is what may be written for an argument.
type Type uint8

// The types of arguments.
const (
	Count        Type = iota // a whole number
	Number                   // any number
	Bool                     // true or false
	String                   // text
	Bytes                    // text with a unit of memory: "80GiB"
	Bandwidth                // text with a unit of bandwidth: "400Gb/s"
	FLOPS                    // text with a unit of compute rate: "989TFLOPS"
	Duration                 // text with a unit of time: "30m", "24:00:00"
	Share                    // text in percent: "6%"
	Power                    // text in watts: "700W"
	StringList               // list of text
	StringMap                // map of text to text
	Environment              // map of names of environment variables to values
	CountList                // list of whole numbers
	CountChoice              // a whole number, a list of them, or { min, max, not }
	BoolChoice               // true, false, a list of them, or { not }
	StringChoice             // text, a list of text, or { not }
	Interval                 // steps, a duration, or "auto"
	Timeout                  // a duration or "auto"
	Chain                    // a whole number or "until_done"
	ModelRef                 // a model
	ClusterRef               // a cluster
	GPURef                   // a gpu
	JobRef                   // a job
	SiteRef                  // a site
	TypeExpr                 // a type of values, as in variable blocks
	Any                      // any value
)

var typeNames = [...]string{
	"count", "number", "bool", "string", "memory", "bandwidth", "compute rate", "duration", "share", "power",
	"list of strings", "map of strings", "environment variables", "list of counts", "count, list or range", "bool or list", "string or list",
	"steps, duration or \"auto\"", "duration or \"auto\"", "count or \"until_done\"", "model", "cluster", "gpu", "job", "site", "type", "any value",
}

// String returns the type's name in the reference.
func (t Type) String() string { return typeNames[t] }

// extents bound quantities by their types, in the words of the language.
var extents = map[Type][2]string{
	Bytes:     {"1B", "1000000TiB"},
	Bandwidth: {"1KB/s", "1000000TB/s"},
	FLOPS:     {"1MFLOPS", "1000EFLOPS"},
	Duration:  {"1ns", "36500d"},
	Timeout:   {"10s", "30d"}, // more than any run is silent for
	Power:     {"1W", "1000kW"},
}

// Extent is the least and the most that a quantity of the type may be where it
// is not zero, both "" where the unit says it already. No machine and no run comes
// near: beyond lie slips, and numbers that a time cannot be computed of.
func (t Type) Extent() (least, most string) { return extents[t][0], extents[t][1] }

// Beyond is more than any number of a job is; what is computed of smaller ones
// stays finite.
const Beyond = 1e18

// Limits bound a number. The zero Limits mean "not negative".
type Limits struct {
	Min, Max float64 // Max 0: no upper bound of its own
	Open     bool    // Min itself is not allowed
}

// Allows reports whether v is within the limits.
func (l Limits) Allows(v float64) bool {
	if v < l.Min || l.Open && v == l.Min || math.IsNaN(v) {
		return false
	}
	return v <= l.Most()
}

// Most is the upper bound: Max, or else what no number of a job is beyond.
func (l Limits) Most() float64 {
	if l.Max == 0 {
		return Beyond
	}
	return l.Max
}

// Common limits.
var (
	positive   = Limits{Open: true}
	atLeastOne = Limits{Min: 1}
	fraction   = Limits{Max: 1}
	chance     = Limits{Max: 1, Open: true}
)

// upTo bounds a size from 1 to what no machine of the coming years exceeds, so
// that arithmetic on sizes cannot overflow.
func upTo(limit float64) Limits { return Limits{Min: 1, Max: limit} }

// Argument is one NAME = VALUE of a block.
type Argument struct {
	Name       string
	Type       Type
	Doc        string // a sentence or two, for the reference
	Required   bool
	Default    string   // an HCL literal; "" when there is none or it is computed
	DefaultDoc string   // a computed default in words
	Enum       []string // the closed set of values; nil when open
	// Absent are words of the field that the set leaves out, and why.
	Absent   map[string]string
	Parts    []string // words that make one value together, in a list
	Letters  []Letter // of text: what a list of words may say in place of letters
	Limits   Limits   // of Count, Number and the elements of lists of them
	Positive bool     // of a quantity: zero is not allowed either
	Labels   []string // labels of the block with which it applies; nil: all
	Path     bool     // of text: a file or folder on the cluster, in which ${NAME} is a variable there
	Several  bool     // of Bool, Count and String: a list of values leaves the choice to ndc
	Appends  bool     // of a list of mounts: they follow the base's, or take the place of one at the same path
	Informs  bool     // it tells readers something; no plan and no file changes with it
	Effect   Effect   // what another value touches; zero: what the block says
}

// Letter is a letter of a text, with the word for it in a list.
type Letter struct{ Word, Letter string }

// Words are the words of letters, in their order.
func (a *Argument) Words() []string {
	var list []string
	for _, l := range a.Letters {
		list = append(list, l.Word)
	}
	return list
}

// Label says what stands between the name of a block and its brace.
type Label uint8

// The labels of blocks.
const (
	NoLabel    Label = iota
	Identifier       // an HCL identifier, which references use
	JobName          // a name that becomes paths and Slurm job names
	Choice           // one of Block.Labels; another choice replaces the block
	FreeName         // any text, which tells repeated blocks apart
)

// Block is one kind of block.
type Block struct {
	Name       string
	Doc        string
	Label      Label
	Labels     []string // of Choice
	LabelDoc   string
	Required   bool
	Repeatable bool   // several may be written, told apart by their labels
	Effect     Effect // of its arguments and blocks that do not say their own; zero: of the block around it
	Arguments  []Argument
	Blocks     []Block
}

// Argument finds an argument by name; nil when there is none.
func (b *Block) Argument(name string) *Argument {
	i := slices.IndexFunc(b.Arguments, func(a Argument) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &b.Arguments[i]
}

// Block finds a nested block by name; nil when there is none.
func (b *Block) Block(name string) *Block {
	i := slices.IndexFunc(b.Blocks, func(n Block) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return &b.Blocks[i]
}

// ArgumentNames lists the arguments in the order of the reference.
func (b *Block) ArgumentNames() []string {
	names := make([]string, len(b.Arguments))
	for i := range b.Arguments {
		names[i] = b.Arguments[i].Name
	}
	return names
}

// BlockNames lists the nested blocks in the order of the reference.
func (b *Block) BlockNames() []string {
	names := make([]string, len(b.Blocks))
	for i := range b.Blocks {
		names[i] = b.Blocks[i].Name
	}
	return names
}

// File is what may stand at the top of a file.
var File = Block{
	Name: "file",
	Doc:  "The top of a file.",
	Blocks: []Block{
		ndcBlock, variableBlock, localsBlock, modelBlock, clusterBlock, gpuBlock, jobBlock, siteBlock, moduleBlock, outputBlock, policyBlock,
	},
}

var ndcBlock = Block{
	Name: "ndc", Effect: Launch,
	Doc: "Settings of ndc itself, read before anything else.",
	Arguments: []Argument{
		{Name: "required_version", Type: String, Doc: "Versions of ndc that may build this file, such as `\">= 0.1, < 2.0\"`. Development builds satisfy every constraint."},
	},
}

var variableBlock = Block{
	Name:     "variable",
	Label:    Identifier,
	Effect:   Launch, // a value touches what it is used for
	LabelDoc: "the variable's name, for `var.NAME`",
	Doc:      "A value that is set from outside: with `--var`, `--var-file` or a `*.auto.ndcvars` file.",
	Arguments: []Argument{
		{Name: "type", Type: TypeExpr, Doc: "What the variable accepts: `string`, `number`, `bool`, `list(…)`, `set(…)`, `map(…)`, `object({…})`, `tuple([…])` or `any`.", DefaultDoc: "`any`"},
		{Name: "default", Type: Any, Doc: "The value when none is given. A variable without a default must be set."},
		{Name: "description", Type: String, Informs: true, Doc: "What the variable is for."},
		{Name: "nullable", Type: Bool, Default: "true", Doc: "Whether the value may be `null`. Where it may not, `null` means the default."},
	},
	Blocks: []Block{{
		Name:       "validation",
		Doc:        "A condition that the value must meet.",
		Repeatable: true,
		Arguments: []Argument{
			{Name: "condition", Type: Any, Required: true, Doc: "An expression that is true for good values."},
			{Name: "error_message", Type: String, Required: true, Doc: "What to tell whoever set another value."},
		},
	}},
}

var localsBlock = Block{
	Name:   "locals",
	Doc:    "Named values for the rest of the files, as `local.NAME`. Each argument defines one.",
	Effect: Launch,
}

var policyBlock = Block{
	Name:     "policy",
	Effect:   Launch, // it decides what is written, not what is in it
	Label:    Identifier,
	LabelDoc: "the policy's name",
	Doc:      "What every plan must meet before anything is written. `condition` and `error_message` read `plan` (the fields of [plan.json](plan.schema.json)), `job` (the planned job by the words of this page, with bytes, seconds and shares as numbers) and `artifacts` (the text of each emitted file by its path), beside variables, locals and the catalogue.",
	Arguments: []Argument{
		{Name: "condition", Type: Any, Required: true, Doc: "An expression that is true for good plans, such as `plan.run.gpu_hours <= 200000`."},
		{Name: "error_message", Type: String, Required: true, Doc: "What to tell whoever made another plan."},
		{Name: "severity", Type: String, Default: `"error"`, Enum: []string{"error", "warning"}, Doc: "An `error` writes nothing and ends with exit code 1, a `warning` stands among the plan's warnings."},
	},
}

var moduleBlock = Block{
	Name: "module", Effect: Launch,
	Label:    Identifier,
	LabelDoc: "the module's name, for `module.NAME`",
	Doc:      "A folder of *.hcl files whose blocks and outputs are used here. The other arguments set the variables of the module.",
	Arguments: []Argument{
		{Name: "source", Type: String, Required: true, Doc: "Where the folder is, as plain text: a relative path (`\"../modules/pretrain\"`), `git::URL//FOLDER`, or an archive. What stands behind `//` is the folder inside of what is fetched."},
		{Name: "version", Type: String, Doc: "Of a source in git: the tags that fit, such as `\"~> 2.1\"`; the highest one is taken."},
		{Name: "for_each", Type: Any, Doc: "A map or a set of text, of which each element makes one module, read as `module.NAME[\"KEY\"]`; `each.key` and `each.value` are the element."},
		{Name: "count", Type: Count, Doc: "How many modules this block makes, read as `module.NAME[0]`; `count.index` is the number. Either this or `for_each`."},
	},
}

var outputBlock = Block{
	Name: "output", Effect: Launch,
	Label:    Identifier,
	LabelDoc: "the name by which those who use the module read it, `module.MODULE.NAME`",
	Doc:      "A value that a module gives beside its blocks.",
	Arguments: []Argument{
		{Name: "value", Type: Any, Required: true, Doc: "The value."},
		{Name: "description", Type: String, Informs: true, Doc: "What it is."},
	},
}
