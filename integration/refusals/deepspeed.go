package refusals

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

var deepSpeedCases = []Case{
	{Rule: "deepspeed-pipeline", Model: "dense", What: "pipeline_parallel = 2", Unasked: true, Why: "the emitted program has no pipeline",
		Edit: func(d *Draft) { d.Layout.PipelineParallel = 2 }},
	{Rule: "deepspeed-sequence-parallel", Model: "dense", What: "sequence_parallel beside tensor_parallel = 2", Unasked: true, Why: "DeepSpeed has no such option",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel, d.Layout.SequenceParallel = 2, true
		}},
	{Rule: "deepspeed-zero-degree", Model: "dense", What: "zero_stage = 0 with sharding", Unasked: true, Why: "DeepSpeed has no such option: stage 0 is the absence of sharding",
		Edit: func(d *Draft) {
			d.Layout.ZeroStage, d.Layout.DataParallelReplicate, d.Layout.DataParallelShard = 0, 1, 2
		}},
	{Rule: "deepspeed-replicate-shard", Model: "dense", What: "MiCS, two replicas of two shards", Unasked: true,
		Why: "the key is gone from the release", Edit: func(d *Draft) {
			ranks(d, 4)
			d.Layout.ZeroStage, d.Layout.DataParallelReplicate = 3, 2
		}},
	{Rule: "deepspeed-mics-combination", Version: "0.18.2", Model: "dense", What: "MiCS with context_parallel = 2",
		Unasked: true, Why: "MiCS takes collectives that only NCCL has",
		Edit: func(d *Draft) {
			ranks(d, 8)
			d.Layout.ZeroStage, d.Layout.DataParallelReplicate, d.Layout.ContextParallel = 3, 2, 2
		}},
	{Rule: "deepspeed-tensor-model", Model: "experts", What: "AutoTP of a mixture of experts",
		Says: "tp_plan contains unsupported partition style",
		Edit: func(d *Draft) { d.Layout.TensorParallel = 2 }},
	{Rule: "deepspeed-tensor-context", Model: "dense", What: "AutoTP with Ulysses",
		Says: "query input tensor does not match the required shape",
		Edit: func(d *Draft) {
			ranks(d, 4)
			d.Layout.TensorParallel, d.Layout.ContextParallel = 2, 2
		}},
	{Rule: "deepspeed-tensor-divides", Model: "dense", What: "a feed-forward width of 129 over 2 tensor ranks",
		Why: "AutoTP cuts unevenly: ranks would differ, and what is predicted for one would not hold for the others",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel, d.Job.Model.FFNHiddenSize = 2, 129
		}},
	{Rule: "deepspeed-tensor-zero3", Version: "0.18.2", Model: "dense", What: "AutoTP with zero_stage = 3",
		Unasked: true, Why: "the emitted program itself demands 0.19.4",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel, d.Layout.ZeroStage = 2, 3
		}},
	{Rule: "deepspeed-tensor-norms", Version: "0.18.2", Model: "dense", What: "AutoTP with norms of queries and keys",
		Why: "the emitted program itself demands 0.19.6; without that, tensor ranks drift apart", Unasked: true,
		Edit: func(d *Draft) {
			d.Layout.TensorParallel, d.Layout.ZeroStage = 2, 1
			d.Job.Model.Architecture, d.Job.Model.Attention.QKNorm = "qwen3", true
		}},
	{Rule: "deepspeed-tensor-clipping", Model: "dense", What: "sgd in bf16 under AutoTP without ZeRO",
		Why: "it trains, and clips by a wrong norm: 1.684 in the first step of two ranks, 1.992 is right",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel, d.Layout.ZeroStage = 2, 0
			d.Job.Training.Precision, d.Job.Execution.GradientDType = "bf16", job.Some("bf16")
			d.Job.Training.Optimizer.Kind, d.Job.Training.Optimizer.GradientClipping = "sgd", 1
			d.Job.Backend.ExtraArgs = nil // which would have torch's Adam
		}},
	{Rule: "deepspeed-tensor-bias", Version: "0.16.4", Model: "dense", What: "AutoTP of layers with biases",
		Says: "Output 0 of RowParallelBackward is a view and is being modified inplace",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel, d.Layout.ZeroStage, d.Job.Model.MLPBias = 2, 1, true
		}},
	{Rule: "deepspeed-ulysses-divides", Model: "dense", What: "Ulysses of 3 heads over 2 ranks",
		Says: "is not divisible by SP size",
		Edit: func(d *Draft) {
			d.Layout.ContextParallel = 2
			d.Job.Model.Attention.Heads, d.Job.Model.Attention.KVHeads, d.Job.Model.HiddenSize, d.Job.Model.Attention.HeadDim = 3, 1, 96, 32
		}},
	{Rule: "deepspeed-ulysses-zero", Model: "dense", What: "Ulysses with zero_stage = 0",
		Why: "it trains, but reports no gradient norm in fp32 without ZeRO: what is right is shown for stages 1 to 3",
		Edit: func(d *Draft) {
			d.Layout.ContextParallel, d.Layout.ZeroStage = 2, 0
		}},
	{Rule: "deepspeed-ulysses-mask", Model: "dense", What: "Ulysses with document masks",
		Why: "the mask is dropped: the loss is that of the same job without masks",
		Edit: func(d *Draft) {
			d.Layout.ContextParallel = 2
			d.Job.Training.Data.DocumentMask = true
			d.Job.Training.Data.Tokenizer.EndOfDocumentID = job.Some(0)
		}},
	{Rule: "deepspeed-expert-divides", Model: "experts", What: "5 experts over 2 ranks",
		Says: "is not divisible by autoep_size",
		Edit: func(d *Draft) {
			d.Layout.ExpertParallel, d.Layout.ZeroStage, d.Job.Model.MoE.Experts = 2, 2, 5
		}},
	{Rule: "deepspeed-expert-zero3", Version: "0.19.2", Model: "experts", What: "AutoEP with zero_stage = 3",
		Unasked: true, Why: "the emitted program itself demands 0.19.3",
		Edit: func(d *Draft) {
			d.Layout.ExpertParallel, d.Layout.ZeroStage = 2, 3
		}},
	{Rule: "deepspeed-expert-combination", Model: "experts", What: "AutoEP with Ulysses",
		Says: "AutoEP does not currently support tensor model parallelism from mpu",
		Edit: func(d *Draft) {
			ranks(d, 4)
			d.Layout.ExpertParallel, d.Layout.ContextParallel, d.Layout.ZeroStage = 2, 2, 2
		}},
	{Rule: "deepspeed-expert-tensor", Model: "experts", What: "expert_tensor_parallel = 2", Unasked: true, Why: "DeepSpeed has no such option",
		Edit: func(d *Draft) { d.Layout.ExpertTensorParallel = 2 }},
	{Rule: "deepspeed-host-start", Model: "dense", What: "a model larger than the host, cut by AutoTP", Unasked: true, Why: "the model would have to exceed this machine",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel, d.Job.Cluster.HostMemory = 2, 1
		}},
	{Rule: "deepspeed-gpu-start", Model: "dense", What: "half a model larger than the GPU, AutoTP with zero_stage = 3", Unasked: true, Why: "the model would have to exceed a GPU",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel, d.Layout.ZeroStage, d.Job.Cluster.GPU.Memory = 2, 3, 1
		}},
	{Rule: "deepspeed-overlap-tensor", Model: "dense", What: "overlap_tensor_parallel with tensor_parallel = 1",
		Why: "there is nothing to overlap: the layout would claim what does not run",
		Edit: func(d *Draft) {
			d.Job.Execution.OverlapTensorParallel = job.Some(true)
		}},
	{Rule: "deepspeed-overlap-gradients", Model: "dense", What: "overlap_gradient_reduce without ZeRO",
		Why: "it is reduced after the backward pass all the same: the layout would claim what does not run",
		Edit: func(d *Draft) {
			d.Layout.ZeroStage, d.Layout.DataParallelReplicate, d.Layout.DataParallelShard = 0, 2, 1
			d.Job.Execution.OverlapGradientReduce = job.Some(true)
		}},
	{Rule: "deepspeed-hpz", Model: "dense", What: "hpZ with zero_stage = 2",
		Why: "the group is ignored below stage 3: the layout would claim what does not run",
		Edit: func(d *Draft) {
			d.Layout.ZeroStage, d.Job.Execution.ZeroHPZPartition = 2, job.Some(2)
		}},
	{Rule: "deepspeed-zero2-accumulation", Version: "0.18.2", Model: "dense", What: "zero_stage = 2 with 2 micro-batches",
		Why:  "it trains wrong: a gradient norm of 0.702 in the second step, 0.993 is right",
		Edit: func(d *Draft) { d.Layout.ZeroStage = 2 }},
	{Rule: "deepspeed-bf16-as-fp16", Version: "0.18.2", Model: "dense", What: "bf16 with fp32 gradients and zero_stage = 1",
		Why: "it trains as fp16: a gradient norm of 39,286, 0.599 is right, and whole optimizer states on every rank",
		Edit: func(d *Draft) {
			d.Layout.ZeroStage, d.Job.Training.Precision, d.Job.Execution.GradientDType = 1, "bf16", job.Some("fp32")
		}},
	{Rule: "deepspeed-ulysses-bf16", Model: "dense", What: "Ulysses in bf16 with fp32 gradients and zero_stage = 1",
		Says: "stack expects a non-empty TensorList",
		Edit: func(d *Draft) {
			d.Layout.ContextParallel, d.Layout.ZeroStage, d.Job.Training.Precision, d.Job.Execution.GradientDType = 2, 1, "bf16", job.Some("fp32")
		}},
	{Rule: "deepspeed-offload", Model: "dense", What: "parameter offload with zero_stage = 2",
		Why: "nothing is offloaded: the section is read under stage 3 only",
		Edit: func(d *Draft) {
			d.Layout.ZeroStage = 2
			d.Execution = func(x *plan.Execution) { x.OffloadParameters = true }
		}},
	{Rule: "deepspeed-gradient-dtype", Model: "dense", What: "fp32 gradients of a bf16 model with zero_stage = 0",
		Says: "unsupported mix of model_dtype=torch.bfloat16 and grad_accum_dtype=torch.float32",
		Edit: func(d *Draft) {
			d.Layout.ZeroStage, d.Job.Training.Precision, d.Job.Execution.GradientDType = 0, "bf16", job.Some("fp32")
		}},
	{Rule: "deepspeed-unasked-gradients", Model: "dense", What: "a bf16 model with zero_stage = 0, found by a search",
		Why:  "it trains, and accumulates gradients in bf16, as which another model is learned",
		Edit: func(d *Draft) { d.Layout.ZeroStage, d.Job.Training.Precision = 0, "bf16" }},
	{Rule: "deepspeed-attention", Model: "dense", What: "Ulysses with unfused attention",
		Says: "eager attn_implementation isn't currently supported by Ulysses",
		Edit: func(d *Draft) {
			d.Layout.ContextParallel, d.Job.Execution.Attention = 2, job.Some("unfused")
		}},
}

// ranks changes the size of the run, one sequence for each at least.
func ranks(d *Draft, n int) { d.Job.Cluster.GPUsPerNode, d.Job.Training.GlobalBatchSize = n, 2*n }
