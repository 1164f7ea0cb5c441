package refusals

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

var torchTitanCases = []Case{
	{Rule: "torchtitan-heads", Model: "dense", What: "6 heads over 4 tensor ranks",
		Says: "must divide n_heads",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel = 4
			d.Job.Model.Attention.Heads, d.Job.Model.Attention.KVHeads, d.Job.Model.HiddenSize = 6, 4, 384
		}},
	{Rule: "torchtitan-kv-heads", Model: "dense", What: "2 key-value heads over 4 tensor ranks",
		Says: "must divide n_kv_heads",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel, d.Job.Model.Attention.KVHeads = 4, 2
		}},
	{Rule: "torchtitan-tensor-shards", Model: "dense", What: "a vocabulary of 32002 over 4 tensor ranks",
		Says: "expected local vocab size",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel, d.Job.Model.VocabSize = 4, 32002
		}},
	{Rule: "torchtitan-sequence-length", Model: "dense", What: "4098 tokens over 4 tensor ranks",
		Says: "Training sequence length (4098) must be divisible by 4",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel, d.Layout.SequenceParallel = 4, true
			d.Job.Model.SequenceLength, d.Job.Model.MaxPositions = 4098, 4098
		}},
	{Rule: "torchtitan-sequence-length", Model: "dense", What: "4224 tokens over 2 context ranks",
		Says: "Q_LEN 4224 is not divisible by CP mesh world size 2",
		Edit: func(d *Draft) {
			d.Layout.ContextParallel = 2
			d.Job.Model.SequenceLength, d.Job.Model.MaxPositions = 4224, 4224
		}},
	{Rule: "torchtitan-sequence-length", Version: "0.2.2", Model: "dense", What: "4098 tokens over 4 tensor ranks",
		Says: "must be divisible by the product of TP degree",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel, d.Layout.SequenceParallel = 4, true
			d.Job.Model.SequenceLength, d.Job.Model.MaxPositions = 4098, 4098
		}},
	{Rule: "torchtitan-pipeline-tied-embeddings", Model: "dense", What: "tied embeddings with pipeline_parallel = 2",
		Says: "Weight tying is not supported with Pipeline Parallel",
		Edit: func(d *Draft) {
			d.Layout.PipelineParallel, d.Job.Model.TiedEmbeddings = 2, true
			d.Job.Model.Architecture, d.Job.Model.Attention.QKNorm = "qwen3", true
		}},
	{Rule: "torchtitan-pipeline-micro-batches", Model: "dense", What: "2 micro-batches through 4 stages",
		Says: "must be greater than or equal to the number of stages",
		Edit: func(d *Draft) {
			d.Layout.PipelineParallel, d.Job.Training.GlobalBatchSize = 4, 4
		}},
	{Rule: "torchtitan-interleaved-rounds", Model: "dense", What: "5 micro-batches through 2 interleaved stages",
		Says: "to be a multiple of the number of rounds",
		Edit: func(d *Draft) {
			d.Layout.PipelineParallel, d.Layout.VirtualPipeline, d.Job.Training.GlobalBatchSize = 2, 2, 20
		}},
	{Rule: "torchtitan-schedule-chunks", Model: "dense", What: "1f1b with two chunks per rank",
		Says: "stack expects a non-empty TensorList",
		Edit: func(d *Draft) {
			d.Layout.PipelineParallel, d.Layout.VirtualPipeline, d.Layout.PipelineSchedule = 2, 2, plan.Schedule1F1B
		}},
	{Rule: "torchtitan-empty-stage", Model: "dense", What: "a first stage without layers",
		Says: "matched no parameters",
		Edit: func(d *Draft) {
			d.Layout.PipelineParallel, d.Layout.StageLayers = 2, []int{0, d.Job.Model.Layers}
		}},
	{Rule: "torchtitan-empty-stage", Version: "0.2.2", Model: "dense", What: "a stage between two without layers",
		Says: "optimizer got an empty parameter list",
		Edit: func(d *Draft) {
			n := d.Job.Model.Layers
			d.Layout.PipelineParallel, d.Layout.VirtualPipeline, d.Layout.PipelineSchedule = 2, 2, plan.ScheduleInterleaved1F1B
			d.Layout.StageLayers = []int{n/2 - 1, 1, 0, n / 2}
		}},
	{Rule: "torchtitan-positions-pipeline", Version: "0.2.2", Model: "dense", What: "restarting positions with pipeline_parallel = 2",
		Why: "later stages are never given the positions, and count from the start of the sequence",
		Edit: func(d *Draft) {
			d.Layout.PipelineParallel = 2
			d.Job.Training.Data.ResetPositionIDs = true
		}},
	{Rule: "torchtitan-zero-stage", Model: "dense", What: "zero_stage = 0 with sharding",
		Why: naming,
		Edit: func(d *Draft) {
			d.Layout.ZeroStage, d.Layout.DataParallelReplicate, d.Layout.DataParallelShard = 0, 1, 8
		}},
	{Rule: "torchtitan-reshard-after-forward", Model: "dense", What: "reshard_after_forward with zero_stage = 2",
		Why: naming,
		Edit: func(d *Draft) {
			d.Job.Execution.ReshardAfterForward = job.Some(true)
		}},
	{Rule: "torchtitan-experts", Model: "experts", What: "6 experts over 4 ranks",
		Says: "shape '[4, -1]' is invalid for input of size 6",
		Edit: func(d *Draft) {
			qwen3MoE(d)
			d.Layout.ExpertParallel, d.Job.Model.MoE.Experts = 4, 6
		}},
	{Rule: "torchtitan-expert-ranks", Model: "experts", What: "expert_parallel = 8 on 4 sharding ranks",
		Says: "The product of mesh_sizes=(1, 2, 0, 8) is 0",
		Edit: func(d *Draft) {
			qwen3MoE(d)
			d.Layout.ExpertParallel, d.Layout.DataParallelReplicate = 8, 2
		}},
	{Rule: "torchtitan-expert-tensor", Model: "experts", What: "expert_tensor_parallel = 1 beside tensor_parallel = 2, experts not spread",
		Why: naming,
		Edit: func(d *Draft) {
			qwen3MoE(d)
			d.Layout.TensorParallel, d.Layout.SequenceParallel = 2, true
		}},
	{Rule: "torchtitan-dispatcher", Model: "experts", What: "deepep with expert_parallel = 1",
		Says: "requires expert parallelism",
		Edit: func(d *Draft) {
			qwen3MoE(d)
			d.Job.Execution.MoEDispatcher = job.Some("deepep")
		}},
	{Rule: "torchtitan-deepep-ranks", Version: "0.2.2", Model: "experts", What: "deepep among 8 ranks on nodes of 4 GPUs",
		Why: "refused by DeepEP's kernels, which no CPU has",
		Edit: func(d *Draft) {
			latentMoE(d)
			d.Job.Cluster.Nodes, d.Job.Cluster.GPUsPerNode = 2, 4
			d.Job.Execution.MoEDispatcher, d.Layout.ExpertParallel = job.Some("deepep"), 8
		}},
	{Rule: "torchtitan-async-tensor-parallel", Model: "dense", What: "overlap_tensor_parallel without compile",
		Says: "Async TP requires 'model' in --compile.components and --compile.enable",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel, d.Layout.SequenceParallel = 2, true
			d.Job.Execution.OverlapTensorParallel, d.Job.Execution.Compile = job.Some(true), job.Some(false)
		}},
	{Rule: "torchtitan-loss-chunks", Model: "dense", What: "a loss of 4096 tokens in 3 chunks",
		Says: "sequence length must be divisible by num_chunks",
		Edit: func(d *Draft) { d.Job.Execution.LossChunks = job.Some(3) }},
	{Rule: "torchtitan-offload", Model: "dense", What: "offload without FSDP",
		Why: "offloading is a policy of FSDP: nothing is offloaded without it",
		Edit: func(d *Draft) {
			d.Layout.ZeroStage = 0
			d.Execution = func(x *plan.Execution) { x.OffloadOptimizer, x.OffloadParameters = true, true }
		}},
	{Rule: "torchtitan-replicate-only", Version: "0.2.2", Model: "dense", What: "replicas without sharding beside tensor_parallel = 2, in fp32",
		Says: "DDP has not supported > 1D parallelism",
		Edit: func(d *Draft) {
			d.Layout.ZeroStage, d.Layout.TensorParallel, d.Layout.SequenceParallel, d.Job.Training.Precision = 0, 2, true, "fp32"
		}},
	{Rule: "torchtitan-unsharded-precision", Version: "0.2.2", Model: "dense", What: "tensor_parallel = 8 without FSDP in bf16",
		Why: "mixed precision is FSDP's: without it the ranks train in fp32, whatever precision says",
		Edit: func(d *Draft) {
			d.Layout.ZeroStage, d.Layout.TensorParallel, d.Layout.SequenceParallel = 0, 8, true
		}},
	{Rule: "torchtitan-expert-tensor", Version: "0.2.2", Model: "experts", What: "expert_tensor_parallel = 2 beside tensor_parallel = 1",
		Says: "Currently we only support ETP=TP or ETP=1",
		Edit: func(d *Draft) {
			qwen3MoE(d)
			d.Layout.ExpertParallel, d.Layout.ExpertTensorParallel = 2, 2
		}},
	{Rule: "torchtitan-tensor-router", Version: "0.2.2", Model: "experts", What: "experts over 2 tensor ranks",
		Why: "the routers of the ranks drift apart: after one step of a small model the norms of their gradients were 0.0044 and 0.0047, on one rank 0.0071",
		Edit: func(d *Draft) {
			latentMoE(d)
			d.Layout.TensorParallel, d.Layout.ExpertTensorParallel, d.Layout.SequenceParallel = 2, 2, true
		}},
	{Rule: "torchtitan-context-document-mask", Version: "0.2.2", Model: "dense", What: "restarting positions with context_parallel = 2",
		Says: "multiple values for keyword argument 'positions'",
		Edit: func(d *Draft) {
			d.Layout.ContextParallel = 2
			d.Job.Training.Data.ResetPositionIDs = true
		}},
	{Rule: "torchtitan-context-tensor", Version: "0.2.2", Model: "dense", What: "context_parallel = 2 beside tensor_parallel = 2 in qwen3",
		Says: "AssertionError",
		Edit: func(d *Draft) {
			qwen3Tensor(d)
			d.Layout.ContextParallel = 2
		}},
	{Rule: "torchtitan-context-validation", Version: "0.2.2", Model: "experts", What: "validation beside context_parallel = 2 in qwen3",
		Says: "object has no attribute 'freqs_cis'",
		Edit: func(d *Draft) {
			qwen3MoE(d)
			d.Layout.ContextParallel = 2
			d.Job.Training.Data.Validation = &job.Validation{Path: "/data/valid", Interval: 10, Steps: 1}
		}},
	{Rule: "torchtitan-tensor-document-mask", Version: "0.2.2", Model: "dense", What: "document masks beside tensor_parallel = 2 in qwen3",
		Says: "got mixed torch.Tensor and DTensor",
		Edit: func(d *Draft) {
			qwen3Tensor(d)
			d.Job.Training.Data.DocumentMask = true
		}},
	{Rule: "torchtitan-tensor-positions", Version: "0.2.2", Model: "dense", What: "restarting positions beside tensor_parallel = 2 in qwen3",
		Says: "got mixed torch.Tensor and DTensor",
		Edit: func(d *Draft) {
			qwen3Tensor(d)
			d.Job.Training.Data.ResetPositionIDs = true
		}},
	{Rule: "torchtitan-mxfp8-tensor-parallel", Version: "0.2.2", Model: "dense", What: "compiled mxfp8 with tensor_parallel = 2",
		Why: "torchao's tensors cannot be compiled with tensor parallelism, and torchao is not here",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel, d.Layout.SequenceParallel = 2, true
			d.Job.Training.Precision, d.Job.Cluster.GPU.ComputeCapability = "mxfp8", "10.0"
		}},
	{Rule: "torchtitan-split-compile", Model: "dense", What: "dualpipev with compiled blocks",
		Why: "torch runs the graph of a compiled block once (\"compiled with non-empty donated buffers\"), and the dry run compiles nothing",
		Edit: func(d *Draft) {
			vee(d)
			d.Job.Execution.Compile = job.Some(true)
		}},
	{Rule: "torchtitan-split-recompute", Model: "dense", What: "dualpipev with selective recompute",
		Says: "Trying to backward an extra time",
		Edit: func(d *Draft) {
			vee(d)
			d.Layout.Recompute, d.Layout.RecomputeModules = plan.RecomputeSelective, plan.ModuleOperators
		}},
	{Rule: "torchtitan-split-zero-stage", Model: "dense", What: "dualpipev with zero_stage = 3",
		Why: "gradients of the last stage lack every micro-batch whose backward pass is split, and nothing says so",
		Edit: func(d *Draft) {
			vee(d)
			d.Layout.ZeroStage = 3
		}},
	{Rule: "torchtitan-split-loss-chunks", Model: "dense", What: "dualpipev with loss_chunks = 8",
		Why: "the gradient of the final norm lacks every micro-batch whose backward pass is split, and nothing says so",
		Edit: func(d *Draft) {
			vee(d)
			d.Job.Execution.LossChunks = job.Some(8)
		}},
	{Rule: "torchtitan-vee-trackers", Model: "dense", What: "dualpipev with TensorBoard",
		Why: "what is written there is the -1 of a rank without the last stage",
		Edit: func(d *Draft) {
			vee(d)
			d.Job.Training.Logging.TensorBoardPath = "/tensorboard"
		}},
	{Rule: "torchtitan-vee-validation", Model: "dense", What: "validation under dualpipev",
		Says: "can't steal_bwd_input if this stage doesn't have backward",
		Edit: func(d *Draft) {
			vee(d)
			d.Job.Training.Data.Validation = &job.Validation{Path: "/data/valid", Interval: 10, Steps: 1}
		}},
	{Rule: "torchtitan-context-attention", Model: "dense", What: "varlen with context_parallel = 2",
		Says: "Varlen attention is not supported with CP",
		Edit: func(d *Draft) {
			d.Layout.ContextParallel, d.Job.Execution.Attention = 2, job.Some("varlen")
		}},
	{Rule: "torchtitan-cuda-graphs-attention", Model: "dense", What: "CUDA graphs with varlen under document masks",
		Why: "the graph of the first batch takes no other number of documents, and the dry run captures nothing",
		Edit: func(d *Draft) {
			d.Job.Execution.Attention, d.Job.Execution.CUDAGraphs = job.Some("varlen"), job.Some("full")
			d.Job.Training.Data.DocumentMask, d.Job.Training.Data.ResetPositionIDs = true, true
		}},
	{Rule: "torchtitan-cuda-graphs-pipeline", Model: "dense", What: "CUDA graphs with pipeline_parallel = 2",
		Says: "CUDA graphs do not support pipeline parallelism",
		Edit: func(d *Draft) {
			d.Layout.PipelineParallel, d.Job.Execution.CUDAGraphs = 2, job.Some("full")
		}},
	{Rule: "torchtitan-cuda-graphs-experts", Model: "experts", What: "CUDA graphs with expert_parallel = 2",
		Says: "CUDA graphs support only expert parallel token dispatcher configurations",
		Edit: func(d *Draft) {
			qwen3MoE(d)
			d.Layout.ExpertParallel, d.Job.Execution.CUDAGraphs = 2, job.Some("full")
		}},
}

