package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// framework says what stands in for the framework of a run.
type framework struct {
	Framework        string            `json:"framework"`
	When             string            `json:"when"` // only for runs whose precision or sharding says so
	Backend          string            `json:"backend"`
	Version          string            `json:"version"`
	Release          string            `json:"release"`               // of the run, where it is not Version
	EarlyStop        bool              `json:"early_stop"`            // recompute ended with the last tensor needed
	OneRail          bool              `json:"one_rail"`              // collectives drive one NIC of a node at a time
	Execution        map[string]any    `json:"execution"`             // options by their names
	Overlap          string            `json:"overlap"`               // whole_state: where no part of the optimizer is sharded
	ParameterGather8 bool              `json:"parameter_gather_8bit"` // in low precision
	Recipe8          string            `json:"fp8_recipe"`            // scaling of precision fp8, where the rows do not say
	Partition        string            `json:"partition"`             // balanced: layers as evenly as possible; cost: by weights
	Engine           string            `json:"engine"`                // that none of ndc's targets is like: a name of engines
	Torch            string            `json:"torch"`                 // that the run had; "" for the target's
	Attention        string            `json:"attention"`             // its flash kernel, named as in package compute; "" for the target's
	Layers           string            `json:"layers"`                // implementation of the layers; "" for the target's
	Elementwise      string            `json:"elementwise"`           // factor on what the layers move, where it was not counted
	InPlaceLoss      bool              `json:"in_place_loss"`         // Transformer Engine's cross entropy
	PlainLoss        bool              `json:"plain_loss"`            // compile did not cover the loss
	ZeROBucket       int64             `json:"zero_bucket"`           // state kept by DeepSpeed's ZeRO, with reduce and gather buckets of so many elements
	StandIn          string            `json:"stand_in"`              // what its own layers and engine are taken to be like
	Superseded       string            `json:"superseded"`            // why its runs say nothing about the ranges of later releases
	Environment      map[string]string `json:"environment"`
}

// example is a row made into a job with everything pinned.
type example struct {
	row        *row
	job        *job.Job
	target     *target.Target
	state      *target.Target // keeps the state, where another framework's does; nil: target
	layout     plan.Layout
	exec       plan.Execution
	skip       string              // why it cannot be predicted
	framework  string              // as the facts name it
	standIn    bool                // another framework's layers stand for those that ran: spreads are not fitted to it
	superseded bool                // by releases that communicate otherwise: says nothing about what ndc emits
	assumed    bool                // nothing is known of its cluster but the GPU
	memoryOnly bool                // its step time says nothing, or hangs on defaults that it may not have kept
	judge      bool                // it judges only: no fit sees it, and no goal but its own counts it
	notBest    bool                // it says nothing of what can be reached
	grid       *grid               // it is of a grid of layouts; nil: it is not
	open       bool                // the fastest of settings stands for what the row does not state
	settings   []example           // what a row with open settings may have been
	evaluator  *estimate.Evaluator // of a fit
	weight     float64             // in a fit: one over the root of its source's rows
}

// describer holds what turns rows into jobs.
type describer struct {
	machines   machines
	frameworks []framework
	facts      []facts
	mistaken   bool // networks are what jobs may take them for
}

// load reads a folder and turns its rows into examples, with the facts about
// clusters that lie beside the rows and those of the folder known.
func load(folder, known fs.FS) ([]example, error) {
	w, err := newDescriber(folder, known)
	if err != nil {
		return nil, err
	}
	return w.load(folder)
}

// load turns the rows of a folder into examples.
func (w *describer) load(folder fs.FS) ([]example, error) {
	rows, others, err := readRows(folder)
	if err != nil {
		return nil, err
	}
	for _, name := range others {
		fmt.Fprintf(os.Stderr, "%s: no training steps\n", name)
	}
	examples := make([]example, len(rows))
	count := map[string]float64{}
	for i := range rows {
		if !rows[i].hybrid() { // which fit nothing
			count[rows[i].file]++
		}
	}
	for i := range rows {
		examples[i] = w.guarded(&rows[i])
		examples[i].weight = 1 / math.Sqrt(max(1, count[rows[i].file]))
	}
	return examples, nil
}

