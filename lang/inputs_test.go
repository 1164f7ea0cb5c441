package lang

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestInputs: the files of a job are those that say something of it, however
// far behind one another, and no others of the folder; a file alone has the
// same ones.
func TestInputs(t *testing.T) {
	const job = `
  cluster = catalog.cluster.single_gpu
  training {
    global_batch_size = 8
    steps             = 1
    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "torchtitan" {
    version = "0.3.0"
  }
}
`
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"jobs/a.hcl":          `job "a" {` + "\n model = model.small" + job,
		"jobs/b.hcl":          `job "b" {` + "\n model = module.shared.model.big" + job,
		"jobs/c.hcl":          `job "c" {` + "\n model = catalog.model.debug" + job,
		"jobs/models.hcl":     "model \"small\" {\n base = catalog.model.debug\n sequence_length = local.length\n}\n",
		"jobs/locals.hcl":     "locals {\n length = var.length * local.sizes[\"one\"]\n}\n",
		"jobs/sizes.hcl":      "locals {\n sizes = { one = 1 }\n}\nvariable \"length\" {}\n",
		"jobs/x.auto.ndcvars": "length = 512\n",
		"jobs/module.hcl":     "module \"shared\" {\n source = \"../shared\"\n}\n",
		"jobs/ndc.lock.hcl":   "# no job\n",
		"shared/a.hcl":        "model \"big\" {\n base = catalog.model.debug\n}\n",
		"shared/b.hcl":        "output \"x\" {\n value = 1\n}\n",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	w, diags := Load(files, "jobs", Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	want := map[string][]string{
		"a": {"jobs/a.hcl", "jobs/locals.hcl", "jobs/models.hcl", "jobs/sizes.hcl", "jobs/x.auto.ndcvars"},
		"b": {"jobs/b.hcl", "jobs/module.hcl", "shared/a.hcl", "shared/b.hcl"},
		"c": {"jobs/c.hcl"},
	}
	for i := range w.Jobs {
		if diff := cmp.Diff(want[w.Jobs[i].Name], w.Inputs(&w.Jobs[i])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", w.Jobs[i].Name, diff)
		}
	}
	w, diags = Load(files, "jobs/c.hcl", Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if diff := cmp.Diff(want["c"], w.Inputs(&w.Jobs[0])); diff != "" {
		t.Error(diff)
	}
}

// TestInputsBesideModules: what a site reads beside the files of its module is an
// input of the jobs there alone, whichever jobs are asked for.
func TestInputsBesideModules(t *testing.T) {
	const job = `
  base  = module.sites.job.base
  model = catalog.model.debug
`
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"jobs/a.hcl": `job "a" {` + job + " site = module.sites.site.measured\n}\n",
		"jobs/b.hcl": `job "b" {` + job + " site = module.sites.site.plain\n}\n",
		"jobs/m.hcl": "module \"sites\" {\n source = \"../sites\"\n}\n",
		"sites/sites.hcl": `
site "measured" {
  cluster     = catalog.cluster.single_gpu
  calibration = "x.ndccal.json"
}
site "plain" {
  cluster = catalog.cluster.single_gpu
  templates {
    after_launch = file("after.tmpl")
  }
}
job "base" {
  training {
    global_batch_size = 8
    steps             = 1
    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "torchtitan" {
    version = "0.3.0"
  }
}
`,
		"sites/x.ndccal.json": `{"format_version": "1.0", "gpu": "h100_sxm", "terms": [{"term": "linear", "after": {"mean": 0.1}}], "covariance": [[0.01]]}`,
		"sites/after.tmpl":    "true\n",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	want := map[string][]string{
		"a": {"jobs/a.hcl", "jobs/m.hcl", "sites/sites.hcl", "sites/x.ndccal.json"},
		"b": {"jobs/b.hcl", "jobs/m.hcl", "sites/sites.hcl"},
	}
	for _, asked := range []string{"", "a", "b"} {
		w, diags := Load(files, "jobs", Options{Job: asked})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		for i := range w.Jobs {
			if diff := cmp.Diff(want[w.Jobs[i].Name], w.Inputs(&w.Jobs[i])); diff != "" {
				t.Errorf("%s of %q (-want +got):\n%s", w.Jobs[i].Name, asked, diff)
			}
		}
	}
}
