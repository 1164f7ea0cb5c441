package draft

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/schema"
)

// Block writes a block of the language with the values whose paths begin with
// prefix, in the order of the language reference. Arguments of a higher level,
// such as a model's base, stand in first. A block without a value is "".
func (d *Draft) Block(b *schema.Block, prefix, header string) string {
	w := &writer{d: d}
	w.body(b, prefix, 1)
	if len(w.lines) == 0 && len(d.notes[prefix]) == 0 {
		return ""
	}
	out := header + " {\n"
	for _, n := range d.notes[prefix] {
		out += "  " + comment(n) + "\n"
	}
	for _, l := range w.lines {
		out += l + "\n"
	}
	return out + "}\n"
}

// comment writes a note as one line, whatever the file that it quotes has in it:
// what stands behind the end of a comment would be code of the job.
func comment(note string) string { return "# " + Plain(note) }

// Plain is text of a file that was read as people may safely see it, in one line
// and in the order of its letters: text with line ends, control characters or
// marks of direction is quoted.
func Plain(text string) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

type writer struct {
	d     *Draft
	lines []string
}

func (w *writer) add(depth int, text string) {
	w.lines = append(w.lines, strings.Repeat("  ", depth)+text)
}

// body writes the arguments of a block, then the blocks in it.
func (w *writer) body(b *schema.Block, prefix string, depth int) {
	for i := range b.Arguments {
		v, ok := w.d.values[join(prefix, b.Arguments[i].Name)]
		if !ok {
			continue
		}
		value := v.Value
		if text, is := value.(string); is && b.Arguments[i].Path {
			value = onCluster(text)
		}
		line := b.Arguments[i].Name + " = " + Literal(value)
		if v.Note != "" {
			line += " " + comment(v.Note)
		}
		w.add(depth, line)
	}
	for i := range b.Blocks {
		in := &b.Blocks[i]
		path := join(prefix, in.Name)
		if !in.Repeatable {
			w.block(in, path, w.header(in, path), depth)
			continue
		}
		for _, label := range w.d.labels(path) {
			w.block(in, path+"["+lang.Quote(label)+"]", in.Name+" "+lang.Quote(label), depth)
		}
	}
}

// variable is one that a script names without braces.
var variable = regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)`)

// onCluster writes a path of a script as jobs do, where a variable has braces and
// a home folder is one.
func onCluster(path string) string {
	if rest, home := strings.CutPrefix(path, "~"); home && (rest == "" || rest[0] == '/') {
		path = "${HOME}" + rest
	}
	return variable.ReplaceAllString(path, "$${${1}}")
}

func (w *writer) block(b *schema.Block, path, header string, depth int) {
	if !w.d.HasBlock(path) && len(w.d.notes[path]) == 0 {
		return
	}
	if n := len(w.lines); n > 0 && !strings.HasSuffix(w.lines[n-1], "{") {
		w.lines = append(w.lines, "")
	}
	w.add(depth, header+" {")
	for _, n := range w.d.notes[path] {
		w.add(depth+1, comment(n))
	}
	before := len(w.lines)
	w.body(b, path, depth+1)
	if len(w.lines) == before && len(w.d.notes[path]) == 0 {
		w.lines[before-1] = strings.Repeat("  ", depth) + header + " {}"
		return
	}
	w.add(depth, "}")
}

func (w *writer) header(b *schema.Block, path string) string {
	if b.Label == schema.NoLabel {
		return b.Name
	}
	return b.Name + " " + lang.Quote(w.d.Text(path))
}

// labels lists the labels of a repeated block, in order.
func (d *Draft) labels(path string) []string {
	var all []string
	for p := range d.values {
		rest, ok := strings.CutPrefix(p, path+"[")
		if !ok {
			continue
		}
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			panic("draft: no label in " + p)
		}
		label, _ := strconv.Unquote(quoted)
		if !slices.Contains(all, label) {
			all = append(all, label)
		}
	}
	slices.Sort(all)
	return all
}

// Labelled is the path of a repeated block with a label.
func Labelled(block, label string) string { return block + "[" + lang.Quote(label) + "]" }

func join(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}

// Literal spells a value in the language.
func Literal(v any) string {
	switch v := v.(type) {
	case Expression:
		return string(v)
	case string:
		return lang.Quote(v)
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return Number(v)
	case []string:
		return list(v, lang.Quote)
	case map[string]string:
		var b strings.Builder
		for _, k := range slices.Sorted(maps.Keys(v)) {
			key := k
			if !identifier.MatchString(k) {
				key = lang.Quote(k)
			}
			fmt.Fprintf(&b, "%s = %s\n", key, lang.Quote(v[k]))
		}
		return "{\n" + b.String() + "}"
	case []int64:
		return list(v, func(n int64) string { return strconv.FormatInt(n, 10) })
	}
	panic(fmt.Sprintf("draft: no literal for %T", v))
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func list[T any](all []T, spell func(T) string) string {
	words := make([]string, len(all))
	for i, v := range all {
		words[i] = spell(v)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// Number spells a number as people do: 1e-5, not 1e-05.
func Number(f float64) string {
	format := byte('f')
	if small := math.Abs(f) < 1e-3 && f != 0; small || math.Abs(f) >= 1e16 {
		format = 'e'
	}
	mantissa, exponent, ok := strings.Cut(strconv.FormatFloat(f, format, -1, 64), "e")
	if !ok {
		return mantissa
	}
	n, err := strconv.Atoi(exponent)
	if err != nil {
		panic("draft: " + err.Error())
	}
	return mantissa + "e" + strconv.Itoa(n)
}
