package resume

import (
	_ "embed"

	"github.com/ndc-dev/ndc/facts"
)

// Argument is a change of an argument of training with which a run goes on from its
// checkpoint.
type Argument struct {
	Path  string
	Edits []string // pairs of what stands in testdata/job.hcl and what is said instead
}

// Arguments are those that are asked of every release. A rate is changed with its
// minimum, for TorchTitan counts that in shares of the rate.
var Arguments = []Argument{
	{"training.optimizer.learning_rate", []string{"learning_rate     = 3e-3", "learning_rate = 6e-3", "minimum_learning_rate = 3e-4", "minimum_learning_rate = 6e-4"}},
	{"training.optimizer.weight_decay", []string{"weight_decay      = 0.1", "weight_decay = 0.9"}},
	{"training.optimizer.beta2", []string{"beta2             = 0.95", "beta2 = 0.5"}},
	{"training.optimizer.epsilon", []string{"epsilon           = 1e-8", "epsilon = 1e-2"}},
	{"training.optimizer.gradient_clipping", []string{"gradient_clipping = 1.0", "gradient_clipping = 0.01"}},
	{"training.schedule", []string{"schedule \"cosine\"", "schedule \"linear\""}},
	{"training.schedule.minimum_learning_rate", []string{"minimum_learning_rate = 3e-4", "minimum_learning_rate = 1e-4"}},
	{"training.schedule.warmup_steps", []string{"warmup_steps          = 2", "warmup_steps = 4"}},
	{"training.steps", []string{"steps             = 13", "steps = 16"}},
}

// Taken is what a release does with an argument that was changed.
type Taken struct {
	Framework string `json:"framework"`
	Version   string `json:"version"`
	Argument  string `json:"argument"`
	Answer    string `json:"answer"`          // refused; kept: as the checkpoint has it; taken: as the job says it
	Error     string `json:"error,omitempty"` // what the framework says when it refuses
}

//go:embed arguments.jsonl
var taken string

// RecordedArguments returns the committed results for arguments.
func RecordedArguments() []Taken { return facts.Lines[Taken]("arguments.jsonl", taken) }
