package compute

import (
	"bufio"
	"math"
	"os"
	"testing"

	"github.com/ndc-dev/ndc/compiler/compute/surface"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	_ "github.com/ndc-dev/ndc/tools/draws"
	"pgregory.net/rapid"
)

// gpu builds a GPU from datasheet figures in TFLOPS and TB/s.
func gpu(name, capability string, sms int, bandwidth float64, tflops ...float64) *job.GPU {
	g := &job.GPU{Name: name, Catalog: name, ComputeCapability: capability, SMs: sms, MemoryBandwidth: units.BytesPerSecond(bandwidth * 1e12)}
	for i, p := range []*units.FLOPsPerSecond{&g.PeakFLOPS.FP32, &g.PeakFLOPS.FP16, &g.PeakFLOPS.BF16, &g.PeakFLOPS.FP8, &g.PeakFLOPS.FP4} {
		if i < len(tflops) {
			*p = units.FLOPsPerSecond(tflops[i] * 1e12)
		}
	}
	return g
}

var (
	v100 = gpu("v100_32gb", "7.0", 80, 0.9, 15.7, 125)
	a100 = gpu("a100_80gb", "8.0", 108, 2.039, 19.5, 312, 312)
	a40g = gpu("a100_40gb", "8.0", 108, 1.555, 19.5, 312, 312)
	h100 = gpu("h100_sxm", "9.0", 132, 3.35, 67, 989, 989, 1979)
	h200 = gpu("h200", "9.0", 132, 4.8, 67, 989, 989, 1979)
	h800 = gpu("h800", "9.0", 132, 3.35, 67, 989, 989, 1979)
	b200 = gpu("b200", "10.0", 148, 7.7, 75, 2250, 2250, 4500, 9000)
	b300 = gpu("b300", "10.3", 148, 7.7, 75, 2250, 2250, 4500, 14000)
	all  = []*job.GPU{v100, a100, a40g, h100, h200, h800, b200, b300}
)

func tflops(s units.Seconds, m, n, k float64) float64 { return 2 * m * n * k / float64(s) / 1e12 }

// TestGEMMAnchors holds the surfaces to kernels of their own tables (8192
// cubed, and 4096 × 1024 × 8192), and under the best matmul that anyone found
// on the GPU (stas00/ml-engineering, MAMF).
func TestGEMMAnchors(t *testing.T) {
	for _, c := range []struct {
		gpu            *job.GPU
		dtype          DType
		cube, flat     float64
		best, slackPct float64
	}{
		{a100, BF16, 263, 214, 271, 6},
		{h100, BF16, 783, 802, 794.5, 6},
		{h200, BF16, 806, 803, 0, 6},
		{b200, BF16, 1492, 1439, 1745, 10},
		{b300, BF16, 1598, 1365, 1769, 12},
		{h100, FP8Block, 1117, 0, 1403, 6},
		{b200, FP8Block, 2673, 0, 3433, 8},
		{b200, NVFP4, 3864, 0, 0, 8},
	} {
		d := NewDevice(c.gpu)
		cube := tflops(d.GEMM(c.dtype, 8192, 8192, 8192), 8192, 8192, 8192)
		if math.Abs(cube/c.cube-1) > c.slackPct/100 {
			t.Errorf("%s %s 8192³: %.0f TFLOPS, measured %.0f", c.gpu.Name, c.dtype, cube, c.cube)
		}
		if flat := tflops(d.GEMM(c.dtype, 4096, 1024, 8192), 4096, 1024, 8192); c.flat > 0 && math.Abs(flat/c.flat-1) > 0.15 {
			t.Errorf("%s %s 4096×1024×8192: %.0f TFLOPS, measured %.0f", c.gpu.Name, c.dtype, flat, c.flat)
		}
		if c.best > 0 && cube > c.best {
			t.Errorf("%s %s 8192³: %.0f TFLOPS, more than the best ever found, %.0f", c.gpu.Name, c.dtype, cube, c.best)
		}
	}
}

