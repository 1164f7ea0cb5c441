package lang

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	_ "github.com/ndc-dev/ndc/tools/seldom"
)

// files makes a file system of NAME, CONTENT pairs.
func files(pairs ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fsys[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return fsys
}

// mustLoad loads and demands that nothing is reported.
func mustLoad(t *testing.T, fsys fstest.MapFS, name string, o Options) []job.Job {
	t.Helper()
	w, diags := Load(fsys, name, o)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	return w.Jobs
}

// minimal is a job of a few lines; %TOP%, %JOB% and %TRAINING% are filled in.
func minimal(top, inJob, inTraining string) string {
	return strings.NewReplacer("%TOP%", top, "%JOB%", inJob, "%TRAINING%", inTraining).Replace(`
%TOP%
job "j" {
  model   = catalog.model.debug
  cluster = catalog.cluster.single_gpu
  training {
    global_batch_size = 8
    %TRAINING%
    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
  %JOB%
}
`)
}

// TestMainExample: the main example resolves to a job for each of its backends, without a warning.
func TestMainExample(t *testing.T) {
	w, diags := Load(os.DirFS("../examples/llama3-70b"), "job.hcl", Options{NDCVersion: "0.0.0-dev"})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	var backends []string
	for _, j := range w.Jobs {
		backends = append(backends, j.Backend.Kind+" "+j.Backend.Version+" "+j.Slurm.Container.Image+" "+j.Training.Checkpoint.Path)
	}
	want := []string{
		"megatron core_v0.18.2 /images/megatron-core-0.18.sqsh /checkpoints/llama3-70b/megatron",
		"torchtitan 0.3.0 /images/torchtitan-0.3.sqsh /checkpoints/llama3-70b/torchtitan",
		"deepspeed 0.19.8 /images/deepspeed-0.19.sqsh /checkpoints/llama3-70b/deepspeed",
	}
	if d := cmp.Diff(want, backends); d != "" {
		t.Error(d)
	}
	j := &w.Jobs[0]
	if j.Name != "llama3-70b" || j.Model.Name != "llama3_70b_8k" || j.Model.Catalog != "llama3_70b" || j.Model.Layers != 80 || j.Cluster.GPUs() != 256 {
		t.Errorf("unexpected job: %s %+v %d", j.Name, j.Model, j.Cluster.GPUs())
	}
	// 2e12 tokens / (1024 × 8192 tokens per step) = 238418.6 steps.
	if j.Training.Steps != 238419 || j.Training.Tokens != 2e12 {
		t.Errorf("steps, tokens = %d, %d", j.Training.Steps, j.Training.Tokens)
	}
	if len(w.Files["job.hcl"]) == 0 {
		t.Error("the file is not kept for snippets")
	}
}

// TestEverything loads the file that writes out a cluster, a GPU and a model.
func TestEverything(t *testing.T) {
	src, err := os.ReadFile("testdata/written_out.hcl")
	if err != nil {
		t.Fatal(err)
	}
	j := mustLoad(t, files("job.hcl", string(src)), "job.hcl", Options{})[0]
	want := job.Cluster{
		Name: "rack", Nodes: 16, GPUsPerNode: 8, HostMemory: units.TiB,
		GPU: job.GPU{
			Name: "h100_pcie", Memory: 85469849190, MemoryBandwidth: 2e12,
			PeakFLOPS: job.PeakFLOPS{BF16: 756e12, FP16: 756e12, FP8: 1513e12, FP32: 51e12},
		},
		NVLink: job.NVLink{Domain: 2, Bandwidth: 300e9, Latency: 2e-6},
		PCIe:   job.Link{Bandwidth: 64e9, Latency: 5e-6},
		Network: job.Network{
			Kind: "infiniband", NICsPerNode: 4, Bandwidth: 50e9, Latency: 5e-6, Rails: 4, GPUsPerPod: 128, Oversubscription: 2,
			Environment: []job.Variable{{Name: "NCCL_IB_HCA", Value: "mlx5_0,mlx5_1,mlx5_2,mlx5_3"}},
		},
	}
	if d := cmp.Diff(want, j.Cluster); d != "" {
		t.Error(d)
	}
	if j.Model.MoE.Experts != 8 || j.Model.MoE.Router.AuxCoefficient != 0.02 || j.Model.PositionEmbedding.Theta != 1e6 || j.Model.Catalog != "" {
		t.Errorf("unexpected model: %+v", j.Model)
	}
}

// TestFormat: examples and catalogue are formatted, and formatting them again changes nothing.
func TestFormat(t *testing.T) {
	paths, _ := filepath.Glob("../examples/*/*.hcl")
	entries, _ := filepath.Glob("catalog/*/*.hcl")
	for _, path := range append(paths, entries...) {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, diags := Format(src, path)
		if len(diags) > 0 {
			t.Error(diags)
		}
		if d := cmp.Diff(string(src), string(got)); d != "" {
			t.Errorf("%s is not formatted:\n%s", path, d)
		}
	}
	got, _ := Format([]byte("a  =1\nbcd = [1,2]\n"), "x.hcl")
	if want := "a   = 1\nbcd = [1, 2]\n"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	broken := []byte("a = = 1\n")
	if got, diags := Format(broken, "x.hcl"); string(got) != string(broken) || !diags.HasErrors() {
		t.Errorf("a broken file came back as %q with %v", got, diags)
	}
}

// TestFolder: the files of a folder are one program.
func TestFolder(t *testing.T) {
	fsys := files(
		"jobs/a.hcl", minimal(`variable "n" {
  type    = number
  default = 1
}`, "", "steps = var.n * local.more"),
		"jobs/b.hcl", "locals {\n  more = 10\n}\n",
		"jobs/x.auto.ndcvars", "n = 2\n",
		"jobs/y.auto.ndcvars", "n = 3\n",
		"jobs/z.ndcvars", "n = 4\n",
		"jobs/notes.txt", "not HCL {",
		"jobs/deep/c.hcl", "not HCL {",
	)
	if j := mustLoad(t, fsys, "jobs", Options{})[0]; j.Training.Steps != 30 {
		t.Errorf("steps = %d, want 30: the last *.auto.ndcvars file wins", j.Training.Steps)
	}
	if _, diags := Load(fsys, "jobs/a.hcl", Options{}); len(diags) != 1 || diags[0].ID != UnknownReference {
		t.Errorf("a file is loaded alone, so local.more is unknown; got %v", diags)
	} else if want := `There is no local "more". b.hcl beside this file has it, and the file was read alone. Name the folder instead: jobs.`; diags[0].Detail != want {
		t.Errorf("%s", diags[0].Detail)
	}
}

// TestBesideOnce: where a file that was read alone lacks many names, the files beside it are read once.
func TestBesideOnce(t *testing.T) {
	var wrong strings.Builder
	for i := range 50 {
		fmt.Fprintf(&wrong, "  a%d = local.b%d\n", i, i)
	}
	fsys := &opened{files("a.hcl", "locals {\n"+wrong.String()+"}\n", "b.hcl", "locals {\n  b7 = 1\n}\n"), map[string]int{}}
	_, diags := Load(fsys, "a.hcl", Options{})
	if fsys.times["b.hcl"] != 1 {
		t.Errorf("b.hcl was read %d times", fsys.times["b.hcl"])
	}
	if n := len(diags); n < 50 || !slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return strings.Contains(d.Detail, "b.hcl beside this file has it") }) {
		t.Errorf("%d: %v", n, diags)
	}
}

