//go:build slurm

package slurm

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// chains are the scenarios in which testdata/torchrun stands in for the
// framework.
var chains = []struct {
	name string
	run  func(*testing.T, *cluster)
}{
	{"TrainsToTheEnd", trainsToTheEnd},
	{"TimeLimit", timeLimit},
	{"FirstNodeFails", func(t *testing.T, c *cluster) { nodeFails(t, c, 0) }},
	{"SecondNodeFails", func(t *testing.T, c *cluster) { nodeFails(t, c, 1) }},
	{"DeadRankStopsTheStep", deadRankStopsTheStep},
	{"WithoutProgress", withoutProgress},
	{"FailuresInARow", failuresInARow},
	{"StopFileBefore", stopFileBefore},
	{"StopFileDuring", stopFileDuring},
	{"BuiltAnew", builtAnew},
	{"SecretsStayHome", secretsStayHome},
	{"AllCPUs", allCPUs},
	{"FromAnAllocation", fromAnAllocation},
	{"PartitionOfTheSubmission", partitionOfTheSubmission},
	{"SubmittedTwice", submittedTwice},
	{"RequeuedAfterItsEnd", requeuedAfterItsEnd},
	{"RanksBySrun", ranksBySrun},
	{"Preempted", preempted},
	{"Hangs", hangs},
	{"FailedCheck", failedCheck},
	{"FolderIsGone", folderIsGone},
	{"BadNode", badNode},
	{"BadNodeInASegment", badNodeInASegment},
	{"SlowNode", slowNode},
	{"SpareNodeTakesOver", func(t *testing.T, c *cluster) { spareNodeTakesOver(t, c, false) }},
	{"SpareNodeAfterThePeers", func(t *testing.T, c *cluster) { spareNodeTakesOver(t, c, true) }},
	{"WrongNodeCount", wrongNodeCount},
	{"WrongGPUCount", wrongGPUCount},
}

// standIn builds the job of testdata/stand-in.hcl, 30 steps of which each
// submission trains ten.
func standIn(t *testing.T, c *cluster, variables ...string) *scenario {
	t.Helper()
	return standInAt(t, prepare(t, c, "a stand-in for the framework", "stand-in", "megatron"), variables...)
}

func standInAt(t *testing.T, s *scenario, variables ...string) *scenario {
	t.Helper()
	s.build(t, variables...)
	s.program(t, "torchrun", "torchrun")
	s.program(t, "python3", "python3")
	s.program(t, "nvidia-smi", "nvidia-smi")
	s.write(t, "megatron/pretrain_gpt.py", "", 0o644)
	return s
}

// step is the newest one in the stand-in's checkpoint.
func (s *scenario) step() string {
	return s.read("checkpoints/megatron/latest_checkpointed_iteration.txt")
}

// starts counts how often a node was started.
func (s *scenario) starts() int { return strings.Count(s.read("starts"), "\n") }

func (s *scenario) expectProgress(t *testing.T, step string, starts int) {
	t.Helper()
	if s.step() != step || s.starts() != starts {
		t.Errorf("step %q after %d starts of a node, want %s after %d:\n%s", s.step(), s.starts(), step, starts, s.log())
	}
}

// trainsToTheEnd: three links, each meeting at the first node of its
// allocation; the fourth is taken back.
func trainsToTheEnd(t *testing.T, c *cluster) {
	s := standIn(t, c)
	s.submit(t, "")
	s.finish(t)
	s.expectStates(t, "COMPLETED COMPLETED COMPLETED CANCELLED")
	s.expectProgress(t, "30", 6)
	s.expect(t, "the chain ends at step 30")
	for line := range strings.Lines(s.read("starts")) {
		if !strings.Contains(line, "of 2") || !strings.Contains(line, "gpus 2 cpus 4 of 4 ") {
			t.Errorf("a node was started as %q", line)
		}
	}
}

