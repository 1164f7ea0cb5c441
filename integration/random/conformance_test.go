//go:build conformance

package random

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ndc-dev/ndc/integration/artifacts"
	"github.com/ndc-dev/ndc/integration/environment"
)

const root = "../.."

// TestRandomJobs builds random jobs and hands every legal one to the framework
// of its version. NDC_RANDOM_JOBS is how many legal jobs per version (40),
// NDC_RANDOM_DEEP how many of them are also built (4), NDC_RANDOM_SEED where
// to start (1).
func TestRandomJobs(t *testing.T) {
	want, deep, seed := setting("NDC_RANDOM_JOBS", 40), setting("NDC_RANDOM_DEEP", 4), setting("NDC_RANDOM_SEED", 1)
	for _, framework := range []string{"megatron", "torchtitan", "deepspeed"} {
		t.Run(framework, func(t *testing.T) {
			c := newCoverage(framework)
			for _, version := range judged(framework) {
				t.Run(version, func(t *testing.T) {
					launches := legal(t, c, framework, version, want, uint64(seed))
					artifacts.Ask(t, launches, artifacts.Cheap, root, "random jobs, up to the mesh")
					if framework == "deepspeed" {
						return // its classes are all that it checks before it trains
					}
					if built := buildable(launches, deep); len(built) > 0 {
						artifacts.Ask(t, built, artifacts.Deep, root, "random jobs, built")
					}
				})
			}
			t.Logf("\n%s", c.report())
		})
	}
}

func setting(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// judged are the versions that this machine may have.
func judged(framework string) []string {
	switch framework {
	case "torchtitan":
		return environment.TorchTitanReleases
	case "deepspeed":
		return environment.DeepSpeedReleases
	}
	var list []string
	for _, v := range artifacts.Backends[framework].Versions() {
		_, err := os.Stat(filepath.Join(os.Getenv("NDC_MEGATRON_DIR"), v, "pretrain_gpt.py"))
		if environment.HasMegatronWheel(v[len("core_v"):]) || err == nil {
			list = append(list, v)
		}
	}
	return list
}

// legal draws jobs until enough of them are legal, and counts them.
func legal(t *testing.T, c *coverage, framework, version string, want int, seed uint64) []*artifacts.Launch {
	t.Helper()
	var list []*artifacts.Launch
	end := time.Now().Add(time.Duration(setting("NDC_RANDOM_MINUTES", 10)) * time.Minute)
	for n := uint64(0); len(list) < want && time.Now().Before(end); n++ {
		list = append(list, c.draw(framework, version, seed, n)...)
	}
	if len(list) == 0 {
		t.Fatal("no random job is legal")
	}
	return list
}

// buildable takes some launches of the fewest ranks, which are built fastest.
func buildable(launches []*artifacts.Launch, n int) []*artifacts.Launch {
	some := slices.Clone(launches)
	slices.SortStableFunc(some, func(a, b *artifacts.Launch) int { return a.World() - b.World() })
	every := max(1, len(some)/max(1, n))
	var list []*artifacts.Launch
	for i := 0; i < len(some) && len(list) < n; i += every {
		list = append(list, some[i])
	}
	return list
}

// TestEveryVersion builds random jobs for every version that ndc knows, the
// framework at hand or not: a panic is a defect. It prints what the jobs
// covered. NDC_RANDOM_DRAWS is how many are drawn per version (8).
func TestEveryVersion(t *testing.T) {
	draws, seed := setting("NDC_RANDOM_DRAWS", 8), uint64(setting("NDC_RANDOM_SEED", 1))
	for framework, backend := range artifacts.Backends {
		t.Run(framework, func(t *testing.T) {
			c := newCoverage(framework)
			for v, version := range backend.Versions() {
				for n := range draws { // other jobs for every version
					c.draw(framework, version, seed, uint64(v*draws+n))
				}
			}
			t.Logf("\n%s", c.report())
		})
	}
}
