"""Trains on the CPU over gloo, with the real entry point and command line of TorchTitan.

    torchrun --nproc-per-node 2 train.py --job.config_file train.toml     (0.2.2)
    torchrun --nproc-per-node 2 train.py --module ndc_job --config run    (0.3.0)

The folder of the generated files has to be on PYTHONPATH.
"""

import inspect
import os
import sys

import cpu

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import children  # noqa: E402

cpu.install()

from torchtitan import train  # noqa: E402

cpu.claim_generation()
cpu.use_dense_attention()
cpu.use_host_permutation()

if __name__ == "__main__":
    trainer = [train.Trainer] if inspect.signature(train.main).parameters else []
    train.main(*trainer)  # 0.2.2 takes the class
    children.leave()
