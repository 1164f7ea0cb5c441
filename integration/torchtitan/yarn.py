"""Builds the model of a generated configuration on the CPU, as the Trainer does, and prints what its rope and its softmax are
scaled by.

    python yarn.py --job.config_file train.toml     (0.2.2)
    python yarn.py --module ndc_job --config run    (0.3.0)

Prints one JSON line: the lowest frequency of the rope, its positions, and the scale of the softmax.
"""

import importlib
import json
import sys

import torch

import cpu

cpu.install()

from torchtitan.config import ConfigManager  # noqa: E402

cpu.claim_generation()


def latent(config):
    """The model with its values, and its table of rotations."""
    if hasattr(config, "model_spec"):
        config.model_spec.model.update_from_config(config=config)
        model = config.model_spec.model.build()
        return model, model.layers["0"].attention.rope.cache
    from torchtitan.protocols.train_spec import get_train_spec

    importlib.import_module(config.experimental.custom_import)
    spec = get_train_spec(config.model.name)
    arguments = spec.model_args[config.model.flavor]
    arguments.update_from_config(config)
    model = spec.model_cls(arguments)
    with torch.no_grad():
        model.init_weights()
    return model, model.freqs_cis


if __name__ == "__main__":
    model, table = latent(ConfigManager().parse_args(sys.argv[1:]))
    print(json.dumps({
        "lowest": table[1, -1].angle().item(), "positions": table.shape[0], "softmax": model.layers["0"].attention.softmax_scale,
    }))  # fmt: skip
