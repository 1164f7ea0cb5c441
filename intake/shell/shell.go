// Package shell reads scripts of bash for what they would start: it evaluates
// assignments, arrays, defaults of variables, arithmetic, conditions on known
// values, functions and here-documents, and lists the commands with their words,
// each with the line that it was written on. Nothing is executed: what only a run
// knows, such as the output of a command, stays as it is written, and what
// depends on it is marked. Time and memory are bounded whatever the script says.
// What the words mean is for the packages beside it.
package shell

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of an evaluation, far above any launch script.
const (
	maxSteps = 20_000  // statements
	maxCells = 1 << 24 // bytes of all values together, as they are made
	maxValue = 1 << 17 // bytes of one value
	maxDepth = 24      // functions and scripts in scripts
)

// Word is one word of a command.
type Word struct {
	Text  string
	File  string // that it stands in; "": the script itself
	Line  int
	Open  bool // a part is known only when the script runs; it stands as it is written
	Maybe bool // whether the word is there is known only when the script runs
	Own   bool // it is open by a variable that the script itself sets, and no environment

	Packed bool // it stands in one word with others, as in quotes, and is no word of its own to the program

	// Among are the values of an open word that is a variable to which the script
	// gives one of several; nil where it is not known which there are.
	Among []string
}

// Command is one command that the script may start.
type Command struct {
	Words  []Word
	File   string // as of a word
	Line   int
	Offset int // in the file, in bytes, of the call; of the call that contains it for one in a value
	Inner  int // how many commands behind it are those of a script that it starts
}

// Export is a variable that programs would see.
type Export struct {
	Name  string
	Value Word
}

// Document is a file that the script writes from a here-document, or by echo.
type Document struct {
	Path    Word
	Content string
	Line    int  // of its first line
	Behind  bool // what the file has held before, which the script does not say
	Unsure  bool // a part of it is written by another program, or under a condition that only a run knows
}

// Directive is an option of sbatch in a comment.
type Directive struct {
	Name, Value string // without dashes
	Line        int
	Open        bool // known only when the script runs that submits it
}

// Script is what was read.
type Script struct {
	Commands   []Command
	Cut        []Command // options that bash takes for commands, since the line before does not go on
	Lists      []Command // variables that hold options, for a script that starts nothing itself
	Exports    []Export
	Documents  []Document
	Directives []Directive
	Late       []Directive // behind the first command, where sbatch reads none
	Strays     []Directive // words of directives that are no options, by their names: what stands behind them is not read
	Sources    []Word      // files that it reads and that were not given
	Files      []string    // those given that it reads or starts
	Problems   []string    // why it was not read to its end

	Submissions []Submission
	alone       []Export // what single commands see
}

// Call is how a script is started, as far as it is known.
type Call struct {
	Arguments []string          // nil: nobody knows them
	Name      string            // of the script, among those of the files
	Files     map[string][]byte // that it may read, by their names
	Programs  map[string][]byte // that it may start, by their names
	Nodes     int               // of the job; 0: as the script asks
	GPUs      int               // of a node; 0: as the script asks
}

// Read evaluates a script. A variable that neither the script nor, by its
// directives, Slurm sets has its default.
func Read(src []byte, call Call) (*Script, error) {
	e := &evaluator{state: newState(), call: call}
	if call.Arguments != nil {
		e.state.given, e.state.positional = true, make([]text, len(call.Arguments))
		for i, a := range call.Arguments {
			e.state.positional[i] = known(a, 1)
		}
	}
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	p, err := checked(src)
	if err != nil {
		return nil, err
	}
	e.script = &Script{}
	e.script.Directives, e.script.Late, e.script.Strays = directives(src, p)
	e.allocation(e.script.Directives, 0)
	e.evaluate(p)
	return e.script, nil
}

// Certain evaluates a script for what holds wherever it runs: a variable that it
// does not set may be in the environment, and so its default is not its value.
func Certain(p *Parsed) *Script {
	e := &evaluator{state: newState(), certain: true, script: &Script{}}
	e.evaluate(p)
	return e.script
}

func (e *evaluator) evaluate(p *Parsed) {
	e.run(p.File.Stmts)
	e.lists()
	for _, x := range e.script.alone {
		if !slices.ContainsFunc(e.script.Exports, func(o Export) bool { return o.Name == x.Name }) {
			e.script.Exports = append(e.script.Exports, x)
		}
	}
	slices.SortFunc(e.script.Exports, func(a, b Export) int { return strings.Compare(a.Name, b.Name) })
	e.script.settle()
}

