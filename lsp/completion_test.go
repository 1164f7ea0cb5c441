package lsp

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// shared is what lies beside the files of the tests below.
var shared = fstest.MapFS{
	"w/shared.hcl": {Data: []byte(`variable "nodes" {
  type    = number
  default = 4
}

locals {
  tokens = 2e12
}

model "big" {
  base = catalog.model.llama3_70b
}

module "base" {
  source = "./base"
}

module "grid" {
  source   = "./base"
  for_each = { a = 1 }
}
`)},
	"w/base/m.hcl": {Data: []byte(`variable "size" {}

output "batch" {
  value = 512
}

model "tiny" {
  base = catalog.model.debug
}

job "v1.2" {
}

job "many" {
  count = 2
}
`)},
}

// TestCompletion: at a place all that may stand there is offered, and nothing else.
func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string // offered
		not        []string
	}{
		{"top", "‸", []string{"job", "model", "locals", "policy"}, []string{"training"}},
		{"top, a word of it", "jo‸", []string{"job"}, nil},
		{"body", "job \"x\" {\n  ‸\n}", []string{"model", "cluster", "training", "backend", "slurm"}, []string{"gpu"}},
		{"what is written is not offered", "job \"x\" {\n  model = model.big\n  training {}\n  backend \"megatron\" {}\n  ‸\n}", []string{"cluster", "backend"}, []string{"model", "training"}},
		{"no brace closes", "job \"x\" {\n  training {\n    optimizer \"adamw\" {\n      be‸", []string{"beta1", "learning_rate"}, []string{"momentum"}},
		{"a list above is open", "job \"x\" {\n  constraints {\n    layout {\n      recompute = [\"none\",\n      tensor_parallel = 4\n      pipe‸\n", []string{"pipeline_parallel"}, []string{"tensor_parallel"}},
		{"a quote above is open", "job \"x\" {\n  training {\n    precision = \"bf16\n    se‸\n  }\n}", []string{"seed"}, []string{"precision"}},
		{"a brace above is missing", "job \"x\" {\n  training {\n\nmodel \"y\" {\n  hid‸\n}", []string{"hidden_size"}, []string{"optimizer"}},
		{"label", "job \"x\" {\n  training {\n    optimizer \"‸\" {\n", []string{"adamw", "muon"}, nil},
		{"label, no quotes yet", "job \"x\" {\n  backend ‸", []string{"megatron", "deepspeed"}, nil},
		{"closed set", "job \"x\" {\n  training {\n    precision = ‸\n  }\n}", []string{"bf16", "mxfp8", "var"}, nil},
		{"closed set in quotes", "job \"x\" {\n  training {\n    precision = \"m‸\"\n  }\n}", []string{"bf16", "mxfp8"}, []string{"var"}},
		{"in a list", "job \"x\" {\n  constraints {\n    layout {\n      recompute = [\"none\", \"‸\"]", []string{"selective", "full"}, nil},
		{"version", "job \"x\" {\n  backend \"megatron\" {\n    version = \"‸\"\n  }\n}", []string{"core_v0.19.2", "core_v0.18.2"}, nil},
		{"bool", "job \"x\" {\n  training {\n    data {\n      mock = ‸", []string{"true", "false"}, nil},
		{"model", "job \"x\" {\n  model = ‸\n}", []string{"model.big", "module.base.model.tiny", "catalog.model.llama3_8b"}, []string{"catalog.gpu.h200"}},
		{"an element of a module gives it", "job \"x\" {\n  model = ‸\n}", []string{"module.grid[\"KEY\"].model.tiny"}, []string{"module.grid.model.tiny"}},
		{"a base", "job \"x\" {\n  base = ‸\n}", []string{"module.base.job[\"v1.2\"]", "job.x"}, []string{"module.base.job.many", "module.base.job.v1.2"}},
		{"no base", "job \"x\" {\n  base = job.‸\n}\njob \"y\" {\n  for_each = {}\n}", []string{"x"}, []string{"y"}},
		{"kinds of the catalogue", "job \"x\" {\n  model = catalog.‸\n}", []string{"model", "gpu", "cluster"}, nil},
		{"names of the catalogue", "job \"x\" {\n  model = catalog.model.lla‸\n}", []string{"llama3_8b"}, []string{"h200"}},
		{"attributes", "locals {\n  x = catalog.model.llama3_8b.‸\n}", []string{"hidden_size", "moe"}, []string{"base"}},
		{"attributes within", "locals {\n  x = catalog.cluster.dgx_h100.network.‸\n}", []string{"bandwidth", "rails"}, nil},
		{"attributes of a gpu of a cluster", "locals {\n  x = catalog.cluster.dgx_h100.gpu.‸\n}", []string{"memory"}, nil},
		{"variables", "locals {\n  x = var.‸\n}", []string{"nodes"}, nil},
		{"locals", "locals {\n  x = local.‸\n}", []string{"tokens"}, nil},
		{"in a template", "locals {\n  x = \"a-${var.‸}\"\n}", []string{"nodes"}, nil},
		{"in a call", "locals {\n  x = max(1, local.‸)\n}", []string{"tokens"}, nil},
		{"functions", "locals {\n  x = ma‸\n}", []string{"max", "merge"}, nil},
		{"module", "locals {\n  x = module.‸\n}", []string{"base"}, nil},
		{"what a module gives", "locals {\n  x = module.base.‸\n}", []string{"batch", "model", "job"}, []string{"site"}},
		{"its blocks", "locals {\n  x = module.base.model.‸\n}", []string{"tiny"}, nil},
		{"an element's", "locals {\n  x = module.grid[\"a\"].‸\n}", []string{"batch", "model"}, nil},
		{"inputs", "module \"other\" {\n  source = \"./base\"\n  ‸\n}", []string{"size", "version"}, []string{"source"}},
		{"plan", "policy \"p\" {\n  condition = plan.run.‸\n}", []string{"gpu_hours", "steps"}, nil},
		{"the planned job", "policy \"p\" {\n  condition = job.training.‸\n}", []string{"global_batch_size", "optimizer"}, nil},
		{"its model", "policy \"p\" {\n  condition = job.model.moe.‸\n}", []string{"experts"}, nil},
		{"the other jobs", "locals {\n  x = job.‸\n}", nil, []string{"training"}},
		{"no file of anybody", strings.Repeat("# long\n", 200000) + "jo‸", nil, []string{"job"}},
		{"for_each", "job \"x\" {\n  for_each = { a = 1 }\n  training {\n    seed = each.‸", []string{"key", "value"}, nil},
		{"comment", "job \"x\" {\n  # tr‸\n}", nil, []string{"training"}},
		{"behind a value", "job \"x\" {\n  model = model.big ‸\n}", nil, []string{"training", "var"}},
		{"an unknown block", "jobs \"x\" {\n  ‸\n}", nil, []string{"training"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			content, p := cursor(t, c.text)
			e := edit(t, shared, Options{})
			e.open(jobFile, content)
			var list completionList
			e.ask("textDocument/completion", at(jobFile, p), &list)
			got := labels(list.Items)
			for _, want := range c.want {
				if !slices.Contains(got, want) {
					t.Errorf("no %q among %q", want, got)
				}
			}
			for _, unwanted := range c.not {
				if slices.Contains(got, unwanted) {
					t.Errorf("%q is offered", unwanted)
				}
			}
		})
	}
}