// opened counts how often files are opened.
type opened struct {
	fs.FS
	times map[string]int
}

func (o *opened) Open(name string) (fs.File, error) {
	o.times[name]++
	return o.FS.Open(name)
}

// TestPrecedence: of several values of a variable the last of the command line counts, of values and
// of files that it names.
func TestPrecedence(t *testing.T) {
	fsys := files("job.hcl", minimal("variable \"n\" {\n  type = number\n}", "", "steps = var.n"), "a.ndcvars", "n = 5\n", "b.ndcvars", "n = 6\n")
	arg := func(value string) VariableArg { return VariableArg{Name: "n", Value: value} }
	file := func(name string) VariableArg { return VariableArg{File: name} }
	for _, c := range []struct {
		name  string
		files []string
		args  []VariableArg
		want  int
	}{
		{"one --var", nil, []VariableArg{arg("7")}, 7},
		{"the last --var", nil, []VariableArg{arg("7"), arg("8")}, 8},
		{"files in their order", []string{"a.ndcvars", "b.ndcvars"}, nil, 6},
		{"--var after a file", nil, []VariableArg{file("a.ndcvars"), arg("7")}, 7},
		{"a file after --var", nil, []VariableArg{arg("7"), file("a.ndcvars")}, 5},
		{"files before arguments", []string{"a.ndcvars"}, []VariableArg{arg("7")}, 7},
	} {
		jobs := mustLoad(t, fsys, "job.hcl", Options{VariableFiles: c.files, Variables: c.args})
		if got := jobs[0].Training.Steps; got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// TestVariableTypes: the text of --var is the value of simple types and an
// expression otherwise, as in Terraform.
func TestVariableTypes(t *testing.T) {
	top := `
variable "text" {
  type = string
}
variable "list" {
  type = list(number)
}
variable "shape" {
  type = object({ steps = number, factor = optional(number, 2) })
}
variable "any" {
}
`
	fsys := files("job.hcl", minimal(top, "", `steps = length(var.text) + sum(var.list) + var.shape.steps * var.shape.factor + tonumber(var.any)`))
	jobs := mustLoad(t, fsys, "job.hcl", Options{Variables: []VariableArg{
		{Name: "text", Value: `["a"]`}, {Name: "list", Value: "[10, 20]"}, {Name: "shape", Value: "{ steps = 100 }"}, {Name: "any", Value: "1000"},
	}})
	if got := jobs[0].Training.Steps; got != 5+30+200+1000 {
		t.Errorf("steps = %d, want 1235", got)
	}
}

// TestBases: what is written beside a base overrides it argument by argument, and a block of
// another label as a whole.
func TestBases(t *testing.T) {
	src := minimal(`
model "a" {
  base            = catalog.model.mixtral_8x7b
  sequence_length = 2048
  moe {
    top_k = 1
  }
  position_embedding "none" {
  }
}
model "b" {
  base    = var.big ? model.a : catalog.model.debug
  without = ["sliding_window"]
  layers  = model.a.layers * 2
  moe {
    load_imbalance = 1.5
  }
}
variable "big" {
  default = true
}
`, "", "steps = 1")
	j := mustLoad(t, files("job.hcl", strings.Replace(src, "catalog.model.debug\n  cluster", "model.b\n  cluster", 1)), "job.hcl", Options{})[0]
	m := j.Model
	if m.Name != "b" || m.Catalog != "mixtral_8x7b" || m.Layers != 64 || m.SequenceLength != 2048 || m.HiddenSize != 4096 {
		t.Errorf("unexpected model: %+v", m)
	}
	if m.MoE.TopK != 1 || m.MoE.Experts != 8 || m.MoE.LoadImbalance != 1.5 {
		t.Errorf("blocks must merge argument by argument: %+v", m.MoE)
	}
	if m.PositionEmbedding.Kind != "none" || m.PositionEmbedding.Theta != 0 {
		t.Errorf("a block with another label must replace the base's: %+v", m.PositionEmbedding)
	}
	for path, origin := range map[string]job.Origin{
		"model.hidden_size": job.FromCatalog, "model.layers": job.FromSpec, "model.moe.top_k": job.FromSpec,
		"model.moe.experts": job.FromCatalog, "model.head_dim": job.FromCatalog, "model.dropout": job.FromCatalog,
	} {
		if got := j.Sources[path]; got.Origin != origin || got.Range.Filename != "job.hcl" {
			t.Errorf("%s comes from %v at %v, want %v in the user's file", path, got.Origin, got.Range, origin)
		}
	}
	if j.Sources.IsSet("model.mla") || j.Sources.IsSet("training.seed") {
		t.Error("what nobody wrote must not count as set")
	}
}

// TestPartOfNodes: NVLink inside of a base's nodes lies inside of those with fewer GPUs, too;
// what a cluster says itself stays. A rack's NVLink and a pod keep their nodes, a GPU its
// adapters.
func TestPartOfNodes(t *testing.T) {
	for _, c := range []struct {
		base, own, override string
		gpus, domain        int
		pod, adapters       int
	}{
		{"catalog.cluster.dgx_h100", "", "", 8, 8, 256, 8},
		{"catalog.cluster.dgx_h100", "gpus_per_node = 6", "", 6, 6, 192, 6},
		{"catalog.cluster.dgx_h100", "gpus_per_node = 1", "", 1, 0, 32, 1},
		{"catalog.cluster.dgx_h100", "gpus_per_node = 16", "", 16, 8, 512, 8},
		{"catalog.cluster.dgx_h100", "gpus_per_node = 2\nnvlink {\ndomain = 4\n}", "", 2, 4, 64, 2},
		{"catalog.cluster.gb200_nvl72", "gpus_per_node = 2", "", 2, 36, 288, 2},
		{"catalog.cluster.gb200_nvl72", "gpus_per_node = 1", "", 1, 18, 144, 1},
		{"catalog.cluster.gb200_nvl72", "gpus_per_node = 2\nnvlink {\ndomain = 72\n}", "", 2, 72, 288, 2},
		{"cluster.half", "nvlink {\nlatency = \"1us\"\n}", "", 4, 4, 128, 4},
		{"cluster.half", "gpus_per_node = 2", "", 2, 2, 64, 2},
		{"catalog.cluster.dgx_h100", "", "cluster.gpus_per_node=4", 4, 4, 128, 4},
		{"catalog.cluster.dgx_h100", "", "cluster.gpus_per_node=4; cluster.nvlink.domain=8", 4, 8, 128, 4},
		{"catalog.cluster.dgx_h100", "", "cluster.nvlink.domain=8; cluster.gpus_per_node=4", 4, 8, 128, 4},
	} {
		src := strings.Replace(minimal("cluster \"half\" {\nbase = catalog.cluster.dgx_h100\ngpus_per_node = 4\n}\ncluster \"c\" {\nbase = "+c.base+"\nnodes = 2\n"+c.own+"\n}\n", "", "steps = 1"),
			"catalog.cluster.single_gpu", "cluster.c", 1)
		o := Options{}
		if c.override != "" {
			o.Overrides = ParseOverrides("--compare", c.override)
		}
		k := mustLoad(t, files("job.hcl", src), "job.hcl", o)[0].Cluster
		if got, want := [5]int{k.GPUsPerNode, k.NVLink.Domain, k.Network.GPUsPerPod, k.Network.NICsPerNode, k.Network.Rails}, [5]int{c.gpus, c.domain, c.pod, c.adapters, c.adapters}; got != want {
			t.Errorf("%s, %q, %q: GPUs of node, domain and pod, adapters and rails: %v, want %v", c.base, c.own, c.override, got, want)
		}
	}
}

// TestWithout: what without names is taken away from the base.
func TestWithout(t *testing.T) {
	src := minimal("model \"m\" {\n  base            = catalog.model.debug_moe\n  without         = [\"moe\", \"ffn_hidden_size\"]\n  ffn_hidden_size = 512\n}\n", "", "steps = 1")
	j := mustLoad(t, files("job.hcl", strings.Replace(src, "catalog.model.debug\n", "model.m\n", 1)), "job.hcl", Options{})[0]
	if j.Model.MoE != nil || j.Model.FFNHiddenSize != 512 {
		t.Errorf("unexpected model: %+v", j.Model)
	}
}

// TestBackendOverrides: a backend's own blocks override those of the job, for it alone.
func TestBackendOverrides(t *testing.T) {
	src := `
job "j" {
  model   = catalog.model.debug
  cluster = catalog.cluster.single_gpu
  training {
    global_batch_size = 8
    steps             = 10
    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      format = "megatron"
      source "a" {
        path   = "/a"
        weight = 3
      }
      source "b" {
        path = "/b"
      }
    }
    checkpoint {
      path      = "/ckpt/"
      interval  = 100
      keep_last = 2
    }
  }
  constraints {
    objective = "memory"
    layout {
      micro_batch_size = [1, 2]
    }
  }
  slurm {
    time     = "2h"
    log_path = "logs"
    container {
      mounts = ["/data:/data"]
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
  backend "torchtitan" {
    version = "0.3.0"
    container {
      image = "titan.sqsh"
    }
    execution {
      compile = true
    }
    constraints {
      layout {
        micro_batch_size = 1
      }
    }
    training {
      data {
        format = "tokens"
        source "a" {
          path = "/a.bin"
        }
        source "c" {
          path = "/c.bin"
        }
      }
      checkpoint {
        interval = "20m"
      }
    }
    slurm {
      time = "1:00:00"
    }
  }
}
`
	jobs := mustLoad(t, files("job.hcl", src), "job.hcl", Options{})
	m, tt := jobs[0], jobs[1]
	if m.Training.Checkpoint.Path != "/ckpt/megatron" || tt.Training.Checkpoint.Path != "/ckpt/torchtitan" || m.Slurm.LogPath != "logs" {
		t.Errorf("each backend has folders of its own: %q, %q, %q", m.Training.Checkpoint.Path, tt.Training.Checkpoint.Path, m.Slurm.LogPath)
	}
	if m.Training.Checkpoint.IntervalSteps != 100 || tt.Training.Checkpoint.IntervalTime != 1200 || tt.Training.Checkpoint.KeepLast != 2 || tt.Training.Checkpoint.IntervalSteps != 0 {
		t.Errorf("checkpoints: %+v and %+v", m.Training.Checkpoint, tt.Training.Checkpoint)
	}
	// A list of sources replaces the list; a source of the same name keeps its weight.
	want := []job.DataSource{{Name: "a", Path: "/a.bin", Weight: 0.75}, {Name: "c", Path: "/c.bin", Weight: 0.25}}
	if d := cmp.Diff(want, tt.Training.Data.Sources); d != "" {
		t.Error(d)
	}
	if m.Slurm.Container.Image != "" || tt.Slurm.Container.Image != "titan.sqsh" || len(tt.Slurm.Container.Mounts) != 1 || tt.Slurm.Time != 3600 || m.Slurm.Time != 7200 {
		t.Errorf("slurm: %+v and %+v", m.Slurm, tt.Slurm)
	}
	if m.Execution.Compile.Set || !tt.Execution.Compile.Value || !tt.Constraints.Layout.MicroBatchSize.Pinned() || m.Constraints.Layout.MicroBatchSize.Pinned() || tt.Constraints.Objective != "memory" {
		t.Error("execution or constraints did not merge")
	}
	for path, want := range map[string]string{
		"training.checkpoint.interval":        `"20m"`,
		"training.checkpoint.keep_last":       "2",
		`training.data.source["a"].path`:      `"/a.bin"`,
		"slurm.container.mounts[0]":           `"/data:/data"`,
		"slurm.container.runtime":             "container", // a default points at the nearest block
		"training.optimizer.beta1":            `"adamw"`,
		"backend.version":                     `"0.3.0"`,
		"constraints.layout.micro_batch_size": "1",
		"no.such.thing":                       `"j"`,
	} {
		at := tt.Sources.Range(path)
		if got := src[at.Start.Byte:at.End.Byte]; got != want {
			t.Errorf("%s is at %q, want %q", path, got, want)
		}
	}
}

// TestSelection: jobs and backends are chosen by their names.
func TestSelection(t *testing.T) {
	src := minimal("", "", "steps = 1")
	src += strings.Replace(strings.Replace(src, `job "j"`, `job "k"`, 1), `backend "megatron"`, `backend "deepspeed"`, 1)
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, "j/megatron k/deepspeed"},
		{Options{Job: "k"}, "k/deepspeed"},
		{Options{Backend: "megatron"}, "j/megatron"},
	} {
		var got []string
		for _, j := range mustLoad(t, files("job.hcl", src), "job.hcl", c.o) {
			got = append(got, j.Name+"/"+j.Backend.Kind)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %v, want %s", c.o, got, c.want)
		}
	}
}

