package deepspeed

import (
	"github.com/ndc-dev/ndc/backends/render"
)

// dsConfig is ds_config.json: every key that the prediction relies on or that
// a release has changed the default of, each checked against the table of the
// release. Batch sizes are micro-batch and accumulation alone: what DeepSpeed
// takes for the world differs between AutoTP, Ulysses and plain data
// parallelism.
func (e *emitter) dsConfig() render.Object {
	l, t := &e.plan.Layout, &e.job.Training
	c := &configWriter{options: e.version.options}
	c.set("train_micro_batch_size_per_gpu", l.MicroBatchSize)
	c.set("gradient_accumulation_steps", l.MicroBatches)
	c.set("steps_per_print", 1_000_000_000)
	c.set("wall_clock_breakdown", t.Logging.Timers)
	c.set("dump_state", false)
	c.set("gradient_clipping", t.Optimizer.GradientClipping)
	c.set("prescale_gradients", false)
	c.set("gradient_predivide_factor", 1.0)
	c.ifKnown("gradient_allreduce_op", "mean")
	e.options(inTypes, c)
	e.precision(c)
	e.optimizer(c)
	e.zero(c)
	e.parallel(c)
	c.set("checkpoint.tag_validation", "Fail")
	c.set("checkpoint.load_universal", false)
	c.set("checkpoint.use_node_local_storage", false)
	return c.object
}

func (e *emitter) precision(c *configWriter) {
	switch e.job.Training.Precision {
	case "bf16":
		c.set("bf16.enabled", true)
		c.ifKnown("bf16.immediate_grad_update", false)
		c.ifKnown("bf16.check_grad_overflow", false)
		c.ifKnown("bf16.bf16_master_weights_and_grads", false)
		c.ifKnown("bf16.bf16_optimizer_states", false)
	case "fp16":
		c.set("fp16.enabled", true)
		c.set("fp16.auto_cast", false)
		c.set("fp16.loss_scale", 0)
		c.set("fp16.initial_scale_power", 16)
		c.set("fp16.loss_scale_window", 1000)
		c.set("fp16.hysteresis", 2)
		c.set("fp16.consecutive_hysteresis", false)
		c.set("fp16.min_loss_scale", 1)
		c.set("fp16.fp16_master_weights_and_grads", false)
	}
}

func (e *emitter) optimizer(c *configWriter) {
	o := &e.job.Training.Optimizer
	if o.Kind == "sgd" {
		c.set("optimizer.type", "SGD") // torch's; ZeRO has to be told that it may
		c.set("zero_allow_untested_optimizer", true)
		c.set("optimizer.params.lr", o.LearningRate)
		c.set("optimizer.params.momentum", o.Momentum)
		c.set("optimizer.params.nesterov", false)
		c.set("optimizer.params.weight_decay", o.WeightDecay)
		return
	}
	c.set("optimizer.type", map[string]string{"adamw": "AdamW", "adam": "Adam"}[o.Kind])
	c.set("optimizer.params.lr", o.LearningRate)
	c.set("optimizer.params.betas", []float64{o.Beta1, o.Beta2})
	c.set("optimizer.params.eps", o.Epsilon)
	c.set("optimizer.params.weight_decay", o.WeightDecay)
	c.set("optimizer.params.adam_w_mode", o.Kind == "adamw")
	c.set("optimizer.params.torch_adam", false)
}

func (e *emitter) zero(c *configWriter) {
	l := &e.plan.Layout
	c.set("zero_optimization.stage", l.ZeroStage)
	if l.ZeroStage == 0 {
		return
	}
	e.options(inZero, c)
	c.set("zero_optimization.contiguous_gradients", true)
	c.set("zero_optimization.reduce_scatter", true)
	c.set("zero_optimization.reduce_bucket_size", buckets.Reduce)
	c.ifKnown("zero_optimization.use_multi_rank_bucket_allreduce", true)
	c.set("zero_optimization.allgather_partitions", true)
	c.set("zero_optimization.allgather_bucket_size", buckets.AllGather)
	c.set("zero_optimization.round_robin_gradients", false)
	c.set("zero_optimization.ignore_unused_parameters", true)
	c.set("zero_optimization.sub_group_size", buckets.SubGroup)
	if l.ZeroStage == 3 {
		e.zero3(c)
	}
	e.options(inOffload, c)
}

func (e *emitter) zero3(c *configWriter) {
	l := &e.plan.Layout
	e.options(inZero3, c)
	c.set("zero_optimization.stage3_param_persistence_threshold", buckets.PersistenceThreshold)
	c.set("zero_optimization.stage3_max_live_parameters", buckets.MaxLiveParameters)
	c.set("zero_optimization.stage3_max_reuse_distance", buckets.MaxLiveParameters)
	c.set("zero_optimization.stage3_gather_16bit_weights_on_model_save", true)
	e.options(inPartition, c)
	c.set("zero_optimization.zero_quantized_weights", false)
	c.set("zero_optimization.zero_quantized_gradients", false)
	if l.DataParallelReplicate > 1 {
		c.set("zero_optimization.mics_shard_size", l.DataParallelShard)
		c.set("zero_optimization.mics_hierarchical_params_gather", false)
	}
	e.options(inZero3End, c)
}

// parallel writes AutoTP and AutoEP.
func (e *emitter) parallel(c *configWriter) {
	l, m := &e.plan.Layout, &e.job.Model
	if l.TensorParallel > 1 {
		c.set("tensor_parallel.autotp_size", l.TensorParallel)
		e.options(inTensor, c)
		c.ifKnown("tensor_parallel.vocab_parallel_lm_head", false)
	}
	if l.ExpertParallel > 1 {
		c.set("expert_parallel.enabled", true)
		c.set("expert_parallel.autoep_size", l.ExpertParallel)
		c.ifKnown("expert_parallel.expert_tensor_parallel_size", 1)
		c.set("expert_parallel.preset_model", e.family.expertPreset)
		c.set("expert_parallel.top_k", m.MoE.TopK)
		c.set("expert_parallel.score_func", m.MoE.Router.Score)
		c.set("expert_parallel.route_norm", normalizes(&m.MoE.Router))
		c.set("expert_parallel.use_grouped_mm", true)
		c.ifKnown("expert_parallel.comm_backend", "comm")
	}
}
