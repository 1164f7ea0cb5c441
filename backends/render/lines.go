package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// LineJSON writes v as JSON for people who compare two versions of it line by
// line: members of objects have lines of their own, and so have elements of
// lists, but what is inside an element stays on its line, as lists of mere
// values do.
func LineJSON(v any) ([]byte, error) {
	compact, err := marshal(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := writeLines(&b, compact, ""); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// writeLines writes a value, with indent before the lines that follow its first.
func writeLines(b *bytes.Buffer, raw json.RawMessage, indent string) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	open, err := d.Token()
	if err != nil {
		return err
	}
	if open != json.Delim('{') && (open != json.Delim('[') || !holdsMore(raw)) || !d.More() {
		b.Write(spaced(raw))
		return nil
	}
	inner := indent + "  "
	b.WriteString(fmt.Sprint(open))
	for separator := "\n"; d.More(); separator = ",\n" {
		b.WriteString(separator + inner)
		if open == json.Delim('{') {
			name, err := d.Token()
			if err != nil {
				return err
			}
			key, err := marshal(name)
			if err != nil {
				return err
			}
			b.Write(append(key, ": "...))
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if open == json.Delim('[') {
			b.Write(spaced(value))
		} else if err := writeLines(b, value, inner); err != nil {
			return err
		}
	}
	b.WriteString("\n" + indent + strings.NewReplacer("{", "}", "[", "]").Replace(fmt.Sprint(open)))
	return nil
}

// holdsMore reports whether a list holds more than mere values.
func holdsMore(list json.RawMessage) bool {
	first := bytes.TrimLeft(list, "[")
	return len(first) < len(list)-1 || len(first) > 0 && first[0] == '{'
}

// spaced adds a space behind the commas and colons of compact JSON.
func spaced(compact []byte) []byte {
	var out []byte
	quoted := false
	for i, c := range compact {
		out = append(out, c)
		switch {
		case c == '"' && !escaped(compact[:i]):
			quoted = !quoted
		case !quoted && (c == ',' || c == ':'):
			out = append(out, ' ')
		}
	}
	return out
}

// escaped reports whether what follows text stands behind a backslash that
// counts.
func escaped(text []byte) bool {
	return (len(text)-len(bytes.TrimRight(text, `\`)))%2 == 1
}
