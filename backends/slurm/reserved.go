package slurm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Who sets what slurm.directives may not.
const (
	byCluster = "the cluster's nodes and gpus_per_node"
	byLayout  = "the layout and slurm.launcher: one task for each node, which starts a rank for each GPU, or one for each GPU"
	byChain   = "the chain, which submits and counts its own jobs"
	byScripts = "the scripts, which rely on it"
	byCall    = "the command line of sbatch" // of one submission
)

// reserved are directives that follow from the job and the plan, that would
// take back what another directive of ndc says, or that would make sbatch do
// something else than submit the script. Those of Slurm 22.05 to 25.05, from
// sbatch(1) and, of tasks-per-node and ntasks-per-tres, src/common/slurm_opt.c.
var reserved = map[string]string{
	"nodes": "cluster.nodes", "use-min-nodes": "cluster.nodes", "spread-job": "cluster.nodes",
	"ntasks": byLayout, "ntasks-per-node": byLayout, "ntasks-per-gpu": byLayout, "ntasks-per-socket": byLayout, "ntasks-per-core": byLayout, "ntasks-per-tres": byLayout, "tasks-per-node": byLayout, "overcommit": byLayout,
	"gres": "slurm.gpus_directive", "gpus-per-node": "slurm.gpus_directive", "gpus": byCluster, "gpus-per-socket": byCluster, "gpus-per-task": byCluster,
	"tres-per-task": byCluster, "tres-bind": byLayout, "gpu-bind": byLayout,
	"job-name": "the job's label", "account": "slurm.account", "partition": "slurm.partition", "qos": "slurm.qos", "time": "slurm.time",
	"reservation": "slurm.reservation", "nodelist": "slurm.nodelist", "nodefile": "slurm.nodelist", "exclude": "slurm.exclude",
	"constraint": "slurm.constraint", "cpus-per-task": "slurm.cpus_per_task", "mem": "slurm.memory", "mem-per-cpu": "slurm.memory", "mem-per-gpu": "slurm.memory",
	"exclusive": "slurm.exclusive", "oversubscribe": "slurm.exclusive", "share": "slurm.exclusive", "requeue": "slurm.requeue", "no-requeue": "slurm.requeue", "segment": "slurm.segment", "signal": "slurm.signal",
	"output": "slurm.log_path", "error": "slurm.log_path", "open-mode": byScripts, "input": byScripts, "wait-all-nodes": byScripts,
	"export": "slurm.environment and slurm.env_file", "export-file": "slurm.environment and slurm.env_file", "get-user-env": "slurm.environment and slurm.env_file",
	"container": "slurm.container", "container-id": "slurm.container", "container-image": "slurm.container", "container-mounts": "slurm.container",
	"container-name": "slurm.container", "container-workdir": "slurm.container", "container-mount-home": "slurm.container", "no-container-mount-home": "slurm.container",
	"array": byChain, "dependency": byCall, "kill-on-invalid-dep": byCall, "parsable": byCall, "wait": byCall, "hold": byCall,
	"wrap": byScripts, "test-only": byScripts, "ignore-pbs": byScripts, "help": byScripts, "usage": byScripts, "version": byScripts, "quiet": byScripts, "verbose": byScripts,
	"uid": byScripts, "gid": byScripts, "batch": byScripts, "het-group": byScripts, "external": byScripts,
}

// ownedBy returns the reserved option that sbatch would read a name as, and
// whose it is. sbatch takes every beginning of an option for the option, as
// all programs that use getopt_long.
func ownedBy(name string) (option, owner string) {
	if owner := reserved[name]; owner != "" {
		return name, owner
	}
	for _, option := range slices.Sorted(maps.Keys(reserved)) {
		if strings.HasPrefix(option, name) {
			return option, reserved[option]
		}
	}
	return "", ""
}

// elsewhere says where an option is said that is reserved.
func elsewhere(option, owner string) string {
	if owner == byCall {
		return fmt.Sprintf("is of one submission, which may be the first of a chain: write it on the command line, as in sbatch --%s", option)
	}
	return "follows from " + owner + "; change it there"
}
