package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// spareSite is a site with the nodes n1, n2 and n3, of which the job needs one with
// two GPUs. Slurm's stand-ins run check.sh for every node; each GPU answers what the
// file "gpus-NODE" says before what a good one does.
func spareSite(t *testing.T) *site {
	t.Helper()
	s := newSite(t, "megatron", "[]")
	for name, text := range map[string]string{
		"scontrol": `case $2 in hostnames) printf 'n%s\n' 1 2 3 ;; job) printf '   JobId=%s\n   Command=%s\n' "$3" "$SCRIPT" ;; *) echo "$@" >>"$FAKE/updated" ;; esac`,
		"sinfo":    `[[ " $* " != *" --all "* ]] || cat "$FAKE/states"`, // the partition is hidden
		"srun": `for word; do [[ $word != --nodelist=*/* ]] || list=$(paste -s -d , "${word#*=}"); done
if [[ $* == *check.sh* ]]; then
  for SLURMD_NODENAME in ${list//,/ }; do
    export SLURMD_NODENAME
    [[ -f $FAKE/silent-$SLURMD_NODENAME ]] || "${@: -3}"
  done
elif [[ $* == *" speed "* ]]; then
  cp "${@: -1}/nodes" "$FAKE/measured"
  [[ ! -f $FAKE/speed ]] || cp "$FAKE/speed" "${@: -1}/speed"
else
  echo "$list $MASTER_ADDR" >>"$FAKE/started"
  SLURM_NODEID=0 exec "${@: -2}"
fi`,
		"nvidia-smi": `[[ ! -f $FAKE/gpus-${SLURMD_NODENAME:-} ]] || . "$FAKE/gpus-$SLURMD_NODENAME"
case "$*" in
  *memory.used*) printf '%s\n' 3 4 ;;
  *memory.free*) printf '%s\n' 80800 80800 ;;
  *ecc*) printf '%s\n' 0 0 ;;
  *remapped*) printf '%s\n' No 0 ;;
  *recovery*) printf '%s\n' None None ;;
  *clocks*) printf '%s\n' "Not Active" "Not Active" ;;
  *nvlink*) printf 'GPU %s: NVIDIA H100 (UUID: x)\n\t Link 0: 26.562 GB/s\n\t Link 1: 26.562 GB/s\n' 0 1 ;;
  *) printf 'GPU %s: NVIDIA H100 (UUID: x)\n' 0 1 ;;
esac`,
		"site-check": `[[ ! -f $FAKE/site-$SLURMD_NODENAME ]]`,
	} {
		s.write(t, "bin/"+name, "#!/bin/bash\n"+text+"\n")
	}
	s.write(t, "states", "n1 mix\nn2 alloc\nn3 mix\n")
	text := strings.Replace(s.read("job.hcl"), "cluster = catalog.cluster.single_gpu", "cluster = cluster.two", 1)
	text = strings.Replace(text, "  slurm {\n", "  slurm {\n    spare_nodes = 2\n    exclude = \"n9\"\n    node_check {\n      command = \"site-check\"\n    }\n", 1)
	s.write(t, "job.hcl", text+`
cluster "two" {
  base          = catalog.cluster.dgx_h100
  nodes         = 1
  gpus_per_node = 2
  nvlink {
    domain = 2
  }
}
`)
	s.build(t)
	s.submit(t)
	return s
}

var threeNodes = []string{"SLURM_JOB_NODELIST=n[1-3]", "SLURM_JOB_NUM_NODES=3"}

