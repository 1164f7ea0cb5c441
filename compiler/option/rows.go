package option

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// Axes are the axes of a layout, in the order of the language reference and of
// the plan's JSON.
var Axes = []Axis{
	{
		Row:    Row{Name: "tensor_parallel", Kind: Count, Min: 1, Doc: "Ranks per tensor group.", Words: "tensor %d", Relief: 6},
		Mesh:   true,
		Cuts:   func(j *job.Job) []Whole { return []Whole{{j.Model.Attention.Heads, "attention head"}, gpus(j)} },
		Value:  func(l *plan.Layout) any { return &l.TensorParallel },
		Choice: func(c *job.LayoutConstraints) any { return &c.TensorParallel },
	}, {
		Row:    Row{Name: "sequence_parallel", Kind: Switch, Doc: "Tensor ranks share out the sequence where they do not share out the hidden size.", Words: "sequence parallel"},
		Value:  func(l *plan.Layout) any { return &l.SequenceParallel },
		Choice: func(c *job.LayoutConstraints) any { return &c.SequenceParallel },
	}, {
		Row:    Row{Name: "context_parallel", Kind: Count, Min: 1, Doc: "Ranks per sequence.", Words: "context %d", Relief: 8},
		Mesh:   true,
		Cuts:   func(j *job.Job) []Whole { return []Whole{{j.Model.SequenceLength, "token"}, gpus(j)} },
		Value:  func(l *plan.Layout) any { return &l.ContextParallel },
		Choice: func(c *job.LayoutConstraints) any { return &c.ContextParallel },
	}, {
		Row:    Row{Name: "pipeline_parallel", Kind: Count, Min: 1, Doc: "Pipeline ranks.", Words: "pipeline %d", Relief: 7},
		Mesh:   true,
		Cuts:   onlyGPUs,
		Value:  func(l *plan.Layout) any { return &l.PipelineParallel },
		Choice: func(c *job.LayoutConstraints) any { return &c.PipelineParallel },
	}, {
		Row:       Row{Name: "virtual_pipeline", Kind: Count, Min: 1, Doc: "Model chunks per pipeline rank; 1: none.", Words: "virtual %d"},
		FreedWith: "pipeline_parallel",
		Value:     func(l *plan.Layout) any { return &l.VirtualPipeline },
		Choice:    func(c *job.LayoutConstraints) any { return &c.VirtualPipeline },
	}, {
		Row: Row{Name: "pipeline_schedule", Kind: Name, Idle: true, Doc: "Order of forward and backward passes.",
			Values: []string{"gpipe", "1f1b", "interleaved_1f1b", "zb_h1", "zb_h2", "zbv", "dualpipev"},
			Absent: map[string]string{"dualpipe": "No framework runs dualpipe, which keeps every stage on two ranks; dualpipev keeps it on one."}},
		Value:  func(l *plan.Layout) any { return &l.PipelineSchedule },
		Choice: func(c *job.LayoutConstraints) any { return &c.PipelineSchedule },
	}, {
		Row:       Row{Name: "stage_layers", Kind: Counts, Doc: "Decoder layers per chunk in pipeline order, a list of length pipeline × virtual."},
		FreedWith: "pipeline_parallel",
		Value:     func(l *plan.Layout) any { return &l.StageLayers },
		Choice:    func(c *job.LayoutConstraints) any { return &c.StageLayers },
	}, {
		Row:    Row{Name: "expert_parallel", Kind: Count, Min: 1, Doc: "Ranks that share the experts of a layer.", Words: "expert %d", Relief: 5},
		Mesh:   true,
		Cuts:   experts,
		Value:  func(l *plan.Layout) any { return &l.ExpertParallel },
		Choice: func(c *job.LayoutConstraints) any { return &c.ExpertParallel },
	}, {
		Row:    Row{Name: "expert_tensor_parallel", Kind: Count, Min: 1, Doc: "Tensor ranks within an expert.", Words: "expert tensor %d"},
		Mesh:   true,
		Value:  func(l *plan.Layout) any { return &l.ExpertTensorParallel },
		Choice: func(c *job.LayoutConstraints) any { return &c.ExpertTensorParallel },
	}, {
		Row:       Row{Name: "data_parallel_replicate", Kind: Count, Min: 1, Doc: "Replicas of the sharded state."},
		Mesh:      true,
		Cuts:      onlyGPUs,
		FreedWith: "data_parallel_shard", FreesAlone: true,
		Value:  func(l *plan.Layout) any { return &l.DataParallelReplicate },
		Choice: func(c *job.LayoutConstraints) any { return &c.DataParallelReplicate },
	}, {
		Row:    Row{Name: "data_parallel_shard", Kind: Count, Min: 1, Doc: "Ranks that shard the state, context parallelism not counted.", Relief: 4},
		Mesh:   true,
		Cuts:   onlyGPUs,
		Value:  func(l *plan.Layout) any { return &l.DataParallelShard },
		Choice: func(c *job.LayoutConstraints) any { return &c.DataParallelShard },
	}, {
		Row:    Row{Name: "zero_stage", Kind: Count, Max: 3, Doc: "What is sharded: 0 nothing, 1 optimizer, 2 and gradients, 3 and parameters.", Relief: 3},
		Value:  func(l *plan.Layout) any { return &l.ZeroStage },
		Choice: func(c *job.LayoutConstraints) any { return &c.ZeroStage },
	}, {
		Row:    Row{Name: "micro_batch_size", Kind: Count, Min: 1, Doc: "Sequences per forward pass.", Relief: 2},
		Batch:  true,
		Value:  func(l *plan.Layout) any { return &l.MicroBatchSize },
		Choice: func(c *job.LayoutConstraints) any { return &c.MicroBatchSize },
	}, {
		Row:       Row{Name: "micro_batches", Kind: Count, Min: 1, Doc: "Forward passes per replica and step."},
		Batch:     true,
		FreedWith: "micro_batch_size",
		Value:     func(l *plan.Layout) any { return &l.MicroBatches },
		Choice:    func(c *job.LayoutConstraints) any { return &c.MicroBatches },
	}, {
		Row: Row{Name: "recompute", Kind: Name, Values: []string{"none", "selective", "full"}, Doc: "How much of the forward pass is recomputed.", Relief: 1,
			Absent: map[string]string{"per_stage": "No framework recomputes by the pipeline stage: what is recomputed holds for every chunk. stage_layers gives the first stages, which keep the most, fewer layers."}},
		Value:  func(l *plan.Layout) any { return &l.Recompute },
		Choice: func(c *job.LayoutConstraints) any { return &c.Recompute },
	}, {
		Row:       Row{Name: "recompute_modules", Kind: Names, Values: plan.ModuleNames(), Doc: "Modules of selective recompute; `op` is a policy over single operations."},
		FreedWith: "recompute",
		Value:     func(l *plan.Layout) any { return &l.RecomputeModules },
		Choice:    func(c *job.LayoutConstraints) any { return &c.RecomputeModules },
	}, {
		Row:       Row{Name: "recompute_method", Kind: Name, Idle: true, Values: []string{"uniform", "block"}, Doc: "Which layers full recompute takes."},
		FreedWith: "recompute",
		Value:     func(l *plan.Layout) any { return &l.RecomputeMethod },
		Choice:    func(c *job.LayoutConstraints) any { return &c.RecomputeMethod },
	}, {
		Row:       Row{Name: "recompute_layers", Kind: Count, Idle: true, Min: 1, Doc: "Layers per chunk (block) or per group (uniform)."},
		FreedWith: "recompute",
		Value:     func(l *plan.Layout) any { return &l.RecomputeLayers },
		Choice:    func(c *job.LayoutConstraints) any { return &c.RecomputeLayers },
	},
}

