package gpu

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/ndc-dev/ndc/integration/environment"
)

// Environment is the release of a framework that runs here.
func Environment(kind string) environment.Environment {
	return environment.Of(kind, environment.Newest(kind))
}

// Interpreter returns a Python with torch and a framework: NDC_GPU_PYTHON where
// it has the release, else one with the wheels of NDC_WHEELS in front of the
// torch of NDC_PYTHON or python3, else the environment of package environment
// from the index. The error says what is missing.
func Interpreter(kind string) (string, error) {
	e := Environment(kind)
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
