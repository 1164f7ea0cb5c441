package compute

import (
	"fmt"
	"math"
	"sync"

	"github.com/ndc-dev/ndc/compiler/compute/surface"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// The records of the data files beside the surfaces. An empty GPU or a
// missing capability holds for all; the most specific record wins.
type (
	// passFactors relate the kernels of a linear layer's passes in training to
	// the forward time of the surface, and add what quantising costs there.
	passFactors struct {
		Capability     string  `json:"capability"` // major number
		DType          string  `json:"dtype"`
		Forward        float64 `json:"forward"`
		InputGradient  float64 `json:"input_gradient"`
		WeightGradient float64 `json:"weight_gradient"`

		// Bytes of memory traffic that quantising adds per element of the
		// input, of the output's gradient, and of both.
		QuantiseForward        float64 `json:"quantise_forward"`
		QuantiseInputGradient  float64 `json:"quantise_input_gradient"`
		QuantiseWeightGradient float64 `json:"quantise_weight_gradient"`

		Source string `json:"source"`
	}
	// trafficShare is the part of the memory's bandwidth that a kind of
	// kernel reaches.
	trafficShare struct {
		Capability string  `json:"capability"`
		Kind       string  `json:"kind"`
		Share      float64 `json:"share"`
		Source     string  `json:"source"`
	}
	// kernelTimes relate an attention kernel to another one on a generation.
	kernelTimes struct {
		Kernel     string  `json:"kernel"`
		Capability string  `json:"capability"`
		Over       string  `json:"over"`
		Forward    float64 `json:"forward"`
		Backward   float64 `json:"backward"`
		Source     string  `json:"source"`
	}
	// constant is a single named figure.
	constant struct {
		Name   string  `json:"name"`
		Value  float64 `json:"value"`
		Unit   string  `json:"unit"`
		Source string  `json:"source"`
	}
)

// factTables are the data files in memory.
type factTables struct {
	once          sync.Once
	passes        []passFactors
	traffic       []trafficShare
	attention     []*surface.KernelRates
	related       []kernelTimes
	launch        units.Seconds
	deterministic float64
	dropout       struct{ forward, backward float64 } // of fused kernels
	narrow        struct{ rows, columns float64 }     // of tiles of narrow products; columns: a multiple of it
}

var tables factTables

// load reads the data files on first use.
func (f *factTables) load() {
	f.once.Do(func() {
		f.passes = decode[passFactors]("passes")
		f.traffic = decode[trafficShare]("traffic")
		f.attention = decode[*surface.KernelRates]("attention")
		f.related = decode[kernelTimes]("flex")
		named := map[string]float64{}
		for _, c := range decode[constant]("constants") {
			named[c.Name] = c.Value
		}
		f.launch = units.Seconds(need(named, "launch_seconds"))
		f.deterministic = need(named, "deterministic_attention_backward")
		f.narrow.rows, f.narrow.columns = need(named, "narrow_tile_rows"), need(named, "narrow_tile_columns")
		f.dropout.forward, f.dropout.backward = need(named, "dropout_attention_forward"), need(named, "dropout_attention_backward")
	})
}

func need(named map[string]float64, name string) float64 {
	v, ok := named[name]
	if !ok {
		panic(fmt.Sprintf("compute: constants.jsonl lacks %s", name))
	}
	return v
}

// passFactors finds the record of the generation and type, else that of the
// type on the nearest generation, else bf16's.
func (f *factTables) passFactors(r *relative, t DType) passFactors {
	f.load()
	if p := f.nearestPasses(r, t.String()); p != nil {
		return *p
	}
	return *f.nearestPasses(r, BF16.String())
}

func (f *factTables) nearestPasses(r *relative, dtype string) *passFactors {
	return nearestGeneration(f.passes, r, func(p *passFactors) (string, bool) { return p.Capability, p.DType == dtype })
}

// nearestGeneration is the first of some records that is of the GPU's generation, else of
// the nearest that has one; nil where none is what is looked for.
func nearestGeneration[T any](records []T, r *relative, of func(*T) (capability string, fits bool)) (best *T) {
	least := math.Inf(1)
	for i := range records {
		capability, fits := of(&records[i])
		if !fits {
			continue
		}
		if d := job.GenerationsApart(capability, r.capability); d < least {
			best, least = &records[i], d
		}
	}
	return best
}

// trafficShare finds the share of the generation, else of the nearest.
func (f *factTables) trafficShare(r *relative, kind Traffic) float64 {
	f.load()
	if x := nearestGeneration(f.traffic, r, func(x *trafficShare) (string, bool) { return x.Capability, x.Kind == kind.String() }); x != nil {
		return x.Share
	}
	return 0
}

// kernelRates are the factors of one attention kernel on a device.
type kernelRates struct {
	square   []*surface.KernelRates // q and k as wide as v, ascending
	windowed *surface.KernelRates
	mla      *surface.KernelRates
	fp8      []*surface.KernelRates // fp8 and mxfp8, square before mla

	forward, ratio float64 // over the kernel that was measured: the forward time, and backward over forward
}

// kernelRates collects what was measured of a kernel on the relative, else on
// the nearest GPU that has it.
func (f *factTables) kernelRates(r *relative, k AttentionKernel) kernelRates {
	f.load()
	if k == FlashAttention1 {
		k = FlashAttention2
	}
	if times := nearestGeneration(f.related, r, func(x *kernelTimes) (string, bool) { return x.Capability, x.Kernel == k.String() }); times != nil {
		out := f.kernelRates(r, KernelNamed(times.Over))
		out.mla = nil // what was measured of wide keys is another kernel's
		out.forward, out.ratio = out.forward*times.Forward, out.ratio*(times.Backward/times.Forward)
		return out
	}
	out := kernelRates{
		forward: 1, ratio: 1,
		mla:      f.nearestOf(r, func(x *surface.KernelRates) bool { return x.QK > x.V }),
		windowed: f.nearestOf(r, func(x *surface.KernelRates) bool { return x.Window > 0 }),
	}
	best := f.nearestAttention(r, k)
	for _, x := range f.attention {
		switch {
		case best == nil || x.GPU != best.GPU || x.Kernel != best.Kernel || x.Window > 0:
		case x.DType != "bf16":
			out.fp8 = append(out.fp8, x)
		case x.QK > x.V:
			out.mla = x
		default:
			out.square = append(out.square, x)
		}
	}
	return out
}

// nearestAttention is a bf16 record of the kernel on the nearest GPU: the
// same one, else the same generation, else the nearest generation that has
// it. GPUs without a newer FlashAttention run the second.
func (f *factTables) nearestAttention(r *relative, k AttentionKernel) (best *surface.KernelRates) {
	least := math.Inf(1)
	for _, x := range f.attention {
		d := 0.0
		switch {
		case x.DType != "bf16" || x.Window > 0:
			continue
		case x.Kernel == k.String():
		case (k == Flash || k == SDPA || k == Fused) && x.Kernel == FlashAttention2.String() && x.GPU == r.name:
			d += 0.25
		default:
			continue
		}
		d += 2 * job.GenerationsApart(x.Capability, r.capability)
		if x.GPU != r.name {
			d += 0.5
		}
		if d < least {
			best, least = x, d
		}
	}
	return best
}

// nearestOf is the first bf16 record of a kind on the nearest GPU, of
// whichever kernel, for kernels that were not measured on such shapes.
func (f *factTables) nearestOf(r *relative, kind func(*surface.KernelRates) bool) (best *surface.KernelRates) {
	least := math.Inf(1)
	for _, x := range f.attention {
		if x.DType != "bf16" || !kind(x) {
			continue
		}
		d := job.GenerationsApart(x.Capability, r.capability)
		if x.GPU != r.name {
			d += 0.5
		}
		if d < least {
			best, least = x, d
		}
	}
	return best
}

// Without any measurement of a kernel it takes the surface's forward time and
// the backward pass its arithmetic.
const (
	plainForward  = 1.0
	plainBackward = 2.5
)

// at is the factor on the surface's forward time and the backward pass over
// the forward pass, for the base-2 logarithm of a length.
func (k *kernelRates) at(a *Attention, length float64) (forward, backward float64) {
	forward, backward = k.measured(a, length)
	return forward * k.forward, backward * k.ratio
}

// measured is at for the kernel that was measured.
func (k *kernelRates) measured(a *Attention, length float64) (forward, backward float64) {
	wide := a.ValueDim != 0 && a.HeadDim > a.ValueDim
	if a.Window > 0 && a.Window < a.Keys && k.windowed != nil {
		return k.windowed.At(length)
	}
	if a.low() {
		for _, x := range k.fp8 {
			if (x.QK > x.V) == wide && (x.DType == "mxfp8") == (a.DType == MXFP8) {
				return x.At(length)
			}
		}
	}
	if wide && k.mla != nil {
		return k.mla.At(length)
	}
	if len(k.square) == 0 {
		return plainForward, plainBackward
	}
	best := k.square[0]
	for _, x := range k.square[1:] {
		if math.Abs(math.Log2(float64(x.QK)/float64(a.HeadDim))) < math.Abs(math.Log2(float64(best.QK)/float64(a.HeadDim))) {
			best = x
		}
	}
	return best.At(length)
}
