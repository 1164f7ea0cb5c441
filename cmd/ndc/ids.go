package main

import "github.com/ndc-dev/ndc/diag"

// The diagnostics of the command itself.
const (
	// IDCommand: wrong usage, or an operation of the system failed.
	IDCommand diag.ID = "command-failed"
	// IDUnknownBackend: a backend block of a kind that ndc does not know.
	IDUnknownBackend diag.ID = "unknown-backend"
	// IDNothingSelected: --job or --backend select nothing.
	IDNothingSelected diag.ID = "nothing-selected"
	// IDForeignFile: an output would replace a file that ndc did not write.
	IDForeignFile diag.ID = "foreign-file"
	// IDEditedFile: an output would replace a generated file that was edited.
	IDEditedFile diag.ID = "edited-file"
	// IDCannotWrite: an output could not be written.
	IDCannotWrite diag.ID = "cannot-write"
	// IDNotFormatted: fmt --check found a file that is not formatted.
	IDNotFormatted diag.ID = "not-formatted"
)
