package main

import "github.com/ndc-dev/ndc/diag"

// The diagnostics of the command itself.
const (
	// IDCommand: an operation of the system failed.
	IDCommand diag.ID = "command-failed"
	// IDDefect: ndc itself failed.
	IDDefect diag.ID = "internal-defect"
	// IDUsage: a command, argument or flag that does not exist, or one too many
	// or too few.
	IDUsage diag.ID = "wrong-usage"
	// IDUnknownEntry: the catalogue has no such kind or name.
	IDUnknownEntry diag.ID = "unknown-entry"
	// IDForeignFile: an output would replace a file that ndc did not write.
	IDForeignFile diag.ID = "foreign-file"
	// IDEditedFile: an output would replace a generated file that was edited.
	IDEditedFile diag.ID = "edited-file"
	// IDCannotWrite: an output could not be written.
	IDCannotWrite diag.ID = "cannot-write"
	// IDChainAlive: a chain of submissions in the output folder has not ended.
	IDChainAlive diag.ID = "chain-alive"
	// IDShared: a warning: a build with -o replaces outputs that these jobs did not make.
	IDShared diag.ID = "shared-output"
	// IDBusy: another build writes into the output folder.
	IDBusy diag.ID = "output-busy"
	// IDUnlocked: the file system of the output folder has no locks.
	IDUnlocked diag.ID = "output-unlocked"
	// IDInterrupted: an interrupted build was found and finished or undone.
	IDInterrupted diag.ID = "interrupted-build"
	// IDStale: outputs of an earlier build are there and nothing replaces them.
	IDStale diag.ID = "stale-output"
	// IDDiffers: build --check found outputs that are not what the job builds.
	IDDiffers diag.ID = "outputs-differ"
	// IDLockMisfit: a choice in ndc.lock.hcl cannot be kept; it is made anew.
	IDLockMisfit diag.ID = "lock-misfit"
	// IDNotLocked: ndc.lock.hcl could not be written.
	IDNotLocked diag.ID = "lock-not-written"
	// IDNoPlan: a job of a test has no feasible plan.
	IDNoPlan diag.ID = "no-feasible-plan"
	// IDExpectedFailure: what a test expects to fail did not.
	IDExpectedFailure diag.ID = "expected-failure"
	// IDFetch: ndc init cannot fetch a module.
	IDFetch diag.ID = "module-fetch"
	// IDLeftOut: a warning: links or submodules of a module were not fetched.
	IDLeftOut diag.ID = "module-left-out"
	// IDTagMoved: a warning: the version or tag of a module that is locked is another commit now.
	IDTagMoved diag.ID = "module-tag-moved"
	// IDArchiveChanged: a warning: an archive is another than the one whose files are kept.
	IDArchiveChanged diag.ID = "module-archive-changed"
	// IDTrialObjective: a trial of a job whose objective is not time.
	IDTrialObjective diag.ID = "trial-objective"
	// IDTrialNotOver: a warning: the newest round of a trial has runs without an end in its log.
	IDTrialNotOver diag.ID = "trial-not-over"
	// IDFetched: a warning: fmt leaves a file of a fetched module as it is.
	IDFetched diag.ID = "fetched-file"
	// IDNotFormatted: fmt --check found a file that is not formatted.
	IDNotFormatted diag.ID = "not-formatted"
)
