package lang

import "github.com/ndc-dev/ndc/diag"

// The diagnostics of the language.
const (
	// UnreadableFile: a file or folder does not exist or cannot be read.
	UnreadableFile diag.ID = "unreadable-file"
	// NoFiles: a folder holds no *.hcl file.
	NoFiles diag.ID = "no-files"
	// FileTooLarge: a file is larger, or its expressions more complex, than
	// any job needs.
	FileTooLarge diag.ID = "file-too-large"
	// TooManyErrors: so much is wrong that reading stopped.
	TooManyErrors diag.ID = "too-many-errors"
	// InvalidText: a file is not UTF-8 text, or shows another text than ndc reads.
	InvalidText diag.ID = "invalid-text"
	// SyntaxError: a file is not HCL.
	SyntaxError diag.ID = "syntax-error"
	// UnsupportedVersion: required_version excludes this ndc.
	UnsupportedVersion diag.ID = "unsupported-version"

	// UnknownBlock: the language has no such block at this place.
	UnknownBlock diag.ID = "unknown-block"
	// UnknownArgument: the block has no such argument.
	UnknownArgument diag.ID = "unknown-argument"
	// MissingArgument: a required argument was left out.
	MissingArgument diag.ID = "missing-argument"
	// MissingBlock: a required block was left out.
	MissingBlock diag.ID = "missing-block"
	// DuplicateBlock: a block, or a key of a map, stands twice where one is allowed.
	DuplicateBlock diag.ID = "duplicate-block"
	// InvalidLabel: a block's label is missing, superfluous or not allowed.
	InvalidLabel diag.ID = "invalid-label"
	// InapplicableArgument: an argument has no effect beside what else is
	// written, and ndc has no silent no-ops.
	InapplicableArgument diag.ID = "inapplicable-argument"
	// ConflictingArguments: two arguments exclude each other.
	ConflictingArguments diag.ID = "conflicting-arguments"

	// WrongType: a value has another type than its argument.
	WrongType diag.ID = "wrong-type"
	// InvalidQuantity: a quantity has no unit, a wrong one, or is no number.
	InvalidQuantity diag.ID = "invalid-quantity"
	// OutOfRange: a number is outside the argument's limits.
	OutOfRange diag.ID = "out-of-range"
	// UnknownValue: a value is not one of a closed set.
	UnknownValue diag.ID = "unknown-value"
	// InvalidValue: a text does not have the form that its argument needs.
	InvalidValue diag.ID = "invalid-value"

	// UnknownReference: an expression names something that does not exist.
	UnknownReference diag.ID = "unknown-reference"
	// UnquotedText: an expression is a bare word where text was meant.
	UnquotedText diag.ID = "unquoted-text"
	// ShellVariable: ${NAME} of the shell stands where ndc reads an expression.
	ShellVariable diag.ID = "shell-variable"
	// ReferenceCycle: blocks or locals refer to one another in a circle.
	ReferenceCycle diag.ID = "reference-cycle"
	// UnknownFunction: there is no such function, or it is not pure.
	UnknownFunction diag.ID = "unknown-function"
	// InvalidExpression: an expression cannot be evaluated.
	InvalidExpression diag.ID = "invalid-expression"
	// ChangedObject: a function made a new object where a block is needed.
	ChangedObject diag.ID = "changed-object"

	// MissingVariable: a variable without a default was not set.
	MissingVariable diag.ID = "missing-variable"
	// UndeclaredVariable: a value is given for a variable, or an attribute of one, that no file declares.
	UndeclaredVariable diag.ID = "undeclared-variable"
	// InvalidVariable: a value does not have the variable's type, or a
	// variable block is wrong.
	InvalidVariable diag.ID = "invalid-variable"
	// FailedValidation: a value breaks a variable's validation rule.
	FailedValidation diag.ID = "failed-validation"
	// FailedPolicy: a plan breaks a policy, which is an error or a warning as the
	// policy says.
	FailedPolicy diag.ID = "failed-policy"

	// IdlePolicy: a warning: no job takes anything of a module that has policies, so
	// that they hold for none.
	IdlePolicy diag.ID = "idle-policy"

	// FailedAssert: a plan breaks an assert of a test.
	FailedAssert diag.ID = "failed-assert"
	// NoTests: there are no tests where they were looked for.
	NoTests diag.ID = "no-tests"

	// LiteralSecret: a secret is written into a file.
	LiteralSecret diag.ID = "literal-secret"

	// InconsistentModel: sizes of a model contradict one another.
	InconsistentModel diag.ID = "inconsistent-model"
	// InconsistentCluster: figures of a cluster contradict one another.
	InconsistentCluster diag.ID = "inconsistent-cluster"
	// InvalidCalibration: what was measured on a cluster cannot be read, or is of
	// another machine.
	InvalidCalibration diag.ID = "invalid-calibration"
	// InconsistentTraining: figures of the training contradict one another.
	InconsistentTraining diag.ID = "inconsistent-training"
	// InconsistentLayout: layout constraints contradict the model or one
	// another.
	InconsistentLayout diag.ID = "inconsistent-layout"
	// UnsupportedPrecision: the GPU has no arithmetic of this precision.
	UnsupportedPrecision diag.ID = "unsupported-precision"

	// UnreadData is a warning: mock data are used although sources are given.
	UnreadData diag.ID = "unread-data"

	// SizesBeyond is a warning: sizes of the run that are larger than its cluster are
	// left out.
	SizesBeyond diag.ID = "sizes-beyond"
	// SizesBelow is a warning: sizes of the run that are smaller than its list of nodes
	// are left out.
	SizesBelow diag.ID = "sizes-below"
	// SizesUncut is a warning: sizes of the run that are no whole segments are left out.
	SizesUncut diag.ID = "sizes-uncut"
	// UntrainedValue is a warning: a run starts from scratch with a number that
	// no recipe is known to train with.
	UntrainedValue diag.ID = "untrained-value"

	// MissingModule: a module was not fetched yet.
	MissingModule diag.ID = "missing-module"
	// OutsideModule: a module names something outside of its source.
	OutsideModule diag.ID = "outside-module"

	// NoJob: no file has a job block.
	NoJob diag.ID = "no-job"
	// UnknownJob: no job has the name that was asked for.
	UnknownJob diag.ID = "unknown-job"
	// SharedCheckpoint: two jobs save their checkpoints to one folder.
	SharedCheckpoint diag.ID = "shared-checkpoint"
	// UnknownSite: no site, or more than one, has the name that was asked for.
	UnknownSite diag.ID = "unknown-site"
	// UnknownBackend: no job has the backend that was asked for.
	UnknownBackend diag.ID = "unknown-backend"
)