// builtAnew: the folder is built anew for 20 steps while the first link trains;
// the chain goes on to the 30 with which it began.
func builtAnew(t *testing.T, c *cluster) {
	s := standIn(t, c)
	s.hold(t, "")
	if said := s.build(t, "steps=20"); !strings.Contains(said, "[chain-alive]") {
		t.Errorf("the build does not tell of the chain:\n%s", said)
	}
	s.remove(t, "hold")
	s.finish(t)
	s.expectStates(t, "COMPLETED COMPLETED COMPLETED CANCELLED")
	s.expectProgress(t, "30", 6)
	found := map[string]bool{}
	for _, m := range ranConfiguration.FindAllString(s.log(), -1) {
		found[m] = true
	}
	if len(found) != 1 {
		t.Errorf("the links ran %v", found)
	}
	if said := s.build(t, "steps=20"); strings.Contains(said, "[chain-alive]") {
		t.Errorf("the chain has ended, and the build says:\n%s", said)
	}
}

var ranConfiguration = regexp.MustCompile(`configuration [0-9a-f]{64}`)

// secretsStayHome: what an env_file exports reaches the ranks, and is not
// stored with the successor in the controller's state.
func secretsStayHome(t *testing.T, c *cluster) {
	s := prepare(t, c, "a stand-in for the framework", "stand-in", "megatron")
	s.write(t, "site.env", "SITE_TOKEN=not-for-the-queue\n", 0o600)
	s = standInAt(t, s, "env_file="+s.folder+"/site.env")
	s.hold(t, "--export=ALL,SITE_BEFORE=stays")
	list := s.jobs()
	if len(list) != 2 {
		t.Fatalf("no successor is queued: %+v", list)
	}
	stored := c.do(t, "tr '\\0' '\\n' <$(echo %s/state/hash.*/job.%s/environment)", c.dir, list[1].id)
	if !strings.Contains(stored, "SITE_BEFORE=stays") {
		t.Errorf("this is not what is stored with job %s:\n%q", list[1].id, stored)
	}
	for _, secret := range []string{"not-for-the-queue", "SITE_TOKEN", "NDC_DIR=", "STANDIN="} {
		if strings.Contains(stored, secret) {
			t.Errorf("%s is stored with job %s", secret, list[1].id)
		}
	}
	s.remove(t, "hold")
	s.finish(t)
	s.expectProgress(t, "30", 6)
	if n := strings.Count(s.read("starts"), "token not-for-the-queue"); n != 6 {
		t.Errorf("the token reached %d of 6 starts:\n%s", n, s.read("starts"))
	}
}

// allCPUs: a job that asks for no CPUs and has its nodes for itself gets all
// of theirs in the one task of a node.
func allCPUs(t *testing.T, c *cluster) {
	s := standIn(t, c, "chain=1", "cpus=0")
	s.submit(t, "")
	s.finish(t)
	s.expectStates(t, "COMPLETED")
	if n := strings.Count(s.read("starts"), " cpus 16 of 16 "); n != 2 {
		t.Errorf("%d of 2 nodes got their 16 CPUs:\n%s", n, s.read("starts"))
	}
}

// fromAnAllocation: the job is submitted from an interactive allocation, whose CPUs, GPUs and memory are not the job's.
func fromAnAllocation(t *testing.T, c *cluster) {
	s := standIn(t, c, "cpus=0", "chain=1")
	s.do(t, "cd %q && salloc --partition=nodes --nodes=1 --ntasks=2 --cpus-per-task=3 --mem-per-cpu=100 --gpus-per-node=1 sbatch --mem=8000 %q", s.folder, s.script)
	s.finish(t)
	s.expectProgress(t, "10", 2)
	for line := range strings.Lines(s.read("starts")) {
		if !strings.Contains(line, "gpus 2 cpus 16 of 16 ") {
			t.Errorf("a node was started as %q", line)
		}
	}
}

// partitionOfTheSubmission: what sbatch's own variables say holds for every link.
func partitionOfTheSubmission(t *testing.T, c *cluster) {
	s := standIn(t, c, "partition=", "chain=2")
	s.do(t, "cd %q && SBATCH_PARTITION=nodes sbatch %q", s.folder, s.script)
	s.finish(t)
	s.expectStates(t, "COMPLETED COMPLETED")
	s.expectProgress(t, "20", 4)
}

