#!/usr/bin/env python3
"""Run emitted DeepSpeed jobs on CPU and report what they logged.

    python run_cases.py FOLDER [CASE ...]

FOLDER holds one folder per case with the emitted files and case.json, {"ranks": N}, and where one of them is to be
killed, {"kill": {"rank": R, "before": K}}: before its operation number K on files of the checkpoint folder; where what it loads is to be
saved again at once, {"resaved": FOLDER}. With NDC_WITHOUT_KERNELS gloo does all that ranks of a CPU tell one another, and nothing is compiled. torch, deepspeed and
transformers are imported once; the ranks of every case are forked from this process. Prints one JSON object per
case: name, exit code, seconds, the steps that rank 0 logged, and the last error.
"""
import contextlib
import glob
import importlib
import itertools
import json
import os
import re
import runpy
import signal
import sys
import time
import traceback

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import children  # noqa: E402

os.environ.update(DS_ACCELERATOR="cpu", OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false",
                  TORCHDYNAMO_DISABLE="1")  # torch compiles parts of its own, and no job asks for it
# Another ninja than the one that built the kernels would build them again.
os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
LIMIT = float(os.environ.get("NDC_CASE_SECONDS", "240"))
STEP = re.compile(r"^step (\d+)/\d+ loss (\S+) gradient norm (\S+) learning rate (\S+)")
VALIDATION = re.compile(r"^step (\d+)/\d+ validation loss (\S+)")


def launch(folder, ranks, kill=None, resaved=""):
    """Fork the ranks; return the exit code of the first that failed, or 0. log.txt has what they said one after the other,
    the one that failed last: while they run, their lines would fall into each other's."""
    port = children.free_port()
    logs = [os.path.join(folder, f"rank-{rank}.txt") for rank in range(ranks)]
    started = {}
    for rank, log in enumerate(logs):
        child = os.fork()
        if child:
            os.setpgid(child, child)
            started[child] = rank
            continue
        file = os.open(log, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_APPEND, 0o644)
        os.dup2(file, 1)
        os.dup2(file, 2)
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_WORLD_SIZE=str(ranks),
                          LOCAL_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), NDC_LOG_DIR=folder)
        if kill and kill["rank"] == rank:
            kill_before(kill["before"], folder)
        if resaved:
            resave(resaved)
        os._exit(train(folder))
    failed, code = children.wait(started, LIMIT)
    free(port)
    if failed is not None:
        logs.append(logs.pop(started[failed]))
    with open(os.path.join(folder, "log.txt"), "wb") as whole:
        for log in filter(os.path.exists, logs):  # a rank may have been ended before it began
            with open(log, "rb") as part:
                whole.write(part.read())
    return code


def kill_before(operation, folder):
    """End this process, as SIGKILL does, before an operation on files of the case's checkpoints. Inside of rmtree names
    are relative."""
    with open(os.path.join(folder, "run.json"), encoding="utf-8") as f:
        checkpoints = json.load(f)["checkpoint"]["path"]
    count = itertools.count()

    def die(event, args):
        path = args[0] if args else None
        inside = isinstance(path, str) and (path.startswith(checkpoints) or event in ("os.remove", "os.rmdir") and "/" not in path)
        if event.startswith(("open", "os.", "shutil.")) and inside and next(count) == operation:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(die)


def resave(folder):
    """Save into a folder what the engine loads, before any step."""
    import deepspeed
    load = deepspeed.DeepSpeedEngine.load_checkpoint

    def loaded(self, place, tag=None, **options):
        answer = load(self, place, tag=tag, **options)
        if answer[0] is not None:
            own = {key: answer[1][key] for key in ("step", "data") if key in answer[1]}
            self.save_checkpoint(folder, tag=tag, client_state=own, save_latest=False)
        return answer

    deepspeed.DeepSpeedEngine.load_checkpoint = loaded


def free(port):
    """DeepSpeed leaves a rank's buffer of shared memory behind, 66 MiB each."""
    for name in glob.glob(f"/dev/shm/deepspeed_*_{port}_*"):
        os.remove(name)


def train(folder):
    sys.argv = [os.path.join(folder, "train.py")]
    sys.path.insert(0, folder)
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as e:
        if e.code:
            print(e.code, flush=True)
            return 1
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def stand_in():
    """What some releases ask of a GPU alone, as a CPU gives it: collectives that NCCL would send together, a
    device to send objects from, which a CPU's number is none of (before 0.17.5), and what is wrapped around the
    fused Adam, where torch's has its place."""
    import deepspeed
    import torch
    from deepspeed.accelerator import get_accelerator

    if os.environ.get("NDC_WITHOUT_KERNELS"):
        importlib.import_module("deepspeed.comm.torch").build_shm_op = lambda: None

    @contextlib.contextmanager
    def one_by_one(group, device, requests, async_op):
        yield
        for request in requests:
            request.wait()

    importlib.import_module("deepspeed.comm.torch").get_coalescing_manager = one_by_one
    importlib.import_module("deepspeed.runtime.engine").FusedAdam = torch.optim.Adam
    if tuple(map(int, deepspeed.__version__.split(".")[:3])) < (0, 17, 5):
        cpu = type(get_accelerator())
        cpu.current_device = cpu.current_device_name


def machine():
    """What the machine has left, for cases that it did not let end."""
    with open("/proc/meminfo", encoding="ascii") as f:
        memory = [line.split()[1] for line in f if line.startswith(("MemTotal", "MemAvailable"))]
    return f"{int(memory[1]) >> 10} of {int(memory[0]) >> 10} MiB available, load {os.getloadavg()[0]:.1f}"


def report(folder):
    """What rank 0 logged: steps with loss, norm and rate; validation losses; the last error."""
    with open(os.path.join(folder, "log.txt"), encoding="utf-8", errors="replace") as f:
        lines = f.read().splitlines()
    steps = [[int(m[1]), m[2], m[3], m[4]] for m in map(STEP.match, lines) if m]
    held_out = [[int(m[1]), m[2]] for m in map(VALIDATION.match, lines) if m]
    errors, ignored = [], False  # a destructor's, which Python ignores, may follow the cause
    for line in lines:
        if line.startswith("Exception ignored in"):
            ignored = True
        elif re.match(r"^\w*(Error|Exception|Exit)\b|^[\w.]+Error: ", line):
            if not ignored:
                errors.append(line)
            ignored = False
    return {"steps": steps, "validation": held_out, "error": (errors or lines or [""])[-1][:400]}


def main():
    sys.stdout.reconfigure(line_buffering=True)
    report_to, sys.stdout = sys.stdout, sys.stderr
    import torch
    import transformers  # noqa: F401
    torch.set_num_threads(1)
    stand_in()
    root = os.path.abspath(sys.argv[1])
    for name in sys.argv[2:] or sorted(os.listdir(root)):
        folder = os.path.join(root, name)
        with open(os.path.join(folder, "case.json"), encoding="utf-8") as f:
            case = json.load(f)
        ranks, kill, resaved = case["ranks"], case.get("kill"), case.get("resaved")
        start = time.time()
        code = launch(folder, ranks, kill, resaved)
        if not kill and code in (children.TIMEOUT, -signal.SIGKILL):  # once may be the machine, twice is the case
            print(f"{name}: exit code {code} after {time.time() - start:.0f} s, started again; {machine()}", file=sys.stderr, flush=True)
            code = launch(folder, ranks, None, resaved)
        result = {"name": name, "code": code, "seconds": round(time.time() - start, 1), **report(folder)}
        print(json.dumps(result), file=report_to, flush=True)


if __name__ == "__main__":
    main()