// TestAttentionAnchors holds kernels to their publications (8k, head 128,
// causal, GQA 64:8; docs/time-kernels.md), TFLOPS forward and backward.
func TestAttentionAnchors(t *testing.T) {
	for _, c := range []struct {
		gpu               *job.GPU
		kernel            AttentionKernel
		forward, backward float64
	}{
		{h100, FlashAttention2, 351, 301}, {h100, Flash, 658, 517}, {h100, Fused, 537, 426}, {h100, SDPA, 590, 459},
		{h200, Fused, 644, 541}, {b200, Flash, 1377, 937}, {b200, SDPA, 1337, 893},
		{h100, Flex, 351 / 0.93, 301 / 0.8}, {b200, Flex, 1377 / 2.26, 937 / 2.06},
		{h100, FlexFlash, 351 / 0.93 * 1.2, 301 / 0.8 * 1.2}, {b200, FlexFlash, 1377, 937},
		{h100, Varlen, 658 / 1.02, 517 / 1.04}, {b200, Varlen, 1377 / 1.02, 937 / 1.04},
	} {
		a := Attention{Kernel: c.kernel, Batch: 1, Heads: 64, KVHeads: 8, Queries: 8192, Keys: 8192, HeadDim: 128, Causal: true}
		f, b := NewDevice(c.gpu).Attention(&a)
		forward, backward := a.scores().FLOPs()/float64(f)/1e12, 2.5*a.scores().FLOPs()/float64(b)/1e12
		if math.Abs(forward/c.forward-1) > 0.08 || math.Abs(backward/c.backward-1) > 0.08 {
			t.Errorf("%s %s: %.0f / %.0f TFLOPS, published %.0f / %.0f", c.gpu.Name, c.kernel, forward, backward, c.forward, c.backward)
		}
	}
}

// TestVarlenBeforeHopper: without a newer FlashAttention it is the second.
func TestVarlenBeforeHopper(t *testing.T) {
	a := Attention{Kernel: FlashAttention2, Batch: 1, Heads: 64, KVHeads: 8, Queries: 8192, Keys: 8192, HeadDim: 128, Causal: true}
	f, b := NewDevice(a100).Attention(&a)
	a.Kernel = Varlen
	forward, backward := NewDevice(a100).Attention(&a)
	if x, y := float64(forward/f), float64(backward/b); math.Abs(x-1.02) > 1e-9 || math.Abs(y-1.04) > 1e-9 {
		t.Errorf("%.3f and %.3f of FlashAttention 2's time, want 1.02 and 1.04", x, y)
	}
}

// TestMemoryEfficient: what a V100 has in FlashAttention's place takes twice as long as
// that would, and less than products and softmax on their own.
func TestMemoryEfficient(t *testing.T) {
	g := &job.GPU{Name: "v100_32gb", ComputeCapability: "7.0", MemoryBandwidth: 900e9, PeakFLOPS: job.PeakFLOPS{FP16: 125e12, FP32: 15.7e12}}
	total := func(k AttentionKernel) float64 {
		f, b := NewDevice(g).Attention(&Attention{Kernel: k, DType: FP16, Batch: 1, Heads: 32, KVHeads: 32, Queries: 4096, Keys: 4096, HeadDim: 128, Causal: true})
		return float64(f + b)
	}
	if over := total(MemoryEfficient) / total(FlashAttention2); math.Abs(over-2.1) > 1e-9 || math.Abs(over-NewDevice(g).Over(MemoryEfficient, FlashAttention2)) > 1e-9 || total(MemoryEfficient) > total(Unfused) {
		t.Errorf("%.3f times as long as FlashAttention 2; %.4g s, unfused %.4g s", over, total(MemoryEfficient), total(Unfused))
	}
}

// TestAttentionInFP32: what SDPA has in fp32 takes four times as long as in 16 bits, on
// every GPU.
func TestAttentionInFP32(t *testing.T) {
	for _, g := range []*job.GPU{a100, h100} {
		total := func(k AttentionKernel, dtype DType) float64 {
			f, b := NewDevice(g).Attention(&Attention{Kernel: k, DType: dtype, Batch: 1, Heads: 32, KVHeads: 32, Queries: 4096, Keys: 4096, HeadDim: 128, Causal: true})
			return float64(f + b)
		}
		if over := total(MemoryEfficientFP32, TF32) / total(MemoryEfficient, BF16); over < 3.8 || over > 4.2 {
			t.Errorf("%s: %.3f times as long as in 16 bits", g.Name, over)
		}
	}
}

