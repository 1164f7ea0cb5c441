package review

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/review/record"
)

// The members of a SARIF log (version 2.1.0, OASIS) that a report needs.
type (
	// SARIF is a log with one run.
	SARIF struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []SARIFRun `json:"runs"`
	}
	// SARIFRun is what one tool found.
	SARIFRun struct {
		Tool    SARIFTool     `json:"tool"`
		Results []SARIFResult `json:"results"`
	}
	// SARIFTool names the tool and its rules: here, the effects.
	SARIFTool struct {
		Driver SARIFDriver `json:"driver"`
	}
	// SARIFDriver is the tool itself.
	SARIFDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []SARIFRule `json:"rules"`
	}
	// SARIFRule is one effect.
	SARIFRule struct {
		ID               string       `json:"id"`
		ShortDescription SARIFMessage `json:"shortDescription"`
	}
	// SARIFResult is one change.
	SARIFResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   SARIFMessage    `json:"message"`
		Locations []SARIFLocation `json:"locations,omitempty"`
	}
	// SARIFMessage is text.
	SARIFMessage struct {
		Text string `json:"text"`
	}
	// SARIFLocation is where the new value was written.
	SARIFLocation struct {
		PhysicalLocation SARIFPhysicalLocation `json:"physicalLocation"`
	}
	// SARIFPhysicalLocation is a line of a file.
	SARIFPhysicalLocation struct {
		ArtifactLocation SARIFArtifact `json:"artifactLocation"`
		Region           SARIFRegion   `json:"region"`
	}
	// SARIFArtifact is a file.
	SARIFArtifact struct {
		URI string `json:"uri"`
	}
	// SARIFRegion is a line, the first being 1, or a part of it.
	SARIFRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
)

// levels are SARIF's words for the effects.
var levels = map[string]string{"convergence": "warning", "execution": "note", "launch": "note"}

// SARIF is the report for tools that show findings beside the lines of files.
// Every result has a place, without which code hosts refuse the whole log.
// Version is ndc's.
func (r *Report) SARIF(version string) SARIF {
	results := []SARIFResult{}
	for i := range r.Jobs {
		j := &r.Jobs[i]
		add := func(effect, level, text string, origins ...string) {
			if at := locationOf(j.folder, append(origins, j.at)...); at != nil {
				results = append(results, SARIFResult{RuleID: effect, Level: level, Message: SARIFMessage{j.Name + ": " + text}, Locations: at})
			}
		}
		if j.State == Added || j.State == Removed {
			add("launch", levels["launch"], j.headline())
			continue
		}
		for _, c := range j.told() {
			text := c.Path + " " + c.values()
			if more := j.remarks(c); len(more) > 0 {
				text += " (" + strings.Join(more, "; ") + ")"
			}
			add(c.Effect, levels[c.Effect], text, c.NewOrigin, c.OldOrigin)
		}
		for k := range j.Backends {
			b := &j.Backends[k]
			if b.State == Added || b.State == Removed {
				add("launch", levels["launch"], fmt.Sprintf("the backend %s was %s", b.Name, b.State))
			}
			if b.Before != nil && b.Before.Feasible && b.After != nil && !b.After.Feasible {
				add("execution", "error", fmt.Sprintf("no layout is feasible on %s any more: %s", b.Name, b.misses()))
			}
			for n := range b.Policies {
				add("launch", b.Policies[n].level(), fmt.Sprintf("policy %s (%s)", b.Policies[n].told(), b.Name))
			}
		}
	}
	return Log(version, []SARIFRule{
		{"convergence", SARIFMessage{"Changes what is learned."}},
		{"execution", SARIFMessage{"Changes how it is computed."}},
		{"launch", SARIFMessage{"Changes how it is started, stored or told of."}},
	}, results)
}

// Log is a SARIF log of what ndc of a version found by some rules.
func Log(version string, rules []SARIFRule, results []SARIFResult) SARIF {
	driver := SARIFDriver{Name: "ndc", Version: version, Rules: rules}
	return SARIF{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []SARIFRun{{SARIFTool{driver}, results}}}
}

// At is a place in a file, by its slash path, which becomes a URI.
func At(file string, line, column int) []SARIFLocation {
	uri := url.URL{Path: file}
	return []SARIFLocation{{SARIFPhysicalLocation{SARIFArtifact{uri.String()}, SARIFRegion{line, column}}}}
}

// locationOf is the first place in a file among origins of values; nil when they
// have none.
func locationOf(folder string, origins ...string) []SARIFLocation {
	for _, origin := range origins {
		if file, line := placeOf(origin); line > 0 {
			return At(path.Join(folder, file), line, 0)
		}
	}
	return nil
}

// placeOf is the file and the line of an origin, zero when it is of no file of a
// user.
func placeOf(origin string) (file string, line int) {
	kind, place, _ := strings.Cut(origin, ":")
	i := strings.LastIndexByte(place, ':')
	if kind != "spec" && kind != "module" && kind != "site" || i < 0 {
		return "", 0
	}
	line, err := strconv.Atoi(place[i+1:])
	if err != nil {
		return "", 0
	}
	return place[:i], line
}

// firstPlace is the origin of the value that stands first in the files of a job:
// in its own where it says anything itself. What changed elsewhere, as in the
// catalogue, is told of there.
func firstPlace(values map[string][]record.Value) string {
	own := func(v record.Value) int {
		if kindOf(v.Origin) == "spec" {
			return 0
		}
		return 1
	}
	var first record.Value
	for _, list := range values {
		for _, v := range list {
			file, line := placeOf(v.Origin)
			if line == 0 {
				continue
			}
			other, before := placeOf(first.Origin)
			if before == 0 || cmp.Or(cmp.Compare(own(v), own(first)), cmp.Compare(file, other), cmp.Compare(line, before)) < 0 {
				first = v
			}
		}
	}
	return first.Origin
}
