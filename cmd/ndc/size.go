package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/learning"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/view"
)

func newSize(stdout, stderr io.Writer) *cobra.Command {
	var flags inputFlags
	var nodes string
	c := &cobra.Command{
		Use: "size FILE|DIR", Short: "Compare sizes of the run: nodes, days, GPU-hours, cost", Args: takes(1, 1, "one FILE or DIR"),
		Long: `Plan every job, for each of its backends, on each number of nodes that it may
have, and show what the run takes there. The sizes are those that the job leaves
open (nodes = [8, 16] or { min, max, step }), those of --nodes, or else the nodes
of the cluster, half of them, a quarter and so on. The knee is the largest size
that takes at most 10 % more GPU-hours than the one that takes the least, the risk
the probability that the run ends out of memory. What is published about learning
says how tokens, batch and schedule compare; it informs only.`,
		RunE: func(_ *cobra.Command, args []string) error {
			t := newTerminal(stdout, stderr, flags.json)
			if nodes != "" {
				if strings.Contains(nodes, ",") && !strings.ContainsAny(nodes, "[{") {
					nodes = "[" + nodes + "]"
				}
				flags.overrides = []lang.Override{{Text: "nodes=" + nodes, From: "--nodes"}}
			}
			return size(t, args[0], &flags)
		},
	}
	flags.register(c)
	c.Flags().StringVar(&nodes, "nodes", "", "sizes to compare: 8, [8, 16, 32] or '{ min = 8, max = 64, step = 8 }'")
	return c
}

// sizing is what `ndc size --json` prints for one job and backend.
type sizing struct {
	FormatVersion string  `json:"format_version"`
	NDCVersion    string  `json:"ndc_version"`
	Job           string  `json:"job"`
	Site          string  `json:"site,omitempty"`
	Backend       string  `json:"backend"`
	Knee          int     `json:"knee"`   // nodes; 0: no size is feasible
	Chosen        int     `json:"chosen"` // nodes, by the objective; 0: no size is feasible
	Sizes         []sized `json:"sizes"`

	Learning []learning.Note `json:"learning"` // what is published of such runs
}

// sized is a run of one size.
type sized struct {
	Nodes           int           `json:"nodes"`
	GPUs            int           `json:"gpus"`
	Feasible        bool          `json:"feasible"`
	StepSeconds     units.Seconds `json:"step_seconds"`
	Seconds         units.Seconds `json:"seconds"`
	GPUHours        float64       `json:"gpu_hours"`
	Cost            float64       `json:"cost,omitempty"`
	MFU             units.Share   `json:"mfu"`
	PeakDeviceBytes units.Bytes   `json:"peak_device_bytes"`
	Risk            float64       `json:"risk"` // probability that the run ends out of memory

	// with failures, where the cluster says how often there are any
	ExpectedSeconds units.Seconds `json:"expected_seconds,omitempty"`
	Failures        float64       `json:"failures,omitempty"`

	Layout file.Layout `json:"layout"`
	Reason string      `json:"reason,omitempty"` // why it is not feasible
}

// size prints a table of sizes for each job and backend. It fails with exit code 2
// when a required backend has no feasible one.
func size(t *terminal, argument string, flags *inputFlags) error {
	w, diags := load(argument, flags)
	if !diags.HasErrors() {
		diags.Append(check(w.Jobs))
	}
	t.diagnostics(diags, w.Files)
	if diags.HasErrors() {
		return exitError(exitInput)
	}
	missed := false
	for i := range w.Jobs {
		j := &w.Jobs[i]
		plans := sizes(j, flags.overrides != nil)
		best := compiler.Best(j, plans)
		missed = missed || best < 0 && j.Backend.Required
		if err := printSizes(t, j, plans, best, i > 0); err != nil {
			return err
		}
	}
	if missed {
		return exitError(exitInfeasible)
	}
	return nil
}

// sizes plans a job on each number of nodes, the smallest first: on one alone only
// where that was asked for.
func sizes(j *job.Job, asked bool) []*plan.Plan {
	counts := j.NodeCounts
	if counts == nil {
		counts = []int{j.Cluster.Nodes}
	}
	placed := j.Placement()
	for n := counts[0] / 2; j.NodeCounts == nil && !asked && n > 0; n /= 2 {
		if placed(n) {
			counts = append([]int{n}, counts...)
		}
	}
	var jobs []*job.Job
	var plans []*plan.Plan
	for _, n := range counts {
		one := *j
		one.NodeCounts, one.Cluster.Nodes = nil, n
		j, p, refused := sketch(&one)
		if p == nil {
			p = compiler.Unplanned(&one, refused)
		}
		jobs, plans = append(jobs, j), append(plans, p)
	}
	holdToFastest(jobs, plans)
	return plans
}

func printSizes(t *terminal, j *job.Job, plans []*plan.Plan, best int, further bool) error {
	knee, notes := view.Knee(plans), learning.Notes(j, plans[max(0, best)])
	if !t.json {
		title := fmt.Sprintf("%s on %s %s", j.Folder, j.Backend.Kind, j.Backend.Version)
		if further {
			title = "\n" + title
		}
		text := view.Sizes(title, plans, knee, best)
		for i, n := range notes {
			if i == 0 {
				text += "\n"
			}
			text += fmt.Sprintf("%s (%s)\n", n.Text, n.Law)
		}
		return t.print(text)
	}
	s := sizing{FormatVersion: file.FormatVersion, NDCVersion: version, Job: j.Name, Site: j.Site, Backend: j.Backend.Kind, Sizes: []sized{}, Learning: append([]learning.Note{}, notes...)}
	for i, p := range plans {
		one := sized{Nodes: p.Input.Nodes, GPUs: p.Input.GPUs, Feasible: p.Feasible, Layout: file.Layout(p.Layout)}
		if p.Feasible {
			one.StepSeconds, one.Seconds, one.GPUHours, one.Cost = p.Time.StepSeconds, p.Run.Seconds, p.Run.GPUHours, p.Run.Cost
			one.MFU, one.PeakDeviceBytes, one.Risk = p.Throughput.MFU, p.Memory.Peak.DeviceBytes, p.Memory.OOM.Any
			one.ExpectedSeconds, one.Failures = p.Run.ExpectedSeconds, p.Run.Failures
		} else {
			one.Reason = view.FirstReason(p)
		}
		s.Sizes = append(s.Sizes, one)
		if i == knee {
			s.Knee = p.Input.Nodes
		}
		if i == best {
			s.Chosen = p.Input.Nodes
		}
	}
	return t.printJSON(s)
}
