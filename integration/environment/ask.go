package environment

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Minute // for children that hold the pipes
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
