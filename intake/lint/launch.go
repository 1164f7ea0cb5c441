package lint

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/backends/slurm"
	"github.com/ndc-dev/ndc/intake/launcher"
	"github.com/ndc-dev/ndc/intake/shell"
)

// option is one option of a command with its values.
type option struct {
	name   string // as it is written
	values []shell.Word
	line   int
	open   bool // a value is known only when the script runs
	maybe  bool // whether it is there is
	joined bool // written NAME=VALUE
	packed bool // it stands in one word with others
}

func (o *option) first() string {
	if o == nil || len(o.values) == 0 {
		return ""
	}
	return o.values[0].Text
}

// number is the value of an option that is certain, and a whole number.
func (o *option) number() (int, bool) {
	if o == nil || o.open || o.maybe || len(o.values) != 1 {
		return 0, false
	}
	n, err := strconv.Atoi(o.first())
	return n, err == nil
}

// launch is a command that starts training.
type launch struct {
	call     *call          // as it is written; nil when it stands in a value
	command  shell.Command  // what is started
	srun     *shell.Command // the srun around it; nil for none
	step     []option       // srun's options
	open     bool           // srun may have others
	launcher string         // torchrun, or "" where the program is started by itself
	given    []option       // the launcher's options
	unsure   bool           // the launcher may have others
	program  string
	words    []shell.Word // of the program
}

// of finds the last option of some names, dashes and underscores being the same.
func of(options []option, names ...string) *option {
	for i := range slices.Backward(options) {
		name := strings.ReplaceAll(strings.TrimLeft(options[i].name, "-"), "_", "-")
		if slices.Contains(names, name) {
			return &options[i]
		}
	}
	return nil
}

// launches lists the commands that start training, each once.
func (s *script) launches() []*launch {
	if s.found != nil {
		return s.found
	}
	s.found = []*launch{}
	groups := map[int][]shell.Command{}
	var order []int
	for _, c := range s.shell.Commands {
		if groups[c.Offset] == nil {
			order = append(order, c.Offset)
		}
		groups[c.Offset] = append(groups[c.Offset], c)
	}
	for _, offset := range order {
		if l := s.launch(groups[offset]); l != nil && len(s.found) < maxLaunches {
			l.call = s.calls[offset]
			s.found = append(s.found, l)
		}
	}
	return s.found
}

// launch reads one call with the commands in its values, the call itself last.
func (s *script) launch(group []shell.Command) *launch {
	var l *launch
	for _, c := range group {
		if l = starts(c); l != nil {
			break
		}
	}
	if l == nil {
		return nil
	}
	for i := range group {
		if at := srunAt(group[i].Words); at >= 0 {
			l.srun = &group[i]
			l.step, l.open = stepOptions(group[i].Words[at+1:])
		}
	}
	return l
}

// srunAt is where a command is srun, behind what starts it; -1 for none.
func srunAt(words []shell.Word) int {
	for i, w := range words {
		switch base := path.Base(w.Text); {
		case base == "srun" && !w.Open:
			return i
		case slices.Contains([]string{"exec", "time", "nohup", "env", "command"}, base), strings.Contains(w.Text, "=") && !strings.HasPrefix(w.Text, "-"):
		default:
			return -1
		}
	}
	return -1
}

// stepOptions reads the options of srun up to the program; open reports that the
// script does not say all of them.
func stepOptions(words []shell.Word) (all []option, open bool) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !strings.HasPrefix(w.Text, "-") {
			return all, open || w.Open
		}
		open = open || w.Maybe
		name, value, joined := strings.Cut(w.Text, "=")
		var o *slurm.CommandOption
		if strings.HasPrefix(name, "--") {
			if o, _ = findSlurm(name[2:], forSRun); o == nil && !joined && !strings.HasPrefix(name, "--no-") {
				if i+1 < len(words) && !strings.HasPrefix(words[i+1].Text, "-") && strings.HasPrefix(name, "--container") {
					i++ // pyxis, whose options take values
				}
				all = append(all, option{name: name, line: w.Line})
				continue
			}
		} else if o = findLetter(name[1:min(2, len(name))], forSRun); o != nil && len(name) > 2 {
			value, joined = strings.TrimPrefix(w.Text[2:], "="), true
		}
		found := option{name: name, line: w.Line, open: w.Open, maybe: w.Maybe, joined: joined}
		if o != nil {
			found.name = "--" + o.Name
		}
		switch {
		case joined:
			found.values = []shell.Word{{Text: value, Line: w.Line, Open: w.Open, Maybe: w.Maybe}}
		case o != nil && o.Argument == "required" && i+1 < len(words):
			i++
			found.values, found.open = []shell.Word{words[i]}, words[i].Open
		}
		all = append(all, found)
	}
	return all, open
}

// starts reads a command that starts training by torchrun, or by a program that
// has the name of one.
func starts(c shell.Command) *launch {
	for i, w := range c.Words {
		at := -1
		switch {
		case launcher.Of(w.Text) == launcher.Torch && launcher.OfModule(w.Text) == "" && !w.Open:
			at = i + 1
		case w.Text == "-m" && i+1 < len(c.Words) && launcher.OfModule(c.Words[i+1].Text) == launcher.Torch:
			at = i + 2
		}
		if at >= 0 {
			l := &launch{command: c, launcher: "torchrun"}
			l.read(c.Words[at:])
			return l
		}
	}
	for i, w := range c.Words {
		if trainer.MatchString(path.Base(w.Text)) && !strings.ContainsAny(w.Text, " \n") && i > 0 {
			l := &launch{command: c, program: w.Text, words: c.Words[i+1:]}
			if slices.ContainsFunc(c.Words[:i], func(w shell.Word) bool { return launcher.Starts(w.Text) }) {
				l.launcher = "other"
			}
			return l
		}
	}
	return nil
}

// trainer are names of programs that train.
var trainer = regexp.MustCompile(`^(pretrain|train|finetune|run_pretrain|run_train)[A-Za-z0-9_-]*\.py$`)

// read reads the launcher's options and finds the program.
func (l *launch) read(words []shell.Word) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !strings.HasPrefix(w.Text, "-") {
			if w.Open && !strings.HasSuffix(w.Text, ".py") {
				l.unsure = true // perhaps more options
				continue
			}
			l.program, l.words = w.Text, words[i+1:]
			return
		}
		name, value, joined := strings.Cut(w.Text, "=")
		o := option{name: name, line: w.Line, maybe: w.Maybe, joined: joined}
		switch known := findLauncher(name); {
		case joined:
			o.values, o.open = []shell.Word{{Text: value, Line: w.Line, Open: w.Open, Maybe: w.Maybe}}, w.Open
		case known == nil:
			l.unsure = true
		case known.Values > 0 && i+1 < len(words):
			i++
			o.values, o.open = []shell.Word{words[i]}, words[i].Open || words[i].Maybe
		}
		l.given = append(l.given, o)
	}
}

func findLauncher(name string) *launcherOption {
	bare := strings.ReplaceAll(strings.TrimLeft(name, "-"), "_", "-")
	for i := range launcherOptions() {
		o := &launcherOptions()[i]
		if strings.HasPrefix(name, "--") && bare == o.Name || !strings.HasPrefix(name, "--") && o.Letter == bare {
			return o
		}
	}
	return nil
}