// TestVersions: constraints on the version of ndc hold as they do in Terraform; a build of no
// version satisfies all.
func TestVersions(t *testing.T) {
	for _, c := range []struct {
		constraint, version string
		ok                  bool
	}{
		{">= 0.1", "0.1.0", true}, {">= 0.1", "0.0.9", false}, {">= 0.1", "0.0.0-dev", true}, {">= 99", "(devel)", true}, {">= 99", "", true},
		{"~> 1.2", "1.9.0", true}, {"~> 1.2", "2.0.0", false}, {"~> 1.2.3", "1.2.9", true}, {"~> 1.2.3", "1.3.0", false},
		{">= 1.0, < 2.0", "1.5.0", true}, {">= 1.0, < 2.0", "2.0.0", false}, {"!= 1.1", "1.1.0", false}, {"1.1", "1.1.0", true},
		{"> 1.0", "1.0.0-rc1", false}, {"<= 1.0", "v1.0.0", true}, {">= 1.0", "1.0.0-rc1", false},
	} {
		fsys := files("job.hcl", minimal("ndc {\n  required_version = \""+c.constraint+"\"\n}", "", "steps = 1"))
		_, diags := Load(fsys, "job.hcl", Options{NDCVersion: c.version})
		if diags.HasErrors() == c.ok {
			t.Errorf("%q with ndc %q: %v", c.constraint, c.version, diags)
		}
	}
}

