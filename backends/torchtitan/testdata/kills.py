"""Kills a run at every operation on files that saving makes, with TorchTitan's part stood in for.

    python3 kills.py TEMPLATES SCRATCH

It needs Python alone. After every kill the checkpoint to resume from is complete and no older than the one before.
"""
import itertools
import os
import shutil
import sys
import types
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../testdata"))
from killing import killed

PARTS = "__0_0.distcp", "__1_0.distcp"


def runtime(templates):
    """ndc_runtime without numpy and torch."""
    sys.path.insert(0, templates)
    torch = mock.MagicMock()
    torch.utils.data = types.SimpleNamespace(Dataset=object)
    torch.distributed.get_rank = lambda: 0
    sys.modules.update({"numpy": mock.MagicMock(), "torch": torch, "torch.distributed": torch.distributed})
    import ndc_runtime
    return ndc_runtime


def save(ndc, folder, step, keep, asynchronous):
    """What CheckpointManager does with the emitted hooks: asynchronous saves are retired for before they are written."""
    path = os.path.join(folder, f"step-{step}")
    ndc.start_over(folder, step)
    if asynchronous:
        retire(ndc, folder, step, keep)
    os.makedirs(path, exist_ok=True)
    for name in *PARTS, ".metadata.tmp":
        with open(os.path.join(path, name), "w", encoding="utf-8") as f:
            f.write(f"{step} by {os.getpid()}")
    if os.path.exists(os.path.join(path, ".metadata")):
        os.remove(os.path.join(path, ".metadata"))
    os.rename(os.path.join(path, ".metadata.tmp"), os.path.join(path, ".metadata"))
    if not asynchronous:
        retire(ndc, folder, step, keep)


def retire(ndc, folder, step, keep):
    for path in ndc.retire(folder, step, keep):
        shutil.rmtree(path, ignore_errors=True)


def newest(ndc, folder):
    """The step to resume from, whose files have to be there."""
    step = ndc.newest(folder)
    check(folder, step)
    return step


def check(folder, step):
    """All parts are of this step and one process."""
    said = set()
    for name in PARTS:
        with open(os.path.join(folder, f"step-{step}", name), encoding="utf-8") as f:
            said.add(f.read())
    assert len(said) == 1 and said.pop().startswith(f"{step} by"), f"step-{step} is a mixture"


def history(ndc, folder, keep, asynchronous):
    """Two complete checkpoints, two that were killed, and what is the user's own."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "step-2.bak"))
    for step in (2, 4):
        save(ndc, folder, step, keep, asynchronous)
    for step in (5, 8):
        os.makedirs(os.path.join(folder, f"step-{step}"))
        with open(os.path.join(folder, f"step-{step}", PARTS[0]), "w", encoding="utf-8") as f:
            f.write("half")


def trials(ndc, folder, keep, asynchronous):
    """Kill at every operation of the run that resumes after step 4 and saves after 6, 8 and 10."""
    def run():
        for step in (6, 8, 10):
            if step > ndc.newest(folder):
                save(ndc, folder, step, keep, asynchronous)

    for at in itertools.count():
        history(ndc, folder, keep, asynchronous)
        died = killed(at, run)
        assert newest(ndc, folder) >= 4, f"killed at operation {at}"
        run()
        save(ndc, folder, 12, keep, asynchronous)
        kept = ndc.saved(folder)
        assert kept[-1] == newest(ndc, folder) == 12 and len(kept) == keep + asynchronous, (at, kept)
        assert os.path.isdir(os.path.join(folder, "step-2.bak"))
        if not died:
            return at


def back(ndc, folder):
    """A run that goes back to step 2 keeps what it saves from there, whatever was saved after it before."""
    shutil.rmtree(folder, ignore_errors=True)
    for step in (2, 4, 6):
        save(ndc, folder, step, 3, False)
    save(ndc, folder, 3, 2, False)
    assert ndc.complete(folder) == [2, 3, 4, 6]
    for at in itertools.count():  # over what was complete
        if not killed(at, lambda: save(ndc, folder, 4, 2, False)):
            break
        for step in ndc.complete(folder):
            check(folder, step)
    assert ndc.complete(folder) == [3, 4, 6]


def main():
    sys.dont_write_bytecode = True
    templates, scratch = sys.argv[1:]
    ndc, folder = runtime(templates), os.path.join(scratch, "checkpoints")
    count = sum(trials(ndc, folder, keep, asynchronous) for keep in (2, 3) for asynchronous in (False, True))
    back(ndc, folder)
    print(f"{count} kills lost nothing")


if __name__ == "__main__":
    main()
