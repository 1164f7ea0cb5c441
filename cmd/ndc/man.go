package main

import (
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func newMan(stdout, stderr io.Writer) *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write manual pages into a folder", Args: takes(1, 1, "one folder"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return err
			}
			root := newRoot(stdout, stderr)
			root.DisableAutoGenTag = true
			epoch := time.Unix(0, 0).UTC() // the pages depend on the version alone
			return doc.GenManTree(root, &doc.GenManHeader{Title: "NDC", Section: "1", Source: "ndc " + version, Manual: "ndc", Date: &epoch}, args[0])
		},
	}
}
