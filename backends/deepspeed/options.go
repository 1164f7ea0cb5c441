package deepspeed

import (
	"embed"
	"io/fs"
	"strings"

	"github.com/ndc-dev/ndc/backends/schema"
)

//go:embed schema/*.jsonl
var tables embed.FS

//go:generate sh -c "python3 ../../tools/schema-deepspeed/gen.py $DEEPSPEED_TREES schema"

// tableFor returns the option table of a release: the newest file that is not
// newer than the release. A file stands for all releases up to the next file,
// whose tables were generated and found equal.
func tableFor(v version) *schema.Table {
	var best version
	for _, at := range tableVersions() {
		if v.atLeast(at) && at.atLeast(best) {
			best = at
		}
	}
	data, err := tables.ReadFile("schema/" + best.String() + ".jsonl")
	if err != nil {
		panic("deepspeed: " + err.Error())
	}
	return schema.MustParse("DeepSpeed "+v.String(), data)
}

func tableVersions() []version {
	entries, err := fs.ReadDir(tables, "schema")
	if err != nil {
		panic("deepspeed: " + err.Error())
	}
	list := make([]version, len(entries))
	for i, e := range entries {
		list[i] = mustVersion(strings.TrimSuffix(e.Name(), ".jsonl"))
	}
	return list
}
