"""Kills Megatron-LM before an operation on files of a save, runs the emitted launch.sh again, and goes on.

    python kills.py --checkout MEGATRON --launch FOLDER --every N < case > answer

FOLDER holds launch.sh, and in its file "environment" what the stand-in for torchrun recorded. The case is as train.py reads
it: a job of six steps that saves after every step. It is trained once to its end. Then everything but the second checkpoint
is taken away, a finished one of the first step lies where the third will be written, and launch.sh starts the job
again and again, with one step to train. Each start is ended by SIGKILL before a system call of rank 0 (then: of rank 1) that
changes a file, one call later than the start before it (with N: N calls), until a save gets through. Every start must go on
where the last complete checkpoint ended, with every digit of the run that was not killed. The answer is one line of JSON:
    {"kills": [of rank 0, of rank 1, ..], "error"}
"""
import argparse
import json
import os
import runpy
import shutil
import signal
import subprocess
import sys

import on_cpu
import train

FIRST, LAST = 2, 6
TRACKER = "latest_checkpointed_iteration.txt"
RETAIN = "--save-retain-interval"


def iteration(folder, step):
    return os.path.join(folder, f"iter_{step:07d}")


def recorded(launch, name):
    with open(os.path.join(launch, name), encoding="utf-8") as file:
        return file.read().rstrip("\0").split("\0")


def arguments(launch):
    """Runs launch.sh, which mends what a killed save left, and returns what it gives to the program."""
    variables = dict(variable.split("=", 1) for variable in recorded(launch, "environment"))
    subprocess.run(["bash", os.path.join(launch, "launch.sh")], env=variables, check=True, stdout=subprocess.DEVNULL)
    words = recorded(launch, "arguments")
    return words[next(i for i, word in enumerate(words) if word.endswith("pretrain_gpt.py")) + 1:]


def keeping(words):
    """The arguments of a run that deletes no checkpoint."""
    i = words.index(RETAIN) if RETAIN in words else len(words)
    return words[:i] + words[i + 2:]


def history(folder, whole):
    """One good checkpoint, and a finished one of other weights where the next is to be written."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(iteration(whole, FIRST), iteration(folder, FIRST))
    shutil.copytree(iteration(whole, FIRST - 1), iteration(folder, FIRST + 1))
    with open(os.path.join(folder, TRACKER), "w", encoding="ascii") as file:
        file.write(str(FIRST))


class Chain:
    """Starts of one job, one after the other, that are killed in rank `victim`."""

    def __init__(self, case, script, launch, digits, folder, whole):
        self.case, self.script, self.launch, self.digits = case, script, launch, digits
        self.folder, self.whole = folder, whole
        self.step = None

    def start(self, kill=None):
        """Trains one step and saves, or is killed; returns whether it was."""
        given = dict(self.case, arguments=[*arguments(self.launch), "--exit-interval", "1"], kill=kill)
        answer, code = train.attempt(given, self.script)
        steps = [[s["step"], s["loss"], s["norm"]] for s in answer["steps"]]
        at = f"start with {kill}"
        assert code in (0, -signal.SIGKILL), f"{at}: {answer.get('error')}"
        if code and not steps:  # rank 0 was killed before the last one, which keeps the digits, had its turn
            return True
        assert len(steps) == 1, f"{at}: steps {steps}"
        step = steps[0][0]
        assert step - self.step in (0, 1), f"{at}: begins with step {step}, the start before it with {self.step}"
        assert steps[0] == self.digits[step], f"{at}: {steps[0]}, the run that was not killed has {self.digits[step]}"
        self.step = step
        return code != 0

    def kills(self, victim, every):
        """The number of starts that were killed."""
        history(self.folder, self.whole)
        self.step, count = FIRST + 1, 0
        while self.start({"rank": victim, "before": count * every, "folder": self.folder}):
            count += 1
            if self.step == LAST:
                history(self.folder, self.whole)
                self.step = FIRST + 1
        self.start()
        return count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--checkout", required=True)
    parser.add_argument("--launch", required=True)
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    out, sys.stdout = sys.stdout, sys.stderr
    on_cpu.prepare(options.checkout, (9, 0), train.keep)
    script = os.path.join(options.checkout, "pretrain_gpt.py")
    runpy.run_path(script, run_name="imported")  # what it imports, once for all
    case = json.loads(sys.stdin.readline())
    folder = case["arguments"][case["arguments"].index("--save") + 1]
    answer = {"kills": [], "error": ""}
    try:
        unbroken, code = train.attempt(dict(case, arguments=keeping(case["arguments"])), script)
        assert code == 0 and len(unbroken["steps"]) == LAST, unbroken
        digits = {s["step"]: [s["step"], s["loss"], s["norm"]] for s in unbroken["steps"]}
        shutil.move(folder, folder + "-whole")
        chain = Chain(case, script, options.launch, digits, folder, folder + "-whole")
        for victim in range(case["world"]):
            answer["kills"].append(chain.kills(victim, options.every))
    except AssertionError as e:
        answer["error"] = str(e)
    print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
