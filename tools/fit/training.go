package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/compute/surface"
)

// measurement is one line of a file of training kernels.
type measurement struct {
	framework bool // taken inside a training framework, which outranks a bare kernel
	Source    struct {
		Name string `json:"name"`
		Date string `json:"date"`
	} `json:"source"`
	GPU    string  `json:"gpu"`
	Op     string  `json:"op"`
	Pass   string  `json:"pass"`
	DType  string  `json:"dtype"`
	TFLOPS float64 `json:"tflops"`
	Shape  struct {
		Batch         float64 `json:"batch"`
		Heads         float64 `json:"heads"`
		QueryHeads    float64 `json:"hq"`
		KVHeads       float64 `json:"hkv"`
		Queries       float64 `json:"sq"`
		Keys          float64 `json:"skv"`
		QK            int     `json:"dqk"`
		V             int     `json:"dv"`
		Mask          string  `json:"mask"`
		Window        int     `json:"window"`
		Variant       string  `json:"variant"`
		Deterministic bool    `json:"deterministic"`
	} `json:"shape"`
}

// attentionGPUs maps the names in such files to the catalogue.
var attentionGPUs = map[string]string{
	"A100-SXM4-80GB": "a100_80gb", "H100": "h100_sxm", "H100-SXM5-80GB": "h100_sxm", "H200": "h200",
	"B200": "b200", "GB200": "gb200", "GB300": "gb300",
}

// attentionKernels maps implementations to package compute's kernels.
var attentionKernels = map[string]string{
	"attention:fa2": "flash2", "attention:fa3": "flash", "attention:fa4": "flash",
	"attention:cudnn": "fused", "attention:sdpa": "sdpa",
}

// attentionDTypes maps data types; fp16 runs at the rate of bf16.
var attentionDTypes = map[string]string{"bf16": "bf16", "fp16": "bf16", "fp16/bf16": "bf16", "bfloat16": "bf16", "fp8": "fp8", "mxfp8": "mxfp8"}

// backwardFLOPs is the arithmetic of the backward pass over that of the
// forward pass, by which published rates count: five products instead of two.
const backwardFLOPs = 2.5

// rateKey names one set of rates.
type rateKey struct {
	gpu, kernel, dtype string
	qk, v, window      int
}

// rates collects seconds per forward FLOP at one length.
type rates struct{ forward, backward, both []float64 }

// fitAttentionKernels compares implementations with the surfaces.
func fitAttentionKernels(paths string, surfaces []*surface.Record) ([]*surface.KernelRates, error) {
	var measurements []measurement
	for _, path := range strings.Split(paths, ",") {
		more, err := readMeasurements(path)
		if err != nil {
			return nil, err
		}
		measurements = append(measurements, more...)
	}
	found, sources := map[rateKey]byLength{}, map[rateKey]map[string]bool{}
	inFramework := map[rateKey]bool{}
	slices.SortStableFunc(measurements, func(a, b measurement) int {
		return cmp.Compare(b.rank(), a.rank())
	})
	for i := range measurements {
		m := &measurements[i]
		k, ok := m.attention()
		if !ok {
			continue
		}
		factor, ok := m.overSurface(k, surfaces)
		if !ok || inFramework[k] && !m.framework {
			continue
		}
		inFramework[k] = m.framework
		if found[k] == nil {
			found[k], sources[k] = byLength{}, map[string]bool{}
		}
		found[k].add(m, factor)
		sources[k][m.Source.Name] = true
	}
	return assemble(found, sources, surfaces), nil
}

func readMeasurements(path string) ([]measurement, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []measurement
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m, ok := parseMeasurement(lines.Bytes())
		if ok {
			all = append(all, m)
		}
	}
	return all, lines.Err()
}

// parseMeasurement reads a line of either form; shapes of other kernels have
// other types and are passed over.
func parseMeasurement(line []byte) (m measurement, ok bool) {
	var s simumaxRow
	if json.Unmarshal(line, &s) == nil && s.pass() != "" {
		return s.measurement(), true
	}
	return m, json.Unmarshal(line, &m) == nil
}

