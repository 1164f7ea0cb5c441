package environment

import (
	"os"
	"os/exec"
	"path/filepath"
)

// Kernels is the folder in which an environment's DeepSpeed keeps the kernels
// that it builds, to be named in TORCH_EXTENSIONS_DIR; releases must not share
// one. The kernel that a CPU needs is built first when it is missing, so that
// no run waits for a compiler.
func Kernels(python string) (string, error) {
	folder := filepath.Join(filepath.Dir(filepath.Dir(python)), "extensions")
	if built(folder) {
		return folder, nil
	}
	unlock, err := lock(folder + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if built(folder) { // another process was faster
		return folder, nil
	}
	if _, err := exec.LookPath("c++"); err != nil {
		if err := Debian("g++", "python3-dev"); err != nil {
			return "", err
		}
	}
	// A build that was killed leaves a lock behind, for which others would wait.
	if err := os.RemoveAll(folder); err != nil {
		return "", err
	}
	return folder, run("env", "TORCH_EXTENSIONS_DIR="+folder, "PATH="+filepath.Dir(python)+":"+os.Getenv("PATH"), python, "-c",
		"from deepspeed.ops.op_builder.cpu import ShareMemCommBuilder as B; B().load()")
}

func built(folder string) bool {
	found, _ := filepath.Glob(filepath.Join(folder, "deepspeed_shm_comm", "*.so"))
	return len(found) > 0
}
