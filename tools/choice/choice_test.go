package main

import (
	"bytes"
	"os"
	"reflect"
	"slices"
	"testing"
)

const root = "../.."

// TestRecorded: every launch and example that pins something is recorded, none
// breaks the rule of choice, and the page is what was recorded.
func TestRecorded(t *testing.T) {
	recorded, err := readRecorded(root)
	if err != nil {
		t.Fatal(err)
	}
	questions, err := questionsOf(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(questions) != len(recorded) {
		t.Errorf("%d questions, %d answers; go run ./tools/choice -only NAME", len(questions), len(recorded))
	}
	for _, q := range questions {
		if !slices.ContainsFunc(recorded, func(a answer) bool { return a.Name == q.name }) {
			t.Errorf("%s is not recorded; go run ./tools/choice -only %[1]s", q.name)
		}
	}
	for i := range recorded {
		if why := recorded[i].faults(); why != "" {
			t.Errorf("%s: %s", recorded[i].Name, why)
		}
	}
	written, err := os.ReadFile(root + "/" + pagePath)
	if err != nil || !bytes.Equal(written, page(recorded)) {
		t.Errorf("%s is not what was recorded (%v); go run ./tools/choice -only ^$", pagePath, err)
	}
}

// TestFaults: the rule is broken below 0.97, unless the pinned layout is tied or
// has what no search chooses.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		answer answer
		broken bool
	}{
		{answer{Pinned: 100, Layout: 97, Free: 97}, false},
		{answer{Pinned: 100, Layout: 96.9, Free: 100}, true},
		{answer{Pinned: 100, Layout: 96.9, Free: 96.9, Tied: true}, false},
		{answer{Pinned: 100, Layout: 100, Free: 96.9}, true},
		{answer{Pinned: 100, Layout: 100, Free: 60, Unasked: []string{"moe_dispatcher"}}, false},
		{answer{}, false},
	} {
		if got := c.answer.faults(); (got != "") != c.broken {
			t.Errorf("%+v: %q", c.answer, got)
		}
	}
}

// TestAsk plans a few of the launches whose search is short anew: what is recorded
// is what is predicted today.
func TestAsk(t *testing.T) {
	recorded, err := readRecorded(root)
	if err != nil {
		t.Fatal(err)
	}
	asked := []string{"llama3-8b-gh200-1", "llama3-70b-gh200-4", "gpt3-7b-p4d-16"}
	questions, err := questionsOf(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range questions {
		if !slices.Contains(asked, q.name) {
			continue
		}
		a, err := q.ask()
		if err != nil {
			t.Fatal(err)
		}
		if why := a.faults(); why != "" || a.Pinned == 0 {
			t.Errorf("%s: %s, %+v", q.name, why, a)
		}
		if !slices.ContainsFunc(recorded, func(r answer) bool { return reflect.DeepEqual(r, a) }) {
			t.Errorf("%s has another answer than the recorded one, %+v; go run ./tools/choice", q.name, a)
		}
		asked = slices.DeleteFunc(asked, func(name string) bool { return name == q.name })
	}
	if len(asked) > 0 {
		t.Errorf("no launches %v", asked)
	}
}
