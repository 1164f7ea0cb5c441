package slurm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/compiler/goodput"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// Check reports the errors of a job's slurm block and environment that no plan
// mends, so that nobody waits for a search first: the scripts are made ready for a
// plan that says nothing yet. What they warn of is told when they are made.
func Check(j *job.Job) diag.List {
	var found diag.List
	p, l := &plan.Plan{}, Launch{CheckpointPath: j.Training.Checkpoint.Path}
	checkTemplates(j, &found)
	checkJob(j, l, &found)
	directives(j, p, l, &found)
	settings(j, p, l, &found)
	return slices.DeleteFunc(found, func(d diag.Diagnostic) bool { return d.Severity != diag.Error })
}

// checkJob reports what Slurm or the scripts cannot honour.
func checkJob(j *job.Job, l Launch, diags *diag.List) {
	if j.Slurm.Chain.IsSet() && l.CheckpointPath == "" {
		diags.Error(IDChainWithoutCheckpoint, j.Sources.Range("slurm.chain"), "A chain needs checkpoints",
			"Each link of a chain resumes from the last checkpoint and is judged by it, but the job has no training.checkpoint block. Add one, or remove chain.")
	}
	checkSetup(j, diags)
	if s := j.Slurm.Segment; s > 0 && j.Cluster.Nodes%s != 0 {
		diags.Error(IDSegmentDoesNotDivide, j.Sources.Range("slurm.segment"), "Segment does not divide the nodes",
			fmt.Sprintf("Slurm places a job in whole segments: %s cannot be cut into segments of %d. Use a divisor of %d.", units.Count(j.Cluster.Nodes, "node"), s, j.Cluster.Nodes))
	}
	if r := j.Slurm.Container.Runtime; j.Slurm.Container.Image != "" && !slices.Contains([]string{"", "pyxis", "apptainer"}, r) {
		diags.Error(IDContainerRuntime, j.Sources.Range("slurm.container.runtime"), "Unknown container runtime",
			fmt.Sprintf("%q is not a container runtime that the scripts can use; choose \"pyxis\" or \"apptainer\".", r))
	}
	if t, window := j.Slurm.Time, goodput.Window(j); t > 0 && window <= 0 {
		diags.Error(IDTimeLimitTooShort, j.Sources.Range("slurm.time"), shortSummary,
			fmt.Sprintf("Start-up and the last checkpoint need %s, and the limit is %s. Ask for more time.", t-window, t))
	}
}

// checkSetup reports lines of slurm.setup that take in the script's own: a quote, a
// compound command or a here-document without its end. Several elements may make one
// command.
func checkSetup(j *job.Job, diags *diag.List) {
	problem, line := render.CheckShell(strings.Join(j.Slurm.Setup, "\n") + "\n")
	if problem == "" {
		return
	}
	path := "slurm.setup"
	for i, element := range j.Slurm.Setup {
		if line -= 1 + strings.Count(element, "\n"); line <= 0 {
			path = fmt.Sprintf("slurm.setup[%d]", i)
			break
		}
	}
	diags.Error(IDSetup, j.Sources.Range(path), "The lines of setup are no complete shell script",
		fmt.Sprintf("They stand in launch.sh as they are, before lines of its own: %s.", problem))
}

// checkCores tells of an optimizer that runs on the host while nobody said on
// how many cores: it gets one for each rank, and so does the plan.
func checkCores(j *job.Job, p *plan.Plan, diags *diag.List) {
	if p.Execution.OffloadOptimizer && j.CoresPerNode() == 0 {
		diags.Warn(IDHostCoresUnknown, j.Sources.Range("cluster"), "The cores of a node are not known",
			fmt.Sprintf("The optimizer runs on the host, and neither cluster.cpus_per_node nor slurm.cpus_per_task says on how many cores. The plan and OMP_NUM_THREADS take one for each rank of a node, %d. Set cpus_per_node.", j.Cluster.GPUsPerNode))
	}
}

// ownVariables are set by the scripts.
var ownVariables = append([]string{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "SRUN_CPUS_PER_TASK", "CHECKPOINT_PATH"}, passed...)

// mpiType is how srun starts MPI (srun(1)). No allocation sets it, and sbatch has
// no directive for it.
const mpiType = "SLURM_MPI_TYPE"

func checkVariable(j *job.Job, path, name string, diags *diag.List) {
	at := j.Sources.Range(path)
	if !render.IsName(name) {
		diags.Error(IDVariableName, at, "Invalid variable name",
			fmt.Sprintf("%q cannot name an environment variable: use letters, digits and underscores, not starting with a digit.", name))
		return
	}
	if slices.Contains(ownVariables, name) || strings.HasPrefix(name, "SLURM_") && name != mpiType {
		diags.Error(IDReservedVariable, at, "Variable is set by the scripts",
			fmt.Sprintf("%s comes from the allocation when the job runs; a fixed value would break the rendezvous or the checks. Remove it.", name))
	} else if why := taken(name); why != "" {
		diags.Error(IDReservedVariable, at, "Variable is set by the scripts",
			fmt.Sprintf("%s is a variable that %s. Set it in the program, or under another name.", name, why))
	}
}

// sharedSettings are the variables that every torch job wants: a flight
// recorder that dumps on a hang, and an allocator that does not fragment.
func sharedSettings(j *job.Job, p *plan.Plan, l Launch) []Setting {
	return []Setting{
		AllocatorSetting(l.Torch),
		{"TORCH_NCCL_DUMP_ON_TIMEOUT", render.Literal("1"), "writes the flight recorder when a collective hangs"},
		{"TORCH_NCCL_TRACE_BUFFER_SIZE", render.Literal("20000"), "collectives that the flight recorder keeps"},
		{"TORCH_NCCL_DEBUG_INFO_TEMP_FILE", render.Shell(`"${NDC_LOG_DIR:-.}/flight-recorder-"`), "where it writes"},
		threads(j, p),
	}
}

// threads is how many cores a rank computes on beside its GPU: one, or its
// share of the node's where the optimizer runs there. The plan's time of such
// an update counts the same cores.
func threads(j *job.Job, p *plan.Plan) Setting {
	n, why := 1, "torchrun's own choice, stated"
	switch cores := j.CoresPerNode(); {
	case p.Execution.OffloadOptimizer && cores == 0:
		why = "the optimizer runs on the host; its cores are not known: cluster.cpus_per_node"
	case p.Execution.OffloadOptimizer:
		n = j.CoresPerRank()
		why = fmt.Sprintf("the optimizer runs on the host: %s over %s", units.Count(cores, "core"), units.Count(j.Cluster.GPUsPerNode, "rank"))
	}
	return Setting{"OMP_NUM_THREADS", render.Literal(strconv.Itoa(n)), why}
}

// AllocatorSetting lets segments of torch's allocator grow, under the name
// that the torch release reads: PYTORCH_ALLOC_CONF since 2.9.
func AllocatorSetting(torch string) Setting {
	name := "PYTORCH_CUDA_ALLOC_CONF"
	if atLeast(torch, 2, 9) {
		name = "PYTORCH_ALLOC_CONF"
	}
	return Setting{name, render.Literal("expandable_segments:True"), "keeps fragmentation small"}
}

// atLeast compares MAJOR.MINOR of a release.
func atLeast(release string, major, minor int) bool {
	fields := strings.SplitN(release, ".", 3)
	if len(fields) < 2 {
		return false
	}
	a, errA := strconv.Atoi(fields[0])
	b, errB := strconv.Atoi(fields[1])
	return errA == nil && errB == nil && (a > major || a == major && b >= minor)
}
