package oracle

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/ndc-dev/ndc/integration/environment"
)

// Partition is what one rank of DeepSpeed holds once it has started, in
// elements. The sizes of the cases leave DeepSpeed nothing to pad.
type Partition struct {
	Parameters   int64 `json:"parameters"`                  // with stage 3 the rank's shards
	Experts      int64 `json:"expert_parameters,omitempty"` // of these in experts that AutoEP spreads
	Whole        int64 `json:"whole,omitempty"`             // what the shards of stage 3 are cut from
	WholeExperts int64 `json:"whole_experts,omitempty"`
	Secondary    int64 `json:"secondary,omitempty"` // hpZ's second copy
	Optimizer    int64 `json:"optimizer"`           // fp32 masters
}

// AskDeepSpeed fills in what the release says about cases of one version.
// root is the repository, scratch an empty folder.
func AskDeepSpeed(cases []*Case[Partition], root, scratch string) error {
	python, err := environment.DeepSpeed(cases[0].Version).Python()
	if err != nil {
		return err
	}
	env, err := environment.Kernels(python, filepath.Join(scratch, "kernels"))
	if err != nil {
		return err
	}
	env = append(env, "DS_ACCELERATOR=cpu")
	d, err := ask(cases, root, scratch, python, "partitions.py", env, func(c *Case[Partition], folder string) []any {
		return []any{map[string]any{"folder": folder, "ranks": c.World()}}
	})
	if err != nil {
		return err
	}
	var failed error
	for _, c := range cases {
		var answer json.RawMessage
		if err := d.Decode(&answer); err != nil {
			return fmt.Errorf("partitions.py: %w", err)
		}
		var ranks []Partition
		if json.Unmarshal(answer, &ranks) != nil || len(ranks) != c.World() {
			failed = fmt.Errorf("%s: %s", c.Name(), answer)
			continue
		}
		c.Answers = ranks
	}
	return failed
}
