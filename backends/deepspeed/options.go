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

// optionTables reads the option tables, each by the first release that it
// stands for.
func optionTables() map[number]*schema.Table {
	entries, err := fs.ReadDir(tables, "schema")
	if err != nil {
		panic("deepspeed: " + err.Error())
	}
	all := make(map[number]*schema.Table, len(entries))
	for _, e := range entries {
		v := mustNumber(strings.TrimSuffix(e.Name(), ".jsonl"))
		all[v] = schema.Embedded("DeepSpeed "+v.String(), tables, "schema/"+e.Name())
	}
	return all
}

// tableFor returns the option table of a release: the newest one that is not
// newer than the release. It stands for all releases up to the next table,
// whose options were generated and found equal.
func tableFor(v number, all map[number]*schema.Table) *schema.Table {
	var best number
	for at := range all {
		if v.atLeast(at) && at.atLeast(best) {
			best = at
		}
	}
	return all[best].Named("DeepSpeed " + v.String())
}
