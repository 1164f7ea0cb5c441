package main

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/lock"
	"github.com/ndc-dev/ndc/output"
)

// warnOfShared tells of plans in the output folder that a build replaces and that these
// jobs did not make, as far as the lock beside them says: of jobs of the same name in
// another folder, say.
func warnOfShared(out string, plans *planned) diag.List {
	var diags diag.List
	read := filesIn(out)
	for _, c := range plans.list {
		known := plans.lock != nil && slices.ContainsFunc(plans.lock.Plans, func(p lock.Plan) bool { return p.Job == c.job.Name })
		var there struct {
			Job   string
			Input struct{ SHA256 string }
		}
		place := c.folder()
		if known || json.Unmarshal(read(path.Join(place, output.Manifest)), &there) != nil || there.Job != c.job.Name || there.Input.SHA256 == c.plan.Input.SHA256 {
			continue
		}
		diags.Warn(IDShared, diag.Range{}, "Outputs of another job are replaced", fmt.Sprintf("%s had the plan of a job %s that %s does not know, as of the same name in another folder of jobs. Where both are to be kept, give each folder an output folder of its own.",
			shownPath(out, place), c.job.Name, plans.lockPath()))
	}
	return diags
}
