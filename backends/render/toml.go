package render

import (
	"bytes"
	"fmt"

	"github.com/BurntSushi/toml"
)

// Table is one [table] of a TOML document, with its entries in order.
type Table struct {
	Name    string // "" for the top level; dotted names nest
	Comment string
	Entries []Entry
}

// Entry is one key of a Table. Value is a string, bool, integer, float64 or a
// slice of those. Comment stands behind the value.
type Entry struct {
	Key     string
	Value   any
	Comment string
}

// TOML writes the tables in order, under the generated-file header and the
// given comment lines.
func TOML(comments []string, tables []Table) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# " + Header + "\n")
	for _, c := range comments {
		b.WriteString("# " + Comment(c) + "\n")
	}
	for _, t := range tables {
		if err := writeTable(&b, t); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

func writeTable(b *bytes.Buffer, t Table) error {
	b.WriteByte('\n')
	if t.Comment != "" {
		b.WriteString("# " + Comment(t.Comment) + "\n")
	}
	if t.Name != "" {
		b.WriteString("[" + t.Name + "]\n")
	}
	for _, e := range t.Entries {
		line, err := tomlLine(e)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", t.Name, e.Key, err)
		}
		b.WriteString(line)
	}
	return nil
}

// tomlLine lets the library format key and value, so that quoting and float
// notation are its business.
func tomlLine(e Entry) (string, error) {
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(map[string]any{e.Key: e.Value}); err != nil {
		return "", err
	}
	line := string(visible(bytes.TrimRight(b.Bytes(), "\n")))
	if e.Comment != "" {
		line += "  # " + Comment(e.Comment)
	}
	return line + "\n", nil
}
