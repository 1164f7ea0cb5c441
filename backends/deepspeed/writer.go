package deepspeed

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/diag"
)

// configWriter builds a nested object from paths such as "bf16.enabled", in
// the order of the first mention, and checks every path and value.
type configWriter struct {
	options *schema.Table
	object  render.Object
}

// set writes a key. One that the release does not know, or a value that it
// does not take, is a defect of this package.
func (c *configWriter) set(path string, value any) {
	if p := check(c.options, path, value); p != nil {
		panic("deepspeed: " + p.Error())
	}
	c.object = insert(c.object, strings.Split(path, "."), value)
}

// ifKnown writes a key that some releases lack; those behave as if it had
// this value.
func (c *configWriter) ifKnown(path string, value any) {
	if c.options.Has(path) {
		c.set(path, value)
	}
}

// check tests a key and its value against a table.
func check(t *schema.Table, path string, value any) *schema.Problem {
	switch v := value.(type) {
	case []float64, nil:
		return t.Check(path, "")
	case string:
		return t.Check(path, v)
	case float64:
		return t.Check(path, render.Number(v))
	}
	return t.Check(path, fmt.Sprint(value))
}

// insert sets a value under a path, making objects on the way.
func insert(o render.Object, path []string, value any) render.Object {
	at := -1
	for i := range o {
		if o[i].Key == path[0] {
			at = i
		}
	}
	if at < 0 {
		o = append(o, render.Member{Key: path[0]})
		at = len(o) - 1
	}
	if len(path) == 1 {
		o[at].Value = value
		return o
	}
	inner, _ := o[at].Value.(render.Object)
	o[at].Value = insert(inner, path[1:], value)
	return o
}

// leaves lists the paths of all values.
func leaves(o render.Object, prefix string) []string {
	var all []string
	for _, m := range o {
		if inner, ok := m.Value.(render.Object); ok {
			all = append(all, leaves(inner, prefix+m.Key+".")...)
		} else {
			all = append(all, prefix+m.Key)
		}
	}
	return all
}

// planned are the keys that carry the plan or the job; changing them behind
// its back would make the prediction or run.json wrong.
var planned = []string{
	"train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "gradient_clipping",
	"communication_data_type", "seq_parallel_communication_data_type", "data_types.grad_accum_dtype",
	"optimizer.type", "optimizer.params.lr", "optimizer.params.betas", "optimizer.params.eps", "optimizer.params.weight_decay",
	"bf16.enabled", "fp16.enabled", "zero_optimization.stage", "zero_optimization.zero_hpz_partition_size",
	"zero_optimization.mics_shard_size", "zero_optimization.reduce_bucket_size", "zero_optimization.allgather_bucket_size",
	"zero_optimization.stage3_prefetch_bucket_size", "zero_optimization.stage3_max_live_parameters",
	"zero_optimization.stage3_param_persistence_threshold", "zero_optimization.sub_group_size",
	"zero_optimization.offload_optimizer.device", "zero_optimization.offload_param.device",
	"tensor_parallel.autotp_size", "expert_parallel.enabled", "expert_parallel.autoep_size", "sequence_parallel_size",
}

// extraArguments adds the backend block's extra_args, each KEY.PATH=VALUE with
// a JSON value (a bare word is a string).
func (e *emitter) extraArguments(config render.Object, diags *diag.List) render.Object {
	at := e.job.Sources.Range("backend.extra_args")
	for _, argument := range e.job.Backend.ExtraArgs {
		path, text, ok := strings.Cut(argument, "=")
		if !ok {
			diags.Error(UnknownOption, at, "Extra argument without a value",
				fmt.Sprintf("Extra arguments of DeepSpeed are keys of ds_config.json with a value, such as zero_optimization.round_robin_gradients=true; %q has no \"=\".", argument))
			continue
		}
		value := decode(text)
		if p := check(e.release.options, path, value); p != nil {
			diags.Error(UnknownOption, at, "Extra argument not available in this version", p.Error())
			continue
		}
		if isPlanned(path) {
			diags.Error(PlannedOption, at, "Extra argument contradicts the plan",
				fmt.Sprintf("%s follows from the plan and the job; changing it here would make the prediction wrong. Change the argument of the job that it comes from.", path))
			continue
		}
		config = insert(config, strings.Split(path, "."), value)
	}
	return config
}

func isPlanned(path string) bool {
	for _, p := range planned {
		if p == path {
			return true
		}
	}
	return false
}

// decode reads a JSON value; other text is a string.
func decode(text string) any {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return text
	}
	return v
}
