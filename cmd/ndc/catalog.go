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
	"github.com/ndc-dev/ndc/lang/job"
)

func newCatalog(stdout, stderr io.Writer) *cobra.Command {
	var asJSON bool
	var sieve catalogSieve
	c := &cobra.Command{
		Use: "catalog [KIND [NAME]]", Short: "List the built-in models, GPUs and clusters, or print one", Args: takes(0, 2, "a kind and a name"),
		Long: `Without arguments list all kinds and names. With a kind list its names. With a
kind and a name print the entry in the language, so that it can be pasted and
edited; it says its sources, and a model which backends can build it.
--search lists the entries whose text has all of the given words: of a name, an
argument, a value or a source. --backend lists the models that it builds.`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			switch len(args) {
			case 0:
				return catalog.Kinds(), cobra.ShellCompDirectiveNoFileComp
			case 1:
				return catalog.Names(args[0]), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			t := newTerminal(stdout, stderr, asJSON)
			switch len(args) {
			case 2:
				for _, flag := range []string{"json", "search", "backend"} {
					if c.Flags().Changed(flag) {
						return wrongUsage(c, "--%s is for lists of names, and %s %s is one entry, which is printed in the language.", flag, args[0], args[1])
					}
				}
				return t.catalogEntry(args[0], args[1])
			case 1:
				return t.catalogNames(args[0], &sieve)
			}
			return t.catalogKinds(&sieve)
		},
	}
	c.Flags().StringVar(&sieve.search, "search", "", "only entries whose text has all of these words")
	c.Flags().StringVar(&sieve.backend, "backend", "", "only models that this backend builds: megatron, torchtitan or deepspeed")
	c.Flags().BoolVar(&asJSON, "json", false, "print lists of names as JSON")
	return c
}

// catalogSieve selects entries.
type catalogSieve struct{ search, backend string }

// names are the entries of a kind that pass.
func (s *catalogSieve) names(kind string) []string {
	words := strings.Fields(strings.ToLower(s.search))
	return slices.DeleteFunc(slices.Clone(catalog.Names(kind)), func(name string) bool {
		text := strings.ToLower(string(catalog.Source(kind, name)))
		lacks := slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
		return lacks || s.backend != "" && !s.built(kind, name)
	})
}

// built reports whether the backend builds a model in any version.
func (s *catalogSieve) built(kind, name string) bool {
	return kind == "model" && slices.ContainsFunc(lang.BuiltBy(name), func(by job.BuiltBy) bool {
		return by.Backend == s.backend && by.Versions != ""
	})
}

// check reports a backend that there is not, and a search that finds nothing.
func (s *catalogSieve) check(t *terminal, kinds []string) error {
	var known []string
	for _, b := range emitters() {
		known = append(known, b.Kind())
	}
	if s.backend != "" && !slices.Contains(known, s.backend) {
		return t.unknownEntry("There is no backend %q. The backends are %s.%s", s.backend, diag.OneOf(known), diag.DidYouMean(s.backend, known))
	}
	if !slices.ContainsFunc(kinds, func(kind string) bool { return len(s.names(kind)) > 0 }) {
		return t.unknownEntry("No entry passes. Search for fewer words, or look at all with `ndc catalog`.")
	}
	return nil
}

func (t *terminal) catalogKinds(s *catalogSieve) error {
	if err := s.check(t, catalog.Kinds()); err != nil {
		return err
	}
	all := map[string][]string{}
	for _, k := range catalog.Kinds() {
		if names := s.names(k); len(names) > 0 {
			all[k] = names
		}
	}
	if t.json {
		return t.printJSON(all)
	}
	for _, k := range catalog.Kinds() {
		if len(all[k]) > 0 {
			fmt.Fprintf(t.out, "%s\n  %s\n", k, strings.Join(all[k], "\n  "))
		}
	}
	return nil
}

func (t *terminal) catalogNames(kind string, s *catalogSieve) error {
	if !slices.Contains(catalog.Kinds(), kind) {
		return t.unknownEntry("The catalogue has no kind %q. The kinds are %s.%s", kind, diag.OneOf(catalog.Kinds()), diag.DidYouMean(kind, catalog.Kinds()))
	}
	if err := s.check(t, []string{kind}); err != nil {
		return err
	}
	if t.json {
		return t.printJSON(s.names(kind))
	}
	_, err := fmt.Fprintln(t.out, strings.Join(s.names(kind), "\n"))
	return err
}

func (t *terminal) catalogEntry(kind, name string) error {
	if !slices.Contains(catalog.Kinds(), kind) {
		return t.catalogNames(kind, &catalogSieve{})
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
