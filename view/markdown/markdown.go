// Package markdown writes words of a job or a message into pages in GitHub's dialect
// of Markdown, so that they are read as words: not as its signs, and not as HTML. What
// the pages say is the affair of packages view, view/explain and review.
package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

var signs = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "<", "&lt;", "&", "&amp;", "~", `\~`, "[", `\[`)

// Text is words on one line.
func Text(s string) string {
	return underscored(signs.Replace(strings.Join(strings.Fields(s), " ")))
}

// Cell is Text in a table.
func Cell(s string) string { return piped(Text(s)) }

// Code is words in type of one width, in a table. They do not end it: a fence longer
// than any run of backquotes in them stands around.
func Code(s string) string {
	fence, pad := "`", ""
	for strings.Contains(s, fence) {
		fence, pad = fence+"`", " "
	}
	return piped(fence + pad + s + pad + fence)
}

// Row is a line of a table, of cells that are Cell or Code.
func Row(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// Head is the first row of a table, with the rule below it. The columns whose
// numbers are in right are set to the right.
func Head(cells []string, right ...int) string {
	rules := make([]string, len(cells))
	for i := range rules {
		rules[i] = "---"
	}
	for _, i := range right {
		rules[i] = "---:"
	}
	return Row(cells...) + "|" + strings.Join(rules, "|") + "|\n"
}

func piped(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// underscored keeps underscores from setting words in italics, which they do at the
// beginning or the end of a word: tensor_parallel stays as it is.
func underscored(s string) string {
	var b strings.Builder
	for i, r := range s {
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		after, _ := utf8.DecodeRuneInString(s[i+1:])
		if r == '_' && !(isWord(before) && isWord(after)) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