// TestNarrowBatches: what is as narrow as a head goes by the operands of its tiles, of
// 128 rows and whole multiples of 64 columns, and never takes longer than what is wider.
func TestNarrowBatches(t *testing.T) {
	d := NewDevice(a100)
	batch := Groups{Count: 256, Rows: 2048}
	wide := d.batched(FP16, batch, 256, 2048)
	for n, share := range map[int]float64{64: 192. / 384, 96: 256. / 384, 128: 256. / 384, 192: 320. / 384, 256: 1} {
		if got := float64(d.batched(FP16, batch, n, 2048) / wide); math.Abs(got-share) > 1e-9 {
			t.Errorf("%d columns take %.4f of the time of 256, want %.4f", n, got, share)
		}
	}
}

// TestUnfused meets eager attention on A100 (FlashAttention 2 figure:
// head 128, causal, forward and backward together 32 TFLOPS at 4k).
func TestUnfused(t *testing.T) {
	a := Attention{Kernel: Unfused, Batch: 4, Heads: 16, KVHeads: 16, Queries: 4096, Keys: 4096, HeadDim: 128, Causal: true}
	f, b := NewDevice(a100).Attention(&a)
	got := 3.5 * a.scores().FLOPs() / float64(f+b) / 1e12
	if got < 32 || got > 110 { // a fused softmax passes fewer times over the scores than eager operators
		t.Errorf("unfused attention: %.0f TFLOPS", got)
	}
	flash := a
	flash.Kernel = Flash
	if ff, fb := NewDevice(a100).Attention(&flash); ff+fb > (f+b)/2 {
		t.Errorf("flash %v, unfused %v", ff+fb, f+b)
	}
}

// TestRelatives: a GPU that was not measured takes the kernels of its nearest relative.
func TestRelatives(t *testing.T) {
	for _, c := range []struct {
		gpu  *job.GPU
		want string
	}{
		{v100, "a100_80gb"}, {a40g, "a100_80gb"}, {a100, "a100_80gb"}, {h800, "h100_sxm"}, {b200, "b200"},
		{gpu("gh200", "9.0", 132, 4.9, 67, 990, 990, 1979), "h200"},
		{gpu("mine", "", 0, 3.3, 60, 950, 950), "h100_sxm"},
	} {
		d := NewDevice(c.gpu)
		if d.Relative() != c.want || d.Extrapolated() != (c.gpu.Catalog != c.want) {
			t.Errorf("%s: relative %s, extrapolated %v", c.gpu.Name, d.Relative(), d.Extrapolated())
		}
	}
	own := *a100
	own.Catalog = "" // a user's own GPU under the name that tools/fit wrote
	if d := NewDevice(&own); d.Extrapolated() || d.Relative() != "a100_80gb" {
		t.Errorf("own GPU: relative %s, extrapolated %v", d.Relative(), d.Extrapolated())
	}
	// V100 in fp16 at A100's efficiency: under its peak and over half of it.
	if got := tflops(NewDevice(v100).GEMM(FP16, 8192, 8192, 8192), 8192, 8192, 8192); got < 62 || got > 125 {
		t.Errorf("V100 fp16: %.0f TFLOPS", got)
	}
}

// TestFasterMemory: memory of more bandwidth makes no multiplication longer, whose kernels are lent
// by the same generation of GPUs.
func TestFasterMemory(t *testing.T) {
	for _, c := range []struct {
		capability string
		peak       float64
	}{{"", 1307}, {"", 400}, {"9.0", 989}, {"9.0", 1400}, {"10.0", 2400}, {"8.0", 312}} {
		before, by := math.Inf(1), ""
		for bandwidth := 1.0; bandwidth < 10; bandwidth += 0.25 {
			d := NewDevice(gpu("mine", c.capability, 0, bandwidth, 60, c.peak, c.peak))
			var took float64
			for _, m := range []int{128, 1024, 8192} {
				took += float64(d.GEMM(BF16, m, 8192, 4096))
			}
			if took > before*1.005 {
				t.Errorf("capability %q, %.0f TFLOPS: %.1f us at %.2f TB/s by kernels of %s, %.1f us before by those of %s",
					c.capability, c.peak, 1e6*took, bandwidth, d.Relative(), 1e6*before, by)
			}
			before, by = took, d.Relative()
		}
	}
}

