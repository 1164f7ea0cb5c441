package review

import (
	"fmt"
	"strconv"
	"strings"
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
// Folder is that of the jobs' files, which places in them begin with; version
// is ndc's.
func (r *Report) SARIF(folder, version string) SARIF {
	results := []SARIFResult{}
	for i := range r.Jobs {
		j := &r.Jobs[i]
		for _, c := range j.told() {
			text := fmt.Sprintf("%s: %s %s", j.Name, c.Path, c.values())
			if more := j.remarks(c); len(more) > 0 {
				text += " (" + strings.Join(more, "; ") + ")"
			}
			results = append(results, SARIFResult{RuleID: c.Effect, Level: levels[c.Effect], Message: SARIFMessage{text}, Locations: c.location(folder)})
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

// At is a place in a file.
func At(file string, line, column int) []SARIFLocation {
	return []SARIFLocation{{SARIFPhysicalLocation{SARIFArtifact{file}, SARIFRegion{line, column}}}}
}

// location is the line of the new value; nil when no file has it.
func (c *Change) location(folder string) []SARIFLocation {
	kind, place, _ := strings.Cut(c.NewOrigin, ":")
	i := strings.LastIndexByte(place, ':')
	if kind != "spec" && kind != "module" && kind != "site" || i < 0 {
		return nil
	}
	line, err := strconv.Atoi(place[i+1:])
	if err != nil {
		return nil
	}
	name := place[:i]
	if folder != "" && folder != "." {
		name = folder + "/" + name
	}
	return At(name, line, 0)
}
