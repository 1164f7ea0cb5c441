package deepspeed

import "github.com/ndc-dev/ndc/backends/schema"

// Tables are the keys of a release's configuration and the classes of all keys,
// for package intake, which reads configurations by what this package writes
// them by. A release that is not among Versions has none.
func Tables(release string) (*schema.Table, *schema.Classes) {
	for i := range versions {
		if versions[i].String() == release {
			return versions[i].options, extra.Classes
		}
	}
	return nil, nil
}
