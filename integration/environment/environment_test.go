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

// TestBuilt: what a killed run left of a kernel is not taken for one.
func TestBuilt(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name string
		ages map[string]time.Duration
		want bool
	}{
		{"nothing", nil, false},
		{"objects alone", map[string]time.Duration{"a.o": time.Hour}, false},
		{"whole", map[string]time.Duration{"a.o": 2 * time.Hour, "k.so": time.Hour}, true},
		{"a build that did not end", map[string]time.Duration{"a.o": time.Minute, "k.so": time.Hour}, false},
		{"a lock left behind", map[string]time.Duration{"a.o": 2 * time.Hour, "k.so": time.Hour, "lock": 10 * time.Minute}, false},
		{"a lock of a run that looks", map[string]time.Duration{"a.o": 2 * time.Hour, "k.so": time.Hour, "lock": time.Second}, true},
	} {
		folder := t.TempDir()
		for name, age := range c.ages {
			path := filepath.Join(folder, name)
			if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, now, now.Add(-age))); err != nil {
				t.Fatal(err)
			}
		}
		if got := (Kernel{}).built(folder); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
