package compute

import "github.com/ndc-dev/ndc/lang/units"

// Traffic is a kind of kernel that is bound by memory bandwidth.
type Traffic uint8

// The kinds whose reached bandwidth was measured apart (data/traffic.jsonl).
const (
	Elementwise  Traffic = iota // copies, casts, additions, activations, rope
	NormForward                 // RMSNorm, LayerNorm
	NormBackward                // with the gradient of the weight
	CrossEntropy                // softmax and loss over the vocabulary, and its gradient
	Permute                     // gather and scatter of tokens for experts
	Optimizer                   // fused Adam over flat or many tensors
	trafficCount
)

var trafficNames = [trafficCount]string{"elementwise", "norm_forward", "norm_backward", "cross_entropy", "permute", "optimizer"}

// String is the name in the data files.
func (t Traffic) String() string { return trafficNames[t] }

// Traffic is the time of a kernel of the given kind that reads and writes
// bytes in total, each tensor counted once per pass over it. Zero for none.
func (d *Device) Traffic(kind Traffic, bytes units.Bytes) units.Seconds {
	if bytes <= 0 {
		return 0
	}
	return d.launch + units.Seconds(float64(bytes)/d.traffic[kind])
}
