// Package environment gives the conformance suites what they stand on: a
// CPython, a folder of their own, pinned frameworks from the package index with
// one torch for all that allow it, and Debian's packages. Whatever cannot be
// had is an error that says so, for a test to skip with; nothing is judged
// here, which is the business of the sibling packages.
package environment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Space that an installation may take, from the largest seen: torch brings
// 4.7 GB of CUDA libraries, unpacked beside what was fetched.
const (
	torchBytes   = 6e9
	packageBytes = 1e9
)

// patience is how long one installation may take.
const patience = 10 * time.Minute

// Python finds a CPython of at least 3.12: NDC_PYTHON, then PATH, then pyenv,
// then Debian's packages where this user may install them.
func Python() (string, error) {
	if p := os.Getenv("NDC_PYTHON"); p != "" {
		if !recent(p) {
			return "", fmt.Errorf("NDC_PYTHON=%s is no CPython of at least 3.12 with venv", p)
		}
		return p, nil
	}
	if p := installed(); p != "" {
		return p, nil
	}
	if err := Debian("python3", "python3-venv"); err == nil {
		if p := installed(); p != "" {
			return p, nil
		}
	}
	return "", errors.New("no CPython of at least 3.12 with venv: install one (Debian: apt-get install python3 python3-venv, from version 13; others: pyenv install 3.12) or name it in NDC_PYTHON")
}

func installed() string {
	candidates := []string{"python3.12", "python3.13", "python3.14", "python3"}
	home, _ := os.UserHomeDir()
	pyenv, _ := filepath.Glob(filepath.Join(home, ".pyenv", "versions", "3.1[2-9].*", "bin", "python"))
	for _, p := range append(candidates, pyenv...) {
		if recent(p) {
			return p
		}
	}
	return ""
}

func recent(python string) bool {
	return exec.Command(python, "-c", "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 12))").Run() == nil
}

// Cache is the folder that holds the environments: NDC_CACHE, or "ndc" in the
// user's cache folder. To use an existing environment, link it there under
// its name.
func Cache() (string, error) {
	folder := os.Getenv("NDC_CACHE")
	if folder == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		folder = filepath.Join(user, "ndc")
	}
	return folder, os.MkdirAll(folder, 0o755)
}

// Environment is a Python environment with pinned packages.
type Environment struct {
	Name     string   // its folder in the cache, such as torchtitan-0.2.2
	Torch    string   // the version of torch, shared by all that name it
	Pinned   bool     // no other torch will do
	Build    []string // pip requirements that building the others takes
	Packages []string // pip requirements beside torch
	Options  []string // of pip
	Project  string   // the framework's name on the index
	Version  string
	Imports  []string // modules that must be found
	// Over is an environment whose packages serve here too, behind this one's
	// own.
	Over *Environment
}

// Python returns the environment's interpreter, installing first what is
// missing.
func (e Environment) Python() (string, error) {
	cache, err := Cache()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, e.Name)
	python := filepath.Join(folder, "bin", "python")
	if e.works(python) {
		return python, nil
	}
	unlock, err := lock(filepath.Join(cache, e.Name+".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if e.works(python) { // another process was faster
		return python, nil
	}
	if err := e.install(folder, python); err != nil {
		return "", fmt.Errorf("%s cannot be installed: %w", e.Name, err)
	}
	return python, nil
}

// works looks the framework up without importing it, which takes seconds.
func (e Environment) works(python string) bool {
	const look = `
import importlib.metadata as metadata, importlib.util as util, sys
sys.exit(metadata.version(sys.argv[1]) != sys.argv[2] or not all(map(util.find_spec, sys.argv[3:])))`
	return exec.Command(python, append([]string{"-c", look, e.Project, e.Version, "torch"}, e.Imports...)...).Run() == nil
}

func (e Environment) install(folder, python string) error {
	base, err := Python()
	if err != nil {
		return err
	}
	if err := space(filepath.Dir(folder), packageBytes); err != nil {
		return err
	}
	paths, err := e.shared()
	if err != nil {
		return err
	}
	if err := e.fill(folder, base, paths); err != nil {
		return err
	}
	return run(python, "-c", "import torch, "+strings.Join(e.Imports, ", "))
}

