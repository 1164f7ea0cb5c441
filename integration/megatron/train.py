"""Really train emitted launches with Megatron-LM on CPU ranks.

    python train.py --checkout MEGATRON < cases > answers

A case is one line of JSON, as launch.sh's arguments and environment were recorded:
    {"id", "world", "arguments": [..], "environment": {..}, "folder"}
An answer is one line of JSON per case, what the last rank logged step by step:
    {"id", "steps": [{"step", "loss", "norm"}], "seconds", "error"}

Megatron-LM is imported once; the ranks of a case are processes forked from there that meet over gloo and run
pretrain_gpt.py of the checkout. Everything in which such a run differs from the launch is in changed() and in
the stand-ins of pretend.py and arithmetic.py.
"""
import argparse
import json
import os
import re
import runpy
import signal
import socket
import sys
import time
import traceback
import warnings

warnings.filterwarnings("ignore")
PATIENCE = 240  # seconds for one case
STEP = re.compile(r"iteration +(\d+)/ .*? lm loss: (\S+) .*?grad norm: (\S+)")


def changed(arguments):
    """The arguments with layers of plain torch instead of Transformer Engine's kernels, and without a sum of NCCL's that
    gloo does not have."""
    kept = [word for word in arguments if word != "--moe-permute-fusion"]
    return kept + ["--transformer-impl", "local", "--no-rope-fusion", "--no-masked-softmax-fusion", "--no-gradient-reduce-div-fusion"]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def rank(case, number, port, script):
    """One rank, in a process of its own; what it prints goes to a file."""
    os.setpgid(0, 0)
    log = os.open(os.path.join(case["folder"], f"rank-{number}.log"), os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    world = case["world"]
    os.environ.update(case["environment"])
    os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": str(number), "LOCAL_RANK": str(number),
                       "WORLD_SIZE": str(world), "LOCAL_WORLD_SIZE": str(world)})
    sys.stdout = os.fdopen(1, "w", buffering=1)
    sys.stderr = sys.stdout
    sys.argv = [script, *changed(case["arguments"])]
    code = 0
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        code = 1
    sys.stdout.flush()
    os._exit(code)


def train(case, script):
    """Forks the ranks, waits for all, and reads the log of the last."""
    os.makedirs(case["folder"], exist_ok=True)
    start, port, children = time.time(), free_port(), {}
    for number in range(case["world"]):
        child = os.fork()
        if child == 0:
            rank(case, number, port, script)
        children[child] = number
    failed = None
    while children and failed is None:
        child, status = os.waitpid(-1, os.WNOHANG)
        if child in children:
            number = children.pop(child)
            if status:
                failed = number
        elif time.time() - start > PATIENCE:
            failed = next(iter(children.values()))
        else:
            time.sleep(0.05)
    for child in children:  # the others would wait for the dead
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    answer = {"id": case["id"], "steps": steps(case, case["world"] - 1), "seconds": round(time.time() - start, 1)}
    if failed is not None:
        answer["error"] = f"rank {failed}: " + tail(case, failed)
    return answer


def text(case, number):
    with open(os.path.join(case["folder"], f"rank-{number}.log")) as file:
        return file.read()


def tail(case, number):
    return "\n".join(text(case, number).strip().splitlines()[-12:])


def steps(case, number):
    return [{"step": int(step), "loss": float(loss), "norm": float(norm)} for step, loss, norm in STEP.findall(text(case, number))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--checkout", required=True)
    parser.add_argument("--capability", default="9.0")
    options = parser.parse_args()
    out, sys.stdout = sys.stdout, sys.stderr
    sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), options.checkout]
    import arithmetic
    import pretend
    import torch

    torch.set_num_threads(1)
    placement = pretend.gpu(tuple(int(n) for n in options.capability.split(".")))
    arithmetic.gloo()
    arithmetic.kernels()
    arithmetic.backward(placement)
    import megatron.core.datasets.utils
    import megatron.training.initialize
    import megatron.training.training

    megatron.core.datasets.utils.compile_helpers = lambda: None  # the wheel brings them
    for module in (megatron.training.training, megatron.training.initialize):
        if hasattr(module, "set_jit_fusion_options"):
            module.set_jit_fusion_options = lambda *_, **__: None  # warms up what is not compiled here
    pretend.no_kernel_builds()
    pretend.local_layers()
    arithmetic.attention()
    arithmetic.adam()
    for line in sys.stdin:
        print(json.dumps(train(json.loads(line), os.path.join(options.checkout, "pretrain_gpt.py"))), file=out, flush=True)


if __name__ == "__main__":
    main()
