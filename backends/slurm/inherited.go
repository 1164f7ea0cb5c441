package slurm

import (
	"slices"
	"strings"
)

// inherited are variables that srun reads as options and that Slurm sets in an
// allocation for what was asked there. sbatch hands on those of an allocation
// that it is called in, and sets anew only what its own job asks for. Without
// them a step has the memory, the GPUs and the CPUs of its job. Those of Slurm
// 22.05 to 25.05, from srun(1), salloc(1) and sbatch(1).
var inherited = []string{
	"SLURM_CPU_BIND", "SLURM_CPU_BIND_LIST", "SLURM_CPU_BIND_TYPE", "SLURM_CPU_BIND_VERBOSE",
	"SLURM_GPUS", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_SOCKET", "SLURM_GPUS_PER_TASK", "SLURM_GPU_BIND",
	"SLURM_MEM_PER_CPU", "SLURM_MEM_PER_GPU", "SLURM_MEM_PER_NODE",
	"SLURM_NTASKS_PER_CORE", "SLURM_NTASKS_PER_GPU", "SLURM_NTASKS_PER_SOCKET",
	"SLURM_TRES_BIND", "SLURM_TRES_PER_TASK",
}

// askedFor are variables of that kind that are the job's own where it has the directive.
var askedFor = []struct{ variable, directive string }{
	{"SLURM_CPUS_PER_GPU", "--cpus-per-gpu"},
	{"SLURM_CPUS_PER_TASK", "--cpus-per-task"},
}

// foreign lists the variables that can only be another allocation's, for a job
// with these directives and these lines of its site.
func foreign(directives []string, header *override) []string {
	text := strings.Join(directives, "\n")
	if header != nil {
		text += "\n" + header.Text
	}
	names := slices.Clone(inherited)
	for _, a := range askedFor {
		if !strings.Contains(text, a.directive) {
			names = append(names, a.variable)
		}
	}
	slices.Sort(names)
	return names
}
