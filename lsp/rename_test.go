package lsp

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// team is a folder of jobs with tests and variables beside, and a module that it calls.
var team = map[string]string{
	"w/base/base.hcl": `variable "size" {
  type    = number
  default = 8
}

output "double" {
  value = var.size * 2
}

model "tiny" {
  base = catalog.model.debug
}

job "pre.train" {
  model = model.tiny
}
`,
	"w/job.hcl": `variable "nodes" {
  default = 1
}

locals {
  size  = 4
  sizes = [for size in [1, 2] : size]
  local = [for local in [{ size = 3 }] : local.size]
}

cluster "ours" {
  base  = catalog.cluster.dgx_h100
  nodes = var.nodes # not var.nodes of others
}

module "base" {
  source = "./base"
  size   = local.size
}

job "sweep" {
  count   = 2
  base    = module.base.job["pre.train"]
  cluster = cluster.ours

  training {
    global_batch_size = module.base.double * var.nodes
    steps             = 1

    checkpoint {
      path = "/checkpoints/${local.size}-${var.nodes}"
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
}

policy "p" {
  condition     = plan.run.steps == job.training.steps
  error_message = "${var.nodes}"
}
`,
	"w/other.hcl":          "module \"grid\" {\n  for_each = { a = 1 }\n  source   = \"./base\"\n  size     = var.nodes\n}\n\nmodel \"small\" {\n  base = module.grid[\"a\"].model.tiny\n}\n",
	"w/jobs.ndctest.hcl":   "run \"r\" {\n  job = \"sweep-1\"\n\n  variables {\n    nodes = 2\n  }\n  assert {\n    condition     = var.nodes == 2 && job.nodes == 2\n    error_message = \"no\"\n  }\n}\n",
	"w/more.auto.ndcvars":  "nodes = 2\n",
	"w/elsewhere/size.hcl": "variable \"size\" {}\n",
}

// TestRename: what is renamed has the new name in every file, and nothing else has.
func TestRename(t *testing.T) {
	for _, c := range []struct {
		file, at, to string
		want         map[string][]string // by file: each text that is gone, and what stands there
	}{
		{"w/job.hcl", "variable \"no‸des", "hosts", map[string][]string{
			"w/job.hcl":           {`variable "nodes"`, `variable "hosts"`, "= var.nodes # not", "= var.hosts # not", "* var.nodes", "* var.hosts", "-${var.nodes}", "-${var.hosts}", `"${var.nodes}"`, `"${var.hosts}"`},
			"w/other.hcl":         {"var.nodes", "var.hosts"},
			"w/jobs.ndctest.hcl":  {"    nodes = 2", "    hosts = 2", "var.nodes ==", "var.hosts =="},
			"w/more.auto.ndcvars": {"nodes", "hosts"},
		}},
		{"w/job.hcl", "* var.no‸des", "hosts", nil}, // as above
		{"w/job.hcl", "  size‸  =", "length", map[string][]string{"w/job.hcl": {"  size  = 4", "  length  = 4", "= local.size\n", "= local.length\n", "/${local.size}", "/${local.length}"}}},
		{"w/job.hcl", "  si‸ze   = local", "width", map[string][]string{
			"w/job.hcl":       {"  size   = local", "  width   = local"},
			"w/other.hcl":     {"  size     = var", "  width     = var"},
			"w/base/base.hcl": {`"size"`, `"width"`, "var.size", "var.width"},
		}},
		{"w/base/base.hcl", "model.ti‸ny", "v1-2", map[string][]string{
			"w/base/base.hcl": {`"tiny"`, `"v1-2"`, "model.tiny", "model.v1-2"},
			"w/other.hcl":     {".tiny", ".v1-2"},
		}},
		{"w/base/base.hcl", "output \"dou‸ble", "twice", map[string][]string{
			"w/base/base.hcl": {`"double"`, `"twice"`},
			"w/job.hcl":       {"module.base.double", "module.base.twice"},
		}},
		{"w/job.hcl", `job["pre.tr‸ain"]`, "v2.0", map[string][]string{
			"w/base/base.hcl": {`"pre.train"`, `"v2.0"`},
			"w/job.hcl":       {`job["pre.train"]`, `job["v2.0"]`},
		}},
		{"w/job.hcl", "job \"swe‸ep", "grid", map[string][]string{"w/job.hcl": {`"sweep"`, `"grid"`}, "w/jobs.ndctest.hcl": {"sweep-1", "grid-1"}}},
		{"w/other.hcl", "module.gr‸id", "many", map[string][]string{"w/other.hcl": {`"grid"`, `"many"`, "module.grid", "module.many"}}},
	} {
		files := fstest.MapFS{}
		for name, text := range team {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		e := edit(t, files, Options{})
		before, after, _ := strings.Cut(c.at, mark)
		at := at("/"+c.file, newText(team[c.file]).position(strings.Index(team[c.file], before+after)+len(before)))
		e.open("/"+c.file, team[c.file])
		var found *renamed
		e.ask("textDocument/prepareRename", at, &found)
		at["newName"] = c.to
		var made workspaceEdit
		e.ask("textDocument/rename", at, &made)
		if found == nil || len(made.Changes) == 0 {
			t.Errorf("%s: nothing to rename", c.at)
			continue
		}
		if c.want == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(team)) {
			want := strings.NewReplacer(c.want[name]...).Replace(team[name])
			got := newText(team[name])
			edits := made.Changes[uriOf("/"+name)]
			slices.SortFunc(edits, func(a, b textEdit) int { return got.offset(b.Range.Start) - got.offset(a.Range.Start) })
			for _, e := range edits {
				got = got.changed([]contentChange{{Range: &e.Range, Text: e.NewText}})
			}
			if got.content != want {
				t.Errorf("%s to %s: %s is\n%s\nwant\n%s", c.at, c.to, name, got.content, want)
			}
		}
	}
}

// TestNotRenamed: a name that something has, that the language refuses, or that
// nobody may edit.
func TestNotRenamed(t *testing.T) {
	for _, c := range []struct{ text, to, want string }{
		{"locals {\n  tok‸ens2 = 1\n}", "tokens", "already defined"},
		{"job \"x‸\" {\n}", "a b", "is no name"},
		{"model \"x‸\" {\n  base = catalog.model.debug\n}", "a.b", "not a name"},
		{"model \"x\" {\n  base = catalog.model.deb‸ug\n}", "y", "Nothing"},
		{"model \"x\" {\n  ba‸se = catalog.model.debug\n}", "y", "Nothing"},
		{"policy \"x\" {\n  condition = job.bi‸g\n}\njob \"big\" {}", "y", "Nothing"},
		{"# va‸r", "y", "Nothing"},
		{"module \"x‸\" {\n  source = \"./x.zip\"\n}", "grid", "another module"},
	} {
		content, p := cursor(t, c.text)
		e := edit(t, shared, Options{})
		e.open(jobFile, content)
		at := at(jobFile, p)
		at["newName"] = c.to
		var made *workspaceEdit
		if err := e.try("textDocument/rename", at, &made); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q to %q: %v, %+v", c.text, c.to, err, made)
		}
	}
}
