"""Stands in for Megatron-LM's pretrain_gpt.py, which the wheels leave out.

Arguments, configuration, meshes, model, optimizer and schedules are those of the installed package; this file only
puts them together as the script of the same release does, for language models. One thing is simpler: every rank reads its
micro-batches from the files by itself, where the release's script has the first tensor-parallel rank read and send.
For megatron-core 0.18.2 and 0.19.2.
"""
from functools import partial

import torch
from megatron.core import parallel_state
from megatron.core.datasets.blended_megatron_dataset_builder import BlendedMegatronDatasetBuilder
from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig, MockGPTDataset
from megatron.core.enums import ModelType
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt import gpt_layer_specs as specs
from megatron.core.transformer.multi_token_prediction import get_mtp_ranks
from megatron.core.utils import get_batch_on_this_cp_rank
from megatron.training import argument_utils, get_args, get_tokenizer, pretrain
from megatron.training.arguments import core_transformer_config_from_args, parse_and_validate_args
from megatron.training.utils import get_blend_and_blend_per_split


def layer_spec(args, config, vp_stage):
    engine = args.transformer_impl == "transformer_engine"
    if args.num_experts:
        return specs.get_gpt_decoder_block_spec(config, use_transformer_engine=engine, normalization=args.normalization, vp_stage=vp_stage)
    common = (config.num_moe_experts, config.moe_grouped_gemm, config.qk_layernorm, config.multi_latent_attention)
    if engine:
        return specs.get_gpt_layer_with_transformer_engine_spec(*common)
    return specs.get_gpt_layer_local_spec(*common, normalization=config.normalization)


def prediction_spec(args, config, vp_stage):
    """Multi-token prediction repeats the last decoder layer."""
    if not args.mtp_num_layers:
        return None
    engine = args.transformer_impl == "transformer_engine"
    last = specs.get_gpt_decoder_layer_specs(config, use_transformer_engine=engine, normalization=args.normalization, vp_stage=vp_stage)[-1]
    return specs.get_gpt_mtp_block_spec(config, last, use_transformer_engine=engine, vp_stage=vp_stage)


def model(pre_process=True, post_process=True, vp_stage=None, config=None, pg_collection=None):
    args = get_args()
    config = config or core_transformer_config_from_args(args)
    return GPTModel(
        config=config, transformer_layer_spec=layer_spec(args, config, vp_stage), vocab_size=args.padded_vocab_size,
        max_sequence_length=args.max_position_embeddings, pre_process=pre_process, post_process=post_process,
        fp16_lm_cross_entropy=args.fp16_lm_cross_entropy, parallel_output=True,
        share_embeddings_and_output_weights=not args.untie_embeddings_and_output_weights,
        position_embedding_type=args.position_embedding_type, rotary_percent=args.rotary_percent, rotary_base=args.rotary_base,
        rope_scaling=args.use_rope_scaling, mtp_block_spec=prediction_spec(args, config, vp_stage), vp_stage=vp_stage,
        pg_collection=pg_collection)


def loss(mask, losses):
    """The sum over tokens and their number, from which Megatron-LM takes means over ranks and micro-batches."""
    mask = mask.view(-1).float()
    total, tokens = (losses.view(-1).float() * mask).sum(), mask.sum().detach().to(torch.int)
    return total, tokens, {"lm loss": torch.cat([total.detach().view(1), tokens.view(1)])}


def step(data, model):
    """One forward pass over this rank's part of a micro-batch."""
    batch = next(data)
    whole = {name: batch[name].cuda() for name in ("tokens", "labels", "loss_mask", "position_ids")}
    part = get_batch_on_this_cp_rank(whole, is_hybrid_cp=False, cp_group=parallel_state.get_context_parallel_group())
    output = model(part["tokens"], part["position_ids"], None, labels=part["labels"], loss_mask=part["loss_mask"])
    return output, partial(loss, part["loss_mask"])


def datasets(samples, vp_stage=None):
    args = get_args()
    blend, blend_per_split = get_blend_and_blend_per_split(args)
    config = GPTDatasetConfig(
        random_seed=args.seed, sequence_length=args.seq_length, blend=blend, blend_per_split=blend_per_split, split=args.split,
        path_to_cache=args.data_cache_path, mmap_bin_files=args.mmap_bin_files, tokenizer=get_tokenizer(),
        reset_position_ids=args.reset_position_ids, reset_attention_mask=args.reset_attention_mask, eod_mask_loss=args.eod_mask_loss,
        create_attention_mask=args.create_attention_mask_in_dataloader, num_dataset_builder_threads=args.num_dataset_builder_threads,
        mid_level_dataset_surplus=args.mid_level_dataset_surplus)
    kind = MockGPTDataset if args.mock_data else GPTDataset
    return BlendedMegatronDatasetBuilder(kind, samples, lambda: True, config).build()


def embedding_ranks(ranks):
    """The pipeline ranks that hold the embedding: the ends, where they share it, and those of multi-token prediction."""
    if len(ranks) == 1:
        return list(ranks)
    args = get_args()
    ends = [ranks[0]] if args.untie_embeddings_and_output_weights else [ranks[0], ranks[-1]]
    return sorted({*ends, *get_mtp_ranks(ranks, core_transformer_config_from_args(args))})


def main():
    datasets.is_distributed = True
    args = parse_and_validate_args(extra_args_provider=None, args_defaults={"tokenizer_type": "GPT2BPETokenizer"})
    if hasattr(argument_utils, "gpt_config_from_args"):  # since 0.19 the configuration builds the model
        container, provider = argument_utils.pretrain_cfg_container_from_args(args, argument_utils.gpt_config_from_args(args)), []
    else:
        container, provider = argument_utils.pretrain_cfg_container_from_args(args), [model]
    pretrain(container, datasets, *provider, ModelType.encoder_or_decoder, step, get_embedding_ranks=embedding_ranks)


if __name__ == "__main__":
    main()
