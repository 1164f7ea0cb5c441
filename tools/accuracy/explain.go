package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/memory"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/lang/units"
)

// explainRows prints layout, breakdown, communication and memory of some rows.
func explainRows(w io.Writer, examples []example, id string, p estimate.Parameters) error {
	for i := range examples {
		x := &examples[i]
		if !strings.Contains(x.row.ID, id) || x.skip != "" {
			continue
		}
		d := estimate.NewWith(x.job, x.target, p).Describe(&x.layout, &x.exec)
		layout, err := json.Marshal(file.Layout(x.layout))
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
		explainMemory(w, x, &d.Memory)
	}
	return nil
}

// explainMemory prints the ledger of every stage.
func explainMemory(w io.Writer, x *example, m *plan.Memory) {
	if x.state != nil {
		kept := memory.New(x.job, x.state).Memory(&x.layout, &x.exec)
		m = &kept
	}
	fmt.Fprintf(w, "  %.2f GiB measured, %.2f of device predicted, range %.2f to %.2f of %.2f\n", x.row.Measured.Peak,
		gib(m.Peak.DeviceBytes), gib(m.Peak.DeviceRangeBytes[0]), gib(m.Peak.DeviceRangeBytes[1]), gib(x.job.Cluster.GPU.Memory))
	for _, s := range m.Stages {
		fmt.Fprintf(w, "  stage %d: %.2f GiB allocated, %.2f reserved, %.2f device:", s.Stage, gib(s.AllocatedBytes), gib(s.ReservedBytes), gib(s.DeviceBytes))
		for _, y := range s.Ledger {
			fmt.Fprintf(w, " %s %.2f", y.ID, gib(y.Bytes))
		}
		fmt.Fprintln(w)
	}
}

func gib(b units.Bytes) float64 { return float64(b) / float64(units.GiB) }
