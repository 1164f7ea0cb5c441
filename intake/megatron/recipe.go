package megatron

import (
	"encoding/json"
	"strings"

	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/intake/shell"
	"github.com/ndc-dev/ndc/intake/tree"
)

// Recipe reads YAML that lists options of Megatron-LM and variables of its
// environment: the recipes of Megatron-LM's examples/moe_recipes (ARGS, names with
// underscores), its functional tests and Megatron-MoE-ModelZoo (MODEL_ARGS, names as on
// a command line), all with ENV_VARS; and of FlagScale, whose sections system, model and
// data hold options at any depth (flagscale/runner/utils.py: flatten_dict_to_args). Their
// other sections are the rest. False where the file is none.
func Recipe(src []byte) (c shell.Command, environment []shell.Export, rest tree.Object, ok bool) {
	n, err := tree.YAML(src)
	if err != nil {
		return c, nil, nil, false
	}
	flagScale := ofFlagScale(n)
	for _, section := range n.Object() {
		switch section.Key {
		case "system", "model", "data":
			if !flagScale {
				rest = append(rest, section)
				continue
			}
			if c.Words == nil {
				c.Line = section.Line
				c.Words = []shell.Word{{Text: "train_gpt.py", Line: section.Line}}
			}
			c.Words = append(c.Words, flattened(section.Object())...)
		case "ARGS", "MODEL_ARGS":
			c.Line = section.Line
			c.Words = append(c.Words, shell.Word{Text: "pretrain_gpt.py", Line: section.Line})
			for _, m := range section.Object() {
				c.Words = append(c.Words, recipeOption(m)...)
			}
		case "ENV_VARS":
			for _, m := range section.Object() {
				for _, w := range recipeValues(m.Node) {
					environment = append(environment, shell.Export{Name: m.Key, Value: w})
				}
			}
		default:
			rest = append(rest, section)
		}
	}
	versions := megatron.Backend{}.Versions()
	table, _ := megatron.Tables(versions[len(versions)-1])
	options, _ := known(table, c)
	return c, environment, rest, options >= enough
}

// IsFlagScale reports options of FlagScale in YAML.
func IsFlagScale(src []byte) bool {
	n, err := tree.YAML(src)
	return err == nil && ofFlagScale(n)
}

func ofFlagScale(n tree.Node) bool {
	_, ok := n.Object().Find("system")
	return ok
}

// flattened are the options of a section, in which objects stand for what they hold.
func flattened(o tree.Object) (words []shell.Word) {
	for _, m := range o {
		if inner := m.Object(); inner != nil {
			words = append(words, flattened(inner)...)
			continue
		}
		words = append(words, recipeOption(m)...)
	}
	return words
}

// recipeOption is one option as its words on a command line: true is a switch, false
// none, and a list or several words are several values.
func recipeOption(m tree.Member) []shell.Word {
	if m.Value == false || m.Value == nil {
		return nil
	}
	name := m.Key
	if !strings.HasPrefix(name, "-") {
		name = "--" + strings.ReplaceAll(name, "_", "-")
	}
	words := []shell.Word{{Text: name, Line: m.Line}}
	if m.Value == true {
		return words
	}
	return append(words, recipeValues(m.Node)...)
}

// recipeValues are the words of a value; what a variable of the shell fills in is open.
func recipeValues(n tree.Node) (words []shell.Word) {
	switch v := n.Value.(type) {
	case []tree.Node:
		for _, inner := range v {
			words = append(words, recipeValues(inner)...)
		}
	case json.Number:
		words = []shell.Word{{Text: string(v), Line: n.Line}}
	case string:
		for text := range strings.FieldsSeq(v) {
			words = append(words, shell.Word{Text: text, Line: n.Line, Open: strings.Contains(text, "$")})
		}
	case bool:
		words = []shell.Word{{Text: map[bool]string{true: "true", false: "false"}[v], Line: n.Line}}
	}
	return words
}
