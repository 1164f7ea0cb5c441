package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/intake/shell"
	"github.com/ndc-dev/ndc/lang/units"
)

// checkLaunches checks every command that starts training.
func checkLaunches(s *script) {
	for _, l := range s.launches() {
		s.commentWords(l)
		if l.launcher == "torchrun" {
			s.manyLaunchers(l)
			s.processes(l)
			if s.nodes(l) {
				s.rendezvous(l)
			}
		}
		if l.srun != nil && !l.open {
			s.survivors(l)
			s.stepEnvironment(l)
		}
		s.megatron(l)
	}
}

// place is where an option stands.
func (s *script) place(o *option) diag.Range { return s.find(o.line, o.name) }

// commentWords finds comments that a program would get as arguments, since they
// stand in a text.
func (s *script) commentWords(l *launch) {
	for _, w := range append(optionWords(l.given), l.words...) {
		if commentWord.MatchString(w.Text) && !w.Open {
			at := s.find(w.Line, w.Text)
			s.report(CommentWord, at, fmt.Sprintf("Inside quotes # begins no comment: the program gets %q and the words after it as arguments, and refuses them. Remove the line, or keep the options in an array, which may hold comments.", w.Text))
			return
		}
	}
}

var commentWord = regexp.MustCompile(`^#(--?[a-z].*)?$`)

func optionWords(options []option) []shell.Word {
	var all []shell.Word
	for _, o := range options {
		all = append(all, o.values...)
	}
	return all
}

// tasksPerNode is how many tasks of a step run on a node, and what says so.
func (s *script) tasksPerNode(l *launch) (int, string, bool) {
	if o := of(l.step, "ntasks-per-node"); o != nil {
		n, ok := o.number()
		return n, fmt.Sprintf("--ntasks-per-node=%d of srun", n), ok
	}
	if of(l.step, "ntasks") != nil || of(l.step, "nodes") != nil || of(l.step, "ntasks-per-gpu") != nil {
		return 0, "", false
	}
	if _, ok := s.asked("ntasks"); ok {
		return 0, "", false
	}
	n, d, ok := s.number("ntasks-per-node")
	return n, fmt.Sprintf("--ntasks-per-node=%d on line %d", n, d.at.Start.Line), ok
}

// manyLaunchers finds tasks that each start the processes of a whole node.
func (s *script) manyLaunchers(l *launch) {
	o := of(l.given, "nproc-per-node")
	p, ok := o.number()
	if o != nil && !ok && allGPUs.MatchString(o.first()) {
		p, _, ok = s.gpus(l)
	}
	if !ok || p < 2 || l.srun == nil || l.open {
		return
	}
	if t, what, ok := s.tasksPerNode(l); ok && t > 1 {
		s.report(ManyLaunchers, s.place(o), fmt.Sprintf("srun starts %d tasks on each node (%s), and each runs torchrun, which starts %d processes: %d on a node, which fight for its GPUs and for the port of the rendezvous. Ask for one task on each node.", t, what, p, t*p))
	}
}

// allGPUs are values that stand for the GPUs of the node.
var allGPUs = regexp.MustCompile(`^(gpu|auto|\$\{?SLURM_GPUS_(PER|ON)_NODE\}?)$`)

// nodesOf is how many nodes a launch waits for.
func (s *script) nodesOf(l *launch) (n int, o *option, known bool) {
	o = of(l.given, "nnodes")
	if o == nil {
		return 1, nil, !l.unsure
	}
	if n, ok := o.number(); ok {
		return n, o, true
	}
	if slurmNodes.MatchString(o.first()) && !o.maybe {
		n, _, ok := s.number("nodes")
		return n, o, ok && of(l.step, "nodes") == nil
	}
	return 0, o, false
}

var slurmNodes = regexp.MustCompile(`^\$\{?SLURM_(JOB_NUM_NODES|NNODES)\}?$`)

// distributing finds commands that start others on several nodes, as words of
// their own: --tensor-model-parallel-size is none.
var distributing = regexp.MustCompile("(?m)(?:^|[\\s;&|({/\"'`=])(?:srun|mpirun|mpiexec|pdsh|clush|ssh|pssh|parallel|parallel-ssh|jsrun|ibrun|prun|horovodrun)(?:[\\s;&|)}\"'`]|$)")

// nodes compares the nodes of a launch with those of the job, and reports
// whether all of them start it.
func (s *script) nodes(l *launch) bool {
	o := of(l.given, "nnodes")
	job, d, ok := s.number("nodes")
	if !ok || o == nil {
		return true
	}
	waits, known := o.number()
	if job > 1 && l.srun == nil && !s.says(distributing) && (!known || waits > 1) && !o.maybe {
		s.report(OneNode, s.place(o), fmt.Sprintf("The job has %d nodes, and sbatch runs the script on the first alone: nothing starts the launcher on the others, and it waits for them. Start it with srun, one task on each node.", job))
		return false
	}
	if !known || waits == job || of(l.step, "nodes", "nodelist", "relative", "exclude", "het-group") != nil || len(s.launches()) > 1 {
		return true
	}
	what := "waits for nodes that never come"
	if waits < job {
		what = "leaves nodes out"
	}
	s.report(NodesDiffer, s.place(o), fmt.Sprintf("The job has %d nodes (line %d), and the launcher is told of %d: it %s. Write --nnodes=$SLURM_NNODES.", job, d.at.Start.Line, waits, what))
	return true
}

