package refusals

import (
	"fmt"
	"strings"
)

// Table writes the cases as Markdown, with what the frameworks say.
func Table() string {
	var b strings.Builder
	b.WriteString("| rule | version | broken by | what the framework says |\n|---|---|---|---|\n")
	for _, framework := range []string{"megatron", "torchtitan", "deepspeed"} {
		for _, c := range Cases[framework].Cases {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.Rule, c.version(framework), c.What, c.answer())
		}
	}
	return b.String()
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
