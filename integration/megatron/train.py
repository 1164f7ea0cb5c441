"""Really train emitted launches with Megatron-LM on CPU ranks.

    python train.py --checkout MEGATRON < cases > answers

A case is one line of JSON, as launch.sh's arguments and environment were recorded:
    {"id", "world", "arguments": [..], "environment": {..}, "folder"}
An answer is one line of JSON per case, with the loss and the gradient's norm that the last rank had for its log:
    {"id", "steps": [{"step", "loss", "norm"}], "seconds", "error"}

Megatron-LM is imported once, which takes longer than the steps; the ranks of a case are processes forked from there
that meet over gloo and run pretrain_gpt.py of the checkout. Everything in which such a run differs from the launch is
in changed() and in the stand-ins of pretend.py and arithmetic.py.
"""
import argparse
import ctypes
import inspect
import json
import os
import runpy
import signal
import sys
import time
import traceback
import warnings

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import children  # noqa: E402

warnings.filterwarnings("ignore")
STEPS = "steps.jsonl"
PATIENCE = 300  # seconds for one case; on idle cores it takes ten


def changed(arguments):
    """The arguments with layers of plain torch instead of Transformer Engine's kernels, and without a sum of NCCL's that
    gloo does not have."""
    kept = [word for word in arguments if word != "--moe-permute-fusion"]
    return kept + ["--transformer-impl", "local", "--no-rope-fusion", "--no-masked-softmax-fusion", "--no-gradient-reduce-div-fusion"]


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
    start, port, ranks = time.time(), children.free_port(), {}
    for number in range(case["world"]):
        child = os.fork()
        if child == 0:
            rank(case, number, port, script)
        os.setpgid(child, child)
        ranks[child] = number
    failed, _ = children.wait(ranks, PATIENCE)
    answer = {"id": case["id"], "steps": steps(case), "seconds": round(time.time() - start, 1)}
    if failed is not None:
        answer["error"] = f"rank {ranks[failed]}: " + tail(case, ranks[failed])
    return answer


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


def keep_steps(training):
    """Writes down what training_log is given: the log itself rounds, and its second line is a mean of two steps."""
    log = training.training_log
    signature = inspect.signature(log)

    def training_log(*args, **kwargs):
        given = signature.bind(*args, **kwargs).arguments
        if "lm loss" in given["loss_dict"] and int(os.environ["RANK"]) == int(os.environ["WORLD_SIZE"]) - 1:
            with open(STEPS, "a") as file:
                loss, norm = float(given["loss_dict"]["lm loss"]), float(given["grad_norm"])
                print(json.dumps({"step": given["iteration"], "loss": loss, "norm": norm}), file=file)
        return log(*args, **kwargs)

    training.training_log = training_log


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
    import megatron.core.dist_checkpointing.strategies.filesystem_async as filesystem
    import megatron.training.initialize
    import megatron.training.training

    megatron.core.datasets.utils.compile_helpers = lambda: None  # the wheel brings them
    for module in (megatron.training.training, megatron.training.initialize):
        if hasattr(module, "set_jit_fusion_options"):
            module.set_jit_fusion_options = lambda *_, **__: None  # warms up what is not compiled here
    keep_steps(megatron.training.training)
    queue = filesystem.get_write_results_queue  # of its own it starts a process that imports everything again
    filesystem.get_write_results_queue = lambda *_: queue("fork")
    pretend.no_kernel_builds()
    pretend.local_layers()
    arithmetic.attention()
    arithmetic.adam()
    script = os.path.join(options.checkout, "pretrain_gpt.py")
    runpy.run_path(script, run_name="imported")  # what it imports, once for all
    for line in sys.stdin:
        print(json.dumps(train(json.loads(line), script)), file=out, flush=True)


if __name__ == "__main__":
    main()
