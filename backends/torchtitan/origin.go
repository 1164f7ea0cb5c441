package torchtitan

import (
	"regexp"
	"slices"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/lang/job"
)

// specComment is a comment behind a value that names the argument of the job
// it is made from, as emitters and templates write it. Nothing behind it may be
// a quote: a string of the job that looks like one always has its closing quote
// on the same line, and stays as it is.
var specComment = regexp.MustCompile(`(?m)(  # )spec(: ([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*)[^"'\n]*)$`)

// nameOrigins says in the comments who really chose a value: the user's spec,
// the catalogue or a default of the language.
func nameOrigins(artifacts []backends.Artifact, j *job.Job) {
	for i := range artifacts {
		artifacts[i].Content = specComment.ReplaceAllFunc(artifacts[i].Content, func(comment []byte) []byte {
			m := specComment.FindSubmatch(comment)
			return slices.Concat(m[1], []byte(origin(j, string(m[3]))), m[2])
		})
	}
}

func origin(j *job.Job, path string) string { return j.Sources[path].Origin.String() }
