package environment

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Ask runs a driver that judges so many cases and returns its standard output,
// as far as it came. The driver limits every case by itself; one that hangs all
// the same is ended with its process group.
func Ask(cases int, input io.Reader, env []string, python string, args ...string) (string, error) {
	limit := patience + time.Duration(cases)*5*time.Minute
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, args...)
	Together(cmd)
	cmd.Env = append(os.Environ(), env...)
	var out, complaints bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, &out, &complaints
	err := cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("no end after %s", limit)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", filepath.Base(args[0]), err, Tail(complaints.String(), 20))
	}
	return out.String(), err
}

// Together makes the end of a command the end of all that it started: it is
// told to end first, as torchrun's workers have sessions of their own.
func Together(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		time.AfterFunc(40*time.Second, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	}
	cmd.WaitDelay = time.Minute // for children that hold the pipes
}

// Machine says what is left of this machine, for the log of a command that
// did not end as it should.
func Machine() string {
	memory := map[string]int{}
	content, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(content)) {
		var name string
		var kilobytes int
		if n, _ := fmt.Sscanf(line, "%s %d", &name, &kilobytes); n == 2 {
			memory[name] = kilobytes
		}
	}
	load, _ := os.ReadFile("/proc/loadavg")
	largest, _ := exec.Command("ps", "-eo", "rss,pid,ppid,etimes,args", "--sort=-rss").Output()
	processes := strings.SplitAfter(string(largest), "\n")
	return fmt.Sprintf("%d of %d MiB available, load %s\n%s", memory["MemAvailable:"]>>10, memory["MemTotal:"]>>10,
		strings.TrimSpace(string(load)), strings.Join(processes[:min(8, len(processes))], ""))
}

// Port is where a launch of this process meets: its own among the suites that
// run at once, and outside of the ports that the kernel hands out.
func Port() int { return 10000 + os.Getpid()%10000 }
