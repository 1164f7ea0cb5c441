package lsp

import (
	"context"
	"regexp"
	"strings"

	"github.com/ndc-dev/ndc/lang"
)

// formatting answers with the lines that ndc fmt would change.
func (s *server) formatting(_ context.Context, p *documentParams) ([]textEdit, error) {
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	formatted, diags := lang.Format([]byte(d.text.content), d.path)
	if diags.HasErrors() {
		return []textEdit{}, nil // told as a diagnostic
	}
	return d.text.edits(string(formatted)), nil
}

// edits makes one text of another: line by line where both have as many, so that
// cursors stay where they are.
func (t *text) edits(to string) []textEdit {
	list := []textEdit{}
	before, after := strings.SplitAfter(t.content, "\n"), strings.SplitAfter(to, "\n")
	if len(before) != len(after) {
		return append(list, textEdit{textRange{End: t.position(len(t.content))}, to})
	}
	for i := range before {
		if before[i] != after[i] {
			end := t.position(t.lines[i] + len(before[i]))
			list = append(list, textEdit{textRange{position{Line: i}, end}, after[i]})
		}
	}
	return list
}

const quickFix = "quickfix"

// meant is how diagnostics offer names of a closed set.
var meant = regexp.MustCompile(`Did you mean ((?:"[^"]+"(?:, | or )?)+)\?`)

var offered = regexp.MustCompile(`"([^"]+)"`)

// actions offers the names that diagnostics suggest.
func (s *server) actions(_ context.Context, p *actionParams) ([]codeAction, error) {
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	list := []codeAction{}
	for _, found := range p.Context.Diagnostics {
		names := meant.FindStringSubmatch(found.Message)
		if found.Source != "ndc" || names == nil {
			continue
		}
		offers := offered.FindAllStringSubmatch(names[1], -1)
		for _, offer := range offers {
			text, ok := instead(d.text.content[d.text.offset(found.Range.Start):max(d.text.offset(found.Range.Start), d.text.offset(found.Range.End))], offer[1])
			if !ok {
				continue
			}
			list = append(list, codeAction{Title: "Change to " + text, Kind: quickFix, Diagnostics: []diagnostic{found}, IsPreferred: len(offers) == 1,
				Edit: workspaceEdit{map[string][]textEdit{d.uri: {{found.Range, text}}}}})
		}
	}
	return list, nil
}

// word is a name of the language.
var word = regexp.MustCompile(`^[\pL_][\pL\pN_-]*$`)

// quoted is text in quotes without anything special in it.
var quoted = regexp.MustCompile(`^"[^"$%\\]*"$`)

// instead puts a name into the place of what is written: a word, text in quotes,
// or the last step of a reference.
func instead(written, name string) (string, bool) {
	steps := strings.Split(written, ".")
	last := len(steps) - 1
	switch {
	case word.MatchString(written):
		return name, true
	case quoted.MatchString(written):
		return lang.Quote(name), true
	case last > 0 && word.MatchString(steps[last]) && word.MatchString(name):
		steps[last] = name
		return strings.Join(steps, "."), true
	}
	return "", false
}
