package settings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/tree"
)

// said lists what a draft has, one path a line.
func said(d *draft.Draft) string {
	var b strings.Builder
	for _, p := range d.Paths() {
		v, _ := d.Get(p)
		fmt.Fprintf(&b, "%s = %v\n", p, v.Value)
	}
	return b.String()
}

func expect(t *testing.T, d *draft.Draft, want ...string) {
	t.Helper()
	got := said(d)
	for _, w := range want {
		if !strings.Contains(got, w+"\n") {
			t.Errorf("%q is missing in\n%s", w, got)
		}
	}
}

func TestTorchTitan(t *testing.T) {
	src := `
[model]
flavor = "8B"
[optimizer]
lr = 1e-3
[training]
batch_size = 4 # of an earlier release
seq_len = 2048
steps = 100
[lr_scheduler]
decay_ratio = 0.2
decay_type = "sqrt"
warmup_steps = 10
[parallelism]
data_parallel_shard_degree = 8
pipeline_parallel_degree = 2
pipeline_parallel_schedule = "1F1B"
module_fqns_per_model_part = [["tok_embeddings", "layers.0"], ["layers.1", "layers.2", "norm", "output"]]
fsdp_reshard_after_forward = "never"
[activation_checkpoint]
mode = "full"
[metrics]
frobnicate = 1
`
	o, err := TOML([]byte(src))
	if err != nil || !IsTorchTitan(o) {
		t.Fatal(err)
	}
	d := draft.New()
	ReadTorchTitan(d, "train.toml", "", o)
	expect(t, d, "training.steps = 100", "model.sequence_length = 2048", "training.global_batch_size = 32", "training.schedule = wsd", "training.schedule.decay_steps = 20",
		"training.schedule.decay_shape = minus_sqrt", "constraints.layout.data_parallel_shard = 8", "constraints.layout.pipeline_schedule = 1f1b",
		"constraints.layout.stage_layers = [1 2]", "constraints.layout.zero_stage = 2", "constraints.layout.micro_batch_size = 1", "constraints.layout.recompute = full")
	for _, f := range d.Findings {
		if f.Name == "metrics.frobnicate" && (f.Line != 23 || f.Verdict != draft.Unknown) {
			t.Errorf("%+v", f)
		}
		if f.Name == "training.local_batch_size" && f.Line == 0 {
			t.Errorf("%+v", f)
		}
	}
}

func TestDeepSpeed(t *testing.T) {
	n, err := tree.JSON([]byte(`{
  "train_micro_batch_size_per_gpu": 2,
  "train_batch_size": "auto",
  "bf16": {"enabled": true},
  "fp16": {"enabled": false},
  "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "betas": [0.9, 0.95]}},
  "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_num_steps": 10, "total_num_steps": 100}},
  "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}, "reduce_bucket_size": 5e8},
  "autotuning": {"enabled": true}
}`))
	if err != nil || !IsDeepSpeed(n.Object()) {
		t.Fatal(err)
	}
	d := draft.New()
	ReadDeepSpeed(d, "ds.json", "", n.Object())
	expect(t, d, "constraints.layout.micro_batch_size = 2", "training.precision = bf16", "training.optimizer = adamw", "training.optimizer.beta2 = 0.95",
		"training.schedule = linear", "training.steps = 100", "constraints.layout.zero_stage = 2", "execution.offload.optimizer = true")
	if d.Has("training.global_batch_size") {
		t.Error("auto is no batch")
	}
	last := d.Findings[len(d.Findings)-1]
	if last.Name != "autotuning.enabled" || last.Line != 9 || last.Verdict != draft.Unknown {
		t.Errorf("%+v", last)
	}
	if !Launcher(d, "run.sh", strings.Fields("deepspeed --num_nodes 2 --num_gpus=4 train.py --deepspeed ds.json --lr 1"), make([]int, 9)) || d.Int("cluster.nodes") != 2 || d.Int("cluster.gpus_per_node") != 4 {
		t.Errorf("the launcher is not read:\n%s", said(d))
	}
}
