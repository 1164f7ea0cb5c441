"""Trains emitted jobs on CPU ranks, one after the other, with TorchTitan imported once.

    python ranks.py < cases > answers

A case is one line of JSON: {"id", "files", "world", "folder", "arguments": [..], "resaved"}: the folder of emitted files, what the
command line says about them, and a folder for logs. Where "resaved" is given, what is loaded is saved there at once, before
any step. An answer is one line of JSON, with what a rank of the last pipeline stage logged:
    {"id", "steps": [{"step", "loss", "norm", "rate", "tokens"}], "seconds", "error"}
"""
import ctypes
import inspect
import json
import os
import shutil
import signal
import sys
import time
import traceback

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import children  # noqa: E402
import cpu  # noqa: E402

cpu.install()

import torch.distributed.checkpoint as dcp  # noqa: E402
from torchtitan import train  # noqa: E402
from torchtitan.components.checkpoint import CheckpointManager  # noqa: E402
from torchtitan.components.metrics import MetricsProcessor  # noqa: E402
from torchtitan.config import ConfigManager  # noqa: E402

cpu.use_dense_attention()
cpu.use_host_permutation()
PATIENCE = 300  # seconds for one case; on idle cores it takes fifteen


def resave(folder):
    """Saves into a folder what the next load brings."""
    load = CheckpointManager.load

    def loaded(self, *args, **kwargs):
        done = load(self, *args, **kwargs)
        if done:
            dcp.save(self._flattened_model_states_sd(), checkpoint_id=folder)
        return done

    CheckpointManager.load = loaded


def keep(path):
    """Writes the loss of every step to a file, with the rate of its update and the tokens read so far, and those of held-out data."""
    log, log_validation = MetricsProcessor.log, MetricsProcessor.log_validation

    def write(line):
        with open(path, "a", encoding="ascii") as file:
            print(json.dumps(line), file=file)

    def logged(self, step, global_avg_loss, global_max_loss, grad_norm, extra_metrics=None, **kwargs):
        rates = [rate for name, rate in (extra_metrics or {}).items() if name.startswith("lr")]
        line = {"step": step, "loss": float(global_avg_loss), "norm": float(grad_norm), "rate": max(rates, default=None),
                "tokens": int((extra_metrics or {}).get("n_tokens_seen", 0))}
        write(line)
        return log(self, step, global_avg_loss, global_max_loss, grad_norm, extra_metrics=extra_metrics, **kwargs)

    def validated(self, loss, *args, **kwargs):
        write({"validation": float(loss)})
        return log_validation(self, loss, *args, **kwargs)

    MetricsProcessor.log, MetricsProcessor.log_validation = logged, validated


def rank(case, number, port):
    """One rank, in a process of its own that ends with its parent."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    os.chdir(case["folder"])
    log = os.open(f"rank-{number}.log", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    world = str(case["world"])
    os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": str(number), "LOCAL_RANK": str(number), "WORLD_SIZE": world,
                       "LOCAL_WORLD_SIZE": world, "NDC_LOG_DIR": case["folder"], "OMP_NUM_THREADS": "1"})
    sys.path.insert(0, case["files"])
    sys.argv = ["train.py", *case["arguments"]]
    code = 0
    try:
        keep(os.path.abspath(f"steps-{number}.jsonl"))
        if case.get("resaved"):
            resave(case["resaved"])
        if ConfigManager.parse_args.__defaults__:  # 0.2.2 takes the command line of when it was imported
            os.chdir(case["files"])
            ConfigManager.parse_args.__defaults__ = (case["arguments"],)
        trainer = [train.Trainer] if inspect.signature(train.main).parameters else []
        train.main(*trainer)  # 0.2.2 takes the class
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def attempt(case):
    shutil.rmtree(case["folder"], ignore_errors=True)
    os.makedirs(case["folder"])
    start, port, ranks = time.time(), children.free_port(), {}
    for number in range(case["world"]):
        child = os.fork()
        if child == 0:
            rank(case, number, port)
        os.setpgid(child, child)
        ranks[child] = number
    failed, code = children.wait(ranks, PATIENCE)
    answer = {"id": case["id"], "steps": [], "seconds": round(time.time() - start, 1)}
    for number in range(case["world"]):
        steps = os.path.join(case["folder"], f"steps-{number}.jsonl")
        if os.path.exists(steps):
            with open(steps, encoding="ascii") as file:
                lines = [json.loads(line) for line in file]
            logged = [line for line in lines if "loss" in line]
            if all(line["loss"] >= 0 for line in logged):  # ranks without the last pipeline stage have a negative one
                answer.update(steps=logged, validation=[line["validation"] for line in lines if "validation" in line])
    if failed is not None:
        with open(os.path.join(case["folder"], f"rank-{ranks[failed]}.log"), encoding="utf-8", errors="replace") as file:
            answer["error"] = f"rank {ranks[failed]} ended with {code}: " + "\n".join(file.read().strip().splitlines()[-12:])
    return answer


def main():
    out, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        print(json.dumps(attempt(json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main()
