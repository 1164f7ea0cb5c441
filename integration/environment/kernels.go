package environment

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// Kernel is one that DeepSpeed builds when it first needs it.
type Kernel struct{ folder, builder string }

// SharedMemory sums over a CPU's ranks, which every run on one does; HostAdam
// updates what is offloaded to the host.
var (
	SharedMemory = Kernel{"deepspeed_shm_comm", "ShareMemCommBuilder"}
	HostAdam     = Kernel{"cpu_adam", "CPUAdamBuilder"}
)

// Kernels is the folder in which an environment's DeepSpeed keeps the kernels
// that it builds, to be named in TORCH_EXTENSIONS_DIR; releases must not share
// one. SharedMemory and those named are built first where they are missing, so
// that no run waits for a compiler.
func Kernels(python string, more ...Kernel) (string, error) {
	folder := filepath.Join(filepath.Dir(filepath.Dir(python)), "extensions")
	for _, k := range append([]Kernel{SharedMemory}, more...) {
		if err := k.build(python, folder); err != nil {
			return "", err
		}
	}
	return folder, nil
}

func (k Kernel) build(python, folder string) error {
	if k.built(folder) {
		return nil
	}
	unlock, err := lock(folder + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if k.built(folder) { // another process was faster
		return nil
	}
	if _, err := exec.LookPath("c++"); err != nil {
		if err := Debian("g++", "python3-dev"); err != nil {
			return err
		}
	}
	// A build that was killed leaves a lock behind, for which others would wait.
	if err := os.RemoveAll(filepath.Join(folder, k.folder)); err != nil {
		return err
	}
	return run("env", "TORCH_EXTENSIONS_DIR="+folder, "PATH="+filepath.Dir(python)+":"+os.Getenv("PATH"), python, "-c",
		"from deepspeed.ops.op_builder.cpu import "+k.builder+" as B; B().load()")
}

// built reports whether the kernel is there, and nothing is left of a run that was
// killed while it looked at it: a lock, for which the next one would wait, or
// objects of a build that did not end, which the next one would begin again.
func (k Kernel) built(folder string) bool {
	libraries, _ := filepath.Glob(filepath.Join(folder, k.folder, "*.so"))
	left, _ := filepath.Glob(filepath.Join(folder, k.folder, "*.o"))
	if lock := filepath.Join(folder, k.folder, "lock"); time.Since(changed(lock)) > time.Minute {
		left = append(left, lock)
	}
	return len(libraries) > 0 && !slices.ContainsFunc(left, func(path string) bool { return changed(path).After(changed(libraries[0])) })
}

// changed is when a file changed; one that is not there is older than all.
func changed(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
