package gpu

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/integration/environment"
	"github.com/ndc-dev/ndc/lang/job"
)

// Measurement is what one run said.
type Measurement struct {
	Steps       []float64 // seconds of each, those that start and compile among them
	StepSeconds float64   // median of the later half of the steps; 0: not measured
	Allocated   int64     // bytes, peak of torch's tensors
	Reserved    int64     // bytes, peak of torch's allocator
	Device      int64     // bytes in use on the GPU at the end
	OutOfMemory bool
	When        time.Time
}

type object = map[string]any

// Row is a measurement in the format of testdata/measured. Its id says what was
// measured where, so that the same run is never written twice.
func Row(c *Case, p *Prediction, m *Machine, v *Measurement) map[string]any {
	l, model := p.Plan.Layout, &p.Job.Model
	notes := fmt.Sprintf("driver %s, torch %s for CUDA %s", m.Driver, m.Torch, m.CUDA)
	if m.Container != "" {
		notes += ", " + m.Container
	}
	return object{
		"id": c.ID(m, l),
		"source": object{
			"name": SourceName(m, c.Framework, c.Version), "where": fmt.Sprintf("make gpu; %s %s", c.Framework, c.Version), "date": v.When.Format(time.DateOnly),
		},
		"model": object{
			"name": fmt.Sprintf("%s with %d layers", c.Base, c.Layers), "layers": model.Layers, "hidden": model.HiddenSize, "ffn": model.FFNHiddenSize,
			"heads": model.Attention.Heads, "kv_heads": model.Attention.KVHeads, "head_dim": model.Attention.HeadDim, "vocab": model.VocabSize,
			"seq_len": model.SequenceLength, "moe": experts(model.MoE), "mla": nil, "arch_source": "ndc catalogue, " + c.Base,
		},
		"cluster":   object{"gpu": m.GPU, "gpus_per_node": min(8, c.GPUs), "nodes_or_gpus": c.GPUs, "interconnect": "none"},
		"precision": c.precision(),
		"layout": object{
			"tp": l.TensorParallel, "sp": l.SequenceParallel, "pp": l.PipelineParallel, "vpp": nil, "cp": l.ContextParallel, "ep": nil, "etp": nil,
			"dp": l.DataParallel(), "dp_replicate": l.DataParallelReplicate, "dp_shard": l.DataParallelShard, "zero_stage": l.ZeroStage, "fsdp": p.Plan.Execution.GradientDType + " gradients",
			"moe_routing": routing(model.MoE), "mbs": l.MicroBatchSize, "gbs": c.Batch, "recompute": recompute(l),
			"overlaps": object{"tp_comm_overlap": p.Plan.Execution.OverlapTensorParallel, "moe_a2a_overlap": p.Plan.Execution.OverlapExpertParallel,
				"cuda_graph_impl": graphs(&p.Plan.Execution), "cuda_graph_scope": strings.ReplaceAll(p.Plan.Execution.CUDAGraphs, "+", ",")},
		},
		"measured": measured(v),
		"notes":    notes,
		"quality":  object{"fully_specified": true, "oom": v.OutOfMemory, "n": c.GPUs},
	}
}

// experts are the sizes of a mixture.
func experts(m *job.MoE) any {
	if m == nil {
		return nil
	}
	return object{"experts": m.Experts, "topk": m.TopK, "moe_ffn": m.ExpertFFNHiddenSize, "shared": m.SharedExperts, "shared_ffn": m.SharedExpertFFNHiddenSize, "first_dense": m.FirstDenseLayers}
}

// routing says that no load was forced.
func routing(m *job.MoE) any {
	if m == nil {
		return nil
	}
	return "not forced, on random tokens"
}

// recompute is full by so many layers, or by all in groups of one.
func recompute(l plan.Layout) object {
	o := object{"mode": l.Recompute.String(), "layers": nil, "modules": nil}
	if l.RecomputeMethod == "block" {
		o["layers"] = l.RecomputeLayers
	}
	return o
}

