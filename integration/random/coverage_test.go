//go:build conformance

package random

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/integration/artifacts"
)

// coverage counts what the legal jobs of one framework were like.
type coverage struct {
	framework string
	drawn     int
	legal     int
	refused   map[string]int
	versions  map[string]int
	axes      map[string]int // values, such as tensor_parallel=2
	pairs     map[string]int // of axes that are both above 1
	options   map[string]int
}

func newCoverage(framework string) *coverage {
	return &coverage{framework: framework, refused: map[string]int{}, versions: map[string]int{}, axes: map[string]int{},
		pairs: map[string]int{}, options: map[string]int{}}
}

// draw draws a job, and counts it if it is legal.
func (c *coverage) draw(framework, version string, seed, n uint64) []*artifacts.Launch {
	launches, refused := Legal(Draw(rand.New(rand.NewPCG(seed, n)), framework, version))
	c.drawn++
	c.refuse(refused)
	for _, l := range launches {
		l.Name = fmt.Sprintf("seed %d, job %d", seed, n)
		c.add(l)
	}
	return launches
}

func (c *coverage) refuse(diags diag.List) {
	for _, d := range diags {
		if d.Severity == diag.Error {
			c.refused[string(d.ID)]++
		}
	}
}

func (c *coverage) add(l *artifacts.Launch) {
	c.legal++
	c.versions[l.Version]++
	names := []string{"tensor", "context", "pipeline", "virtual", "expert", "expert_tensor", "replicate", "shard"}
	y := l.Layout
	for i, v := range []int{y.TensorParallel, y.ContextParallel, y.PipelineParallel, y.VirtualPipeline, y.ExpertParallel,
		y.ExpertTensorParallel, y.DataParallelReplicate, y.DataParallelShard} {
		c.axes[fmt.Sprintf("%s=%d", names[i], v)]++
		if v == 1 {
			names[i] = ""
		}
	}
	for i, a := range names {
		for _, b := range names[i+1:] {
			if a != "" && b != "" {
				c.pairs[a+"×"+b]++
			}
		}
	}
	c.axes[fmt.Sprintf("zero=%d", y.ZeroStage)]++
	c.axes["recompute="+y.Recompute.String()]++
	c.axes["schedule="+y.PipelineSchedule.String()]++
	for _, o := range emitted(l) {
		c.options[o]++
	}
}

var (
	flag = regexp.MustCompile(`(?m)^\s+(--[a-z0-9-]+)`)
	key  = regexp.MustCompile(`(?m)(?:^|[(\s,])([a-z][a-z0-9_]*) ?= ?\S`)
)

// emitted are the names of the options in a launch's files: flags, keys of
// JSON with their sections, and the last names of TorchTitan's keys.
func emitted(l *artifacts.Launch) []string {
	var list []string
	switch l.Framework {
	case "megatron":
		for _, m := range flag.FindAllSubmatch(l.Files["launch.sh"], -1) {
			list = append(list, string(m[1]))
		}
	case "deepspeed":
		var config map[string]any
		if json.Unmarshal(l.Files["ds_config.json"], &config) == nil {
			list = flatten("", config)
		}
	default:
		for _, name := range []string{"train.toml", "ndc_job.py"} {
			for _, m := range key.FindAllSubmatch(l.Files[name], -1) {
				list = append(list, string(m[1]))
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func flatten(prefix string, object map[string]any) (list []string) {
	for k, v := range object {
		if inner, ok := v.(map[string]any); ok {
			list = append(list, flatten(prefix+k+".", inner)...)
			continue
		}
		list = append(list, prefix+k)
	}
	return list
}

// patterns find the options in the emitters' sources.
var patterns = map[string]*regexp.Regexp{
	"megatron":   regexp.MustCompile(`"(--[a-z0-9-]+)"`),
	"deepspeed":  regexp.MustCompile(`\.(?:set|ifKnown)\("([a-z0-9_.]+)"`),
	"torchtitan": regexp.MustCompile(`\{"([a-z_]+\.[a-z_0-9.]+)", `),
}

// known are the options that an emitter may write: what its source names and
// the tables of the framework have.
func (c *coverage) known() []string {
	var tables strings.Builder
	for _, path := range must(filepath.Glob(filepath.Join(root, "backends", c.framework, "schema", "*.jsonl"))) {
		tables.Write(must(os.ReadFile(path)))
	}
	files := must(filepath.Glob(filepath.Join(root, "backends", c.framework, "*.go")))
	found := map[string]bool{}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		content := must(os.ReadFile(f))
		for _, m := range patterns[c.framework].FindAllSubmatch(content, -1) {
			name := string(m[1])
			if strings.Contains(tables.String(), `"`+name) {
				found[shown(c.framework, name)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// shown is an option's name as emitted finds it.
func shown(framework, option string) string {
	if framework == "torchtitan" {
		return option[strings.LastIndex(option, ".")+1:]
	}
	return option
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// has reports whether an option was emitted; the source may hold only how its
// name begins.
func (c *coverage) has(option string) bool {
	if strings.HasSuffix(option, "-") {
		return slices.ContainsFunc(slices.Collect(maps.Keys(c.options)), func(o string) bool { return strings.HasPrefix(o, option) })
	}
	return c.options[option] > 0
}

func (c *coverage) report() string {
	var b strings.Builder
	known := c.known()
	missing := slices.DeleteFunc(slices.Clone(known), c.has)
	fmt.Fprintf(&b, "%s: %d jobs drawn, %d legal\n", c.framework, c.drawn, c.legal)
	fmt.Fprintf(&b, "options emitted at least once: %d of %d; never: %s\n", len(known)-len(missing), len(known), strings.Join(missing, " "))
	for _, part := range []struct {
		name  string
		count map[string]int
	}{{"versions", c.versions}, {"axis values", c.axes}, {"pairs of axes", c.pairs}, {"refused by ndc", c.refused}} {
		fmt.Fprintf(&b, "%s:", part.name)
		for _, k := range slices.Sorted(maps.Keys(part.count)) {
			fmt.Fprintf(&b, " %s (%d)", k, part.count[k])
		}
		b.WriteString("\n")
	}
	return b.String()
}
