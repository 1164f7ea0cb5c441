package torchtitan

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestKills kills a run at every operation on files of its saving, where there
// is a Python: a complete checkpoint stays to resume from.
// integration/torchtitan does the same with TorchTitan itself.
func TestKills(t *testing.T) { runTemplates(t, "testdata/kills.py") }

// TestFolders reads folders of files, and one file that holds the same.
func TestFolders(t *testing.T) { runTemplates(t, "testdata/reading.py") }

// TestLoading loads what a job with other rates, decay and betas saved.
func TestLoading(t *testing.T) { runTemplates(t, "testdata/loading.py") }

// TestRecording: a checkpoint that cannot be written is told as what ended the rank.
func TestRecording(t *testing.T) { runTemplates(t, "testdata/recording.py") }

// runTemplates runs a program that tries the emitted modules, where there is a Python.
func runTemplates(t *testing.T, program string) {
	t.Helper()
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	out, err := exec.Command(python, program, "templates", t.TempDir()).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// TestDispatchVariables: the library that moves tokens is told what it cannot see.
func TestDispatchVariables(t *testing.T) {
	for _, c := range []struct {
		dispatcher      string
		nodes, nics, ep int
		want            string
	}{
		{"hybridep", 16, 4, 64, "NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN=64 NVLINK_DOMAIN_SIZE=72 USE_MNNVL=1 "},
		{"deepep", 16, 4, 64, ""},
		{"deepep", 1, 0, 4, "EP_DISABLE_GIN=1 EP_REUSE_NCCL_COMM=0 "},
		{"alltoall", 16, 4, 64, ""},
	} {
		j := testJob("0.3.0", expertModel(), 4)
		j.Cluster.Nodes, j.Cluster.NVLink.Domain, j.Cluster.Network.NICsPerNode = c.nodes, 72, c.nics
		v, _ := findVersion(j)
		b := &build{v: v, j: j, p: &plan.Plan{Layout: plan.Layout{ExpertParallel: c.ep, ExpertTensorParallel: 1}, Execution: plan.Execution{MoEDispatcher: c.dispatcher}}}
		got := ""
		for _, s := range b.environment() {
			got += s.Name + "=" + s.Value.String() + " "
		}
		if got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestAttentionKernel: what is timed is the kernel that is emitted. Latent attention is
// FlexAttention where SDPA has no kernel for its widths, and then on whole sequences alone.
func TestAttentionKernel(t *testing.T) {
	wide := latentModel()
	wide.Attention.MLA.QKNopeHeadDim, wide.Attention.MLA.QKRopeHeadDim, wide.Attention.MLA.VHeadDim = 128, 64, 128
	wider := wide
	wider.Attention.MLA = &job.MLA{QLoraRank: 24, KVLoraRank: 16, QKNopeHeadDim: 192, QKRopeHeadDim: 64, VHeadDim: 128}
	for _, c := range []struct {
		version, capability string
		model               job.Model
		masked              bool
		want                string
	}{
		{"0.3.0", "9.0", denseModel(), false, "flex"},
		{"0.2.2", "9.0", denseModel(), false, "sdpa"},
		{"0.2.2", "9.0", denseModel(), true, "flex"},
		{"0.2.2", "9.0", sinkModel(), false, "flex"},
		{"0.2.2", "8.0", latentModel(), false, "sdpa"}, // no wider than 128
		{"0.2.2", "8.0", wide, false, "flex"},
		{"0.2.2", "9.0", wide, false, "sdpa"},
		{"0.2.2", "", wide, false, "sdpa"}, // taken for Hopper
		{"0.2.2", "10.3", wide, false, "sdpa"},
		{"0.2.2", "12.0", wide, false, "flex"},
		{"0.2.2", "9.0", wider, false, "flex"},
	} {
		j := testJob(c.version, c.model, 4)
		j.Cluster.GPU.ComputeCapability, j.Training.Data.DocumentMask = c.capability, c.masked
		v, _ := findVersion(j)
		f := v.find(&j.Model)
		if got := v.runtime(f, j).Attention.Flash; got != c.want {
			t.Errorf("%s, %s on %s: timed as %s, want %s", c.version, c.model.Name, c.capability, got, c.want)
		}
		if c.want == "sdpa" { // whose FlashAttention has 16 bits
			wide := *j
			wide.Training.Precision = "fp32"
			if got := v.runtime(f, &wide).Attention.Flash; got != "memory_efficient_fp32" {
				t.Errorf("%s in fp32: timed as %s", c.version, got)
			}
			old := *j
			old.Cluster.GPU.ComputeCapability = "7.0" // FlashAttention begins with 8.0
			if got := v.runtime(f, &old).Attention.Flash; !flexes022(f, &old) && got != "memory_efficient" {
				t.Errorf("%s on 7.0: timed as %s", c.version, got)
			}
		}
		if c.version == "0.3.0" || f.module == "gpt_oss" {
			continue
		}
		fields := attention022(&build{v: v, j: j, family: f, p: &plan.Plan{}})
		if fields[0].value != c.want {
			t.Errorf("%s, %s on %s: emitted as %v, want %s", c.version, c.model.Name, c.capability, fields[0].value, c.want)
		}
		l := plan.Layout{TensorParallel: 1, ContextParallel: 2, DataParallelShard: 2, DataParallelReplicate: 1, PipelineParallel: 1, ExpertParallel: 1, ExpertTensorParallel: 1,
			VirtualPipeline: 1, MicroBatchSize: 1, MicroBatches: 4, ZeroStage: 2}
		if got := slices.Contains(broken(t, j, l, nil), ruleContextMask); got != (c.want == "flex") {
			t.Errorf("%s, %s on %s: context parallelism refused: %v", c.version, c.model.Name, c.capability, got)
		}
	}
}

// TestAttentionPackages: what each GPU has of the kernels that are the job's to
// name, which package they import, and what a search says of them unasked.
func TestAttentionPackages(t *testing.T) {
	wide := latentModel()
	wide.Attention.MLA = &job.MLA{QLoraRank: 24, KVLoraRank: 16, QKNopeHeadDim: 128, QKRopeHeadDim: 64, VHeadDim: 128}
	even := latentModel()
	even.Attention.MLA = &job.MLA{QLoraRank: 24, KVLoraRank: 16, QKNopeHeadDim: 16, QKRopeHeadDim: 8, VHeadDim: 24}
	const three, four, waits = "FlashAttention 3", "flash-attn-4", "host reads"
	for _, c := range []struct {
		capability        string
		model             job.Model
		flexFlash, varlen string // a part of why only who asks gets it; "": refused
	}{
		{"7.0", denseModel(), "", ""},
		{"8.0", denseModel(), "", waits},
		{"9.0", denseModel(), four, three},
		{"10.0", denseModel(), four, four},
		{"10.3", denseModel(), four, four},
		{"12.0", denseModel(), "", ""},
		{"9.0", sinkModel(), four, ""},
		{"8.0", wide, "", ""},
		{"9.0", wide, "", ""},
		{"10.0", wide, "", ""},
		{"10.0", latentModel(), four, ""}, // no wider than 128, and values narrower than keys
		{"10.0", even, four, four},
	} {
		j := testJob("0.3.0", c.model, 4)
		j.Cluster.GPU.ComputeCapability = c.capability
		tg, diags := Backend{}.Target(j)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		for kernel, want := range map[string]string{flexFlash: c.flexFlash, varlen: c.varlen} {
			i := slices.IndexFunc(tg.Offers, func(o target.Offer) bool { return o.Option == "attention" && slices.Contains(o.Values, kernel) })
			if (i >= 0) != (want != "") || i >= 0 && !strings.Contains(tg.Offers[i].Asked, want) {
				t.Errorf("%s on %s, %s: offered %v, want %q", c.model.Name, c.capability, kernel, i >= 0, want)
			}
			j := testJob("0.3.0", c.model, 4)
			j.Cluster.GPU.ComputeCapability, j.Execution.Attention = c.capability, job.Some(kernel)
			_, diags := Backend{}.Target(j)
			warned := slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.ID == NeedsPackage && strings.Contains(d.Detail, want) })
			if diags.HasErrors() != (want == "") || warned != (want == three || want == four) {
				t.Errorf("%s on %s, %s: %v", c.model.Name, c.capability, kernel, diags)
			}
		}
	}
	if tg, _ := (Backend{}).Target(testJob("0.2.2", denseModel(), 4)); slices.ContainsFunc(tg.Offers, func(o target.Offer) bool { return o.Option == "attention" }) {
		t.Error("0.2.2 offers a kernel")
	}
}

// TestWeightsPackage: the release that does not require what reads Hugging Face weights says so.
func TestWeightsPackage(t *testing.T) {
	for version, want := range map[string]bool{"0.2.2": true, "0.3.0": false} {
		for _, from := range []string{"scratch", "huggingface"} {
			j := testJob(version, denseModel(), 4)
			j.Model.Architecture = "llama"
			j.Training.Start.From, j.Training.Start.Path, j.Training.Checkpoint.Path, j.Training.Checkpoint.SaveOptimizer = from, "/weights", "/checkpoints", true
			_, diags := Backend{}.Target(j)
			got := slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.ID == NeedsPackage && strings.Contains(d.Detail, "safetensors") })
			if got != (want && from == "huggingface") {
				t.Errorf("%s from %s: %v", version, from, diags)
			}
		}
	}
}

