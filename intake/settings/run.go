package settings

import (
	"fmt"

	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/tree"
)

// IsRun reports run.json, which ndc writes beside a configuration of DeepSpeed
// for its own training program.
func IsRun(o tree.Object) bool {
	n, ok := find(o, "requires.deepspeed")
	return ok && n.Object() != nil
}

// ReadRun reads run.json, which says what a configuration of DeepSpeed does not.
func ReadRun(d *draft.Draft, file string, root tree.Object) {
	r := (&dialect{kind: DeepSpeedKind, rules: rulesOf("run.jsonl")}).read(d, file, root)
	const schedule, checkpoint = "training.schedule", "training.checkpoint"
	total, start, end := r.whole("training.steps"), r.whole("schedule.decay_start"), r.whole("schedule.decay_end")
	warmup := r.whole("schedule.warmup_steps")
	switch kind := d.Text(schedule); {
	case kind == "wsd":
		r.set(schedule+".decay_steps", total-start)
	case kind != "constant" && end < total:
		r.set(schedule+".decay_steps", end-warmup)
	}
	if warmup == 0 {
		d.Remove(schedule + ".warmup_steps")
	}
	if low := r.number("schedule.minimum_learning_rate", 0); low > 0 {
		r.set(schedule+".minimum_learning_rate", low)
	}
	if steps := r.whole("checkpoint.interval_steps"); steps > 0 {
		r.set(checkpoint+".interval", steps)
	} else if seconds := r.whole("checkpoint.interval_seconds"); seconds > 0 && d.Has(checkpoint+".path") {
		r.set(checkpoint+".interval", fmt.Sprintf("%ds", seconds))
	}
	if !d.Has(checkpoint + ".path") {
		d.RemoveBlock(checkpoint)
	}
	if !d.Has("training.start.path") {
		d.RemoveBlock("training.start")
	}
	if !d.Has("training.data.tokenizer") {
		d.RemoveBlock("training.data.tokenizer")
	}
}

// whole is a key's whole number; 0 where it has none.
func (r *reading) whole(path string) int64 { return int64(r.number(path, 0)) }

// sources reads what a run is trained on.
func sources(r *reading, k key, _ *rule) outcome {
	list, _ := k.Value.([]tree.Node)
	for _, n := range list {
		name, _ := n.Object().Find("name")
		path, _ := n.Object().Find("path")
		weight, _ := n.Object().Find("weight")
		block := draft.Labelled("training.data.source", name.Text())
		r.d.Set(block+".path", path.Text(), r.at(k))
		if f, ok := weight.Float(); ok && len(list) > 1 {
			r.d.Set(block+".weight", f, r.at(k))
		}
	}
	if len(list) == 0 {
		return left("nothing to say")
	}
	return outcome{to: "training.data.source"}
}

// recomputed reads how many layers are run again.
func recomputed(r *reading, k key, _ *rule) outcome {
	const layout = "constraints.layout."
	n, ok := k.Int()
	switch {
	case !ok || n < 0:
		return unknown("no number of layers")
	case n == 0:
		r.d.Set(layout+"recompute", "none", r.at(k))
	default:
		r.d.Set(layout+"recompute", "full", r.at(k))
		if n < r.d.Int("model.layers") {
			r.d.Set(layout+"recompute_method", "block", r.at(k))
			r.d.Set(layout+"recompute_layers", n, r.at(k))
		}
	}
	return outcome{to: layout + "recompute"}
}
