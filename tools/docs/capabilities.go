package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/ndc-dev/ndc/backends/capability"
)

const capabilitiesIntroduction = `# What each framework can do

Features of the supported versions, one row each: an argument of the language that asks for the feature, or one value of
it, or a combination. "all" stands for every supported version, an empty cell for none. What a cell says of versions and
architectures is what ` + "`ndc validate`" + ` holds a job to, and what messages answer when they say who else has what a version
lacks: the table is backends/capability/features.jsonl, and a test asks every version for every feature.

`

// capabilities is docs/capabilities.md.
func capabilities() []byte {
	var b bytes.Buffer
	b.WriteString(capabilitiesIntroduction)
	for _, f := range capability.Backends() {
		fmt.Fprintf(&b, "- %s: %s\n", f.Name, versions(f.Versions))
	}
	section := ""
	for _, r := range capability.Rows() {
		if s, _, _ := strings.Cut(string(r.Feature), "."); s != section {
			section = s
			fmt.Fprintf(&b, "\n## %s\n\n| feature | asked for by |", section)
			for _, f := range capability.Backends() {
				fmt.Fprintf(&b, " %s |", f.Name)
			}
			b.WriteString(" source |\n| --- | --- | --- | --- | --- | --- |\n")
		}
		fmt.Fprintf(&b, "| %s | `%s` |", r.What, r.Feature)
		for _, f := range capability.Backends() {
			fmt.Fprintf(&b, " %s |", f.With(r.Feature))
		}
		fmt.Fprintf(&b, " %s |\n", r.Source)
	}
	return b.Bytes()
}

// versions lists few versions, or the first and the last of many.
func versions(all []string) string {
	if len(all) <= 3 {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s to %s (%d versions)", all[0], all[len(all)-1], len(all))
}