// rank puts measurements inside a framework first.
func (m *measurement) rank() int {
	if m.framework {
		return 1
	}
	return 0
}

// simumaxRow is one line of SimuMax's measured operations: attention inside
// Megatron-LM, its efficiency counted over the full mask.
type simumaxRow struct {
	GPU        string  `json:"gpu"`
	Op         string  `json:"op"`
	Peak       float64 `json:"peak_tflops"`
	Efficiency float64 `json:"efficiency"`
	Batch      float64 `json:"batch"`
	Sequence   float64 `json:"seq_len"`
	Heads      float64 `json:"head_num"`
	KVHeads    float64 `json:"kv_head_num"`
	QK         int     `json:"qk_head_dim"`
	V          int     `json:"v_head_dim"`
}

// pass is the pass of an attention row, "" for other operations.
func (s *simumaxRow) pass() string {
	return map[string]string{"sdp_fwd": "fwd", "sdp_bwd": "bwd"}[s.Op]
}

// fullMask is what SimuMax counts over the causal half.
const fullMask = 2

func (s *simumaxRow) measurement() measurement {
	m := measurement{framework: true, GPU: s.GPU, Op: "attention:cudnn", Pass: s.pass(), DType: "bf16", TFLOPS: s.Efficiency * s.Peak / fullMask}
	m.Source.Name = "MooreThreads/SimuMax 4dcaae5"
	m.Shape.Batch, m.Shape.QueryHeads, m.Shape.KVHeads = s.Batch, s.Heads, s.KVHeads
	m.Shape.Queries, m.Shape.Keys, m.Shape.QK, m.Shape.V, m.Shape.Mask = s.Sequence, s.Sequence, s.QK, s.V, "causal"
	return m
}

// Published rates are the kernel's, not the host's, and fill the GPU, from
// these numbers of tokens and of tokens × heads on.
const (
	fewestTokens = 2048
	fewestRows   = 32 * 4096
)

// attention tells which rates a measurement belongs to. Only causal masks of
// equal lengths count, windows in 16 bits; a deterministic backward pass only for MLA,
// where it costs nothing that was measured.
func (m *measurement) attention() (rateKey, bool) {
	s := &m.Shape
	if s.QueryHeads == 0 {
		s.QueryHeads, s.KVHeads = s.Heads, s.Heads
	}
	if s.V == 0 {
		s.V = s.QK
	}
	k := rateKey{attentionGPUs[m.GPU], attentionKernels[m.Op], attentionDTypes[m.DType], s.QK, s.V, s.Window}
	ok := k.gpu != "" && k.kernel != "" && k.dtype != "" && s.Mask == "causal" && (s.Window == 0 || k.dtype == "bf16") && s.Variant == "" && (!s.Deterministic || s.QK > s.V) &&
		s.QueryHeads > 0 && s.KVHeads > 0 && s.Queries == s.Keys && s.Batch*s.Queries >= fewestTokens && s.Batch*s.Queries*s.QueryHeads >= fewestRows && m.TFLOPS > 0
	return k, ok
}

// overSurface is the measured time per FLOP over that of the surface's
// forward kernel at the shape.
func (m *measurement) overSurface(k rateKey, surfaces []*surface.Record) (float64, bool) {
	s := m.scores()
	set, ok := attentionSet(surfaces, k.gpu)
	if !ok {
		return 0, false
	}
	rate := s.FLOPs() / set.Seconds(s, float64(m.Shape.Window))
	return rate / (m.TFLOPS * 1e12), true
}

func (m *measurement) scores() surface.Scores {
	s := &m.Shape
	return surface.Scores{
		Sequences: s.Batch, Heads: s.QueryHeads, KVHeads: s.KVHeads, Queries: s.Queries, Keys: s.Keys,
		Pairs: surface.CausalPairs(s.Queries, s.Keys, float64(s.Window)), QK: float64(s.QK), V: float64(s.V),
	}
}

