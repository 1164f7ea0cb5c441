//go:build slurm

package slurm

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The virtual machines: a bridge, and one namespace per node with GPUs that
// are character devices of no consequence.
const (
	nodes       = 3
	gpusPerNode = 2
	bridge      = "ndcbr0"
	subnet      = "10.214.88"
)

// cluster is a running Slurm.
type cluster struct {
	dir       string
	processes []*exec.Cmd
}

// start installs what is missing and brings the cluster up, or skips the test
// with the reason.
func start(t *testing.T) *cluster {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("skipped: a virtual Slurm needs root for its network namespaces")
	}
	install(t)
	// Slurm and munge want short, plainly owned paths.
	dir, err := os.MkdirTemp("/tmp", "ndc-slurm-")
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{dir: dir}
	t.Cleanup(func() { c.stop(t) })
	if err := c.network(); err != nil {
		t.Skipf("skipped: this machine allows no network namespaces: %v", err)
	}
	c.configure(t)
	c.daemons(t)
	return c
}

// install fetches Debian's packages without starting their own daemons.
func install(t *testing.T) {
	missing := []string{}
	for program, pkg := range map[string]string{"munged": "munge", "slurmctld": "slurmctld", "slurmd": "slurmd", "sbatch": "slurm-client", "ip": "iproute2"} {
		if _, err := exec.LookPath(program); err != nil {
			if _, err := os.Stat("/usr/sbin/" + program); err != nil {
				missing = append(missing, pkg)
			}
		}
	}
	if len(missing) == 0 {
		return
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Skipf("skipped: %v are not installed and there is no apt-get to get them", missing)
	}
	const policy = "/usr/sbin/policy-rc.d"
	if _, err := os.Stat(policy); err != nil {
		if err := os.WriteFile(policy, []byte("#!/bin/sh\nexit 101\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(policy)
	}
	args := append([]string{"install", "-y", "--no-install-recommends"}, missing...)
	for attempt := range 2 {
		cmd := exec.Command("apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		out, err := cmd.CombinedOutput()
		if err == nil {
			return
		}
		if attempt == 1 {
			t.Skipf("skipped: %v cannot be installed: %v\n%s", missing, err, tail(out))
		}
		_ = exec.Command("apt-get", "update").Run()
	}
}

func tail(b []byte) []byte { return b[max(0, len(b)-2000):] }

// sh runs a line of shell and returns its output.
func sh(line string, env ...string) (string, error) {
	cmd := exec.Command("bash", "-c", "set -e; "+line)
	cmd.Env = append(append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin"), env...)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (c *cluster) network() error {
	lines := []string{
		fmt.Sprintf("ip link add %s type bridge; ip addr add %s.1/24 dev %s; ip link set %s up", bridge, subnet, bridge, bridge),
	}
	for i := 1; i <= nodes; i++ {
		lines = append(lines, fmt.Sprintf("ip netns add ndc-n%[1]d; ip link add ndcv%[1]d type veth peer name eth0 netns ndc-n%[1]d; "+
			"ip link set ndcv%[1]d master %[2]s up; ip -n ndc-n%[1]d link set lo up; ip -n ndc-n%[1]d addr add %[3]s.%[4]d/24 dev eth0; ip -n ndc-n%[1]d link set eth0 up",
			i, bridge, subnet, 10+i))
	}
	for _, l := range lines {
		if out, err := sh(l); err != nil {
			return fmt.Errorf("%s: %w", out, err)
		}
	}
	return nil
}

// configure writes slurm.conf, the GPUs, a key and the nodes' hosts file.
func (c *cluster) configure(t *testing.T) {
	t.Helper()
	for _, d := range []string{"etc", "run", "log", "state", "spool", "dev"} {
		if err := os.MkdirAll(filepath.Join(c.dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(c.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	key := make([]byte, 1024)
	if _, err := rand.Read(key); err != nil {
		t.Fatal(err)
	}
	c.file(t, "etc/munge.key", string(key), 0o400)
	hosts, _ := os.ReadFile("/etc/hosts")
	self, _ := os.Hostname()
	names := fmt.Sprintf("%s\n%s.1 %s\n", hosts, subnet, self)
	for i := 1; i <= nodes; i++ {
		names += fmt.Sprintf("%s.%d n%d\n", subnet, 10+i, i)
	}
	c.file(t, "etc/hosts", names, 0o644)
	for i := range gpusPerNode {
		if out, err := sh(fmt.Sprintf("mknod -m 666 %s/dev/nvidia%d c 1 3", c.dir, i)); err != nil {
			t.Skipf("skipped: device nodes cannot be made here: %s", out)
		}
	}
	c.file(t, "etc/gres.conf", fmt.Sprintf("AutoDetect=off\nNodeName=n[1-%d] Name=gpu File=%s/dev/nvidia[0-%d]\n", nodes, c.dir, gpusPerNode-1), 0o644)
	c.file(t, "etc/slurm.conf", strings.NewReplacer("DIR", c.dir, "SELF", self, "SUBNET", subnet, "NODES", fmt.Sprint(nodes), "GPUS", fmt.Sprint(gpusPerNode),
		"LAST", fmt.Sprint(10+nodes)).Replace(configuration), 0o644)
}

func (c *cluster) file(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// configuration is a small Slurm without accounting, cgroups or systemd.
const configuration = `ClusterName=ndc
SlurmctldHost=SELF(SUBNET.1)
SlurmctldPort=16917
SlurmdPort=16918
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=DIR/run/munge.socket,cred_expire=5
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
ReturnToService=2
KillWait=5
MinJobAge=7200
SlurmdTimeout=10
DefMemPerCPU=1000
NodeName=n[1-NODES] NodeAddr=SUBNET.[11-LAST] Sockets=1 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=64000 Gres=gpu:GPUS State=UNKNOWN
PartitionName=gpu Nodes=n[1-NODES] Default=YES MaxTime=INFINITE State=UP
`

// daemons starts munge, the controller and one slurmd per node, and waits
// until every node is idle.
func (c *cluster) daemons(t *testing.T) {
	t.Helper()
	c.run(t, "munged", "--foreground", "--force", "--socket="+c.dir+"/run/munge.socket", "--key-file="+c.dir+"/etc/munge.key",
		"--pid-file="+c.dir+"/run/munged.pid", "--log-file="+c.dir+"/log/munged.log", "--seed-file="+c.dir+"/run/munge.seed")
	c.await(t, "munge", 20*time.Second, func() bool { _, err := os.Stat(c.dir + "/run/munge.socket"); return err == nil })
	c.run(t, "slurmctld", "-D", "-f", c.dir+"/etc/slurm.conf")
	for i := 1; i <= nodes; i++ {
		c.startNode(t, i)
	}
	c.await(t, "all nodes to be idle", 60*time.Second, func() bool {
		out, _ := c.slurm("sinfo -h -N -o '%N %t' | grep -cE ' idle$'")
		return out == fmt.Sprint(nodes)
	})
}

func (c *cluster) startNode(t *testing.T, i int) {
	t.Helper()
	inner := fmt.Sprintf("hostname n%d && mount --bind %[2]s/etc/hosts /etc/hosts && exec slurmd -D -N n%[1]d -f %[2]s/etc/slurm.conf", i, c.dir)
	c.run(t, "nsenter", fmt.Sprintf("--net=/run/netns/ndc-n%d", i), "unshare", "--uts", "--mount", "--propagation", "slave", "sh", "-c", inner)
}

// crash kills everything in a node's namespace at once.
func (c *cluster) crash(t *testing.T, i int) {
	t.Helper()
	if out, err := sh(fmt.Sprintf("ip netns pids ndc-n%d | xargs -r kill -KILL", i)); err != nil {
		t.Fatal(out, err)
	}
}

func (c *cluster) run(t *testing.T, name string, args ...string) {
	t.Helper()
	path := name
	if _, err := exec.LookPath(name); err != nil {
		path = "/usr/sbin/" + name
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin", "SLURM_CONF="+c.dir+"/etc/slurm.conf")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.processes = append(c.processes, cmd)
	go func() { _ = cmd.Wait() }()
}

// slurm runs a line of shell with Slurm's clients pointed at the cluster.
func (c *cluster) slurm(line string) (string, error) {
	return sh(line, "SLURM_CONF="+c.dir+"/etc/slurm.conf")
}

// await polls until something holds.
func (c *cluster) await(t *testing.T, what string, patience time.Duration, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(300 * time.Millisecond) {
		if holds() {
			return
		}
	}
	var logs bytes.Buffer
	for _, l := range []string{"slurmctld.log", "slurmd.n1.log"} {
		b, _ := os.ReadFile(filepath.Join(c.dir, "log", l))
		fmt.Fprintf(&logs, "%s:\n%s\n", l, tail(b))
	}
	queue, _ := c.slurm("squeue; sinfo -N -l")
	t.Fatalf("waited %s in vain for %s\n%s\n%s", patience, what, queue, logs.Bytes())
}

// stop takes everything down again.
func (c *cluster) stop(t *testing.T) {
	_, _ = c.slurm("squeue -h -o %A | sort -u | xargs -r scancel; sleep 1")
	for i := 1; i <= nodes; i++ {
		_, _ = sh(fmt.Sprintf("ip netns pids ndc-n%[1]d 2>/dev/null | xargs -r kill -KILL; ip link del ndcv%[1]d; ip netns del ndc-n%[1]d", i))
	}
	for _, p := range c.processes {
		_ = p.Process.Kill()
	}
	_, _ = sh("ip link del " + bridge)
	if t.Failed() {
		t.Logf("logs are kept in %s", c.dir)
		return
	}
	_ = os.RemoveAll(c.dir)
}