// TestVersionFirst: a file for another version may hold words that this one
// does not know, and only the version is reported.
func TestVersionFirst(t *testing.T) {
	_, diags := Load(files("job.hcl", "future \"x\" {\n}\nndc {\n  required_version = \"> 3\"\n}\n"), "job.hcl", Options{NDCVersion: "1.0.0"})
	if len(diags) != 1 || diags[0].ID != UnsupportedVersion {
		t.Error(diags)
	}
}

// TestVersionOfModule: of a module for another version only that is reported, and
// other modules are read.
func TestVersionOfModule(t *testing.T) {
	fsys := files("job.hcl", minimal("module \"new\" {\n  source = \"./new\"\n}\nmodule \"old\" {\n  source = \"./old\"\n}", "", "steps = module.new.x + module.old.y"))
	for name, text := range map[string]string{
		"new": "future \"x\" {\n}\nndc {\n  required_version = \"> 3\"\n}\n",
		"old": "ndc {\n  required_version = \"> 0.1\"\n}\noutput \"y\" {\n  value = 1\n}\n",
	} {
		fsys[name+"/m.hcl"] = &fstest.MapFile{Data: []byte(text)}
	}
	_, diags := Load(fsys, "job.hcl", Options{NDCVersion: "1.0.0"})
	if len(diags) != 1 || diags[0].ID != UnsupportedVersion || !strings.Contains(diags[0].Detail, "a version of the module") {
		t.Error(diags)
	}
}