// TestWeightsOfExperts: the adapters of gpt_oss leave experts random (0.3.0), or read those
// in MXFP4 alone (0.2.2).
func TestWeightsOfExperts(t *testing.T) {
	for _, c := range []struct {
		version, from, argument string
		want                    bool
	}{
		{"0.2.2", "huggingface", "", true},
		{"0.2.2", "huggingface", "--checkpoint.initial_load_in_hf_quantized=true", false},
		{"0.2.2", "scratch", "", false},
		{"0.3.0", "huggingface", "", true},
		{"0.3.0", "huggingface", "--checkpoint.initial_load_in_hf_quantized=true", true},
		{"0.3.0", "checkpoint", "", false},
	} {
		j := testJob(c.version, sinkModel(), 4)
		j.Training.Start.From, j.Training.Start.Path, j.Training.Checkpoint.Path, j.Training.Checkpoint.SaveOptimizer = c.from, "/weights", "/checkpoints", true
		if c.argument != "" {
			j.Backend.ExtraArgs = []string{c.argument}
		}
		_, diags := Backend{}.Target(j)
		got := slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.ID == UnsupportedCheckpoint })
		if got != c.want {
			t.Errorf("%s from %s with %q: %v", c.version, c.from, c.argument, diags)
		}
	}
}

