"""Loads a checkpoint that was saved by a job with other rates, decay and betas.

    python3 loading.py TEMPLATES SCRATCH

It needs Python alone. The optimizer has what the job says afterwards, and the rate of the step that comes next. A run
that begins with the folder of another takes its newest checkpoint.
"""
import os
import sys
from types import SimpleNamespace

from kills import runtime


def scheduler(rate, decay, beta2):
    """What torch's LambdaLR and AdamW hold of a job with two groups of parameters."""
    groups = [{"params": [n], "lr": 0.0, "initial_lr": rate, "weight_decay": decay * n, "betas": (0.9, beta2)} for n in (0, 1)]
    return SimpleNamespace(optimizer=SimpleNamespace(param_groups=groups), base_lrs=[rate, rate], last_epoch=0, _last_lr=[0.0, 0.0],
                           lr_lambdas=[lambda step: step / 10] * 2)


def main(templates):
    ndc = runtime(templates)
    new, old = scheduler(1e-3, 0.5, 0.99), scheduler(3e-3, 0.1, 0.95)

    def framework_load():
        new.base_lrs, new.last_epoch, new._last_lr = old.base_lrs, 4, [1.2e-3, 1.2e-3]
        for group, saved in zip(new.optimizer.param_groups, old.optimizer.param_groups):
            group.update(saved, params=["moments"], lr=1.2e-3)
        return True

    assert ndc.load(framework_load, [new]) is True
    assert new.base_lrs == [1e-3, 1e-3] and new._last_lr == [4e-4, 4e-4], vars(new)
    for n, group in enumerate(new.optimizer.param_groups):
        want = {"params": ["moments"], "lr": 4e-4, "initial_lr": 1e-3, "weight_decay": 0.5 * n, "betas": (0.9, 0.99)}
        assert group == want, (group, want)
    begins(ndc, sys.argv[2])


def begins(ndc, folder):
    ndc.torch.tensor = lambda values, device: SimpleNamespace(item=lambda: values[0])
    assert ndc.begin(folder, "cpu") == folder
    for step, parts in ((2, (".metadata",)), (10, (".metadata", "__0_0.distcp")), (12, ("__0_0.distcp",))):
        os.makedirs(ndc.place(folder, step))
        for part in parts:
            open(ndc.place(folder, step, part), "w").close()
    assert ndc.begin(folder, "cpu") == ndc.place(folder, 10)
    assert ndc.begin(ndc.place(folder, 2), "cpu") == ndc.place(folder, 2)


if __name__ == "__main__":
    main(sys.argv[1])
