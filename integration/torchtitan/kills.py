"""Kills TorchTitan's own checkpoint manager, with the hooks that ndc emits, before every operation on files.

    python kills.py FILES SCRATCH MODE [EVERY]

FILES is a folder of emitted files, MODE the manager's async_mode; with EVERY, only every so many operations are kills.
What is trained is a matrix that holds the number of the step. torch is imported once; every run is a process forked
from there. After a kill there is a complete checkpoint no older than before, and the next run loads it.
"""
import dataclasses
import itertools
import os
import shutil
import signal
import sys

import torch
import torch.distributed as dist

import cpu

LAST, KEEP = 5, 2


class State:
    """What a manager saves beside the model."""

    def __init__(self):
        self.step = 0

    def state_dict(self):
        return {"step": torch.tensor(self.step)}

    def load_state_dict(self, state):
        self.step = int(state["step"])


class Schedulers(State):
    """The schedulers of a run, of which this one has none."""

    def __iter__(self):
        return iter(())


class Trainer(State):
    device = torch.device("cpu")


def managed(ndc_job, folder, mode):
    """A model and its manager, as the trainer of either release makes it."""
    model, trainer = torch.nn.Linear(8, 8), Trainer()
    parts = {"dataloader": State(), "model_parts": [model], "optimizers": State(), "lr_schedulers": Schedulers(),
             "states": {"train_state": trainer}, "sd_adapter": None, "base_folder": ""}
    choice = {"folder": folder, "interval": 1, "keep_latest_k": KEEP, "async_mode": mode}
    if hasattr(ndc_job, "run"):
        config = dataclasses.replace(ndc_job.run().checkpoint, **choice)
        return model, trainer, ndc_job.Checkpoints(config, **parts)
    ndc_job.shorten_timeouts = lambda trainer: None  # of meshes, which this trainer has none of
    from torchtitan.components.checkpoint import CheckpointManager
    from torchtitan.config.job_config import Checkpoint
    config = Checkpoint(enable=True, last_save_model_only=False, **choice)
    return model, trainer, CheckpointManager(checkpoint_config=config, **parts)


def train(ndc_job, folder, mode, first, last):
    """Resume from a step that is at least `first`, and save after every one up to the last."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    model, trainer, manager = managed(ndc_job, folder, mode)
    manager.load()
    assert trainer.step >= first, f"resumed from {trainer.step}, not {first} or later"
    assert not trainer.step or (model.weight == trainer.step).all(), f"step {trainer.step} holds {model.weight}"
    while trainer.step < last:
        trainer.step += 1
        torch.nn.init.constant_(model.weight, trainer.step)
        manager.save(trainer.step, last_step=trainer.step == last)
        manager.maybe_wait_for_staging()
    manager.close()


def run(at, folder, work):
    """Run work in a process that is killed before operation number `at` in the folder; whether it was."""
    child = os.fork()
    if child == 0:
        count = itertools.count()

        def die(event, args):
            path = args[0] if args else None
            inside = isinstance(path, str) and (path.startswith(folder) or event in ("os.remove", "os.rmdir") and "/" not in path)
            if event.startswith(("open", "os.", "shutil.")) and inside and next(count) == at:
                os.kill(os.getpid(), signal.SIGKILL)

        code = 1
        try:
            sys.addaudithook(die)
            work()
            code = 0
        except BaseException as e:
            print(f"operation {at}: {e!r}", file=sys.stderr, flush=True)
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL), f"exit code {code}, operation {at}"
    return code != 0


def history(ndc_job, folder, mode):
    """Two complete checkpoints, and what killed runs left of two others: before the next one, and after it."""
    run(-1, folder, lambda: train(ndc_job, folder, mode, 0, 3))
    for step in (2, 9):
        path = os.path.join(folder, f"step-{step}")
        os.makedirs(path, exist_ok=True)
        if os.path.exists(os.path.join(path, ".metadata")):
            os.remove(os.path.join(path, ".metadata"))
        with open(os.path.join(path, "__0_0.distcp"), "w", encoding="utf-8") as f:
            f.write("half")


def main():
    files, scratch, mode, *every = sys.argv[1:]
    sys.path.insert(0, files)
    cpu.install()
    import ndc_job
    import ndc_runtime
    folder, kills = os.path.join(scratch, "checkpoints"), 0
    history(ndc_job, folder, mode)
    shutil.copytree(folder, folder + "-before")
    for at in itertools.count(0, int(every[0]) if every else 1):
        shutil.rmtree(folder)
        shutil.copytree(folder + "-before", folder)
        died = run(at, folder, lambda: train(ndc_job, folder, mode, 3, LAST))
        newest = ndc_runtime.newest(folder)
        assert newest >= 3, f"nothing is left, killed at operation {at}"
        run(-1, folder, lambda: train(ndc_job, folder, mode, newest, LAST + 2))
        kept = ndc_runtime.complete(folder)
        assert kept[-1] == LAST + 2 and KEEP <= len(kept) <= KEEP + 2, f"killed at operation {at}: {kept}"
        if not died:
            break
        kills += 1
    print(f"{kills} kills lost nothing")


if __name__ == "__main__":
    main()
