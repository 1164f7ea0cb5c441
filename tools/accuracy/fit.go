package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/estimate"
)

// fitParameters fits parameters by name, or all of them, to the rows whose
// layout is certain, without those of one source if it is named, and prints
// them. It returns all parameters with the fitted values.
func fitParameters(examples []example, p estimate.Parameters, names, leave string) estimate.Parameters {
	var list []string
	if names != "all" {
		list = strings.Split(names, ",")
	}
	t := newTuner(examples, p, list...)
	in := make([]bool, len(t.rows))
	for i, x := range t.rows {
		in[i] = leave == "" || strings.TrimSuffix(x.row.file, ".jsonl") != leave
	}
	shares, residuals := t.fit(in)
	fitted := t.values(shares)
	for i, r := range t.records {
		bound := ""
		if shares[i] < 1e-3 || shares[i] > 1-1e-3 {
			bound = ", at its bound"
		}
		fmt.Printf("%s = %.4g (%.4g to %.4g, was %.4g%s)\n", r.Name, fitted[r.Name], r.Low, r.High, p[r.Name], bound)
	}
	loss := t.loss(in, shares, residuals)
	for i := range residuals {
		residuals[i] = math.Abs(residuals[i])
	}
	slices.Sort(residuals)
	fmt.Printf("median %.2f %%, p90 %.2f %% of %d rows, loss %.3f\n", 100*quantile(residuals, 0.5), 100*quantile(residuals, 0.9), len(residuals), loss)
	return fitted
}
