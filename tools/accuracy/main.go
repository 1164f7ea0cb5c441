// Command accuracy predicts published training steps and compares.
//
//	go run ./tools/accuracy [-rows FOLDER] [-json] [-worst N] [-set NAME=VALUE]…
//
// Every row of a folder in the format of testdata/measured becomes a job with
// everything pinned, which goes through the same targets and the same estimate
// as `ndc plan`. Rows that lack what a prediction needs are skipped and counted
// by reason. No decision looks at a row's id, source or model name: what the
// publishers say in prose about a cluster or a framework stands in
// clusters.jsonl beside the rows and in frameworks.json.
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
	asJSON := flag.Bool("json", false, "print one object per row")
	worst := flag.Int("worst", 10, "list the worst rows")
	fit := flag.String("fit", "", "comma-separated parameters to fit on all rows")
	explain := flag.String("explain", "", "print the prediction of the rows whose id contains this")
	parameters := estimate.DefaultParameters()
	flag.Func("set", "NAME=VALUE: change a parameter of the estimate", func(s string) error {
		name, value, _ := strings.Cut(s, "=")
		v, err := strconv.ParseFloat(value, 64)
		parameters = parameters.With(name, v)
		return err
	})
	flag.Parse()
	if err := run(*rows, *explain, *asJSON, *worst, *fit, parameters); err != nil {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
}

func run(folder, explain string, asJSON bool, worst int, fit string, p estimate.Parameters) error {
	cases, err := load(os.DirFS(folder))
	if err != nil {
		return err
	}
	if fit != "" {
		names := strings.Split(fit, ",")
		p = fitParameters(cases, p, names)
		for _, n := range names {
			fmt.Printf("%s = %.4g\n", n, p[n])
		}
	}
	if explain != "" {
		return explainRows(os.Stdout, cases, explain, p)
	}
	results := predictAll(cases, p)
	if !asJSON {
		report(os.Stdout, results, worst)
		return nil
	}
	out := json.NewEncoder(os.Stdout)
	for i := range results {
		if err := out.Encode(&results[i]); err != nil {
			return err
		}
	}
	return nil
}
