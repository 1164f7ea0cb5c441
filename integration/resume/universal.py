"""Converts checkpoints of DeepSpeed with its own tool, and compares what it makes of them.

    python universal.py convert < pairs > answers
    python universal.py compare < pairs > answers

A pair is one line of JSON, {"id", "one", "other"}: to convert, the folder of a checkpoint and the folder that is to hold it in
DeepSpeed's universal format; to compare, two checkpoints, each in either format. An answer is one line of JSON: {"id", "error"}, and
what compare.py answers.
"""
import argparse
import glob
import json
import os
import sys
import tempfile

os.environ["DS_ACCELERATOR"] = "cpu"
answers, sys.stdout = sys.stdout, sys.stderr  # DeepSpeed talks while it is imported

import torch  # noqa: E402
from deepspeed.checkpoint import ds_to_universal  # noqa: E402

STATES = {"fp32.pt": "weights", "exp_avg.pt": "optimizer", "exp_avg_sq.pt": "optimizer"}


def convert(one, other):
    options = argparse.Namespace(input_folder=one, output_folder=other, num_extract_workers=1, num_merge_workers=1, keep_temp_folder=False,
                                 strict=True, inject_missing_state=True)
    ds_to_universal.main(options)


def read(folder):
    """Every tensor of every parameter by its name, and the state of the run."""
    with tempfile.TemporaryDirectory() as scratch:
        place = folder
        if not os.path.isdir(os.path.join(folder, "zero")):
            place = os.path.join(scratch, "universal")
            convert(folder, place)
        tensors = {}
        for path in glob.glob(os.path.join(place, "zero", "*", "*.pt")):
            name = os.path.relpath(path, os.path.join(place, "zero"))
            if os.path.basename(name) in STATES:
                loaded = torch.load(path, weights_only=False)
                tensors[name] = loaded["param"] if isinstance(loaded, dict) else loaded
        model = torch.load(sorted(glob.glob(os.path.join(place, "*model_states.pt")))[0], weights_only=False)
    return tensors, model


def leaves(value, path=()):
    """The tensors within a value that was saved, by where they are."""
    if torch.is_tensor(value):
        yield path, value
    elif isinstance(value, dict):
        for key in value:
            yield from leaves(value[key], (*path, str(key)))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, str(index)))


def files(folder):
    """The same as read() of a checkpoint that the tool cannot convert, as it does under sequence parallelism: what every rank wrote."""
    tensors, model = {}, None
    for path in sorted(glob.glob(os.path.join(folder, "*_states.pt"))):
        content = torch.load(path, weights_only=False)
        if "model_states" in path:
            model = model or content
        for place, tensor in leaves(content.get("module") or content.get("optimizer_state_dict")):
            state = "exp_avg.pt" if {"exp_avg", "exp_avg_sq"} & set(place) else "fp32.pt"
            tensors[os.path.join(os.path.basename(path), *place, state)] = tensor
    return tensors, model


def same(one, other):
    return one is not None and other is not None and torch.equal(one.flatten(), other.flatten())


def compare(one, other):
    try:
        (tensors, state), (others, after) = read(one), read(other)
    except RuntimeError:
        (tensors, state), (others, after) = files(one), files(other)
    equal, differences = {"weights": bool(tensors), "optimizer": bool(tensors)}, []
    for name in sorted({*tensors, *others}):
        if not same(tensors.get(name), others.get(name)):
            equal[STATES[os.path.basename(name)]] = False
            differences.append(name)
    data = [state.get("step"), state.get("data")] == [after.get("step"), after.get("data")]
    return {**equal, "rest": {"data": data}, "sharding": sorted(os.listdir(one)) == sorted(os.listdir(other)), "differences": differences[:8]}


def main():
    work = {"convert": lambda one, other: convert(one, other) or {}, "compare": compare}[sys.argv[1]]
    for line in sys.stdin:
        pair = json.loads(line)
        try:
            answer = work(pair["one"], pair["other"])
        except (Exception, SystemExit) as e:
            answer = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps({"id": pair["id"], **answer}), file=answers, flush=True)


if __name__ == "__main__":
    main()