// TestProperties: more work takes longer, nothing beats the peak or the
// memory, the backward pass costs more than the forward.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := rapid.SampledFrom(all).Draw(t, "gpu")
		d := NewDevice(g)
		dtype := DType(rapid.IntRange(0, int(dtypeCount)-1).Draw(t, "dtype"))
		m := rapid.IntRange(1, 1<<17).Draw(t, "m")
		n := rapid.IntRange(1, 1<<17).Draw(t, "n")
		k := rapid.IntRange(1, 1<<16).Draw(t, "k")
		s := float64(d.GEMM(dtype, m, n, k))
		if floor := 2 * float64(m) * float64(n) * float64(k) / float64(d.Peak(dtype)); !(s > floor*0.9) || math.IsInf(s, 0) {
			t.Fatalf("%d×%d×%d in %v: %v s, peak allows %v", m, n, k, dtype, s, floor)
		}
		if twice := float64(d.GEMM(dtype, 2*m, n, k)); twice < 0.93*s-3e-6 {
			t.Fatalf("%d×%d×%d in %v: %v s, twice the rows %v", m, n, k, dtype, s, twice)
		}
		e := Groups{Count: rapid.IntRange(1, 64).Draw(t, "groups"), Rows: m%4096 + 1}
		experts, whole := d.GroupedLinear(dtype, e, n, k), d.Linear(dtype, e.Count*e.Rows, n, k)
		if experts.Forward < whole.Forward || experts.InputGradient < whole.InputGradient || experts.WeightGradient < whole.WeightGradient {
			t.Fatalf("%v groups faster than one: %v, %v", e, experts, whole)
		}
		one := d.GroupedLinear(dtype, Groups{Count: 1, Rows: m}, n, k)
		if whole := d.Linear(dtype, m, n, k); math.Abs(float64(one.Backward()/whole.Backward())-1) > 1e-9 {
			t.Fatalf("one group of %d rows takes %v, one product %v", m, one, whole)
		}
		p := d.Linear(dtype, m, n, k)
		if n >= k && p.Backward() < p.Forward { // with more outputs than inputs, gradients cost more to quantise, too
			t.Fatalf("backward %v, forward %v", p.Backward(), p.Forward)
		}
	})
}

// TestDropout: fused kernels on GB200 keep 75 to 85 % of their forward and 60 to
// 70 % of their backward rate (Dao-AILab/flash-attention pull request 2597); the
// unfused kernel writes and reads masks.
func TestDropout(t *testing.T) {
	for _, k := range []AttentionKernel{Flash, Fused, SDPA, Unfused} {
		a := Attention{Kernel: k, Batch: 4, Heads: 16, KVHeads: 16, Queries: 8192, Keys: 8192, HeadDim: 128, Causal: true}
		f, b := NewDevice(b200).Attention(&a)
		a.Dropout = true
		df, db := NewDevice(b200).Attention(&a)
		forward, backward := f/df, b/db
		if k == Unfused {
			if forward >= 1 || backward >= 1 {
				t.Errorf("%s: %.2f and %.2f of the rates are kept", k, forward, backward)
			}
			continue
		}
		if forward < 0.75 || forward > 0.85 || backward < 0.6 || backward > 0.7 {
			t.Errorf("%s: %.2f and %.2f of the rates are kept", k, forward, backward)
		}
	}
}

// TestAttentionProperties: a backward pass takes longer than its forward pass. Twice the batch takes no
// less, and all keys no less than a window, but for what interpolation errs.
func TestAttentionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := NewDevice(rapid.SampledFrom(all).Draw(t, "gpu"))
		a := Attention{
			Kernel: AttentionKernel(rapid.IntRange(0, int(kernelCount)-1).Draw(t, "kernel")),
			DType:  rapid.SampledFrom([]DType{BF16, FP8, MXFP8}).Draw(t, "dtype"),
			Batch:  rapid.IntRange(1, 8).Draw(t, "batch"), KVHeads: 1 << rapid.IntRange(0, 3).Draw(t, "log2 kv heads"),
			Keys: 1 << rapid.IntRange(8, 17).Draw(t, "log2 keys"), HeadDim: 16 * rapid.IntRange(2, 16).Draw(t, "head dim / 16"),
			Causal: rapid.Bool().Draw(t, "causal"), Dropout: rapid.Bool().Draw(t, "dropout"), Window: rapid.SampledFrom([]int{0, 128, 1024, 4096}).Draw(t, "window"),
		}
		a.Heads = a.KVHeads << rapid.IntRange(0, 3).Draw(t, "log2 group")
		a.Queries = a.Keys >> rapid.IntRange(0, 3).Draw(t, "log2 context parallel")
		f, b := d.Attention(&a)
		if !(f > 0) || !(b > f) || math.IsInf(float64(b), 0) {
			t.Fatalf("%+v: forward %v, backward %v", a, f, b)
		}
		twice := a
		twice.Batch *= 2
		if f2, _ := d.Attention(&twice); f2 < 0.93*f-5e-6 {
			t.Fatalf("%+v: forward %v, twice the batch %v", a, f, f2)
		}
		full := a
		full.Window = 0
		if ff, _ := d.Attention(&full); a.Causal && ff < f*0.9-5e-6 {
			t.Fatalf("%+v: window %v, all keys %v", a, f, ff)
		}
	})
}