var (
	gresGPUs = regexp.MustCompile(`(?:^|,)(?:gres[/:])?gpu(?::([A-Za-z][\w.-]*))?(?:[:=](\d+))?(?:\([^)]*\))?(?:,|$)`)
	plainGPU = regexp.MustCompile(`^(?:[A-Za-z][\w.-]*:)?(\d+)$`)
)

// gpus is how many GPUs a node has for the job, and what says so.
func (s *script) gpus(l *launch) (int, string, bool) {
	for _, o := range []*option{of(l.step, "gpus-per-node"), of(l.step, "gres"), of(l.step, "gpus", "gpus-per-task")} {
		if o != nil {
			return 0, "", false
		}
	}
	if d, ok := s.asked("gpus-per-node"); ok {
		if m := plainGPU.FindStringSubmatch(d.value); m != nil {
			n, err := strconv.Atoi(m[1])
			return n, fmt.Sprintf("--gpus-per-node=%s on line %d", d.value, d.at.Start.Line), err == nil
		}
		return 0, "", false
	}
	if d, ok := s.asked("gres"); ok {
		m := gresGPUs.FindStringSubmatch(d.value)
		if m == nil {
			return 0, "", false
		}
		n := 1
		if m[2] != "" {
			n, _ = strconv.Atoi(m[2])
		}
		return n, fmt.Sprintf("--gres=%s on line %d", d.value, d.at.Start.Line), n > 0
	}
	return 0, "", false
}

// processes compares the processes of a node with its GPUs.
func (s *script) processes(l *launch) {
	o := of(l.given, "nproc-per-node")
	p, ok := o.number()
	if !ok {
		return
	}
	for _, e := range s.shell.Exports {
		list := strings.Split(e.Value.Text, ",")
		if e.Name == "CUDA_VISIBLE_DEVICES" && !e.Value.Open && !e.Value.Maybe && visible.MatchString(e.Value.Text) && len(s.launches()) == 1 {
			if p > len(list) {
				s.report(ManyProcesses, s.place(o), fmt.Sprintf("The launcher starts %d processes on a node, and CUDA_VISIBLE_DEVICES=%s (line %d) shows them %s: the others fail with an invalid device. Start one process for each GPU.", p, e.Value.Text, e.Value.Line, units.Count(len(list), "GPU")))
			}
			return
		}
	}
	g, what, ok := s.gpus(l)
	switch {
	case !ok || g == p || s.mentions("CUDA_VISIBLE_DEVICES"):
	case p > g:
		s.report(ManyProcesses, s.place(o), fmt.Sprintf("The launcher starts %d processes on a node, and the job has %s there (%s): the others fail with an invalid device. Start one process for each GPU.", p, units.Count(g, "GPU"), what))
	case len(s.launches()) == 1:
		s.report(IdleGPUs, s.place(o), fmt.Sprintf("The launcher starts %d processes on a node, and the job has %s there (%s): %d are paid for and idle. Start one process for each GPU.", p, units.Count(g, "GPU"), what, g-p))
	}
}

var visible = regexp.MustCompile(`^\d+(,\d+)*$`)

// rendezvous checks how the nodes of a launch meet.
func (s *script) rendezvous(l *launch) {
	n, nnodes, known := s.nodesOf(l)
	if !known || n < 2 {
		return
	}
	backend := of(l.given, "rdzv-backend")
	if s.address(l, n) || backend != nil && backend.first() != "static" || l.unsure || s.mentions("PET_") {
		return
	}
	rank := of(l.given, "node-rank")
	switch {
	case rank == nil && of(l.given, "standalone") == nil:
		s.report(NodeRank, s.place(nnodes), fmt.Sprintf("The launch has %d nodes and no --node-rank: every node takes itself for node 0, and the rendezvous fails. Give --node-rank, which differs on every node, or --rdzv-backend=c10d with --rdzv-endpoint.", n))
	case rank != nil && l.srun != nil && stepRank.MatchString(rank.first()) && s.expandedHere(rank.values[0].Line, stepRank):
		s.report(NodeRank, s.place(rank), fmt.Sprintf("The shell of the batch script expands %s, where it is 0, before srun starts anything: every node takes itself for node 0. Let the tasks expand it, as in srun bash -c '… --node-rank=$SLURM_NODEID …' with single quotes, or use --rdzv-backend=c10d.", rank.first()))
	case rank != nil && l.srun != nil && rank.first() == "0" && !rank.open && !rank.maybe:
		s.report(NodeRank, s.place(rank), fmt.Sprintf("Every one of %d nodes takes itself for node 0. Let the tasks expand SLURM_NODEID, or use --rdzv-backend=c10d.", n))
	}
}

