//go:build linux && (amd64 || arm64)

// Package trace runs a program and ends it at one of the moments at which it
// changes the disk, before its N-th call of rename, unlink, mkdir, fsync, lock
// or creation of a file, or lets that call fail. It is how tests prove that a
// build may be killed anywhere; the program is the real one and knows nothing
// of it.
// What must hold afterwards is written in the tests that use it.
package trace

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// Program is what is run.
type Program struct {
	Path   string
	Args   []string // the program's name first
	Env    []string
	Dir    string
	Output *os.File // gets standard output and standard error
}

// Outcome is how the program ended.
type Outcome struct {
	Calls  int    // calls that change the disk, up to the signal or the end
	Call   string // the one at which the signal came; "" when there were fewer
	Status syscall.WaitStatus
}

// ErrNotAllowed says that this machine does not let a program trace another.
var ErrNotAllowed = errors.New("tracing is not allowed here")

// calls names the system calls that change what is on disk.
var calls = map[uint64]string{
	syscall.SYS_RENAMEAT: "rename", sysRenameat2: "rename", syscall.SYS_UNLINKAT: "unlink", syscall.SYS_MKDIRAT: "mkdir",
	syscall.SYS_FSYNC: "fsync", syscall.SYS_FLOCK: "flock", syscall.SYS_FTRUNCATE: "truncate", syscall.SYS_OPENAT: "create",
}

// Run runs a program and sends it a signal right before its call number at.
// With SIGKILL the call is not made; with another it is made when the program
// has had time to take the signal.
func Run(p Program, at int, signal syscall.Signal) (Outcome, error) {
	return p.trace(&tracer{at: at, signal: signal})
}

// Fail runs a program and lets its call number at fail.
func Fail(p Program, at int, errno syscall.Errno) (Outcome, error) {
	return p.trace(&tracer{at: at, errno: errno})
}

func (p *Program) trace(t *tracer) (Outcome, error) {
	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	process, err := os.StartProcess(p.Path, p.Args, &os.ProcAttr{
		Dir: p.Dir, Env: p.Env, Files: []*os.File{nil, p.Output, p.Output}, Sys: &syscall.SysProcAttr{Ptrace: true, Setpgid: true}, // a group to wait for
	})
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) {
		return Outcome{}, fmt.Errorf("%w: %w", ErrNotAllowed, err)
	}
	if err != nil {
		return Outcome{}, err
	}
	defer process.Release()
	t.pid, t.started = process.Pid, map[int]bool{}
	if err := t.run(); err != nil {
		_ = syscall.Kill(t.pid, syscall.SIGKILL)
		return t.outcome, err
	}
	return t.outcome, nil
}

type tracer struct {
	pid     int
	at      int
	signal  syscall.Signal
	errno   syscall.Errno // of the call; 0: it gets the signal
	started map[int]bool  // threads whose first stop has passed
	held    int           // the thread whose call waits for the signal; 0: none
	until   time.Time     // when it waits no longer
	outcome Outcome
}

// A signal is taken by another thread than the one whose call it precedes, and by a
// goroutine that must be given a turn. The call waits for that, or a program without
// pauses would often be done before it knows of the signal.
const (
	waitForSignal = time.Second           // to reach a thread
	waitForTurn   = 40 * time.Millisecond // from then on: Go takes a turn from a thread that stays in a call after 10 ms
)

// What package syscall does not name.
const (
	waitOwnThread   = 0x20000000 // __WNOTHREAD: leave other tests' children alone
	waitAll         = 0x40000000 // __WALL
	ptraceExitKill  = 0x100000
	ptraceFilter    = 0x80   // PTRACE_O_TRACESECCOMP
	filterStop      = 7      // PTRACE_EVENT_SECCOMP
	getCallInfo     = 0x420e // PTRACE_GET_SYSCALL_INFO
	followedThreads = syscall.PTRACE_O_TRACECLONE | syscall.PTRACE_O_TRACEFORK | syscall.PTRACE_O_TRACEVFORK
)

func (t *tracer) run() error {
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(t.pid, &status, waitAll, nil); err != nil {
		return err
	}
	if err := errors.Join(syscall.PtraceSetOptions(t.pid, ptraceFilter|ptraceExitKill|followedThreads), filter(t.pid)); err != nil {
		return fmt.Errorf("%w: %w", ErrNotAllowed, err)
	}
	t.started[t.pid] = true
	pid, deliver := t.pid, 0
	for {
		if pid != t.held {
			if err := proceed(pid, deliver); err != nil {
				return err
			}
		}
		for {
			how := waitAll | waitOwnThread
			if t.held != 0 {
				how |= syscall.WNOHANG
			}
			var err error
			pid, err = syscall.Wait4(-t.pid, &status, how, nil)
			if errors.Is(err, syscall.EINTR) {
				continue
			}
			if err != nil {
				return err
			}
			if pid == 0 {
				if err := t.wait(); err != nil {
					return err
				}
				continue
			}
			if status.Stopped() {
				break
			}
			if pid == t.pid {
				t.outcome.Status = status
				return nil
			}
		}
		var err error
		if deliver, err = t.stopped(pid, status); err != nil {
			return err
		}
	}
}

// proceed lets a thread that stopped go on, if it still lives.
func proceed(pid, signal int) error {
	if err := syscall.PtraceCont(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// wait passes some time while no thread stops, and lets the held one go on after it.
func (t *tracer) wait() error {
	if time.Now().Before(t.until) {
		time.Sleep(time.Millisecond)
		return nil
	}
	pid := t.held
	t.held = 0
	return proceed(pid, 0)
}

// stopped handles one stop of a thread and returns the signal that it gets.
func (t *tracer) stopped(pid int, status syscall.WaitStatus) (int, error) {
	signal := status.StopSignal()
	switch {
	case signal == syscall.SIGTRAP && status.TrapCause() == filterStop:
		return 0, t.call(pid)
	case signal == syscall.SIGTRAP && status.TrapCause() > 0:
		return 0, nil // a thread was made
	case signal == syscall.SIGSTOP && !t.started[pid]:
		t.started[pid] = true
		return 0, nil
	case signal == t.signal && t.held != 0:
		t.until = time.Now().Add(waitForTurn)
	}
	return int(signal), nil
}

// callInfo is the head of struct ptrace_syscall_info, with the arguments of a call
// that the filter stops.
type callInfo struct {
	op        uint8
	_         [3]uint8
	_         uint32
	_, _      uint64
	number    uint64
	arguments [6]uint64
	_         uint64
}

// call counts a system call before it is made, and sends the signal when it is its turn.
func (t *tracer) call(pid int) error {
	var info callInfo
	_, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, getCallInfo, uintptr(pid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	switch {
	case errno == syscall.ESRCH || errno == 0 && t.outcome.Call != "":
		return nil
	case errno != 0:
		return fmt.Errorf("%w: %w", ErrNotAllowed, errno)
	}
	t.outcome.Calls++
	if t.outcome.Calls != t.at {
		return nil
	}
	t.outcome.Call = calls[info.number]
	if t.errno != 0 {
		return fail(pid, t.errno)
	}
	if err := syscall.Kill(t.pid, t.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	if t.signal != syscall.SIGKILL {
		t.held, t.until = pid, time.Now().Add(waitForSignal)
	}
	return nil
}
