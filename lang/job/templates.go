package job

// Templates are the parts of the scripts that a site says in its own way.
type Templates struct {
	Parts []Template
	// Values are what templates see beside the plan: the job and its site, as JSON
	// holds them, quantities as numbers in bytes, seconds and shares. The plan is
	// made without them.
	Values map[string]any `json:"-"`
}

// Template is the text of one part. Its place is "templates.PART" in Sources.
type Template struct {
	Part string // SBatchHeader, BeforeLaunch or AfterLaunch
	Name string // of its file as the site writes it; "" for text that stands in the site
	Text string
	File string `json:"-"` // of its file, for diagnostics; "" for text that stands in the site
}

// The parts of the scripts that a template may say, as the block templates calls them.
const (
	SBatchHeader = "sbatch_header" // #SBATCH lines and comments behind those of ndc
	BeforeLaunch = "before_launch" // commands on the first node, before the ranks start
	AfterLaunch  = "after_launch"  // commands on the first node, in a shell of its own, after the ranks have ended
)
