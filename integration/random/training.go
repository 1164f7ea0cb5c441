package random

import "fmt"

func (d *drawing) training() {
	d.block("training", func() {
		d.steps = pick(d, 3, 4)
		batch := d.nodes * d.perNode * sized(d, []int{1, 2, 4}, []int{1, 2}) * d.pp
		d.batch = batch
		d.line("global_batch_size = %d", batch)
		switch {
		case d.small:
			d.line("steps = %d", d.steps)
		case d.chance(50):
			d.line("steps = %d", pick(d, 1000, 100000))
		default:
			d.line("tokens = 1e11")
		}
		d.maybe(40, "seed", "1", "1234", "42")
		d.maybe(8, "rerun_mode", `"disabled"`, `"validate_results"`)
		d.precision()
		d.optimizer()
		if d.chance(85) {
			d.schedule()
		}
		d.data()
		d.start()
		if d.saves = d.chance(d.among(70, 30)); d.saves {
			d.checkpoint()
		}
		if d.small || d.chance(40) {
			d.logging()
		}
		if d.chance(15) {
			d.block("timeout", func() {
				d.line(`collective = "20m"`)
				if d.framework != "deepspeed" || d.chance(5) {
					d.maybe(50, "first_step", `"1h"`)
				}
			})
		}
		if d.chance(d.among(8, 12)) {
			d.block("batch_ramp", func() {
				d.line("start = %d", max(1, batch/2))
				d.line("increment = %d", pick(d, max(1, batch/4), max(1, batch/2)))
				d.line("sequences = %d", sized(d, []int{100000, 12345}, []int{batch * 2, batch*3 + 1}))
			})
		}
	})
}

// precisions are drawn from those that the GPU has; the frameworks have
// fewer.
var precisions = map[string][]string{
	"deepspeed": {"bf16", "bf16", "fp16", "fp32"},
}

func (d *drawing) precision() {
	all := []string{"bf16", "bf16", "bf16", "bf16", "fp16", "fp32", "fp8", "fp8"}
	if d.small {
		all = []string{"bf16", "bf16", "fp32", "fp16"}
	}
	if d.small && d.framework == "deepspeed" { // which has fp16 where the processor has
		d.line("precision = %q", pick(d, "bf16", "fp32"))
		return
	}
	if d.gpu == "b200" {
		all = []string{"bf16", "mxfp8", "nvfp4", "fp8"}
	}
	precision := d.suits(all, precisions)
	if d.gpu == "a100" && precision == "fp8" {
		precision = "bf16"
	}
	d.line("precision = %q", precision)
	if precision == "fp8" || precision == "mxfp8" || precision == "nvfp4" && d.chance(50) {
		d.block("fp8", func() { d.fp8(precision) })
	}
}

func (d *drawing) fp8(precision string) {
	if precision == "fp8" {
		d.maybe(70, "recipe", `"delayed"`, `"tensorwise"`, `"rowwise"`, `"blockwise"`)
	}
	d.maybe(40, "parameter_gather", "true")
	d.maybe(20, "bf16_first_layers", "1")
	d.maybe(20, "bf16_last_layers", "1")
}

func (d *drawing) optimizer() {
	kind := d.suits([]string{"adamw", "adam", "sgd", "muon"}, map[string][]string{
		"megatron": {"adamw", "adamw", "adamw", "adam", "sgd", "muon"}, "torchtitan": {"adamw", "adam"}, "deepspeed": {"adamw", "adamw", "adam", "sgd"}})
	if d.small && kind == "muon" { // a package of its own
		kind = "sgd"
	}
	d.block(fmt.Sprintf("optimizer %q", kind), func() {
		d.line("learning_rate = 3e-4")
		d.maybe(60, "weight_decay", "0.1", "0")
		d.maybe(70, "gradient_clipping", "1.0", "0", "0.5")
		if kind == "adam" || kind == "adamw" {
			d.maybe(20, "beta1", "0.85")
			d.maybe(50, "beta2", "0.95", "0.999")
			d.maybe(50, "epsilon", "1e-8", "1e-15")
			return
		}
		d.maybe(30, "momentum", "0.8", "0")
	})
}

func (d *drawing) schedule() {
	kind := pick(d, "cosine", "cosine", "linear", "wsd", "constant")
	d.block(fmt.Sprintf("schedule %q", kind), func() {
		if d.chance(15) {
			d.line("warmup_tokens = %d", sized(d, []int{1_000_000_000}, []int{2 * d.batch * d.length}))
		} else {
			d.maybe(70, "warmup_steps", fmt.Sprint(sized(d, []int{100, 10}, []int{1, 2})))
		}
		if kind == "constant" {
			return
		}
		d.maybe(60, "minimum_learning_rate", "3e-5")
		if d.chance(15) {
			d.line("decay_tokens = %d", sized(d, []int{3_000_000_000}, []int{2 * d.batch * d.length}))
		} else {
			d.maybe(30, "decay_steps", fmt.Sprint(sized(d, []int{500}, []int{1, 2, 3})))
		}
		if kind == "wsd" {
			d.maybe(70, "decay_shape", `"linear"`, `"cosine"`, `"exponential"`, `"minus_sqrt"`)
		}
	})
}

