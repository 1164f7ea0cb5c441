package environment

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPython: a named interpreter that is too old is an error, not passed over.
func TestPython(t *testing.T) {
	old := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(old, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("NDC_PYTHON", old)
	if _, err := Python(); err == nil || !strings.Contains(err.Error(), old) {
		t.Errorf("an old interpreter: %v", err)
	}
}

// TestSpace: an environment is only made where the disk has room for it.
func TestSpace(t *testing.T) {
	if err := space(t.TempDir(), math.Inf(1)); err == nil {
		t.Error("endless space is free")
	}
	if err := space(t.TempDir(), 0); err != nil {
		t.Error(err)
	}
}

// TestExisting: an environment that is in the cache is taken as it is.
func TestExisting(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("NDC_CACHE", cache)
	python := filepath.Join(cache, "torchtitan-0.3.0", "bin", "python")
	if err := os.MkdirAll(filepath.Dir(python), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(python, []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := TorchTitan("0.3.0").Python(); err != nil || got != python {
		t.Errorf("%s, %v", got, err)
	}
}

// TestKernels: what one caller leaves in its folder, another one does not see.
func TestKernels(t *testing.T) {
	root := t.TempDir()
	python := filepath.Join(root, "bin", "python")
	library := filepath.Join(root, "kernels", SharedMemory.folder, "k.so")
	built := time.Now().Add(-time.Hour).Round(time.Second)
	err := errors.Join(os.MkdirAll(filepath.Dir(library), 0o755), os.WriteFile(library, []byte("whole"), 0o600), os.Chtimes(library, built, built))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		folder := t.TempDir()
		variables, err := Kernels(python, folder)
		if err != nil || variables[0] != "TORCH_EXTENSIONS_DIR="+folder || !strings.HasPrefix(variables[1], "PATH="+filepath.Dir(python)+":") {
			t.Fatal(variables, err)
		}
		if _, err := os.Stat(filepath.Join(folder, SharedMemory.folder, "lock")); err == nil {
			t.Error("the lock of another one")
		}
		info, err := os.Stat(filepath.Join(folder, SharedMemory.folder, "k.so"))
		if err != nil || !info.ModTime().Equal(built) {
			t.Errorf("copied as of %v: %v", info, err)
		}
		if err := os.WriteFile(filepath.Join(folder, SharedMemory.folder, "lock"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
