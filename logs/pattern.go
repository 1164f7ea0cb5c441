package logs

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
)

// pattern is a regular expression that is tried on those lines alone that hold one of its
// words: a text that stands in all that it matches, or one for each of its alternatives.
// Most lines of a log match nothing, and a word is found in a fraction of the time.
type pattern struct {
	expression string
	once       sync.Once
	compiled   *regexp.Regexp
	words      []string // none: every line is tried
}

func compile(expression string) *pattern { return &pattern{expression: expression} }

// read compiles the expression when a line is first tried: most commands read no log.
func (p *pattern) read() {
	tree, err := syntax.Parse(p.expression, syntax.Perl)
	if err != nil {
		panic("logs: " + err.Error())
	}
	p.compiled, p.words = regexp.MustCompile(p.expression), wordsOf(tree)
}

// wordsOf are texts of which one stands in all that an expression matches, the shortest as
// long as can be; none where there are no such.
func wordsOf(e *syntax.Regexp) []string {
	switch e.Op {
	case syntax.OpLiteral:
		if e.Flags&syntax.FoldCase == 0 {
			return []string{string(e.Rune)}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return wordsOf(e.Sub[0])
	case syntax.OpConcat:
		var best []string
		for _, part := range e.Sub {
			if words := wordsOf(part); shortest(words) > shortest(best) {
				best = words
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, part := range e.Sub {
			words := wordsOf(part)
			if words == nil {
				return nil
			}
			all = append(all, words...)
		}
		return all
	}
	return nil
}

// shortest is the length of the shortest word, 0 without any.
func shortest(words []string) int {
	least := 0
	for _, w := range words {
		if least == 0 || len(w) < least {
			least = len(w)
		}
	}
	return least
}

// MatchString reports whether a text holds a match.
func (p *pattern) MatchString(text string) bool {
	return p.possible(text) && p.compiled.MatchString(text)
}

// FindStringSubmatch returns the first match and what its groups matched, nil without one.
func (p *pattern) FindStringSubmatch(text string) []string {
	if !p.possible(text) {
		return nil
	}
	return p.compiled.FindStringSubmatch(text)
}

// FindAllStringSubmatch returns the matches and what their groups matched, n at most
// where it is not negative.
func (p *pattern) FindAllStringSubmatch(text string, n int) [][]string {
	if !p.possible(text) {
		return nil
	}
	return p.compiled.FindAllStringSubmatch(text, n)
}

func (p *pattern) possible(text string) bool {
	p.once.Do(p.read)
	for _, w := range p.words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return p.words == nil
}
