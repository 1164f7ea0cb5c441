package intake

import "github.com/ndc-dev/ndc/diag"

// The diagnostics of importing.
const (
	// UnreadableImport: a file is none of what ndc imports, or makes no job as such.
	UnreadableImport diag.ID = "unreadable-import"
	// InvalidImportOption: an option of the import names what does not exist.
	InvalidImportOption diag.ID = "invalid-import-option"
)
