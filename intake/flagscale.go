package intake

import (
	"encoding/json"
	"path"
	"regexp"
	"strconv"

	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/megatron"
	"github.com/ndc-dev/ndc/intake/shell"
	"github.com/ndc-dev/ndc/intake/tree"
)

// entrypoint is the key of the program that FlagScale starts (FlagScale da4935ec,
// flagscale/runner/runner_train.py).
const entrypoint = "experiment.task.entrypoint"

// experiment is the file that FlagScale is started with, as an object; nil of another one. Its
// options stand in a file that its defaults name.
func experiment(f File) tree.Object {
	switch path.Ext(f.Name) {
	case ".yaml", ".yml":
	default:
		return nil
	}
	n, err := tree.YAML(f.Content)
	if _, ok := at(n.Object(), entrypoint); err != nil || !ok {
		return nil
	}
	return n.Object()
}

var interpolation = regexp.MustCompile(`\$\{experiment(?:\.\w+)+\}`)

var plainScalar = regexp.MustCompile(`^[\w./-]+$`)

// interpolated are options of FlagScale with what its experiment says in the place of the names of that.
func interpolated(options []byte, e tree.Object) []byte {
	return interpolation.ReplaceAllFunc(options, func(name []byte) []byte {
		n, ok := at(e, string(name[2:len(name)-1]))
		text := string(name)
		switch v := n.Value.(type) {
		case nil:
			if ok {
				text = "null"
			}
		case bool:
			text = strconv.FormatBool(v)
		case json.Number:
			text = string(v)
		case string:
			if plainScalar.MatchString(v) {
				text = v
			}
		}
		return []byte(text)
	})
}

// started takes what the experiment of FlagScale says of the run whose options are read: the
// program, which it returns, nodes and GPUs, and the environment. Without one it is named what
// is not known then.
func (in *intake) started(options File) (shell.Word, tree.Object) {
	for _, f := range in.files {
		e := experiment(f)
		if e == nil {
			continue
		}
		program, _ := at(e, entrypoint)
		for _, option := range [][2]string{{"nnodes", "cluster.nodes"}, {"nproc_per_node", "cluster.gpus_per_node"}} {
			key, to := option[0], option[1]
			if n, ok := at(e, "experiment.runner."+key); ok {
				if count, is := n.Int(); is && count > 0 {
					place := draft.Place{File: f.Name, Line: n.Line}
					in.d.Default(to, count, place)
					in.d.Find(draft.Finding{Place: place, Name: key, Value: n.String(), Verdict: draft.Mapped, To: to})
				}
			}
		}
		var environment []shell.Export
		envs, _ := at(e, "experiment.envs")
		for _, m := range envs.Object() {
			environment = append(environment, shell.Export{Name: m.Key, Value: shell.Word{Text: m.Text(), Line: m.Line}})
		}
		in.exports(f.Name, &shell.Script{Exports: environment})
		return shell.Word{Text: program.Text(), File: f.Name, Line: program.Line}, e
	}
	const why = "which program of FlagScale trains with these options is known where the file whose defaults name this one is given too"
	in.d.Find(draft.Finding{Place: draft.Place{File: options.Name, Line: 1}, Name: entrypoint, Verdict: draft.Unknown, Why: why})
	in.d.Note("", options.Name+": "+why+"; it may train another model than a GPT")
	return shell.Word{}, nil
}

// isExperiment reports a file that says with the options among the files how FlagScale runs.
func isExperiment(f File, all []File) bool {
	if experiment(f) == nil {
		return false
	}
	for _, o := range all {
		if isRecipe(o) && megatron.IsFlagScale(o.Content) {
			return true
		}
	}
	return false
}
