"""Loads a checkpoint that was saved by a job with another decay, other betas, another epsilon and another batch.

    python3 loading.py TEMPLATES

It needs Python alone. The optimizer has what the job says afterwards, and the count of its steps from the checkpoint; what was read
is counted in sequences, and of text in documents and tokens of every lane. A checkpoint in DeepSpeed's universal format is loaded as one,
what is saved next is not; a `latest` that names nothing ends the run.
"""
import os
import sys
import tempfile
import types

from kills import stand_in

SAVED = {"lr": 3e-3, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1, "step": 6}
SAYS = {"lr": 1e-3, "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 0.5, "step": 1}


class Engine:
    """What DeepSpeed's engine does to the groups of its optimizer."""

    def __init__(self):
        self.optimizer = types.SimpleNamespace(param_groups=[{"params": [1], **SAYS}, {"params": [2], **SAYS, "weight_decay": 0.0}], clip_grad=0.5, state={})
        self._config = types.SimpleNamespace(load_universal_checkpoint=False)
        self.universal = []
        self._get_all_ckpt_names = None  # finds the files of a checkpoint

    def load_checkpoint(self, path, tag):
        self.universal.append(self._config.load_universal_checkpoint)
        for group in self.optimizer.param_groups:
            group.update(SAVED)
        self.optimizer.clip_grad = 1.0
        return path, {"step": 6}


def main(templates):
    stand_in()
    sys.path.insert(0, templates)
    from trainer.checkpoints import load
    engine = Engine()
    assert load(engine, "folder", "step-6") == {"step": 6}
    for group, decay in zip(engine.optimizer.param_groups, (0.5, 0.0)):
        got = {key: group[key] for key in ("betas", "eps", "weight_decay", "step")}
        assert got == {"betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": decay, "step": 6}, got
    assert engine.optimizer.clip_grad == 0.5, engine.optimizer.clip_grad
    starts()
    folders()
    lanes()


def folders():
    """A folder with a checkpoint of its own and one in the universal format, which `latest` names one after the other, and
    then neither."""
    from trainer.checkpoints import resume
    engine = Engine()
    with tempfile.TemporaryDirectory() as folder:
        run = types.SimpleNamespace(checkpoint=types.SimpleNamespace(path=folder), start=types.SimpleNamespace(origin="scratch"),
                                    layout=types.SimpleNamespace(global_batch_size=8))
        assert resume(engine, run) == {"step": 0}
        os.makedirs(os.path.join(folder, "step-6_universal", "zero"))
        os.makedirs(os.path.join(folder, "step-6"))
        for tag in ("step-6_universal", "step-6", "", "step-9"):
            with open(os.path.join(folder, "latest"), "w", encoding="utf-8") as f:
                f.write(tag)
            try:
                assert resume(engine, run)["step"] == 6 and os.path.isdir(os.path.join(folder, tag)), tag
            except RuntimeError as e:
                assert f'names "{tag}"' in str(e), e
    assert engine.universal == [True, False], engine.universal


def starts():
    """Where a run with batches of 16 goes on from one of 6 steps with batches of 8, and from one that an earlier build saved."""
    from trainer.checkpoints import started
    now, before = {"read": 48, "batch": 8, "reader": None}, {"shift": 2, "reader": None}
    for schedule, data, state, want in (
            (False, False, now, (6, now)), (True, False, now, (0, now)), (False, True, now, (6, None)), (True, True, now, (0, None)),
            (False, False, before, (6, {"read": 128, "batch": 16, "reader": None}))):
        run = types.SimpleNamespace(start=types.SimpleNamespace(reset_schedule=schedule, reset_data=data),
                                    layout=types.SimpleNamespace(global_batch_size=16))
        got = started(run, {"step": 6, "data": state})
        assert (got["step"], got["data"]) == want, (got, want)


def lanes():
    """Two ranks that went on from a checkpoint know all lanes of a text, and each reads some of them."""
    for name in ("numpy", "torch.distributed"):
        sys.modules[name] = types.ModuleType(name)
    torch = sys.modules["torch"]
    torch.distributed = distributed = sys.modules["torch.distributed"]
    torch.bfloat16 = torch.float16 = torch.float32 = None
    from trainer.text import Lanes
    saved = {"0,0": [3, 5], "0,1": [2, 0], "1,1": [7, 7]}
    ranks = [Lanes.__new__(Lanes) for _ in range(2)]
    for rank in ranks:
        rank.ranks = types.SimpleNamespace(world=2)
        rank.restore(saved)
    ranks[0].places[0, 0] = [4, 1]
    ranks[1].places |= {(0, 1): [2, 9], (1, 3): [0, 2]}
    told = [{f"{source},{lane}": place for (source, lane), place in rank.places.items()} for rank in ranks]
    for order in (told, told[::-1]):
        distributed.all_gather_object = lambda everyone, mine, order=order: everyone.__setitem__(slice(None), order)
        got = ranks[0].state()
        assert got == {"0,0": [4, 1], "0,1": [2, 9], "1,1": [7, 7], "1,3": [0, 2]}, got


if __name__ == "__main__":
    main(sys.argv[1])
