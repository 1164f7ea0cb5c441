"""Compares checkpoints of torch.distributed.checkpoint, tensor by tensor, whatever ranks they are spread over.

    python compare.py < pairs > answers

A pair is one line of JSON, {"id", "one", "other"}: folders with .metadata. An answer is one line of JSON:
    {"id", "weights", "optimizer", "rest": {kind: equal}, "sharding", "differences": [the first names]}
weights and optimizer say whether all tensors are there and have the same bits, sharding whether both lie in the same
pieces. Tensors that the optimizer of Megatron-LM keeps in buckets have a padding at their end, which depends on the
number of ranks and is left out where it is zero.
"""
import io
import json
import os
import sys

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.metadata import BytesStorageMetadata


class Everything(dcp.default_planner.DefaultLoadPlanner):
    def load_bytes(self, item, value):
        self.state_dict[item.dest_index.fqn] = value.getvalue()


def read(folder):
    reader = dcp.FileSystemReader(folder)
    metadata = reader.read_metadata()
    state, pieces = {}, {}
    for name, entry in metadata.state_dict_metadata.items():
        if isinstance(entry, BytesStorageMetadata):
            state[name] = None
        else:
            state[name] = torch.empty(entry.size, dtype=entry.properties.dtype)
            pieces[name] = sorted((tuple(c.offsets), tuple(c.sizes)) for c in entry.chunks)
    dcp.load(state, storage_reader=reader, planner=Everything(flatten_state_dict=False, flatten_sharded_tensors=False), no_dist=True)
    return state, pieces


def kind(name):
    """What a name holds, in Megatron-LM's words and in TorchTitan's."""
    for part, what in (("optim", "optimizer"), ("rng", "random"), ("dataloader", "data"), ("lr_scheduler", "schedule"),
                       ("opt_param_scheduler", "schedule"), ("rerun", "other"), ("train_state", "step"), ("common_state", "other"), ("_content_metadata", "other")):
        if part in name:
            return what
    return "weights"


def same(one, other):
    if not torch.is_tensor(one) or not torch.is_tensor(other):
        return one == other
    if one.dim() == 1 and other.dim() == 1 and one.shape != other.shape:
        size = min(len(one), len(other))
        return torch.equal(one[:size], other[:size]) and not one[size:].any() and not other[size:].any()
    return one.dtype == other.dtype and torch.equal(one, other)


def position(folder, state):
    """How many samples Megatron-LM says that it consumed, or None."""
    path = os.path.join(folder, "common.pt")
    common = torch.load(path, weights_only=False) if os.path.exists(path) else None
    for name, value in state.items():
        if name.startswith("common_state"):
            common = torch.load(io.BytesIO(value), weights_only=False)[0]
    return common["args"].consumed_train_samples if common else None


def compare(pair):
    (one, pieces), (other, others) = read(pair["one"]), read(pair["other"])
    equal, differences = {}, []
    for name in sorted({*one, *other}):
        what = kind(name)
        if what in ("weights", "optimizer") and not any(torch.is_tensor(state.get(name)) for state in (one, other)):
            what = "settings"
        good = name in one and name in other and same(one[name], other[name])
        equal[what] = equal.get(what, True) and good
        if not good:
            differences.append(name)
    consumed = position(pair["one"], one)
    if consumed is not None:
        equal["data"] = consumed == position(pair["other"], other)
    for layout in ("other", "settings"):  # arguments, sizes of buckets
        equal.pop(layout, None)
    return {"id": pair["id"], "weights": equal.pop("weights", False), "optimizer": equal.pop("optimizer", False), "rest": equal,
            "sharding": pieces == others, "differences": differences[:8]}


def main():
    for line in sys.stdin:
        pair = json.loads(line)
        try:
            answer = compare(pair)
        except Exception as e:
            answer = {"id": pair["id"], "error": repr(e)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
