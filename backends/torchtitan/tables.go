package torchtitan

import (
	"embed"
	"strings"

	"github.com/ndc-dev/ndc/backends/schema"
)

//go:embed schema/*.jsonl
var optionTables embed.FS

// Tables are the options of a release and the classes of all options, for
// package intake, which reads configurations by what this package writes them
// by. A release that is not among Versions has none.
func Tables(release string) (*schema.Table, *schema.Classes) {
	for i := range versions {
		if versions[i].name == release {
			return versions[i].options, extra.Classes
		}
	}
	return nil, nil
}

// Schedule is the pipeline schedule of the language that a release knows under a
// name; false where it has none of that name.
func Schedule(release, name string) (string, bool) {
	for i := range versions {
		for _, s := range versions[i].schedules {
			if versions[i].name == release && strings.EqualFold(s.name, name) {
				return s.schedule.String(), true
			}
		}
	}
	return "", false
}

// Architectures are those of the models that a release builds with one of its
// modules, such as qwen3; a module that it is not emitted for has none.
func Architectures(release, module string) []string {
	for i := range versions {
		for _, f := range versions[i].families {
			if versions[i].name == release && f.module == module {
				return f.weights
			}
		}
	}
	return nil
}

// NotDecayed is the pattern of the parameters that emitted configurations spare
// from weight decay.
const NotDecayed = notDecayed

// BalanceRate is the rate of the experts' bias in configurations that say none.
const BalanceRate = defaultBalanceRate
