package oracle

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/ndc-dev/ndc/integration/megatron"
)

// Built is what one rank of Megatron-LM holds, in elements, as its own code
// built model, data-parallel buffers and optimizer.
type Built struct {
	Rank       int               `json:"rank"`
	Layers     []int             `json:"layers"` // per chunk; layers that predict further tokens count as one
	Parameters int64             `json:"parameters"`
	Experts    int64             `json:"expert_parameters"`
	Optimizer  int64             `json:"optimizer"` // the rank's shard
	Buffers    []megatron.Buffer `json:"buffers"`
}

// AskMegatron fills in what the release says about cases of one version.
// root is the repository, scratch an empty folder.
func AskMegatron(cases []*Case[Built], root, scratch string) error {
	h, err := megatron.New(filepath.Join(root, "integration", "megatron"))
	if err != nil {
		return err
	}
	var launches []megatron.Launch
	for i, c := range cases {
		l, err := c.emit(filepath.Join(scratch, "files", strconv.Itoa(i)))
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name(), err)
		}
		launches = append(launches, megatron.Launch{Name: strconv.Itoa(i), Version: c.Version, Capability: l.Capability, Files: l.Files,
			Nodes: l.Nodes, PerNode: l.PerNode, Ranks: c.Ranks})
		c.Answers = nil
	}
	answers, err := h.Judge(launches, true, filepath.Join(scratch, "launches"))
	for _, a := range answers {
		i, _ := strconv.Atoi(a.ID)
		if !a.Accepted {
			fmt.Fprintf(os.Stderr, "%s, rank %d: %s: %s\n", cases[i].Name(), a.Rank, a.Stage, a.Error)
			continue
		}
		cases[i].Answers = append(cases[i].Answers, Built{Rank: a.Rank, Layers: a.Layers, Parameters: a.Parameters, Experts: a.Experts,
			Optimizer: a.Optimizer, Buffers: a.Buffers})
	}
	for _, c := range cases {
		if len(c.Answers) != len(c.Ranks) {
			err = cmp.Or(err, fmt.Errorf("%s: %d answers for %d ranks", c.Name(), len(c.Answers), len(c.Ranks)))
			c.Answers = nil
		}
	}
	return err
}
