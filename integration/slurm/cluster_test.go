//go:build slurm

package slurm

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The virtual nodes: one network each on a common bridge, and GPUs that are
// character devices of no consequence.
const (
	nodes       = 12
	gpusPerNode = 2
	subnet      = "10.214.88"
)

// cluster is a running Slurm.
type cluster struct {
	dir string
	// hidden is the folders that are taken away from a node, under hiding.
	hidden map[int][]string
	hiding sync.Mutex
}

// start brings the cluster up. It ends with the namespaces of this process.
func start(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{dir: filepath.Join(here.Folder, "slurm"), hidden: map[int][]string{}}
	for _, d := range []string{"etc", "run", "log", "state", "spool", "dev"} {
		must(t, os.MkdirAll(filepath.Join(c.dir, d), 0o755))
	}
	c.network(t)
	c.configure(t)
	c.daemons(t)
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sh runs a line of shell with Slurm's clients pointed at the cluster, and
// returns its output.
func (c *cluster) sh(line string) (string, error) {
	cmd := exec.Command("bash", "-c", "set -e; "+line)
	cmd.Env = append(os.Environ(), "SLURM_CONF="+c.dir+"/etc/slurm.conf")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// do is sh for what has to work.
func (c *cluster) do(t *testing.T, format string, args ...any) string {
	t.Helper()
	line := fmt.Sprintf(format, args...)
	out, err := c.sh(line)
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return out
}

// network joins the nodes, and gives all of them one file of names.
func (c *cluster) network(t *testing.T) {
	t.Helper()
	c.do(t, "ip link add bridge type bridge; ip addr add %s.1/24 dev bridge; ip link set bridge up", subnet)
	names := "127.0.0.1 localhost\n" + subnet + ".1 control\n"
	for i := 1; i <= nodes; i++ {
		c.do(t, "ip netns add n%[1]d; ip link add v%[1]d type veth peer name eth0 netns n%[1]d; ip link set v%[1]d master bridge up; "+
			"ip -n n%[1]d link set lo up; ip -n n%[1]d addr add %[2]s.%[3]d/24 dev eth0; ip -n n%[1]d link set eth0 up", i, subnet, 10+i)
		names += fmt.Sprintf("%s.%d n%d\n", subnet, 10+i, i)
	}
	c.file(t, "etc/hosts", names, 0o644)
	c.do(t, "mount --bind %s/etc/hosts /etc/hosts", c.dir)
}

// configure writes slurm.conf, the GPUs and a key.
func (c *cluster) configure(t *testing.T) {
	t.Helper()
	key := make([]byte, 1024)
	if _, err := rand.Read(key); err != nil {
		t.Fatal(err)
	}
	c.file(t, "etc/munge.key", string(key), 0o400)
	for i := range gpusPerNode {
		c.do(t, "mknod -m 666 %s/dev/nvidia%d c 1 3", c.dir, i)
	}
	fill := strings.NewReplacer("DIR", c.dir, "SUBNET", subnet, "NODES", fmt.Sprint(nodes), "GPUS", fmt.Sprint(gpusPerNode),
		"LASTGPU", fmt.Sprint(gpusPerNode-1), "LAST", fmt.Sprint(10+nodes))
	c.file(t, "etc/gres.conf", fill.Replace("AutoDetect=off\nNodeName=n[1-NODES] Name=gpu File=DIR/dev/nvidia[0-LASTGPU]\n"), 0o644)
	c.file(t, "etc/slurm.conf", fill.Replace(configuration), 0o644)
}

func (c *cluster) file(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(c.dir, name), []byte(content), mode))
}

// configuration is a small Slurm without accounting, cgroups or systemd. The
// nodes n1, n2, … run jobs. The others are as large as the examples' and stay
// powered down: Slurm plans jobs for them, which is all that is asked of them.
// The partition "patient" ends no job at its limit; jobs of "yielding" make way
// for those of "urgent", and have five minutes for it. Timeouts leave room for a
// machine that is busy with other work.
const configuration = `ClusterName=ndc
SlurmctldHost=control(SUBNET.1)
SlurmctldPort=16917
SlurmdPort=16918
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=DIR/run/munge.socket,cred_expire=30
StateSaveLocation=DIR/state
SlurmdSpoolDir=DIR/spool/%n
SlurmctldPidFile=DIR/run/slurmctld.pid
SlurmdPidFile=DIR/run/slurmd.%n.pid
SlurmctldLogFile=DIR/log/slurmctld.log
SlurmdLogFile=DIR/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=1
SlurmdParameters=config_overrides
GresTypes=gpu
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
ReturnToService=2
KillWait=20
MinJobAge=7200
SlurmdTimeout=30
MessageTimeout=60
BatchStartTimeout=120
UnkillableStepTimeout=300
DefMemPerCPU=1000
SuspendProgram=/bin/true
ResumeProgram=/bin/true
SuspendTime=INFINITE
NodeName=n[1-NODES] NodeAddr=SUBNET.[11-LAST] Sockets=1 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=64000 Gres=gpu:GPUS State=UNKNOWN
NodeName=node[0001-4200] CPUs=128 RealMemory=2000000 Gres=gpu:8 State=CLOUD
PartitionName=site Nodes=node[0001-4200] Default=YES PreemptMode=OFF State=UP
PartitionName=nodes Nodes=n[1-NODES] PreemptMode=OFF State=UP
PartitionName=patient Nodes=n[1-NODES] OverTimeLimit=60 PreemptMode=OFF State=UP
PartitionName=yielding Nodes=n[1-NODES] OverTimeLimit=60 PreemptMode=CANCEL GraceTime=300 State=UP
PartitionName=urgent Nodes=n[1-NODES] PriorityTier=10 State=UP
`

