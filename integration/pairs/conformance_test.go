//go:build conformance

package pairs

import (
	"cmp"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/integration/artifacts"
	"github.com/ndc-dev/ndc/integration/environment"
	"github.com/ndc-dev/ndc/integration/summary"
)

const root = "../.."

// releases are those whose configuration classes can be had.
func releases(framework string) []string {
	switch framework {
	case "torchtitan":
		return environment.TorchTitanReleases
	case "deepspeed":
		return slices.Concat(environment.DeepSpeedReleases, environment.DeepSpeedEdges)
	}
	var names []string
	for _, v := range slices.Concat(environment.MegatronWheels, environment.MegatronConfigurations) {
		names = append(names, "core_v"+v)
	}
	return names
}

// TestPairs asks every release. NDC_PAIRS is how many launches of each release
// are asked, drawn from all; all of them where it is 0 or unset. NDC_PAIRS_OF names
// an option: only its pairs are asked.
func TestPairs(t *testing.T) {
	sample, _ := strconv.Atoi(os.Getenv("NDC_PAIRS"))
	used, complete := map[string]bool{}, sample == 0 && os.Getenv("NDC_PAIRS_OF") == ""
	for _, framework := range []string{"megatron", "torchtitan", "deepspeed"} {
		for _, version := range releases(framework) {
			asked := false
			t.Run(framework+"/"+version, func(t *testing.T) {
				ask(t, framework, version, sample, used)
				asked = true
			})
			complete = complete && asked
		}
	}
	for _, r := range own() {
		if complete && !used[r.Why] {
			t.Errorf("no pair needs the reason why %s is stricter: %s", r.Rule, r.Why)
		}
	}
}

// question is one launch, for all cases that make it.
type question struct {
	launch  *artifacts.Launch
	answers []Answer
}

// ask asks one release, and adds the reasons that it takes to those that are used.
func ask(t *testing.T, framework, version string, sample int, used map[string]bool) {
	questions := questions(t, framework, version, sample)
	launches := make([]*artifacts.Launch, len(questions))
	for i, q := range questions {
		launches[i] = q.launch
	}
	line := summary.Line{Framework: framework, Version: version, What: "pairs of options"}
	verdicts, err := artifacts.Judge(launches, artifacts.Configured, root, t.TempDir())
	switch {
	case errors.Is(err, artifacts.ErrUnavailable):
		line.Skipped = err.Error()
		line.AddAfter(t)
		t.Skip("skipped: ", err)
	case len(verdicts) == 0:
		t.Fatal(err)
	case err != nil:
		t.Error(err)
	}
	w := weighing{reasons: Reasons(framework), alone: environment.CoreAlone(strings.TrimPrefix(version, "core_v")), used: used, wrong: map[string][]string{}}
	for i, q := range questions {
		for k := range q.answers {
			w.weigh(&q.answers[k], verdicts[i])
		}
	}
	w.count.Launches, line.Pairs = len(questions), &w.count
	w.report(t)
	if err := summary.Add(line); err != nil {
		t.Error(err)
	}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// questions are the launches of all cases that can be written, or of some.
func questions(t *testing.T, framework, version string, sample int) []*question {
	t.Helper()
	b := must(Load(framework, version))(t)
	cases := Cases(framework)
	if of := os.Getenv("NDC_PAIRS_OF"); of != "" {
		cases = slices.DeleteFunc(cases, func(c Case) bool { return c.A.Option != of && c.B.Option != of })
	}
	if sample > 0 {
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(cases), func(i, k int) { cases[i], cases[k] = cases[k], cases[i] })
	}
	found := map[string]*question{}
	for _, c := range cases {
		a := b.Ask(c)
		if a.Launch == nil {
			continue
		}
		k := key(a.Launch)
		if found[k] == nil {
			if sample > 0 && len(found) == sample {
				break
			}
			found[k] = &question{launch: a.Launch}
		}
		found[k].answers = append(found[k].answers, a)
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *question) int { return cmp.Compare(a.launch.Name, b.launch.Name) })
}

// weighing compares what ndc says with what the framework says.
type weighing struct {
	reasons []Reason
	alone   bool // the release has no validation of arguments: what it would refuse there is unknown
	count   summary.Pairs
	used    map[string]bool     // by their words
	wrong   map[string][]string // by what is wrong
}

func (w *weighing) weigh(a *Answer, v artifacts.Verdict) {
	if v.Skipped {
		return
	}
	w.count.Asked++
	switch {
	case a.Legal && v.Error != "":
		w.disagree("legal, and refused: "+numbers.ReplaceAllString(v.Error, "N"), a)
	case a.Legal:
	case v.Error != "":
		w.count.Both++
	default:
		if i := slices.IndexFunc(a.Broken, func(id diag.ID) bool { return !w.reviewed(id, a) }); i >= 0 {
			w.disagree("refused by ndc alone: "+string(a.Broken[i]), a)
			return
		}
		w.count.Stricter++
	}
}

// numbers tell refusals of the same kind apart.
var numbers = regexp.MustCompile(`[0-9]+`)

func (w *weighing) disagree(what string, a *Answer) {
	w.count.Wrong++
	w.wrong[what] = append(w.wrong[what], a.String())
}

// reviewed reports whether it is known why a rule is stricter.
func (w *weighing) reviewed(id diag.ID, a *Answer) bool {
	i := slices.IndexFunc(w.reasons, func(r Reason) bool { return r.covers(id, &a.Case) })
	if i >= 0 {
		w.used[w.reasons[i].Why] = true
	}
	return w.alone || i >= 0
}

// report fails the test with some cases of every disagreement.
func (w *weighing) report(t *testing.T) {
	t.Helper()
	t.Logf("%+v", w.count)
	for _, what := range slices.Sorted(maps.Keys(w.wrong)) {
		cases := w.wrong[what]
		t.Errorf("%s (%d pairs), such as\n\t%s", what, len(cases), strings.Join(cases[:min(10, len(cases))], "\n\t"))
	}
}
