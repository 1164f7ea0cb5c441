package main

import (
	"bytes"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/ndc-dev/ndc/output"
)

func newMan(stdout, stderr io.Writer) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "man DIR", Short: "Write manual pages into a folder", Args: takes(1, 1, "one folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			root := newRoot(stdout, stderr)
			root.DisableAutoGenTag = true
			pages := output.Folder{Path: "."}
			if err := addPages(&pages, root); err != nil {
				return err
			}
			t := newTerminal(stdout, stderr, false)
			_, diags := write(args[0], func(*output.Output) []output.Folder { return []output.Folder{pages} }, nil, force, nil)
			for i := range diags { // the folder is an argument here
				diags[i].Detail = strings.ReplaceAll(diags[i].Detail, "another folder with -o", "another folder")
			}
			t.diagnostics(diags, nil)
			if diags.HasErrors() {
				return exitError(exitInput)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&force, "force", false, "replace pages of another version, and other files of their names")
	return c
}

// addPages adds the page of a command and those of its own commands.
func addPages(to *output.Folder, c *cobra.Command) error {
	epoch := time.Unix(0, 0).UTC() // the pages depend on the version alone
	var page bytes.Buffer
	if err := doc.GenMan(c, &doc.GenManHeader{Title: "NDC", Section: "1", Source: "ndc " + version, Manual: "ndc", Date: &epoch}, &page); err != nil {
		return err
	}
	to.Files = append(to.Files, output.File{Path: strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1", Content: page.Bytes()})
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() {
			if err := addPages(to, sub); err != nil {
				return err
			}
		}
	}
	return nil
}
