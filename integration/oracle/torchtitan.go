package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/ndc-dev/ndc/integration/environment"
)

// Live is what one rank of TorchTitan's real Trainer has alive, in bytes.
type Live struct {
	Rank       int    `json:"rank"`
	Layers     []int  `json:"layers"`
	Parameters int64  `json:"parameters"` // the rank's shard
	Gradients  int64  `json:"gradients"`  // the rank's shard, before the optimizer steps
	Moments    int64  `json:"moments"`
	Peak       int64  `json:"live_peak"`
	Phase      string `json:"phase"` // that the peak fell into
	Error      string `json:"error,omitempty"`
}

// AskTorchTitan fills in what the release says about cases of one version.
// root is the repository, scratch an empty folder.
func AskTorchTitan(cases []*Case[Live], root, scratch string) error {
	python, err := environment.TorchTitan(cases[0].Version).Python()
	if err != nil {
		return err
	}
	var input bytes.Buffer
	for i, c := range cases {
		folder, err := filepath.Abs(filepath.Join(scratch, strconv.Itoa(i)))
		if err != nil {
			return err
		}
		if _, err := c.emit(folder); err != nil {
			return fmt.Errorf("%s: %w", c.Name(), err)
		}
		for _, rank := range c.Ranks {
			fmt.Fprintf(&input, "{\"folder\": %q, \"world\": %d, \"rank\": %d}\n", folder, c.World(), rank)
		}
	}
	cmd := exec.Command(python, filepath.Join(root, "integration", "oracle", "live.py"))
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1", "NDC_LOG_DIR="+scratch)
	cmd.Stdin, cmd.Stderr = &input, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("live.py: %w", err)
	}
	var failed error
	d := json.NewDecoder(bytes.NewReader(out))
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
