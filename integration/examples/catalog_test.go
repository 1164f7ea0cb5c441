//go:build conformance

package examples

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/integration/artifacts"
	"github.com/ndc-dev/ndc/integration/environment"
)

// depths are how far each framework takes the catalogue's models: TorchTitan
// would step the largest for hours.
var depths = map[string]artifacts.Depth{"megatron": artifacts.Deep, "torchtitan": artifacts.Cheap, "deepspeed": artifacts.Cheap}

const catalogJob = `cluster "here" {
  base  = catalog.cluster.dgx_h100
  nodes = %d
}

job "%s" {
  model   = catalog.model.%[2]s
  cluster = cluster.here

  training {
    global_batch_size = 2048
    steps             = 1000
    precision         = "bf16"

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "%s" {
    version = "%s"
  }
  slurm {}
}
`

// TestCatalog plans every model of the catalogue on as few nodes as it fits, and
// hands it to the newest release of each framework that has it. It takes minutes;
// NDC_CATALOG_MODELS selects by a regular expression.
func TestCatalog(t *testing.T) {
	if os.Getenv("NDC_CONFORMANCE_CHEAP") != "" {
		t.Skip("skipped: part of the full run")
	}
	names, err := filepath.Glob(filepath.Join(root, "lang", "catalog", "models", "*.hcl"))
	if err != nil || len(names) == 0 {
		t.Fatal("no catalogue: ", err)
	}
	selected := regexp.MustCompile(cmp.Or(os.Getenv("NDC_CATALOG_MODELS"), "."))
	for _, framework := range slices.Sorted(maps.Keys(depths)) {
		version := environment.Newest(framework)
		t.Run(framework+"/"+version, func(t *testing.T) {
			var launches []*artifacts.Launch
			for _, path := range names {
				name := strings.TrimSuffix(filepath.Base(path), ".hcl")
				if !selected.MatchString(name) {
					continue
				}
				if l := smallest(t, name, framework, version); l != nil {
					launches = append(launches, l)
				}
			}
			if len(launches) < 10 && os.Getenv("NDC_CATALOG_MODELS") == "" {
				t.Fatalf("only %d models", len(launches))
			}
			artifacts.Ask(t, launches, depths[framework], root, "models of the catalogue")
		})
	}
}

// smallest is the launch of a model on the fewest nodes, or nil where the
// framework does not have it.
func smallest(t *testing.T, model, framework, version string) *artifacts.Launch {
	t.Helper()
	for nodes := 1; nodes <= 1024; nodes *= 4 {
		jobs, diags := artifacts.Build([]byte(fmt.Sprintf(catalogJob, nodes, model, framework, version)))
		if diags.HasErrors() {
			t.Fatal(model, diags)
		}
		if l := jobs[0].Launch; l != nil {
			return l
		}
		refused := jobs[0].Refused
		if !slices.ContainsFunc(refused, func(d diag.Diagnostic) bool { return d.ID == artifacts.Infeasible }) {
			t.Logf("%s on %s %s: %s", model, framework, version, refused[0].Detail)
			return nil
		}
	}
	t.Errorf("%s fits nothing on %s", model, framework)
	return nil
}