// TestMergeMarks: where git left the marks of a merge, that is told once, and not
// what their signs mean in HCL.
func TestMergeMarks(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		text := strings.ReplaceAll("locals {\n  a = 1\n<<<<<<< HEAD\n  b = 1\n||||||| 1234\n=======\n  b = 2\n>>>>>>> other\n}\n", "\n", end)
		_, diags := Load(files("job.hcl", text), "job.hcl", Options{})
		if len(diags) != 1 || diags[0].ID != SyntaxError || diags[0].Range.Start.Line != 3 || diags[0].Detail != "The file has the marks of a merge that was not settled." {
			t.Error(diags)
		}
	}
}

// TestLineEnds: the lines of a here-document are those of the file with the ends of lines of Unix; what is
// escaped is meant.
func TestLineEnds(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		text := strings.ReplaceAll("a = <<EOT\none ${1}\n  two\nEOT\nb = <<-EOT\n  one\n    two\n  EOT\nc = \"x\\r\\n\"\n", "\n", end)
		body, diags := parseSource([]byte(text), "job.hcl")
		if len(diags) > 0 {
			t.Fatal(diags)
		}
		for name, want := range map[string]string{"a": "one 1\n  two\n", "b": "one\n  two\n", "c": "x\r\n"} {
			if got, _ := body.Attributes[name].Expr.Value(nil); got.AsString() != want {
				t.Errorf("%q: %s = %q, want %q", end, name, got.AsString(), want)
			}
		}
	}
}