// fill makes the environment's folder from an interpreter: a virtual environment
// that sees the packages of paths, lines of a .pth file, behind its own, which pip
// installs with further options.
func (e Environment) fill(folder, base, paths string, options ...string) error {
	if err := run(base, "-m", "venv", "--clear", folder); err != nil {
		return err
	}
	mine, err := packages(folder)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(mine, "zz_torch.pth"), []byte(paths), 0o644); err != nil {
		return err
	}
	install := slices.Concat([]string{"-m", "pip", "install", "-q", "--disable-pip-version-check"}, options, e.Options)
	for _, list := range [][]string{e.Build, e.Packages} {
		if len(list) == 0 {
			continue
		}
		if err := run(filepath.Join(folder, "bin", "python"), slices.Concat(install, list)...); err != nil {
			return err
		}
	}
	return nil
}

// shared are the paths of the torch that is installed once for all, and of the
// packages of the environment that this one stands on.
func (e Environment) shared() (string, error) {
	torch, err := torch(e.Torch)
	if err != nil || e.Over == nil {
		return torch + "\n", err
	}
	python, err := e.Over.Python()
	if err != nil {
		return "", err
	}
	under, err := packages(filepath.Dir(filepath.Dir(python)))
	if err != nil {
		return "", err
	}
	// Its own .pth files count, too: setuptools brings distutils by one.
	return fmt.Sprintf("import site; site.addsitedir(%q)\n%s\n", under, torch), nil
}

// packages is the site-packages of an environment.
func packages(folder string) (string, error) {
	found, _ := filepath.Glob(filepath.Join(folder, "lib", "python3.*", "site-packages"))
	if len(found) != 1 {
		return "", fmt.Errorf("no site-packages in %s", folder)
	}
	return found[0], nil
}

// torch returns the site-packages with a version of torch and of numpy,
// installing them first if they are missing.
func torch(version string) (string, error) {
	cache, err := Cache()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "torch-"+version)
	if found := sitePackages(folder, version); found != "" {
		return found, nil
	}
	if err := space(cache, torchBytes); err != nil {
		return "", err
	}
	base, err := Python()
	if err != nil {
		return "", err
	}
	if err := run(base, "-m", "venv", "--clear", folder); err != nil {
		return "", err
	}
	err = run(filepath.Join(folder, "bin", "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", "torch=="+version, "numpy==2.5.5")
	if err != nil {
		return "", err
	}
	return sitePackages(folder, version), nil
}

func sitePackages(folder, version string) string {
	found, _ := filepath.Glob(filepath.Join(folder, "lib", "python3.*", "site-packages", "torch-"+version+"*.dist-info"))
	if len(found) == 0 {
		return ""
	}
	return filepath.Dir(found[0])
}

// space reports a disk with too little room.
func space(folder string, bytes float64) error {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return err
	}
	if free := float64(s.Bavail) * float64(s.Bsize); free < bytes {
		return fmt.Errorf("%.1f GB are free in %s, %.0f GB are needed", free/1e9, folder, bytes/1e9)
	}
	return nil
}

// lock waits until no other process holds the file.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// Debian installs packages of Debian, where this user may, without starting
// the services that they bring.
func Debian(packages ...string) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("only root can install %s", strings.Join(packages, " "))
	}
	allow, err := denyServices()
	if err != nil {
		return err
	}
	defer allow()
	get := func(args ...string) error {
		return run("env", append([]string{"DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"}, args...)...)
	}
	install := append([]string{"install", "-y", "--no-install-recommends"}, packages...)
	if err := get(install...); err == nil {
		return nil
	}
	_ = get("update") // a bare machine has no lists
	return get(install...)
}

// denyServices writes Debian's policy for scripts of packages, unless the
// machine has one.
func denyServices() (allow func(), err error) {
	const policy = "/usr/sbin/policy-rc.d"
	f, err := os.OpenFile(policy, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if errors.Is(err, os.ErrExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString("#!/bin/sh\nexit 101\n")
	return func() { _ = os.Remove(policy) }, errors.Join(err, f.Close())
}

func run(name string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "DS_ACCELERATOR=cpu", "PIP_NO_INPUT=1")
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return fmt.Errorf("%s %s took more than %s", name, strings.Join(args, " "), patience)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, Tail(string(out), 5))
	}
	return nil
}

// Tail returns the last lines of a text.
func Tail(s string, lines int) string {
	all := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
