"""Python reads this module at its start in every process of a measured launch.

In a rank it writes at exit what torch and the GPU say about memory to MEASURED, and where FAKE_RANK is set it puts
torch's fake process group in the place of every other: collectives return at once, so that one process is any rank of
any world, with the real tensors of that rank. What they bring is whatever memory held. KERNELS asks for two steps' kernels.
"""
import atexit
import json
import os


peaks = {"allocated": 0, "reserved": 0}


def note():
    """Raises the peaks to those of the device since they were last reset."""
    import torch

    if torch.cuda.is_available() and torch.cuda.is_initialized():
        peaks["allocated"] = max(peaks["allocated"], torch.cuda.max_memory_allocated())
        peaks["reserved"] = max(peaks["reserved"], torch.cuda.max_memory_reserved())


def keep():
    """Programs reset the peaks, TorchTitan after every line of its log: the largest of all is wanted."""
    import torch

    reset = torch.cuda.reset_peak_memory_stats

    def reset_peak_memory_stats(*args, **kwargs):
        note()
        return reset(*args, **kwargs)

    torch.cuda.reset_peak_memory_stats = torch.cuda.memory.reset_peak_memory_stats = reset_peak_memory_stats


def limit():
    """Leaves the process so many bytes of the GPU as CAP says, in segments that can grow or not as EXPANDABLE says."""
    for name in [n for n in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF") if n in os.environ] or ["PYTORCH_CUDA_ALLOC_CONF"]:
        os.environ[name] = "expandable_segments:" + os.environ["EXPANDABLE"]
    import torch

    choose = torch.cuda.set_device

    def set_device(device):
        choose(device)
        if int(os.environ["CAP"]):
            torch.cuda.set_per_process_memory_fraction(int(os.environ["CAP"]) / torch.cuda.mem_get_info()[1])

    torch.cuda.set_device = set_device


def report(pid):
    """Peaks of this rank, and what is in use on the device; processes forked from it stay silent."""
    import torch

    if os.getpid() != pid:
        return
    note()
    device = 0
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        free, total = torch.cuda.mem_get_info()
        device = total - free
    with open(os.environ["MEASURED"], "w") as file:
        json.dump({**peaks, "device": device}, file)


def kernels():
    """Writes what ran on the GPU, or where there is none on the CPU, between the fourth and the sixth call of the first optimizer to KERNELS: names, calls, microseconds."""
    import torch
    from torch.optim.optimizer import register_optimizer_step_post_hook

    seen = {"first": None, "calls": 0, "profile": None}

    def count(optimizer, *_):
        if seen["first"] is None:
            seen["first"] = id(optimizer)
        if seen["first"] != id(optimizer):
            return
        seen["calls"] += 1
        if seen["calls"] not in (4, 6):
            return
        there = torch.profiler.ProfilerActivity.CUDA in torch.profiler.supported_activities()
        if there:
            torch.cuda.synchronize()
        if seen["calls"] == 4:
            activity = torch.profiler.ProfilerActivity.CUDA if there else torch.profiler.ProfilerActivity.CPU
            seen["profile"] = torch.profiler.profile(activities=[activity])
            seen["profile"].__enter__()
        else:
            seen["profile"].__exit__(None, None, None)
            events = [[e.key, e.count, e.self_device_time_total if there else e.self_cpu_time_total] for e in seen["profile"].key_averages()]
            with open(os.environ["KERNELS"], "w") as file:
                json.dump(sorted(events, key=lambda e: -e[2]), file)

    register_optimizer_step_post_hook(count)


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
    if "CAP" in os.environ:
        limit()
    keep()
    if "KERNELS" in os.environ:
        kernels()
    atexit.register(report, os.getpid())
    if "FAKE_RANK" in os.environ:
        fake()