// TestCheckOfANode: what check.sh finds on a node, by what the driver says. What the
// driver does not tell is unknown, not bad.
func TestCheckOfANode(t *testing.T) {
	s := spareSite(t)
	for i, c := range []struct{ says, want string }{
		{"", ""},
		{`echo "No devices were found"; exit 6`, "bad nvidia-smi ended with status 6: No devices were found\n"},
		{`echo "GPU 0: NVIDIA H100 (UUID: x)"; exit`, "bad it has 1 of 2 GPUs\n"},
		{`[[ $* != --list* ]] || { printf 'GPU %s: x\n' 0 1 2 3; exit; }`, "unknown which 2 of 4 GPUs are the job's\n"},
		{`[[ $* != *used* ]] || { printf '%s\n' 3 70000; exit; }`, "bad GPU 1 has 70000 MiB of memory in use\n"},
		{`[[ $* != *free* ]] || { printf '%s\n' 20 80800; exit; }`, "bad GPU 0 has 20 MiB of memory free, and the plan needs "},
		{`[[ $* != *ecc* ]] || { printf '%s\n' 0 2; exit; }`, "bad GPU 1 has 2 uncorrected memory errors\n"},
		{`[[ $* != *ecc* ]] || { printf '%s\n' "[N/A]" "[N/A]"; exit; }`, "unknown ecc.errors.uncorrected.volatile.total: [N/A]\n"},
		{`[[ $* != *ecc* ]] || exit 2`, "unknown ecc.errors.uncorrected.volatile.total\n"},
		{`[[ $* != *ecc* ]] || { printf '%s\n' 'a[$(>pwned)]' 0; exit; }`, "unknown ecc.errors.uncorrected.volatile.total: a[$(>pwned)]\n"},
		{`[[ $* != *remapped* ]] || { printf '%s\n' 0 Yes; exit; }`, "bad GPU 1 cannot replace faulty rows of its memory\n"},
		{`[[ $* != *remapped* ]] || { printf '%s\n' "[Insufficient Permissions]" 0; exit; }`, "unknown remapped_rows.failure: [Insufficient Permissions]\n"},
		{`[[ $* != *recovery* ]] || { printf '%s\n' None Reset; exit; }`, "bad the driver asks for a recovery of GPU 1: Reset\n"},
		{`[[ $* != *clocks* ]] || { printf '%s\n' "Not Active" Active; exit; }`, "bad the hardware slows GPU 1: heat or power\n"},
		{`[[ $* != *clocks* ]] || { [[ -f $FAKE/once ]] && v="Not Active" || v=Active; touch "$FAKE/once"; printf '%s\n' "$v" "$v"; exit; }`, ""},
		{`[[ $* != *clocks_event* ]] || exit 2`, ""}, // an older driver knows the other name
		{`[[ $* != *clocks* ]] || exit 2`, "unknown clocks\n"},
		{`[[ $* != *nvlink* ]] || { printf 'GPU 0: x\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\nGPU 1: x\n\t Link 0: 26.562 GB/s\n\t Link 1: 26.562 GB/s\n'; exit; }`, "bad GPU 0 has 1 of 2 NVLinks\n"},
		{`[[ $* != *nvlink* ]] || { printf 'GPU 0: x\n\t Link 0: <inactive>\nGPU 1: x\n\t Link 0: <inactive>\n'; exit; }`, "unknown NVLink\n"},
		{`touch "$FAKE/site-n1"`, "bad node_check ended with status 1\n"},
	} {
		folder := filepath.Join(s.folder, fmt.Sprint("found-", i))
		s.write(t, "gpus-n1", c.says)
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("bash", filepath.Join(s.out, "check.sh"), folder)
		cmd.Dir = s.folder
		cmd.Env = []string{"PATH=" + s.folder + "/bin:" + os.Getenv("PATH"), "FAKE=" + s.folder, "SLURMD_NODENAME=n1"}
		said, err := cmd.CombinedOutput()
		found, missing := os.ReadFile(filepath.Join(folder, "n1"))
		if err != nil || missing != nil || c.want == "" && len(found) > 0 || !strings.HasPrefix(string(found), c.want) || strings.Count(string(found), "\n") > 1 {
			t.Errorf("%s: found %q, want %q; %v %s", c.says, found, c.want, err, said)
		}
	}
	if s.read("pwned") != "" {
		t.Error("what the driver says was executed")
	}
}

// TestSpareNodes: the ranks start on good nodes, after a failure in the same
// allocation again, and rather not where a rank failed first. The next link is told
// which nodes are bad, for a day.
func TestSpareNodes(t *testing.T) {
	t.Parallel()
	s := spareSite(t)
	s.write(t, "gpus-n1", `[[ $* != *ecc* ]] || { printf '%s\n' 0 2; exit; }`)
	s.write(t, "ranks", `case $(wc -l <"$FAKE/started") in
  1) mkdir -p "$NDC_RANK_LOGS/node-0/x/attempt_0/0"
     printf '{"message": {"message": "RuntimeError: x", "extraInfo": {}}}' >"$NDC_RANK_LOGS/node-0/x/attempt_0/0/error.json"; exit 1 ;;
  2) mkdir -p "$FAKE/checkpoints/megatron"; echo 100 >"$FAKE/checkpoints/megatron/latest_checkpointed_iteration.txt"; exit 1 ;;
esac`)
	code, log := s.start(t, 100, threeNodes)
	if code != 0 || s.read("started") != "n2 n2\nn3 n3\nn3 n3\n" {
		t.Errorf("exit code %d, started on %q:\n%s", code, s.read("started"), log)
	}
	mustHold(t, "the log", log, "node n1 is bad: GPU 1 has 2 uncorrected memory errors\n", "rank 0 on n2 failed first", "start 3 of job 100, on 1 of 3 nodes: n3\n", "start-0.2\n", "next is job 101")
	if want := "update JobId=101 ExcNodeList=n9,n1\n"; s.read("updated") != want {
		t.Errorf("updated %q, want %q", s.read("updated"), want)
	}

	// What was excluded more than a day ago, or was never a node, is forgotten; two are the most.
	args := s.arguments(t)
	now := time.Now().Unix()
	s.write(t, "out/train/megatron/runs/100/excluded", fmt.Sprintf("%d old\n%d new\n%d newer\n%d a;b\nx[$(>pwned)] c\n%d n1\n", now-90000, now-600, now-60, now, now-1))
	s.write(t, "gpus-n1", "")
	s.write(t, "states", "n1 mix\nn2 down*\nn3 drng\n")
	s.write(t, "ranks", "")
	for _, name := range []string{"updated", "started"} {
		_ = os.Remove(filepath.Join(s.folder, name))
	}
	mustHold(t, "the log", s.trains(t, 101, threeNodes, args...), "node n2 is bad: Slurm has lost it\n", "start 1 of job 101, on 1 of 3 nodes: n1\n", "job 102 will not have the nodes n9,n2,newer\n")
	if s.read("pwned") != "" {
		t.Error("a word was executed")
	}
}

