package main

import (
	"fmt"
	"testing/fstest"

	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
)

// machines reads clusters of the catalogue through the language.
type machines map[[2]string]*job.Cluster

// spec is the smallest job on a cluster of the catalogue with another GPU.
const spec = `
cluster "rows" {
  base  = catalog.cluster.%s
  gpu   = catalog.gpu.%s
  nodes = 1
}
job "rows" {
  model   = catalog.model.debug
  cluster = cluster.rows
  training {
    global_batch_size = 8
    steps             = 1
    precision         = "fp16"
    data { mock = true }
    optimizer "adamw" { learning_rate = 1e-3 }
    schedule "constant" {}
  }
  backend "megatron" { version = "core_v0.18.2" }
}
`

// get returns a cluster of one node.
func (m machines) get(cluster, gpu string) (job.Cluster, error) {
	k := [2]string{cluster, gpu}
	if m[k] == nil {
		files := fstest.MapFS{"job.hcl": {Data: fmt.Appendf(nil, spec, cluster, gpu)}}
		w, diags := lang.Load(files, "job.hcl", lang.Options{})
		if diags.HasErrors() || len(w.Jobs) == 0 {
			return job.Cluster{}, fmt.Errorf("cluster %s with %s: %v", cluster, gpu, diags)
		}
		m[k] = &w.Jobs[0].Cluster
	}
	return *m[k], nil
}