// submittedTwice: while the first run trains, a second one of the same folder ends before
// it starts anything; the first goes on to the end.
func submittedTwice(t *testing.T, c *cluster) {
	s := standIn(t, c)
	s.hold(t, "")
	s.submit(t, "")
	s.await(t, "the second submission to end", patience, func() bool { return strings.Contains(s.states(), "FAILED") })
	s.remove(t, "hold")
	s.finish(t)
	s.expectProgress(t, "30", 6)
	s.expect(t, s.emitted+" runs since ")
	if got := s.states(); strings.Count(got, "FAILED") != 1 || strings.Count(got, "COMPLETED") != 3 {
		t.Errorf("the jobs are %s", got)
	}
}

// submittedAfterACancel: a run is cancelled and submitted again at once. The second waits until the
// first has saved at SIGTERM, and goes on from there.
func submittedAfterACancel(t *testing.T, c *cluster) {
	s := standIn(t, c)
	s.write(t, "hear", "", 0o644)
	s.write(t, "linger", "", 0o644)
	s.hold(t, "")
	s.do(t, "scancel %s %s", s.jobs()[0].id, s.jobs()[1].id)
	s.submit(t, "")
	s.await(t, "the second run to wait", patience, func() bool { return strings.Contains(s.log(), "ndc: waiting for job "+s.jobs()[0].id) })
	s.remove(t, "linger")
	s.remove(t, "hold")
	s.finish(t)
	s.expectStates(t, "CANCELLED CANCELLED COMPLETED CANCELLED")
	s.expectProgress(t, "30", 4)
}

// requeuedAfterItsEnd: a link has failed and its successor trains when the link is requeued by hand.
// It ends without a start.
func requeuedAfterItsEnd(t *testing.T, c *cluster) {
	s := standIn(t, c, "requeue=true")
	s.write(t, "fail", "", 0o644)
	s.hold(t, "")
	s.do(t, "scontrol hold %s", s.jobs()[1].id)
	s.remove(t, "hold")
	s.await(t, "the first link to fail", patience, func() bool { return strings.HasPrefix(s.states(), "FAILED") })
	s.remove(t, "fail")
	s.write(t, "hold", "", 0o644)
	s.do(t, "scontrol release %s", s.jobs()[1].id)
	s.await(t, "the second link to save", patience, func() bool { return s.step() == "20" })
	s.do(t, "scontrol requeue %s", s.jobs()[0].id)
	s.await(t, "the first link to end again", patience, func() bool { return strings.HasPrefix(s.states(), "COMPLETED") })
	s.expect(t, "has begun; this one, link 1, was started again after its end, and ends")
	s.remove(t, "hold")
	s.finish(t)
	s.expectStates(t, "COMPLETED COMPLETED COMPLETED CANCELLED")
	s.expectProgress(t, "30", 6)
}

// ranksBySrun: a task for each GPU, which share the CPUs of their node.
func ranksBySrun(t *testing.T, c *cluster) {
	s := standIn(t, c, "launcher=srun")
	s.submit(t, "")
	s.finish(t)
	s.expectStates(t, "COMPLETED COMPLETED COMPLETED CANCELLED")
	s.expectProgress(t, "30", 12)
	for rank := range 4 {
		if n := strings.Count(s.read("starts"), fmt.Sprintf(" rank %d of 4 ", rank)); n != 3 {
			t.Errorf("rank %d was started %d times:\n%s", rank, n, s.read("starts"))
		}
	}
	if n := strings.Count(s.read("starts"), " cpus 2 of 4 "); n != 12 {
		t.Errorf("%d of 12 ranks got two of four CPUs:\n%s", n, s.read("starts"))
	}
	if found, _ := filepath.Glob(filepath.Join(s.emitted, "logs", "*.ranks", "start-0", "node-?", "?", "stdout.log")); len(found) != 12 {
		t.Errorf("the lines of ranks are in %q", found)
	}
}

