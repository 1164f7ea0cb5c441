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
	Assumed        bool   `json:"assumed"`     // nothing is known but the GPU: a typical cluster and framework
	MemoryOnly     string `json:"memory_only"` // why step times are not to be compared
	CatalogCluster string `json:"catalog_cluster"`
	CatalogGPU     string `json:"catalog_gpu"`
	GPUsPerNode    int    `json:"gpus_per_node"`
	Network        *struct {
		Kind        string  `json:"kind"`
		NICs        int     `json:"nics_per_node"`
		Gbit        float64 `json:"gbit_s"`
		GbitPerNode float64 `json:"gbit_s_per_node"`
	} `json:"network"`
	Software struct {
		Framework string            `json:"framework"`
		Releases  map[string]string `json:"releases"` // version by the container that the row's source names
	} `json:"software"`
	Model     modelFacts     `json:"model"`
	Execution map[string]any `json:"execution"`
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
	FirstDenseLayers  int     `json:"first_dense_layers"`
}

// matches reports whether the record speaks of the row's cluster.
func (f *facts) matches(r *row) bool {
	a := &f.AppliesTo
	return strings.HasPrefix(r.Source.Name, a.Source) && (a.GPU == "" || a.GPU == r.Cluster.GPU) &&
		strings.Contains(strings.ToLower(r.Cluster.GPU), a.GPUContains) &&
		(a.WhereContains == "" || strings.Contains(r.Source.Where, a.WhereContains))
}
