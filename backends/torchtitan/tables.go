package torchtitan

import "github.com/ndc-dev/ndc/backends/schema"

// Tables are the options of a release and the classes of all options, for
// package intake, which reads configurations by what this package writes them
// by. A release that is not among Versions has none.
func Tables(release string) (*schema.Table, *schema.Classes) {
	for i := range versions {
		if versions[i].name == release {
			return versions[i].options, extra.Classes
		}
	}
	return nil, nil
}