// qwen3MoE makes the mixture one that TorchTitan has.
func qwen3MoE(d *Draft) {
	m := &d.Job.Model
	m.Architecture, m.Attention.QKNorm = "qwen3_moe", true
}

// latentMoE has latent attention, as the one model of 0.2.2 that dispatches by deepep.
func latentMoE(d *Draft) {
	m := &d.Job.Model
	m.Architecture, m.Attention.KVHeads, m.Attention.HeadDim = "deepseek_v3", m.Attention.Heads, 96
	m.Attention.MLA = &job.MLA{QLoraRank: 512, KVLoraRank: 256, QKNopeHeadDim: 64, QKRopeHeadDim: 32, VHeadDim: 64}
	m.MoE.SharedExperts, m.MoE.SharedExpertFFNHiddenSize = 1, m.MoE.ExpertFFNHiddenSize
}

// qwen3Tensor is a dense model of qwen3 over two tensor ranks.
func qwen3Tensor(d *Draft) {
	d.Job.Model.Architecture, d.Job.Model.Attention.QKNorm = "qwen3", true
	d.Layout.TensorParallel, d.Layout.SequenceParallel = 2, true
}

// vee lays the pipeline in a V.
func vee(d *Draft) {
	d.Layout.PipelineParallel, d.Layout.VirtualPipeline, d.Layout.PipelineSchedule = 2, 2, plan.ScheduleDualPipeV
}
