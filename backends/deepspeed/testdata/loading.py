"""Loads a checkpoint that was saved by a job with another decay, other betas and another epsilon.

    python3 loading.py TEMPLATES

It needs Python alone. The optimizer has what the job says afterwards, and the count of its steps from the checkpoint.
"""
import sys
import types

from kills import stand_in

SAVED = {"lr": 3e-3, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1, "step": 6}
SAYS = {"lr": 1e-3, "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 0.5, "step": 1}


class Engine:
    """What DeepSpeed's engine does to the groups of its optimizer."""

    def __init__(self):
        self.optimizer = types.SimpleNamespace(param_groups=[{"params": [1], **SAYS}, {"params": [2], **SAYS, "weight_decay": 0.0}])

    def load_checkpoint(self, path, tag):
        for group in self.optimizer.param_groups:
            group.update(SAVED)
        return path, {"step": 6}


def main(templates):
    stand_in()
    sys.path.insert(0, templates)
    from trainer.checkpoints import load
    engine = Engine()
    assert load(engine, "folder", tag="step-6") == ("folder", {"step": 6})
    for group, decay in zip(engine.optimizer.param_groups, (0.5, 0.0)):
        got = {key: group[key] for key in ("betas", "eps", "weight_decay", "step")}
        assert got == {"betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": decay, "step": 6}, got


if __name__ == "__main__":
    main(sys.argv[1])
