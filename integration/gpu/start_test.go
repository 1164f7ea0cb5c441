//go:build conformance

package gpu

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ndc-dev/ndc/integration/environment"
	"github.com/ndc-dev/ndc/integration/summary"
)

// onCPU are lines of backend blocks that leave out what needs a GPU.
var onCPU = map[string]string{
	"megatron":   PlainAttention,
	"torchtitan": "execution {\n      compile = false\n    }",
	"deepspeed":  `extra_args = ["optimizer.params.torch_adam=true"]`,
}

// TestStart starts what the GPU tests start, without a GPU: one process, and
// one rank of eight under a fake process group. It measures nothing; it shows
// that the programs run to their end and that their logs are read.
func TestStart(t *testing.T) {
	drivers, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []Case{
		{Framework: "torchtitan", GPUs: 1, Layout: "micro_batch_size = 1"},
		{Framework: "torchtitan", GPUs: 8, Layout: "data_parallel_shard = 4\n      tensor_parallel = 2\n      micro_batch_size = 1"},
		{Framework: "deepspeed", GPUs: 1, Layout: "micro_batch_size = 1"},
		{Framework: "deepspeed", GPUs: 8, Layout: "zero_stage = 3\n      micro_batch_size = 1"},
		{Framework: "megatron", GPUs: 1, Layout: "micro_batch_size = 1"},
		{Framework: "megatron", GPUs: 8, Layout: "tensor_parallel = 2\n      zero_stage = 1\n      micro_batch_size = 1"},
	} {
		c.Name, c.Base, c.Layers, c.Sequence, c.Batch, c.Steps = "tiny", "debug", 2, 64, 2*c.GPUs, 7
		c.Version, c.Options = environment.Newest(c.Framework), onCPU[c.Framework]
		t.Run(c.Framework+map[bool]string{true: "/rank", false: "/whole"}[c.GPUs > 1], func(t *testing.T) {
			start(t, &c, drivers)
		})
	}
}

func start(t *testing.T, c *Case, drivers string) {
	t.Helper()
	line := &summary.Line{Framework: c.Framework, Version: c.Version, What: "what make gpu starts, without a GPU"}
	line.AddAfter(t)
	line.Count(t)
	python, err := environment.Of(c.Framework, c.Version).Python()
	if err != nil {
		line.Skipped = err.Error()
		t.Skip("skipped: ", err)
	}
	p, err := Predict(c, &here)
	if err != nil {
		t.Fatal(err)
	}
	r := Runner{Python: python, Drivers: drivers, Megatron: filepath.Join(drivers, "megatron", "wheel"), Patience: 10 * time.Minute, CPU: true,
		Kernels: filepath.Join(t.TempDir(), "kernels.json")}
	if c.Framework == "megatron" && c.GPUs == 1 { // as on a GPU without Transformer Engine; tensor ranks need stand-ins
		r.More = WithoutEngine
	}
	if c.Framework == "deepspeed" { // the kernel that every start on a CPU needs is there
		kernels, err := environment.Kernels(python, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		environment.Set(t, kernels)
	}
	folder := t.TempDir()
	v, err := r.Run(p.Launch, 0, folder)
	if err != nil {
		t.Fatal(err)
	}
	if v.StepSeconds == 0 {
		log, _ := os.ReadFile(filepath.Join(folder, "log.txt"))
		t.Errorf("no step in the log:\n%s", environment.Tail(string(log), 30))
	}
	if text, err := os.ReadFile(r.Kernels); err != nil || !strings.Contains(string(text), `["aten::mm", `) {
		t.Errorf("no products among what ran: %.200s, %v", text, err)
	}
	t.Logf("%s: %.2f s a step", c.ID(&here, p.Plan.Layout), v.StepSeconds)
}
