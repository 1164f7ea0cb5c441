package random

import (
	"fmt"
	"math/rand/v2"
)

// DrawSmall is Draw for jobs that a few cores train in seconds: they ask for nothing that
// only a GPU computes. In the folder lie the data of integration/torchtitan/make_data.py,
// and what the jobs write.
func DrawSmall(r *rand.Rand, framework, version, folder string) string {
	return draw(&drawing{r: r, framework: framework, version: version, small: true, folder: folder})
}

// sized picks from the first values, for a small job from the second.
func sized[T any](d *drawing, large, small []T) T {
	if d.small {
		return pick(d, small...)
	}
	return pick(d, large...)
}

// among is the first number, for a small job the second.
func (d *drawing) among(large, small int) int {
	if d.small {
		return small
	}
	return large
}

func (d *drawing) smallData() {
	d.block("data", func() {
		if d.chance(40) {
			d.line("mock = true")
			return
		}
		d.line(`format = "megatron"`)
		for _, name := range []string{"text", "code"}[:pick(d, 1, 2)] {
			d.block(fmt.Sprintf("source %q", name), func() {
				d.line("path = %q", d.folder+"/data/"+name+"_document")
				d.maybe(70, "weight", "0.7", "2")
			})
		}
		d.maybe(15, "reset_position_ids", "true")
		d.maybe(20, "document_mask", "true")
		if d.chance(40) {
			d.line(`split = "90,10,0"`)
			d.block("validation", func() {
				d.line("interval = 2")
				d.line("steps = 1")
			})
		}
		d.block(`tokenizer "none"`, func() {
			if d.framework != "megatron" {
				d.maybe(60, "end_of_document_id", "0")
			}
		})
	})
}

// smallExecution are options of what runs without a GPU.
func (d *drawing) smallExecution() {
	d.line("compile = false")
	d.maybe(20, "overlap_gradient_reduce", "true", "false")
	d.maybe(20, "overlap_parameter_gather", "true", "false")
	if d.moe {
		d.maybe(30, "moe_dispatcher", `"allgather"`, `"alltoall"`)
	}
	d.maybe(20, "gradient_dtype", `"fp32"`, `"bf16"`)
	d.maybe(20, "cross_entropy", `"fused"`, `"unfused"`)
	d.maybe(15, "loss_chunks", "1", "4", "8")
	d.maybe(15, "reshard_after_forward", "true", "false")
	d.maybe(15, "fully_sharded", "true", "false")
	if d.framework == "deepspeed" {
		d.maybe(15, "attention", `"fused"`, `"unfused"`)
		d.maybe(10, "overlap_tensor_parallel", "true", "false")
		d.maybe(20, "zero_hpz_partition", "1", "2")
		if d.chance(20) {
			d.block("offload", func() { d.line("parameters = true") })
		}
	}
}
