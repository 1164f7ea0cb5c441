"""Really train emitted launches with Megatron-LM on CPU ranks.

    python train.py --checkout MEGATRON < cases > answers

A case is one line of JSON, as launch.sh's arguments and environment were recorded:
    {"id", "world", "arguments": [..], "environment": {..}, "folder"}
and, where a rank is to be killed before a change of files (kills.py), "kill": {"rank", "before", "folder"}; where what is loaded
is to be saved again at once, "resaved", the folder.
An answer is one line of JSON per case, with what the last rank had for its log of every step: the loss, the gradient's norm, the
learning rate of the next step and the samples read so far:
    {"id", "steps": [{"step", "loss", "norm", "rate", "samples"}], "seconds", "error"}

Megatron-LM is imported once, which takes longer than the steps; the ranks of a case are processes forked from there
that meet over gloo and run pretrain_gpt.py of the checkout, as on_cpu.py does for a single one.
"""
import argparse
import ctypes
import json
import os
import re
import runpy
import shutil
import signal
import sys
import threading
import time
import traceback
import warnings

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import children  # noqa: E402
import on_cpu  # noqa: E402
import operations  # noqa: E402

warnings.filterwarnings("ignore")
STEPS = "steps.jsonl"
PATIENCE = 300  # seconds for one case; on idle cores it takes ten


def rank(case, number, port, script):
    """One rank, in a process of its own that ends with its parent; what it prints goes to a file."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    os.chdir(case["folder"])
    log = os.open(f"rank-{number}.log", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    world = case["world"]
    os.environ.update(case["environment"])
    os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": str(number), "LOCAL_RANK": str(number),
                       "WORLD_SIZE": str(world), "LOCAL_WORLD_SIZE": str(world)})
    sys.stdout = os.fdopen(1, "w", buffering=1)
    sys.stderr = sys.stdout
    sys.argv = [script, *on_cpu.changed(case["arguments"])]
    kill = case.get("kill")
    if kill and kill["rank"] == number:
        operations.kill_before(kill["before"], kill["folder"])
    if case.get("resaved"):
        import resave
        resave.resave(case["resaved"])
    code = 0
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        code = 1
    for thread in threading.enumerate():  # as Python does at its end: one may be deleting a checkpoint
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join(10)
    sys.stdout.flush()
    os._exit(code)


def train(case, script):
    """Trains a case; once more when a signal ended a rank, which is no answer of the framework's."""
    answer, code = attempt(case, script)
    if code < 0 and code != children.TIMEOUT:
        print(f"{case['id']}: {answer['error']}", file=sys.stderr)
        answer, _ = attempt(case, script)
    return answer


def attempt(case, script):
    """Forks the ranks, waits for all, and reads the log of the last. Returns the answer and the code of what failed."""
    shutil.rmtree(case["folder"], ignore_errors=True)
    os.makedirs(case["folder"])
    start, port, ranks = time.time(), children.free_port(), {}
    for number in range(case["world"]):
        child = os.fork()
        if child == 0:
            rank(case, number, port, script)
        os.setpgid(child, child)
        ranks[child] = number
    failed, code = children.wait(ranks, PATIENCE)
    answer = {"id": case["id"], "steps": steps(case), "validation": validation(case), "seconds": round(time.time() - start, 1)}
    if failed is not None:
        answer["error"] = f"rank {ranks[failed]} ended with {code}: " + tail(case, ranks[failed])
    return answer, code


def text(case, number):
    with open(os.path.join(case["folder"], f"rank-{number}.log")) as file:
        return file.read()


def tail(case, number):
    return "\n".join(text(case, number).strip().splitlines()[-12:])


def steps(case):
    path = os.path.join(case["folder"], STEPS)
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [json.loads(line) for line in file]


def validation(case):
    """The losses of held-out data, in the order of the log, which has six digits."""
    return [float(loss) for loss in re.findall(r"validation loss at iteration .*?lm loss value: (\S+)", text(case, case["world"] - 1))]


def keep(step, loss, norm, rate, samples):
    with open(STEPS, "a") as file:
        print(json.dumps({"step": step, "loss": loss, "norm": norm, "rate": rate, "samples": samples}), file=file)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--checkout", required=True)
    parser.add_argument("--capability", default="9.0")
    options = parser.parse_args()
    out, sys.stdout = sys.stdout, sys.stderr
    on_cpu.prepare(options.checkout, tuple(int(n) for n in options.capability.split(".")), keep)
    script = os.path.join(options.checkout, "pretrain_gpt.py")
    runpy.run_path(script, run_name="imported")  # what it imports, once for all
    for line in sys.stdin:
        print(json.dumps(train(json.loads(line), script)), file=out, flush=True)


if __name__ == "__main__":
    main()