// daemons starts munge, the controller and one slurmd per node, and waits
// until every node is idle.
func (c *cluster) daemons(t *testing.T) {
	t.Helper()
	c.run(t, "munged", "--foreground", "--force", "--socket="+c.dir+"/run/munge.socket", "--key-file="+c.dir+"/etc/munge.key",
		"--pid-file="+c.dir+"/run/munged.pid", "--log-file="+c.dir+"/log/munged.log", "--seed-file="+c.dir+"/run/munge.seed")
	c.await(t, "munge", time.Minute, func() bool { _, err := os.Stat(c.dir + "/run/munge.socket"); return err == nil })
	c.run(t, "slurmctld", "-D", "-f", c.dir+"/etc/slurm.conf")
	for i := 1; i <= nodes; i++ {
		c.startNode(t, i)
	}
	c.await(t, "all nodes to be idle", 2*time.Minute, func() bool {
		out, _ := c.sh("sinfo -h -N -p nodes -o %t")
		return strings.Count(out, "idle") == nodes
	})
}

// startNode boots a node: it has a network, mounts and a name of its own.
func (c *cluster) startNode(t *testing.T, i int) {
	t.Helper()
	c.hiding.Lock()
	defer c.hiding.Unlock()
	inner := fmt.Sprintf("hostname n%d && ", i)
	for _, folder := range c.hidden[i] {
		inner += fmt.Sprintf("mount -t tmpfs -o size=64k none %q && ", folder)
	}
	inner += fmt.Sprintf("exec slurmd -D -N n%d -f %s/etc/slurm.conf", i, c.dir)
	c.run(t, "nsenter", fmt.Sprintf("--net=/run/netns/n%d", i), "unshare", "--uts", "--mount", "sh", "-c", inner)
}

// crash kills everything on a node at once, and boots it again when the test
// has ended.
func (c *cluster) crash(t *testing.T, i int) {
	t.Helper()
	c.do(t, "while pids=$(ip netns pids n%d) && [ -n \"$pids\" ]; do kill -KILL $pids 2>/dev/null; sleep 0.1; done", i) // what is listed may have ended
	t.Cleanup(func() { c.startNode(t, i) })
}

// hide takes a folder away from a node, as a file system that is not mounted there, until
// the test has ended. Another test may crash the node: it boots without the folder, too.
func (c *cluster) hide(t *testing.T, i int, folder string) {
	t.Helper()
	t.Cleanup(func() {
		c.hiding.Lock()
		defer c.hiding.Unlock()
		c.hidden[i] = slices.DeleteFunc(c.hidden[i], func(f string) bool { return f == folder })
		c.do(t, "! node=$(pgrep -o -f '^slurmd -D -N n%d ') || nsenter --mount --target $node umount %q", i, folder)
	})
	c.hiding.Lock()
	defer c.hiding.Unlock()
	c.hidden[i] = append(c.hidden[i], folder)
	c.do(t, "nsenter --mount --target $(pgrep -o -f '^slurmd -D -N n%d ') mount -t tmpfs -o size=64k none %q", i, folder)
}

func (c *cluster) run(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "SLURM_CONF="+c.dir+"/etc/slurm.conf")
	must(t, cmd.Start())
	go func() { _ = cmd.Wait() }()
}

// await polls until something holds.
func (c *cluster) await(t *testing.T, what string, patience time.Duration, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if holds() {
			return
		}
	}
	var logs bytes.Buffer
	for _, l := range []string{"slurmctld.log", "slurmd.n1.log"} {
		b, _ := os.ReadFile(filepath.Join(c.dir, "log", l))
		fmt.Fprintf(&logs, "%s:\n%s\n", l, b[max(0, len(b)-2000):])
	}
	queue, _ := c.sh("squeue; sinfo -N -l -p nodes")
	t.Fatalf("waited %s in vain for %s\n%s\n%s", patience, what, queue, logs.Bytes())
}
