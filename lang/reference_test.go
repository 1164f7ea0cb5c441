package lang

import (
	"strings"
	"testing"
)

// TestWrongReferences writes a value of every other type for each argument
// that names a block: none is swallowed.
func TestWrongReferences(t *testing.T) {
	const src = `
gpu "g" {
  base = catalog.gpu.h100_sxm
}
model "m" {
  base = catalog.model.debug
}
cluster "c" {
  base = catalog.cluster.single_gpu
  gpu  = gpu.g
}
locals {
  odd = [gpu.g]
}
job "a" {
  model   = model.m
  cluster = cluster.c
  training {
    global_batch_size = 8
    steps             = 10
    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "torchtitan" {
    version = "0.3.0"
  }
}
`
	mustLoad(t, files("job.hcl", src), "job.hcl", Options{})
	values := []string{`"h100"`, `"h100_sxm"`, `"gpu.g"`, "1", "true", "[]", "local.odd", "{}", `{ id = "gpu.g" }`, "merge(gpu.g, {})", "merge(gpu.g, { x = 1 })", "[for k, v in gpu.g : v][0]", "gpu.g.peak_flops",
		"gpu.g", "model.m", "cluster.c", "catalog.gpu", "catalog.model.debug", "catalog.gpu.h100_sxm", "catalog.cluster.single_gpu", "null"}
	for written, kind := range map[string]string{
		"base = catalog.gpu.h100_sxm": "gpu", "base = catalog.model.debug": "model", "base = catalog.cluster.single_gpu": "cluster",
		"gpu  = gpu.g": "gpu", "model   = model.m": "model", "cluster = cluster.c": "cluster",
	} {
		name, _, _ := strings.Cut(written, " ")
		for _, v := range values {
			if strings.HasPrefix(v, kind+".") && strings.Count(v, ".") == 1 || strings.HasPrefix(v, "catalog."+kind+".") || kind == "gpu" && v == "merge(gpu.g, {})" || v == "null" && written == "gpu  = gpu.g" {
				continue // the kind that is meant, a copy that is the same, or the base's GPU
			}
			_, diags := Load(files("job.hcl", strings.Replace(src, written, name+" = "+v, 1)), "job.hcl", Options{})
			if !diags.HasErrors() {
				t.Errorf("%s = %s is accepted", name, v)
			}
		}
	}
}
