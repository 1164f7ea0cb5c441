package settings

import (
	"path"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends/deepspeed"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/launcher"
	"github.com/ndc-dev/ndc/intake/tree"
)

// IsAccelerate reports a configuration of Hugging Face's accelerate whose engine is
// DeepSpeed.
func IsAccelerate(o tree.Object) bool {
	n, ok := o.Find("distributed_type")
	return ok && n.Text() == "DEEPSPEED"
}

// ReadAccelerate reads such a configuration, which names a file of DeepSpeed's or says
// the few things that accelerate makes one of (utils/dataclasses.py: DeepSpeedPlugin), and
// the options of the command that starts it, which count before it. A nil root is that there
// are these alone. alone is that no file of DeepSpeed's was read before, of which accelerate
// fills in what is "auto", and the precision where there is none; version is a release, ""
// the newest.
func ReadAccelerate(d *draft.Draft, file, version string, root tree.Object, alone bool, options ...Option) {
	x := &dialect{kind: DeepSpeedKind, rules: rulesOf("accelerate.jsonl")}
	said := map[string]draft.Value{}
	for _, u := range x.rules {
		if v, ok := d.Get(u.Argument); ok && !alone && (u.Argument != "training.precision" || v.Place != draft.Place{}) {
			said[u.Argument] = v
		}
	}
	found := len(d.Findings)
	r := x.read(d, file, root, options...)
	for i := range d.Findings[found:] {
		f := &d.Findings[found+i]
		if v, ok := said[f.To]; ok && f.Verdict == draft.Mapped {
			d.Put(f.To, v)
			f.Verdict, f.To, f.Why = draft.Left, "", "the configuration of DeepSpeed says it, which counts before"
		}
		if slices.ContainsFunc(options, func(o Option) bool { return o.key.at == f.Place && o.key.path == f.Name }) {
			f.Name = "--" + strings.TrimPrefix(f.Name, block)
		}
	}
	if root != nil {
		processes(d, max(r.whole("num_machines"), 1), r.whole("num_processes"), r.at(r.given["num_processes"]))
	}
	if _, named := r.given[block+"deepspeed_config_file"]; !alone || named {
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
	kept(d)
}

// block holds, in accelerate's file, what is of DeepSpeed.
const block = "deepspeed_config."

// AccelerateOptions are the options of accelerate launch among the words of a command that
// its file may say, too; whole is that they start DeepSpeed and name no file.
func AccelerateOptions(words []Word) (all []Option, whole bool) {
	launch := AccelerateLaunch(words)
	if launch < 0 {
		return nil, false
	}
	words = words[launch+1:]
	if program := Program(words); program > 0 {
		words = words[:program]
	}
	known, named := rulesOf("accelerate.jsonl"), false
	for _, o := range spelledOptions(words) {
		name := strings.ReplaceAll(o.name, "-", "_")
		whole, named = whole || name == "use_deepspeed", named || strings.HasSuffix(name, "config_file")
		if known[block+name] != nil {
			name = block + name
		} else if u := known[name]; name != "mixed_precision" && (u == nil || u.Refused == "") {
			continue // how processes are started
		}
		k := key{path: name, at: o.at, open: o.open}
		text := strings.Join(o.values, " ")
		k.Value = numeral(text, text)
		all = append(all, Option{k})
	}
	return all, whole && !named
}

// AccelerateLaunch is the place of the last word that names accelerate's launcher, behind which its
// options stand; -1 where the words do not start it. It has a command of its own, too.
func AccelerateLaunch(words []Word) int {
	for i, w := range words {
		if launcher.Of(w.Text) == launcher.Accelerate ||
			w.Text == "launch" && i > 0 && path.Base(words[i-1].Text) == "accelerate" {
			return i
		}
	}
	return -1
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
