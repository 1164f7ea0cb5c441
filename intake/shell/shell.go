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
	Line  int
	Open  bool // a part is known only when the script runs; it stands as it is written
	Maybe bool // whether the word is there is known only when the script runs

	// Among are the values of an open word that is a variable to which the script
	// gives one of several; nil where it is not known which there are.
	Among []string
}

// Command is one command that the script may start.
type Command struct {
	Words  []Word
	Line   int
	Offset int  // in the file, in bytes, of the call; of the call that contains it for one in a value
	Maybe  bool // as of a word
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
	Sources    []Word   // files that it reads and that were not given
	Problems   []string // why it was not read to its end
}

// Read evaluates a script that is called with arguments; nil is that nobody
// knows them. Files that it sources are found by their base names among others.
// A variable that the script does not set has its default.
func Read(src []byte, arguments []string, others map[string][]byte) (*Script, error) {
	e := &evaluator{state: newState(), others: others}
	if arguments != nil {
		e.state.given, e.state.positional = true, make([]text, len(arguments))
		for i, a := range arguments {
			e.state.positional[i] = known(a, 1)
		}
	}
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	p, err := checked(src)
	if err != nil {
		return nil, err
	}
	e.script = &Script{Directives: directives(src)}
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
}

func directives(src []byte) []Directive {
	var all []Directive
	for i, line := range strings.Split(string(src), "\n") {
		rest, ok := strings.CutPrefix(line, "#SBATCH ")
		if !ok {
			continue
		}
		for _, w := range directiveWords.FindAllString(strings.ReplaceAll(rest, "\t", " "), -1) {
			w = strings.NewReplacer(`"`, "", "'", "").Replace(w)
			switch {
			case strings.HasPrefix(w, "#"):
			case strings.HasPrefix(w, "--"):
				name, value, _ := strings.Cut(w[2:], "=")
				all = append(all, Directive{name, value, i + 1})
				continue
			case len(w) > 1 && w[0] == '-' && short[w[1:2]] != "":
				all = append(all, Directive{short[w[1:2]], strings.TrimPrefix(w[2:], "="), i + 1})
				continue
			case len(all) > 0 && all[len(all)-1].Line == i+1 && all[len(all)-1].Value == "":
				all[len(all)-1].Value = w
				continue
			}
			break
		}
	}
	return all
}
