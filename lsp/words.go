package lsp

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/lang/outline"
	"github.com/ndc-dev/ndc/lang/schema"
)

// What the words of the language mean, for people: as Markdown.

// written shows how values of a type are written.
var written = map[schema.Type]string{
	schema.Bytes: `"80GiB"`, schema.Bandwidth: `"400Gb/s"`, schema.FLOPS: `"989TFLOPS"`, schema.Duration: `"30m"`, schema.Share: `"6%"`, schema.Power: `"700W"`,
	schema.StringList: `["a", "b"]`, schema.StringMap: `{ name = "value" }`, schema.Environment: `{ NAME = "value" }`, schema.CountList: "[4, 4]",
	schema.CountChoice: "8, [4, 8] or { min = 2, max = 8 }", schema.BoolChoice: "true or [true, false]", schema.StringChoice: `"a" or ["a", "b"]`,
	schema.Interval: `500, "30m" or "auto"`, schema.Timeout: `"30m" or "auto"`, schema.Chain: `4 or "until_done"`,
}

// typeOf names the type of an argument, with how it is written.
func typeOf(a *schema.Argument) string {
	name := a.Type.String()
	if example := written[a.Type]; example != "" && len(a.Enum) == 0 {
		name += ", such as `" + example + "`"
	}
	return name
}

// effectOf is what another value of an argument touches.
func effectOf(a *schema.Argument, b *outline.Block) schema.Effect {
	effect := a.Effect
	for ; b != nil && effect == 0; b = b.Parent {
		if b.Spec != nil {
			effect = b.Spec.Effect
		}
	}
	return effect
}

// argumentDoc tells what an argument is.
func argumentDoc(a *schema.Argument, effect schema.Effect) string {
	var b strings.Builder
	required := ""
	if a.Required {
		required = ", required"
	}
	fmt.Fprintf(&b, "**%s** (%s%s)\n\n%s\n", a.Name, typeOf(a), required, plainLinks(a.Doc))
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "\n- %s: %s", name, text)
		}
	}
	line("Values", strings.Join(ticked(a.Enum), ", "))
	switch {
	case a.Default != "":
		line("Default", "`"+a.Default+"`")
	default:
		line("Default", plainLinks(a.DefaultDoc))
	}
	line("Limits", limits(a))
	line("With", strings.Join(ticked(a.Labels), ", "))
	if a.Informs {
		line("Touches", "nothing; it informs readers")
	} else if effect != 0 {
		line("Touches", effects[effect])
	}
	return b.String()
}

// effects says what the labels of changes stand for.
var effects = map[schema.Effect]string{
	schema.Convergence: "`convergence`, what is learned",
	schema.Execution:   "`execution`, how it is computed",
	schema.Launch:      "`launch`, how it is started and stored",
}

func limits(a *schema.Argument) string {
	if !slices.Contains([]schema.Type{schema.Count, schema.Number, schema.CountList, schema.CountChoice}, a.Type) || a.Limits == (schema.Limits{}) {
		return ""
	}
	l := a.Limits
	text := "at least " + plainNumber(l.Min)
	if l.Open {
		text = "more than " + plainNumber(l.Min)
	}
	if l.Max != 0 {
		text += ", at most " + plainNumber(l.Max)
	}
	return text
}

// plainNumber writes what people count with all its digits.
func plainNumber(x float64) string {
	if x >= 1e12 {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// blockDoc tells what a block is.
func blockDoc(b *schema.Block) string {
	text := fmt.Sprintf("**%s** (block)\n\n%s\n", b.Name, plainLinks(b.Doc))
	if b.LabelDoc != "" {
		text += "\n- Label: " + plainLinks(b.LabelDoc)
		if len(b.Labels) > 0 {
			text += ", one of " + strings.Join(ticked(b.Labels), ", ")
		}
	}
	return text
}

func ticked(names []string) []string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = "`" + n + "`"
	}
	return list
}

var link = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`)

// plainLinks leaves the text of links, which lead to pages that are not here.
func plainLinks(s string) string { return link.ReplaceAllString(s, "$1") }

// code is a piece of a file.
func code(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "hcl\n" + strings.TrimRight(text, "\n") + "\n" + fence
}

// excerpt is a piece of a file, cut where it is long.
func excerpt(text string) string {
	const most = 60
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(all) > most {
		text = strings.Join(all[:most], "\n") + "\n…"
	}
	return code(text)
}

// headline is the comment at the top of an entry of the catalogue.
func headline(src []byte) string {
	first, _, _ := strings.Cut(string(src), "\n")
	text, ok := strings.CutPrefix(first, "#")
	if !ok {
		return ""
	}
	return cmp.Or(strings.TrimSpace(text), "")
}
