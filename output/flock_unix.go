//go:build unix && !solaris && !aix

package output

import (
	"os"
	"syscall"
)

// flock locks a file, which the system unlocks when the program ends.
func flock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
