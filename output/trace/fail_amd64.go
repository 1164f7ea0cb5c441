//go:build linux

package trace

import "syscall"

const sysRenameat2 = 316

// fail makes the kernel leave out the system call that a thread is about to make, and
// answer with an error.
func fail(pid int, errno syscall.Errno) error {
	var registers syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(pid, &registers); err != nil {
		return err
	}
	registers.Orig_rax, registers.Rax = ^uint64(0), uint64(-int64(errno))
	return syscall.PtraceSetRegs(pid, &registers)
}

var callInstruction = []byte{0x0f, 0x05} // syscall

func stackOf(r *syscall.PtraceRegs) uint64 { return r.Rsp }

func resultOf(r *syscall.PtraceRegs) uint64 { return r.Rax }

func setCall(r *syscall.PtraceRegs, number uint64, arguments [3]uint64) {
	r.Orig_rax, r.Rax = ^uint64(0), number // no call is under way that could be made again
	r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8 = arguments[0], arguments[1], arguments[2], 0, 0
}
