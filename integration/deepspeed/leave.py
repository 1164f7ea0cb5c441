#!/usr/bin/env python3
"""Whether ranks end well when their run is over, where threads of gloo's still hold what it moved last.

    python leave.py TEMPLATES TIMES [plain]

Says how many of the pairs of ranks ended well. The threads run when nothing else wants their CPU, so that they are late
as on a busy machine; plain leaves the end to the interpreter, which is then aborted in most pairs.
"""
import os
import shutil
import sys
import tempfile

import torch

sys.path.insert(0, sys.argv[1])
import train  # noqa: E402


def late(rank):
    """Puts this rank on one CPU, where its other threads wait for the first to sleep."""
    cpus = sorted(os.sched_getaffinity(0))
    own = {cpus[rank % len(cpus)]}
    main = os.getpid()
    os.sched_setaffinity(main, own)
    for thread in map(int, os.listdir("/proc/self/task")):
        if thread != main:
            os.sched_setaffinity(thread, own)
            os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))


def work(rank, store):
    global kept
    train.dist.init_distributed("gloo", auto_mpi_discovery=False, verbose=False, init_method="file://" + store, rank=rank, world_size=2)
    kept = torch.distributed.group.WORLD  # as an engine does
    late(rank)
    for _ in range(3):
        train.mean(torch.ones(()))
    train.dist.barrier()
    train.dist.destroy_process_group()


def pair(store):
    """Whether two ranks ended well."""
    ranks = []
    for rank in range(2):
        child = os.fork()
        if child == 0:
            work(rank, store)
            if "plain" not in sys.argv:
                train.leave()
            sys.exit()
        ranks.append(child)
    return all([os.waitpid(child, 0)[1] == 0 for child in ranks])


if __name__ == "__main__":
    times, folder = int(sys.argv[2]), tempfile.mkdtemp()
    well = [pair(os.path.join(folder, str(i))) for i in range(times)]
    shutil.rmtree(folder)
    print(f"{sum(well)} of {times} pairs ended well")
    sys.exit(not all(well))
