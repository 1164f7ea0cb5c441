package compute

import (
	"embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/ndc-dev/ndc/compiler/compute/surface"
	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

//go:embed data/*.jsonl
var dataFiles embed.FS

// relative is a measured GPU.
type relative struct {
	name       string
	capability string
	records    []*surface.Record
}

// relatives lists the measured GPUs in the order of their name.
var relatives = sync.OnceValue(func() []*relative {
	var list []*relative
	for line := range strings.Lines(content("surfaces")) {
		r, err := surface.Parse([]byte(line))
		if err != nil {
			panic(fmt.Sprintf("compute: surfaces.jsonl: %v", err))
		}
		if len(list) == 0 || list[len(list)-1].name != r.GPU {
			list = append(list, &relative{name: r.GPU, capability: r.Capability})
		}
		last := list[len(list)-1]
		last.records = append(last.records, r)
	}
	return list
})

// content is an embedded file; it is part of the program, so that its absence is a
// programmer's mistake.
func content(name string) string {
	b, err := dataFiles.ReadFile("data/" + name + ".jsonl")
	if err != nil {
		panic(fmt.Sprintf("compute: %v", err))
	}
	return string(b)
}

// decode reads an embedded file of records of one type.
func decode[T any](name string) []T {
	return facts.Lines[T]("compute: "+name+".jsonl", content(name))
}

// nearest is the measured GPU of the same catalogue name (of the same name for
// a user's own GPU, whose measurements tools/fit added), else the one with the
// nearest compute capability, of those the one of the nearest 16-bit peak, and of those the
// one of the nearest memory bandwidth; ties go to the first name. Efficiencies of generations
// differ, so that a faster memory must not lead to another one.
func nearest(g *job.GPU) *relative {
	var best *relative
	var least distance
	for _, r := range relatives() {
		if r.measures(g) {
			return r
		}
		if d := r.distance(g); best == nil || slices.Compare(d[:], least[:]) < 0 {
			best, least = r, d
		}
	}
	return best
}

// measures reports whether the kernels were measured on this GPU.
func (r *relative) measures(g *job.GPU) bool { return g.Is(r.name) }

// distance is how far a GPU is from a measured one: in major numbers of compute capability, and
// in logarithms of the ratios of peak and of memory bandwidth. The first that differs decides.
type distance [3]float64

// distance compares a GPU with the measured one.
func (r *relative) distance(g *job.GPU) distance {
	roof := r.find(surface.GEMM, BF16).Roof
	peak := float64(max(g.PeakFLOPS.BF16, g.PeakFLOPS.FP16))
	d := distance{0, logRatio(peak, roof.FLOPS), logRatio(float64(g.MemoryBandwidth), roof.Bandwidth)}
	if g.ComputeCapability != "" {
		d[0] = job.GenerationsApart(g.ComputeCapability, r.capability)
	}
	return d
}

func logRatio(a, b float64) float64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	return units.Rounded(math.Abs(math.Log(a / b)))
}

// substitutes lists, nearest first, the measured types whose surface stands
// in for a type; the peak is always that of the type itself.
var substitutes = [dtypeCount][]string{
	BF16: {"bf16"}, FP16: {"bf16"}, TF32: {"bf16"}, FP32: {"bf16"},
	FP8: {"fp8", "bf16"}, FP8Delayed: {"fp8", "bf16"}, FP8Block: {"fp8_block", "fp8", "bf16"},
	MXFP8: {"fp8_block", "fp8", "bf16"}, NVFP4: {"nvfp4", "fp8", "bf16"},
}

// find is the surface of an operation in a type or its nearest substitute;
// nil when the operation was not measured.
func (r *relative) find(operation string, t DType) *surface.Record {
	for _, name := range substitutes[t] {
		i := slices.IndexFunc(r.records, func(x *surface.Record) bool { return x.Operation == operation && x.DType == name })
		if i >= 0 {
			return r.records[i]
		}
	}
	return nil
}
