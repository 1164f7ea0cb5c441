package lint

import "github.com/ndc-dev/ndc/diag"

// Rule is one kind of finding.
type Rule struct {
	ID       diag.ID
	Severity diag.Severity
	Summary  string
}

// Rules lists all rules in the order of the documentation.
func Rules() []Rule { return rules }

var rules = []Rule{
	{Syntax, diag.Error, "Script cannot be read"},
	{UnknownRule, diag.Warning, "Comment silences no rule"},
	{Blank, diag.Error, "Blank is not filled in"},
	{DOSLines, diag.Error, "Lines end in CR LF"},
	{NoShebang, diag.Error, "First line names no interpreter"},
	{LateDirective, diag.Error, "Directive stands after the first command"},
	{LostHash, diag.Error, "Directive lacks its #"},
	{DirectiveVariable, diag.Error, "Directive holds a variable"},
	{UnknownDirective, diag.Error, "sbatch refuses the directive"},
	{RepeatedDirective, diag.Warning, "Directive stands twice"},
	{FewTasks, diag.Error, "Fewer tasks than nodes"},
	{SignalUnheard, diag.Error, "Signal does not reach the trap"},
	{LateTrap, diag.Warning, "Trap runs too late"},
	{LogFolder, diag.Warning, "Log folder is made too late"},
	{SharedLog, diag.Warning, "Tasks of the array share a log"},
	{BrokenCommand, diag.Error, "Command is cut in two"},
	{CommentWord, diag.Error, "Comment becomes an argument"},
	{SpacedAssignment, diag.Error, "Assignment is a command"},
	{NoWait, diag.Error, "Script does not wait for its steps"},
	{LostStatus, diag.Warning, "Pipe hides a failure"},
	{LostExport, diag.Error, "Variable is not exported"},
	{LateVariable, diag.Error, "Variable is read before it is set"},
	{MisspeltVariable, diag.Warning, "Variable is never set"},
	{UnknownVariable, diag.Warning, "NCCL does not read the variable"},
	{RenamedVariable, diag.Warning, "Variable has a new name"},
	{Secret, diag.Error, "Secret stands in the script"},
	{PrintedSecret, diag.Warning, "Secret is printed"},
	{ManyLaunchers, diag.Error, "Every task starts all processes of its node"},
	{OneNode, diag.Error, "Launch runs on one node"},
	{NodesDiffer, diag.Error, "Numbers of nodes differ"},
	{ManyProcesses, diag.Error, "More processes than GPUs"},
	{IdleGPUs, diag.Warning, "Fewer processes than GPUs"},
	{NodeRank, diag.Error, "Nodes have the same rank"},
	{LocalAddress, diag.Error, "Every node meets itself"},
	{Survivors, diag.Warning, "Ranks survive one that died"},
	{LostCPUs, diag.Warning, "Step may lose its CPUs"},
	{NoEnvironment, diag.Error, "Step has no environment"},
	{WorldSize, diag.Error, "Ranks do not fill the layout"},
	{BatchSize, diag.Error, "Global batch cannot be split"},
	{Indivisible, diag.Error, "Option is not divisible"},
	{Contradiction, diag.Error, "Options contradict one another"},
	{UnknownOption, diag.Error, "Release has no such option"},
	{OptionValue, diag.Error, "Option cannot have this value"},
	{UnknownKey, diag.Error, "DeepSpeed has no such key"},
	{RepeatedOption, diag.Warning, "Option stands twice"},
	{IgnoredOption, diag.Error, "Option has no effect"},
	{Connections, diag.Error, "CUDA_DEVICE_MAX_CONNECTIONS contradicts the layout"},
	{TiedPredictions, diag.Error, "Run ends at its first checkpoint"},
	{ExpertGradients, diag.Error, "Copies of experts learn apart"},
	{ExpertBiases, diag.Error, "Biases of experts learn together"},
	{LateExit, diag.Error, "Run outlives its time limit"},
}

// report adds a finding of a rule.
func (s *script) report(id diag.ID, at diag.Range, detail string) {
	if len(s.diags) >= maxFindings {
		return
	}
	for _, r := range rules {
		if r.ID != id {
			continue
		}
		if r.Severity == diag.Warning {
			s.diags.Warn(id, at, r.Summary, detail)
		} else {
			s.diags.Error(id, at, r.Summary, detail)
		}
		return
	}
	panic("lint: no rule " + string(id))
}
