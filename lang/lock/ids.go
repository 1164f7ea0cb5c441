package lock

import "github.com/ndc-dev/ndc/diag"

// The diagnostics of this package.
const (
	// IDInvalid: ndc.lock.hcl says what ndc does not write.
	IDInvalid diag.ID = "lock-invalid"
)