// TestUnreadable: text that does not show what it says is refused before it is parsed.
func TestUnreadable(t *testing.T) {
	deep := "a = " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	for _, c := range []struct {
		name, content string
		want          diag.ID
	}{
		{"bidi.hcl", "# a \u202e\njob \"x\" {}\n", InvalidText},
		{"isolate.hcl", "# a \u2066 b\n", InvalidText},
		{"return.hcl", "# a\r  b = 1\r\n", InvalidText}, // b seems to be set
		{"end.hcl", "# a\r", InvalidText},
		{"separator.hcl", "# a\u2028  b = 1\n", InvalidText},
		{"next.hcl", "# a\u0085  b = 1\n", InvalidText},
		{"escape.hcl", "a = 1 # \x1b[2K\x1b[1G\n", InvalidText},
		{"backspace.hcl", "a = \"x\b\"\n", InvalidText},
		{"nul.hcl", "a = 1\nb = \"\x00\"\n", InvalidText},
		{"latin1.hcl", "a = \"M\xfcnchen\"\n", InvalidText},
		{"utf16.hcl", "\xff\xfea\x00", InvalidText},
		{"big.hcl", strings.Repeat("# a line of comment\n", 2_500_000), FileTooLarge}, // 50 MB
		{"deep.hcl", deep, FileTooLarge},
		{"templates.hcl", "a = " + strings.Repeat(`"${`, 2000), FileTooLarge},
		{"not.hcl", "a = " + strings.Repeat("!", 50000) + "true", FileTooLarge},
		{"sum.hcl", "a = 1" + strings.Repeat("+1", 50000), FileTooLarge},
		{"conditions.hcl", "a = " + strings.Repeat("true ? 1 : ", 30000) + "1", FileTooLarge},
		{"laughs.hcl", "locals {\n  a0 = \"ha\"\n" + laughs(30) + "}\n", FileTooLarge},
		{"number.hcl", "locals {\n  a = 1e99999999\n}\n", OutOfRange},
		{"digits.hcl", "locals {\n  a = " + strings.Repeat("9", 5000) + "\n}\n", OutOfRange},
		{"parentheses.hcl", "a = " + strings.Repeat("(", 500_000), FileTooLarge},
		{"chain.hcl", "locals {\n  a0 = 1\n" + chain(3000) + "}\n", FileTooLarge},
		{"blocks.hcl", "model \"m\" {\n" + strings.Repeat("x {\n}\n", 5000) + "}\n", FileTooLarge},
		{"missing.hcl", "", UnreadableFile},
		{"empty", "", NoFiles},
	} {
		fsys := files(c.name, c.content)
		name := c.name
		switch c.want {
		case UnreadableFile:
			delete(fsys, c.name)
		case NoFiles:
			fsys, name = files("folder/readme.md", "x"), "folder"
		}
		w, diags := Load(fsys, name, Options{})
		if len(diags) != 1 || diags[0].ID != c.want || w == nil {
			t.Errorf("%s: want one %s, got %v", c.name, c.want, diags)
		}
	}
}

