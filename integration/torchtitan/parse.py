"""Reads generated configurations with TorchTitan's own manager and lays out its meshes; builds nothing.

    python parse.py --many LIST

LIST has a line "FOLDER WORLD_SIZE RANK" per job. Each is read in a process forked after the imports, by the real command
line; prints one JSON line for each: the folder, the rank, and the error if there was one.

    python parse.py --configure LIST

looks for options that would override the file in no command line, which takes most of the time, and gives the
configuration to the model, which has checks of its own.
"""

import importlib
import inspect
import json
import os
import sys
import types

import torch

import cpu

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import children  # noqa: E402

cpu.install()

from torchtitan.config import ConfigManager  # noqa: E402
from torchtitan.distributed import ParallelDims  # noqa: E402

for name in ("torchtitan.trainer", "torchtitan.train", *(f"torchtitan.models.{m}" for m in ("llama3", "deepseek_v3", "qwen3", "gpt_oss"))):
    try:  # once for all children; the releases differ in what they have
        importlib.import_module(name)
    except ImportError:
        pass

cpu.claim_generation()

DEGREES = {
    "dp_replicate": "data_parallel_replicate_degree", "dp_shard": "data_parallel_shard_degree", "cp": "context_parallel_degree",
    "tp": "tensor_parallel_degree", "pp": "pipeline_parallel_degree", "ep": "expert_parallel_degree",
    "etp": "expert_tensor_parallel_degree",
}


def without_options():
    """The manager's parser returns what was read from the file; no option is given."""
    import torchtitan.config.manager as manager

    manager.tyro = types.SimpleNamespace(**{**vars(manager.tyro), "cli": lambda kind, *_, default, **__: default})


def settle(config):
    """What the Trainer tells the model before it builds it."""
    if hasattr(config, "model_spec"):
        config.model_spec.model.update_from_config(config=config)
        config._validate_cuda_graphs()
        return
    from torchtitan.protocols.train_spec import get_train_spec

    if config.experimental.custom_import:
        importlib.import_module(config.experimental.custom_import)
    get_train_spec(config.model.name).model_args[config.model.flavor].update_from_config(config)


def read(folder, world, rank, configure):
    toml = os.path.exists(os.path.join(folder, "train.toml"))
    config = ConfigManager().parse_args(["--job.config_file", "train.toml"] if toml else ["--module", "ndc_job", "--config", "run"])
    names = inspect.signature(ParallelDims).parameters
    degrees = {short: getattr(config.parallelism, name) for short, name in DEGREES.items() if short in names}
    torch.distributed.init_process_group("fake", rank=rank, world_size=world)
    ParallelDims(**degrees, world_size=world).build_mesh()
    if configure:
        settle(config)


def judge(folder, world, rank, configure):
    """The error of reading, or nothing; for a process of its own."""
    os.chdir(folder)
    sys.path.insert(0, folder)
    os.environ.update(WORLD_SIZE=str(world), NGPU=str(world), RANK=str(rank), LOCAL_RANK="0")
    sys.stdout = sys.stderr = open(os.devnull, "w")
    try:
        read(folder, world, rank, configure)
    except BaseException as error:  # a rejection, whatever its kind
        return f"{type(error).__name__}: {error}"[:4000]
    return ""


def main(mode, path):
    configure = mode == "--configure"
    if configure:
        without_options()
    children.settle()
    with open(path) as lines:
        for line in lines:
            folder, world, rank = line.split()
            error, complaint = children.run(lambda: judge(folder, int(world), int(rank), configure))
            print(json.dumps({"folder": folder, "rank": rank, "error": error or complaint}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
