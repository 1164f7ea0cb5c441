package main

import (
	"testing"
	"testing/fstest"

	"github.com/ndc-dev/ndc/lang"
)

// TestSpelled: every row is a job that the language accepts, and reading it
// gives back what is predicted.
func TestSpelled(t *testing.T) {
	cases, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(cases); i += 7 { // a sample: reading all takes seconds
		x := &cases[i]
		if x.skip != "" || x.judge && i%70 != 0 {
			continue
		}
		src := spelled(x.job, &x.layout)
		w, diags := lang.Load(fstest.MapFS{"job.hcl": {Data: []byte(src)}}, "job.hcl", lang.Options{})
		if diags.HasErrors() {
			t.Errorf("%s: %v\n%s", x.row.ID, diags, src)
			continue
		}
		got, want := &w.Jobs[0], x.job
		if got.Cluster.GPUs() != want.Cluster.GPUs() || got.Training.GlobalBatchSize != want.Training.GlobalBatchSize ||
			got.Model.HiddenSize != want.Model.HiddenSize || got.Model.VocabSize != want.Model.VocabSize ||
			got.Execution != want.Execution || got.Cluster.Network.Bandwidth != want.Cluster.Network.Bandwidth {
			t.Errorf("%s: read back differently\n%s", x.row.ID, src)
		}
	}
}
