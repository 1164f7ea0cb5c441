package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ndc-dev/ndc/diag"
)

// assignments lists all places that set a variable, in order.
func (s *script) assignments(do func(name string, a *syntax.Assign, at diag.Range)) {
	syntax.Walk(s.file, func(n syntax.Node) bool {
		if a, ok := n.(*syntax.Assign); ok && a.Name != nil && !a.Naked {
			do(a.Name.Value, a, s.span(int(a.Name.Pos().Offset()), int(a.Name.End().Offset())))
		}
		return true
	})
}

// checkEnvironment checks the names of variables that programs read.
func checkEnvironment(s *script) {
	const all = "NCCL_" // stands in all names, and makes none of them long
	var known []string
	for _, v := range ncclVariables() {
		known = append(known, strings.TrimPrefix(v.Name, all))
	}
	told, v := map[string]bool{}, s.variables()
	s.assignments(func(name string, _ *syntax.Assign, at diag.Range) {
		if told[name] {
			return
		}
		told[name] = true
		for _, r := range renamedVariables() {
			if r.Old == name {
				if !s.mentions(r.New) {
					s.report(RenamedVariable, at, fmt.Sprintf("%s is %s since %s, which takes the old name still, with a warning from every rank. Set the new one.", name, r.New, r.Since))
				}
				return
			}
		}
		own, isNCCL := strings.CutPrefix(name, all)
		if !isNCCL || slices.Contains(known, own) || s.isOwn(v, name) {
			return
		}
		if near := closest(own, known); near != "" {
			s.report(UnknownVariable, at, fmt.Sprintf("No release of NCCL that ndc knows reads %s, and nothing tells of a name that it does not know. Did you mean %s?", name, all+near))
		}
	})
}

// token is a text that could be a secret: long, and of the letters of keys.
var token = regexp.MustCompile(`^[A-Za-z0-9_.+/=-]{20,}$`)

var placeholder = regexp.MustCompile(`(?i)your|xxx|token|key|secret|change|example|placeholder|here|path|^/|\*\*|<|\.\.\.`)

func isSecret(name string) bool {
	return slices.ContainsFunc(secretVariables(), func(v secretVariable) bool { return v.Name == name })
}

// checkSecrets finds secrets in the script, and environments with secrets that
// are printed.
func checkSecrets(s *script) {
	has := ""
	s.assignments(func(name string, a *syntax.Assign, _ diag.Range) {
		if !isSecret(name) || a.Value == nil {
			return
		}
		has = name
		value := literal(a.Value)
		if token.MatchString(value) && !placeholder.MatchString(value) && strings.ContainsAny(value, "0123456789") {
			s.report(Secret, s.of(a.Value), fmt.Sprintf("The value of %s stands in the script, for everyone who reads the file, the repository or, by scontrol show job and accounting, the job. Withdraw it, and read it from a file that is yours alone, or from the environment of the submission.", name))
		}
	})
	read := s.variables().read
	for _, v := range secretVariables() {
		if has == "" && len(read[v.Name]) > 0 {
			has = v.Name
		}
	}
	if has == "" {
		return
	}
	for _, c := range s.order {
		if name := c.word(0); (name == "printenv" || name == "env") && len(c.expr.Args) == 1 && !c.filtered() {
			s.report(PrintedSecret, s.of(c.expr), fmt.Sprintf("%s prints all variables, and so %s, which this script uses. Print the variables that are needed, such as by %s | grep '^NCCL_'.", name, has, name))
		}
	}
}

// filtered reports a call whose output goes through something that selects.
func (c *call) filtered() bool {
	if c.pipe == nil {
		return false
	}
	call, ok := c.pipe.Y.Cmd.(*syntax.CallExpr)
	return !ok || len(call.Args) == 0 || !slices.Contains([]string{"sort", "tee", "cat"}, call.Args[0].Lit())
}

// literal is the text of a word without expansions, quotes taken away.
func literal(w *syntax.Word) string {
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, in := range p.Parts {
				lit, ok := in.(*syntax.Lit)
				if !ok {
					return ""
				}
				b.WriteString(lit.Value)
			}
		default:
			return ""
		}
	}
	return b.String()
}
