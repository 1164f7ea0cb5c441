package megatron

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/backends/megatron"
	language "github.com/ndc-dev/ndc/lang/schema"
)

// settled are words that several options say together, of which complete makes
// those of the language.
var settled = map[string]string{"--cuda-graph-impl": "local", "--fp8-recipe": "mxfp8"}

// TestRows: every row is about an option that a release has, names an argument or
// block of the language with values that it takes, and has a source.
func TestRows(t *testing.T) {
	for name, w := range rows() {
		known := slices.ContainsFunc(megatron.Backend{}.Versions(), func(version string) bool {
			table, _ := megatron.Tables(version)
			return table.Has(name)
		})
		if !known || !strings.HasPrefix(w.Source, "Megatron-LM core_v") || !strings.Contains(w.Source, ".py") {
			t.Errorf("%s: known to a release: %v, source %q", name, known, w.Source)
		}
		if w.Argument == "" && w.Silent == "" || w.Values != nil && w.Says != nil {
			t.Errorf("%s says nothing, or two things", name)
		}
		values := []any{}
		for _, v := range w.Values {
			values = append(values, v)
		}
		if w.Says != nil {
			values = append(values, w.Says)
		}
		if a := Argument(w.Argument); w.Argument != "" && a != nil {
			for _, v := range values {
				if text, isText := v.(string); isText && a.Enum != nil && text != settled[name] && !slices.Contains(a.Enum, text) {
					t.Errorf("%s: %q is no value of %s", name, text, w.Argument)
				}
			}
		} else if b := blockAt(w.Argument); w.Argument != "" && (b == nil || len(b.Labels) == 0 && w.Says != true) {
			t.Errorf("%s: the language has no %s", name, w.Argument)
		} else if w.Argument != "" && w.Says != true {
			for _, v := range values {
				if !slices.Contains(b.Labels, fmt.Sprint(v)) {
					t.Errorf("%s: %v is no label of %s", name, v, w.Argument)
				}
			}
		}
	}
}

// blockAt finds the block of the language at a path of a job or model.
func blockAt(path string) *language.Block {
	b := language.File.Block("job")
	words := strings.Split(path, ".")
	if words[0] == "model" || words[0] == "cluster" {
		b, words = language.File.Block(words[0]), words[1:]
	}
	for _, w := range words {
		if b = b.Block(w); b == nil {
			return nil
		}
	}
	return b
}

// TestFormer: options of earlier releases and forks are none of a release that ndc
// emits for, say one thing and have a source; a job is not pinned by the defaults
// of what they say.
func TestFormer(t *testing.T) {
	for name, w := range former() {
		for _, version := range (megatron.Backend{}).Versions() {
			if table, _ := megatron.Tables(version); table.Has(name) {
				t.Errorf("%s: %s has it", name, version)
			}
		}
		said := 0
		for _, one := range []bool{w.Argument != "", w.Left != "", w.Why != ""} {
			if one {
				said++
			}
		}
		if said != 1 || !strings.Contains(w.Source, ".py") || w.Argument != "" && Argument(w.Argument) == nil {
			t.Errorf("%s: says %d things, source %q", name, said, w.Source)
		}
	}
	for options, want := range map[string]string{
		"":                              "zero_stage=0 precision=bf16 padded=<nil>",
		"--deepspeed":                   "zero_stage=<nil> precision=bf16 padded=<nil>",
		"--deepspeed --zero-stage 1":    "zero_stage=1 precision=bf16 padded=<nil>",
		"--deepspeed --zero-stage 0":    "zero_stage=<nil> precision=bf16 padded=<nil>",
		"--deepspeed --zero-stage 3":    "zero_stage=<nil> precision=bf16 padded=<nil>",
		"--pad-vocab-size-to 250880":    "zero_stage=0 precision=bf16 padded=250880",
		"--fp8-hybrid --data-impl mmap": "zero_stage=0 precision=fp8 padded=<nil>",
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --bf16 "+options)
		get := func(path string) any { v, _ := d.Get(path); return v.Value }
		if got := fmt.Sprintf("zero_stage=%v precision=%v padded=%v", get("constraints.layout.zero_stage"), get("training.precision"), get("model.padded_vocab_size")); got != want {
			t.Errorf("%q: %s, want %s", options, got, want)
		}
	}
}
