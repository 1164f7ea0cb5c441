package lint

import "github.com/ndc-dev/ndc/diag"

// The rules.
const (
	// Syntax: bash cannot read the script.
	Syntax diag.ID = "script-syntax"
	// UnknownRule: (warning) a comment silences a rule that does not exist.
	UnknownRule diag.ID = "script-unknown-rule"
	// Blank: a place that the reader shall fill in still stands there.
	Blank diag.ID = "script-blank"
	// DOSLines: lines end in CR LF.
	DOSLines diag.ID = "script-dos-lines"

	// NoShebang: sbatch refuses a script whose first line names no interpreter.
	NoShebang diag.ID = "script-no-shebang"
	// LateDirective: sbatch reads no #SBATCH line after the first command.
	LateDirective diag.ID = "script-late-directive"
	// LostHash: SBATCH without # is a command, which does not exist.
	LostHash diag.ID = "script-lost-hash"
	// DirectiveVariable: sbatch expands no variables in #SBATCH lines.
	DirectiveVariable diag.ID = "script-directive-variable"
	// UnknownDirective: sbatch refuses an #SBATCH line.
	UnknownDirective diag.ID = "script-unknown-directive"
	// RepeatedDirective: (warning) an option of sbatch stands twice with two values.
	RepeatedDirective diag.ID = "script-repeated-directive"
	// FewTasks: fewer tasks than nodes.
	FewTasks diag.ID = "script-few-tasks"
	// SignalUnheard: a trap waits for a signal that Slurm sends to the steps alone.
	SignalUnheard diag.ID = "script-signal-unheard"
	// LateTrap: (warning) bash runs a trap only after the command in the foreground.
	LateTrap diag.ID = "script-late-trap"
	// LogFolder: (warning) the script makes the folder that its own log needs before it starts.
	LogFolder diag.ID = "script-log-folder"
	// SharedLog: (warning) all tasks of an array write one log.
	SharedLog diag.ID = "script-shared-log"

	// BrokenCommand: an option stands where a command must: the line before does not go on.
	BrokenCommand diag.ID = "script-broken-command"
	// CommentWord: a comment inside quotes reaches the program as words.
	CommentWord diag.ID = "script-comment-word"
	// SpacedAssignment: an assignment with blanks around = is a command.
	SpacedAssignment diag.ID = "script-spaced-assignment"
	// NoWait: the script ends while its steps run in the background.
	NoWait diag.ID = "script-no-wait"
	// LostStatus: (warning) a pipe hides that the training failed.
	LostStatus diag.ID = "script-lost-status"

	// LostExport: a variable for programs is set and not exported.
	LostExport diag.ID = "script-lost-export"
	// LateVariable: a variable is read before the script sets it.
	LateVariable diag.ID = "script-late-variable"
	// MisspeltVariable: (warning) a variable is read that nobody sets, and one of nearly its name is set and not read.
	MisspeltVariable diag.ID = "script-misspelt-variable"
	// UnknownVariable: (warning) NCCL reads no variable of this name, and one of nearly the name.
	UnknownVariable diag.ID = "script-unknown-variable"
	// RenamedVariable: (warning) a variable has another name since a release.
	RenamedVariable diag.ID = "script-renamed-variable"
	// Secret: a secret stands in the script.
	Secret diag.ID = "script-secret"
	// PrintedSecret: (warning) the script prints its environment, in which a secret stands that it uses.
	PrintedSecret diag.ID = "script-printed-secret"

	// ManyLaunchers: several tasks of a node each start the processes of all its GPUs.
	ManyLaunchers diag.ID = "script-many-launchers"
	// OneNode: a launch for several nodes is started on the first alone.
	OneNode diag.ID = "script-one-node"
	// NodesDiffer: the launcher waits for another number of nodes than the job has.
	NodesDiffer diag.ID = "script-nodes-differ"
	// ManyProcesses: more processes than GPUs on a node.
	ManyProcesses diag.ID = "script-many-processes"
	// IdleGPUs: (warning) fewer processes than GPUs on a node.
	IdleGPUs diag.ID = "script-idle-gpus"
	// NodeRank: all nodes have the same rank.
	NodeRank diag.ID = "script-node-rank"
	// LocalAddress: every node meets itself.
	LocalAddress diag.ID = "script-local-address"
	// Survivors: (warning) ranks wait for one that has died.
	Survivors diag.ID = "script-survivors"
	// LostCPUs: (warning) srun of Slurm 22.05 and 23.02 does not take over the CPUs of a task.
	LostCPUs diag.ID = "script-lost-cpus"
	// NoEnvironment: the steps start without any environment.
	NoEnvironment diag.ID = "script-no-environment"

	// WorldSize: the ranks do not fill the layout.
	WorldSize diag.ID = "script-world-size"
	// BatchSize: the global batch is no multiple of what the replicas take.
	BatchSize diag.ID = "script-batch-size"
	// Indivisible: one option does not divide another.
	Indivisible diag.ID = "script-indivisible"
	// Contradiction: two options exclude one another, or one lacks another.
	Contradiction diag.ID = "script-contradiction"
	// UnknownOption: the release has no such option.
	UnknownOption diag.ID = "script-unknown-option"
	// OptionValue: the option cannot have this value.
	OptionValue diag.ID = "script-option-value"
	// UnknownKey: DeepSpeed has no such key, and one of nearly the name.
	UnknownKey diag.ID = "script-unknown-key"
	// RepeatedOption: (warning) an option stands twice with two values.
	RepeatedOption diag.ID = "script-repeated-option"
	// IgnoredOption: the release reads the option and does not follow it.
	IgnoredOption diag.ID = "script-ignored-option"
	// Connections: CUDA_DEVICE_MAX_CONNECTIONS is not what the layout needs.
	Connections diag.ID = "script-connections"
	// TiedPredictions: a pipeline with MTP layers and tied embeddings saves and loads nothing.
	TiedPredictions diag.ID = "script-tied-mtp"
	// ExpertGradients: tensor ranks never add up what their copies of an expert learn.
	ExpertGradients diag.ID = "script-expert-gradients"
	// ExpertBiases: biases of experts learn what those of other experts do.
	ExpertBiases diag.ID = "script-expert-biases"
	// LateExit: the run shall end itself after Slurm has ended it.
	LateExit diag.ID = "script-late-exit"
)
