package slurm

import (
	_ "embed" // for data/options.jsonl and data/directives.jsonl
	"fmt"
	"math"
	"regexp"
	"strconv"
	"sync"

	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/lang/units"
)

// CommandOption is an option of sbatch or srun, of any release.
type CommandOption struct {
	Name, Letter string
	Argument     string // required, optional, no
	SBatch, SRun bool   // whose it is
	Source       string // the last release that has it
}

//go:embed data/options.jsonl
var optionsData string

// Options are all options, in the order of their names.
var Options = sync.OnceValue(func() []CommandOption { return facts.Lines[CommandOption]("slurm: data/options.jsonl", optionsData) })

// nameOf are the names of sbatch's options by their letters.
var nameOf = sync.OnceValue(func() map[string]string {
	names := map[string]string{}
	for _, o := range Options() {
		if o.SBatch && o.Letter != "" {
			names[o.Letter] = o.Name
		}
	}
	return names
})

// optionOf are they by their names, where both programs have one of a name that of sbatch.
var optionOf = sync.OnceValue(func() map[string]CommandOption {
	all := facts.By(Options(), func(o CommandOption) string { return o.Name })
	for _, o := range Options() {
		if o.SBatch {
			all[o.Name] = o
		}
	}
	return all
})

// grammar is what sbatch takes for an option of slurm.directives. What any release from
// 21.08 to 26.05 takes as it is meant is no mistake, so that options which are not there are
// passed on.
type grammar struct {
	Option    string `json:"option"`
	Pattern   string `json:"pattern,omitempty"`   // of the values; "": any
	Otherwise string `json:"otherwise,omitempty"` // what sbatch does with other values; "": it refuses them
	Write     string `json:"write"`               // what to write instead
	Source    string `json:"source"`              // in Slurm's own code, or its manual
}

//go:embed data/directives.jsonl
var directivesData string

var grammars = sync.OnceValue(func() map[string]grammar {
	return facts.By(facts.Lines[grammar]("slurm: data/directives.jsonl", directivesData), func(g grammar) string { return g.Option })
})

// refused says why sbatch refuses an option with this value; "" where it may take it. The
// values "" and "true" turn on what takes none.
func refused(name, value string) string {
	o, g := optionOf()[name], grammars()[name]
	bare := value == "" || value == "true"
	switch {
	case o.Name == "":
	case !o.SBatch && o.SRun:
		why := fmt.Sprintf("is an option of srun, and sbatch refuses it. Leave %s out", name)
		if g.Write != "" {
			why += ": " + g.Write
		}
		return why + "."
	case o.Argument == "no" && !bare:
		return fmt.Sprintf("is %q, and sbatch takes no value for it. Write \"true\", or leave it out.", value)
	case o.Argument == "required" && value == "":
		return "is empty, and sbatch wants a value for it."
	case bare && o.Argument != "required":
	case g.Pattern != "" && !regexp.MustCompile(g.Pattern).MatchString(value) && g.Otherwise != "":
		return fmt.Sprintf("is %q, and sbatch %s. Write %s.", value, g.Otherwise, g.Write)
	case g.Pattern != "" && !regexp.MustCompile(g.Pattern).MatchString(value):
		return fmt.Sprintf("is %q, which sbatch does not take for it. Write %s.", value, g.Write)
	case name == "prefer":
		if why := unfitConstraint(value); why != "" {
			return fmt.Sprintf("is %q. It %s", value, why)
		}
	}
	return ""
}

var timeLimit = regexp.MustCompile(`^(?:(\d{1,4})-(\d{1,2})(?::(\d{1,2}))?(?::(\d{1,2}))?|(\d{1,5})(?::(\d{1,2}))?(?::(\d{1,2}))?)$`)

// Minutes reads a time limit of Slurm: minutes, minutes:seconds,
// hours:minutes:seconds, days-hours, days-hours:minutes and so on.
func Minutes(text string) (float64, bool) {
	m := timeLimit.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n := make([]float64, len(m))
	for i := range m {
		n[i], _ = strconv.ParseFloat(m[i], 64)
	}
	switch {
	case m[1] != "":
		return n[1]*24*60 + n[2]*60 + n[3] + n[4]/60, true
	case m[7] != "":
		return n[5]*60 + n[6] + n[7]/60, true
	}
	return n[5] + n[6]/60, true
}

var endless = regexp.MustCompile(`^(?i:infinite|unlimited|-1|0+)$`)

// above reports whether a job may not end as early as it allows (time-min), because its
// limit is shorter. Slurm counts whole minutes, those that have begun.
func above(least string, limit units.Seconds) bool {
	m, ok := Minutes(least)
	return limit > 0 && (endless.MatchString(least) || ok && math.Ceil(m) > math.Ceil(float64(limit)/60))
}
