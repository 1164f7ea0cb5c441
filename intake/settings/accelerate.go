package settings

import (
	"github.com/ndc-dev/ndc/backends/deepspeed"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/tree"
)

// IsAccelerate reports a configuration of Hugging Face's accelerate whose engine is
// DeepSpeed.
func IsAccelerate(o tree.Object) bool {
	n, ok := o.Find("distributed_type")
	return ok && n.Text() == "DEEPSPEED"
}

// ReadAccelerate reads such a configuration, which names a file of DeepSpeed's or says
// the few things that accelerate makes one of (utils/dataclasses.py: DeepSpeedPlugin).
// alone is that no such file was read before; version is a release, "" the newest.
func ReadAccelerate(d *draft.Draft, file, version string, root tree.Object, alone bool) {
	r := (&dialect{kind: DeepSpeedKind, rules: rulesOf("accelerate.jsonl")}).read(d, file, root)
	processes(d, max(r.whole("num_machines"), 1), r.whole("num_processes"), r.at(r.given["num_processes"]))
	if _, named := r.given["deepspeed_config.deepspeed_config_file"]; !alone || named {
		return
	}
	versions := deepspeed.Backend{}.Versions()
	if table, _ := deepspeed.Tables(version); table == nil {
		version = versions[len(versions)-1]
	}
	r.set(draft.Labelled("backend", DeepSpeedKind)+".version", version)
	d.Default("constraints.layout.zero_stage", int64(2), draft.Place{})
	d.Default("execution.offload.optimizer", false, draft.Place{})
	d.Default("execution.offload.parameters", false, draft.Place{})
}

// processes sets nodes and GPUs by the processes of all machines, one for each GPU.
// Nothing is known of what is not above zero.
func processes(d *draft.Draft, machines, all int64, at draft.Place) {
	if machines > 0 {
		d.Set("cluster.nodes", machines, at)
	}
	if all > 0 && all%max(machines, 1) == 0 {
		d.Set("cluster.gpus_per_node", all/max(machines, 1), at)
	}
}

// engine reads what accelerate says to an engine or a compiler that is not DeepSpeed.
func engine(_ *reading, k key, _ *rule) outcome {
	if o, ok := k.Value.(tree.Object); nothing(k.Node) || ok && len(o) == 0 {
		return left("it says nothing")
	}
	return unknown("another engine's, or what no job of DeepSpeed has")
}
