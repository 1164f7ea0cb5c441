package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/lang/catalog"
	"github.com/ndc-dev/ndc/lang/schema"
	"github.com/ndc-dev/ndc/view/picture"
)

// fixed has the words that a flag takes, by its name, or by a command and its name
// where commands differ.
var fixed = map[string][]string{
	"backend":        schema.BackendKinds(),
	"cluster":        catalog.Names("cluster"),
	"fail-on":        schema.EffectNames(),
	"format":         formats,
	"explain format": explainFormats,
	"lint format":    lintFormats,
	"kind":           picture.Names(),
	"lockfile":       lockfiles,
	"megatron":       megatron.Backend{}.Versions(),
}

// open are flags of which any word may be the value, but no path.
var open = []string{"base", "compare", "filter", "flag", "gpu-hours", "gpus", "job", "name", "nodes", "pin", "search", "site", "slurm", "stage", "var", "what-if"}

// complete tells shells the words that flags take, where they would offer files.
func complete(root *cobra.Command) {
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			words := fixed[c.Name()+" "+f.Name]
			if words == nil {
				words = fixed[f.Name]
			}
			var offer cobra.CompletionFunc
			switch {
			case words != nil:
				offer = cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
			case f.Name == "backend-version":
				offer = releases
			case slices.Contains(open, f.Name):
				offer = cobra.NoFileCompletions
			default:
				return
			}
			if err := c.RegisterFlagCompletionFunc(f.Name, offer); err != nil {
				panic("ndc: " + err.Error()) // a flag that was told twice
			}
		})
	}
}

// releases offers the versions of the backend that the command line names, else of
// all.
func releases(c *cobra.Command, _ []string, _ string) (all []cobra.Completion, _ cobra.ShellCompDirective) {
	kind := c.Flags().Lookup("backend").Value.String()
	for _, b := range emitters() {
		if kind == "" || kind == b.Kind() {
			all = append(all, b.Versions()...)
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// behindFile offers words as the arguments behind the first, which is a file, those
// that are not there.
func behindFile(words []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(args[1:], w) }), cobra.ShellCompDirectiveNoFileComp
	}
}
