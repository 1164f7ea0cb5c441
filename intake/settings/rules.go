package settings

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/intake/tree"
	language "github.com/ndc-dev/ndc/lang/schema"
)

// rule says what keys of a configuration are, beyond what the backend's table
// of options does: one line of a data file. One of argument, call, left, refused
// and now says what becomes of the keys.
type rule struct {
	Keys     []string       `json:"keys"`
	Argument string         `json:"argument"` // of the job, which the value says as it stands
	Values   map[string]any `json:"values"`   // what words say instead; null: nothing to say
	When     []string       `json:"when"`     // another key and the value that it must have for this one to say anything
	Says     map[string]any `json:"says"`     // arguments of the job that the key's being there settles
	Call     string         `json:"call"`     // a function of this package that reads the value
	Whole    bool           `json:"whole"`    // an object is read as one value
	Left     string         `json:"left"`     // why a job has nothing to say of it
	Refused  string         `json:"refused"`  // why no job can say it, or no other of the values
	Now      string         `json:"now"`      // the key's later name
	Only     []string       `json:"only"`     // values with which the file is one that is read
	Other    string         `json:"other"`    // why a file with another value is none
	Unless   []string       `json:"unless"`   // keys that say instead whether the file is one, where they are there
	Default  any            `json:"default"`  // what the argument is where nothing is said
	Program  map[string]any `json:"program"`  // arguments that the program which has the keys has other defaults of; null: that nobody knows
	Source   string         `json:"source"`   // where the framework says so
}

//go:embed accelerate.jsonl flavors.jsonl run.jsonl torchtitan.jsonl trainer.jsonl torchtitan_printed.jsonl deepspeed.jsonl
var files embed.FS

// rules are those of a file by the keys that they are for; *.NAME is every key of
// that name that has none of its own.
type rules map[string]*rule

func (u rules) of(path string) *rule {
	if r := u[path]; r != nil {
		return r
	}
	return u["*."+path[strings.LastIndexByte(path, '.')+1:]]
}

var loaded sync.Map // of rules, by file

// rulesOf are the rules of a data file.
func rulesOf(name string) rules {
	if all, ok := loaded.Load(name); ok {
		return all.(rules)
	}
	src, err := files.ReadFile(name)
	if err != nil {
		panic("settings: " + err.Error())
	}
	all := rules{}
	for _, r := range facts.Lines[*rule]("settings: "+name, string(src)) {
		if r.Source == "" || r.Call != "" && calls()[r.Call] == nil {
			panic(fmt.Sprintf("settings: %s: no source or call of %q", name, r.Keys))
		}
		for _, k := range r.Keys {
			all[k] = r
		}
	}
	loaded.Store(name, all)
	return all
}

// calls are the functions that read what no value says as it stands.
func calls() map[string]func(*reading, key, *rule) outcome {
	return map[string]func(*reading, key, *rule) outcome{
		"later": later, "off": off, "norm": norm, "shard": shard, "schedule": schedule, "stages": stages, "selective": selective, "converters": converters, "mixed": mixed, "grouped": grouped,
		"cut": cut, "filtered": filtered, "flavor": flavor, "imported": imported, "tensorboard": tensorboard, "traced": traced,
		"betas": betas, "cosine_floor": cosineFloor, "zero": zero, "adam_mode": adamMode, "cased": cased, "offload": offload, "device": device,
		"sources": sources, "recomputed": recomputed, "folder": folder,
		"agrees": agrees, "present": present, "counted": counted, "family": architecture, "window": window, "balance": balance, "initial": initial,
		"groups": groups, "implementation": implementation, "varlen": varlen, "engine": engine, "instead": instead, "loaded": started, "published": published, "clipping": clipping, "unlimited": unlimited,
	}
}

// ruled reads a key by its rule.
func (r *reading) ruled(k key, u *rule) outcome {
	if u.When != nil {
		if n := r.given[u.When[0]]; word(n.Node) != u.When[1] {
			return left("it is not in use")
		}
	}
	for _, path := range slices.Sorted(maps.Keys(u.Says)) {
		r.set(path, typed(path, u.Says[path]))
	}
	switch {
	case u.Call != "":
		return calls()[u.Call](r, k, u)
	case u.Left != "":
		return left(u.Left)
	case r.table == nil && k.Value == nil:
		return left("none")
	case u.Refused != "" && u.Values == nil:
		return unknown(u.Refused)
	case u.Values == nil && r.table == nil && nothing(k.Node):
		return left("nothing to say")
	case u.Values == nil && k.Value == nil:
		return left("none")
	case u.Values == nil:
		return r.plain(k, u.Argument)
	}
	v, ok := u.Values[word(k.Node)]
	switch {
	case !ok:
		r.label(k, u.Argument, k.Text())
		return unknown(cmp.Or(u.Refused, "no value of "+u.Argument))
	case v == nil:
		return left("nothing to say")
	}
	r.d.Set(u.Argument, typed(u.Argument, v), r.at(k))
	return outcome{to: u.Argument}
}

// word is a value as the data files spell it.
func word(n tree.Node) string {
	if on, ok := n.Truth(); ok {
		return fmt.Sprint(on)
	}
	switch v := n.Value.(type) {
	case nil:
		return "null"
	case json.Number:
		return v.String()
	}
	return n.Text()
}

// typed is a value of a data file as a draft has it.
func typed(path string, v any) any {
	f, ok := v.(float64)
	if a, _ := language.At(path); ok && (a == nil || a.Type != language.Number) {
		return int64(f)
	}
	return v
}

// nothing reports null, false, empty text and an empty list.
func nothing(n tree.Node) bool {
	list, isList := n.Value.([]tree.Node)
	return n.Value == nil || n.Value == false || n.Value == "" || isList && len(list) == 0
}

// later leaves a key to what is settled when all keys are read.
func later(_ *reading, _ key, u *rule) outcome { return outcome{to: u.Argument} }

// unlimited reads a number that is none where it is not above 0, as of the Trainer's steps,
// which passes over the data count then (training_args.py: max_steps).
func unlimited(r *reading, k key, u *rule) outcome {
	if f, ok := k.Float(); ok && f <= 0 {
		return left("passes over the data count")
	}
	return r.plain(k, u.Argument)
}

// folder reads a path that ndc appends the backend's name to.
func folder(r *reading, k key, u *rule) outcome {
	path, ok := strings.CutSuffix(k.Text(), "/"+r.kind)
	switch {
	case path == "":
		return left("nothing to say")
	case !ok:
		return unknown("the backend's name is appended to it, and is not there")
	}
	r.d.Set(u.Argument, path, r.at(k))
	return outcome{to: u.Argument}
}
