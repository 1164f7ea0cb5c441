//go:build conformance

package oracle

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/integration/environment"
	"github.com/ndc-dev/ndc/integration/summary"
)

// operators are the bytes that an operation of a layer moves, per element of its
// output (compiler/estimate/data/layers.json).
type operators struct {
	Layers    string  `json:"layers"`
	Operation string  `json:"operation"`
	Forward   float64 `json:"forward"`
	Backward  float64 `json:"backward"`
}

// TestOperators counts in the frameworks what the operators of a decoder layer
// read and write, and demands what the time of a step is made of.
func TestOperators(t *testing.T) {
	content, err := os.ReadFile("../../compiler/estimate/data/layers.json")
	if err != nil {
		t.Fatal(err)
	}
	var records []operators
	if err := json.Unmarshal(content, &records); err != nil {
		t.Fatal(err)
	}
	recorded := map[[2]string]operators{}
	for _, r := range records {
		if r.Layers != "fused" && !strings.HasSuffix(r.Layers, "-compiled") { // what a compiler fuses has no operators to count
			recorded[[2]string{r.Layers, r.Operation}] = r
		}
	}
	for _, f := range []struct {
		framework, version string
		environment        environment.Environment
	}{
		{"deepspeed", "0.19.8", environment.DeepSpeed("0.19.8")},
		{"torchtitan", "0.2.2", environment.TorchTitan("0.2.2")},
		{"megatron", "0.19.2", environment.Megatron("0.19.2")},
	} {
		line := summary.Line{Framework: f.framework, Version: f.version, What: "operations of a layer, bytes counted again"}
		python, err := f.environment.Python()
		if err != nil {
			line.Skipped = err.Error()
			if err := summary.Add(line); err != nil {
				t.Error(err)
			}
			t.Skip("skipped: ", err)
		}
		line.Accepted, line.Rejected = counted(t, python, recorded)
		if err := summary.Add(line); err != nil {
			t.Error(err)
		}
	}
	for key := range recorded {
		t.Errorf("%s of %s was not counted", key[1], key[0])
	}
}

// counted compares what the installed framework says with the records, which it
// takes out.
func counted(t *testing.T, python string, recorded map[[2]string]operators) (accepted, rejected int) {
	out, err := environment.Ask(1, nil, nil, python, "operators.py")
	if err != nil {
		t.Error(err)
		return 0, 1
	}
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		var now operators
		if err := d.Decode(&now); err != nil {
			t.Fatal(err)
		}
		key := [2]string{now.Layers, now.Operation}
		was, ok := recorded[key]
		delete(recorded, key)
		if !ok || math.Abs(now.Forward/was.Forward-1) > 0.005 || math.Abs(now.Backward/was.Backward-1) > 0.005 {
			t.Errorf("recorded %+v, counted %+v", was, now)
			rejected++
			continue
		}
		accepted++
	}
	return accepted, rejected
}
