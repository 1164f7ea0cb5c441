package summary

import (
	"strings"
	"testing"
)

// TestPairsTable: rows that were asked again are replaced, others stay.
func TestPairsTable(t *testing.T) {
	first := PairsTable("", []Line{
		{Framework: "megatron", Version: "core_v0.19.2", Pairs: &Pairs{10, 20, 3, 4, 1}},
		{Framework: "deepspeed", Version: "0.19.8", Pairs: &Pairs{5, 6, 1, 0, 0}},
		{Framework: "deepspeed", Version: "0.19.8", What: "something else"},
	})
	again := PairsTable(first, []Line{{Framework: "megatron", Version: "core_v0.19.2", Pairs: &Pairs{11, 22, 3, 4, 0}}})
	want := strings.Replace(first, "| 20 | 10 | 3 | 4 | 1 |", "| 22 | 11 | 3 | 4 | 0 |", 1)
	if again != want || !strings.Contains(first, "| deepspeed | 0.19.8 | 6 | 5 | 1 | 0 | 0 |\n| megatron |") {
		t.Errorf("first\n%s\nthen\n%s", first, again)
	}
}
