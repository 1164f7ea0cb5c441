package megatron

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Killed is what starts that were killed while they saved told.
type Killed struct {
	Kills []int  `json:"kills"` // of each rank
	Error string `json:"error"` // what went wrong, with the start
}

// killCases is how many cases of the other drivers a launch that is killed may
// take as long as.
const killCases = 40

// Kill trains a launch of six steps that saves after each, kills it while it
// saves, before every so many system calls that change a file, and starts
// launch.sh again after each kill. Scratch is an empty folder.
func (h *Harness) Kill(l Launch, every int, scratch string) (Killed, error) {
	python, checkout, err := h.Source(l.Version)
	if err != nil {
		return Killed{}, err
	}
	c, err := record(l, checkout, scratch)
	if err != nil {
		return Killed{}, err
	}
	var input bytes.Buffer
	if err := json.NewEncoder(&input).Encode(c); err != nil {
		return Killed{}, err
	}
	got, err := answers[Killed](h, python, killCases, &input, "kills.py", []string{"--checkout", checkout, "--launch", scratch, "--every", strconv.Itoa(every)})
	if len(got) != 1 {
		return Killed{}, err
	}
	return got[0], err
}
