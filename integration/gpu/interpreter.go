package gpu

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/integration/environment"
)

// Releases are the releases of a framework that may run here, newest first.
func Releases(kind string) []string {
	if kind != "torchtitan" {
		return []string{environment.Newest(kind)}
	}
	releases := slices.Clone(environment.TorchTitanReleases)
	slices.Reverse(releases)
	return releases
}

// Environment is a release with what the measured jobs need besides.
func Environment(kind, release string) environment.Environment {
	e := environment.Of(kind, release)
	if kind == "torchtitan" {
		e.Name += "-torchao"
		e.Packages = append(e.Packages, "torchao=="+environment.TorchAO(release))
	}
	return e
}

// Interpreter returns a Python with torch and a framework, and the release that it
// has, the newest that suits its torch: NDC_GPU_PYTHON, else one with the wheels of
// NDC_WHEELS in front of the torch of NDC_PYTHON or python3, else the environment
// of package environment from the index. The error says what is missing.
func Interpreter(kind string) (python, release string, err error) {
	var missing []error
	for _, release := range Releases(kind) {
		python, err := interpreter(Environment(kind, release))
		if err == nil {
			return python, release, nil
		}
		missing = append(missing, err)
	}
	return "", "", errors.Join(missing...)
}

func interpreter(e environment.Environment) (string, error) {
	if python := os.Getenv("NDC_GPU_PYTHON"); python != "" {
		return python, has(python, e)
	}
	if wheels := os.Getenv("NDC_WHEELS"); wheels != "" {
		return e.FromWheels(cmp.Or(os.Getenv("NDC_PYTHON"), "python3"), wheels)
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
