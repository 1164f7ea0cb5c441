package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/catalog"
)

func newCatalog(stdout, stderr io.Writer) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "catalog [KIND [NAME]]", Short: "List the built-in models, GPUs and clusters, or print one", Args: takes(0, 2, "a kind and a name"),
		Long: `Without arguments list all kinds and names. With a kind list its names. With a
kind and a name print the entry in the language, so that it can be pasted and
edited; it says its sources, and a model which backends can build it.`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			switch len(args) {
			case 0:
				return catalog.Kinds(), cobra.ShellCompDirectiveNoFileComp
			case 1:
				return catalog.Names(args[0]), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			t := newTerminal(stdout, stderr, asJSON)
			switch len(args) {
			case 2:
				return t.catalogEntry(args[0], args[1])
			case 1:
				return t.catalogNames(args[0])
			}
			return t.catalogKinds()
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print names as JSON")
	return c
}

func (t *terminal) catalogKinds() error {
	all := map[string][]string{}
	for _, k := range catalog.Kinds() {
		all[k] = catalog.Names(k)
	}
	if t.json {
		return t.printJSON(all)
	}
	for _, k := range catalog.Kinds() {
		fmt.Fprintf(t.out, "%s\n  %s\n", k, strings.Join(all[k], "\n  "))
	}
	return nil
}

func (t *terminal) catalogNames(kind string) error {
	if !slices.Contains(catalog.Kinds(), kind) {
		return t.unknownEntry("The catalogue has no kind %q. The kinds are %s.%s", kind, diag.OneOf(catalog.Kinds()), diag.DidYouMean(kind, catalog.Kinds()))
	}
	if t.json {
		return t.printJSON(catalog.Names(kind))
	}
	_, err := fmt.Fprintln(t.out, strings.Join(catalog.Names(kind), "\n"))
	return err
}

func (t *terminal) catalogEntry(kind, name string) error {
	if !slices.Contains(catalog.Kinds(), kind) {
		return t.catalogNames(kind)
	}
	if !slices.Contains(catalog.Names(kind), name) {
		return t.unknownEntry("The catalogue has no %s %q.%s `ndc catalog %s` lists them all.", kind, name, diag.DidYouMean(name, catalog.Names(kind)), kind)
	}
	_, err := t.out.Write(append(builders(kind, name), catalog.Source(kind, name)...))
	return err
}

// builders says in comments which backends build a model; an entry may have
// that from its base, where one would not look.
func builders(kind, name string) []byte {
	var b []byte
	if kind != "model" {
		return nil
	}
	for _, by := range lang.BuiltBy(name) {
		if by.Versions != "" {
			b = fmt.Appendf(b, "# %s %s builds it.\n", by.Backend, by.Versions)
		} else {
			b = fmt.Appendf(b, "# %s does not build it: %s\n", by.Backend, by.Reason)
		}
	}
	return b
}

func (t *terminal) unknownEntry(format string, args ...any) error {
	t.diagnostics(diag.List{{ID: IDUnknownEntry, Summary: "Unknown catalogue entry", Detail: fmt.Sprintf(format, args...)}}, nil)
	return exitError(exitInput)
}
