//go:build conformance

package oracle

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/integration/megatron"
	"github.com/ndc-dev/ndc/integration/summary"
)

// sampled is how many cases of each file are asked again.
const sampled = 4

// TestRecorded asks the frameworks about some of the recorded cases again and
// demands the recorded answers. NDC_ORACLE_SEED chooses others.
func TestRecorded(t *testing.T) {
	t.Run("megatron", func(t *testing.T) { again(t, megatronFile, AskMegatron) })
	t.Run("torchtitan", func(t *testing.T) { again(t, torchtitanFile, AskTorchTitan) })
	t.Run("deepspeed", func(t *testing.T) { again(t, deepspeedFile, AskDeepSpeed) })
}

func again[A any](t *testing.T, file string, ask func([]*Case[A], string, string) error) {
	seed, _ := strconv.ParseUint(cmp.Or(os.Getenv("NDC_ORACLE_SEED"), "1"), 10, 64)
	cases, err := Read[A](file)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string][]*Case[A]{}
	for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(cases))[:min(sampled, len(cases))] {
		if c := &cases[i]; len(c.Answers) > 0 {
			versions[c.Version] = append(versions[c.Version], c)
		}
	}
	if len(versions) == 0 {
		t.Fatalf("no sampled case of %s has answers", file)
	}
	for version, list := range versions {
		line := summary.Line{Framework: list[0].Framework, Version: version, What: "recorded sizes, asked again"}
		want := make([][]A, len(list))
		for i, c := range list {
			want[i], c.Answers = c.Answers, nil
		}
		switch err := ask(list, "../..", t.TempDir()); {
		case errors.Is(err, megatron.ErrNotInstalled):
			line.Skipped = err.Error()
		case err != nil:
			t.Error(err)
		}
		for i, c := range list {
			if d := diff.Diff(want[i], c.Answers); line.Skipped == "" && d != "" {
				t.Errorf("%s (-recorded +now):\n%s", c.Name(), d)
				line.Rejected++
			} else if line.Skipped == "" {
				line.Accepted++
			}
		}
		if err := summary.Add(line); err != nil {
			t.Error(err)
		}
	}
}
