package slurm

import (
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// others are the options of sbatch(1) that leave everything of ndc's as it is.
var others = strings.Fields(`acctg-freq bb bbf begin chdir cluster-constraint clusters comment contiguous core-spec
	cores-per-socket cpu-freq cpus-per-gpu deadline delay-boot extra-node-info gpu-freq gres-flags hint licenses
	mail-type mail-user mcs-label mem-bind mincpus network nice no-kill power prefer priority profile propagate reboot
	sockets-per-node switches thread-spec threads-per-core time-min tmp wckey`)

// TestReservedDirectives: of the options of sbatch, those that override what
// ndc says are refused, by each name that sbatch takes for them.
func TestReservedDirectives(t *testing.T) {
	refused := func(name string) bool {
		j, p, l := example()
		j.Slurm.Directives = []job.Variable{{Name: name, Value: "1"}}
		_, diags := Files(j, p, l)
		return slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.ID == IDReservedDirective })
	}
	for _, name := range others {
		if refused(name) {
			t.Errorf("%s is refused", name)
		}
	}
	for option := range reserved {
		if slices.Contains(others, option) {
			t.Errorf("%s is both", option)
		}
		for n := 1; n <= len(option); n++ {
			if name := option[:n]; isOption(name) && !strings.HasSuffix(name, "-") && !refused(name) {
				t.Errorf("%s, which sbatch reads as %s, is accepted", name, option)
			}
		}
	}
	for _, name := range []string{"job-nam", "gpus", "export", "wrap", "container-image", "ntasks-per", "exclus", "tasks-per-node", "ntasks-per-tres"} {
		if !refused(name) {
			t.Errorf("%s is accepted", name)
		}
	}
}

// TestDirectivesOfOneSubmission: what is of one submission is no matter of a chain, which the job
// may not have, and can be given to sbatch.
func TestDirectivesOfOneSubmission(t *testing.T) {
	j, p, l := example()
	j.Slurm.Directives, j.Slurm.Chain = []job.Variable{{Name: "dependency", Value: "afterok:4711"}}, job.Chain{}
	const want = `The directive "dependency" is of one submission, which may be the first of a chain: write it on the command line, as in sbatch --dependency.`
	if _, diags := Files(j, p, l); len(diags) != 1 || diags[0].Detail != want {
		t.Errorf("%v, want %s", diags, want)
	}
}

// TestOwnDirectives: what ndc writes itself cannot be written again.
func TestOwnDirectives(t *testing.T) {
	j, p, l := example()
	j.Slurm.Directives = nil
	artifacts, _ := Files(j, p, l)
	for line := range strings.Lines(string(artifacts[0].Content)) {
		if option, ok := strings.CutPrefix(line, "#SBATCH --"); ok {
			name, _, _ := strings.Cut(strings.TrimSpace(option), "=")
			if reserved[name] == "" {
				t.Errorf("%s is written and not reserved", name)
			}
		}
	}
}
