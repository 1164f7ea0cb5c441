package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// row is one published measurement, as far as a prediction needs it.
type row struct {
	ID     string `json:"id"`
	Source struct {
		Name  string `json:"name"`
		Where string `json:"where"`
	} `json:"source"`
	Task  string `json:"task"`
	Model struct {
		Name           string  `json:"name"`
		Layers         int     `json:"layers"`
		Hidden         int     `json:"hidden"`
		FFN            int     `json:"ffn"`
		Heads          int     `json:"heads"`
		KVHeads        int     `json:"kv_heads"`
		HeadDim        int     `json:"head_dim"`
		Vocab          int     `json:"vocab"`
		SeqLen         int     `json:"seq_len"`
		ParamsB        float64 `json:"params_b"`
		MTPLayers      int     `json:"mtp_layers"`
		Window         any     `json:"window"`
		HybridPattern  string  `json:"hybrid_pattern"`
		EncoderDecoder bool    `json:"encoder_decoder"`
		MoE            *struct {
			Experts    int `json:"experts"`
			TopK       int `json:"topk"`
			FFN        int `json:"moe_ffn"`
			Shared     int `json:"shared"`
			SharedFFN  int `json:"shared_ffn"`
			FirstDense int `json:"first_dense"`
		} `json:"moe"`
		MLA *struct {
			QLoraRank  int `json:"q_lora_rank"`
			KVLoraRank int `json:"kv_lora_rank"`
			NopeDim    int `json:"qk_nope_dim"`
			RopeDim    int `json:"qk_rope_dim"`
			VDim       int `json:"v_head_dim"`
		} `json:"mla"`
	} `json:"model"`
	Cluster struct {
		GPU         string `json:"gpu"`
		GPUsPerNode int    `json:"gpus_per_node"`
		GPUs        int    `json:"nodes_or_gpus"`
	} `json:"cluster"`
	Precision string `json:"precision"`
	Layout    struct {
		TP          int             `json:"tp"`
		SP          *bool           `json:"sp"`
		PP          int             `json:"pp"`
		VPP         int             `json:"vpp"`
		CP          int             `json:"cp"`
		EP          int             `json:"ep"`
		ETP         int             `json:"etp"`
		DPReplicate int             `json:"dp_replicate"`
		DPShard     int             `json:"dp_shard"`
		ZeroStage   *int            `json:"zero_stage"`
		FSDP        json.RawMessage `json:"fsdp"`
		MBS         int             `json:"mbs"`
		GBS         int             `json:"gbs"`
		Recompute   struct {
			Mode    string          `json:"mode"`
			Layers  any             `json:"layers"`
			Modules json.RawMessage `json:"modules"`
		} `json:"recompute"`
		Overlaps     json.RawMessage `json:"overlaps"`
		MoERouting   string          `json:"moe_routing"`
		Schedule     string          `json:"schedule"`
		PPPartition  string          `json:"pp_partition"`
		StageLayers  []int           `json:"stage_layers"`
		MoEDispatchr string          `json:"moe_dispatcher"`
	} `json:"layout"`
	Measured struct {
		StepTime         float64 `json:"step_time_s"`
		Tokens           float64 `json:"tokens_per_s_per_gpu"`
		TFLOPS           float64 `json:"tflops_per_gpu"`
		TFLOPSDefinition string  `json:"tflops_definition"`
		MFUDefinition    string  `json:"mfu_definition"`
		Peak             float64 `json:"peak_memory_gb"`
		PeakDefinition   string  `json:"peak_memory_definition"`
		Reserved         float64 `json:"peak_reserved_gb"`
		OOM              any     `json:"oom"`
	} `json:"measured"`
	LayoutUncertain bool `json:"layout_uncertain"`
	Quality         struct {
		FullySpecified *bool `json:"fully_specified"`
		OOM            bool  `json:"oom"`
	} `json:"quality"`

	file string
}

// readRows reads every row of a folder, in the order of the files' names.
func readRows(folder fs.FS) ([]row, error) {
	names, err := fs.Glob(folder, "*.jsonl")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var rows []row
	for _, name := range names {
		if path.Base(name) == "clusters.jsonl" {
			continue
		}
		lines, err := readLines(folder, name)
		if err != nil {
			return nil, err
		}
		for _, line := range lines {
			var r row
			if err := json.Unmarshal(line, &r); err != nil || r.Model.Layers == 0 && r.ID == "" {
				continue // a file of another kind
			}
			r.file = name
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// readLines splits a file into lines.
func readLines(folder fs.FS, name string) ([][]byte, error) {
	b, err := fs.ReadFile(folder, name)
	if err != nil {
		return nil, err
	}
	var lines [][]byte
	s := bufio.NewScanner(bytes.NewReader(b))
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		lines = append(lines, bytes.Clone(s.Bytes()))
	}
	return lines, s.Err()
}

// facts is one record of clusters.jsonl.
type facts struct {
	AppliesTo struct {
		File          string `json:"file"`
		GPU           string `json:"gpu"`
		WhereContains string `json:"where_contains"`
	} `json:"applies_to"`
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
		Framework string `json:"framework"`
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
	return (a.File == "" || a.File == r.file) && (a.GPU == "" || a.GPU == r.Cluster.GPU) &&
		(a.WhereContains == "" || strings.Contains(r.Source.Where, a.WhereContains))
}

// option finds an argument of the row's overlaps by any of its names.
func (r *row) option(names ...string) (string, bool) {
	var o map[string]any
	if json.Unmarshal(r.Layout.Overlaps, &o) != nil {
		return "", false
	}
	a, _ := o["assignments"].(map[string]any)
	for _, n := range names {
		if v, ok := o[n]; ok && v != nil {
			return strings.ToLower(strings.TrimSpace(toString(v))), true
		}
		for k, v := range a {
			if strings.HasSuffix(k, "."+n) && v != nil {
				return strings.ToLower(strings.Trim(toString(v), `" `)), true
			}
		}
	}
	return "", false
}

// routing is what the row says about tokens beyond an expert's capacity; where
// it says that the remark stands beside the model's name, it is read there.
func (r *row) routing() string {
	if strings.HasPrefix(r.Layout.MoERouting, "see model name") {
		_, remark, _ := strings.Cut(r.Model.Name, "(")
		return remark
	}
	return r.Layout.MoERouting
}

// toString formats a JSON value.
func toString(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, _ := json.Marshal(v)
	return string(b)
}
