package plan

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestModules: every set goes through its names and through JSON unchanged,
// and no set has an unnamed module.
func TestModules(t *testing.T) {
	if !slices.IsSorted(ModuleNames()) {
		t.Error("the constants are not in the order of their names, in which sets are listed")
	}
	for set := range Modules(1 << len(ModuleNames())) {
		if got := ModulesOf(set.Names()); got != set {
			t.Fatalf("%b has the names %v, which are %b", set, set.Names(), got)
		}
		text, err := json.Marshal(set)
		if err != nil {
			t.Fatal(err)
		}
		var got Modules
		if err := json.Unmarshal(text, &got); err != nil || got != set {
			t.Fatalf("%b is %s, which is %b (%v)", set, text, got, err)
		}
	}
	if ModuleSharedExperts.Names()[0] != "shared_experts" || Modules(0).Names() == nil {
		t.Error("names and constants do not match")
	}
}

// TestUnknownModule: a misspelt module is an error of a file and a panic of a programmer's.
func TestUnknownModule(t *testing.T) {
	var m Modules
	if err := json.Unmarshal([]byte(`["core_attn", "core_atn"]`), &m); err == nil {
		t.Error("JSON reads an unknown module")
	}
	defer func() {
		if recover() == nil {
			t.Error("an unknown module is no panic")
		}
	}()
	ModulesOf([]string{"core_atn"})
}
