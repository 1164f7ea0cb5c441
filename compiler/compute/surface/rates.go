package surface

// KernelRates compares one attention implementation with the measured forward
// kernel of the same GPU (whose surface has the shapes), by sequence length.
type KernelRates struct {
	GPU        string    `json:"gpu"` // catalogue name
	Capability string    `json:"capability"`
	Kernel     string    `json:"kernel"` // flash, fused, sdpa, flash2
	DType      string    `json:"dtype"`
	QK         int       `json:"qk"` // head dimension of queries and keys
	V          int       `json:"v"`
	Window     int       `json:"window,omitempty"` // keys each query sees; 0: all
	Lengths    []float64 `json:"lengths"`          // base-2 logarithms of the keys, ascending
	Forward    []float64 `json:"forward"`          // time over the surface's
	Backward   []float64 `json:"backward"`         // whole backward pass over this kernel's forward pass
	Rows       int       `json:"rows"`
	Source     string    `json:"source"`
}

// At interpolates both factors at the base-2 logarithm of a length.
func (k *KernelRates) At(length float64) (forward, backward float64) {
	i, f := locate(k.Lengths, length)
	forward, backward = k.Forward[i], k.Backward[i]
	if f > 0 {
		forward += f * (k.Forward[i+1] - forward)
		backward += f * (k.Backward[i+1] - backward)
	}
	return forward, backward
}