// TestInserted: what is offered replaces the word that was begun.
func TestInserted(t *testing.T) {
	for _, c := range []struct{ text, label, want string }{
		{"job \"x\" {\n  tra‸\n}", "training", "job \"x\" {\n  training {\n\t$0\n}\n}"},
		{"job \"x\" {\n  mo‸\n}", "model", "job \"x\" {\n  model = \n}"},
		{"job \"x\" {\n  mo‸del = 1\n}", "model", "job \"x\" {\n  model = 1\n}"},
		{"job \"x\" {\n  training {\n    precision = b‸\n  }\n}", "bf16", "job \"x\" {\n  training {\n    precision = \"bf16\"\n  }\n}"},
		{"job \"𝛁\" {\n  training {\n    optimizer \"ad‸\" {}\n  }\n}", "adamw", "job \"𝛁\" {\n  training {\n    optimizer \"adamw\" {}\n  }\n}"},
		{"job \"x\" {\n  model = catalog.model.‸\n}", "debug", "job \"x\" {\n  model = catalog.model.debug\n}"},
		{"job \"x\" {\n  backend ‸\n}", "megatron", "job \"x\" {\n  backend \"megatron\"\n}"},
		{"job \"x\" {\n  base = module.base.job.‸\n}", "v1.2", "job \"x\" {\n  base = module.base.job[\"v1.2\"]\n}"},
		{"job \"x\" {\n  base = module.base.job.v1‸\n}", "v1.2", "job \"x\" {\n  base = module.base.job[\"v1.2\"]\n}"},
		{"job \"x\" {\n  model = mod‸\n}", "module.grid[\"KEY\"].model.tiny", "job \"x\" {\n  model = module.grid[\"${1:KEY}\"].model.tiny\n}"},
	} {
		content, p := cursor(t, c.text)
		e := edit(t, shared, Options{})
		e.open(jobFile, content)
		var list completionList
		e.ask("textDocument/completion", at(jobFile, p), &list)
		i := slices.Index(labels(list.Items), c.label)
		if i < 0 {
			t.Errorf("%q: no %s among %q", c.text, c.label, labels(list.Items))
			continue
		}
		made := list.Items[i].TextEdit
		if got := newText(content).changed([]contentChange{{Range: &made.Range, Text: made.NewText}}).content; got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
}

// TestHover: a word is explained with its type, its default and what a change of it does.
func TestHover(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string // parts of it; nil: nothing is told
	}{
		{"job \"x\" {\n  train‸ing {}\n}", []string{"**training** (block)", "What is learned"}},
		{"job \"x\" {\n  training {\n    global_batch‸_size = 1\n  }\n}", []string{"count, required", "Sequences per optimizer step", "`convergence`"}},
		{"job \"x\" {\n  slurm {\n    ti‸me = 1\n  }\n}", []string{"duration", `"30m"`, "`launch`"}},
		{"job \"x\" {\n  training {\n    precision = \"bf‸16\"\n  }\n}", []string{"Values: `bf16`, `fp16`", "Default: `\"bf16\"`"}},
		{"job \"x\" {\n  training {\n    optimizer \"ad‸amw\" {}\n  }\n}", []string{"update rule", "`muon`"}},
		{"cluster \"x\" {\n  base = catalog.cluster.dgx_‸h100\n}", []string{"nics_per_node", "sources"}},
		{"locals {\n  x = var.no‸des\n}", []string{"variable \"nodes\"", "default = 4"}},
		{"locals {\n  x = lo‸cal.tokens\n}", []string{"tokens = 2e12"}},
		{"locals {\n  x = module.base.model.ti‸ny\n}", []string{"catalog.model.debug"}},
		{"locals {\n  x = catalog.model.llama3_8b.hidden‸_size\n}", []string{"**hidden_size**"}},
		{"locals {\n  x = m‸ax(1, 2)\n}", []string{"max(numbers"}},
		{"module \"base\" {\n  source = \"./base\"\n  si‸ze = 1\n}", []string{"variable \"size\""}},
		{"locals {\n  x = var.mis‸sing\n}", nil},
		{"# jo‸b", nil},
		{"", nil},
	} {
		content, p := c.text, position{}
		if c.text != "" {
			content, p = cursor(t, c.text)
		}
		e := edit(t, shared, Options{})
		e.open(jobFile, content)
		var found *hover
		e.ask("textDocument/hover", at(jobFile, p), &found)
		if found == nil {
			if c.want != nil {
				t.Errorf("%q: nothing is told", c.text)
			}
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(found.Contents.Value, part) {
				t.Errorf("%q: no %q in\n%s", c.text, part, found.Contents.Value)
			}
		}
		if c.want == nil {
			t.Errorf("%q: told\n%s", c.text, found.Contents.Value)
		}
	}
}

