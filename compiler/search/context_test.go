package search

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// searched is the outcome of a search that nothing ends.
func searched(j *job.Job, t *target.Target) *Outcome {
	o, err := Run(context.Background(), j, t)
	if err != nil {
		panic(err)
	}
	return o
}

// TestContext: a search that is asked to end looks at no further mesh, and tells
// nothing of what it has found.
func TestContext(t *testing.T) {
	j := smallJob(false, 4)
	asked := func(end int64) (int64, error) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var n atomic.Int64
		some := smallTarget()
		some.Rules = append(some.Rules, target.Rule{ID: "count", Reason: "none", Breaks: func(*target.Facts) bool {
			if n.Add(1) == end {
				cancel()
			}
			return false
		}})
		o, err := Run(ctx, j, some)
		if (o == nil) != (err != nil) {
			t.Errorf("an outcome: %v, an error: %v", o != nil, err)
		}
		return n.Load(), err
	}
	all, err := asked(0)
	if err != nil {
		t.Fatal(err)
	}
	some, err := asked(1)
	if !errors.Is(err, context.Canceled) || some > all/2 {
		t.Errorf("%d of %d layouts, %v", some, all, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if c, err := Below(ctx, j, smallTarget(), 1e9); c != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", c, err)
	}
}
