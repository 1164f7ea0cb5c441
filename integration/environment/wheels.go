package environment

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Wheels fills a folder with all that the environment has beside torch and the
// GPU's libraries, for machines that reach no index. The wheels are for this
// machine's CPython and kind of processor.
func (e Environment) Wheels(folder string) error {
	python, err := e.Python()
	if err != nil {
		return err
	}
	const list = `
import importlib.metadata as metadata
own = {d.metadata["Name"]: d.version for d in reversed(list(metadata.distributions()))}
torch = ("torch", "triton", "pip")
print("\n".join(sorted(f"{n}=={v}" for n, v in own.items() if n not in torch and not n.startswith(("nvidia-", "cuda-")))))`
	out, err := exec.Command(python, "-c", list).Output()
	if err != nil {
		return err
	}
	words := []string{"-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps", "-w", folder}
	return run(python, slices.Concat(words, e.Options, strings.Fields(string(out)))...)
}

// FromWheels returns an interpreter with the environment's packages out of a
// folder of wheels, in front of the torch and all other packages of base. That
// torch has to be its own where no other will do.
func (e Environment) FromWheels(base, wheels string) (string, error) {
	cache, err := Cache()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "wheels-"+e.Name)
	python := filepath.Join(folder, "bin", "python")
	if e.works(python) {
		return python, nil
	}
	// What base sees may lie in several folders, and base may be a virtual
	// environment itself, whose packages --system-site-packages would not show.
	const paths = `
import importlib.metadata as metadata, sys
print(metadata.version("torch"))
print("\n".join(p for p in sys.path if p.endswith("-packages")))`
	said, err := exec.Command(base, "-c", paths).Output()
	if err != nil {
		return "", fmt.Errorf("%s has no torch: %w", base, err)
	}
	found, seen, _ := strings.Cut(string(said), "\n")
	if release, _, _ := strings.Cut(found, "+"); e.Pinned && release != e.Torch {
		return "", fmt.Errorf("%s runs on torch %s alone, %s has %s", e.Name, e.Torch, base, found)
	}
	if err := e.fill(folder, base, seen, "--no-index", "--find-links", wheels); err != nil {
		return "", err
	}
	if !e.works(python) {
		return "", fmt.Errorf("%s does not become %s out of %s", base, e.Name, wheels)
	}
	return python, nil
}
