package slurm

import (
	"embed"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/compiler/goodput"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

//go:embed templates
var templateFiles embed.FS

var templates = render.Embedded(templateFiles, "templates/*.tmpl")

// Names of the shared files; the batch script is named after the job.
const (
	launchName      = "launch.sh"
	environmentName = "environment.sh"
	checkName       = "check.sh"
	speedName       = "check_speed.py"
)

// Caps of a chain, at least: submissions in a row without a new checkpoint, and
// submissions in a row that did not end cleanly.
const (
	stalledCap = 2
	failureCap = 10
)

// caps are those of a run. On many GPUs failures of the machine end most submissions, and some
// before they save: a run of them that comes by chance in more than one of a hundred runs
// does not end the chain.
func caps(j *job.Job, r *plan.Run) (stalled, failed int) {
	between := float64(goodput.BetweenFailures(j))
	count := float64(r.Seconds) / between
	inARow := func(least int, within float64) int {
		if count <= 0 {
			return least
		}
		failure := math.Log1p(-math.Exp(-within / between)) // logarithm of its probability
		// The first of them is any of the count; twice the count are more than the run has.
		k := math.Min(1+math.Log(rare/count)/failure, 2*count)
		return max(least, int(math.Ceil(units.Rounded(k))))
	}
	unsaved, limit := float64(goodput.StartSeconds(j)), math.Inf(1)
	if c := r.Checkpoints; c != nil {
		unsaved += float64(c.IntervalSeconds)
	}
	if j.Slurm.Time > 0 {
		limit = float64(j.Slurm.Time)
	}
	return inARow(stalledCap, unsaved), inARow(failureCap, limit)
}

// rare is the probability with which chance alone ends a chain.
const rare = 0.01

// Files writes JOB.sbatch, launch.sh and environment.sh, and check.sh and
// check_speed.py where there are spare nodes.
func Files(j *job.Job, p *plan.Plan, l Launch) ([]backends.Artifact, diag.List) {
	var diags diag.List
	checkJob(j, l, &diags)
	checkCores(j, p, &diags)
	directives := directives(j, p, l, &diags)
	settings := settings(j, p, l, &diags)
	overrides := overridden(j, p, directives, &diags)
	if diags.HasErrors() {
		return nil, diags
	}
	script := j.Name + ".sbatch"
	list := []backends.Artifact{
		{Path: script, Content: batchScript(j, p, l, directives, overrides, watch(j, p))},
		{Path: launchName, Content: launchScript(j, p, l), Executable: true},
		{Path: environmentName, Content: templates.Execute("environment.sh.tmpl", environmentView{
			Header: render.Header, Summary: summary(j, l), Settings: settings,
		})},
	}
	if j.Slurm.SpareNodes > 0 {
		list = append(list, backends.Artifact{Path: checkName, Content: checkScript(j, p, l), Executable: true})
	}
	if checksSpeed(j) {
		list = append(list, backends.Artifact{Path: speedName, Content: speedProgram(j, l)})
	}
	return list, diags
}

type environmentView struct {
	Header, Summary string
	Settings        []Setting
}

type batchView struct {
	Header, Summary, ScriptName string
	ScriptPattern, ScriptWord   render.Word
	Directives                  []string
	Foreign                     []string // variables of the allocation that the job was submitted from
	LogDir                      render.Word
	EnvFile                     *render.Word
	Modules                     []render.Word
	Nodes                       int
	Chain                       *chainView    // nil: none
	Progress                    *progressView // nil: nothing asks for it
	Saves                       *render.Word  // the folder, the same whoever submits; nil: none, or one that variables decide
	GPUsPerNode, WaitSeconds    int
	TasksPerNode                int
	PerRank                     bool
	Hang                        *hang
	Spares                      *spares
	Start                       string         // of the ranks
	Requeued                    bool           // by Slurm alone: there are no other submissions or nodes
	NodeCheck                   *nodeCheck     // nil: none
	Container                   *containerView // nil: none
	References                  []render.Word

	SbatchHeader, BeforeLaunch, AfterLaunch *override // nil: none
}

// chainView is what the links of a chain know of it.
type chainView struct {
	Count, Steps           int // Count 0: until all steps are trained
	StalledCap, FailureCap int
	Singleton              bool
	HandOn                 *handOn // nil: nodes are named by the job
}

// progressView tells how far the checkpoints are.
type progressView struct {
	Path        render.Word
	PathExpands bool   // names variables
	LatestStep  string // lines of shell that print it
}

func batchScript(j *job.Job, p *plan.Plan, l Launch, directives []string, overrides map[string]*override, hang *hang) []byte {
	name := j.Name + ".sbatch"
	v := batchView{
		Header: render.Header, Summary: summary(j, l), ScriptName: name,
		ScriptPattern: render.Literal(name), ScriptWord: render.Literal(name),
		Directives: directives, Foreign: foreign(directives, overrides[job.SBatchHeader]), LogDir: logDir(j), Nodes: j.Cluster.Nodes, GPUsPerNode: j.Cluster.GPUsPerNode, WaitSeconds: waitSeconds(j),
		TasksPerNode: tasksPerNode(j), PerRank: !j.Training.Logging.OneLog, Hang: hang, Spares: spareNodes(j, p, l),
		NodeCheck: nodeCheckOf(j), Container: container(j),
		SbatchHeader: overrides[job.SBatchHeader], BeforeLaunch: overrides[job.BeforeLaunch], AfterLaunch: overrides[job.AfterLaunch],
	}
	for _, name := range references(j) {
		v.References = append(v.References, render.Shell(render.HostVariable(name)+"=${"+name+"?a path of the job names it; set it before you submit}"))
	}
	if j.Slurm.EnvFile != "" {
		w := render.Expanding(j.Slurm.EnvFile)
		v.EnvFile = &w
	}
	for _, m := range j.Slurm.Modules {
		v.Modules = append(v.Modules, render.Literal(m))
	}
	if j.Slurm.Chain.IsSet() {
		stalled, failed := caps(j, &p.Run)
		v.Chain = &chainView{
			Count: j.Slurm.Chain.Count, Steps: l.Steps, StalledCap: stalled, FailureCap: failed,
			Singleton: slices.Contains(j.Slurm.Directives, singleton), HandOn: handOnOf(j),
		}
	}
	if v.Chain != nil || v.Spares != nil && l.CheckpointPath != "" {
		path := hostPath(j.Slurm.Container.Mounts, l.CheckpointPath)
		v.Progress = &progressView{Path: render.Expanding(path), PathExpands: strings.Contains(path, "${"), LatestStep: l.LatestStep}
	}
	if l.CheckpointPath != "" && !strings.Contains(l.CheckpointPath, "$") && !strings.Contains(l.CheckpointPath, "://") {
		w := render.Literal(hostPath(j.Slurm.Container.Mounts, l.CheckpointPath))
		v.Saves = &w
	}
	v.Requeued = j.Slurm.Requeue.Value && v.Chain == nil && v.Spares == nil
	v.Start = string(templates.Execute("start.tmpl", v))
	return templates.Execute("job.sbatch.tmpl", v)
}

// nodeCheck is the command of slurm.node_check, and how long it may take.
type nodeCheck struct {
	Command []render.Word
	Seconds int
}

// nodeCheckOf is that of a job; nil without one.
func nodeCheckOf(j *job.Job) *nodeCheck {
	c := j.Slurm.NodeCheck
	if c == nil {
		return nil
	}
	v := &nodeCheck{Seconds: max(1, int(c.Timeout))}
	for _, word := range strings.Fields(c.Command) {
		v.Command = append(v.Command, render.Expanding(word))
	}
	return v
}

// summary is one line on what the files are for.
func summary(j *job.Job, l Launch) string {
	return fmt.Sprintf("%s on %s: %s x %d %s", j.Name, l.Title, units.Count(j.Cluster.Nodes, "node"), j.Cluster.GPUsPerNode, j.Cluster.GPU.Name)
}

// logDir is the folder of all logs, absolute when the script runs.
func logDir(j *job.Job) render.Word {
	if j.Slurm.LogPath == "" {
		return render.Shell("$NDC_JOB_DIR/logs")
	}
	return render.Expanding(logDirText(j))
}

// logDirText is slurm.log_path with the backend's name.
func logDirText(j *job.Job) string { return path.Join(j.Slurm.LogPath, j.Backend.Kind) }

type launchView struct {
	Header, Summary, ScriptName string
	Setup, LaunchSetup          []string
	GPUs, GPUsPerNode           int
	Product                     string
	RendezvousSeconds           int
	Program                     string
	Arguments                   []string
	HybridEP                    bool
	Shown                       []int
	ShownWords                  string
	PerRank                     bool // lines of ranks are in files of their own
	Srun, Saves, Watched, Speed bool
	Bind                        string // node, socket
	NUMABinding                 bool   // torchrun binds
	Traced                      []int  // ranks that Nsight Systems starts
}

func launchScript(j *job.Job, p *plan.Plan, l Launch) []byte {
	program := make([]string, len(l.Program))
	for i, w := range l.Program {
		program[i] = w.String()
	}
	return templates.Execute("launch.sh.tmpl", launchView{
		Header: render.Header, Summary: summary(j, l), ScriptName: j.Name + ".sbatch",
		Setup: j.Slurm.Setup, LaunchSetup: l.Setup,
		GPUs: p.Layout.GPUs(), GPUsPerNode: j.Cluster.GPUsPerNode, Product: product(&p.Layout),
		RendezvousSeconds: rendezvousSeconds(j.Cluster.Nodes),
		Program:           strings.Join(program, " "), Arguments: argumentLines(l.Arguments),
		HybridEP: p.Execution.MoEDispatcher == "hybridep",
		Shown:    l.Shown, ShownWords: shownWords(l.Shown), PerRank: !j.Training.Logging.OneLog,
		Srun: bySrun(j), Saves: l.CheckpointPath != "", Watched: j.Slurm.HangTimeout != job.Silence{}, Speed: checksSpeed(j),
		Bind: bind(j), NUMABinding: !bySrun(j) && atLeast(l.Torch, 2, 9),
		Traced: traced(j),
	})
}

// product spells the layout as the factors of its GPU count.
func product(l *plan.Layout) string {
	return fmt.Sprintf("tensor %d x context %d x pipeline %d x data %d",
		l.TensorParallel, l.ContextParallel, l.PipelineParallel, l.DataParallel())
}

// rendezvousSeconds is how long torchrun waits for all nodes: the default of
// 15 minutes, and a second more per node, because image pulls and file
// systems serve large jobs more slowly.
func rendezvousSeconds(nodes int) int { return 900 + nodes }

// waitSeconds is how long srun lets the other nodes go on after the first has
// ended well: a minute, or ten where a logger uploads on one rank what is left.
// A failure ends all at once whatever it is.
func waitSeconds(j *job.Job) int {
	if j.Training.Logging.WandB != nil {
		return 600
	}
	return 60
}

// bySrun reports whether srun starts the ranks.
func bySrun(j *job.Job) bool { return j.Slurm.Launcher == "srun" }

// tasksPerNode is one, or one for each GPU.
func tasksPerNode(j *job.Job) int {
	if bySrun(j) {
		return j.Cluster.GPUsPerNode
	}
	return 1
}

// bind is what ranks are bound to, "" for nothing.
func bind(j *job.Job) string {
	if j.Slurm.Bind == "none" {
		return ""
	}
	return j.Slurm.Bind
}

// traced are the ranks that Nsight Systems starts.
func traced(j *job.Job) []int {
	switch p := j.Training.Logging.Profile; {
	case p == nil || p.Tool != "nsys":
		return nil
	case p.Ranks == nil:
		return []int{0}
	default:
		return p.Ranks
	}
}

// shownWords names ranks.
func shownWords(ranks []int) string {
	words := make([]string, len(ranks))
	for i, r := range ranks {
		words[i] = fmt.Sprint(r)
	}
	if len(words) == 1 {
		return "rank " + words[0]
	}
	return "ranks " + strings.Join(words, " and ")
}

// argumentLines writes one argument a line with its comment.
func argumentLines(arguments []Argument) []string {
	lines := make([]string, len(arguments))
	for i, a := range arguments {
		words := make([]string, len(a.Words))
		for k, w := range a.Words {
			words[k] = w.String()
		}
		if a.Why != "" {
			words = append(words, "# "+render.Comment(a.Why))
		}
		lines[i] = strings.Join(words, " ")
	}
	return lines
}

// hostPath translates a path inside the container to the one outside, by the
// longest mount that holds it.
func hostPath(mounts []string, inside string) string {
	best, host := -1, inside
	for _, m := range mounts {
		fields := strings.SplitN(m, ":", 3)
		if len(fields) < 2 {
			continue
		}
		rest, ok := strings.CutPrefix(path.Clean(inside), path.Clean(fields[1]))
		if ok && (rest == "" || rest[0] == '/') && len(fields[1]) > best {
			best, host = len(fields[1]), path.Join(fields[0], rest)
		}
	}
	return host
}

// settings merges the framework's variables with those of the job, which win; all stand
// by their names.
func settings(j *job.Job, p *plan.Plan, l Launch, diags *diag.List) []Setting {
	user := map[string]Setting{}
	for _, e := range j.Environments() {
		for _, v := range e.Variables {
			checkVariable(j, e.Path, v.Name, diags)
			user[v.Name] = Setting{v.Name, render.Expanding(v.Value), e.Path}
		}
	}
	var all []Setting
	for _, s := range slices.Concat(l.Environment, sharedSettings(j, p, l)) { // what the framework needs comes before what every job wants
		_, known := user[s.Name]
		if !known && !slices.ContainsFunc(all, func(have Setting) bool { return have.Name == s.Name }) {
			all = append(all, s)
		}
	}
	for _, s := range user {
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) })
	return all
}
