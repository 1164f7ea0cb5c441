package schema

// TestFile is what may stand at the top of a *.ndctest.hcl file.
var TestFile = Block{
	Name:   "file",
	Effect: Launch, // a test changes nothing
	Doc:    "The top of a test file.",
	Blocks: []Block{runBlock},
}

var runBlock = Block{
	Name: "run", Label: FreeName, Repeatable: true, LabelDoc: "what is tested",
	Doc: "Jobs of the folder, planned and emitted in memory with variables of the run's own. It passes when all that fails is expected and every assert holds for every plan.",
	Arguments: []Argument{
		{Name: "job", Type: String, Doc: "Only this job, or the jobs of this label.", DefaultDoc: "all"},
		{Name: "backend", Type: String, Enum: BackendKinds(), Doc: "Only this backend.", DefaultDoc: "all"},
		{Name: "site", Type: String, Doc: "Plan for this site, by its name or address.", DefaultDoc: "that of `--site` or of the job"},
		{Name: "expect_failures", Type: StringList, Doc: "What must fail: names of policies, ids of diagnostics (errors and warnings), ids of reasons why nothing fits."},
	},
	Blocks: []Block{
		{Name: "variables", Doc: "Values of the folder's variables, as `NAME = VALUE`."},
		{
			Name: "assert", Repeatable: true,
			Doc: "What must hold for every plan of the run. It reads what a policy reads, and an infeasible plan too.",
			Arguments: []Argument{
				{Name: "condition", Type: Any, Required: true, Doc: "An expression that is true when all is well."},
				{Name: "error_message", Type: String, Required: true, Doc: "What to tell when it is not."},
			},
		},
	},
}
