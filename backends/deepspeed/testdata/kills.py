"""Kills a run at every operation on files that the emitted program's saving makes, and again in the run that resumes.

    python3 kills.py TEMPLATES SCRATCH [EVERY]

Of the runs that resume, every EVERY-th operation is a kill, too; without it none is, and fewer jobs run. It needs Python alone: torch and DeepSpeed are stood in for, whose part is to write the files of a folder. After every
kill `latest` has to name a complete checkpoint that is no older than the one before, and the next run has to go on.
"""
import itertools
import os
import shutil
import sys
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../testdata"))
from killing import NEVER, killed

STEPS = 7
PARTS = "mp_rank_00_model_states.pt", "zero_pp_rank_0_mp_rank_00_optim_states.pt", "zero_pp_rank_1_mp_rank_00_optim_states.pt"


def stand_in():
    """Modules that the program imports and this test has no need for."""
    for name in ("deepspeed", "deepspeed.comm", "deepspeed.accelerator", "torch"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["deepspeed"].comm = sys.modules["deepspeed.comm"]
    sys.modules["deepspeed.comm"].barrier = lambda: None
    sys.modules["deepspeed.comm"].get_rank = lambda: 0
    sys.modules["deepspeed.accelerator"].get_accelerator = None
    os.environ["LOCAL_RANK"] = "0"
    os.fsync = lambda f: None  # a kill loses nothing that was written; only a node that fails does


class Engine:
    """Writes and reads a folder of several files, as DeepSpeed's does."""

    optimizer, _config = types.SimpleNamespace(param_groups=[]), types.SimpleNamespace()
    _get_all_ckpt_names = None  # finds the files of a checkpoint

    def save_checkpoint(self, path, tag, client_state, save_latest):
        os.makedirs(os.path.join(path, tag), exist_ok=True)
        for part in PARTS:
            with open(os.path.join(path, tag, part), "w", encoding="utf-8") as f:
                f.write(str(client_state["step"]))

    def load_checkpoint(self, path, tag):
        return path, {"step": complete(os.path.join(path, tag))}


def complete(folder):
    """The step of which a folder holds every part."""
    steps = set()
    for part in PARTS:
        with open(os.path.join(folder, part), encoding="utf-8") as f:
            steps.add(int(f.read()))
    assert len(steps) == 1, f"{folder} mixes steps {steps}"
    return steps.pop()


def train(path, keep, every, last=STEPS):
    """What train.py does, without the training."""
    from trainer import checkpoints as module
    module.LIBC = types.SimpleNamespace(syncfs=lambda f: 0)
    Checkpoints, resume = module.Checkpoints, module.resume
    spec = types.SimpleNamespace(path=path, keep_last=keep, interval_steps=every, interval_seconds=0, window_seconds=None)
    run = types.SimpleNamespace(checkpoint=spec, training=types.SimpleNamespace(steps=last), home=path,
                                start=types.SimpleNamespace(origin="scratch"), layout=types.SimpleNamespace(global_batch_size=8))
    checkpoints = Checkpoints(run, 0)
    for done in range(resume(Engine(), run)["step"] + 1, last + 1):
        if checkpoints.due(done) or done == last:
            checkpoints.save(Engine(), done, None)


def newest(path):
    """The step that `latest` names, which has to be complete; -1 before there is one."""
    name = os.path.join(path, "latest")
    if not os.path.exists(name):
        return -1
    with open(name, encoding="utf-8") as f:
        tag = f.read()
    step = complete(os.path.join(path, tag))
    assert tag == f"step-{step}", f"latest names {tag} with step {step}"
    return step


def history(path, back):
    """A folder in which a run has saved after steps 2 and 4, and may have gone back to 2. What is not the run's
    own is none of its business."""
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(os.path.join(path, "step-4.bak"))
    train(path, keep=2, every=2, last=4)
    if back:
        with open(os.path.join(path, "latest"), "w", encoding="utf-8") as f:
            f.write("step-2")


def trials(path, keep, every, back, stride):
    """Kill at every operation, and then the run that resumes at every so many of its own, up to the end."""
    count = 0
    for first in itertools.count():
        history(path, back)
        before = newest(path)
        if not killed(first, lambda: train(path, keep, every)):
            return count
        after = newest(path)
        assert after >= before, f"latest went from {before} to {after}, killed at operation {first}"
        count += 1
        for second in range(first % stride, NEVER, stride) if stride else ():
            shutil.copytree(path, path + ".once")
            died = killed(second, lambda: train(path, keep, every))
            assert newest(path) >= after, f"killed at operations {first} and {second}"
            shutil.rmtree(path)
            os.rename(path + ".once", path)
            if not died:
                break
            count += 1
        assert not killed(NEVER, lambda: train(path, keep, every))
        finished(path, keep)


def finished(path, keep):
    """The next save keeps what the job asks for, and leaves nothing behind."""
    train(path, keep, every=1, last=STEPS + 1)
    names = sorted(os.listdir(path))
    assert newest(path) == STEPS + 1 and "step-4.bak" in names, names
    assert not [n for n in names if n.endswith((".partial", ".new"))], names
    kept = [n for n in names if n[5:].isdigit()]
    assert len(kept) == keep, f"keep_last = {keep} left {kept}"


def main():
    sys.dont_write_bytecode = True
    templates, scratch = sys.argv[1:3]
    stride = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    sys.path.insert(0, templates)
    stand_in()
    count = 0
    for keep, every, back in itertools.product((1, 2), (1, 3) if stride else (1,), (False, True)):
        count += trials(os.path.join(scratch, "checkpoints"), keep, every, back, stride)
    print(f"{count} kills lost nothing")


if __name__ == "__main__":
    main()
