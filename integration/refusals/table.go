package refusals

import (
	"fmt"
	"strings"

	"github.com/ndc-dev/ndc/integration/summary"
)

// asked is what a row of results says of the cases of a version.
const asked = "broken rules, answered as the table says"

// Table writes the cases as Markdown, with what the frameworks say, and of how many
// the results are.
func Table(results []summary.Line) string {
	var b strings.Builder
	b.WriteString("| rule | version | broken by | what the framework says |\n|---|---|---|---|\n")
	for _, framework := range []string{"megatron", "torchtitan", "deepspeed"} {
		for _, c := range Cases[framework].Cases {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.Rule, c.version(framework), c.What, c.answer())
		}
	}
	b.WriteString("\nHow many cases the results above are of, and how many can be asked today: " + coverage(results) + ".\n\n")
	return b.String()
}

// coverage says of every version how many of its cases results are of, and how many
// can be asked, which may be fewer.
func coverage(results []summary.Line) string {
	var all []string
	for _, framework := range []string{"megatron", "torchtitan", "deepspeed"} {
		versions, groups := byVersion(framework)
		for _, version := range versions {
			had, has := 0, 0
			for _, l := range results {
				if l.Framework == framework && l.Version == version && l.What == asked {
					had = l.Accepted + l.Rejected
				}
			}
			for _, c := range groups[version] {
				if !c.Unasked {
					has++
				}
			}
			if had+has > 0 {
				all = append(all, fmt.Sprintf("%s %s %d and %d", framework, version, had, has))
			}
		}
	}
	return strings.Join(all, ", ")
}

// byVersion groups the cases of a framework by the version that is asked, in the order
// of the cases.
func byVersion(framework string) (versions []string, groups map[string][]*Case) {
	groups = map[string][]*Case{}
	list := Cases[framework].Cases
	for i := range list {
		version := list[i].version(framework)
		if groups[version] == nil {
			versions = append(versions, version)
		}
		groups[version] = append(groups[version], &list[i])
	}
	return versions, groups
}

func (c *Case) version(framework string) string {
	if c.Version != "" {
		return c.Version
	}
	return Cases[framework].Newest
}

func (c *Case) answer() string {
	switch {
	case c.Says != "":
		return "refuses: “" + c.Says + "”"
	case c.Unasked:
		return "cannot be asked: " + c.Why
	case c.Why == "":
		return "not recorded yet"
	}
	return "takes it; " + c.Why
}