var (
	stepRank  = regexp.MustCompile(`\$\{?SLURM_(PROCID|NODEID)\}?`)
	localHost = regexp.MustCompile(`^(localhost|127\.0\.0\.1|0\.0\.0\.0|\[?::1\]?)(:.*)?$`)
	ownHost   = regexp.MustCompile(`\$\(\s*(hostname|uname -n)\b|\$\{?HOSTNAME\b|` + "`hostname")
)

// address finds rendezvous that every node holds with itself.
func (s *script) address(l *launch, n int) bool {
	o := of(l.given, "rdzv-endpoint")
	if o == nil {
		o = of(l.given, "master-addr")
	}
	rank := of(l.given, "node-rank")
	first := rank.first() == "0" && !rank.open && !rank.maybe && l.srun == nil // the script is the first node's, which is where it says
	switch {
	case o == nil || first:
		return false
	case !o.open && !o.maybe && localHost.MatchString(o.first()):
		s.report(LocalAddress, s.place(o), fmt.Sprintf("The launch has %d nodes, and on each %s is the node itself: none meets another. Give the first node's name, as of scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1.", n, o.first()))
		return true
	case l.srun != nil && ownHost.MatchString(o.first()) && s.leftToTasks(o.values[0].Line, ownHost):
		s.report(LocalAddress, s.place(o), fmt.Sprintf("Each of %d nodes computes %s for itself and meets nobody. Compute it once, above srun.", n, o.first()))
		return true
	}
	return false
}

// expandedHere reports whether the shell that reads the script expands what
// matches on a line: not what stands in single quotes or behind a backslash.
func (s *script) expandedHere(line int, pattern *regexp.Regexp) bool {
	found := false
	syntax.Walk(s.file, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.ParamExp, *syntax.CmdSubst:
			if s.at(int(n.Pos().Offset())) == line && pattern.Match(s.src[n.Pos().Offset():n.End().Offset()]) {
				found = true
			}
		case *syntax.FuncDecl:
			return false // who calls it is another matter
		}
		return true
	})
	return found
}

// leftToTasks reports whether what matches stands in a word around a line where
// the shell that reads the script does not expand it. What a variable brings
// there from another line was computed once, by that shell.
func (s *script) leftToTasks(line int, pattern *regexp.Regexp) bool {
	found := false
	literal := func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.SglQuoted:
			found = found || pattern.MatchString(n.Value)
		case *syntax.Lit:
			found = found || pattern.MatchString(n.Value)
		case *syntax.ParamExp, *syntax.CmdSubst:
			return false
		}
		return true
	}
	syntax.Walk(s.file, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok && s.at(int(w.Pos().Offset())) <= line && line <= s.at(int(w.End().Offset())) {
			syntax.Walk(w, literal)
		}
		return !found
	})
	return found
}

// survivors finds steps whose tasks outlive one that died.
func (s *script) survivors(l *launch) {
	kill := of(l.step, "kill-on-bad-exit")
	if kill != nil && kill.first() != "0" || of(l.step, "wait") != nil || s.mentions("SLURM_KILL_BAD_EXIT") {
		return
	}
	tasks := 0
	for _, name := range []string{"ntasks", "ntasks-per-node", "nodes"} {
		if o := of(l.step, name); o != nil {
			if n, ok := o.number(); !ok || n == 1 && name == "ntasks" {
				return
			}
		}
		n, _, _ := s.number(name)
		tasks = max(tasks, n)
	}
	if tasks < 2 {
		return
	}
	at := s.find(l.srun.Line, "srun")
	s.report(Survivors, at, "When one task dies, srun leaves the others running, which wait for it until a timeout of NCCL or for ever, unless the site has set KillOnBadExit. Give srun --kill-on-bad-exit=1.")
}

// losingCPUs are the releases of Slurm whose srun does not take over the CPUs of
// a task (Slurm's CHANGELOG/slurm-22.05.md, and slurm-23.11.md, which ends it).
var losingCPUs = []string{"22.05", "23.02"}

// stepEnvironment checks what a step takes over from the job.
func (s *script) stepEnvironment(l *launch) {
	at := s.find(l.srun.Line, "srun")
	if d, ok := s.asked("export"); ok && (strings.EqualFold(d.value, "NONE") || strings.EqualFold(d.value, "NIL")) &&
		of(l.step, "export", "export-file") == nil && !s.mentions("SLURM_EXPORT_ENV") && !s.mentions("SRUN_EXPORT_ENV") {
		s.report(NoEnvironment, at, fmt.Sprintf("--export=%s on line %d holds for the steps, too: srun hands over no variable, not even PATH, nor what the script exports. Give srun --export=ALL.", d.value, d.at.Start.Line))
	}
	cpus, d, ok := s.number("cpus-per-task")
	if ok && cpus > 1 && slices.Contains(losingCPUs, s.slurm) && of(l.step, "cpus-per-task", "cpus-per-gpu", "exact", "exclusive") == nil && !s.mentions("SRUN_CPUS_PER_TASK") {
		s.report(LostCPUs, at, fmt.Sprintf("srun of Slurm %s does not take over --cpus-per-task=%d from line %d, and a task may get one CPU. Give srun --cpus-per-task=$SLURM_CPUS_PER_TASK.", s.slurm, cpus, d.at.Start.Line))
	}
}