// TestCausalPairs counts by hand.
func TestCausalPairs(t *testing.T) {
	for _, c := range []struct{ queries, keys, window int }{{5, 5, 0}, {5, 5, 2}, {3, 7, 0}, {3, 7, 4}, {8, 8, 8}, {4, 8, 6}, {1, 9, 3}, {6, 6, 100}} {
		want := 0
		for q := range c.queries {
			position := c.keys - c.queries + q
			for k := range c.keys {
				if k <= position && (c.window == 0 || position-k < c.window) {
					want++
				}
			}
		}
		if got := surface.CausalPairs(float64(c.queries), float64(c.keys), float64(c.window)); got != float64(want) {
			t.Errorf("%+v: %v pairs, want %d", c, got, want)
		}
	}
}

// TestLeftOut holds the surfaces to what they promise about shapes that were
// left out of the fit, and to their size.
func TestLeftOut(t *testing.T) {
	f, err := os.Open("data/surfaces.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, rows := 0, 0
	for s := bufio.NewScanner(f); s.Scan(); {
		r, err := surface.Parse(s.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		size += len(s.Bytes())
		rows += r.Rows
		if r.LeftOut.Median > 0.05 || r.LeftOut.P90 > 0.15 || r.LeftOut.Count != r.Rows {
			t.Errorf("%s %s %s: left-out error %+v of %d rows", r.GPU, r.Operation, r.DType, r.LeftOut, r.Rows)
		}
	}
	if size > 1_500_000 || rows < 100_000 {
		t.Errorf("%d bytes, %d rows", size, rows)
	}
}

// BenchmarkGEMM: one lookup of the surface of a matrix product; it allocates nothing.
func BenchmarkGEMM(b *testing.B) {
	d := NewDevice(h100)
	b.ReportAllocs()
	for b.Loop() {
		sink = d.GEMM(BF16, 8192, 14336, 4096)
	}
}

// BenchmarkGroupedLinear: the products of the experts of one rank.
func BenchmarkGroupedLinear(b *testing.B) {
	d := NewDevice(h100)
	b.ReportAllocs()
	for b.Loop() {
		sink = d.GroupedLinear(BF16, Groups{Count: 8, Rows: 2048}, 4096, 7168).Forward
	}
}

// BenchmarkAttention: one causal attention of 8,192 tokens, forward and backward.
func BenchmarkAttention(b *testing.B) {
	d := NewDevice(h100)
	a := Attention{Kernel: Flash, Batch: 1, Heads: 32, KVHeads: 8, Queries: 8192, Keys: 8192, HeadDim: 128, Causal: true}
	b.ReportAllocs()
	for b.Loop() {
		sink, _ = d.Attention(&a)
	}
}

// BenchmarkNewDevice: a device with its surfaces, which a job makes once.
func BenchmarkNewDevice(b *testing.B) {
	for b.Loop() {
		NewDevice(h100)
	}
}

var sink units.Seconds

// TestQuantiseWeights: 7 bytes of traffic for each weight in either pass that reads it
// in fp8, 6 in mxfp8, none in bf16; docs/time.md works the first with 2.4 TB/s.
func TestQuantiseWeights(t *testing.T) {
	d := NewDevice(gpu("h100_96gb_500w", "9.0", 132, 2.4, 67, 989, 989, 1979))
	p := d.QuantiseWeights(FP8, 6_980_000, 1000)
	if both := p.Forward + p.InputGradient; math.Abs(float64(both)-0.0407) > 1e-4 || p.Forward != p.InputGradient || p.WeightGradient != 0 {
		t.Errorf("%v", p)
	}
	if p := NewDevice(b200).QuantiseWeights(MXFP8, 1_000_000, 1000); math.Abs(float64(p.Forward)-6e9/7.7e12) > 1e-9 {
		t.Errorf("%v", p)
	}
	if p := d.QuantiseWeights(BF16, 4096, 4096); p != (Passes{}) {
		t.Errorf("%v in bf16", p)
	}
}
