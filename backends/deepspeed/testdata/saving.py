"""What the emitted program does where a checkpoint cannot be written, where a clock is set, and where a folder looks like a
pattern.

    python3 saving.py TEMPLATES SCRATCH

It needs Python alone: torch and DeepSpeed are stood in for.
"""
import glob
import os
import sys
import time
import types

from kills import stand_in

sys.path.insert(0, sys.argv[1])
stand_in()
from trainer.checkpoints import Checkpoints, load  # noqa: E402


class Full:
    """A disk that is full, in torch's words."""

    def save_checkpoint(self, *arguments, **named):
        raise RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 505216 vs 505104")


path = os.path.join(sys.argv[2], "checkpoints")
spec = types.SimpleNamespace(path=path, keep_last=0, interval_steps=0, interval_seconds=600, window_seconds=3600)
run = types.SimpleNamespace(checkpoint=spec, training=types.SimpleNamespace(steps=10), home=sys.argv[2])
checkpoints = Checkpoints(run, time.monotonic())
try:
    checkpoints.save(Full(), 7, None)
except RuntimeError as error:
    said = str(error)
assert said.startswith(f"step-7 is not saved in {path}, where ") and " GB are free: [enforce fail" in said, said
assert not os.path.exists(os.path.join(path, "latest"))

for jump in (-86400, 86400):
    wall = time.time() + jump
    time.time = lambda wall=wall: wall
    assert not checkpoints.due(7) and not checkpoints.stop(), "a clock was set"
checkpoints.last -= 600
checkpoints.started -= 3600
assert checkpoints.due(7) and checkpoints.stop() == 1


class Engine:
    """What DeepSpeed's engine does to find the files of a checkpoint."""

    def __init__(self):
        self.optimizer = types.SimpleNamespace(param_groups=[])
        self._config = types.SimpleNamespace()

    def _get_all_ckpt_names(self, folder, tag):
        return glob.glob(os.path.join(folder, tag, "mp_rank_*_model_states.pt"))

    def load_checkpoint(self, folder, tag):
        return self._get_all_ckpt_names(folder, tag)[0], {"step": 7}


path = os.path.join(sys.argv[2], "[a] *")
os.makedirs(os.path.join(path, "step-7"))
with open(os.path.join(path, "step-7", "mp_rank_00_model_states.pt"), "w"):
    pass
assert load(Engine(), path, "step-7") == {"step": 7}, "the folder was taken for a pattern"
