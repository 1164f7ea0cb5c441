package render

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestLineJSON: an element of a list has a line of its own, so that one more changes one line.
func TestLineJSON(t *testing.T) {
	v := Object{
		{"name", `a "quoted": text, with \`}, {"sizes", []int{1, 2, 3}}, {"none", []int{}}, {"nothing", nil}, {"empty", Object{}},
		{"stages", []Object{{{"stage", 0}, {"ledger", []Object{{{"id", "a"}}}}}, {{"stage", 1}}}},
		{"nested", Object{{"deep", Object{{"deeper", true}}}}}, {"lists", [][]int{{1, 2}, {3}}},
	}
	got, err := LineJSON(v)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "name": "a \"quoted\": text, with \\",
  "sizes": [1, 2, 3],
  "none": [],
  "nothing": null,
  "empty": {},
  "stages": [
    {"stage": 0, "ledger": [{"id": "a"}]},
    {"stage": 1}
  ],
  "nested": {
    "deep": {
      "deeper": true
    }
  },
  "lists": [
    [1, 2],
    [3]
  ]
}
`
	if string(got) != want {
		t.Errorf("got\n%s", got)
	}
	pretty, err := JSON(v)
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if json.Unmarshal(got, &a) != nil || json.Unmarshal(pretty, &b) != nil || !reflect.DeepEqual(a, b) {
		t.Error("the two forms say different things")
	}
}
