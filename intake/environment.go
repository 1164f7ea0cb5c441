package intake

import (
	_ "embed"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/megatron"
	"github.com/ndc-dev/ndc/intake/shell"
)

//go:embed variables.jsonl
var variablesFile string

// variable is one of the environment that says something of the job, or several that do: a
// line of variables.jsonl.
type variable struct {
	Name        string   `json:"name"`        // "": Begins
	Begins      string   `json:"begins"`      // of the names of several
	Says        string   `json:"says"`        // the argument that it is: a number, or the environment that the job keeps
	Accelerator string   `json:"accelerator"` // no GPU, whose software reads it
	Programs    []string `json:"programs"`    // which read it; none: whatever runs
	Commands    []string `json:"commands"`    // of theirs that do
	Source      string   `json:"source"`
}

var variables = sync.OnceValue(func() []variable { return facts.Lines[variable]("intake: variables.jsonl", variablesFile) })

// variableOf is what is known of a name in the environment of a script, nil where nothing is.
func variableOf(name string, s *shell.Script) *variable {
	for i := range variables() {
		v := &variables()[i]
		if (v.Name == name || v.Begins != "" && strings.HasPrefix(name, v.Begins)) && (v.Programs == nil || v.readBy(s)) {
			return v
		}
	}
	return nil
}

// readBy reports a script that starts a program that reads the variable.
func (v *variable) readBy(s *shell.Script) bool {
	return slices.ContainsFunc(s.Commands, func(c shell.Command) bool {
		return len(c.Words) > 1 && slices.Contains(v.Programs, path.Base(c.Words[0].Text)) && slices.Contains(v.Commands, c.Words[1].Text)
	})
}

// keptEnvironment is the argument of the variables that a job keeps as they stand.
const keptEnvironment = "slurm.environment"

// exports keeps the environment of the fabric and of the host's waiting; what else a script exports is
// its own affair, and ndc sets what the framework needs. A secret stays out of
// the job and of the report.
func (in *intake) exports(file string, s *shell.Script) {
	said := map[string]bool{}
	for _, e := range s.Exports {
		at := megatron.Place(file, e.Value)
		f := draft.Finding{Place: at, Name: e.Name, Value: draft.Guarded(e.Name, e.Value.Text), Verdict: draft.Left, Why: "a variable of the environment; slurm.environment takes it where the run needs it"}
		secret := draft.IsSecret(e.Name, e.Value.Text)
		if secret {
			f.Why = draft.NoSecrets
		}
		switch v := variableOf(e.Name, s); {
		case v == nil:
		case v.Accelerator != "":
			in.noGPUs(e.Name)
		case v.Says != keptEnvironment:
			said[v.Says] = true
			if n, err := strconv.ParseInt(e.Value.Text, 10, 64); err == nil && n > 0 {
				in.d.Default(v.Says, n, at)
				f.Verdict, f.To, f.Why = draft.Mapped, v.Says, ""
			}
		case !secret && !e.Value.Open && !e.Value.Maybe:
			in.d.Add(keptEnvironment, e.Name, e.Value.Text, at)
			f.Verdict, f.To, f.Why = draft.Mapped, keptEnvironment, ""
		}
		in.d.Find(f)
	}
	if said["cluster.gpus_per_node"] && !said["cluster.nodes"] {
		in.d.Default("cluster.nodes", int64(1), draft.Place{}) // as torchrun has it
	}
}
