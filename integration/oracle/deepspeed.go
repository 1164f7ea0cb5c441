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

// Partition is what one rank of DeepSpeed holds once it has started, in
// elements.
type Partition struct {
	Parameters   int64 `json:"parameters"` // with stage 3 the rank's shards
	Experts      int64 `json:"expert_parameters"`
	Whole        int64 `json:"whole,omitempty"` // what the shards of stage 3 are cut from
	WholeExperts int64 `json:"whole_experts,omitempty"`
	Padding      int64 `json:"padding"`   // of the shards, over the ranks that share them
	Secondary    int64 `json:"secondary"` // hpZ's second copy
	Optimizer    int64 `json:"optimizer"` // fp32 masters
}

// AskDeepSpeed fills in what the release says about cases of one version.
// root is the repository, scratch an empty folder.
func AskDeepSpeed(cases []*Case[Partition], root, scratch string) error {
	python, err := environment.DeepSpeed(cases[0].Version).Python()
	if err != nil {
		return err
	}
	kernels, err := environment.Kernels(python)
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
		fmt.Fprintf(&input, "{\"folder\": %q, \"ranks\": %d}\n", folder, c.World())
	}
	cmd := exec.Command(python, filepath.Join(root, "integration", "oracle", "partitions.py"))
	cmd.Env = append(os.Environ(), "DS_ACCELERATOR=cpu", "OMP_NUM_THREADS=1", "TORCH_EXTENSIONS_DIR="+kernels)
	cmd.Stdin, cmd.Stderr = &input, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("partitions.py: %w", err)
	}
	var failed error
	d := json.NewDecoder(bytes.NewReader(out))
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
