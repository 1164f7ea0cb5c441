"""What ended a rank stands in its error file where it is a checkpoint, too.

    python3 recording.py TEMPLATES SCRATCH

It needs Python alone: torch's writer of error files is stood in for.
"""
import sys
from types import ModuleType, SimpleNamespace

from kills import runtime


class CheckpointException(BaseException):
    """torch's, of which the failures of every rank are told."""

    failures = {1: (RuntimeError("unexpected pos 704 vs 598"), None), 5: (OSError(5, "Input/output error"), None), 3: (OSError(28, "No space left on device"), None)}


def main(templates):
    ndc, recorded, shown = runtime(templates), [], []
    name = "torch.distributed.elastic.multiprocessing.errors"
    sys.modules[name] = ModuleType(name)
    sys.modules[name].get_error_handler = lambda: SimpleNamespace(record_exception=lambda error: recorded.append(str(error)))
    assert sys.excepthook is ndc.record
    for error in (CheckpointException("write"), ValueError("another"), KeyboardInterrupt()):
        ndc.record(type(error), error, None, lambda *what: shown.append(what[1]))
    assert recorded == ["checkpoint failed on rank 3: OSError: [Errno 28] No space left on device"], recorded
    assert len(shown) == 3, shown


main(sys.argv[1])
