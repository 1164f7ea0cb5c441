package main

import (
	"regexp"
	"strings"
	"sync"
)

// helper is a function that recipes call to set options: what it is called, or
// a part of that, and what it sets.
type helper struct {
	Name    string            `json:"name"`
	Options map[string]string `json:"options"`
	Source  string            `json:"source"`
}

// keyword is an argument of a call in Python.
var keyword = regexp.MustCompile(`(\w+)=(\w+)`)

// called finds an option by any of its names in the helpers that the row's
// remark on its recipe names: they run after the recipe's own assignments.
func (r *row) called(names ...string) (string, bool) {
	_, calls, ok := strings.Cut(r.Layout.Recompute.Note, "helper calls")
	if !ok {
		return "", false
	}
	for _, m := range keyword.FindAllStringSubmatch(calls, -1) {
		for _, n := range names {
			if m[1] == n {
				return strings.ToLower(m[2]), true
			}
		}
	}
	for _, h := range helpers() {
		for _, n := range names {
			if v, ok := h.Options[n]; ok && strings.Contains(calls, h.Name) {
				return v, true
			}
		}
	}
	return "", false
}

// architectureFacts are what a definition of a model says beyond the columns of
// the tables, for rows that cite it.
type architectureFacts struct {
	Contains string `json:"contains"` // part of the citation
	modelFacts
	Source string `json:"source"`
}

// helpers and architectures read their files once.
var (
	helpers       = sync.OnceValue(func() []helper { return embedded[helper]("helpers.json") })
	architectures = sync.OnceValue(func() []architectureFacts { return embedded[architectureFacts]("architectures.json") })
)
