package job

import (
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/units"
)

// TestSources: what was not written is placed at the nearest block around it.
func TestSources(t *testing.T) {
	at := func(line int) Source {
		return Source{Origin: FromSpec, Range: diag.Range{Filename: "f", Start: diag.Position{Line: line}}}
	}
	s := Sources{
		"": at(1), "training": at(2), "training.data": at(3), `training.data.source["code"]`: at(4),
		"slurm.container.mounts": at(5), "slurm.container.mounts[0]": at(6), "model.layers": {Origin: FromDefault},
	}
	for _, c := range []struct {
		path string
		line int
	}{
		{"training", 2}, {"training.seed", 2}, {"training.data.format", 3}, {`training.data.source["code"].path`, 4},
		{`training.data.source["web"].path`, 3}, {"slurm.container.mounts[0]", 6}, {"slurm.container.mounts[7]", 5}, {"execution.compile", 1}, {"model.layers", 1}, {"", 1},
		{`slurm.environment["A.B[x]"]`, 1},
	} {
		if got := s.Range(c.path).Start.Line; got != c.line {
			t.Errorf("%s is at line %d, want %d", c.path, got, c.line)
		}
	}
	if !s.IsSet("training.data") || s.IsSet("training.seed") || s.IsSet("model.layers") {
		t.Error("only what was written is set")
	}
}

// TestPeak: fp32 computes its products in TensorFloat-32 where the GPU has it.
func TestPeak(t *testing.T) {
	p := PeakFLOPS{FP32: 1, TF32: 2, BF16: 3, FP16: 4, FP8: 5, FP4: 6}
	for precision, want := range map[string]units.FLOPsPerSecond{"fp32": 2, "bf16": 3, "fp16": 4, "fp8": 5, "mxfp8": 5, "nvfp4": 6} {
		if got := p.For(precision); got != want {
			t.Errorf("the peak of %s is %v, want %v", precision, got, want)
		}
	}
	if p.TF32 = 0; p.For("fp32") != 1 {
		t.Errorf("without TensorFloat-32, the peak of fp32 is %v, want 1", p.For("fp32"))
	}
}

// TestCapability: a GPU that does not say which it is, is taken for Hopper.
func TestCapability(t *testing.T) {
	for stated, want := range map[string]float64{"": 9, "7.0": 7, "10.3": 10.3} {
		if got := (&GPU{ComputeCapability: stated}).Capability(); got != want {
			t.Errorf("compute_capability %q is %v, want %v", stated, got, want)
		}
	}
}

// TestIntChoice: a choice allows its values, those in its range, or all when nobody chose.
func TestIntChoice(t *testing.T) {
	for _, c := range []struct {
		name         string
		choice       IntChoice
		free, pinned bool
		allowed      []int
		refused      []int
	}{
		{"free", IntChoice{}, true, false, []int{0, 1, 99}, nil},
		{"value", IntChoice{Values: []int{2}}, false, true, []int{2}, []int{1, 3}},
		{"list", IntChoice{Values: []int{2, 4}}, false, false, []int{2, 4}, []int{3}},
		{"range", IntChoice{Ranged: true, Min: 2, Max: 4}, false, false, []int{2, 3, 4}, []int{1, 5}},
		{"open range", IntChoice{Ranged: true, Min: 2}, false, false, []int{2, 1000}, []int{1}},
		{"range of one", IntChoice{Ranged: true, Min: 3, Max: 3}, false, true, []int{3}, []int{2, 4}},
	} {
		if c.choice.Free() != c.free || c.choice.Pinned() != c.pinned {
			t.Errorf("%s: free %v, pinned %v", c.name, c.choice.Free(), c.choice.Pinned())
		}
		for _, v := range c.allowed {
			if !c.choice.Allows(v) {
				t.Errorf("%s refuses %d", c.name, v)
			}
		}
		for _, v := range c.refused {
			if c.choice.Allows(v) {
				t.Errorf("%s allows %d", c.name, v)
			}
		}
	}
}

