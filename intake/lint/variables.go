package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// assignment is one place that sets a variable.
type assignment struct {
	node     *syntax.Assign
	exported bool // export NAME=…, or in front of a command
	plain    bool // a statement of its own
}

// names are the variables of a script.
type names struct {
	set    map[string][]assignment
	given  map[string]bool // by for, read, mapfile and the like
	read   map[string][]reading
	export map[string]bool // exported by name, without a value
}

// reading is one place that reads a variable.
type reading struct {
	*syntax.ParamExp
	plain bool // it happens where it stands, and its value matters
}

// variables collects who sets and who reads.
func (s *script) variables() *names {
	v := &names{set: map[string][]assignment{}, given: map[string]bool{}, read: map[string][]reading{}, export: map[string]bool{}}
	var above []syntax.Node
	syntax.Walk(s.file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil:
			above = above[:len(above)-1]
			return true
		case *syntax.CallExpr:
			v.call(n)
		case *syntax.DeclClause:
			v.declare(n)
		case *syntax.WordIter:
			v.given[n.Name.Value] = true
		case *syntax.ParamExp:
			v.reads(n, above)
		}
		above = append(above, n)
		return true
	})
	return v
}

func (v *names) reads(p *syntax.ParamExp, above []syntax.Node) {
	if p.Param == nil {
		return
	}
	name := p.Param.Value
	simple := p.Exp == nil && !p.Length && !p.Excl && p.Repl == nil
	v.read[name] = append(v.read[name], reading{p, simple && plainly(name, above)})
	if p.Exp != nil && (p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull) {
		v.given[name] = true
	}
}

// plainly reports a read that happens where it stands and whose value matters:
// not in a function, a loop or a condition, nor in a test or an echo.
func plainly(name string, above []syntax.Node) bool {
	for _, a := range above {
		switch a := a.(type) {
		case *syntax.FuncDecl, *syntax.ForClause, *syntax.WhileClause, *syntax.TestClause, *syntax.IfClause, *syntax.CaseClause:
			return false
		case *syntax.CallExpr:
			if len(a.Args) > 0 && slices.Contains([]string{"[", "test", "echo", "printf", "trap"}, a.Args[0].Lit()) {
				return false
			}
		case *syntax.Assign:
			if a.Name != nil && a.Name.Value == name {
				return false
			}
		case *syntax.BinaryCmd:
			if a.Op == syntax.AndStmt || a.Op == syntax.OrStmt {
				return false
			}
		}
	}
	return true
}

// setters are commands whose words name the variables that they set.
var setters = []string{"read", "mapfile", "readarray", "getopts", "printf", "let", "unset", "export"}

func (v *names) call(c *syntax.CallExpr) {
	for _, a := range c.Assigns {
		if a.Name != nil {
			v.set[a.Name.Value] = append(v.set[a.Name.Value], assignment{a, len(c.Args) > 0, len(c.Args) == 0})
		}
	}
	if len(c.Args) == 0 || !slices.Contains(setters, c.Args[0].Lit()) {
		return
	}
	for _, w := range c.Args[1:] {
		name, _, _ := strings.Cut(w.Lit(), "=")
		v.given[name] = true
	}
}

func (v *names) declare(c *syntax.DeclClause) {
	export := c.Variant.Value == "export"
	for _, a := range c.Args {
		if a.Name == nil && a.Value != nil && strings.HasPrefix(a.Value.Lit(), "-") && strings.Contains(a.Value.Lit(), "x") {
			export = true
		}
		if a.Name == nil {
			continue
		}
		if a.Naked {
			v.export[a.Name.Value] = v.export[a.Name.Value] || export
			v.given[a.Name.Value] = v.given[a.Name.Value] || !export
			continue
		}
		v.set[a.Name.Value] = append(v.set[a.Name.Value], assignment{a, export, false})
	}
}

// checkVariables checks who sets and who reads.
func checkVariables(s *script) {
	v := s.variables()
	s.lostExports(v)
	if s.takes() {
		return
	}
	s.late(v)
	s.misspelt(v)
}

// takes reports whether the script takes variables from elsewhere.
func (s *script) takes() bool {
	return slices.ContainsFunc(s.order, func(c *call) bool {
		return slices.Contains([]string{"source", ".", "eval", "module", "conda"}, c.word(0))
	})
}

var allExport = regexp.MustCompile(`set -[a-z]*a|allexport|\benv -|--export`)

// lostExports finds variables that a program reads and that stay in the shell.
func (s *script) lostExports(v *names) {
	if s.says(allExport) || len(s.launches()) == 0 && !s.isBatch() {
		return
	}
	for _, name := range sorted(v.set) {
		by := readerOf(name)
		list := v.set[name]
		if by == nil || v.exports(name) || s.occurrences(name) != len(list) {
			continue
		}
		a := list[len(list)-1].node
		why := fmt.Sprintf("%s, which %s reads, is set here for the shell alone: without export no program gets it. Write export %s=….", name, by.By, name)
		if line, ok := s.exportAbove(a); ok {
			why = fmt.Sprintf("%s, which %s reads, is set here for the shell alone: the export above ends on line %d, which has no backslash. No program gets this variable. Add the backslash, or write export in front.", name, by.By, line)
		}
		s.report(LostExport, s.span(int(a.Name.Pos().Offset()), int(a.Name.End().Offset())), why)
	}
}

// exports reports a variable that a program may get.
func (v *names) exports(name string) bool {
	return v.export[name] || slices.ContainsFunc(v.set[name], func(a assignment) bool { return !a.plain })
}

