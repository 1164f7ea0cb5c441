//go:build linux && (amd64 || arm64)

package trace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"syscall"
)

// What the program of a filter reads and answers (linux/seccomp.h).
const (
	callNumber = 0       // struct seccomp_data: the number,
	thirdWord  = 16 + 16 // and the lower half of the third argument
	allow      = 0x7fff0000
	stop       = 0x7ff00000 // SECCOMP_RET_TRACE

	setNoNewPrivileges = 38
	setFilter          = 22
	filterMode         = 2
)

// filter makes a process that has just been started stop at the calls that change the
// disk alone. To stop at every call, twice, would take ten times the time of the program.
// The process itself must ask for a filter, so it is made to.
func filter(pid int) error {
	var saved syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(pid, &saved); err != nil {
		return err
	}
	code := make([]byte, len(callInstruction))
	place := uintptr(saved.PC())
	if _, err := syscall.PtracePeekText(pid, place, code); err != nil {
		return err
	}
	if _, err := syscall.PtracePokeText(pid, place, callInstruction); err != nil {
		return err
	}
	// Below the stack lies nothing yet: struct sock_fprog, and the program.
	program := instructions()
	where := stackOf(&saved)&^15 - 8192
	var b bytes.Buffer
	for _, v := range []any{uint64(len(program)), where + 16, program} {
		if err := binary.Write(&b, binary.NativeEndian, v); err != nil {
			return err
		}
	}
	if _, err := syscall.PtracePokeData(pid, uintptr(where), b.Bytes()); err != nil {
		return err
	}
	for _, arguments := range [][3]uint64{{setNoNewPrivileges, 1}, {setFilter, filterMode, where}} {
		if err := control(pid, saved, arguments); err != nil {
			return err
		}
	}
	if _, err := syscall.PtracePokeText(pid, place, code); err != nil {
		return err
	}
	return syscall.PtraceSetRegs(pid, &saved)
}

// control makes a process call prctl at the instruction at which it stands.
func control(pid int, registers syscall.PtraceRegs, arguments [3]uint64) error {
	setCall(&registers, syscall.SYS_PRCTL, arguments)
	if err := syscall.PtraceSetRegs(pid, &registers); err != nil {
		return err
	}
	if err := syscall.PtraceSingleStep(pid); err != nil {
		return err
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, waitAll, nil); err != nil {
		return err
	}
	if !status.Stopped() || status.StopSignal() != syscall.SIGTRAP {
		return fmt.Errorf("the traced program ended at %v", status)
	}
	if err := syscall.PtraceGetRegs(pid, &registers); err != nil {
		return err
	}
	if result := int64(resultOf(&registers)); result != 0 {
		return fmt.Errorf("prctl: %w", syscall.Errno(-result))
	}
	return nil
}

// instructions are the filter: stop at calls, but at openat only where it may create.
func instructions() []syscall.SockFilter {
	const load, equal, any, answer = syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS, syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K,
		syscall.BPF_JMP | syscall.BPF_JSET | syscall.BPF_K, syscall.BPF_RET | syscall.BPF_K
	program := []syscall.SockFilter{{Code: load, K: callNumber}}
	for _, number := range slices.Sorted(maps.Keys(calls)) {
		if number != syscall.SYS_OPENAT {
			program = append(program, syscall.SockFilter{Code: equal, K: uint32(number), Jf: 1}, syscall.SockFilter{Code: answer, K: stop})
		}
	}
	return append(program,
		syscall.SockFilter{Code: equal, K: syscall.SYS_OPENAT, Jf: 3},
		syscall.SockFilter{Code: load, K: thirdWord},
		syscall.SockFilter{Code: any, K: syscall.O_CREAT, Jf: 1},
		syscall.SockFilter{Code: answer, K: stop},
		syscall.SockFilter{Code: answer, K: allow})
}
