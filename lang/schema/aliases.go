package schema

import (
	"slices"
	"strings"
)

// Meant finds the one of the known words that another tool's word stands for,
// such as "tensor_parallel" for Megatron-LM's "tp" or Hugging Face's
// "num_hidden_layers" for "layers"; "" when there is none. It is for
// suggestions only: the language has one word for each thing.
func Meant(word string, known []string) string {
	for _, name := range aliases[strings.ToLower(strings.ReplaceAll(word, "-", "_"))] {
		if slices.Contains(known, name) {
			return name
		}
	}
	return ""
}

// aliases maps words of Megatron-LM, DeepSpeed, TorchTitan, Hugging Face and
// daily use to words of the language.
var aliases = invert(map[string]string{
	"base": "from extends inherits template",
	"mock": "mock_data synthetic dummy_data",

	// Layouts.
	"tensor_parallel":         "tp tp_size tensor_model_parallel_size tensor_parallel_size tensor_parallel_degree autotp_size",
	"sequence_parallel":       "sp",
	"context_parallel":        "cp cp_size context_parallel_size context_parallel_degree sequence_parallel_size ulysses_degree",
	"pipeline_parallel":       "pp pp_size pipeline_model_parallel_size pipeline_parallel_size pipeline_parallel_degree stages",
	"virtual_pipeline":        "vpp vp virtual_pipeline_model_parallel_size num_virtual_stages_per_pipeline_rank interleave",
	"pipeline_schedule":       "schedule pipeline_parallel_schedule",
	"expert_parallel":         "ep ep_size expert_model_parallel_size expert_parallel_size expert_parallel_degree",
	"expert_tensor_parallel":  "etp expert_tensor_parallel_size expert_tensor_parallel_degree",
	"data_parallel_shard":     "dp fsdp data_parallel data_parallel_size data_parallel_shard_degree dp_shard",
	"data_parallel_replicate": "hsdp ddp data_parallel_replicate_degree dp_replicate num_distributed_optimizer_instances",
	"zero_stage":              "zero stage",
	"micro_batch_size":        "mbs local_batch_size per_device_train_batch_size train_micro_batch_size_per_gpu",
	"micro_batches":           "gas gradient_accumulation_steps grad_accum num_microbatches accumulate_grad_batches",
	"recompute":               "activation_checkpointing gradient_checkpointing recompute_granularity activation_checkpoint",
	"recompute_layers":        "recompute_num_layers",
	"stage_layers":            "layers_per_stage pipeline_layout num_layers_per_stage",

	// Training.
	"global_batch_size":     "gbs batch_size train_batch_size",
	"steps":                 "train_iters max_steps iterations iters num_steps total_steps",
	"tokens":                "train_tokens max_tokens num_tokens",
	"precision":             "dtype mixed_precision",
	"learning_rate":         "lr max_lr",
	"weight_decay":          "wd",
	"beta1":                 "adam_beta1",
	"beta2":                 "adam_beta2",
	"epsilon":               "eps adam_eps adam_epsilon",
	"gradient_clipping":     "clip_grad grad_clip max_norm max_grad_norm clip",
	"minimum_learning_rate": "min_lr lr_min end_lr",
	"warmup_steps":          "warmup warmup_iters lr_warmup_iters lr_warmup_steps num_warmup_steps",
	"decay_steps":           "lr_decay_iters lr_decay_steps lr_wsd_decay_iters",
	"decay_shape":           "lr_decay_style lr_wsd_decay_style decay_type",
	"interval":              "save_interval log_interval eval_interval every",
	"keep_last":             "save_total_limit keep_latest_k keep",
	"path":                  "dir folder save load file",
	"format":                "type kind",
	"workers":               "num_workers",

	// Models.
	"architecture":            "arch model_type",
	"layers":                  "num_layers n_layers num_hidden_layers n_layer",
	"hidden_size":             "hidden dim d_model n_embd",
	"ffn_hidden_size":         "intermediate_size ffn_size ffn_dim n_inner",
	"attention_heads":         "num_attention_heads n_heads num_heads heads n_head",
	"kv_heads":                "num_key_value_heads num_query_groups n_kv_heads num_kv_heads",
	"head_dim":                "kv_channels head_size",
	"vocab_size":              "vocabulary vocab",
	"sequence_length":         "seq_len seq_length seqlen context_length",
	"max_positions":           "max_position_embeddings",
	"activation":              "hidden_act activation_function",
	"normalization":           "norm norm_type",
	"norm_epsilon":            "rms_norm_eps norm_eps layer_norm_epsilon layernorm_epsilon",
	"init_std":                "initializer_range init_method_std",
	"tied_embeddings":         "tie_word_embeddings enable_weight_tying",
	"position_embedding":      "position_embedding_type rope positional_embedding",
	"theta":                   "rope_theta rotary_base",
	"original_length":         "original_max_position_embeddings",
	"partial":                 "partial_rotary_factor rotary_percent",
	"experts":                 "num_experts n_routed_experts num_local_experts",
	"top_k":                   "num_experts_per_tok moe_router_topk topk",
	"expert_ffn_hidden_size":  "moe_intermediate_size moe_ffn_hidden_size",
	"shared_experts":          "n_shared_experts num_shared_experts",
	"first_dense_layers":      "first_k_dense_replace n_dense_layers",
	"scaling_factor":          "routed_scaling_factor",
	"groups":                  "n_group moe_router_num_groups",
	"group_top_k":             "topk_group moe_router_group_topk",
	"aux_coefficient":         "moe_aux_loss_coeff router_aux_loss_coef aux_loss_coef",
	"balance":                 "moe_router_load_balancing_type load_balancing",
	"mtp_layers":              "mtp_num_layers num_nextn_predict_layers",
	"final_logit_softcap":     "final_logit_softcapping",
	"attention_logit_softcap": "attn_logit_softcapping",

	// Clusters and Slurm.
	"nodes":            "num_nodes nnodes node_count",
	"gpus_per_node":    "gpus num_gpus nproc_per_node gpus_per_task",
	"memory":           "mem vram hbm",
	"memory_bandwidth": "hbm_bandwidth",
	"sms":              "sm_count",
	"power":            "tdp power_w",
	"domain":           "size gpus_per_domain",
	"nics_per_node":    "nics hcas num_nics",
	"time":             "time_limit walltime timelimit",
	"environment":      "env variables",
	"mounts":           "container_mounts volumes",
	"image":            "container_image",
	"directives":       "sbatch extra_directives",

	// Execution.
	"attention":                 "attention_backend attn attn_implementation",
	"overlap_gradient_reduce":   "overlap_grad_reduce overlap_comm",
	"overlap_parameter_gather":  "overlap_param_gather",
	"sharp":                     "use_sharp sharp_enabled_group collnet in_network_reduction",
	"shard_buffers":             "nccl_ub use_nccl_ub fsdp_double_buffer",
	"overlap_optimizer_gather":  "overlap_param_gather_with_optimizer_step",
	"overlap_tensor_parallel":   "tp_comm_overlap",
	"moe_dispatcher":            "moe_token_dispatcher_type",
	"context_parallel_type":     "cp_comm_type",
	"memory_headroom":           "headroom max_memory memory_limit free_memory",
	"min_mfu":                   "mfu min_utilization min_flops_utilization",
	"max_training_time":         "max_time time_limit deadline max_duration max_hours",
	"max_gpu_hours":             "gpu_hours_limit max_gpu_time gpu_budget",
	"max_cost":                  "budget max_budget cost_limit max_price",
	"price_per_gpu_hour":        "gpu_price price cost_per_gpu_hour gpu_cost gpu_hour_price",
	"max_exposed_communication": "max_communication max_exposed exposed_communication",
	"nvlink_only":               "nvlink intra_node inside_node",
	"prefer":                    "preferred favor favour",
	"avoid":                     "avoided unwanted",

	// Values.
	"throughput":     "speed tokens_per_second tokens_per_second_per_gpu mfu performance fastest",
	"bf16":           "bfloat16",
	"fp16":           "float16 half",
	"fp32":           "float32 float single",
	"fp8":            "float8 fp8_e4m3",
	"huggingface":    "hf",
	"sentencepiece":  "spm",
	"swiglu":         "silu",
	"gelu":           "gelu_pytorch_tanh gelu_new",
	"rmsnorm":        "rms",
	"layernorm":      "layer",
	"llama":          "mistral", // its architecture, beside a window
	"rope":           "rotary",
	"learned":        "absolute learned_absolute",
	"cosine":         "cos",
	"infiniband":     "ib",
	"all_gather":     "allgather",
	"fused":          "te transformer_engine cudnn",
	"flash":          "flash_attention flash_attention_2 fa2 fa3",
	"unfused":        "eager math",
	"apptainer":      "singularity",
	"pyxis":          "enroot",
	"delayed":        "delayed_scaling",
	"tensorwise":     "current",
	"scratch":        "random",
	"torchtitan":     "titan torch fsdp",
	"megatron":       "mcore megatron_core megatron_lm",
	"deepspeed":      "ds zero",
	"gpus_per_pod":   "pod_size",
	"checkpoint":     "checkpointing save",
	"batch_ramp":     "rampup_batch_size batch_rampup",
	"optimizer":      "optim",
	"cluster":        "hardware",
	"sliding_window": "window window_size",
})

// invert maps every word of the lists to the names that list it, in the order
// of the names.
func invert(lists map[string]string) map[string][]string {
	words := map[string][]string{}
	for name, list := range lists {
		for _, word := range strings.Fields(list) {
			words[word] = append(words[word], name)
		}
	}
	for _, names := range words {
		slices.Sort(names)
	}
	return words
}