// isOwn reports a variable that the script reads itself and hands to no program.
func (s *script) isOwn(v *names, name string) bool {
	return !s.says(allExport) && !v.exports(name) && s.occurrences(name) > len(v.set[name])
}

// occurrences counts a name in the whole script, lines of comments aside.
func (s *script) occurrences(name string) int {
	if s.counts == nil {
		s.counts = map[string]int{}
		for line := range strings.Lines(string(s.src)) {
			if strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			for _, word := range identifiers.FindAllString(line, -1) {
				s.counts[word]++
			}
		}
	}
	return s.counts[name]
}

var identifiers = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// exportAbove finds the export that assignments which stand directly below it
// were meant for: every line between ends in a backslash or is an assignment.
func (s *script) exportAbove(a *syntax.Assign) (int, bool) {
	line := s.at(int(a.Pos().Offset()))
	last := 0
	for line--; line > 0; line-- {
		from, to := s.bounds(line)
		text := strings.TrimSpace(string(s.src[from:to]))
		body, goesOn := strings.CutSuffix(text, "\\")
		if !goesOn && last == 0 {
			last = line
		}
		if strings.HasPrefix(text, "export ") {
			return last, last > 0
		}
		if name, _, ok := strings.Cut(body, "="); !ok || !identifier.MatchString(name) {
			return 0, false
		}
		if !goesOn {
			last = line
		}
	}
	return 0, false
}

// readerOf is whose variable it is; nil where no program is known to read it, such as a name of
// the script's own that begins as those of NCCL.
func readerOf(name string) *reader {
	listed := func() bool {
		return slices.ContainsFunc(ncclVariables(), func(v ncclVariable) bool { return v.Name == name }) ||
			slices.ContainsFunc(renamedVariables(), func(v renamed) bool { return v.Old == name })
	}
	for i := range readers() {
		if r := &readers()[i]; strings.HasPrefix(name, r.Prefix) && (!r.Listed || listed()) {
			return r
		}
	}
	return nil
}

// late finds variables that are read above the place that sets them.
func (s *script) late(v *names) {
	for _, name := range sorted(v.set) {
		list := v.set[name]
		first := list[0].node
		at := int(first.Pos().Offset())
		if v.given[name] || v.export[name] || inherited(name) || !list[0].plain && !list[0].exported || keeps(first) {
			continue
		}
		for _, p := range v.read[name] {
			if !p.plain || int(p.Pos().Offset()) > at {
				continue
			}
			strict := "It stands for nothing here."
			if s.says(unsetFails) {
				strict = "With set -u bash ends here."
			}
			s.report(LateVariable, s.of(p), fmt.Sprintf("%s is set on line %d, below this line. %s Move the assignment up.", name, s.at(at), strict))
			break
		}
	}
}

// keeps reports an assignment that leaves a variable as the environment has it, and sets it
// where that has none: A=${A:-1}.
func keeps(a *syntax.Assign) bool {
	found := false
	if a.Value != nil {
		syntax.Walk(a.Value, func(n syntax.Node) bool {
			p, ok := n.(*syntax.ParamExp)
			found = found || ok && p.Param != nil && p.Param.Value == a.Name.Value && p.Exp != nil && (p.Exp.Op == syntax.DefaultUnset || p.Exp.Op == syntax.DefaultUnsetOrNull)
			return true
		})
	}
	return found
}

var unsetFails = regexp.MustCompile(`(?m)^\s*set -[a-z]*u|-o nounset`)

var environmentNames = regexp.MustCompile(`^(PATH|IFS|REPLY|RANDOM|SECONDS|LINENO|LD_LIBRARY_PATH|LIBRARY_PATH|CPATH|PYTHONPATH|HOME|USER|HOSTNAME|PWD|TMPDIR|SCRATCH|WORK|STORE|DISPLAY|LD_PRELOAD|OMP_NUM_THREADS|(SLURM|SLURMD|CUDA|NVIDIA|NCCL|BASH|CONDA|ROCR|HIP|PBS|LSB|OMPI|PMI|PMIX|PET|HF|WANDB)_.*)$`)

// inherited reports variables that the environment of a job usually has.
func inherited(name string) bool { return environmentNames.MatchString(name) }

// misspelt finds variables that nobody sets, where one of nearly the name is set
// and nobody reads it.
func (s *script) misspelt(v *names) {
	var unread []string
	for _, name := range sorted(v.set) {
		list := v.set[name]
		if len(name) >= 5 && s.occurrences(name) == len(list) && !slices.ContainsFunc(list, func(a assignment) bool { return !a.plain }) {
			unread = append(unread, name)
		}
	}
	if len(unread) > maxNames || len(v.read) > 10*maxNames {
		return
	}
	for _, name := range sorted(v.read) {
		if len(name) < 5 || len(v.set[name]) > 0 || v.given[name] || v.export[name] || inherited(name) {
			continue
		}
		p := v.read[name][0]
		near := closest(name, unread)
		if near == "" || p.Exp != nil || strings.Trim(name, "0123456789") != strings.Trim(near, "0123456789") && digits(name) != digits(near) {
			continue
		}
		s.report(MisspeltVariable, s.of(p), fmt.Sprintf("The script sets no %s; it sets %s on line %d and never reads it. Did you mean that?", name, near, s.at(int(v.set[near][0].node.Pos().Offset()))))
	}
}

func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}

func sorted[T any](m map[string]T) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}