// TestIsMoELayer: which layers are mixtures follows from the first dense ones and the frequency.
func TestIsMoELayer(t *testing.T) {
	for _, c := range []struct {
		name string
		moe  *MoE
		want string // one letter per layer: m is a mixture of experts
	}{
		{"dense", nil, "dddddd"},
		{"all", &MoE{}, "mmmmmm"},
		{"DeepSeek-V3's three dense layers", &MoE{FirstDenseLayers: 3, LayerFrequency: 1}, "dddmmm"},
		{"every second", &MoE{LayerFrequency: 2}, "dmdmdm"},
		{"every second after one", &MoE{FirstDenseLayers: 1, LayerFrequency: 2}, "ddmdmd"},
	} {
		m := Model{Layers: 6, MoE: c.moe}
		got := ""
		for i := range m.Layers {
			if m.IsMoELayer(i) {
				got += "m"
			} else {
				got += "d"
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestOptional: what is set is preferred, and what is excluded is not allowed.
func TestOptional(t *testing.T) {
	if Some(3).Or(4) != 3 || (Optional[int]{}).Or(4) != 4 {
		t.Error("Or must prefer what is set")
	}
	if c := (StringChoice{"a", NoValue}); !c.Allows(NoValue) || (StringChoice{"a"}).Allows(NoValue) || len(c.Names()) != 1 {
		t.Error("an exclusion")
	}
	if (StringChoice)(nil).Allows("x") != true || (StringChoice{"a"}).Allows("x") || !(StringChoice{"a"}).Allows("a") {
		t.Error("StringChoice")
	}
	m := Model{Activation: Activation{Kind: "geglu"}}
	if !m.GatedActivation() || (&Model{Activation: Activation{Kind: "gelu"}}).GatedActivation() {
		t.Error("GatedActivation")
	}
}

// TestGeneration: whatever a GPU says of its generation is read without an allocation, since
// every layout asks.
func TestGeneration(t *testing.T) {
	for stated, want := range map[string]int{"": 9, "7.0": 7, "8.9": 8, "10.3": 10, "12": 12} {
		gpu := &GPU{ComputeCapability: stated}
		if got := gpu.Generation(); got != want {
			t.Errorf("the generation of %q is %d, want %d", stated, got, want)
		}
		if n := testing.AllocsPerRun(10, func() { gpu.Generation() }); n > 0 {
			t.Errorf("the generation of %q takes %v allocations", stated, n)
		}
	}
}

// TestShares: what a split leaves out is 0, and what is no split has no shares.
func TestShares(t *testing.T) {
	for text, want := range map[string][3]float64{"949,50,1": {949, 50, 1}, "1": {1}, " 0.9 , 0.1": {0.9, 0.1}, "0,0,0": {}} {
		if got, ok := Shares(text); !ok || got != want {
			t.Errorf("%q: %v %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "99:1", "-1,2", "1,2,3,4", "1,,2", "1e2,1", strings.Repeat("9", 400)} {
		if got, ok := Shares(text); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestMoments: what an optimizer keeps of a parameter, of a matrix and of any other.
func TestMoments(t *testing.T) {
	for _, c := range []struct {
		kind          string
		momentum      float64
		matrix, other int
	}{
		{"adamw", 0, 2, 2}, {"adam", 0, 2, 2}, {"muon", 0.95, 1, 2}, {"sgd", 0.9, 1, 1}, {"sgd", 0, 0, 0},
	} {
		o := Optimizer{Kind: c.kind, Momentum: c.momentum}
		if o.Moments(true) != c.matrix || o.Moments(false) != c.other {
			t.Errorf("%s with momentum %v keeps %d and %d, want %d and %d", c.kind, c.momentum, o.Moments(true), o.Moments(false), c.matrix, c.other)
		}
	}
}
