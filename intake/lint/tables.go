package lint

import (
	"embed"
	"sync"

	"github.com/ndc-dev/ndc/backends/slurm"
	"github.com/ndc-dev/ndc/facts"
)

//go:embed data/*.jsonl
var data embed.FS

// table reads a file of the folder.
func table[T any](name string) func() []T {
	return sync.OnceValue(func() []T {
		text, err := data.ReadFile("data/" + name + ".jsonl")
		if err != nil {
			panic("lint: " + err.Error())
		}
		return facts.Lines[T]("lint: "+name+".jsonl", string(text))
	})
}

// findSlurm finds an option by its name, or a beginning that no other has, as
// getopt does; many reports that several have it.
func findSlurm(name string, of func(*slurm.CommandOption) bool) (found *slurm.CommandOption, many bool) {
	n := 0
	for i, all := 0, slurm.Options(); i < len(all); i++ {
		o := &all[i]
		switch {
		case !of(o):
		case o.Name == name:
			return o, false
		case len(name) > 0 && len(o.Name) > len(name) && o.Name[:len(name)] == name:
			found, n = o, n+1
		}
	}
	if n > 1 {
		return nil, true
	}
	return found, false
}

func findLetter(letter string, of func(*slurm.CommandOption) bool) *slurm.CommandOption {
	for i, all := 0, slurm.Options(); i < len(all); i++ {
		if o := &all[i]; o.Letter == letter && of(o) {
			return o
		}
	}
	return nil
}

func forSBatch(o *slurm.CommandOption) bool { return o.SBatch }
func forSRun(o *slurm.CommandOption) bool   { return o.SRun }

// counted is an option of sbatch that takes a number above 0.
type counted struct{ Option, Source string }

var counts = table[counted]("counts")

// variable is an environment variable that some program reads.
type ncclVariable struct{ Name, Source string }

var ncclVariables = table[ncclVariable]("nccl")

// reader says whose variables begin with a prefix: all of them, or those that are listed.
type reader struct {
	Prefix, By, Source string
	Listed             bool
}

var readers = table[reader]("readers")

// renamed is a variable that has another name since a release.
type renamed struct{ Old, New, Since, Source string }

var renamedVariables = table[renamed]("renamed")

// ignored is an option of Megatron-LM that releases with another one read and do
// not follow.
type ignored struct{ Option, Instead, Why, Source string }

var ignoredOptions = table[ignored]("ignored")

// refused is an option that the parser of Megatron-LM's releases still has, for the run
// to end at it.
type refused struct{ Option, Instead, Source string }

var refusedOptions = table[refused]("refused")

// secretVariable holds what nobody else shall know.
type secretVariable struct{ Name, Source string }

var secretVariables = table[secretVariable]("secrets")

// launcherOption is an option of torchrun and of torch.distributed.launch.
type launcherOption struct {
	Name   string
	Letter string
	Values int
	Source string
}

var launcherOptions = table[launcherOption]("torchrun")
