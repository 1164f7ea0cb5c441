package render

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// script checks that text is a complete script in which quoted values stand
// outside of quotes, and fills them in.
func (o *override) script(text string) (string, error) {
	if takesInNext(text) {
		return "", &OverrideError{Problem: "its last line ends with a backslash, which would take in the line behind it"}
	}
	tree, err := ParseShell([]byte(text))
	if err != nil {
		return "", &OverrideError{Problem: fmt.Sprintf("what it makes is no complete shell script: %v", err)}
	}
	places := regexp.MustCompile(o.token + "([0-9]+)X")
	value := func(place string) string {
		i, _ := strconv.Atoi(places.FindStringSubmatch(place)[1])
		return o.quoted[i]
	}
	words := quotableWords(tree, places)
	for _, place := range places.FindAllString(text, -1) {
		if words[place]--; words[place] < 0 {
			return "", &OverrideError{Problem: fmt.Sprintf("the quoted value %s stands inside of quotes, a comment, a here-document, arithmetic or a command that takes words for code, where quotes mean something else; give it to a variable of the shell first, as NAME={{… | quote}}", strconv.Quote(value(place)))}
		}
	}
	text = places.ReplaceAllStringFunc(text, func(place string) string { return Quote(value(place)) })
	if _, err := ParseShell([]byte(text)); err != nil {
		return "", &OverrideError{Problem: fmt.Sprintf("what it makes is no complete shell script: %v", err)}
	}
	return text, nil
}

// quotableWords counts the places that stand where a quoted word is one.
func quotableWords(tree *syntax.File, places *regexp.Regexp) map[string]int {
	found, heredocs := map[string]int{}, map[*syntax.Word]bool{}
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DblQuoted, *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.ParamExp:
			return false
		case *syntax.BinaryTest:
			return !arithmeticTests[n.Op]
		case *syntax.UnaryTest:
			return n.Op != syntax.TsVarSet && n.Op != syntax.TsRefVar
		case *syntax.DeclClause:
			return !declaresInteger(n)
		case *syntax.CallExpr:
			return len(n.Args) == 0 || !evaluates(n)
		case *syntax.CmdSubst:
			return !n.Backquotes
		case *syntax.Redirect:
			if n.Hdoc != nil {
				heredocs[n.Hdoc] = true
			}
		case *syntax.Word:
			if heredocs[n] {
				return false
			}
			for _, p := range n.Parts {
				if lit, ok := p.(*syntax.Lit); ok {
					for _, place := range places.FindAllString(lit.Value, -1) {
						found[place]++
					}
				}
			}
		}
		return true
	})
	return found
}

// arithmeticTests are the comparisons of [[ that evaluate both of their sides.
var arithmeticTests = map[syntax.BinTestOperator]bool{
	syntax.TsEql: true, syntax.TsNeq: true, syntax.TsLeq: true, syntax.TsGeq: true, syntax.TsLss: true, syntax.TsGtr: true,
}

// declaresInteger reports whether bash evaluates what a declaration assigns.
func declaresInteger(d *syntax.DeclClause) bool {
	return slices.ContainsFunc(d.Args, func(a *syntax.Assign) bool {
		return a.Naked && a.Name == nil && a.Value != nil && strings.HasPrefix(a.Value.Lit(), "-") && strings.Contains(a.Value.Lit(), "i")
	})
}

// evaluates reports whether a command takes words for code, or for names of
// variables, whose index bash evaluates.
func evaluates(c *syntax.CallExpr) bool {
	has := func(words []*syntax.Word, of ...string) bool {
		return slices.ContainsFunc(words, func(w *syntax.Word) bool { return slices.Contains(of, path.Base(w.Lit())) })
	}
	switch c.Args[0].Lit() {
	case "eval", "trap", "unset":
		return true
	case "printf", "test", "[":
		return has(c.Args, "-v", "-R")
	}
	return has(c.Args, "bash", "sh", "dash", "zsh") && has(c.Args, "-c") // also behind srun, or env
}
