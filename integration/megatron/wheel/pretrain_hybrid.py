"""Stands in for Megatron-LM's pretrain_hybrid.py, which the wheels leave out: pretrain_gpt.py beside it with the model of
layer patterns.
For megatron-core 0.18.2 and 0.19.2."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pretrain_gpt as script  # noqa: E402
from megatron.core.enums import ModelType  # noqa: E402
from megatron.core.models.hybrid.hybrid_model import HybridModel  # noqa: E402
from megatron.core.transformer.spec_utils import import_module  # noqa: E402
from megatron.training import argument_utils, get_args, pretrain  # noqa: E402
from megatron.training.arguments import core_transformer_config_from_args, parse_and_validate_args  # noqa: E402


def model(pre_process=True, post_process=True, vp_stage=None, config=None, pg_collection=None):
    args = get_args()
    return HybridModel(
        config=config or core_transformer_config_from_args(args), hybrid_stack_spec=import_module(args.spec), vocab_size=args.padded_vocab_size,
        max_sequence_length=args.max_position_embeddings, hybrid_layer_pattern=args.hybrid_layer_pattern, pre_process=pre_process,
        post_process=post_process, fp16_lm_cross_entropy=args.fp16_lm_cross_entropy, parallel_output=True,
        share_embeddings_and_output_weights=not args.untie_embeddings_and_output_weights,
        position_embedding_type=args.position_embedding_type, rotary_percent=args.rotary_percent, rotary_base=args.rotary_base,
        pg_collection=pg_collection, vp_stage=vp_stage)


def main():
    script.datasets.is_distributed = True
    args = parse_and_validate_args(extra_args_provider=None, args_defaults={"tokenizer_type": "GPT2BPETokenizer"})
    container = argument_utils.pretrain_cfg_container_from_args(args, argument_utils.hybrid_config_from_args(args))
    provider = [] if hasattr(argument_utils, "gpt_config_from_args") else [model]  # since 0.19 the configuration builds the model
    pretrain(container, script.datasets, *provider, ModelType.encoder_or_decoder, script.step, get_embedding_ranks=script.embedding_ranks)


if __name__ == "__main__":
    main()
