package tree

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// YAML reads one document of YAML. Aliases are refused: what they stand for may
// be without end.
func YAML(src []byte) (Node, error) {
	if len(src) > MaxBytes {
		return Node{}, fmt.Errorf("it has %d bytes, more than %d", len(src), MaxBytes)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(src, &document); err != nil {
		return Node{}, err
	}
	if len(document.Content) != 1 {
		return Node{}, errors.New("it is empty")
	}
	return fromYAML(document.Content[0], 0)
}

func fromYAML(y *yaml.Node, depth int) (Node, error) {
	n := Node{Line: y.Line}
	if depth > MaxDepth {
		return n, fmt.Errorf("line %d: values stand more than %d deep in one another", y.Line, MaxDepth)
	}
	switch y.Kind {
	case yaml.MappingNode:
		o := Object{}
		for i := 0; i+1 < len(y.Content); i += 2 {
			value, err := fromYAML(y.Content[i+1], depth+1)
			if err != nil {
				return n, err
			}
			value.Line = y.Content[i].Line
			o = append(o, Member{Key: y.Content[i].Value, Node: value})
		}
		n.Value = o
	case yaml.SequenceNode:
		list := []Node{}
		for _, inner := range y.Content {
			value, err := fromYAML(inner, depth+1)
			if err != nil {
				return n, err
			}
			list = append(list, value)
		}
		n.Value = list
	case yaml.ScalarNode:
		n.Value = scalar(y)
	default:
		return n, fmt.Errorf("line %d: aliases are not read", y.Line)
	}
	return n, nil
}

// truths are the words that YAML 1.1 has for truth values beside true and false, as PyYAML
// reads them, with which all these files are read.
var truths = map[string]bool{"yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false}

// scalar is the value of a scalar: null, a truth value, a number or text.
func scalar(y *yaml.Node) any {
	var b bool
	var f float64
	if on, ok := truths[y.Value]; ok && y.Style == 0 && y.ShortTag() == "!!str" {
		return on
	}
	switch tag := y.ShortTag(); {
	case tag == "!!null":
		return nil
	case tag == "!!bool" && y.Decode(&b) == nil:
		return b
	case (tag == "!!int" || tag == "!!float") && json.Valid([]byte(y.Value)):
		return json.Number(y.Value)
	case (tag == "!!int" || tag == "!!float") && y.Decode(&f) == nil:
		if math.IsInf(f, 0) || math.IsNaN(f) {
			return json.Number("1e999")
		}
		return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
	}
	return y.Value
}