func measured(v *Measurement) object {
	o := object{"tokens_per_s_per_gpu": nil, "tflops_per_gpu": nil, "mfu": nil, "step_time_s": nil, "peak_memory_gb": nil, "oom": v.OutOfMemory}
	if v.StepSeconds > 0 {
		o["step_time_s"] = v.StepSeconds
	}
	if v.Allocated > 0 && !v.OutOfMemory {
		o["peak_memory_gb"], o["peak_reserved_gb"], o["device_memory_gb"] = gib(v.Allocated), gib(v.Reserved), gib(v.Device)
		o["peak_memory_definition"] = "GiB; torch max_memory_allocated of the rank, with max_memory_reserved and the GPU's memory in use beside it"
	}
	return o
}

func gib(n int64) float64 { return float64(n) / (1 << 30) }

// ID names what is measured: the machine, the framework, the model and the
// layout.
func (c *Case) ID(m *Machine, l plan.Layout) string {
	return fmt.Sprintf("gpu-%s-%s-%s-%s%d-%s-s%d-b%d-n%d-tp%dpp%dcp%d-z%d-mb%d-%s", m.Slug(), c.Framework, c.Version, c.Name, c.Layers, strings.ReplaceAll(c.precision(), " ", "-"), c.Sequence,
		c.Batch, c.GPUs, l.TensorParallel, l.PipelineParallel, l.ContextParallel, l.ZeroStage, l.MicroBatchSize, l.Recompute)
}

// SourceName is the source of the rows of a framework's release on a machine.
func SourceName(m *Machine, framework, release string) string {
	return "make gpu, " + m.Slug() + ", " + framework + " " + release
}

// frameworks are the names of testdata/measured/clusters.jsonl, which
// tools/accuracy/frameworks.json leads to a target.
var frameworks = map[string]string{"megatron": "Megatron-LM", "torchtitan": "TorchTitan", "deepspeed": "DeepSpeed"}

// Facts is the machine's record for clusters.jsonl, one for each release.
func Facts(m *Machine, framework, release string) map[string]any {
	software := frameworks[framework]
	if release != environment.Newest(framework) {
		software += " " + release
	}
	return object{
		"id":         "gpu-" + m.Slug() + "-" + framework + "-" + release,
		"applies_to": object{"source": SourceName(m, framework, release)}, "judge_only": "kept out of every fit, so that something nobody fitted to judges", "catalog_cluster": "dgx_h100", "catalog_gpu": m.Catalog,
		"software": object{"framework": software + " launched by ndc"},
		"source":   object{"*": fmt.Sprintf("nvidia-smi: %s, driver %s, %d MiB; torch %s for CUDA %s, %d bytes", m.GPU, m.Driver, m.MemoryMiB, m.Torch, m.CUDA, m.TorchMemory)},
	}
}

// Append writes records that a file does not hold yet, told by their ids, at
// its end. It returns how many were new.
func Append(path string, records ...map[string]any) (int, error) {
	known, err := ids(path)
	if err != nil {
		return 0, err
	}
	var text strings.Builder
	added := 0
	for _, r := range records {
		id, _ := r["id"].(string)
		if id == "" || known[id] {
			continue
		}
		line, err := json.Marshal(r)
		if err != nil {
			return 0, err
		}
		known[id] = true
		text.Write(append(line, '\n'))
		added++
	}
	if added == 0 {
		return 0, nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, err
	}
	_, err = f.WriteString(text.String())
	return added, errors.Join(err, f.Close())
}

func ids(path string) (map[string]bool, error) {
	known := map[string]bool{}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r struct{ ID string }
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		known[r.ID] = true
	}
	return known, lines.Err()
}

// Keep appends a measurement and its machine to a folder in the format of
// testdata/measured.
func Keep(folder string, m *Machine, c *Case, row map[string]any) (int, error) {
	if _, err := Append(filepath.Join(folder, "clusters.jsonl"), Facts(m, c.Framework, c.Version)); err != nil {
		return 0, err
	}
	return Append(filepath.Join(folder, "gpu_"+m.Slug()+".jsonl"), row)
}

// graphs names what captures a step's CUDA graphs, as Megatron-LM does.
func graphs(x *plan.Execution) string {
	switch x.CUDAGraphs {
	case "", "none":
		return "none"
	case "full":
		return "full_iteration"
	}
	return "transformer_engine"
}
