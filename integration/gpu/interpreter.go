package gpu

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/integration/environment"
)

// Interpreter returns a Python with torch and a framework: NDC_GPU_PYTHON where
// it has the release, else one with the wheels of NDC_WHEELS beside the torch
// of NDC_PYTHON or python3, else the environment of package environment from
// the index. The error says what is missing.
func Interpreter(kind string) (string, error) {
	e := environment.Of(kind, releases[kind])
	if python := os.Getenv("NDC_GPU_PYTHON"); python != "" {
		return python, has(python, e)
	}
	if wheels := os.Getenv("NDC_WHEELS"); wheels != "" {
		return fromWheels(e, wheels)
	}
	return e.Python()
}

// has looks a release up in an interpreter.
func has(python string, e environment.Environment) error {
	const look = "import importlib.metadata as m, sys; import torch; print(m.version(sys.argv[1]))"
	out, err := exec.Command(python, "-c", look, e.Project).CombinedOutput()
	if found := strings.TrimSpace(string(out)); err != nil || found != e.Version {
		return fmt.Errorf("%s has no %s %s: %s", python, e.Project, e.Version, environment.Tail(found, 1))
	}
	return nil
}

// fromWheels makes an environment that sees the torch of the machine, with the
// framework from a folder of wheels and nothing from an index.
func fromWheels(e environment.Environment, wheels string) (string, error) {
	base := os.Getenv("NDC_PYTHON")
	if base == "" {
		base = "python3"
	}
	cache, err := environment.Cache()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "wheels-"+e.Name)
	python := filepath.Join(folder, "bin", "python")
	if has(python, e) == nil {
		return python, nil
	}
	install := []string{"-m", "pip", "install", "-q", "--no-index", "--find-links", wheels}
	for _, words := range [][]string{
		{base, "-m", "venv", "--clear", "--system-site-packages", folder},
		slices.Concat([]string{python}, install, e.Build),
		slices.Concat([]string{python}, install, e.Options, e.Packages),
	} {
		if len(words) == len(install)+1 {
			continue // nothing to build with
		}
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, environment.Tail(string(out), 3))
		}
	}
	return python, has(python, e)
}

// largest is the largest n in [low, high] that fits, found by halving; low - 1
// when none does. What fits at n has to fit below n.
func largest(low, high int, fits func(int) (bool, error)) (int, error) {
	low--
	for low < high {
		middle := (low + high + 1) / 2
		ok, err := fits(middle)
		if err != nil {
			return 0, err
		}
		if ok {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low, nil
}