// preempted: a job of more importance takes the nodes. The ranks hear SIGTERM,
// save and end within the grace; the next link goes on from there.
func preempted(t *testing.T, c *cluster) {
	s := standIn(t, c, "partition=yielding")
	s.write(t, "hear", "", 0o644)
	s.hold(t, "")
	first := s.jobs()[0]
	nodes := fmt.Sprintf("n%d,n%d", first.nodes[0], first.nodes[1])
	urgent := s.do(t, "cd / && sbatch --parsable --partition=urgent --nodes=2 --exclusive --nodelist=%s --output=/dev/null --wrap 'sleep 1'", nodes)
	s.await(t, "the urgent job to end", patience, func() bool {
		out, _ := s.sh("scontrol -o show job " + urgent)
		return strings.Contains(out, "JobState=COMPLETED")
	})
	if said := s.logOf(first.id); !strings.Contains(said, "saved step 20") {
		t.Errorf("nothing was saved at SIGTERM:\n%s", said)
	}
	s.remove(t, "hold")
	s.finish(t)
	s.expectProgress(t, "30", 4)
	s.expect(t, "the chain ends at step 30")
	if took := s.jobs()[0].ended.Sub(first.started); took > 2*time.Minute {
		t.Errorf("the first link took %s, as if it had been killed at the end of the grace", took)
	}
}

// hangs: the ranks of the first link save and say nothing more. The step is
// ended, and the next link goes on.
func hangs(t *testing.T, c *cluster) {
	s := standIn(t, c, "hang_timeout=10s")
	s.hold(t, "")
	s.await(t, "the step to be ended", 2*time.Minute, func() bool { return strings.HasPrefix(s.states(), "FAILED") })
	s.remove(t, "hold")
	s.finish(t)
	s.expectStates(t, "FAILED COMPLETED COMPLETED CANCELLED")
	s.expectProgress(t, "30", 6)
	s.expect(t, "ndc: the run hangs and is ended")
}

// failedCheck: a node fails its check. The next links do not get it.
func failedCheck(t *testing.T, c *cluster) {
	s := standInAt(t, prepare(t, c, "a stand-in for the framework", "stand-in", "megatron"), "node_check=standin-check")
	s.write(t, "bin/standin-check", "#!/bin/bash\nset -o noclobber\ntest -e '"+s.folder+"/bad' || echo \"$SLURMD_NODENAME\" >'"+s.folder+"/bad'\ntest \"$SLURMD_NODENAME\" != \"$(cat '"+s.folder+"/bad')\"\n", 0o755)
	s.do(t, "cd %q && PATH=\"$PWD/bin:$PATH\" sbatch %q", s.folder, s.script)
	s.finish(t)
	s.expectStates(t, "FAILED COMPLETED COMPLETED COMPLETED CANCELLED")
	s.expectProgress(t, "30", 6)
	bad := strings.TrimSpace(s.read("bad"))
	s.expect(t, "ndc: node "+bad+" is bad: node_check ended with status 1\n")
	for i, j := range s.jobs()[:4] {
		if has := slices.Contains(j.nodes, number(bad[1:])); has != (i == 0) {
			t.Errorf("link %d has the nodes %v, and %s is bad", i+1, j.nodes, bad)
		}
	}
}

// folderIsGone: a node loses the folder of the run, with which a link begins. It is submitted
// again, and trains elsewhere; the next links do not get that node.
func folderIsGone(t *testing.T, c *cluster) {
	s := standIn(t, c)
	s.edit(t, "stand-in.sbatch", map[string]string{`(.*)--begin=now\+600(.*)`: `${1}--begin=now+1${2}`})
	s.hold(t, "")
	list := s.jobs()
	s.do(t, "scontrol update JobId=%s ReqNodeList=n%d,n%d", list[1].id, list[0].nodes[0], list[0].nodes[1])
	c.hide(t, list[0].nodes[0], s.folder)
	s.remove(t, "hold")
	s.finish(t)
	s.expectProgress(t, "30", 6)
	s.expect(t, fmt.Sprintf("ndc: this link could not begin on n%d, as job %s: launch.sh is neither beside", list[0].nodes[0], list[1].id))
	for i, j := range s.jobs()[2:] {
		if slices.Contains(j.nodes, list[0].nodes[0]) {
			t.Errorf("job %d has the nodes %v, and n%d has no folder", i+3, j.nodes, list[0].nodes[0])
		}
	}
}

