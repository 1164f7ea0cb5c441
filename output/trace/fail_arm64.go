//go:build linux

package trace

import "syscall"

const sysRenameat2 = 276

func fail(int, syscall.Errno) error { return ErrNotAllowed }

var callInstruction = []byte{0x01, 0x00, 0x00, 0xd4} // svc #0

func stackOf(r *syscall.PtraceRegs) uint64 { return r.Sp }

func resultOf(r *syscall.PtraceRegs) uint64 { return r.Regs[0] }

func setCall(r *syscall.PtraceRegs, number uint64, arguments [3]uint64) {
	r.Regs[8] = number
	copy(r.Regs[:5], []uint64{arguments[0], arguments[1], arguments[2], 0, 0})
}
