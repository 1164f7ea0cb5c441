package lang

import (
	"strings"
	"testing"
)

// TestApplying: the policies of a module hold for the jobs that take anything
// from it, however far behind other names, and for no others.
func TestApplying(t *testing.T) {
	const policy = `policy "NAME" {
  condition     = plan.feasible
  error_message = "No."
}
`
	named := func(name string) string { return strings.ReplaceAll(policy, "NAME", name) }
	const rest = `
  cluster = catalog.cluster.single_gpu
  training {
    global_batch_size = 8
    steps             = 10
    optimizer "adamw" {
      learning_rate = 1e-3
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
	modules := map[string]string{
		"models/m.hcl": named("models") + `
variable "layers" {
  default = 2
}
model "m" {
  base   = catalog.model.debug
  layers = var.layers
}
output "size" {
  value = 8
}
`,
		"outer/m.hcl": named("outer") + `
module "inner" {
  source = "./inner"
}
model "m" {
  base = catalog.model.debug
}
`,
		"outer/inner/m.hcl": named("inner"),
		"jobs/m.hcl": named("jobs") + `
job "j" {
  model = catalog.model.debug` + rest,
	}
	for _, c := range []struct{ name, blocks, job, want string }{
		{"nothing", `module "models" { source = "./models" }`, "job \"x\" {\n model = catalog.model.debug" + rest, "root"},
		{"a model", `module "models" { source = "./models" }`, "job \"x\" {\n model = module.models.model.m" + rest, "root models"},
		{"through a local", "module \"models\" {\n source = \"./models\"\n}\nlocals {\n a = local.b\n b = module.models.size\n}", "job \"x\" {\n model = catalog.model.debug" + strings.Replace(rest, "= 8", "= local.a", 1), "root models"},
		{"through a model", "module \"models\" {\n source = \"./models\"\n}\nmodel \"mine\" {\n base = module.models.model.m\n}", "job \"x\" {\n model = model.mine" + rest, "root models"},
		{"a module in it", "module \"outer\" {\n source = \"./outer\"\n}", "job \"x\" {\n model = module.outer.model.m" + rest, "root outer inner"},
		{"an input", "module \"models\" {\n source = \"./models\"\n}\nmodule \"more\" {\n source = \"./models\"\n layers = module.outer.model.m.layers\n}\nmodule \"outer\" {\n source = \"./outer\"\n}", "job \"x\" {\n model = module.more.model.m" + rest, "root outer inner models"},
		{"an element", "module \"models\" {\n source = \"./models\"\n for_each = { a = 2, b = 3 }\n layers = each.value\n}", "job \"x\" {\n model = module.models[\"a\"].model.m" + rest, "root models"},
		{"any element", "module \"models\" {\n source = \"./models\"\n for_each = { a = 2, b = 3 }\n layers = each.value\n}\nlocals {\n k = \"b\"\n}", "job \"x\" {\n model = module.models[local.k].model.m" + rest, "root models models"},
		{"a base", "module \"jobs\" {\n source = \"./jobs\"\n}", "job \"x\" {\n base = module.jobs.job.j\n}\n", "root jobs"},
		{"a base of a base", "module \"jobs\" {\n source = \"./jobs\"\n}\njob \"y\" {\n base = module.jobs.job.j\n}", "job \"x\" {\n base = job.y\n}\n", "root jobs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := []string{"job.hcl", named("root") + strings.Replace(c.blocks, "{ source = \"./models\" }", "{\n source = \"./models\"\n}", 1) + "\n" + c.job}
			for name, text := range modules {
				all = append(all, name, text)
			}
			w, diags := Load(files(all...), "job.hcl", Options{Job: "x"})
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			var got []string
			for _, p := range w.loader.policies[0] {
				got = append(got, p.block.Labels[0])
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("the policies %s apply, want %s", s, c.want)
			}
		})
	}
}
