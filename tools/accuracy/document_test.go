package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/estimate"
)

// TestDocument writes the report of a sample of rows: every section is there,
// every goal with rows has a line, the drawing is XML with a mark per row.
func TestDocument(t *testing.T) {
	cases, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	var some []example
	for i := 0; i < len(cases); i += 25 {
		some = append(some, cases[i])
	}
	p := estimate.DefaultParameters()
	results, c := predictAll(some, p), crossValidate(some, p)
	e := newEvidence(results, c)
	e.expect(results)
	path := filepath.Join(t.TempDir(), "accuracy.md")
	if err := document(path, results, c, e, 3); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## Goals", "## By source", "## Ranges", "## The worst rows", "(accuracy.svg)", "step time, everything", "order: pairs"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if strings.Contains(string(text), "{{") {
		t.Error("a table of the page is not filled in")
	}
	drawing, err := os.Open(strings.TrimSuffix(path, ".md") + ".svg")
	if err != nil {
		t.Fatal(err)
	}
	defer drawing.Close()
	marks, timed := 0, 0
	for d := xml.NewDecoder(drawing); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "circle" {
			marks++
		}
	}
	for i := range results {
		if results[i].Time != nil && !results[i].judge {
			timed++
		}
	}
	if marks != timed || timed == 0 {
		t.Errorf("%d marks for %d rows", marks, timed)
	}
}

// TestRemarks: every remark speaks of a goal by the name that it is printed by.
func TestRemarks(t *testing.T) {
	names := []string{ranWhat, oomWhat, orderWhat, regretWhat, pairsWhat}
	for i := range goals {
		names = append(names, goals[i].what)
	}
	if len(remarks()) == 0 {
		t.Error("no remarks")
	}
	for _, m := range remarks() {
		if !slices.Contains(names, m.Goal) {
			t.Errorf("no goal is called %q", m.Goal)
		}
	}
}

// TestLeavingOut: a row's held-out prediction does not depend on what was
// measured of its model or its source.
func TestLeavingOut(t *testing.T) {
	held := func(change float64) *crossValidation {
		cases, err := load(measured, measured) // of its own: it changes rows
		if err != nil {
			t.Fatal(err)
		}
		var some []example
		for i := 0; i < len(cases); i += 40 {
			some = append(some, cases[i])
		}
		for i := range some {
			if some[i].row.file == "mosaicml_llm_foundry.jsonl" {
				some[i].row.Measured.StepTime *= change
				some[i].row.Measured.Tokens /= change
			}
		}
		return crossValidate(some, estimate.DefaultParameters())
	}
	a, b := held(1), held(2)
	n := 0
	for id, v := range a.source {
		if !strings.HasPrefix(id, "mosaic-") {
			continue
		}
		n++
		if got := b.source[id] * 2 / v; got < 0.9999 || got > 1.0001 {
			t.Errorf("%s: measured twice as long, the held-out prediction changes by %v", id, got)
		}
	}
	if n == 0 {
		t.Error("no row was left out")
	}
	if len(a.model) != len(a.source) {
		t.Errorf("%d rows left out by model, %d by source", len(a.model), len(a.source))
	}
}

// TestRepeated: what pages repeat of others is what those say.
func TestRepeated(t *testing.T) {
	repeats(t, "docs/uncertainty.md", "docs/accuracy.md", [][2]string{
		{`\| dense \| \d+ \| (\d+) % \|`, "ranges hold $1 % of the steps of dense models"},
		{`\| mixtures of experts \| \d+ \| (\d+) % \|`, "and $1 % of mixtures ("},
		{`\| dense, in no fit \| (\d+) \| \d+ % \| ([0-9.]+) % \| ([0-9.]+) %`, "| dense, in no fit | $1 | $2 % | $3 % |"},
		{`\| mixtures of experts, in no fit \| (\d+) \| \d+ % \| ([0-9.]+) % \| ([0-9.]+) %`, "| mixtures, in no fit | $1 | $2 % | $3 % |"},
		{`\| dense, of the fit \| (\d+) \| \d+ % \| ([0-9.]+) % \| ([0-9.]+) %`, "| dense, of the fit | $1 | $2 % | $3 % |"},
		{`\| mixtures of experts, of the fit \| (\d+) \| \d+ % \| ([0-9.]+) % \| ([0-9.]+) %`, "| mixtures, of the fit | $1 | $2 % | $3 % |"},
		{`draws of three layouts or more, weighted by group\) (\d+) ±`, "random halves of the groups $1 % lie inside"},
		{`AA-Scaling: chosen layouts took \+([0-9.]+) % longer`, "what ndc chooses took $1 % longer"},
		{`AA-Scaling: chosen layouts took .*?\(standard error ([0-9.]+) %`, "longer (standard error $1 %). It is fitted"},
		{`\| nothing \| \d+ \| 0.0 % \| [^|]* \| \+([0-9.]+) ±`, "these groups now give $1 %"},
		{`\| all groups \| \d+ \| ([0-9.]+) % \|`, "all together $1 %"},
	})
	repeats(t, "README.md", "docs/accuracy.md", [][2]string{
		{`\| dense, in no fit \| \d+ \| (\d+) % \| [0-9.]+ % \| [0-9.]+ %`, "the dense steps of such sources $1 % lie inside"},
		{`\| mixtures of experts, in no fit \| \d+ \| (\d+) % \| [0-9.]+ % \| [0-9.]+ %`, "of mixtures of experts $1 %, each source"},
	})
	repeats(t, "README.md", "docs/uncertainty.md", [][2]string{
		{`\| dense models \| ([0-9.]+) % \|`, "dense steps take $1 % longer than predicted"},
		{`\| mixtures \| ([0-9.]+) % \|`, "in the mean, mixtures of experts $1 %"},
	})
}

// repeats holds a page to another: what is found there, and what is said of it here.
func repeats(t *testing.T, page, of string, list [][2]string) {
	t.Helper()
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(string(b)), " ")
	}
	here, there := read(page), read(of)
	for _, c := range list {
		found := regexp.MustCompile(c[0])
		m := found.FindStringSubmatchIndex(there)
		if m == nil {
			t.Errorf("%s has nothing like %s", of, c[0])
		} else if want := string(found.ExpandString(nil, c[1], there, m)); !strings.Contains(here, want) {
			t.Errorf("%s does not say %q", page, want)
		}
	}
}
