package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// checkCommands checks how commands are written.
func checkCommands(s *script) {
	for i, c := range s.order {
		s.broken(i, c)
		s.spaced(c)
		if c.word(0) == "srun" && c.background && !c.function && s.isBatch() && s.nothingAfter(c) {
			s.report(NoWait, s.of(c.expr.Args[0]), "The step runs in the background, and the script ends without waiting for it. Slurm then ends the job with all of its steps. Put wait at the end of the script.")
		}
	}
	syntax.Walk(s.file, func(n syntax.Node) bool {
		if d, ok := n.(*syntax.DeclClause); ok {
			s.declared(d)
		}
		return true
	})
}

var optionWord = regexp.MustCompile(`^--?[A-Za-z][A-Za-z0-9_-]*(=|$)`)

// broken finds commands that go on over several lines and end before they should.
func (s *script) broken(i int, c *call) {
	if name := c.word(0); optionWord.MatchString(name) {
		at := s.of(c.expr.Args[0])
		if s.startsLine(c) {
			s.report(BrokenCommand, at, fmt.Sprintf("bash runs %s as a command, which does not exist: %s The command before misses this option and all that follow.", name, s.cause(at.Start.Line)))
		}
		return
	}
	if n := len(c.expr.Args); n > 1 && blankWord.MatchString(c.word(n-1)) {
		last := c.expr.Args[n-1]
		next := i + 1
		if next < len(s.order) && optionWord.MatchString(s.order[next].word(0)) {
			return // told there
		}
		if end := int(last.End().Offset()); end < len(s.src) && strings.HasPrefix(strings.TrimLeft(string(s.src[end:]), " \t"), "\n") {
			s.report(BrokenCommand, s.of(last), "Blanks follow the backslash, which joins lines only as the last character of one: here it makes the blank an argument, and the command ends. Remove the blanks.")
		}
	}
}

var blankWord = regexp.MustCompile(`^\\[ \t]+$`)

func (s *script) startsLine(c *call) bool {
	from, _ := s.bounds(s.at(c.offset()))
	return strings.TrimSpace(string(s.src[from:c.offset()])) == ""
}

// cause says why the line before does not go on.
func (s *script) cause(line int) string {
	from, to := s.bounds(line - 1)
	before := string(s.src[from:to])
	trimmed := strings.TrimSpace(before)
	switch {
	case line == 1:
		return "nothing stands before it."
	case trimmed == "":
		return fmt.Sprintf("line %d is empty. Remove it.", line-1)
	case strings.HasPrefix(trimmed, "#"):
		return fmt.Sprintf("the comment on line %d ends the command. Move it above the command; options that are switched off can stand in an array, which may hold comments.", line-1)
	case strings.HasSuffix(trimmed, "\\") && !strings.HasSuffix(before, "\\"):
		return fmt.Sprintf("on line %d blanks follow the backslash, which joins lines only as the last character of one. Remove them.", line-1)
	}
	return fmt.Sprintf("line %d does not end in a backslash. Add one.", line-1)
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// spaced finds NAME = VALUE.
func (s *script) spaced(c *call) {
	name, second := c.word(0), ""
	if len(c.expr.Args) > 1 {
		if lit, ok := c.expr.Args[1].Parts[0].(*syntax.Lit); ok {
			second = lit.Value
		}
	}
	if !identifier.MatchString(name) || !strings.HasPrefix(second, "=") || strings.HasPrefix(second, "==") || s.defines(name) {
		return
	}
	if name != strings.ToUpper(name) && !s.says(regexp.MustCompile(`\$\{?`+name+`\b`)) {
		return
	}
	s.report(SpacedAssignment, s.of(c.expr), fmt.Sprintf("With a blank before =, bash runs %s as a command, which does not exist, and sets nothing. Write %s=… without blanks.", name, name))
}

// declared finds export NAME = VALUE, and its like.
func (s *script) declared(d *syntax.DeclClause) {
	for i, a := range d.Args {
		if i == 0 || a.Name != nil || a.Value == nil || len(a.Value.Parts) == 0 || d.Args[i-1].Name == nil || !d.Args[i-1].Naked {
			continue
		}
		if lit, ok := a.Value.Parts[0].(*syntax.Lit); ok && strings.HasPrefix(lit.Value, "=") {
			name, command := d.Args[i-1].Name.Value, d.Variant.Value
			s.report(SpacedAssignment, s.of(d), fmt.Sprintf("With a blank before =, %s takes what follows for names of variables, and sets nothing. Write %s %s=… without blanks.", command, command, name))
		}
	}
}

// defines reports whether the script has a function of this name.
func (s *script) defines(name string) bool {
	return s.says(regexp.MustCompile(`(?m)(^|[;\s])(function\s+` + name + `\b|` + name + `\s*\(\))`))
}

// passing are commands that take no time, after which a script that started
// steps in the background has nothing left to do.
var passing = []string{"echo", "printf", "date", "exit", "true", ":"}

// nothingAfter reports that nothing after a call takes time or waits.
func (s *script) nothingAfter(c *call) bool {
	for _, o := range s.order {
		if o.word(0) == "wait" || o.offset() > c.offset() && !o.background && !slices.Contains(passing, o.word(0)) {
			return false
		}
	}
	loops := false
	syntax.Walk(s.file, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.WhileClause); ok && int(w.End().Offset()) > c.offset() {
			loops = true
		}
		return true
	})
	return !loops && !s.mentions("trap")
}

// checkPipes finds launches whose failure a pipe hides.
func checkPipes(s *script) {
	if s.mentions("pipefail") || s.mentions("PIPESTATUS") {
		return
	}
	told := map[int]bool{}
	for _, l := range s.launches() {
		c := l.call
		if c == nil || c.pipe == nil || !c.left || told[c.offset()] {
			continue
		}
		told[c.offset()] = true
		last := c.pipe.Y
		name := "its last command"
		if call, ok := last.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 && call.Args[0].Lit() != "" {
			name = call.Args[0].Lit()
		}
		taken := "who started it takes the run for done"
		if s.isBatch() {
			taken = "Slurm calls the job COMPLETED, and jobs that depend on it start"
		}
		s.report(LostStatus, s.of(last), fmt.Sprintf("A pipe ends as %s does. When the training fails, the script goes on and may end with status 0: %s. Put set -o pipefail above.", name, taken))
	}
}
