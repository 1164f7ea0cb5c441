package environment

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
