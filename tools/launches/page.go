package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// order of verdicts, and what each means.
var verdicts = []struct {
	verdict verdict
	meaning string
}{
	{same, "emitted with the same value"},
	{byDefault, "the value is what the release does without the option"},
	{mapped, "another option, variable or file says the same"},
	{argument, "an argument of the job says it, and this job does not"},
	{chosen, "ndc decides otherwise, for the reason given"},
	{unwanted, "left out on purpose, for the reason given"},
	{lacking, "ndc has no word for it"},
	{absent, "the release has no such option"},
}

const opening = `<!-- Written by tools/launches; do not edit. -->
# Published launches

%d launches that vendors and labs published stand as jobs in [testdata/launches](../testdata/launches), each once with the layout of
its source and once with nothing pinned. What each sets (options and variables with their values), where it was published and what it
reached is in launches.jsonl there; the scripts themselves are not. The jobs are trials without data, on releases that can be asked: the
real frameworks accept what ndc emits with the layouts of the sources; a full run of the suite hands them ndc's own, too
([conformance.md](conformance.md)).

This page says, for every option of a published launch, what became of it in the one that ndc emits. The reasons are in
reasons.jsonl; a test fails where one is missing.

| verdict | meaning |
|---|---|
`

// page is docs/launches.md.
func (c *comparison) page() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, opening, len(c.launches))
	for _, v := range verdicts {
		fmt.Fprintf(&b, "| %s | %s |\n", v.verdict, v.meaning)
	}
	c.list(&b)
	b.WriteString("\n## Options that are emitted otherwise or not at all\n\n")
	c.byOption(&b, func(l *compared) []difference { return l.options })
	b.WriteString("\n## Variables of the environment\n\n")
	c.byOption(&b, func(l *compared) []difference { return l.environment })
	c.beside(&b)
	return []byte(b.String())
}

// list is the table of launches.
func (c *comparison) list(b *strings.Builder) {
	b.WriteString("\n## The launches\n\n| job | what | published | source | same | other | not emitted |\n|---|---|---|---|---|---|---|\n")
	for i := range c.launches {
		l := &c.launches[i]
		equals, others, missing := 0, 0, 0
		for _, d := range l.options {
			switch {
			case d.verdict == same || d.verdict == byDefault:
				equals++
			case d.set:
				others++
			default:
				missing++
			}
		}
		what := strings.TrimSuffix(l.Title, ".")
		if l.Notes != "" {
			what += ". " + strings.TrimSuffix(l.Notes, ".")
		}
		fmt.Fprintf(b, "| [%s](../%s/%s.hcl) | %s | %s | %s %s @%.7s | %d | %d | %d |\n",
			l.Name, folder, l.Name, what, l.rates(), l.Source.Repository, l.Source.Path, l.Source.Commit, equals, others, missing)
	}
}

// rates is what the authors published.
func (l *launch) rates() string {
	p := &l.Published
	var parts []string
	for _, r := range []struct {
		value float64
		unit  string
	}{{p.TokensPerSecond, "tokens/s per GPU"}, {p.TFLOPS, "TFLOPS per GPU"}, {p.StepSeconds, "s a step"}} {
		if r.value != 0 {
			parts = append(parts, fmt.Sprintf("%g %s", r.value, r.unit))
		}
	}
	if len(parts) == 0 {
		return p.Where
	}
	return strings.Join(parts, ", ") + " (" + p.Where + ")"
}

// row is what became of one option, in all launches that have the same to say.
type row struct {
	verdict      verdict
	why          string
	theirs, ours map[string]bool
	launches     int
}

// byOption lists the differences of all launches, an option a line.
func (c *comparison) byOption(b *strings.Builder, of func(*compared) []difference) {
	type key struct{ name, why string }
	rows := map[key]*row{}
	for i := range c.launches {
		for _, d := range of(&c.launches[i]) {
			if d.verdict == same || d.verdict == byDefault {
				continue
			}
			k := key{d.name, d.why}
			if rows[k] == nil {
				rows[k] = &row{verdict: d.verdict, why: d.why, theirs: map[string]bool{}, ours: map[string]bool{}}
			}
			r := rows[k]
			r.launches++
			r.theirs[d.theirs] = true
			if d.set {
				r.ours[d.ours] = true
			}
		}
	}
	b.WriteString("| option | launches | theirs | emitted | verdict | why |\n|---|---|---|---|---|---|\n")
	keys := slices.SortedFunc(maps.Keys(rows), func(x, y key) int {
		return cmp.Or(cmp.Compare(x.name, y.name), cmp.Compare(x.why, y.why))
	})
	for _, k := range keys {
		r := rows[k]
		fmt.Fprintf(b, "| `%s` | %d | %s | %s | %s | %s |\n", k.name, r.launches, values(r.theirs), values(r.ours), r.verdict, escaped(r.why))
	}
}

// values spells a set of values, at most four of them.
func values(set map[string]bool) string {
	var all []string
	for _, v := range slices.Sorted(maps.Keys(set)) {
		if v != "" {
			all = append(all, "`"+escaped(v)+"`")
		}
	}
	if len(all) > 4 {
		all = append(all[:4], "…")
	}
	return strings.Join(all, ", ")
}

func escaped(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// beside is the example of this repository beside the vendor's launch, every
// option of theirs.
func (c *comparison) beside(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s beside the vendor's own launch\n\nThe files of [examples/%[1]s](../examples/%[1]s), option by option, beside %s of %s.\n\n",
		exampleName, c.example.Source.Path, c.example.Source.Repository)
	b.WriteString("| option | theirs | emitted | verdict | why |\n|---|---|---|---|---|\n")
	for _, d := range slices.Concat(c.example.options, c.example.environment) {
		ours := "`" + escaped(d.ours) + "`"
		switch {
		case !d.set:
			ours = "–"
		case d.ours == "":
			ours = "set"
		}
		theirs := "`" + escaped(d.theirs) + "`"
		if d.theirs == "" {
			theirs = "set"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", d.name, theirs, ours, d.verdict, escaped(d.why))
	}
}
