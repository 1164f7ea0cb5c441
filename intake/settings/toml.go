package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/ndc-dev/ndc/intake/tree"
)

// TOML reads a file of TOML as a tree. Its decoder forgets lines, which are
// found by the names of sections and keys.
func TOML(src []byte) (tree.Object, error) {
	if len(src) > tree.MaxBytes {
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(src), tree.MaxBytes)
	}
	if err := bounded(src); err != nil {
		return nil, err
	}
	var values map[string]any
	meta, err := toml.Decode(string(src), &values)
	if err != nil {
		return nil, err
	}
	lines := tomlLines(src)
	order := map[string]int{}
	for i, k := range meta.Keys() {
		if _, ok := order[k.String()]; !ok {
			order[k.String()] = i + 1
		}
	}
	return tomlObject("", values, lines, order)
}

func tomlLines(src []byte) map[string]int {
	lines := map[string]int{}
	section := ""
	for i, line := range bytes.Split(src, []byte("\n")) {
		text := strings.TrimSpace(string(line))
		if strings.HasPrefix(text, "[") {
			section = strings.Trim(strings.SplitN(text, "]", 2)[0], "[ ")
			continue
		}
		if name, _, ok := strings.Cut(text, "="); ok && !strings.HasPrefix(text, "#") {
			path := strings.TrimSpace(name)
			if section != "" {
				path = section + "." + path
			}
			if lines[path] == 0 {
				lines[path] = i + 1
			}
		}
	}
	return lines
}

// infinite stands for a number that JSON has no word for.
const infinite = json.Number("1e999")

func tomlObject(prefix string, values map[string]any, lines, order map[string]int) (tree.Object, error) {
	type member struct {
		name, path string
		order      int
	}
	members := make([]member, 0, len(values))
	for name := range values {
		path := name
		if prefix != "" {
			path = prefix + "." + name
		}
		members = append(members, member{name, path, order[path]})
	}
	slices.SortFunc(members, func(a, b member) int {
		return cmp.Or(a.order-b.order, strings.Compare(a.name, b.name))
	})
	var o tree.Object
	for _, m := range members {
		name, n := m.name, tree.Node{Line: max(lines[m.path], 1)}
		if in, ok := values[name].(map[string]any); ok {
			inner, err := tomlObject(m.path, in, lines, order)
			if err != nil {
				return nil, err
			}
			n.Value = inner
		} else if f, ok := values[name].(float64); ok && math.IsInf(f, 1) {
			n.Value = infinite
		} else if ok && (math.IsInf(f, -1) || math.IsNaN(f)) {
			n.Value = "-" + infinite // which no argument is
		} else {
			b, err := json.Marshal(values[name])
			if err != nil {
				return nil, err
			}
			value, err := tree.JSON(b)
			if err != nil {
				return nil, err
			}
			n.Value = value.Value
		}
		o = append(o, tree.Member{Key: name, Node: n})
	}
	return o, nil
}