// startedOn finds where the ranks of a start ran, of how many nodes.
var startedOn = regexp.MustCompile(`ndc: start (\d+) of job \d+, on 2 of 3 nodes: n(\d+),n(\d+)`)

// badNode: the memory of a node has errors. The ranks start on the two others, and
// the next links do not get it.
func badNode(t *testing.T, c *cluster) {
	s := standIn(t, c, "spare_nodes=1")
	s.write(t, "bad", "", 0o644)
	s.submit(t, "")
	s.finish(t)
	s.expectStates(t, "COMPLETED COMPLETED COMPLETED CANCELLED")
	s.expectProgress(t, "30", 6)
	bad := strings.TrimSpace(s.read("bad"))
	s.expect(t, "ndc: node "+bad+" is bad: GPU 0 has 2 uncorrected memory errors;GPU 1 has 2 uncorrected memory errors")
	s.expect(t, "will not have the nodes "+bad+"\n")
	for i, j := range s.jobs()[:3] {
		if has := slices.Contains(j.nodes, number(bad[1:])); len(j.nodes) != 3 || has != (i == 0) {
			t.Errorf("link %d has the nodes %v, and %s is bad", i+1, j.nodes, bad)
		}
	}
	if strings.Contains(s.read("starts"), bad+" ") {
		t.Errorf("ranks ran on %s:\n%s", bad, s.read("starts"))
	}
}

// badNodeInASegment: two segments of two nodes with one to spare in each. The GPUs say that
// every second node shares NVLink, and one node is bad: two nodes of each domain
// train. Slurm 22.05 has no --segment, and places the six nodes anywhere.
func badNodeInASegment(t *testing.T, c *cluster) {
	s := standIn(t, c, "nodes=4", "segment=2", "spare_nodes=1", "chain=1")
	s.edit(t, "stand-in.sbatch", map[string]string{`#SBATCH --segment=3`: ""})
	s.write(t, "bad", "", 0o644)
	s.submit(t, "")
	s.finish(t)
	s.expectStates(t, "COMPLETED")
	bad := strings.TrimSpace(s.read("bad"))
	s.expect(t, "ndc: node "+bad+" is bad: GPU 0 has 2 uncorrected memory errors;GPU 1 has 2 uncorrected memory errors")
	nodes, domains := s.jobs()[0].nodes, [2]int{}
	slices.Sort(nodes)
	for line := range strings.Lines(s.read("starts")) {
		name, _, _ := strings.Cut(line, " ")
		if name == bad {
			t.Errorf("ranks ran on %s", bad)
		}
		domains[slices.Index(nodes, number(name[1:]))%2]++
	}
	if domains != [2]int{2, 2} || len(nodes) != 6 {
		t.Errorf("of %v, %v of the two domains train:\n%s", nodes, domains, s.log())
	}
}

