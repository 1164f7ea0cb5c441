package main

import "strings"

// facts is one record of clusters.jsonl.
type facts struct {
	AppliesTo struct {
		Source        string `json:"source"` // begins source.name
		GPU           string `json:"gpu"`
		GPUContains   string `json:"gpu_contains"` // in lower case
		WhereContains string `json:"where_contains"`
	} `json:"applies_to"`
	Assumed        bool     `json:"assumed"`     // nothing is known but the GPU: a typical cluster and framework
	MemoryOnly     string   `json:"memory_only"` // why step times are not to be compared
	JudgeOnly      string   `json:"judge_only"`  // why the rows are kept out of every fit
	NotBest        string   `json:"not_best"`    // why the rows say nothing of what can be reached
	Open           string   `json:"open"`        // what the rows do not state, and a search sets
	Grid           *grid    `json:"grid"`        // nearly all layouts of each job were tried
	CatalogCluster string   `json:"catalog_cluster"`
	CatalogGPU     string   `json:"catalog_gpu"`
	GPUsPerNode    int      `json:"gpus_per_node"`
	Network        *network `json:"network"`
	Mistaken       *network `json:"mistaken_network"` // what a job may take it for that goes by the kind of node
	Software       struct {
		Framework string            `json:"framework"`
		Releases  map[string]string `json:"releases"` // version by the container that the row's source names
	} `json:"software"`
	Defaults  *defaults      `json:"defaults"`
	Model     modelFacts     `json:"model"`
	Execution map[string]any `json:"execution"`
}

// network is what joins nodes.
type network struct {
	Kind        string  `json:"kind"`
	NICs        int     `json:"nics_per_node"`
	Gbit        float64 `json:"gbit_s"`
	GbitPerNode float64 `json:"gbit_s_per_node"`
}

// grid says that the rows of a source are grids of layouts that somebody measured
// nearly completely: they judge which layout is chosen and what is told to run out of
// memory.
type grid struct {
	Of        string  `json:"of"`           // the framework that ran them
	Noise     float64 `json:"noise"`        // by how much a second measurement of one configuration differs: no regret below it means anything
	OrderOnly string  `json:"order_only"`   // why absolute times say nothing
	JudgesTo  int     `json:"judges_up_to"` // GPUs beyond which overheads of the grids' own machine decide; 0: none
}

// defaults are what the run's program chooses for what a row leaves open, by its
// source.
type defaults struct {
	MicroBatches string `json:"micro_batches"` // pipeline_ranks: as many as there are
	Chunks       int    `json:"chunks"`        // virtual pipeline of interleaved schedules
	Recompute    string `json:"recompute"`     // mode
}

// complete is the row with what it leaves open filled in, and whether there was
// something to fill in.
func (d *defaults) complete(r *row) (completed *row, changed bool) {
	c, l := *r, &r.Layout
	if d.MicroBatches == "pipeline_ranks" && l.MBS == 0 && l.PP > 1 && l.DP > 0 && l.GBS%(int(l.DP)*l.PP) == 0 {
		c.Layout.MBS, changed = l.GBS/(int(l.DP)*l.PP), true
	}
	if strings.HasPrefix(strings.ToLower(l.Schedule), "interleaved") && l.VPP == 0 && d.Chunks > 0 {
		c.Layout.VPP, changed = d.Chunks, true
	}
	if l.Recompute.Mode == "" && !l.Recompute.stated() && d.Recompute != "" {
		c.Layout.Recompute.Mode, changed = d.Recompute, true
	}
	if changed {
		c.Quality.FullySpecified = nil // what was missing is known
	}
	return &c, changed
}

// modelFacts are properties of the models that the tables leave out.
type modelFacts struct {
	PositionEmbedding string  `json:"position_embedding"`
	TiedEmbeddings    *bool   `json:"tied_embeddings"`
	Normalization     string  `json:"normalization"`
	Activation        string  `json:"activation"`
	PaddedVocab       int     `json:"padded_vocab"`
	Dropout           float64 `json:"dropout"`
	AttentionBias     *bool   `json:"attention_bias"`
	MLPBias           *bool   `json:"mlp_bias"`
	QKNorm            bool    `json:"qk_norm"`
	ActivationClamp   float64 `json:"activation_clamp"`
	FirstDenseLayers  int     `json:"first_dense_layers"`
}

// matches reports whether the record speaks of the row's cluster.
func (f *facts) matches(r *row) bool {
	a := &f.AppliesTo
	return strings.HasPrefix(r.Source.Name, a.Source) && (a.GPU == "" || a.GPU == r.Cluster.GPU) &&
		strings.Contains(strings.ToLower(r.Cluster.GPU), a.GPUContains) &&
		(a.WhereContains == "" || strings.Contains(r.Source.Where, a.WhereContains))
}
