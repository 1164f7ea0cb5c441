package summary

import (
	"fmt"
	"slices"
	"strings"
)

// Pairs is what was found about pairs of options of one version.
type Pairs struct {
	Launches int `json:"launches"` // different ones that the pairs make
	Asked    int `json:"asked"`    // pairs
	Both     int `json:"both"`     // refused by ndc and by the framework
	Stricter int `json:"stricter"` // refused by ndc alone, for a reason that is written down
	Wrong    int `json:"wrong"`    // disagreements
}

// PairsTable writes what was found about pairs as Markdown. Rows of an earlier
// table stay where nothing was asked again.
func PairsTable(earlier string, list []Line) string {
	rows := map[string]string{}
	for row := range strings.Lines(earlier) {
		if cells := strings.Split(row, " | "); len(cells) == 7 && strings.ContainsAny(cells[1], "0123456789") {
			rows[strings.TrimPrefix(cells[0], "| ")+" "+cells[1]] = row
		}
	}
	for _, l := range list {
		if p := l.Pairs; p != nil {
			rows[l.Framework+" "+l.Version] = fmt.Sprintf("| %s | %s | %d | %d | %d | %d | %d |\n", l.Framework, l.Version, p.Asked, p.Launches, p.Both, p.Stricter, p.Wrong)
		}
	}
	var b strings.Builder
	b.WriteString("| framework | version | pairs asked | launches | refused by both | ndc is stricter | disagreements |\n|---|---|---|---|---|---|---|\n")
	var names []string
	for name := range rows {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b.WriteString(rows[name])
	}
	return b.String()
}
