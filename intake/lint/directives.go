package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ndc-dev/ndc/backends/slurm"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/units"
)

// directive is one option of an #SBATCH line.
type directive struct {
	name, value string // the long name, without dashes
	at          diag.Range
	late        bool // after the first command
}

// magic begins a line that sbatch reads.
const magic = "#SBATCH"

// directives reads the #SBATCH comments as sbatch does (get_argument and
// _opt_batch_script of Slurm's src/sbatch/opt.c): words with quotes and
// backslashes, a comment after an open #, nothing after the first command.
func directives(s *script) []directive {
	var all []directive
	var lines [][2]int
	syntax.Walk(s.file, func(n syntax.Node) bool {
		c, ok := n.(*syntax.Comment)
		if !ok {
			return true
		}
		from := int(c.Pos().Offset())
		if from > 0 && s.src[from-1] != '\n' || !strings.HasPrefix("#"+c.Text, magic) {
			return true
		}
		lines = append(lines, [2]int{from + len(magic), from + 1 + len(c.Text)})
		return true
	})
	slices.SortFunc(lines, func(a, b [2]int) int { return a[0] - b[0] })
	for _, l := range lines {
		if words := s.argumentsIn(l[0], l[1]); len(words) > 0 && (words[0].text == "hetjob" || words[0].text == "packjob") {
			break // what follows is for other nodes
		}
		all = append(all, s.directivesIn(l[0], l[1])...)
	}
	return all
}

// argument is one word of an #SBATCH line.
type argument struct {
	text     string
	from, to int
}

func (s *script) argumentsIn(from, to int) []argument {
	var all []argument
	for i := from; i < to; {
		if s.src[i] == ' ' || s.src[i] == '\t' || s.src[i] == '\r' {
			i++
			continue
		}
		if s.src[i] == '#' {
			break
		}
		a := argument{from: i}
		var quote byte
		for ; i < to; i++ {
			b := s.src[i]
			switch {
			case b == '\\' && i+1 < to:
				i++
				a.text += string(s.src[i])
			case quote != 0 && b == quote:
				quote = 0
			case quote != 0:
				a.text += string(b)
			case b == '"' || b == '\'':
				quote = b
			case b == ' ' || b == '\t' || b == '\r' || b == '#':
				goto end
			default:
				a.text += string(b)
			}
		}
	end:
		a.to = i
		all = append(all, a)
	}
	return all
}

// directivesIn takes the words of one line for options with their values.
func (s *script) directivesIn(from, to int) []directive {
	var all []directive
	late := from > s.first
	words := s.argumentsIn(from, to)
	for i := 0; i < len(words); i++ {
		w := words[i]
		d := directive{at: s.span(w.from, w.to), late: late}
		option, joined := s.option(&d, w, late)
		switch {
		case option == nil && d.name == "":
			return all
		case option != nil && option.Argument == "required" && !joined:
			if i+1 == len(words) {
				s.refuse(late, d.at, fmt.Sprintf("--%s takes a value, and none follows.", option.Name))
				return all
			}
			i++
			d.value, d.at = words[i].text, s.span(w.from, words[i].to)
		}
		all = append(all, d)
	}
	return all
}

// option reads one word as an option of sbatch. The directive has no name when
// the rest of the line cannot be read.
func (s *script) option(d *directive, w argument, late bool) (*slurm.CommandOption, bool) {
	if name, ok := strings.CutPrefix(w.text, "--"); ok {
		name, value, joined := strings.Cut(name, "=")
		o, many := findSlurm(name, forSBatch)
		d.name, d.value = name, value
		switch {
		case o != nil:
			d.name = o.Name
			if joined && o.Argument == "none" {
				s.refuse(late, d.at, fmt.Sprintf("--%s takes no value.", o.Name))
			}
		case !many:
			s.unknown(d, late)
		}
		return o, joined
	}
	if letter, ok := strings.CutPrefix(w.text, "-"); ok && letter != "" {
		o := findLetter(letter[:1], forSBatch)
		if o == nil {
			if other := findLetter(letter[:1], forSRun); other != nil {
				s.refuse(late, d.at, fmt.Sprintf("-%s is an option of srun (--%s), not of sbatch. Give it to srun.", other.Letter, other.Name))
			}
			return nil, false
		}
		d.name, d.value = o.Name, letter[1:]
		return o, len(letter) > 1
	}
	s.refuse(late, d.at, fmt.Sprintf("%q is no option and belongs to none. sbatch ends with \"Invalid directive found in batch script\". Options and their values are joined by = or one blank.", w.text))
	return nil, false
}

// unknown reports an option that sbatch does not have. Plugins of a site add
// options, so that it must be known to be another's or be misspelt.
func (s *script) unknown(d *directive, late bool) {
	if o, _ := findSlurm(d.name, forSRun); o != nil {
		s.refuse(late, d.at, fmt.Sprintf("--%s is an option of srun, not of sbatch. Give it to srun.", o.Name))
		return
	}
	var names []string
	for _, o := range slurm.Options() {
		if o.SBatch {
			names = append(names, o.Name)
		}
	}
	if near := closest(d.name, names); near != "" {
		s.refuse(late, d.at, fmt.Sprintf("No release of sbatch has an option --%s. Did you mean --%s?", d.name, near))
	}
}