func gpus(j *job.Job) Whole { return Whole{j.Cluster.GPUs(), "GPU"} }

func onlyGPUs(j *job.Job) []Whole { return []Whole{gpus(j)} }

func experts(j *job.Job) []Whole {
	if j.Model.MoE == nil {
		return nil
	}
	return []Whole{{j.Model.MoE.Experts, "expert"}, gpus(j)}
}

// Offload is the block of the options that keep something in host memory.
const Offload = "offload"

// Options are the options of execution, in the order of the language reference
// and of the plan's JSON.
var Options = []Option{
	{
		Row: Row{Name: "attention", Kind: Name, Always: true, Values: []string{"flash", "fused", "unfused", "flex_flash", "varlen"},
			Doc:   "Attention kernel: FlashAttention or what the framework has like it, cuDNN's, separate products, FlexAttention run by FlashAttention 4, or FlashAttention told where documents begin.",
			Words: "%s attention"},
		Value:  func(x *plan.Execution) any { return &x.Attention },
		Choice: func(x *job.Execution) any { return &x.Attention },
	}, {
		Row:    Row{Name: "overlap_gradient_reduce", Kind: Switch, Doc: "Reduce gradients behind the backward pass.", Words: "gradient reduction overlapped", Place: 2},
		Hides:  true,
		Value:  func(x *plan.Execution) any { return &x.OverlapGradientReduce },
		Choice: func(x *job.Execution) any { return &x.OverlapGradientReduce },
	}, {
		Row:    Row{Name: "overlap_parameter_gather", Kind: Switch, Doc: "Gather parameters behind the forward pass.", Words: "parameter gather overlapped", Place: 2},
		Hides:  true,
		Value:  func(x *plan.Execution) any { return &x.OverlapParameterGather },
		Choice: func(x *job.Execution) any { return &x.OverlapParameterGather },
	}, {
		Row:    Row{Name: "overlap_optimizer_gather", Kind: Switch, Doc: "Gather the first chunk's parameters behind the optimizer's update of the other chunks.", Words: "gather behind the optimizer", Place: 2},
		Value:  func(x *plan.Execution) any { return &x.OverlapOptimizerGather },
		Choice: func(x *job.Execution) any { return &x.OverlapOptimizerGather },
	}, {
		Row:    Row{Name: "overlap_tensor_parallel", Kind: Switch, Doc: "Hide tensor-parallel communication behind GEMMs.", Words: "tensor parallel overlapped", Place: 2},
		Hides:  true,
		Value:  func(x *plan.Execution) any { return &x.OverlapTensorParallel },
		Choice: func(x *job.Execution) any { return &x.OverlapTensorParallel },
	}, {
		Row:    Row{Name: "overlap_expert_parallel", Kind: Switch, Doc: "Hide the experts' all-to-all.", Words: "expert parallel overlapped", Place: 2},
		Hides:  true,
		Value:  func(x *plan.Execution) any { return &x.OverlapExpertParallel },
		Choice: func(x *job.Execution) any { return &x.OverlapExpertParallel },
	}, {
		Row:    Row{Name: "gradient_dtype", Numerics: true, Kind: Name, Values: []string{"fp32", "bf16"}, Plain: "fp32", Doc: "Of gradient accumulation and reduction.", Words: "%s gradients", Place: 1, Relief: 3},
		Saves:  "bf16",
		Value:  func(x *plan.Execution) any { return &x.GradientDType },
		Choice: func(x *job.Execution) any { return &x.GradientDType },
	}, {
		Row:    Row{Name: "optimizer_state_dtype", Numerics: true, Kind: Name, Values: []string{"fp32", "bf16", "fp16", "fp8"}, Plain: "fp32", Doc: "Of the optimizer's moments.", Words: "%s optimizer states", Place: 1, Relief: 2},
		Saves:  "bf16",
		Value:  func(x *plan.Execution) any { return &x.OptimizerStateDType },
		Choice: func(x *job.Execution) any { return &x.OptimizerStateDType },
	}, {
		Row:    Row{Name: "cross_entropy", Kind: Name, Values: []string{"unfused", "fused"}, Plain: "unfused", Doc: "Kernel of the loss.", Words: "%s cross-entropy", Quiet: "unfused", Place: 4},
		Value:  func(x *plan.Execution) any { return &x.CrossEntropy },
		Choice: func(x *job.Execution) any { return &x.CrossEntropy },
	}, {
		Row:    Row{Name: "loss_chunks", Kind: Count, Min: 1, Doc: "Pieces in which logits and loss are computed; 1: at once.", Words: "loss in %d chunks", Place: 4},
		Value:  func(x *plan.Execution) any { return &x.LossChunks },
		Choice: func(x *job.Execution) any { return &x.LossChunks },
	}, {
		Row: Row{Name: "cuda_graphs", Kind: Name, Values: []string{"none", "layer", "full"}, Parts: plan.GraphModules,
			Doc: "What is captured: nothing, layers without their routed experts, or the whole step.", Words: "%s CUDA graphs", Quiet: "none", Place: 5},
		Hides:  true,
		Value:  func(x *plan.Execution) any { return &x.CUDAGraphs },
		Choice: func(x *job.Execution) any { return &x.CUDAGraphs },
	}, {
		Row:    Row{Name: "compile", Kind: Switch, Doc: "Compile the operations of a layer into fused kernels.", Words: "compiled", Place: 3},
		Value:  func(x *plan.Execution) any { return &x.Compile },
		Choice: func(x *job.Execution) any { return &x.Compile },
	}, {
		Row: Row{Name: "moe_dispatcher", Kind: Name, Idle: true, Always: true, Values: []string{"allgather", "alltoall", "deepep", "hybridep"}, Doc: "How tokens reach their experts.",
			Words: "%s dispatcher", Place: 4},
		Value:  func(x *plan.Execution) any { return &x.MoEDispatcher },
		Choice: func(x *job.Execution) any { return &x.MoEDispatcher },
	}, {
		Row: Row{Name: "context_parallel_type", Kind: Name, Idle: true, Values: []string{"ring", "all_gather", "ulysses", "hierarchical"},
			Doc: "How context-parallel ranks exchange keys and values.", Words: "%s context parallelism", Place: 4},
		Value:  func(x *plan.Execution) any { return &x.ContextParallelType },
		Choice: func(x *job.Execution) any { return &x.ContextParallelType },
	}, {
		Row:    Row{Name: "reshard_after_forward", Kind: Switch, Doc: "Free gathered parameters after the forward pass."},
		Value:  func(x *plan.Execution) any { return &x.ReshardAfterForward },
		Choice: func(x *job.Execution) any { return &x.ReshardAfterForward },
	}, {
		Row:    Row{Name: "fully_sharded", Kind: Switch, Doc: "Parameters, gradients and optimizer state are sharded by the framework's own FSDP.", Words: "fully sharded", Place: 5},
		Value:  func(x *plan.Execution) any { return &x.FullySharded },
		Choice: func(x *job.Execution) any { return &x.FullySharded },
	}, {
		Row: Row{Name: "shard_buffers", Kind: Name, Idle: true, Values: []string{"dynamic", "double", "registered"}, Plain: "dynamic",
			Doc:   "Where `fully_sharded` gathers and reduces: in memory of the moment, in two buffers that stay, or in two that NCCL has registered.",
			Words: "%s buffers of shards", Quiet: "dynamic", Place: 5},
		Value:  func(x *plan.Execution) any { return &x.ShardBuffers },
		Choice: func(x *job.Execution) any { return &x.ShardBuffers },
	}, {
		Row: Row{Name: "sharp", Kind: Name, Values: []string{"none", "data_parallel", "replicas"},
			Doc:   "Which reductions the switches of an InfiniBand network add up (SHARP): none, those of data parallelism, or those between its replicas.",
			Words: "%s reduced by SHARP", Quiet: "none", Place: 5},
		Value:  func(x *plan.Execution) any { return &x.SHARP },
		Choice: func(x *job.Execution) any { return &x.SHARP },
	}, {
		Row:    Row{Name: "zero_hpz_partition", Kind: Count, Min: 1, Doc: "Ranks of a secondary partition of the parameters (ZeRO++ hpZ); 1: none.", Words: "hpZ over %d ranks", Place: 5},
		Value:  func(x *plan.Execution) any { return &x.ZeroHPZPartition },
		Choice: func(x *job.Execution) any { return &x.ZeroHPZPartition },
	}, {
		Row:    Row{Name: "offload.optimizer", Kind: Switch, Doc: "Optimizer state.", Words: "optimizer offloaded", Place: 5, Relief: 1},
		Saves:  "true",
		Value:  func(x *plan.Execution) any { return &x.OffloadOptimizer },
		Choice: func(x *job.Execution) any { return &x.OffloadOptimizer },
	}, {
		Row:    Row{Name: "offload.parameters", Kind: Switch, Doc: "Parameters.", Words: "parameters offloaded", Place: 5},
		Value:  func(x *plan.Execution) any { return &x.OffloadParameters },
		Choice: func(x *job.Execution) any { return &x.OffloadParameters },
	}, {
		Row:    Row{Name: "offload.activations", Kind: Switch, Doc: "Saved activations.", Words: "activations offloaded", Place: 5, Relief: 4},
		Saves:  "true",
		Value:  func(x *plan.Execution) any { return &x.OffloadActivations },
		Choice: func(x *job.Execution) any { return &x.OffloadActivations },
	},
}
