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
	maxCells = 1 << 22 // bytes of all values together, as they are made
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

// Document is a file that the script writes from a here-document.
type Document struct {
	Path    Word
	Content string
	Line    int // of its first line
}

// Directive is an option of sbatch in a comment.
type Directive struct {
	Name, Value string // without dashes
	Line        int
}

// Script is what was read.
type Script struct {
	Commands   []Command
	Lists      []Command // variables that hold options, for a script that starts nothing itself
	Exports    []Export
	Documents  []Document
	Directives []Directive
	Late       []Directive // behind the first command, where sbatch reads none
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
	e.script.Directives, e.script.Late = directives(src, p)
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
	for _, all := range [][]Command{s.Commands, s.Lists} {
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
var gpus = regexp.MustCompile(`^(?:gpu:)?(?:[A-Za-z]\w*:)?(\d+)$`)

// allocation sets the variables in which sbatch tells a script what it asked for
// (sbatch(1), output environment variables).
func (e *evaluator) allocation(all []Directive, file int) {
	nodes, perNode, tasks, onNode := e.call.Nodes, 0, 0, e.call.GPUs
	set := func(n, line int, names ...string) {
		for _, name := range names {
			e.state.variables[name] = variable{text: known(strconv.Itoa(n), file*fileLines+line), exported: true, slurm: true}
		}
	}
	line := 1
	for _, d := range all {
		n, err := strconv.Atoi(d.Value)
		if m := gpus.FindStringSubmatch(d.Value); m != nil && (d.Name == "gres" || d.Name == "gpus-per-node") && e.call.GPUs == 0 {
			if onNode, err = strconv.Atoi(m[1]); err == nil && d.Name == "gpus-per-node" {
				set(onNode, d.Line, "SLURM_GPUS_PER_NODE")
			}
			continue
		}
		if err != nil || n < 1 {
			continue
		}
		switch d.Name {
		case "nodes":
			if e.call.Nodes == 0 {
				nodes, line = n, d.Line
			}
		case "ntasks":
			tasks = n
		case "ntasks-per-node":
			perNode = n
			set(n, d.Line, "SLURM_NTASKS_PER_NODE")
		case "cpus-per-task":
			set(n, d.Line, "SLURM_CPUS_PER_TASK")
		}
	}
	if len(all) == 0 {
		return // sbatch starts it in no way that it says
	}
	if nodes > 0 {
		set(nodes, line, "SLURM_NNODES", "SLURM_JOB_NUM_NODES")
	}
	if tasks == 0 {
		tasks = nodes * perNode
	}
	if tasks > 0 {
		set(tasks, line, "SLURM_NTASKS", "SLURM_NPROCS")
	}
	if onNode > 0 {
		set(onNode, line, "SLURM_GPUS_ON_NODE")
	}
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

// directives are the options of a script that sbatch reads: those in front of its
// first command (_opt_batch_script of Slurm's src/sbatch/opt.c), and those of a script
// in a here-document. late are the others.
func directives(src []byte, p *Parsed) (all, late []Directive) {
	document := map[int]bool{} // the lines of here-documents
	syntax.Walk(p.File, func(n syntax.Node) bool {
		if r, ok := n.(*syntax.Redirect); ok && r.Hdoc != nil {
			for i := r.Hdoc.Pos().Line(); i <= r.Hdoc.End().Line(); i++ {
				document[int(i)] = true
			}
		}
		return true
	})
	begun := false
	for i, line := range strings.Split(string(src), "\n") {
		rest, ok := strings.CutPrefix(line, "#SBATCH")
		if plain := strings.TrimSpace(line); !strings.HasPrefix(plain, "#") && plain != "" {
			begun = true
		}
		if !ok || !strings.HasPrefix(rest, " ") && !strings.HasPrefix(rest, "\t") {
			continue
		}
		found := optionsOf(rest, i+1)
		if begun && !document[i+1] {
			late = append(late, found...)
		} else {
			all = append(all, found...)
		}
	}
	return all, late
}

// optionsOf are the options of one line.
func optionsOf(rest string, at int) (all []Directive) {
	for _, w := range directiveWords.FindAllString(strings.ReplaceAll(rest, "\t", " "), -1) {
		w = strings.NewReplacer(`"`, "", "'", "").Replace(w)
		switch {
		case strings.HasPrefix(w, "#"):
		case strings.HasPrefix(w, "--"):
			name, value, _ := strings.Cut(w[2:], "=")
			all = append(all, Directive{name, value, at})
			continue
		case len(w) > 1 && w[0] == '-' && short[w[1:2]] != "":
			all = append(all, Directive{short[w[1:2]], strings.TrimPrefix(w[2:], "="), at})
			continue
		case len(all) > 0 && all[len(all)-1].Value == "":
			all[len(all)-1].Value = w
			continue
		}
		break
	}
	return all
}