// TestSpareNodesInApptainer: what is passed on into the container is that of each start, not
// of the whole allocation.
func TestSpareNodesInApptainer(t *testing.T) {
	t.Parallel()
	s := spareSite(t)
	s.write(t, "job.hcl", strings.Replace(s.read("job.hcl"), "  slurm {\n", fmt.Sprintf("  slurm {\n    container {\n      image   = \"/images/megatron.sif\"\n      runtime = \"apptainer\"\n      mounts  = [%q]\n    }\n", s.folder+":"+s.folder), 1))
	s.build(t)
	s.submit(t)
	s.write(t, "gpus-n1", `[[ $* != *ecc* ]] || { printf '%s\n' 0 2; exit; }`)
	s.write(t, "ranks", `echo "$APPTAINERENV_MASTER_ADDR $((APPTAINERENV_MASTER_PORT - MASTER_PORT)) ${APPTAINERENV_NDC_RANK_LOGS##*/}" >>"$FAKE/passed"; rm "$FAKE/gpus-n1"; touch "$FAKE/site-n2"; [[ -f $FAKE/again ]] || { touch "$FAKE/again"; exit 1; }`)
	code, log := s.start(t, 100, threeNodes)
	if code != 0 || s.read("passed") != "n2 0 start-0\nn1 0 start-0.1\n" {
		t.Errorf("exit code %d, passed on %q:\n%s", code, s.read("passed"), log)
	}
}

// TestSlowNodes: those that seem good are measured; one that is slow is bad, what could
// not be measured is not, and words that are no answer are left alone.
func TestSlowNodes(t *testing.T) {
	t.Parallel()
	s := spareSite(t)
	s.write(t, "gpus-n1", `[[ $* != *ecc* ]] || { printf '%s\n' 0 2; exit; }`)
	s.write(t, "speed", "n2 bad GEMMs: GPU 1 takes 2 s instead of 1 s\nn3 unknown speed: no torch\n- unknown the network: $(>pwned)\nn3 worse x\n../n3 bad x\nn9 bad x\n")
	code, log := s.start(t, 100, threeNodes)
	if code != 0 || s.read("started") != "n3 n3\n" || s.read("measured") != "n2\nn3\n" || s.read("pwned") != "" {
		t.Errorf("exit code %d, started on %q, measured %q:\n%s", code, s.read("started"), s.read("measured"), log)
	}
	mustHold(t, "the log", log, "node n2 is bad: GEMMs: GPU 1 takes 2 s instead of 1 s\n", "not known on 1 of the good nodes: speed: no torch\n", "not known: the network: $(>pwned)\n",
		"will not have the nodes n9,n1,n2\n")
}

// TestStartsInARow: as many starts in a row as there are spare nodes may save
// nothing; a node that does not answer is not waited for; without good nodes nothing
// is started.
func TestStartsInARow(t *testing.T) {
	t.Parallel()
	s := spareSite(t)
	s.write(t, "silent-n1", "")
	s.write(t, "ranks", "exit 3")
	code, log := s.start(t, 100, threeNodes)
	if code == 0 || s.read("started") != "n2 n2\nn2 n2\nn2 n2\n" {
		t.Errorf("exit code %d, started on %q:\n%s", code, s.read("started"), log)
	}
	mustHold(t, "the log", log, "node n1 is bad: its check did not end\n", "3 starts in a row saved nothing; this job ends\n")
	s.write(t, "silent-n2", "")
	s.write(t, "site-n3", "")
	code, log = s.start(t, 200, threeNodes)
	if code != 1 || s.read("trained") != "" {
		t.Errorf("exit code %d", code)
	}
	mustHold(t, "the log", log, "node n3 is bad: node_check ended with status 1\n", "0 of 3 nodes are good; the layout needs 1\n")
	s.refuses(t, "the layout needs 1 node, the allocation has 0", 300, []string{"SLURM_JOB_NUM_NODES=0"})
}
