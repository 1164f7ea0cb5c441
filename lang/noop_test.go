package lang

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
)

// withoutEffect lists the arguments that change no job on purpose.
var withoutEffect = []string{
	"required_version", "type", "description", "nullable", "condition", "error_message", "severity", // said by their own tests
	"sources", "without", // TestWithout
	"published",                                     // TestPublishedValues
	"low_frequency_factor", "high_frequency_factor", // of llama3, beside yarn's
}

// TestNoSilentArgument takes one argument after the other out of a file that
// has every argument of the language with a value that is not its default, and
// demands that the jobs change or that something is reported: the language has
// no argument that is read and ignored.
func TestNoSilentArgument(t *testing.T) {
	src, err := os.ReadFile("testdata/everything.hcl")
	if err != nil {
		t.Fatal(err)
	}
	want := plainJobs(mustLoad(t, measured(string(src)), "job.hcl", Options{}))
	seen := map[string]bool{}
	for _, a := range writtenArguments(t, src) {
		seen[a.path] = true
		name := a.path[strings.LastIndexByte(a.path, '.')+1:]
		if slices.Contains(withoutEffect, name) {
			continue
		}
		r := a.attribute.SrcRange
		w, diags := Load(measured(string(src[:r.Start.Byte])+string(src[r.End.Byte:])), "job.hcl", Options{})
		if !diags.HasErrors() && cmp.Equal(want, plainJobs(w.Jobs)) {
			t.Errorf("without %s (line %d) the jobs are the same", a.path, r.Start.Line)
		}
	}
	everyArgument(&schema.File, "", func(path string) {
		if strings.HasPrefix(path, "module.") || strings.HasPrefix(path, "output.") || strings.HasPrefix(path, "site.") {
			return // TestModules, TestSites
		}
		if !seen[path] && !strings.Contains(path, "backend.") && !strings.HasSuffix(path, ".mock") {
			t.Errorf("%s is not in the file", path)
		}
	})
}

// measured is a job with the calibration that testdata/everything.hcl names.
func measured(src string) fstest.MapFS {
	return files("job.hcl", src, "measured.ndccal.json", `{"format_version": "1.0", "gpu": "g", "terms": [{"term": "linear", "after": {"mean": 0.1}}], "covariance": [[0.01]]}`)
}

// plainJobs leaves out where things were written.
func plainJobs(jobs []job.Job) []job.Job {
	jobs = slices.Clone(jobs)
	for i := range jobs {
		jobs[i].Sources = nil
	}
	return jobs
}

type writtenArgument struct {
	path      string
	attribute *hclsyntax.Attribute
}

func writtenArguments(t *testing.T, src []byte) []writtenArgument {
	file, diags := hclsyntax.ParseConfig(src, "job.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var found []writtenArgument
	var walk func(b *hclsyntax.Body, path string)
	walk = func(b *hclsyntax.Body, path string) {
		for _, a := range ordered(b.Attributes) {
			found = append(found, writtenArgument{path + a.Name, a})
		}
		for _, n := range b.Blocks {
			walk(n.Body, path+n.Type+".")
		}
	}
	walk(file.Body.(*hclsyntax.Body), "")
	return found
}

func everyArgument(b *schema.Block, prefix string, visit func(path string)) {
	for _, a := range b.Arguments {
		if !slices.Contains([]string{"base", "without", "sources", "published", "for_each", "count", "site"}, a.Name) {
			visit(prefix + a.Name)
		}
	}
	for i := range b.Blocks {
		everyArgument(&b.Blocks[i], prefix+b.Blocks[i].Name+".", visit)
	}
}