// settle tells files and lines apart, which are one number until then.
func (s *Script) settle() {
	place := func(file *string, line *int) {
		if n := *line / fileLines; n > 0 {
			*file, *line = s.Files[n-1], *line%fileLines
		}
	}
	for _, all := range [][]Command{s.Commands, s.Cut, s.Lists} {
		for i := range all {
			place(&all[i].File, &all[i].Line)
			for j := range all[i].Words {
				place(&all[i].Words[j].File, &all[i].Words[j].Line)
			}
		}
	}
	for i := range s.Exports {
		place(&s.Exports[i].Value.File, &s.Exports[i].Value.Line)
	}
	for i := range s.Sources {
		place(&s.Sources[i].File, &s.Sources[i].Line)
	}
	for i := range s.Submissions {
		place(&s.Submissions[i].File, &s.Submissions[i].Line)
	}
	for i := range s.Documents {
		d := &s.Documents[i]
		place(&d.Path.File, &d.Path.Line)
		place(new(string), &d.Line)
	}
}

// gpus is the number at the end of what a directive asks for, such as gpu:a100:8.
var gpus = regexp.MustCompile(`^(?:gpu:)?(?:[A-Za-z][\w.-]*:)?(\d+)$`)

// number is the number that a directive asks for; 0 where it asks for none.
func (d Directive) number() int {
	value := d.Value
	switch d.Name {
	case "nodes": // 4-4
		if low, high, ok := strings.Cut(value, "-"); ok && low == high {
			value = low
		}
	case "gres", "gpus", "gpus-per-node", "gpus-per-task":
		for _, part := range strings.Split(value, ",") {
			if m := gpus.FindStringSubmatch(part); m != nil && (d.Name != "gres" || strings.HasPrefix(part, "gpu:")) {
				value = m[1]
			}
		}
	}
	n, err := strconv.Atoi(value)
	if err != nil || n > 1<<20 {
		return 0
	}
	return max(n, 0)
}

// allocation sets the variables in which sbatch tells a script what it asked for
// (sbatch(1), output environment variables).
func (e *evaluator) allocation(all []Directive, file int) {
	if len(all) == 0 {
		return // sbatch starts it in no way that it says
	}
	asked, lines := map[string]int{}, map[string]int{}
	for _, d := range all {
		if n := d.number(); n > 0 {
			asked[d.Name], lines[d.Name] = n, d.Line
		}
	}
	if e.call.Nodes > 0 {
		asked["nodes"], lines["nodes"] = e.call.Nodes, 1
	}
	if e.call.GPUs > 0 {
		delete(asked, "gres")
		delete(asked, "gpus-per-node")
	}
	tell := func(n int, by string, names ...string) {
		for _, name := range names {
			if line := cmp.Or(lines[by], 1); n > 0 {
				e.state.variables[name] = variable{text: known(strconv.Itoa(n), file*fileLines+line), exported: true, slurm: true}
			}
		}
	}
	for by, name := range map[string]string{
		"gpus": "SLURM_GPUS", "gpus-per-node": "SLURM_GPUS_PER_NODE", "gpus-per-task": "SLURM_GPUS_PER_TASK",
		"ntasks-per-node": "SLURM_NTASKS_PER_NODE", "cpus-per-task": "SLURM_CPUS_PER_TASK",
	} {
		tell(asked[by], by, name)
	}
	nodes, tasks, onNode := settled(asked)
	if e.call.GPUs > 0 {
		onNode = e.call.GPUs
	}
	tell(nodes, "nodes", "SLURM_NNODES", "SLURM_JOB_NUM_NODES")
	tell(tasks, "nodes", "SLURM_NTASKS", "SLURM_NPROCS")
	tell(onNode, "nodes", "SLURM_GPUS_ON_NODE")
}

// settled are nodes, tasks of all, and GPUs of a node, as far as what is asked for says
// them; 0 where it does not.
func settled(asked map[string]int) (nodes, tasks, onNode int) {
	whole := func(a, b int) int {
		if b < 1 || a%b != 0 {
			return 0
		}
		return a / b
	}
	perNode, all := asked["ntasks-per-node"], asked["gpus"]
	nodes = cmp.Or(asked["nodes"], whole(asked["ntasks"], perNode), whole(all, asked["gpus-per-node"]))
	tasks = cmp.Or(asked["ntasks"], nodes*perNode, whole(all, asked["gpus-per-task"]), all*asked["ntasks-per-gpu"])
	perNode = cmp.Or(perNode, whole(tasks, nodes))
	onNode = cmp.Or(asked["gpus-per-node"], asked["gres"], asked["gpus-per-task"]*perNode, whole(all, nodes))
	return nodes, tasks, onNode
}