// summaries holds the one summary of each diagnostic.
var summaries = map[diag.ID]string{
	UnreadableFile:       "File cannot be read",
	NoFiles:              "No job files",
	FileTooLarge:         "File too large or too complex",
	TooManyErrors:        "Too many errors",
	InvalidText:          "Not a text file",
	SyntaxError:          "Syntax error",
	UnsupportedVersion:   "Unsupported version of ndc",
	UnknownBlock:         "Unknown block",
	UnknownArgument:      "Unknown argument",
	MissingArgument:      "Missing argument",
	MissingBlock:         "Missing block",
	DuplicateBlock:       "Duplicate definition",
	InvalidLabel:         "Invalid label",
	InapplicableArgument: "Argument without effect",
	ConflictingArguments: "Conflicting arguments",
	WrongType:            "Wrong type of value",
	InvalidQuantity:      "Invalid quantity",
	OutOfRange:           "Number out of range",
	UnknownValue:         "Unknown value",
	InvalidValue:         "Invalid value",
	UnknownReference:     "Unknown reference",
	UnquotedText:         "Unquoted text",
	ShellVariable:        "Shell variable in a value",
	ReferenceCycle:       "Reference cycle",
	UnknownFunction:      "Unknown function",
	InvalidExpression:    "Invalid expression",
	ChangedObject:        "Changed object",
	MissingVariable:      "Missing value of a variable",
	UndeclaredVariable:   "Undeclared variable",
	InvalidVariable:      "Invalid variable",
	FailedValidation:     "Variable breaks its validation",
	FailedPolicy:         "Plan breaks a policy",
	IdlePolicy:           "Policies that hold for no job",
	FailedAssert:         "Assert does not hold",
	NoTests:              "No tests",
	LiteralSecret:        "Secret in the job file",
	InconsistentModel:    "Inconsistent model",
	InconsistentCluster:  "Inconsistent cluster",
	InvalidCalibration:   "Invalid calibration",
	InconsistentTraining: "Inconsistent training",
	InconsistentLayout:   "Inconsistent layout",
	UnsupportedPrecision: "Precision that the GPU lacks",
	UnreadData:           "Data that are not read",
	SizesBeyond:          "Sizes beyond the cluster",
	SizesBelow:           "Sizes below the list of nodes",
	SizesUncut:           "Sizes of no whole segments",
	UntrainedValue:       "Value that no recipe trains with",
	MissingModule:        "Module that was not fetched",
	OutsideModule:        "Path out of a module",
	NoJob:                "No job",
	UnknownJob:           "Unknown job",
	UnknownSite:          "Unknown site",
	UnknownBackend:       "Unknown backend",
	SharedCheckpoint:     "Checkpoints of two jobs in one folder",
}