// TestDefinition: a reference leads to where its name is declared, in any file.
func TestDefinition(t *testing.T) {
	for _, c := range []struct{ text, uri, at string }{
		{"locals {\n  x = var.no‸des\n}", "file:///w/shared.hcl", "nodes"},
		{"locals {\n  x = va‸r.nodes\n}", "file:///w/shared.hcl", "nodes"},
		{"locals {\n  x = local.tok‸ens * 2\n}", "file:///w/shared.hcl", "tokens"},
		{"job \"x\" {\n  model = model.big‸\n}", "file:///w/shared.hcl", "big"},
		{"locals {\n  x = mod‸ule.base.model.tiny\n}", "file:///w/shared.hcl", "base"},
		{"locals {\n  x = module.base.model.ti‸ny\n}", "file:///w/base/m.hcl", "tiny"},
		{"locals {\n  x = module.base.ba‸tch\n}", "file:///w/base/m.hcl", "batch"},
		{"locals {\n  x = module.grid[\"a\"].ba‸tch\n}", "file:///w/base/m.hcl", "batch"},
		{"module \"base\" {\n  source = \"./base\"\n  si‸ze = 1\n}", "file:///w/base/m.hcl", "size"},
		{"module \"other\" {\n  source = \"./ba‸se\"\n}", "file:///w/base/m.hcl", ""},
		{"job \"x\" {\n  model = catalog.model.llama‸3_8b\n}", "file:///cache/model/llama3_8b.hcl", ""},
		{"model \"a\" {\n}\n\nmodel \"b\" {\n  base = model.a‸\n}", "file:///w/job.hcl", "a"},
		{"locals {\n  x = var.mis‸sing\n}", "", ""},
	} {
		content, p := cursor(t, c.text)
		e := edit(t, shared, Options{})
		e.open(jobFile, content)
		var found []location
		e.ask("textDocument/definition", at(jobFile, p), &found)
		if c.uri == "" || len(found) == 0 {
			if c.uri != "" || len(found) > 0 {
				t.Errorf("%q: got %+v, want %s", c.text, found, c.uri)
			}
			continue
		}
		src := content
		if f := shared[strings.TrimPrefix(c.uri, "file:///")]; f != nil {
			src = string(f.Data)
		}
		lines := newText(src)
		name := ""
		if c.at != "" {
			name = src[lines.offset(found[0].Range.Start):lines.offset(found[0].Range.End)]
		}
		if found[0].URI != c.uri || name != c.at {
			t.Errorf("%q: got %q at %+v", c.text, name, found[0])
		}
	}
}
