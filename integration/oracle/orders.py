"""Prints the order of the schedule classes of torch.distributed.pipelining, a JSON line a shape:
per rank its passes as torch writes them, chunk, kind (F, B, I, W) and micro-batch. The parts of a pair stand one after the other."""

import json

import torch
from torch.distributed.pipelining import schedules

SHAPES = [
    ("ZBVZeroBubble", 2, [(2, 1), (2, 4), (4, 3), (4, 7), (4, 8), (4, 20), (8, 32), (3, 11)]),
    ("DualPipeV", 2, [(2, 4), (2, 7), (4, 8), (4, 20), (8, 16), (8, 33), (3, 11)]),
    ("InterleavedZeroBubble", 1, [(2, 2), (2, 8), (4, 4), (4, 16), (8, 24)]),
    ("Interleaved1F1B", 2, [(2, 4), (4, 8), (4, 10), (4, 3)]),
    ("Interleaved1F1B", 3, [(2, 4), (4, 12), (4, 6)]),
]


class Stage(torch.nn.Module):
    """What a schedule asks of a stage when it makes its order."""

    def __init__(self, index, size, count):
        super().__init__()
        self.stage_index, self.group_size, self.group_rank, self.num_stages = index, size, index % size, count
        self.is_first, self.is_last = index == 0, index == count - 1
        self.submod, self.has_backward, self.group = torch.nn.Identity(), True, None


def order(name, pipeline, virtual, micro_batches):
    """The passes of every rank."""
    stages = [Stage(local * pipeline, pipeline, pipeline * virtual) for local in range(virtual)]
    made = schedules.get_schedule_class(name)(stages, micro_batches, loss_fn=lambda *_: None)
    passes = ([x for a in made.pipeline_order[rank] if a is not None for x in a.sub_actions or [a]] for rank in range(pipeline))
    return [" ".join(map(str, row)) for row in passes]


for name, virtual, shapes in SHAPES:
    for pipeline, micro_batches in shapes:
        row = {"schedule": name, "pipeline": pipeline, "virtual": virtual, "micro_batches": micro_batches}
        print(json.dumps(row | {"ranks": order(name, pipeline, virtual, micro_batches)}))