// attentionSet collects the attention surfaces of one GPU.
func attentionSet(surfaces []*surface.Record, gpu string) (surface.AttentionSet, bool) {
	var own []*surface.Record
	for _, r := range surfaces {
		if r.GPU == gpu && (r.Operation == surface.Attention || r.Operation == surface.MLA) {
			own = append(own, r)
		}
	}
	if len(own) == 0 {
		return surface.AttentionSet{}, false
	}
	return surface.NewAttentionSet(own[0].Roof, own), true
}

// add files a measurement under its length. factor is per FLOP; the backward
// pass has backwardFLOPs of them.
func (m byLength) add(x *measurement, factor float64) {
	length := math.Log2(x.Shape.Keys)
	if m[length] == nil {
		m[length] = new(rates)
	}
	r := m[length]
	switch x.Pass {
	case "fwd":
		r.forward = append(r.forward, factor)
	case "bwd":
		r.backward = append(r.backward, factor*backwardFLOPs)
	case "fwd+bwd":
		r.both = append(r.both, factor*(1+backwardFLOPs))
	}
}

type byLength map[float64]*rates

// assemble turns the collected factors into records. Where only the sum of
// both passes was published, it is split as the same kernel splits on another
// GPU at the nearest length.
func assemble(found map[rateKey]byLength, sources map[rateKey]map[string]bool, surfaces []*surface.Record) []*surface.KernelRates {
	var out []*surface.KernelRates
	for _, k := range slices.SortedFunc(maps.Keys(found), compareRateKeys) {
		r := &surface.KernelRates{GPU: k.gpu, Capability: capability(surfaces, k.gpu), Kernel: k.kernel, DType: k.dtype, QK: k.qk, V: k.v, Window: k.window}
		for _, length := range slices.Sorted(maps.Keys(found[k])) {
			x := found[k][length]
			forward, backward := median(x.forward), median(x.backward)
			if forward == 0 && len(x.both) > 0 {
				ratio := borrowedRatio(found, k, length)
				forward = median(x.both) / (1 + ratio)
				backward = forward * ratio
			}
			if forward == 0 || backward == 0 {
				continue
			}
			r.Lengths = append(r.Lengths, math.Round(length*100)/100)
			r.Forward = append(r.Forward, math.Round(forward*1000)/1000)
			r.Backward = append(r.Backward, math.Round(backward/forward*1000)/1000)
			r.Rows += len(x.forward) + len(x.backward) + len(x.both)
		}
		if len(r.Lengths) > 0 {
			r.Source = fmt.Sprint(slices.Sorted(maps.Keys(sources[k])))
			out = append(out, r)
		}
	}
	return out
}

// borrowedRatio is backward over forward of the same kernel on whichever
// other GPU published both, at the nearest length.
func borrowedRatio(found map[rateKey]byLength, k rateKey, length float64) float64 {
	best, ratio := math.Inf(1), backwardFLOPs
	for _, other := range slices.SortedFunc(maps.Keys(found), compareRateKeys) {
		if other.kernel != k.kernel || other.dtype != k.dtype {
			continue
		}
		for _, l := range slices.Sorted(maps.Keys(found[other])) {
			x := found[other][l]
			distance := math.Abs(l-length) + math.Abs(math.Log2(float64(other.qk)/float64(k.qk)))
			if len(x.forward) > 0 && len(x.backward) > 0 && distance < best {
				best, ratio = distance, median(x.backward)/median(x.forward)
			}
		}
	}
	return ratio
}

func compareRateKeys(a, b rateKey) int {
	return cmp.Or(cmp.Compare(a.gpu, b.gpu), cmp.Compare(a.kernel, b.kernel), cmp.Compare(a.dtype, b.dtype),
		cmp.Compare(a.qk, b.qk), cmp.Compare(a.v, b.v), cmp.Compare(a.window, b.window))
}

func capability(surfaces []*surface.Record, gpu string) string {
	for _, r := range surfaces {
		if r.GPU == gpu {
			return r.Capability
		}
	}
	return ""
}

// median of the values, 0 for none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// writeRates writes the records as JSON lines.
func writeRates(path string, records []*surface.KernelRates) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	for _, r := range records {
		if err := encoder.Encode(r); err != nil {
			return err
		}
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
