package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/ndc-dev/ndc/compiler/estimate"
)

// explainRows prints layout, breakdown and communication of some rows.
func explainRows(w io.Writer, examples []example, id string, p estimate.Parameters) error {
	for i := range examples {
		x := &examples[i]
		if !strings.Contains(x.row.ID, id) || x.skip != "" {
			continue
		}
		d := estimate.NewWith(x.job, x.target, p).Describe(&x.layout, &x.exec)
		layout, err := json.Marshal(x.layout)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\n%s\n%+v\nmeasured %.4f s, predicted %.4f s\n", x.row.ID, layout, x.exec, stepSeconds(x.row), float64(d.Time.StepSeconds))
		for _, b := range d.Time.Breakdown {
			fmt.Fprintf(w, "  %9.4f s  %4.1f %%  %s\n", float64(b.Seconds), 100*float64(b.Seconds/d.Time.StepSeconds), b.Name)
		}
		for _, c := range d.Communication {
			fmt.Fprintf(w, "  %-24s %-14s %-8s %8.2f GB %9.4f s exposed %9.4f s\n", c.Group, c.Collective, c.Link, float64(c.Bytes)/1e9, float64(c.Seconds), float64(c.ExposedSeconds))
		}
	}
	return nil
}
