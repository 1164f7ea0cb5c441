package lock

import "github.com/ndc-dev/ndc/diag"

// The diagnostics of this package.
const (
	// IDInvalid: ndc.lock.hcl says what ndc does not write.
	IDInvalid diag.ID = "lock-invalid"
	// IDSource: the source of a module is no place that ndc init fetches from.
	IDSource diag.ID = "module-source"
	// IDNotFetched: a module, or the version of it that is asked for, is not in
	// ndc.lock.hcl or not on this machine.
	IDNotFetched diag.ID = "module-not-fetched"
	// IDChanged: a fetched module is not what ndc.lock.hcl has the hash of.
	IDChanged diag.ID = "module-changed"
)
