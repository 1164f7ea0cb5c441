// Command accuracy predicts published training steps and compares.
//
//	go run ./tools/accuracy [-rows FOLDER] [-json] [-worst N] [-explain ID]
//	    [-set NAME=VALUE]… [-fit NAME,…|all] [-leave SOURCE] [-crossvalidate] [-spreads] [-published] [-calibrated]
//	    [-write FOLDER] [-out FILE]
//
// Every row of a folder in the format of testdata/measured becomes a job with
// everything pinned, which goes through the same targets and the same estimate
// as `ndc plan`. Rows that lack what a prediction needs are skipped and counted
// by reason. No decision looks at a row's id, source or model name: what the
// publishers say in prose about a cluster or a framework stands in
// clusters.jsonl beside the rows and in frameworks.json.
//
// Rows that judge only (judge_only in clusters.jsonl) are in no fit; grids of
// layouts among them judge the choice. -json has, by row, the place of its
// layout among those of its job (choice.score; 1 is what ndc chooses).
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/compiler/estimate"
)

func main() {
	rows := flag.String("rows", "testdata/measured", "folder of measured rows")
	known := flag.String("facts", "testdata/measured", "folder with clusters.jsonl: facts about clusters, after those beside the rows")
	asJSON := flag.Bool("json", false, "print one object per row")
	worst := flag.Int("worst", 10, "list the worst rows")
	fit := flag.String("fit", "", "comma-separated parameters to fit on all rows, or all")
	calibrated := flag.Bool("calibrated", false, "print what calibrations of the sources by some of their runs are worth")
	spreads := flag.Bool("spreads", false, "print the spreads of the terms of a step")
	published := flag.Bool("published", false, "print the best published utilisation by class of run")
	cross := flag.Bool("crossvalidate", false, "compare goals with errors on sources and models left out of the fit")
	out := flag.String("out", "", "write the report with cross-validation as Markdown to this file, and a drawing beside it")
	write := flag.String("write", "", "keep every row as a job.hcl under this folder")
	explain := flag.String("explain", "", "print the prediction of the rows whose id contains this")
	leave := flag.String("leave", "", "leave the rows of this source out of the fit")
	parameters := estimate.DefaultParameters()
	flag.Func("set", "NAME=VALUE: change a parameter of the estimate", func(s string) error {
		name, value, _ := strings.Cut(s, "=")
		v, err := strconv.ParseFloat(value, 64)
		parameters = parameters.With(name, v)
		return err
	})
	flag.Parse()
	o := options{*rows, *known, *explain, *fit, *leave, *write, *out, *asJSON, *spreads, *published, *calibrated, *cross, *worst}
	if err := run(o, parameters); err != nil {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
}

// options are the command's flags.
type options struct {
	rows, known, explain, fit, leave, write, out  string
	asJSON, spreads, published, calibrated, cross bool
	worst                                         int
}

func run(o options, p estimate.Parameters) error {
	cases, err := load(os.DirFS(o.rows), os.DirFS(o.known))
	if err != nil {
		return err
	}
	if len(cases) == 0 {
		return fmt.Errorf("%s holds no training steps", o.rows)
	}
	if o.fit != "" {
		p = fitParameters(cases, p, o.fit, o.leave)
	}
	if o.write != "" {
		return writeJobs(o.write, cases)
	}
	if o.explain != "" {
		return explainRows(os.Stdout, cases, o.explain, p)
	}
	results := predictAll(cases, p)
	if o.asJSON {
		return printJSON(results)
	}
	if o.published {
		return writePublished(os.Stdout, results)
	}
	if o.spreads {
		return writeSpreads(os.Stdout, newEvidence(results, crossValidate(cases, p)))
	}
	if o.calibrated {
		e := newEvidence(results, crossValidate(cases, p))
		printCalibrated(os.Stdout, results, e, leaveModels(cases, p))
		return printMistaken(os.Stdout, os.DirFS(o.rows), os.DirFS(o.known), p, e)
	}
	report(os.Stdout, results, o.worst)
	printRegret(os.Stdout, results)
	printGains(os.Stdout, results)
	printStrategies(os.Stdout, results)
	printSteps(os.Stdout, results, largeMachines)
	printSteps(os.Stdout, results, deepSpeed)
	printSteps(os.Stdout, results, torchTitanLogs)
	printTrials(os.Stdout, results)
	if !o.cross && o.out == "" {
		return nil
	}
	c := crossValidate(cases, p)
	e := newEvidence(results, c)
	e.expect(results)
	printGoals(os.Stdout, results, c)
	printBias(os.Stdout, results, c)
	printCoverage(os.Stdout, results, e)
	printSkill(os.Stdout, results)
	if o.out != "" {
		return document(o.out, results, c, e, o.worst)
	}
	return nil
}

// printJSON prints one object per row.
func printJSON(results []result) error {
	out := json.NewEncoder(os.Stdout)
	for i := range results {
		if err := out.Encode(&results[i]); err != nil {
			return err
		}
	}
	return nil
}
