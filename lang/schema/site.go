package schema

var siteBlock = Block{
	Name:     "site",
	Label:    Identifier,
	LabelDoc: "the site's name, for `site.NAME` and `--site`",
	Effect:   Launch,
	Doc:      "What the admins of a cluster own, below what a job says: jobs name it, or `--site` does.",
	Arguments: []Argument{
		{Name: "cluster", Type: ClusterRef, Effect: Execution, Doc: "The cluster of jobs that name none."},
		{Name: "environment", Type: Environment, Doc: "Environment variables of every run."},
		calibrationArgument,
		{Name: "values", Type: Any, Doc: "What jobs read as `here.NAME`, such as the folder of the data.", DefaultDoc: "none"},
	},
	Blocks: []Block{
		slurmBlock, containerBlock, nodeCheckBlock,
		{
			Name: "backend", Label: Choice, Labels: BackendKinds(), Repeatable: true,
			LabelDoc: "the framework",
			Doc:      "What jobs on this framework find here.",
			Arguments: []Argument{
				{Name: "path", Type: String, Path: true, Doc: "The framework's checkout at run time."},
			},
			Blocks: []Block{containerBlock},
		},
		templatesBlock, sitePolicyBlock(),
	},
}

var templatesBlock = Block{
	Name: "templates",
	Doc:  "Named parts of the batch script that the site says in its own way, verbatim beside what a template fills in ([policies.md](policies.md#templates)): each is `file(\"NAME\")`, a file in the folder of the site, or text.",
	Arguments: []Argument{
		{Name: "sbatch_header", Type: String, Doc: "`#SBATCH` lines and comments behind those of ndc. What follows from the job and the plan is refused, as in `slurm.directives`."},
		{Name: "before_launch", Type: String, Doc: "Commands on the first node, before the ranks start; what they export the ranks see."},
		{Name: "after_launch", Type: String, Doc: "Commands on the first node after the ranks have ended, in a shell of its own, with `$status`."},
	},
}

// sitePolicyBlock is a policy for the jobs of a site.
func sitePolicyBlock() Block {
	b := policyBlock
	b.Repeatable = true
	b.Doc = "What every plan of a job at this site must meet, as in [policy](#policy)."
	return b
}