func (d *drawing) data() {
	if d.small {
		d.smallData()
		return
	}
	format := d.suits([]string{"mock", "megatron", "megatron", "tokens", "jsonl"}, map[string][]string{"megatron": {"mock", "megatron", "megatron"}})
	d.block("data", func() {
		if format == "mock" {
			d.line("mock = true")
			return
		}
		d.line("format = %q", format)
		for i := range pick(d, 1, 1, 2, 3) {
			d.block(fmt.Sprintf(`source "s%d"`, i), func() {
				d.line(`path = "/data/a b/%d"`, i)
				d.maybe(70, "weight", "0.7", "2")
			})
		}
		d.maybe(30, "workers", "1", "4")
		d.maybe(20, "cache_path", `"/data/cache"`)
		d.maybe(15, "reset_position_ids", "true")
		d.maybe(20, "document_mask", "true")
		d.reading(format)
	})
}

func (d *drawing) reading(format string) {
	if d.chance(40) {
		own := d.chance(30)
		if !own {
			d.line(`split = "98,1,1"`)
		}
		d.block("validation", func() {
			if own {
				d.line(`path = "/data/valid"`)
			}
			d.line("interval = 200")
			d.line("steps = 10")
		})
	}
	kind := pick(d, "huggingface", "huggingface", "none", "sentencepiece", "tiktoken")
	if format == "jsonl" {
		kind = "huggingface"
	}
	d.block(fmt.Sprintf("tokenizer %q", kind), func() {
		if kind != "none" {
			d.line(`path = "/data/tokenizer"`)
		}
		if d.framework != "megatron" || d.chance(5) {
			d.maybe(60, "end_of_document_id", "0", "2")
		}
	})
}

func (d *drawing) start() {
	if d.small {
		return
	}
	from := d.suits([]string{"scratch", "scratch", "scratch", "checkpoint", "huggingface"}, map[string][]string{"megatron": {"scratch", "checkpoint"}})
	if from == "scratch" {
		return
	}
	d.block("start", func() {
		d.line("from = %q", from)
		d.line(`path = "/models/start"`)
		if from != "checkpoint" {
			return
		}
		if d.chance(50) { // the weights alone
			d.line("reset_optimizer = true")
			d.line("reset_schedule = true")
			d.line("reset_data = true")
			return
		}
		d.maybe(10, "reset_optimizer", "true")
		d.maybe(10, "reset_schedule", "true")
		d.maybe(10, "reset_data", "true")
	})
}

func (d *drawing) checkpoint() {
	d.block("checkpoint", func() {
		if d.small {
			d.line("path = %q", fmt.Sprint(d.folder, "/saved-", d.r.IntN(1e9)))
			d.maybe(80, "interval", "2", `"30m"`, `"auto"`)
		} else {
			d.line(`path = "/checkpoints/$${USER}/run"`)
			d.maybe(80, "interval", "500", `"30m"`, `"auto"`)
		}
		d.maybe(20, "keep_last", d.suits([]string{"3"}, map[string][]string{"megatron": {"1"}}))
		if d.framework == "megatron" || d.chance(5) {
			d.maybe(15, "save_optimizer", "false")
		}
		d.maybe(30, "async", d.suits([]string{"true"}, map[string][]string{"deepspeed": {"false"}}))
	})
}

func (d *drawing) logging() {
	d.block("logging", func() {
		d.maybe(d.among(60, 100), "interval", "1", fmt.Sprint(d.among(10, 1)))
		d.maybe(d.among(50, map[string]int{"megatron": 50, "torchtitan": 50}[d.framework]), "tensorboard_path", fmt.Sprintf("%q", d.folder+"/logs/tb"))
		for _, name := range []string{"timers", "memory", "norms", "stragglers"} {
			if !d.small || name != "stragglers" { // which asks the GPU for its temperature
				d.maybe(15, name, "true")
			}
		}
		d.maybe(15, "per_rank", "false")
		if d.small {
			return
		}
		if d.chance(30) {
			d.block("wandb", func() {
				d.line(`project = "p"`)
				d.maybe(40, "entity", `"team"`)
				d.maybe(40, "mode", `"offline"`)
			})
		}
		if d.chance(20) {
			d.block("profile", func() {
				d.line("start_step = 10")
				d.line("end_step = 12")
				d.maybe(20, "ranks", `[0]`)
				d.maybe(20, "tool", `"nsys"`, `"torch"`)
			})
		}
	})
}