// checked parses a script that is short enough, with an error that names the
// line.
func checked(src []byte) (*Parsed, error) {
	if len(src) > maxValue*8 {
		return nil, fmt.Errorf("it has %d bytes, more than a script", len(src))
	}
	if bytes.IndexByte(src, 0) >= 0 {
		return nil, errors.New("it is binary")
	}
	p, err := Parse(src)
	var bad syntax.ParseError
	if errors.As(err, &bad) {
		return nil, fmt.Errorf("line %d: %s", bad.Pos.Line(), bad.Text)
	}
	return p, err
}

var directiveWords = regexp.MustCompile(`(?:[^\s"']|"[^"]*"|'[^']*')+`)

// short are the options of sbatch that have a letter.
var short = map[string]string{
	"A": "account", "p": "partition", "N": "nodes", "n": "ntasks", "J": "job-name", "t": "time", "o": "output", "e": "error",
	"q": "qos", "w": "nodelist", "x": "exclude", "C": "constraint", "c": "cpus-per-task", "G": "gpus", "d": "dependency", "a": "array", "D": "chdir",
	"b": "begin", "B": "extra-node-info", "F": "nodefile", "H": "hold", "i": "input", "k": "no-kill", "L": "licenses", "m": "distribution", "M": "clusters",
	"O": "overcommit", "s": "oversubscribe", "S": "core-spec",
}

// HetJob begins the options of another component of a job: what it asks for is not what the
// script runs on (Slurm's heterogeneous jobs).
const HetJob = "hetjob"

// directives are the options of a script that sbatch reads, of its first component: those in front of its
// first command (_opt_batch_script of Slurm's src/sbatch/opt.c), and those of a script
// in a here-document. late are the others, strays the words of neither.
func directives(src []byte, p *Parsed) (all, late, strays []Directive) {
	document := map[int]syntax.RedirOperator{} // the lines of here-documents
	syntax.Walk(p.File, func(n syntax.Node) bool {
		if r, ok := n.(*syntax.Redirect); ok && r.Hdoc != nil {
			for i := r.Hdoc.Pos().Line(); i <= r.Hdoc.End().Line(); i++ {
				document[int(i)] = r.Op
			}
		}
		return true
	})
	begun := false
	for i, line := range strings.Split(string(src), "\n") {
		op, written := document[i+1]
		if op == syntax.DashHdoc {
			line = strings.TrimLeft(line, "\t")
		}
		rest, ok := strings.CutPrefix(line, "#SBATCH")
		if plain := strings.TrimSpace(line); !strings.HasPrefix(plain, "#") && plain != "" {
			begun = true
		}
		if !ok || !strings.HasPrefix(rest, " ") && !strings.HasPrefix(rest, "\t") {
			continue
		}
		if kind := strings.Fields(rest); len(kind) > 0 && !begun && (kind[0] == HetJob || kind[0] == "packjob") { // behind it are those of other nodes
			return append(all, Directive{Name: HetJob, Line: i + 1}), late, strays
		}
		found, stray := optionsOf(rest, i+1)
		if begun && !written {
			late = append(late, found...)
			continue
		}
		all = append(all, found...)
		if stray != "" && !written { // a shell may make something else of it there
			strays = append(strays, Directive{Name: stray, Line: i + 1})
		}
	}
	return all, late, strays
}

// optionsOf are the options of one line, and the word that ends them; "" for none.
func optionsOf(rest string, at int) (all []Directive, stray string) {
	for _, w := range directiveWords.FindAllString(strings.ReplaceAll(rest, "\t", " "), -1) {
		w = strings.NewReplacer(`"`, "", "'", "").Replace(w)
		switch {
		case strings.HasPrefix(w, "#"):
			return all, ""
		case strings.HasPrefix(w, "--"):
			name, value, _ := strings.Cut(w[2:], "=")
			all = append(all, Directive{Name: name, Value: value, Line: at})
			continue
		case len(w) > 1 && w[0] == '-' && short[w[1:2]] != "":
			all = append(all, Directive{Name: short[w[1:2]], Value: strings.TrimPrefix(w[2:], "="), Line: at})
			continue
		case len(all) > 0 && all[len(all)-1].Value == "":
			all[len(all)-1].Value = w
			continue
		}
		return all, w
	}
	return all, ""
}
