package slurm

import (
	_ "embed" // for data/directives.jsonl
	"fmt"
	"regexp"

	"github.com/ndc-dev/ndc/facts"
)

//go:embed data/directives.jsonl
var directivesData string

// option is what sbatch makes of an option that slurm.directives may set. What any release
// from 20.11 to 26.05 takes is no mistake, so that options which are not here are passed on.
type option struct {
	Option   string `json:"option"`
	Argument string `json:"argument"`          // required, optional, none; srun: it is srun's, and sbatch refuses it
	Pattern  string `json:"pattern,omitempty"` // of the values that sbatch takes; "": any
	Write    string `json:"write,omitempty"`   // what to write
	Source   string `json:"source"`            // in Slurm's own code
}

var options = facts.By(facts.Lines[option]("slurm: data/directives.jsonl", directivesData), func(o option) string { return o.Option })

// refused says why sbatch refuses an option with this value; "" where it may take it. The
// values "" and "true" turn on what takes none.
func refused(name, value string) string {
	o, known := options[name]
	switch bare := value == "" || value == "true"; {
	case !known:
	case o.Argument == "srun":
		why := fmt.Sprintf("is an option of srun, and sbatch refuses it. Leave %s out", name)
		if o.Write != "" {
			why += ": " + o.Write
		}
		return why + "."
	case o.Argument == "none" && !bare:
		return fmt.Sprintf("is %q, and sbatch takes no value for it. Write \"true\", or leave it out.", value)
	case o.Argument == "required" && value == "":
		return "is empty, and sbatch wants a value for it."
	case bare && o.Argument != "required":
	case o.Pattern != "" && !regexp.MustCompile(o.Pattern).MatchString(value):
		return fmt.Sprintf("is %q, which sbatch does not take for it. Write %s.", value, o.Write)
	case name == "prefer":
		if why := unfitConstraint(value); why != "" {
			return fmt.Sprintf("is %q. It %s", value, why)
		}
	}
	return ""
}
