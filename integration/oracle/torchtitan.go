package oracle

import (
	"fmt"

	"github.com/ndc-dev/ndc/integration/environment"
)

// Live is what one rank of TorchTitan's real Trainer has alive, in bytes.
type Live struct {
	Rank       int   `json:"rank"`
	Layers     []int `json:"layers"`
	Parameters int64 `json:"parameters"` // the rank's shard
	Gradients  int64 `json:"gradients"`  // the rank's shard, before the optimizer steps
	Moments    int64 `json:"moments"`
	Peak       int64 `json:"live_peak"`
	// Made is the kind of the tensor that was made when the peak was reached,
	// Parts what was alive then by kind (kinds.py).
	Made  string           `json:"made"`
	Parts map[string]int64 `json:"parts"`
	Error string           `json:"error,omitempty"`
}

// AskTorchTitan fills in what the release says about cases of one version.
// root is the repository, scratch an empty folder.
func AskTorchTitan(cases []*Case[Live], root, scratch string) error {
	python, err := environment.TorchTitan(cases[0].Version).Python()
	if err != nil {
		return err
	}
	env := []string{"PYTHONDONTWRITEBYTECODE=1", "NDC_LOG_DIR=" + scratch}
	d, err := ask(cases, root, scratch, python, "live.py", env, func(c *Case[Live], folder string) []any {
		var lines []any
		for _, rank := range c.Ranks {
			lines = append(lines, map[string]any{"folder": folder, "world": c.World(), "rank": rank})
		}
		return lines
	})
	if err != nil {
		return err
	}
	var failed error
	for _, c := range cases {
		var answers []Live
		for _, rank := range c.Ranks {
			var a Live
			if err := d.Decode(&a); err != nil {
				return fmt.Errorf("live.py: %w", err)
			}
			if a.Error != "" {
				failed = fmt.Errorf("%s, rank %d: %s", c.Name(), rank, a.Error)
				continue
			}
			answers = append(answers, a)
		}
		if len(answers) == len(c.Ranks) {
			c.Answers = answers
		}
	}
	return failed
}
