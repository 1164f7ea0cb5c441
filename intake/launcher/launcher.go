// Package launcher knows by name what starts a process for each GPU of a node: the
// launchers of PyTorch, DeepSpeed and accelerate, as programs and as modules of Python
// (launchers.jsonl). What their options say it does not know: packages settings, lint and
// intake read them. Nor does it know what starts processes on several nodes, such as srun,
// which package intake has in processes.jsonl.
package launcher

import (
	_ "embed" // the table beside this file
	"path"
	"slices"
	"sync"

	"github.com/ndc-dev/ndc/facts"
)

//go:embed launchers.jsonl
var launchersFile string

// Kind is whose launcher one is; "" is none's.
type Kind string

const (
	Torch      Kind = "torch"      // PyTorch's
	DeepSpeed  Kind = "deepspeed"  // DeepSpeed's
	Accelerate Kind = "accelerate" // that of Hugging Face's accelerate, but for the two words accelerate launch
)

// names are those of one launcher: a line of launchers.jsonl.
type names struct {
	Of       Kind     `json:"of"`
	Programs []string `json:"programs"`
	Modules  []string `json:"modules"`
	Source   string   `json:"source"`
}

var all = sync.OnceValue(func() []names { return facts.Lines[names]("launcher: launchers.jsonl", launchersFile) })

// Of is whose launcher a word of a command names, as a program, with its folder or without, or as
// a module.
func Of(word string) Kind {
	for _, l := range all() {
		if slices.Contains(l.Programs, path.Base(word)) || slices.Contains(l.Modules, word) {
			return l.Of
		}
	}
	return ""
}

// OfModule is whose launcher a module of Python is.
func OfModule(name string) Kind {
	for _, l := range all() {
		if slices.Contains(l.Modules, name) {
			return l.Of
		}
	}
	return ""
}

// Starts reports a word that names a launcher, or accelerate, one of whose commands is one.
func Starts(word string) bool { return Of(word) != "" || path.Base(word) == string(Accelerate) }
