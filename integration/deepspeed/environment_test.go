//go:build conformance

package deepspeed

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// torch is what all environments run on; the releases differ in nothing that
// it matters for.
const torch = "2.11.0"

// environments pins transformers per release of DeepSpeed: AutoEP works from
// 5.0 to before 5.21, and 0.16.4 is as old as 4.49.
var environments = map[string]string{"0.19.8": "5.8.0", "0.18.2": "5.8.0", "0.16.4": "4.49.0"}

// environment returns a Python with a release of DeepSpeed, installed into the
// cache folder when it is missing. One torch serves all of them.
func environment(t *testing.T, version string) string {
	t.Helper()
	folder := filepath.Join(cacheFolder(t), "deepspeed-"+version)
	python := filepath.Join(folder, "bin", "python")
	if works(python, version) {
		return python
	}
	command(t, basePython(t), "-m", "venv", folder)
	shareTorch(t, folder, python)
	pip := []string{"-m", "pip", "install", "-q", "--no-build-isolation"}
	command(t, python, append(pip, "wheel", "setuptools<81", "transformers=="+environments[version], "accelerate", "numpy", "tokenizers")...)
	command(t, python, append(pip, "deepspeed=="+version)...)
	// The one kernel that a CPU needs is built here, outside every time limit.
	command(t, python, "-c", "from deepspeed.ops.op_builder.cpu import ShareMemCommBuilder as B; B().load()")
	if !works(python, version) {
		t.Fatalf("%s does not import DeepSpeed %s", python, version)
	}
	return python
}

func works(python, version string) bool {
	return exec.Command(python, "-c", "import importlib.metadata as m, sys, torch, transformers; sys.exit(m.version('deepspeed') != '"+version+"')").Run() == nil
}

// shareTorch lets an environment use the torch of one that has it already; the
// first installs it.
func shareTorch(t *testing.T, folder, python string) {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(cacheFolder(t), "*", "lib", "python3.*", "site-packages", "torch-"+torch+"*.dist-info"))
	mine, _ := filepath.Glob(filepath.Join(folder, "lib", "python3.*", "site-packages"))
	if len(found) == 0 || len(mine) == 0 {
		command(t, python, "-m", "pip", "install", "-q", "torch=="+torch)
		return
	}
	link := filepath.Join(mine[0], "zz_torch.pth")
	if err := os.WriteFile(link, []byte(filepath.Dir(found[0])+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func cacheFolder(t *testing.T) string {
	t.Helper()
	if folder := os.Getenv("NDC_CACHE"); folder != "" {
		return folder
	}
	folder, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, "ndc")
}

// basePython finds a CPython of at least 3.12.
func basePython(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("NDC_PYTHON"), "python3.12", "python3.13", "python3.14", "python3"} {
		if name != "" && exec.Command(name, "-c", "import sys; sys.exit(sys.version_info < (3, 12))").Run() == nil {
			return name
		}
	}
	t.Skip("no CPython of at least 3.12: set NDC_PYTHON")
	return ""
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "DS_ACCELERATOR=cpu", "TORCH_EXTENSIONS_DIR="+extensions(name))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out[max(0, len(out)-2000):])
	}
}

// extensions is where a release keeps its kernels; releases must not share it.
func extensions(python string) string {
	return filepath.Join(filepath.Dir(filepath.Dir(python)), "extensions")
}
