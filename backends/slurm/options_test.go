package slurm

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/lang/job"
)

// TestGrammars: the file of grammars is of options that the job may set.
func TestGrammars(t *testing.T) {
	for name, g := range grammars() {
		if option, owner := ownedBy(name); option != "" {
			t.Errorf("%s follows from %s", name, owner)
		}
		if o := optionOf()[name]; o.Name == "" || o.SBatch != (g.Pattern != "") || g.Write == "" || g.Source == "" {
			t.Errorf("%+v of %+v", g, o)
		}
		if _, err := regexp.Compile(g.Pattern); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRefused: what sbatch 22.05.8 took of these passes, and what it refused is told at
// the directive; lists of gres-flags are taken since 23.11. Of three options it passed over
// what it did not know.
func TestRefused(t *testing.T) {
	for name, values := range map[string][2][]string{
		"acctg-freq":   {{"30", "task=30", "task=30,energy=20", "0", ","}, {"foo", "task=x"}},
		"begin":        {{"now+1hour", "now + 90", "16:00", "4:00pm", "2027-12-01", "2027-12-01T12:34:00", "2027-12-01 10:00", "12/31", "1231", "noon tomorrow", "uts1234567890"}, {"monday", "4pm", "now+1h", "now+", "24:00", "2027-13-01", "2027-1-5", "in 3 hours"}},
		"comment":      {{"true", "a b"}, {""}},
		"contiguous":   {{"", "true"}, {"yes", "false"}},
		"core-spec":    {{"0", "4"}, {"-1", "4k"}},
		"deadline":     {{"now+1day"}, {"1-00:00:00"}},
		"delay-boot":   {{"30"}, {"30s"}},
		"distribution": {{"block", "cyclic:block", "*:block", "block:block:fcyclic,Pack", "pack", "arbitrary", "plane=4", "plane"}, {"rr", "fcyclic", "block,foo", "plane=0", "arbitrary:block"}},
		"gres-flags":   {{"Enforce-Binding", "disable-binding", "enforce-binding,one-task-per-sharing"}, {"enforce"}},
		"hint":         {{"NoMultithread", "compute_bound,nomultithread"}, {"fast", "help"}},
		"cpu-freq":     {{"high", "lo", "2400000", "low-high", "low-high:Performance", "Performance", "SchedUtil"}, {"hgh", "0", "2.4GHz", "2400000:performance", "perf:perf", "low-high:fast"}},
		"gpu-freq":     {{"high", "1410", "memory=900,1410", "low,verbose", "verbose"}, {"High", "1410MHz", "memory=hgh", "gpu:1410"}},
		"licenses":     {{"lic:4", "lic,iopsstor:3", "lic;iopsstor", "matlab@server:2", "lic:"}, {"lic:abc", "lic:4x", "lic:1:2", "lic: a"}},
		"mail-type":    {{"end", "END,FAIL", "END,,FAIL", "TIME_LIMIT_90", "NONE"}, {"", "FINISH", "END,FIAL"}},
		"mem-bind":     {{"local", "quiet,local", "nosort,local", "map_mem:0,1", "mask_mem:0x1,0x2"}, {"locl", "map_mem", "local rank"}},
		"mincpus":      {{"8"}, {"0", "x"}},
		"mpi":          {nil, {"pmix"}},
		"nice":         {{"", "-5", "+3"}, {"abc", "10.5", "99999999999"}},
		"prefer":       {{"a100&ib"}, {"a100 & ib"}},
		"priority":     {{"100", "TOP"}, {"-1", "high", "99999999999"}},
		"profile":      {{"All", "task,energy"}, {"gpu"}},
		"propagate":    {{"", "ALL", "MEMLOCK,NOFILE", "RLIMIT_AS"}, {"memlock", "ALL,CORE"}},
		"switches":     {{"1", "1@10:00"}, {"0", "one", "1.5"}},
		"time-min":     {{"30", "1:00:00", "23:59:59", "1440", "1-0"}, {"1h", "30m", "1:", "1441", "1-00:01", "24:00:01", "INFINITE", "-1", "0"}},
		"tmp":          {{"10G", "10gb", "500"}, {"10 GB", "1.5T", "10P"}},
	} {
		for refusal, list := range values {
			for _, value := range list {
				j, p, l := example()
				j.Slurm.Directives = []job.Variable{{Name: name, Value: value}}
				_, diags := Files(j, p, l)
				if told := len(diags) == 1 && diags[0].ID == IDDirectiveValue && strings.Contains(diags[0].Detail, `"`+name+`"`); told != (refusal == 1) {
					t.Errorf("%s = %q: %v", name, value, diags)
				}
			}
		}
	}
}

// TestTrueValue: of an option that wants a value, "true" is one.
func TestTrueValue(t *testing.T) {
	j, p, l := example()
	j.Slurm.Directives = []job.Variable{{Name: "comment", Value: "true"}, {Name: "contiguous", Value: "true"}}
	var script string
	for _, f := range files(t, j, p, l).Files {
		if strings.HasSuffix(f.Name, ".sbatch") {
			script = string(f.Data)
		}
	}
	if !strings.Contains(script, "\n#SBATCH --comment=true\n#SBATCH --contiguous\n") {
		t.Error(script)
	}
}
