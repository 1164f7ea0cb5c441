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
	Part string // sbatch_header, before_launch or after_launch
	Name string // of its file as the site writes it; "" for text that stands in the site
	Text string
	File string `json:"-"` // of its file, for diagnostics; "" for text that stands in the site
}

// TemplateParts are the parts of the scripts that a template may say.
func TemplateParts() []string { return []string{"sbatch_header", "before_launch", "after_launch"} }