// slowNode: check_speed.py runs on CPUs over gloo, with what they reach in place of
// what GPUs do. One node is late to every all-reduce with others. Five nodes are slow
// together; halves of them tell which one it is, and the ranks start on others.
func slowNode(t *testing.T, c *cluster) {
	f := here.TorchTitan
	if f.Missing != "" {
		t.Skip("skipped: ", f.Missing)
	}
	s := standIn(t, c, "spare_nodes=3", "check_speed=true", "chain=1")
	s.write(t, "bin/python3", "#!/bin/bash\nexec '"+f.Python+"' \"$@\"\n", 0o755)
	s.edit(t, "check_speed.py", map[string]string{
		`DEVICE = .*`: `DEVICE = "cpu"`, `MATMUL = .*`: "MATMUL = 64", `BYTES = .*`: "BYTES = 1 << 20", `MATMUL_SECONDS = .*`: "MATMUL_SECONDS = 60.0",
		`NODE_SECONDS = .*`: "NODE_SECONDS = 60.0", `FABRIC_SECONDS = .*`: "FABRIC_SECONDS = {8: 1.2}",
		`( +)data = torch.zeros.*`: `${0}` + "\n" + `${1}late = 2.5 * (task["size"] > GPUS and own_name() == open(sys.argv[1] + "/nodes").read().split()[2])`,
		`( +)found\["sum"\] = .*`:  `${1}found["sum"] = fastest(torch, 3, lambda: (time.sleep(late), dist.all_reduce(data)))`,
	})
	s.submit(t, "")
	s.finishWithin(t, 2*patience)
	s.expectStates(t, "COMPLETED")
	names, _ := filepath.Glob(filepath.Join(s.emitted, "logs", "*.ranks", "start-0", "check", "nodes"))
	if len(names) != 1 {
		t.Fatalf("which nodes were measured?\n%s", s.log())
	}
	b, err := os.ReadFile(names[0])
	must(t, err)
	slow := strings.Fields(string(b))[2]
	s.expect(t, "ndc: node "+slow+" is bad: an all-reduce with it is slower than 60 % of the predicted rate\n")
	if n := strings.Count(s.log(), " is bad: "); n != 1 || s.starts() != 2 || strings.Contains(s.read("starts"), slow+" ") {
		t.Errorf("%d nodes are bad, %s is slow, and ranks ran on\n%s\n%s", n, slow, s.read("starts"), s.log())
	}
	for line := range strings.Lines(s.log()) {
		if strings.HasPrefix(strings.TrimLeft(line, "0123456789: "), "ndc: all-reduce of ") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

// spareNodeTakesOver: a node on which ranks run dies with everything on it. The job
// goes on in the allocation that it has, on the spare one; also where the ranks of the other
// node have ended before Slurm notices, whose step stays in its books.
func spareNodeTakesOver(t *testing.T, c *cluster, peersFail bool) {
	s := standIn(t, c, "spare_nodes=1")
	s.hold(t, "")
	first := startedOn.FindStringSubmatch(s.log())
	if first == nil {
		t.Fatalf("where do the ranks run?\n%s", s.log())
	}
	c.crash(t, number(first[3])) // the other one runs the batch script
	if peersFail {
		s.write(t, "fail", "", 0o644)
		s.remove(t, "hold")
		s.await(t, "the rank of the other node to end", patience, func() bool { return strings.Contains(s.log(), "Exited with exit code 3") })
		s.remove(t, "fail")
		s.write(t, "hold", "", 0o644)
	}
	s.await(t, "the second start to save", patience, func() bool { return s.step() == "20" })
	s.remove(t, "hold")
	s.finish(t)
	s.expectStates(t, "COMPLETED COMPLETED CANCELLED")
	s.expectProgress(t, "30", 6)
	starts := startedOn.FindAllStringSubmatch(s.log(), 2)
	if again := starts[1]; again[1] != "2" || again[2] == first[3] || again[3] == first[3] {
		t.Errorf("after node %s died, the ranks started as %q", first[3], again[0])
	}
	if restarts := s.jobs()[0].restarts; restarts != "0" {
		t.Errorf("the job was requeued %s times", restarts)
	}
}

// deadRankStopsTheStep: node 1 ends with an error, node 0 would go on for five
// minutes; two submissions without a checkpoint end the chain.
func deadRankStopsTheStep(t *testing.T, c *cluster) {
	s := standIn(t, c)
	s.write(t, "die", "", 0o644)
	s.submit(t, "")
	s.finish(t)
	s.expectStates(t, "FAILED FAILED FAILED")
	s.expectProgress(t, "", 4)
	s.expect(t, "2 submissions in a row saved nothing after step 0; the chain ends")
	s.expectShort(t, s.jobs())
}

// expectShort: the jobs were taken down at once; nothing of them runs on.
func (s *scenario) expectShort(t *testing.T, jobs []job) {
	t.Helper()
	for _, j := range jobs {
		if took := j.ended.Sub(j.started); took > 2*time.Minute {
			t.Errorf("job %s took %s", j.id, took)
		}
	}
	s.await(t, "all processes to end", time.Minute, func() bool { return len(s.left()) == 0 })
}

// withoutProgress: all submissions end well, but save nothing.
func withoutProgress(t *testing.T, c *cluster) {
	s := standIn(t, c)
	s.write(t, "stall", "", 0o644)
	s.submit(t, "")
	s.finish(t)
	s.expectStates(t, "COMPLETED COMPLETED FAILED")
	s.expectProgress(t, "", 4)
	s.expect(t, "2 submissions in a row saved nothing after step 0; the chain ends")
}

// failuresInARow: all submissions save, and then fail.
func failuresInARow(t *testing.T, c *cluster) {
	s := standIn(t, c, "steps=1000")
	s.write(t, "fail", "", 0o644)
	s.submit(t, "")
	s.finish(t)
	s.expectStates(t, strings.Repeat("FAILED ", 10)+"FAILED")
	s.expectProgress(t, "100", 20)
	s.expect(t, "10 submissions in a row failed; the chain ends at step 100")
}

// wrongNodeCount: nothing is started, and nothing follows.
func wrongNodeCount(t *testing.T, c *cluster) {
	s := standIn(t, c)
	s.submit(t, "--nodes=3")
	s.finish(t)
	s.expectStates(t, "FAILED")
	s.expectProgress(t, "", 0)
	s.expect(t, "the layout needs 2 nodes, the allocation has 3")
}

// wrongGPUCount: every node counts the GPUs that it was given.
func wrongGPUCount(t *testing.T, c *cluster) {
	s := standIn(t, c, "chain=1")
	s.submit(t, "--gres=gpu:1")
	s.finish(t)
	s.expectStates(t, "FAILED")
	s.expectProgress(t, "", 0)
	s.expect(t, "needs 4 GPUs; this launch has 2 nodes with 1 GPUs each")
}

func stopFileBefore(t *testing.T, c *cluster) {
	s := standIn(t, c)
	s.write(t, "out/stand-in/megatron/STOP", "", 0o644)
	s.submit(t, "")
	s.finish(t)
	s.expectStates(t, "COMPLETED")
	s.expectProgress(t, "", 0)
	s.expect(t, "the chain ends at step 0")
}

// stopFileDuring: the file appears while the first link trains.
func stopFileDuring(t *testing.T, c *cluster) {
	s := standIn(t, c)
	s.hold(t, "")
	s.write(t, "out/stand-in/megatron/STOP", "", 0o644)
	s.remove(t, "hold")
	s.finish(t)
	s.expectStates(t, "COMPLETED CANCELLED")
	s.expectProgress(t, "10", 2)
	s.expect(t, "the chain ends at step 10")
}

// hold submits the job, whose first link saves and then trains until the file
// "hold" is removed.
func (s *scenario) hold(t *testing.T, options string) {
	t.Helper()
	s.write(t, "hold", "", 0o644)
	s.submit(t, options)
	s.await(t, "the first checkpoint", patience, func() bool { return s.step() == "10" })
}

// timeLimit: Slurm ends the first link after its checkpoint; the others go on
// from there.
func timeLimit(t *testing.T, c *cluster) {
	s := standIn(t, c)
	s.hold(t, "--time=1")
	s.await(t, "the limit", patience, func() bool { return strings.HasPrefix(s.states(), "TIMEOUT") })
	s.remove(t, "hold")
	s.finish(t)
	s.expectStates(t, "TIMEOUT COMPLETED COMPLETED CANCELLED")
	s.expectProgress(t, "30", 6)
}

// nodeFails: a node of the allocation dies with everything on it. Slurm
// requeues the job on others, where it goes on, with the successor that it had.
func nodeFails(t *testing.T, c *cluster, which int) {
	s := standIn(t, c, "requeue=true")
	s.hold(t, "")
	first := s.jobs()[0]
	if len(first.nodes) != 2 {
		t.Fatalf("where does the job run? %+v", first)
	}
	c.crash(t, first.nodes[which])
	s.await(t, "the job to be requeued", patience, func() bool { return s.jobs()[0].restarts == "1" })
	s.remove(t, "hold")
	s.finish(t)
	s.expectStates(t, "COMPLETED COMPLETED CANCELLED")
	s.expectProgress(t, "30", 6)
	if again := s.jobs()[0]; slices.Contains(again.nodes, first.nodes[which]) {
		t.Errorf("node %d failed, and the job was started on it again: %v", first.nodes[which], again.nodes)
	}
}