// TestCircles: locals that all refer to one another, and by names that are
// computed, are told of once and in no time.
func TestCircles(t *testing.T) {
	var all, computed strings.Builder
	for i := range 200 {
		fmt.Fprintf(&all, "  a%d = [%s]\n", i, "local.a"+strings.Join(counted(200), ", local.a"))
		fmt.Fprintf(&computed, "  a%d = local[local.name]\n", i)
	}
	for _, body := range []string{all.String(), computed.String() + "  name = \"a1\"\n"} {
		_, diags := Load(files("job.hcl", "locals {\n"+body+"}\n"), "job.hcl", Options{})
		circles := 0
		for _, d := range diags {
			if d.ID == ReferenceCycle {
				circles++
			}
		}
		if circles != 1 || len(diags) > 20 {
			t.Errorf("%d circles in %d messages: %.300v", circles, len(diags), diags)
		}
	}
}

func counted(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint(i)
	}
	return list
}

// TestManyErrors: reading stops where nobody would read on.
func TestManyErrors(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "  a%d = local.b%d\n", i, i)
	}
	_, diags := Load(files("job.hcl", "locals {\n"+b.String()+"}\n"), "job.hcl", Options{})
	if len(diags) != maxDiagnostics+2 || diags[0].ID != TooManyErrors {
		t.Errorf("%d messages, first %v", len(diags), diags[0])
	}
}

// TestManyDefinitions: blocks behind many locals are read, and too many blocks are told of.
func TestManyDefinitions(t *testing.T) {
	var locals, models strings.Builder
	for i := range maxBlocks + 1 {
		fmt.Fprintf(&locals, "  a%d = 1\n", i)
		fmt.Fprintf(&models, "model \"m%d\" {\n  base = catalog.model.debug\n}\n", i)
	}
	_, diags := Load(files("job.hcl", "locals {\n"+locals.String()+"}\njob \"a\" {\n  nothing = 1\n}\n"), "job.hcl", Options{})
	if len(diags) == 0 || slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.ID == NoJob }) {
		t.Error(diags)
	}
	_, diags = Load(files("job.hcl", models.String()), "job.hcl", Options{})
	if len(diags) == 0 || diags[0].ID != FileTooLarge {
		t.Errorf("%.300v", diags)
	}
}

// TestBudget: what all expressions cost together ends the evaluation, with one
// message and the same one each time.
func TestBudget(t *testing.T) {
	src := "locals {\n  n = range(1000)\n"
	for i := range 40 {
		src += fmt.Sprintf("  a%d = [for x in local.n : [for y in local.n : x * y if y < 3]]\n", i)
	}
	for range 2 {
		_, diags := Load(files("job.hcl", src+"}\n"), "job.hcl", Options{})
		if len(diags) != 1 || diags[0].ID != FileTooLarge || !strings.Contains(diags[0].Detail, "all expressions together") {
			t.Errorf("%.500v", diags)
		}
	}
	_, diags := Load(files("d/job.hcl", "variable \"v\" {\n}\n", "d/a.auto.ndcvars", "v = [for a in range(1000) : [for b in range(1000) : [for c in range(1000) : c]]]\n"), "d", Options{})
	if len(diags) != 1 || diags[0].ID != FileTooLarge {
		t.Errorf("variables: %.500v", diags)
	}
}

// TestLongTexts: a text of more parts than the parser can take is told before it is parsed,
// and one of a thousand lines is none.
func TestLongTexts(t *testing.T) {
	heredoc := func(lines int) string { return "<<E\n" + strings.Repeat("x\n", lines) + "E\n" }
	for text, long := range map[string]bool{
		heredoc(1000): false, heredoc(400_000): true, strings.TrimSuffix(heredoc(400_000), "E\n"): true,
		`"` + strings.Repeat("$ ", 200_000) + `"`: true, "<<E\n" + strings.Repeat("x\n${\"y\"}\n", 60_000) + "E\n": true,
		"[" + strings.Repeat(`"a", `, 100_000) + "]": false,
	} {
		src := "locals {\n  a = " + text + "\n}\n"
		began := time.Now()
		_, diags := Format([]byte(src), "job.hcl")
		if tooLong := slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.ID == FileTooLarge }); tooLong != long || time.Since(began) > 20*time.Second {
			t.Errorf("%.20s: %v, %.200v", text, time.Since(began), diags)
		}
	}
}

// chain writes locals each of which needs the one after.
func chain(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  b%d = local.b%d\n", i, i+1)
	}
	return b.String() + fmt.Sprintf("  b%d = 1\n", n)
}

// laughs writes locals each of which is twice the one before.
func laughs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  a%d = \"${local.a%d}${local.a%d}\"\n", i+1, i, i)
	}
	return b.String()
}

