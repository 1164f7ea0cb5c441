//go:build linux

package trace

import "syscall"

const sysRenameat2 = 316

// skip makes the kernel leave out the system call that a thread enters.
func skip(pid int) error {
	var registers syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(pid, &registers); err != nil {
		return err
	}
	registers.Orig_rax = ^uint64(0)
	return syscall.PtraceSetRegs(pid, &registers)
}

// answer sets what a system call returns.
func answer(pid int, errno syscall.Errno) error {
	var registers syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(pid, &registers); err != nil {
		return err
	}
	registers.Rax = uint64(-int64(errno))
	return syscall.PtraceSetRegs(pid, &registers)
}
