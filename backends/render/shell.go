package render

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Word is one shell word, ready to stand in a script. Only Shell makes one
// from text that the shell interprets; everything that comes from a job goes
// through Literal or Expanding.
type Word struct{ text string }

// String returns the word as it stands in the script.
func (w Word) String() string { return w.text }

// Literal quotes a value so that bash reads exactly its bytes. A NUL byte,
// which no argument can hold, is dropped.
func Literal(value string) Word { return Word{Quote(value)} }

// Shell makes a word from shell text that ndc itself wrote, such as
// `"$NDC_DIR/launch.sh"`. It must never be given a value from a job.
func Shell(text string) Word { return Word{text} }

// Expanding quotes a value except for references of the form ${NAME}, which
// bash expands when the script runs; nothing else in the value is
// interpreted. It is for paths and variables that may name the cluster's own
// environment, written "$${HOME}/data" in a job.
func Expanding(value string) Word {
	return expand(value, func(name string) string { return `"${` + name + `}"` })
}

// HostVariable is the name under which the batch script passes on what a
// variable of a path means to it.
func HostVariable(name string) string { return "NDC_HOST_" + name }

// ExpandingPath quotes a path like Expanding, for scripts that may run in a
// container, where HOME and its kin are others: a reference means what it
// meant to the batch script, which exports it as HostVariable.
func ExpandingPath(value string) Word {
	return expand(value, func(name string) string { return `"${` + HostVariable(name) + `-${` + name + `}}"` })
}

// References lists the names that a value refers to as ${NAME}.
func References(value string) []string {
	var names []string
	for _, p := range splitReferences(value) {
		if p.reference {
			names = append(names, p.text)
		}
	}
	return names
}

func expand(value string, reference func(name string) string) Word {
	parts := splitReferences(value)
	if len(parts) == 1 && !parts[0].reference {
		return Literal(value)
	}
	var b strings.Builder
	for _, p := range parts {
		if p.reference {
			b.WriteString(reference(p.text))
		} else {
			b.WriteString(Quote(p.text))
		}
	}
	return Word{b.String()}
}

// Quote returns value quoted for bash. A comma needs none, but in an array it
// looks like a mistake to readers and to shellcheck (SC2054).
func Quote(value string) string {
	value = strings.ReplaceAll(value, "\x00", "")
	quoted, err := syntax.Quote(value, syntax.LangBash)
	if err != nil {
		panic("render: a string without NUL cannot be quoted: " + err.Error())
	}
	switch {
	case quoted == value && strings.Contains(value, ","):
		return "'" + value + "'"
	case strings.HasPrefix(quoted, "$'"):
		return quoteBytes(value)
	}
	return quoted
}

// quoteBytes quotes what is not fit to print by its bytes. The escape \u, which
// names a character, is one in UTF-8 only: under LC_ALL=C bash leaves it as it
// stands.
func quoteBytes(value string) string {
	var b strings.Builder
	b.WriteString("$'")
	for len(value) > 0 {
		r, n := utf8.DecodeRuneInString(value)
		switch {
		case r == '\'' || r == '\\':
			b.WriteString(`\` + value[:n])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r) && !(r == utf8.RuneError && n == 1):
			b.WriteString(value[:n])
		default:
			for _, c := range []byte(value[:n]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		}
		value = value[n:]
	}
	b.WriteString("'")
	return b.String()
}

type part struct {
	text      string
	reference bool
}

// splitReferences cuts a value into literal text and ${NAME} references.
func splitReferences(value string) []part {
	var parts []part
	literal := 0
	for i := 0; i+1 < len(value); i++ {
		if value[i] != '$' || value[i+1] != '{' {
			continue
		}
		end := strings.IndexByte(value[i:], '}')
		if end < 0 || !isName(value[i+2:i+end]) {
			continue
		}
		if i > literal {
			parts = append(parts, part{text: value[literal:i]})
		}
		parts = append(parts, part{text: value[i+2 : i+end], reference: true})
		i += end
		literal = i + 1
	}
	if literal < len(value) || len(parts) == 0 {
		parts = append(parts, part{text: value[literal:]})
	}
	return parts
}

// isName reports whether s is an environment variable name.
func isName(s string) bool {
	for i, r := range s {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// IsName reports whether s can name an environment variable.
func IsName(s string) bool { return isName(s) }

// Comment makes a value safe to stand behind a comment marker: line breaks and
// control characters become spaces.
func Comment(value string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || hides(r) {
			return ' '
		}
		return r
	}, value)
}

// SetByShell lists the variables that a script of bash sets for the lines behind it, each
// once, in their order; what a subshell sets ends with it. Of what is no script it is nil.
func SetByShell(script string) (names []string) {
	tree, err := ParseShell([]byte(script))
	if err != nil {
		return nil
	}
	set := func(name *syntax.Lit) {
		if name != nil && !slices.Contains(names, name.Value) {
			names = append(names, name.Value)
		}
	}
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Subshell, *syntax.CmdSubst:
			return false
		case *syntax.Assign:
			set(n.Name)
		case *syntax.WordIter:
			set(n.Name)
		case *syntax.CallExpr:
			if len(n.Args) > 0 && slices.Contains([]string{"read", "mapfile", "readarray"}, n.Args[0].Lit()) {
				for _, w := range n.Args[1:] {
					if IsName(w.Lit()) {
						set(w.Parts[0].(*syntax.Lit))
					}
				}
			}
		}
		return true
	})
	return names
}

// CheckShell reports why lines of bash cannot stand before others, and in which of them,
// from 1, that shows; "" where they are complete by themselves.
func CheckShell(lines string) (problem string, line int) {
	var wrong syntax.ParseError
	switch _, err := ParseShell([]byte(lines)); {
	case errors.As(err, &wrong):
		return wrong.Text, int(wrong.Pos.Line())
	case err != nil:
		return err.Error(), 1
	case takesInNext(lines):
		return "the last line ends with a backslash, which would take in the line behind it", 1 + strings.Count(strings.TrimRight(lines, "\n"), "\n")
	}
	return "", 0
}

// takesInNext reports whether the last line would go on in the one behind it.
func takesInNext(lines string) bool {
	return strings.HasSuffix(strings.TrimRight(lines, "\n"), `\`)
}

// ParseShell parses a script of bash.
func ParseShell(script []byte) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(bytes.NewReader(script), "")
}
