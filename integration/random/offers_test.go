//go:build conformance

package random

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/integration/artifacts"
)

// TestEveryChoice: whatever a target offers to the search, some random job has
// in its launch; what no job has is judged by nobody. The first jobs tell what is
// offered; of the later ones those are built that may have what is missing.
func TestEveryChoice(t *testing.T) {
	const first, all = 100, 20000
	for framework, backend := range artifacts.Backends {
		t.Run(framework, func(t *testing.T) {
			missing, made := map[string]string{}, map[string]bool{} // by the name of a choice: the text of a job that asks for it
			jobs := 0
			for n := 0; n < first || n < all && len(missing) > 0; n++ {
				versions := backend.Versions()
				src := Draw(rand.New(rand.NewPCG(1, uint64(n))), framework, versions[n%len(versions)])
				if n >= first && !slices.ContainsFunc(slices.Collect(maps.Values(missing)), func(text string) bool { return strings.Contains(src, text) }) {
					continue
				}
				jobs++
				launches, _ := Legal(src)
				for _, l := range launches {
					for _, c := range choices(l.Target) {
						if made[c.name] = made[c.name] || c.made(l); made[c.name] {
							delete(missing, c.name)
						} else {
							missing[c.name] = c.text
						}
					}
				}
			}
			t.Logf("%d choices in %d jobs", len(made), jobs)
			for _, name := range slices.Sorted(maps.Keys(missing)) {
				t.Errorf("no job has %s", name)
			}
		})
	}
}
