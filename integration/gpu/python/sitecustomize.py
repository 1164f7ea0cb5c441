"""Python reads this module at its start in every process of a measured launch.

In a rank it writes at exit what torch and the GPU say about memory to MEASURED, and where FAKE_RANK is set it puts
torch's fake process group in the place of every other: collectives return at once, so that one process is any rank of
any world, with the real tensors of that rank. What they bring is whatever memory held.
"""
import atexit
import json
import os
import sys


def report(pid):
    """Peaks of this rank, and what is in use on the device; processes forked from it stay silent."""
    torch = sys.modules.get("torch")
    if os.getpid() != pid or torch is None:
        return
    values = {"allocated": 0, "reserved": 0, "device": 0}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        free, total = torch.cuda.mem_get_info()
        values = {"allocated": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved(), "device": total - free}
    with open(os.environ["MEASURED"], "w") as file:
        json.dump(values, file)


def fake():
    """Every process group is torch's fake one."""
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    start, group = dist.init_process_group, dist.new_group

    def init_process_group(*_, **__):
        return start(backend="fake", store=FakeStore(), rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]))

    def new_group(ranks=None, *_, **__):
        return group(ranks, backend="fake")

    dist.init_process_group = dist.distributed_c10d.init_process_group = init_process_group
    dist.new_group = dist.distributed_c10d.new_group = new_group


if "MEASURED" in os.environ and "RANK" in os.environ:
    atexit.register(report, os.getpid())
    if "FAKE_RANK" in os.environ:
        fake()
