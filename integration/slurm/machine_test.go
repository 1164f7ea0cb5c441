//go:build slurm

package slurm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/ndc-dev/ndc/integration/environment"
	"github.com/ndc-dev/ndc/integration/summary"
)

// insideVariable marks the process that runs the tests inside the namespaces;
// it holds the machine as JSON.
const insideVariable = "NDC_SLURM_MACHINE"

// machine is what was prepared outside the namespaces, where the network is.
type machine struct {
	Folder     string // for everything that the tests write
	NDC        string // the binary under test
	DeepSpeed  framework
	Megatron   framework
	TorchTitan framework
	Skip       string // why there can be no Slurm here
}

// framework is an installed framework, or why it cannot be had.
type framework struct {
	Python  string
	Missing string
}

// here is the machine of this process.
var here machine

// The versions that train.
const (
	deepSpeed  = "0.19.8"
	megatron   = "0.19.2"
	torchTitan = "0.3.0"
)

// TestMain prepares the machine and runs the tests in a process of its own,
// inside new namespaces: when it ends, even by a signal, the kernel ends all
// that it started and forgets its networks and mounts.
func TestMain(m *testing.M) {
	if text, inside := os.LookupEnv(insideVariable); inside {
		if err := json.Unmarshal([]byte(text), &here); err != nil {
			panic(err)
		}
		os.Exit(m.Run())
	}
	if here.Skip = obstacle(); here.Skip != "" {
		os.Exit(m.Run())
	}
	code, err := runInside()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// packages are Debian's names of the programs that the suite runs.
var packages = map[string]string{
	"munged": "munge", "slurmctld": "slurmctld", "slurmd": "slurmd", "sbatch": "slurm-client",
	"ip": "iproute2", "shellcheck": "shellcheck", "python3": "python3",
	"strace": "strace",
}

// obstacle installs what is missing and says why there can be no Slurm here,
// or nothing.
func obstacle() string {
	if os.Geteuid() != 0 {
		return "a virtual Slurm needs root for its namespaces"
	}
	if err := os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin"); err != nil {
		return err.Error()
	}
	var missing []string
	for program, name := range packages {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		if err := environment.Debian(missing...); err != nil {
			return fmt.Sprintf("%s cannot be installed: %v", strings.Join(missing, ", "), err)
		}
	}
	const probe = `ip link add probe type bridge && ip netns add probe && ip link add probe0 type veth peer name eth0 netns probe &&
		unshare --uts hostname probe && node=$(mktemp -u) && mknod "$node" c 1 3 && rm "$node"`
	if out, err := namespaced(context.Background(), "bash", "-c", probe).CombinedOutput(); err != nil {
		return fmt.Sprintf("this machine allows no namespaces or device nodes: %v: %s", err, environment.Tail(string(out), 3))
	}
	return ""
}

// namespaced is a command under an init of its own in new namespaces of
// processes, networks, names and mounts.
func namespaced(ctx context.Context, command ...string) *exec.Cmd {
	const initialise = `mount -t tmpfs none /run && mount -t tmpfs none /dev/shm && ip link set lo up && hostname control || exit; "$@" & wait $!`
	args := []string{"--net", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private", "bash", "-c", initialise, "init"}
	cmd := exec.CommandContext(ctx, "unshare", append(args, command...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// runInside prepares the machine and runs this program's tests inside.
func runInside() (int, error) {
	runtime.LockOSThread() // a death signal comes when the thread ends that started the child
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	folder, err := os.MkdirTemp("/tmp", "ndc-slurm-") // Slurm and munge want short, plainly owned paths
	if err != nil {
		return 1, err
	}
	keep := false
	defer func() {
		if !keep {
			_ = os.RemoveAll(folder)
		}
	}()
	if err := os.Chmod(folder, 0o755); err != nil {
		return 1, err
	}
	here = machine{Folder: folder, NDC: filepath.Join(folder, "ndc")}
	if out, err := exec.Command("go", "build", "-o", here.NDC, "../../cmd/ndc").CombinedOutput(); err != nil {
		return 1, fmt.Errorf("%w\n%s", err, out)
	}
	here.DeepSpeed = install(environment.DeepSpeed(deepSpeed))
	if here.DeepSpeed.Missing == "" { // outside every time limit
		if _, err := environment.Kernels(here.DeepSpeed.Python, filepath.Join(folder, "kernels")); err != nil {
			here.DeepSpeed.Missing = err.Error()
		}
	}
	here.Megatron = install(environment.Megatron(megatron))
	here.TorchTitan = install(environment.TorchTitan(torchTitan))
	text, err := json.Marshal(here)
	if err != nil {
		return 1, err
	}
	program, err := os.Executable()
	if err != nil {
		return 1, err
	}
	command := append([]string{program}, os.Args[1:]...)
	cmd := namespaced(ctx, append(command, "-test.parallel=16")...) // the tests wait, most of the time
	cmd.Env = append(os.Environ(), insideVariable+"="+string(text))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err = cmd.Run()
	if keep = err != nil && ctx.Err() == nil; keep {
		fmt.Fprintf(os.Stderr, "logs are kept in %s\n", folder)
	}
	return exitCode(err), nil
}

func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode()
	}
	return 1
}

// install finds a framework for the tests, or says why it is not there.
func install(e environment.Environment) framework {
	var f framework
	var err error
	if f.Python, err = e.Python(); err != nil {
		f.Missing = err.Error()
	}
	return f
}

// record adds a row to the table of what was checked.
func record(t *testing.T, what string, accepted, rejected int, skipped string) {
	t.Helper()
	version := ""
	if out, err := exec.Command("slurmd", "-V").Output(); err == nil {
		version = strings.TrimPrefix(strings.TrimSpace(string(out)), "slurm-wlm ")
	}
	err := summary.Add(summary.Line{Framework: "slurm", Version: version, What: what, Accepted: accepted, Rejected: rejected, Skipped: skipped})
	if err != nil {
		t.Error(err)
	}
}
