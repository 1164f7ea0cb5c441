package lang

import (
	"fmt"
	"strings"
	"testing"
)

// TestSitePolicies: the policies of a site, and those of the module that it is
// in, hold for the jobs at that site, whoever says that they are, and for no
// others.
func TestSitePolicies(t *testing.T) {
	policy := func(name string) string {
		return "policy \"" + name + "\" {\n condition = plan.feasible && job.site != \"\"\n error_message = \"No.\"\n}\n"
	}
	site := func(name string) string {
		return "site \"" + name + "\" {\n cluster = catalog.cluster.single_gpu\n" + policy("site_"+name) + "}\n"
	}
	job := func(name, text string) string {
		return strings.NewReplacer("job \"j\"", "job \""+name+"\"", "cluster = catalog.cluster.single_gpu", text).Replace(minimal("", "", "steps = 10"))
	}
	fsys := files(
		"job.hcl", policy("root")+site("own")+"module \"sites\" {\n source = \"./sites\"\n}\n"+
			job("a", "site = module.sites.site.alps")+job("b", "site = site.own")+job("c", "cluster = catalog.cluster.single_gpu")+"job \"d\" {\n base = job.a\n}\n",
		"sites/s.hcl", policy("module")+site("alps")+site("lab")+"module \"deep\" {\n source = \"./deep\"\n}\n",
		"sites/deep/d.hcl", policy("deep"),
	)
	for _, c := range []struct{ job, site, want string }{
		{"a", "", "root module deep site_alps"},
		{"b", "", "root site_own"},
		{"c", "", "root"},
		{"d", "", "root module deep site_alps"},
		{"c", "lab", "root module deep site_lab"},
		{"c", "own", "root site_own"},
		{"b", "alps", "root module deep site_alps"},
	} {
		o := Options{Job: c.job}
		if c.site != "" {
			o.Sites = []string{c.site}
		}
		w, diags := Load(fsys, "job.hcl", o)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		var got []string
		for _, p := range w.loader.policies[0] {
			got = append(got, p.block.Labels[0])
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s at %q: the policies %s apply, want %s", c.job, c.site, s, c.want)
		}
	}
	_, diags := Load(files("job.hcl", "site \"x\" {\n"+policy("twice")+policy("twice")+"policy {\n}\npolicy \"p\" {\n condition = plan.nothing\n error_message = \"no\"\n}\n}\n"+job("c", "cluster = catalog.cluster.single_gpu")), "job.hcl", Options{})
	var ids []string
	for _, d := range diags {
		ids = append(ids, string(d.ID))
	}
	if s := strings.Join(ids, " "); s != "duplicate-block invalid-label unknown-reference" {
		t.Error(diags)
	}
}

// TestIdlePolicies: who calls a module for its policies alone is told that they hold for
// no job; a module that one job takes anything of, or the site of the command line, is not
// called in vain.
func TestIdlePolicies(t *testing.T) {
	const guard = "policy \"thrift\" {\n condition = plan.feasible\n error_message = \"No.\"\n}\noutput \"limit\" {\n value = 10\n}\n"
	const call = "module \"guard\" {\n source = \"./guard\"\n}\n"
	demand := "policy \"root\" {\n condition = plan.run.steps <= module.guard.limit\n error_message = \"No.\"\n}\n"
	site := "site \"lab\" {\n cluster = catalog.cluster.single_gpu\n}\n"
	for name, c := range map[string]struct {
		top, guard, steps, site string
		idle                    bool
	}{
		"not at all":         {call, guard, "10", "", true},
		"by a policy":        {call + demand, guard, "10", "", true},
		"by a job":           {call, guard, "module.guard.limit", "", false},
		"by a local of it":   {call + "locals {\n n = module.guard.limit\n}\n", guard, "local.n", "", false},
		"by the asked site":  {call, guard + site, "10", "lab", false},
		"by no asked site":   {call, guard + site, "10", "", true},
		"inside of another":  {"module \"outer\" {\n source = \"./outer\"\n}\n", guard, "10", "", true},
		"without a policy":   {call, "output \"limit\" {\n value = 10\n}\n", "10", "", false},
		"one element of two": {"module \"guard\" {\n source = \"./guard\"\n count = 2\n}\n", guard, "module.guard[1].limit", "", false},
	} {
		o := Options{}
		if c.site != "" {
			o.Sites = []string{c.site}
		}
		_, diags := Load(files("job.hcl", minimal(c.top, "", "steps = "+c.steps), "guard/g.hcl", c.guard,
			"outer/o.hcl", call, "outer/guard/g.hcl", c.guard), "job.hcl", o)
		if idle := len(diags) == 1 && diags[0].ID == IdlePolicy && strings.Contains(diags[0].Detail, "(thrift)"); idle != c.idle || !idle && len(diags) > 0 {
			t.Errorf("used %s: %v", name, diags)
		}
	}
}

// TestSiteOverridden: a job named at one site and built for another has nothing
// of the first.
func TestSiteOverridden(t *testing.T) {
	src := "site \"a\" {\n environment = { A = \"1\" }\n values = { v = 10 }\n}\nsite \"b\" {\n environment = { B = \"1\" }\n values = { v = 20 }\n}\n" +
		minimal("", "site = site.a", "steps = here.v")
	for asked, want := range map[string]string{"": "[{A 1}] 10", "b": "[{B 1}] 20"} {
		o := Options{}
		if asked != "" {
			o.Sites = []string{asked}
		}
		j := mustLoad(t, files("job.hcl", src), "job.hcl", o)[0]
		if got := fmt.Sprint(j.Slurm.Environment, j.Training.Steps); got != want {
			t.Errorf("at %q: %s, want %s", asked, got, want)
		}
	}
}
