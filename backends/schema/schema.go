// Package schema reads the option tables of framework versions and checks
// options against them: does the option exist, does the value have its type,
// is it one of the choices, are there as many values as the option takes.
// A table is a JSON Lines file with one option per line, made from the
// framework's own parser by a program under tools/. The package knows nothing
// about what an option means; the packages beside it (megatron, torchtitan,
// deepspeed) embed the tables and turn problems into diagnostics.
package schema

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"sync"
)

// Option is one option of a framework version.
type Option struct {
	// Names are all spellings, such as "--bf16"; for configuration files the
	// path of the key, such as "training.local_batch_size".
	Names []string `json:"flags"`
	// Dest is the attribute that the framework stores the value under.
	Dest string `json:"dest"`
	// Type is the value's type as the framework names it: int, float, str,
	// bool, or the name of a parsing function; "" when none is declared.
	Type string `json:"type"`
	// Action is what an occurrence does, in argparse's words: Store,
	// StoreTrue, StoreFalse, ...; "" for configuration keys.
	Action string `json:"action"`
	// Count is how many values follow the name.
	Count Count `json:"nargs"`
	// Default is the JSON form of the value when the option is left out.
	Default any `json:"default"`
	// Choices is the closed set of values; nil when any value of the type may
	// stand.
	Choices []string `json:"choices"`
}

// Count says how many values an option takes.
type Count struct {
	Min, Max int // Max < 0: no bound
}

// One is the count of an option that takes exactly one value.
var One = Count{Min: 1, Max: 1}

// UnmarshalJSON reads argparse's nargs: null, a number, "?", "*" or "+".
func (c *Count) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "null":
		*c = One
	case `"?"`:
		*c = Count{0, 1}
	case `"*"`:
		*c = Count{0, -1}
	case `"+"`:
		*c = Count{1, -1}
	default:
		var n int
		if err := json.Unmarshal(b, &n); err != nil {
			return fmt.Errorf("nargs %s: %w", b, err)
		}
		*c = Count{n, n}
	}
	return nil
}

// Table is the set of options of one framework version. It is immutable.
type Table struct {
	version string
	content func() *content
}

// content is what a table's text says.
type content struct {
	options []Option
	byName  map[string]int
	names   []string // sorted
}

// Embedded is a table in a file of one JSON object per line, whose defects are
// the program's own. The version is used in messages only. A program holds the
// tables of many versions and asks few, so each is read when it is first
// asked.
func Embedded(version string, files fs.FS, name string) *Table {
	return &Table{version: version, content: sync.OnceValue(func() *content {
		jsonl, err := fs.ReadFile(files, name)
		if err != nil {
			panic("schema: " + err.Error())
		}
		c, err := parse(version, jsonl)
		if err != nil {
			panic("schema: " + err.Error())
		}
		return c
	})}
}

// Named is the same table under the name of another version, whose messages
// shall not speak of the one that the table was made from.
func (t *Table) Named(version string) *Table {
	return &Table{version: version, content: t.content}
}

func parse(version string, jsonl []byte) (*content, error) {
	c := &content{byName: map[string]int{}}
	lines := bufio.NewScanner(bytes.NewReader(jsonl))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		o := Option{Count: One} // a record without nargs takes one value
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", version, n, err)
		}
		c.add(o)
	}
	slices.Sort(c.names)
	return c, lines.Err()
}

// add appends an option. Of two options that share a name the later one wins,
// as it does in a parser that overrides conflicts.
func (c *content) add(o Option) {
	for _, name := range o.Names {
		if _, ok := c.byName[name]; !ok {
			c.names = append(c.names, name)
		}
		c.byName[name] = len(c.options)
	}
	c.options = append(c.options, o)
}

// Version returns the name that the table goes by.
func (t *Table) Version() string { return t.version }

// Len returns the number of names, aliases included.
func (t *Table) Len() int { return len(t.content().names) }

// Names returns every name in ascending order. The caller must not write it.
func (t *Table) Names() []string { return t.content().names }

// Lookup finds an option by any of its names.
func (t *Table) Lookup(name string) (Option, bool) {
	c := t.content()
	i, ok := c.byName[name]
	if !ok {
		return Option{}, false
	}
	return c.options[i], true
}

// Has reports whether the version has an option of this name.
func (t *Table) Has(name string) bool {
	_, ok := t.content().byName[name]
	return ok
}

// Offers reports whether the option exists and value may stand for it: its
// choices, if it has any, contain the value.
func (t *Table) Offers(name, value string) bool {
	o, ok := t.Lookup(name)
	return ok && (o.Choices == nil || slices.Contains(o.choices(), value))
}
