package main

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/intake/lint"
	"github.com/ndc-dev/ndc/intake/shell"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/review"
)

// lintFormats are the forms of findings, the first being the default.
var lintFormats = []string{"text", "json", "sarif"}

func newLint(stdout, stderr io.Writer) *cobra.Command {
	var o lint.Options
	var format string
	var asJSON bool
	c := &cobra.Command{
		Use: "lint FILE|DIR...", Short: "Find what is wrong with launch scripts that were written by hand", Args: takes(1, 10000, "FILES or DIRS"),
		Long: `Read scripts for sbatch and bash, and report what makes a run fail, waste its
GPUs or end otherwise than its author thinks: options that sbatch does not read,
numbers of nodes, processes and GPUs that contradict one another, variables that
reach no rank, options that no release of Megatron-LM knows. Of a DIR, all files
that end in ` + units.List(shell.Suffixes, "or") + `; a FILE may be a configuration of
DeepSpeed in JSON, too. Nothing is executed, and nothing is reported that the
environment of the script could make right.

The exit code is 1 when a finding is an error. Every rule is told in
docs/lint.md, with a script that breaks it and one that does not.`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := jsonFormat(c, asJSON, &format); err != nil {
				return err
			}
			if err := lintOptions(&o, &format); err != nil {
				return err
			}
			list, files, err := findings(args, o)
			if err != nil {
				return err
			}
			if err := printFindings(stdout, stderr, list, files, format); err != nil {
				return err
			}
			if list.HasErrors() {
				return exitError(exitInput)
			}
			return nil
		},
	}
	c.Flags().StringVar(&format, "format", "", "text, json or sarif (default: text)")
	c.Flags().BoolVar(&asJSON, "json", false, "the same as --format json")
	c.Flags().StringVar(&o.Release, "megatron", "", "the release of Megatron-LM that is launched, such as core_v0.18.0 (default: as the script says)")
	c.Flags().StringVar(&o.Slurm, "slurm", "", "the release of Slurm, such as 22.05, for what depends on it")
	return c
}

// lintOptions checks the words of the flags.
func lintOptions(o *lint.Options, format *string) error {
	*format = cmp.Or(*format, lintFormats[0])
	if err := knownFormat(*format, lintFormats); err != nil {
		return err
	}
	if o.Slurm != "" && !slurmRelease.MatchString(o.Slurm) {
		return usageError(fmt.Sprintf("%q is no release of Slurm. They are named like 24.05.", o.Slurm))
	}
	if o.Release == "" {
		return nil
	}
	known := megatron.Backend{}.Versions()
	if !strings.HasPrefix(o.Release, "core_v") {
		o.Release = "core_v" + o.Release
	}
	if !slices.Contains(known, o.Release) {
		return usageError(fmt.Sprintf("ndc knows no release %s of Megatron-LM; it knows %s.", o.Release, diag.OneOf(known)))
	}
	return nil
}

// slurmRelease is how releases of Slurm are named: by year and month.
var slurmRelease = regexp.MustCompile(`^\d\d\.\d\d$`)

// findings checks files, and the scripts below folders.
func findings(args []string, o lint.Options) (diag.List, map[string][]byte, error) {
	var list diag.List
	files := map[string][]byte{}
	for _, arg := range args {
		names, err := scriptsIn(arg)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range names {
			content, err := readScript(name)
			if err != nil {
				return nil, nil, err
			}
			shown := filepath.ToSlash(name)
			if files[shown] == nil {
				files[shown] = content
				list.Append(lint.Check(shown, content, o))
			}
		}
	}
	list.Sort()
	return list, files, nil
}

func readScript(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, cause(err))
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, lint.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, cause(err))
	}
	return content, nil
}

// scriptsIn is a file, or the scripts below a folder, in order.
func scriptsIn(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, cause(err))
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	var names []string
	err = walkBelow(name, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.Type().IsRegular() && shell.IsScript(path):
			names = append(names, path)
		}
		return nil
	})
	if err != nil {
		return nil, unreadBelow(name, err)
	}
	return names, nil
}

// printFindings writes findings as the result of the command.
func printFindings(stdout, stderr io.Writer, list diag.List, files map[string][]byte, format string) error {
	t := newTerminal(stdout, stdout, false)
	switch format {
	case "json":
		return t.printJSON(struct {
			Findings diag.List `json:"findings"`
		}{append(diag.List{}, list...)})
	case "sarif":
		return t.printJSON(lintLog(list))
	}
	t.diagnostics(list, files)
	errors := 0
	for _, d := range list {
		if d.Severity == diag.Error {
			errors++
		}
	}
	fmt.Fprintf(stderr, "%s: %s, %s.\n", units.Count(len(files), "file"), units.Count(errors, "error"), units.Count(len(list)-errors, "warning"))
	return nil
}

// lintLog is the SARIF log of findings.
func lintLog(list diag.List) review.SARIF {
	var rules []review.SARIFRule
	for _, r := range lint.Rules() {
		rules = append(rules, review.SARIFRule{ID: string(r.ID), ShortDescription: review.SARIFMessage{Text: r.Summary + "."}})
	}
	results := []review.SARIFResult{}
	for _, d := range list {
		results = append(results, review.SARIFResult{
			RuleID: string(d.ID), Level: d.Severity.String(), Message: review.SARIFMessage{Text: d.Summary + ". " + d.Detail},
			Locations: review.At(d.Range.Filename, d.Range.Start.Line, d.Range.Start.Column),
		})
	}
	return review.Log(version, rules, results)
}
