package megatron

// Step is what Megatron-LM had of one step for its log.
type Step struct {
	Step    int     `json:"step"`
	Loss    float64 `json:"loss"`
	Norm    float64 `json:"norm"`    // of the gradient, before it is clipped; 0 where fp16 passed the step over
	Rate    float64 `json:"rate"`    // that the next step will have
	Samples int64   `json:"samples"` // read so far
}

// Trained is a launch that was run.
type Trained struct {
	ID         string    `json:"id"`
	Steps      []Step    `json:"steps"`
	Validation []float64 `json:"validation"` // the loss of every evaluation, the last being that behind training
	Seconds    float64   `json:"seconds"`
	Error      string    `json:"error"`
}

// Train runs launches of one version and one kind of GPU on CPU ranks, one
// after the other, so that a launch may start from what an earlier one saved.
// It returns what was trained before an error, too.
func (h *Harness) Train(launches []Launch, scratch string) ([]Trained, error) {
	return ask[Trained](h, launches, scratch, "train.py", "--capability", launches[0].Capability)
}
