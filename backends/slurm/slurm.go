// Package slurm writes what starts a job on a cluster: the sbatch script, the
// node script that runs torchrun, and the environment both read. It is shared
// by the emitters, which say what to run; it knows Slurm, containers and
// shells, and no framework. No value of a job but slurm.setup can become
// shell code: every other one passes through render.Literal or
// render.Expanding.
package slurm

import (
	"strings"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/lang/units"
)

// Launch is what a framework adds to the scripts.
type Launch struct {
	// Title names framework and version, such as "Megatron-LM core_v0.18.2".
	Title string
	// Torch is the torch release that the framework runs on, such as "2.11";
	// it decides under which name allocator settings are read.
	Torch string
	// Environment are the framework's settings; a variable that the job sets
	// itself is left to the job.
	Environment []Setting
	// Setup are lines of bash run on every node before torchrun, with
	// $NDC_DIR as the folder of the generated files, which may be a run's copy,
	// and $NDC_JOB_DIR as the one that stays. They are ndc's own text.
	Setup []string
	// Program is what torchrun starts: a script, or -m and a module.
	Program []render.Word
	// Arguments follow the program, one line each.
	Arguments []Argument
	// Shown are the ranks whose lines stand in the log of the job, at least one:
	// those that report progress. The lines of all ranks stand in files.
	Shown []int
	// CheckpointPath is where the run saves, as the program sees it; "" when it
	// does not save. The scripts see its host path as $CHECKPOINT_PATH.
	CheckpointPath string
	// LatestStep is the body of a bash function that prints the newest step
	// saved in "$CHECKPOINT_PATH", or nothing. It is ndc's own text. What lies
	// in that folder may be anybody's: the function computes with nothing that
	// the scripts' function number did not accept.
	LatestStep string
	// Notice is how long the ranks take at most to answer SIGTERM while they train, by the plan.
	Notice units.Seconds
	// Steps is the number of optimizer steps after which the run is done.
	Steps int
}

// Setting is one environment variable with the reason for it.
type Setting struct {
	Name  string
	Value render.Word
	Why   string
}

// Computed reports whether a command makes the value, whose failure an export on the
// same line would hide.
func (s Setting) Computed() bool { return strings.Contains(s.Value.String(), "$(") }

// Argument is one option with its values, and where they come from.
type Argument struct {
	Words []render.Word
	Why   string // spec, default, plan, or a short reason; "" for none
}

// Option makes an Argument of an option name and values from a job.
func Option(why, name string, values ...string) Argument {
	words := []render.Word{render.Literal(name)}
	for _, v := range values {
		words = append(words, render.Literal(v))
	}
	return Argument{Words: words, Why: why}
}
