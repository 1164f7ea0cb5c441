package environment

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Kernel is one that DeepSpeed builds when it first needs it.
type Kernel struct{ folder, builder string }

// SharedMemory sums over a CPU's ranks, which every run on one does; HostAdam
// updates what is offloaded to the host.
var (
	SharedMemory = Kernel{"deepspeed_shm_comm", "ShareMemCommBuilder"}
	HostAdam     = Kernel{"cpu_adam", "CPUAdamBuilder"}
)

// Kernels puts the kernels of an environment's DeepSpeed into a folder of the
// caller's: SharedMemory and those named, built first where they are missing,
// so that no run waits for a compiler. It returns the variables by which a run
// finds them, and the ninja that built them: another release would build anew.
//
// A run locks the kernel that it loads, and one that is killed leaves its lock,
// for which all wait that use the same folder. So no two tests should.
func Kernels(python, folder string, more ...Kernel) (variables []string, err error) {
	whole := filepath.Join(filepath.Dir(filepath.Dir(python)), "kernels")
	for _, k := range append([]Kernel{SharedMemory}, more...) {
		if err := k.build(python, whole); err != nil {
			return nil, err
		}
		if err := copyFolder(filepath.Join(folder, k.folder), filepath.Join(whole, k.folder)); err != nil {
			return nil, err
		}
	}
	return kernelVariables(python, folder), nil
}

// Set sets variables, such as those of Kernels, for a test.
func Set(t interface{ Setenv(name, value string) }, variables []string) {
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
}

func kernelVariables(python, folder string) []string {
	return []string{"TORCH_EXTENSIONS_DIR=" + folder, "PATH=" + filepath.Dir(python) + ":" + os.Getenv("PATH")}
}

// build leaves a whole kernel in the folder, or none.
func (k Kernel) build(python, folder string) error {
	unlock, err := lock(folder + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(filepath.Join(folder, k.folder)); err == nil {
		return nil
	}
	if _, err := exec.LookPath("c++"); err != nil {
		if err := Debian("g++", "python3-dev"); err != nil {
			return err
		}
	}
	part := folder + ".part"
	if err := os.RemoveAll(part); err != nil { // of a build that was killed
		return err
	}
	load := "from deepspeed.ops.op_builder.cpu import " + k.builder + " as B; B().load()"
	if err := run("env", append(kernelVariables(python, part), python, "-c", load)...); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.Rename(filepath.Join(part, k.folder), filepath.Join(folder, k.folder))
}

// copyFolder copies files with the times at which they changed, by which ninja
// sees that nothing is to be built.
func copyFolder(to, from string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		path := filepath.Join(to, e.Name())
		if err := os.WriteFile(path, content, info.Mode().Perm()); err != nil {
			return err
		}
		if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
			return err
		}
	}
	return nil
}
