package megatron

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/integration/environment"
)

// Step is what Megatron-LM had of one step for its log.
type Step struct {
	Step int     `json:"step"`
	Loss float64 `json:"loss"`
	Norm float64 `json:"norm"` // of the gradient, before it is clipped
}

// Trained is a launch that was run.
type Trained struct {
	ID      string  `json:"id"`
	Steps   []Step  `json:"steps"`
	Seconds float64 `json:"seconds"`
	Error   string  `json:"error"`
}

// Train runs launches of one version and one kind of GPU on CPU ranks, one
// after the other, so that a launch may start from what an earlier one saved.
// It returns what was trained before an error, too.
func (h *Harness) Train(launches []Launch, scratch string) ([]Trained, error) {
	python, checkout, err := h.Source(launches[0].Version)
	if err != nil {
		return nil, err
	}
	var input bytes.Buffer
	for i, l := range launches {
		folder := filepath.Join(scratch, strconv.Itoa(i))
		c, err := record(l, checkout, folder)
		if err != nil {
			return nil, err
		}
		line := struct {
			probeCase
			Folder string `json:"folder"`
		}{c, filepath.Join(folder, "ranks")}
		if err := json.NewEncoder(&input).Encode(line); err != nil {
			return nil, err
		}
	}
	args := []string{filepath.Join(h.Driver, "train.py"), "--checkout", checkout, "--capability", launches[0].Capability}
	out, err := environment.Ask(len(launches), &input, []string{"OMP_NUM_THREADS=1"}, python, args...)
	var all []Trained
	for line := range strings.Lines(out) {
		var t Trained
		if err := json.Unmarshal([]byte(line), &t); err != nil {
			return all, fmt.Errorf("train.py: %w in %q", err, line)
		}
		all = append(all, t)
	}
	return all, err
}
