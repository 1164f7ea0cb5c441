package main

import (
	_ "embed" // the page
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/compiler/estimate"
)

// page is docs/accuracy.md with a word in braces where a table stands.
//
//go:embed document.md
var page string

// document writes docs/accuracy.md and its drawing: everything that the
// command knows about a folder of rows.
func document(path string, results []result, c *crossValidation, e *evidence, worst int) error {
	drawing := strings.TrimSuffix(path, filepath.Ext(path)) + ".svg"
	if err := writeScatter(drawing, results); err != nil {
		return err
	}
	filled := []string{"{{parameters}}", strconv.Itoa(len(estimate.ParameterRecords())), "{{drawing}}", filepath.Base(drawing)}
	for _, table := range []struct {
		name  string
		print func(io.Writer)
	}{
		{"goals", func(w io.Writer) { printGoals(w, results, c) }},
		{"bias", func(w io.Writer) { printBias(w, results, c) }},
		{"sources", func(w io.Writer) { report(w, results, 0) }},
		{"regret", func(w io.Writer) { printRegret(w, results) }},
		{"gains", func(w io.Writer) { printGains(w, results) }},
		{"strategies", func(w io.Writer) { printStrategies(w, results) }},
		{"large", func(w io.Writer) { printSteps(w, results, largeMachines) }},
		{"deepspeed", func(w io.Writer) { printSteps(w, results, deepSpeed) }},
		{"torchtitan", func(w io.Writer) { printSteps(w, results, torchTitanLogs) }},
		{"coverage", func(w io.Writer) { printCoverage(w, results, e) }},
		{"memory", func(w io.Writer) { printMemoryCoverage(w, results) }},
		{"skill", func(w io.Writer) { printSkill(w, results) }},
		{"worst", func(w io.Writer) { printWorst(w, worstRows(results, worst)) }},
	} {
		var b strings.Builder
		table.print(&b)
		filled = append(filled, "{{"+table.name+"}}\n", b.String())
	}
	return os.WriteFile(path, []byte(strings.NewReplacer(filled...).Replace(page)), 0o644)
}

// printWorst tells of the rows that are furthest off, and why they may be.
func printWorst(w io.Writer, rows []*result) {
	for _, r := range rows {
		fmt.Fprintf(w, "| %+.0f %% | %s | %.2f s | %.2f s | %s |\n", 100*(r.Time.PredictedSeconds/r.Time.MeasuredSeconds-1), r.ID, r.Time.PredictedSeconds, r.Time.MeasuredSeconds, suspected(r))
	}
}

// printMemoryCoverage tells how often measured memory lies inside the range of
// the predicted, by definition and source, and inside the range that the rows of
// other models alone would give it.
func printMemoryCoverage(w io.Writer, results []result) {
	inside, others := map[string][]bool{}, map[string][]bool{}
	width := map[string][2]float64{}
	names := []string{}
	for i := range results {
		r := &results[i]
		if r.Memory == nil || r.apart || r.judge {
			continue
		}
		k := r.Memory.Definition + ", " + r.Source
		if inside[k] == nil {
			names = append(names, k)
		}
		ratio := r.Memory.MeasuredBytes / r.Memory.PredictedBytes
		inside[k] = append(inside[k], ratio >= r.memoryRange[0] && ratio <= r.memoryRange[1])
		width[k] = r.memoryRange
		if o := ratiosOfOthers(results, r); len(o) >= 10 {
			others[k] = append(others[k], ratio >= quantile(o, 0.05) && ratio <= quantile(o, 0.95))
		}
	}
	fmt.Fprintf(w, "\n| memory | rows | inside | inside that of other models | range |\n|---|---|---|---|---|\n")
	for _, k := range names {
		held := "fewer than ten rows"
		if n := len(others[k]); n > 0 {
			held = percentOf(others[k])
		}
		fmt.Fprintf(w, "| %s | %d | %s | %s | %+.1f to %+.1f %% |\n", k, len(inside[k]), percentOf(inside[k]), held, 100*width[k][0]-100, 100*width[k][1]-100)
	}
}
