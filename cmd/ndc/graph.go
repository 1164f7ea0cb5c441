package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/view"
)

func newGraph(stdout, stderr io.Writer) *cobra.Command {
	var flags inputFlags
	var out string
	var force bool
	c := &cobra.Command{
		Use: "graph FILE|DIR", Short: "Draw the plans: step time, memory, pipeline schedule", Args: cobra.ExactArgs(1),
		Long: `Plan as ndc plan does and write a picture of each plan, JOB-BACKEND.svg, into
the folder given with -o (default: the working directory).`,
		RunE: func(_ *cobra.Command, args []string) error {
			t := newTerminal(stdout, stderr, flags.json)
			plans, err := planAll(t, args[0], &flags)
			if err != nil {
				return err
			}
			if !t.json {
				t.diagnostics(jobWarnings(plans), t.files)
			}
			f := folder{path: out}
			for _, c := range plans {
				name := c.job.Name + "-" + c.job.Backend.Kind + ".svg"
				f.files = append(f.files, backends.Artifact{Path: name, Content: view.Picture(c.job.Name, c.plan)})
				fmt.Fprintln(stdout, filepath.Join(out, name))
			}
			if diags := write([]folder{f}, force); diags.HasErrors() {
				t.diagnostics(diags, nil)
				return exitError(exitInput)
			}
			return nil
		},
	}
	flags.register(c)
	c.Flags().StringVarP(&out, "output", "o", ".", "folder for the pictures")
	c.Flags().BoolVar(&force, "force", false, "replace pictures that are there")
	return c
}
