package slurm

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/lang/job"
)

// place is a path that the program opens at run time.
type place struct {
	argument string // of the job, such as training.checkpoint.path
	value    string // as the program sees it
	written  bool
}

// places lists the paths of a job that the program opens. The checkout of the
// framework is not among them: an image may bring it.
func places(j *job.Job) []place {
	t := &j.Training
	all := []place{
		{"training.checkpoint.path", t.Checkpoint.Path, true},
		{"training.logging.tensorboard_path", t.Logging.TensorBoardPath, true},
		{"training.data.cache_path", t.Data.CachePath, true},
	}
	if t.Start.From != "scratch" {
		all = append(all, place{"training.start.path", t.Start.Path, false})
	}
	if !t.Data.Mock {
		for _, s := range t.Data.Sources {
			all = append(all, place{fmt.Sprintf("training.data.source[%q].path", s.Name), s.Path, false})
		}
	}
	if v := t.Data.Validation; v != nil {
		all = append(all, place{"training.data.validation.path", v.Path, false})
	}
	all = append(all, place{"training.data.tokenizer.path", t.Data.Tokenizer.Path, false})
	return slices.DeleteFunc(all, func(p place) bool { return !isPath(p) })
}

// isPath tells paths from nothing and from names on Hugging Face's hub, which
// look like relative ones.
func isPath(p place) bool {
	if p.argument == "training.data.tokenizer.path" || p.argument == "training.start.path" {
		return strings.HasPrefix(p.value, "/") || strings.HasPrefix(p.value, "$")
	}
	return p.value != ""
}

// references are the variables that paths of launch.sh and of the program
// name, in the order of their names.
func references(j *job.Job) []string {
	names := render.References(j.Backend.Path)
	for _, p := range places(j) {
		names = append(names, render.References(p.value)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// under reports whether a path lies in a folder, by their text.
func under(p, folder string) bool {
	p, folder = path.Clean(p), path.Clean(folder)
	return p == folder || folder == "/" || strings.HasPrefix(p, folder+"/")
}