// newDescriber reads the data files. Facts beside the rows come first, what is
// assumed of a GPU last: machines are added at a file's end.
func newDescriber(folders ...fs.FS) (*describer, error) {
	w := &describer{machines: machines{}, frameworks: embedded[framework]("frameworks.json")}
	var assumed []facts
	for _, folder := range folders {
		lines, err := readLines(folder, factsFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, line := range lines {
			var f facts
			if err := json.Unmarshal(line, &f); err != nil {
				return nil, fmt.Errorf("%s: %w", factsFile, err)
			}
			if f.Assumed {
				assumed = append(assumed, f)
			} else {
				w.facts = append(w.facts, f)
			}
		}
	}
	w.facts = append(w.facts, assumed...)
	if len(w.facts) == 0 {
		return nil, fmt.Errorf("no %s with facts about clusters: name its folder with -facts", factsFile)
	}
	return w, nil
}

// guarded builds one job; what no check foresaw skips the row instead of
// ending the program, so that one odd row does not hide the others.
func (w *describer) guarded(r *row) (x example) {
	defer func() {
		if p := recover(); p != nil {
			x = example{row: r, skip: fmt.Sprintf("not described: %v", p)}
		}
	}()
	return w.example(r)
}

// example builds one job, or says why it cannot.
func (w *describer) example(r *row) example {
	f, completed := w.factsOf(r), false
	if f != nil && f.Open != "" && r.isOpen() {
		return w.open(r)
	}
	if f != nil && f.Defaults != nil {
		r, completed = f.Defaults.complete(r)
	}
	x := example{row: r}
	if x.skip = missing(r); x.skip != "" {
		return x
	}
	if f == nil {
		x.skip = "no facts about its cluster"
		return x
	}
	cluster, err := w.cluster(r, f)
	if err != nil {
		x.skip = err.Error()
		return x
	}
	fw := w.frameworkOf(r, f)
	if fw == nil {
		x.skip = "no target stands in for its framework"
		return x
	}
	x.framework, x.superseded, x.standIn = fw.Framework, fw.Superseded != "", fw.StandIn != ""
	x.job = &job.Job{Name: "row", Model: model(r, f), Training: training(r, f, fw), Cluster: cluster, Backend: fw.backend()}
	x.job.Execution = execution(r, f, fw)
	if x.target, x.skip = targetOf(x.job); x.skip != "" {
		return x
	}
	fw.adjust(r, f, &x)
	if d := f.Model.FirstDenseLayers; d > 0 && x.job.Model.MoE != nil {
		x.job.Model.MoE.FirstDenseLayers = d
	}
	if x.layout, x.skip = layout(r, x.target, fw.Partition); x.skip != "" {
		return x
	}
	x.open, x.grid, x.notBest = f.Open != "", f.Grid, f.NotBest != ""
	x.assumed, x.memoryOnly, x.judge = f.Assumed, f.MemoryOnly != "" || completed, f.JudgeOnly != ""
	if r.Layout.PPPartition == "type:transformer|embedding" {
		x.layout.StageLayers = withEmbeddings(r.Model.Layers, x.layout.PipelineParallel)
	}
	x.exec = x.ran()
	return x
}

// ran is how the run executed: as its target resolves the job, with what a
// borrowed target may not offer but the run had.
func (x *example) ran() plan.Execution {
	exec := x.target.Resolved(x.job, &x.layout)
	for i := range option.Options {
		o := &option.Options[i]
		if own, ok := o.Chosen(&x.job.Execution); ok {
			own.Set(&exec)
		}
	}
	return exec
}

// backend is what stands in for the framework.
func (fw *framework) backend() job.Backend {
	b := job.Backend{Kind: fw.Backend, Version: fw.Version}
	for name, value := range fw.Environment {
		b.Environment = append(b.Environment, job.Variable{Name: name, Value: value})
	}
	return b
}

// adjust gives the borrowed target what the run's framework had in its place.
func (fw *framework) adjust(r *row, f *facts, x *example) {
	old := *x.target
	fused, _ := r.option("fused_ce")
	size, _ := r.option("bucket_size")
	runs := &old.Runtime
	if fw.InPlaceLoss || fused == "te" {
		runs.Loss.Fused = inPlaceLoss
	}
	if fw.Layers != "" {
		runs.Layers.Implementation, runs.Layers.Elementwise = fw.Layers, fw.Elementwise
	}
	runs.Recompute.StopsEarly = fw.EarlyStop
	runs.Attention.Flash = cmp.Or(fw.Attention, runs.Attention.Flash)
	if fw.OneRail {
		x.job.Cluster.Network.NICsPerNode = 1
	}
	if release := cmp.Or(f.release(r), fw.Release); release != "" {
		runs.LowPrecision.ReleasesBehind = 0
		if n := minorOf(release); n > 0 {
			runs.LowPrecision.ReleasesBehind = megatron.ReleasesBehind(n)
		}
	}
	runs.LowPrecision.RowScaled = strings.Contains(r.Precision, "rowwise")
	if fw.Recipe8 != "" || x.job.Training.FP8.ParameterGather { // Transformer Engine's keep what they have cast for the backward pass
		runs.LowPrecision.QuantisesWeights = false
	}
	low, ok := r.option("fp8_dot_product_attention")
	if b := r.Layout.Attention.LowPrecision; !ok && b != nil {
		low = fmt.Sprint(*b)
	}
	whole, _ := r.option("cutedsl_fused_grouped_mlp")
	runs.LowPrecision.Attention, runs.Experts.FusedMLP = low == "true", whole == "true"
	plain := fw.PlainLoss
	if b, ok := f.Execution["plain_loss"].(bool); ok {
		plain = b
	}
	runs.Loss.CompilesLoss = runs.Loss.CompilesLoss && !plain
	if n, _ := strconv.ParseInt(size, 10, 64); n > 1e6 { // smaller ones are not in elements
		runs.Buckets.Unhidden, runs.Buckets.UnhiddenPerRank = n, 0
	}
	if strings.HasPrefix(r.Layout.RankOrder, "tp-cp-pp-dp") {
		old.DenseMesh, old.ExpertMesh = pipelineInside(old.DenseMesh), pipelineInside(old.ExpertMesh)
	}
	withTorch(runs, fw.Torch)
	x.target = &old
	if change := engines[fw.Engine]; change != nil {
		state := old
		change(runs, &state.Runtime)
		x.state = &state
	}
	if fw.ZeROBucket > 0 {
		state := old
		state.Runtime = zero(runs, fw.ZeROBucket)
		withTorch(&state.Runtime, fw.Torch)
		x.state = &state
	}
}

// pipelineInside is a rank order with the pipeline inside data parallelism, as
// Megatron's use_tp_pp_dp_mapping has it.
func pipelineInside(order []plan.Axis) []plan.Axis {
	out := slices.DeleteFunc(slices.Clone(order), func(a plan.Axis) bool { return a == plan.PipelineParallel })
	i := slices.IndexFunc(out, func(a plan.Axis) bool {
		return a == plan.DataParallelShard || a == plan.DataParallelReplicate || a == plan.ExpertDataParallel
	})
	return slices.Insert(out, i, plan.PipelineParallel)
}

// release is the version in the container that the row names.
func (f *facts) release(r *row) string {
	for container, version := range f.Software.Releases {
		if strings.Contains(r.Source.Where, "'"+container) {
			return version
		}
	}
	return ""
}

// minorOf is N of core_v0.N.P, 0 for names of another form.
func minorOf(release string) (n int) {
	fmt.Sscanf(release, "core_v0.%d", &n)
	return n
}

// withEmbeddings is DeepSpeed's partition that counts the embeddings at both
// ends as layers.
func withEmbeddings(layers, stages int) []int {
	out := make([]int, stages)
	for i := range out {
		out[i] = (i+1)*(layers+2)/stages - i*(layers+2)/stages
	}
	out[0]--
	out[stages-1]--
	return out
}

// factsOf finds the record of the row's cluster.
func (w *describer) factsOf(r *row) *facts {
	for i := range w.facts {
		if w.facts[i].matches(r) {
			return &w.facts[i]
		}
	}
	return nil
}

// frameworkOf finds what stands in for the run's framework: the entry with the
// longest name, and of those the one that names its precision or sharding.
func (w *describer) frameworkOf(r *row, f *facts) *framework {
	var best *framework
	name := f.Software.Framework
	sharding := strings.TrimPrefix(strings.Trim(string(r.Layout.FSDP), `"`), "PyTorch ")
	if strings.HasPrefix(sharding, "DeepSpeed") || f.Assumed && strings.HasPrefix(sharding, "FSDP") {
		name = sharding
	}
	for i := range w.frameworks {
		c := &w.frameworks[i]
		if !strings.HasPrefix(name, c.Framework) || !strings.Contains(r.Precision+" "+string(r.Layout.FSDP), c.When) {
			continue
		}
		if best == nil || len(c.Framework)+len(c.When) > len(best.Framework)+len(best.When) {
			best = c
		}
	}
	return best
}

// cluster is the catalogue's, with what the facts correct.
func (w *describer) cluster(r *row, f *facts) (job.Cluster, error) {
	name := f.CatalogCluster
	if name == "" {
		name = nearest[f.CatalogGPU]
	}
	c, err := w.machines.get(name, f.CatalogGPU)
	if err != nil {
		return c, err
	}
	if gpus := max(f.GPUsPerNode, r.Cluster.GPUsPerNode); gpus > 0 {
		c.GPUsPerNode = gpus
	}
	n := f.Network
	if w.mistaken && f.Mistaken != nil {
		n = f.Mistaken
	}
	if n != nil && f.CatalogCluster == "" {
		c.Network.GPUsPerPod = 0
		switch {
		case n.GbitPerNode > 0:
			c.Network.NICsPerNode, c.Network.Bandwidth = 8, units.BytesPerSecond(n.GbitPerNode/8*1e9/8)
		case n.Gbit > 0:
			c.Network.NICsPerNode, c.Network.Bandwidth = n.NICs, units.BytesPerSecond(n.Gbit*1e9/8)
		}
	}
	c.Nodes = (r.Cluster.GPUs + c.GPUsPerNode - 1) / c.GPUsPerNode
	if r.Cluster.GPUs < c.GPUsPerNode {
		c.GPUsPerNode = r.Cluster.GPUs
	}
	return c, nil
}

// nearest names the cluster that a GPU's node is like when the facts name none.
var nearest = map[string]string{
	"v100_32gb": "dgx_a100", "a100_40gb": "dgx_a100", "a100_80gb": "dgx_a100", "h100_sxm": "dgx_h100", "h100_96gb_500w": "dgx_h100", "h200": "dgx_h200",
}

// training is batch, precision and optimizer.
func training(r *row, f *facts, fw *framework) job.Training {
	t := job.Training{
		GlobalBatchSize: r.Layout.GBS, Steps: 1000,
		Optimizer: job.Optimizer{Kind: r.optimizer(), GradientClipping: 1},
	}
	t.Precision, t.FP8.Recipe = precision(strings.ToLower(r.Precision))
	if t.Precision == "fp8" && (fw.Recipe8 != "" || strings.HasPrefix(r.Detail.Recipe, "delayed")) {
		t.FP8.Recipe = cmp.Or(fw.Recipe8, "delayed")
	}
	if t.Precision != "bf16" && t.Precision != "fp16" {
		t.FP8.ParameterGather = fw.ParameterGather8
		if v, ok := f.Execution["parameter_gather"].(bool); ok {
			t.FP8.ParameterGather = v
		}
		if v, ok := r.option("fp8_param", "fp8_param_gather"); ok {
			t.FP8.ParameterGather = v == "true"
		}
		if strings.Contains(r.Precision, "float8 all-gather") {
			t.FP8.ParameterGather = true
		}
	}
	return t
}

// precision reads what the row calls its precision; "" where it says nothing
// that is known. What stands in parentheses is a remark, of which only a
// finer scaling than the usual is read.
func precision(s string) (name, recipe string) {
	s, remark, _ := strings.Cut(s, "(")
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
	}
	switch {
	case has("nvfp4"):
		return "nvfp4", ""
	case has("mxfp8", "fp8-mx"):
		return "mxfp8", ""
	case has("blockwise", "fp8-sc") || has("fp8") && strings.Contains(remark, "finer quant"):
		return "fp8", "blockwise"
	case has("fp8", "float8"):
		return "fp8", "tensorwise"
	case has("bf16", "bfloat16"):
		return "bf16", ""
	case has("fp16", "float16"):
		return "fp16", ""
	case has("fp32", "float32"):
		return "fp32", ""
	}
	return "", ""
}