// TestTokens: steps, tokens, warm-up and decay follow from one another.
func TestTokens(t *testing.T) {
	for _, c := range []struct {
		name string
		in   string
		want job.Training
	}{
		{"steps", "steps = 100", job.Training{Steps: 100, Tokens: 100 * 8 * 2048}},
		{"tokens, rounded up", "tokens = 16385", job.Training{Steps: 2, Tokens: 16385}},
		{"warm-up and decay in tokens", "steps = 100\nschedule \"wsd\" {\nwarmup_tokens = 163840\ndecay_tokens = 163841\n}",
			job.Training{Steps: 100, Tokens: 100 * 8 * 2048, Schedule: job.Schedule{Kind: "wsd", WarmupSteps: 10, DecaySteps: 11, DecayShape: "linear"}}},
		{"what the warm-up leaves of wsd's tenth", "steps = 105\nschedule \"wsd\" {\nwarmup_steps = 100\n}",
			job.Training{Steps: 105, Tokens: 105 * 8 * 2048, Schedule: job.Schedule{Kind: "wsd", WarmupSteps: 100, DecaySteps: 5, DecayShape: "linear"}}},
		{"wsd's tenth", "steps = 105\nschedule \"wsd\" {\n}",
			job.Training{Steps: 105, Tokens: 105 * 8 * 2048, Schedule: job.Schedule{Kind: "wsd", DecaySteps: 10, DecayShape: "linear"}}},
		// The ramp 2, 4, 6 has three stages of 10 sequences: 5 steps of 2 (10
		// sequences), 3 of 4 (22), 2 of 6 (34), then 8 a step: 66 more in 9.
		{"a ramp", "tokens = 204800\nbatch_ramp {\nstart = 2\nincrement = 2\nsequences = 30\n}",
			job.Training{Steps: 19, Tokens: 204800, BatchRamp: &job.BatchRamp{Start: 2, Increment: 2, Sequences: 30}}},
		{"a ramp in steps", "steps = 11\nbatch_ramp {\nstart = 2\nincrement = 2\nsequences = 30\n}",
			job.Training{Steps: 11, Tokens: (34 + 8) * 2048, BatchRamp: &job.BatchRamp{Start: 2, Increment: 2, Sequences: 30}}},
		{"within a ramp", "steps = 6\nbatch_ramp {\nstart = 2\nincrement = 2\nsequences = 30\n}",
			job.Training{Steps: 6, Tokens: 14 * 2048, BatchRamp: &job.BatchRamp{Start: 2, Increment: 2, Sequences: 30}}},
		// Of the 19 steps 3 warm up (6 sequences), and the other 94 of 100 are read in the 16 that are left.
		{"a decay through a ramp", "tokens = 204800\nbatch_ramp {\nstart = 2\nincrement = 2\nsequences = 30\n}\nschedule \"cosine\" {\nwarmup_tokens = 12288\ndecay_tokens = 192512\n}",
			job.Training{Steps: 19, Tokens: 204800, BatchRamp: &job.BatchRamp{Start: 2, Increment: 2, Sequences: 30}, Schedule: job.Schedule{Kind: "cosine", WarmupSteps: 3, DecaySteps: 16}}},
		// The run reads 106 sequences; the last 90 of them in 9 steps of 8, 2 of 6 and 2 of 4.
		{"wsd's decay within a ramp", "tokens = 204800\nbatch_ramp {\nstart = 2\nincrement = 2\nsequences = 30\n}\nschedule \"wsd\" {\ndecay_tokens = 184320\n}",
			job.Training{Steps: 19, Tokens: 204800, BatchRamp: &job.BatchRamp{Start: 2, Increment: 2, Sequences: 30}, Schedule: job.Schedule{Kind: "wsd", DecaySteps: 13, DecayShape: "linear"}}},
	} {
		src := strings.Replace(minimal("model \"m\" {\n base = catalog.model.debug\n sequence_length = 2048\n}", "", c.in), "catalog.model.debug\n  cluster", "model.m\n  cluster", 1)
		got := mustLoad(t, files("job.hcl", src), "job.hcl", Options{})[0].Training
		if c.want.Schedule.Kind == "" {
			c.want.Schedule.Kind = "constant"
		}
		if got.Steps != c.want.Steps || got.Tokens != c.want.Tokens || got.Schedule != c.want.Schedule {
			t.Errorf("%s: %d steps, %d tokens, %+v; want %d, %d, %+v", c.name, got.Steps, got.Tokens, got.Schedule, c.want.Steps, c.want.Tokens, c.want.Schedule)
		}
	}
}