// refuse reports what sbatch ends with; a late line it does not read at all.
func (s *script) refuse(late bool, at diag.Range, detail string) {
	if !late {
		s.report(UnknownDirective, at, detail)
	}
}

// asked is the last directive of a name that sbatch reads.
func (s *script) asked(name string) (directive, bool) {
	for _, d := range slices.Backward(s.directives) {
		if d.name == name && !d.late {
			return d, true
		}
	}
	return directive{}, false
}

// number is the value of a directive that is a whole number.
func (s *script) number(name string) (int, directive, bool) {
	d, ok := s.asked(name)
	n, err := strconv.Atoi(d.value)
	return n, d, ok && err == nil && n > 0
}

var expansion = regexp.MustCompile(`\$[A-Za-z_{(]|` + "`")

// none is a number that is not above 0.
var none = regexp.MustCompile(`^(?:[+-]?0+|-[0-9]+)$`)

// checkDirectives checks each #SBATCH line.
func checkDirectives(s *script) {
	seen := map[string]directive{}
	lines := map[int]bool{}
	for _, d := range s.directives {
		if d.late {
			if !lines[d.at.Start.Line] {
				line := s.line(s.at(s.first))
				s.report(LateDirective, s.line(d.at.Start.Line), fmt.Sprintf("sbatch stops reading options at the first command, which is on line %d. Without --%s the job has what Slurm and the site give by default. Move the line above the command.", line.Start.Line, d.name))
			}
			lines[d.at.Start.Line] = true
			continue
		}
		if m := expansion.FindString(d.value); m != "" {
			s.report(DirectiveVariable, d.at, fmt.Sprintf("sbatch expands no variables in its comments: --%s is %q as it stands. Give the option on the command line of sbatch, or write the value; in names of files, Slurm knows %%j (job), %%x (name of the job) and %%u (user).", d.name, d.value))
		}
		if none.MatchString(d.value) && slices.ContainsFunc(counts(), func(c counted) bool { return c.Option == d.name }) {
			s.report(UnknownDirective, d.at, fmt.Sprintf("sbatch refuses --%s=%s: it takes a whole number above 0.", d.name, d.value))
		}
		if before, ok := seen[d.name]; ok && before.value != d.value {
			s.report(RepeatedDirective, d.at, fmt.Sprintf("--%s is %q on line %d and %q here. The last one counts. Remove one.", d.name, before.value, before.at.Start.Line, d.value))
		}
		seen[d.name] = d
	}
}

// checkSubmission checks what sbatch looks at besides.
func checkSubmission(s *script) {
	for _, c := range s.order {
		if name := c.word(0); name == "SBATCH" && strings.HasPrefix(c.word(1), "-") {
			s.report(LostHash, s.of(c.expr), "This is a command, SBATCH, which does not exist; sbatch reads options in lines that begin with #SBATCH. Put # in front, above the first command.")
		}
	}
	if !s.isBatch() {
		return
	}
	if !s.marked && !strings.HasPrefix(string(s.src), "#!") {
		s.report(NoShebang, s.line(1), "sbatch refuses a script whose first line does not begin with #! and the path of an interpreter (\"This does not look like a batch script\"). Make #!/bin/bash the first line.")
	}
	nodes, _, known := s.number("nodes")
	if tasks, d, ok := s.number("ntasks"); ok && known && tasks < nodes {
		s.report(FewTasks, d.at, fmt.Sprintf("The job asks for %d nodes and %s. A node without a task is not used, and Slurm gives the job fewer nodes. Ask with --ntasks-per-node.", nodes, units.Count(tasks, "task")))
	}
}

// checkOutput checks where the log goes.
func checkOutput(s *script) {
	told := map[*call]bool{}
	for _, name := range []string{"output", "error"} {
		d, ok := s.asked(name)
		if !ok {
			continue
		}
		if array, isArray := s.asked("array"); isArray && !strings.Contains(d.value, "%") && strings.ContainsAny(array.value, "-,") && d.value != "/dev/null" {
			s.report(SharedLog, d.at, fmt.Sprintf("All tasks of the array %s write %s, over one another. Put %%A_%%a, the job and the task, into the name.", array.value, d.value))
		}
		i := strings.LastIndexByte(d.value, '/')
		if i <= 0 {
			continue
		}
		folder := strings.TrimPrefix(d.value[:i], "./")
		for i, c := range s.order {
			submits := func(o *call) bool { return c.branch != nil && o.branch == c.branch && o.word(0) == "sbatch" }
			if c.word(0) != "mkdir" || c.function || slices.ContainsFunc(s.order[i:], submits) { // a script may submit itself
				continue
			}
			for k := range c.expr.Args[1:] {
				if made := strings.TrimPrefix(strings.TrimSuffix(c.word(k+1), "/"), "./"); made == folder && !told[c] {
					told[c] = true
					s.report(LogFolder, s.of(c.expr), fmt.Sprintf("Slurm opens %s before the script starts, and makes no folders: where %s is missing, the job fails without a log, and this line never runs. Make the folder before the submission.", d.value, folder))
				}
			}
		}
	}
}