// TestAttentionRules: which kernels take a mask that context parallelism cuts, and
// documents under CUDA graphs.
func TestAttentionRules(t *testing.T) {
	for _, c := range []struct {
		capability, kernel string
		context, masked    bool
	}{
		{"9.0", "flash", false, false},
		{"10.0", "flash", false, false},
		{"9.0", flexFlash, false, false},
		{"10.0", flexFlash, true, false},
		{"9.0", varlen, true, true},
		{"10.0", varlen, true, true},
	} {
		for _, masked := range []bool{false, true} {
			j := testJob("0.3.0", denseModel(), 4)
			j.Cluster.GPU.ComputeCapability, j.Execution.Attention, j.Execution.CUDAGraphs = c.capability, job.Some(c.kernel), job.Some("full")
			j.Training.Data.DocumentMask, j.Training.Data.ResetPositionIDs = masked, masked
			got := broken(t, j, layoutOf(func(l *plan.Layout) { l.ContextParallel, l.DataParallelShard = 2, 2 }), nil)
			if slices.Contains(got, ruleContextAttention) != c.context || slices.Contains(got, ruleGraphsAttention) != (c.masked && masked) {
				t.Errorf("%s on %s, document masks %v: %v", c.kernel, c.capability, masked, got)
			}
		}
	}
}
