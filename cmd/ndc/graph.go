package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/output"
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
				t.diagnostics(jobWarnings(plans.list), t.files)
			}
			f := output.Folder{Path: "."}
			for _, c := range plans.list {
				if c.plan.Feasible {
					f.Files = append(f.Files, output.File{Path: strings.ReplaceAll(c.job.Folder, "/", "-") + "-" + c.job.Backend.Kind + ".svg", Content: view.Picture(c.job.Folder, c.plan, compiler.NewDetail(c.job, c.target, c.plan).Timeline())})
				}
			}
			_, diags := write(out, func(*output.Output) []output.Folder { return []output.Folder{f} }, nil, force, nil)
			t.diagnostics(diags, nil)
			if diags.HasErrors() {
				return exitError(exitInput)
			}
			for _, file := range f.Files {
				fmt.Fprintln(stdout, filepath.Join(out, file.Path))
			}
			return nil
		},
	}
	flags.register(c)
	c.Flags().StringVarP(&out, "output", "o", ".", "folder for the pictures")
	c.Flags().BoolVar(&force, "force", false, "replace pictures that are there")
	return c
}
